"""Korean prompts of the pocket world's grammar: what they name, and the English sentence that says it.

The text encoder is English only (a Korean sentence lies nowhere near its translation), so a prompt is mapped to
the grammar before it is encoded. Words are matched by their stems: particles and endings may follow.
"""

from __future__ import annotations

import re
import unicodedata

from worldattention.core.pocket.grammar import AIR, DOES, SUBJECTS, WEARS, WHEN, WHERE
from worldattention.core.pocket.mentions import Mentions, parse
from worldattention.core.pocket.vocabulary import SEXES, SHIRTS, VOCABULARY

_HANGUL = re.compile(r"[가-힣ㄱ-ㅎㅏ-ㅣ]")
# What may follow a noun; a noun of one syllable (공, 개, 연) is only itself when nothing else does.
_PARTICLE = (
    r"(?:을|를|이|가|은|는|의|에|에서|에게|로|으로|와|과|랑|이랑|하고|도|만|들|까지|처럼|한테|께|놀이)*"
)
_GARMENT = (
    r"(?:셔츠|티셔츠|티|상의|윗옷|웃옷|옷|스웨터|자켓|재킷|블라우스|드레스|원피스|후드|후드티|코트|차림)"
)


def _noun(*stems: str) -> str:
    """A pattern for nouns as words of their own, with any particles."""
    return rf"(?<![가-힣])(?:{'|'.join(stems)}){_PARTICLE}(?![가-힣])"


_COLOURS = {
    "red": r"빨간|빨강|빨갛|새빨간|붉은|적색",
    "blue": r"파란|파랑|파랗|새파란|푸른|청색|하늘색",
    "green": r"초록|녹색|연두|푸르른",
    "yellow": r"노란|노랑|노랗|샛노란|(?<!주)황색",
    "white": r"하얀|하양|하얗|새하얀|흰|백색",
    "purple": r"보라|보랏|자주(?=색|빛)|자줏(?=빛)",
    "orange": r"주황|오렌지|귤색",
    "black": r"검은|검정|검은|까만|까망|새까만|흑색",
}
# Attribute -> value -> patterns, the first value of an attribute that is named wins.
_NAMED: dict[str, dict[str, str]] = {
    "sex": {
        "woman": r"여자|여성|여인|소녀|아가씨|숙녀|아주머니|아줌마|그녀|할머니",
        "man": r"남자|남성|소년|아저씨|청년|사내|신사|할아버지|(?<![가-힣])그(?:는|가|이)(?![가-힣])",
    },
    "action": {
        "torch": r"횃불|토치|불타는|불붙은|저글링|불\s*쇼|불꽃\s*쇼|곡예",
        "ribbon": r"리본",
        "balloon": r"풍선",
        "kite": rf"{_noun('연', '가오리연', '방패연', '꼬리연')}|연날리|연\s*날리",
        "dog": rf"강아지|반려견|애완견|멍멍|{_noun('(?<!한 )(?<!두 )(?<!세 )(?<!네 )개', '산책')}|산책",
        "ball": rf"{_noun('공', '볼', '빨간공', '고무공', '축구공', '농구공')}|공놀이|캐치볼",
        "wave": r"손\S*\s*흔|손짓|인사|안녕",
    },
    "place": {
        "village": r"마을|시골|동네|농촌|오두막집|초가",
        "beach": r"해변|바닷가|해안|바다|모래사장|백사장|해수욕장|등대|갯가",
        "mountain": (
            r"산속|산골|산장|산기슭|산맥|산악|산봉우리|알프스|캠핑|야영|"
            rf"{_noun('산', '산 위', '산길', '산중')}"
        ),
        "city": r"도시|시내|도심|번화가|빌딩|길거리|거리",
    },
    "time": {
        "dusk": r"해\s*질|해\s*지는|해가\s*[지질]|노을|석양|일몰|황혼|저녁|해넘이|땅거미",
        "night": (
            r"달빛|달밤|별빛|심야|자정|야간|"
            rf"{_noun('밤', '한밤', '한밤중', '밤중', '밤하늘', '밤늦게')}"
        ),
        "day": rf"{_noun('낮', '대낮', '한낮')}|아침|오전|오후|정오|대낮|햇빛|햇살|주간|환한",
    },
    "weather": {
        "snow": (
            r"눈\s*[이은]?\s*(?:오|온|올|와|왔|내리|내린|내려|내릴|덮|쌓|펑펑)|"
            rf"눈보라|눈발|함박눈|폭설|눈송이|{_noun('눈 속', '눈속')}"
        ),
        "rain": (
            r"비\s*[가는]?\s*(?:오|온|올|와|왔|내리|내린|내려|내릴|쏟|맞)|"
            rf"빗속|빗줄기|소나기|장마|가랑비|이슬비|폭우|{_noun('비 속', '우중')}"
        ),
        "clear": r"맑은|맑게|맑고|맑다|화창|쾌청|구름\s*없|갠\s*하늘|갠\s*날",
    },
}


def is_korean(text: str) -> bool:
    """Whether a text holds Hangul."""
    return _HANGUL.search(unicodedata.normalize("NFC", text[:4000])) is not None


def parse_korean(text: str) -> Mentions:
    """Which attributes a Korean prompt names. English words in it count as well."""
    words = " ".join(unicodedata.normalize("NFC", text[:4000]).lower().split())
    english = parse(words).named
    found = {name: VOCABULARY[name].index(value) for name, value in english.items()}
    for attribute, values in _NAMED.items():
        for value, pattern in values.items():
            if re.search(pattern, words):
                found[attribute] = VOCABULARY[attribute].index(value)
                break
    for colour, stems in _COLOURS.items():
        if re.search(rf"(?:{stems})(?:색|빛|색깔)?(?:의)?\s*(?:[가-힣]+\s)?{_GARMENT}", words) or re.search(
            rf"(?:{stems})(?:색|빛|색깔)?(?:을|를)?\s*(?:입은|입고|걸친|걸치고)", words
        ):
            found["shirt"] = SHIRTS.index(colour)
            break
    return Mentions(**found)


def mentioned(text: str) -> Mentions:
    """Which attributes a prompt names, in English or Korean."""
    return parse_korean(text) if is_korean(text) else parse(text)


def to_english(text: str) -> str:
    """The grammar's sentence for a Korean prompt; any other text, and one that names nothing, as it is."""
    if not is_korean(text):
        return text
    mentions = parse_korean(text)
    return describe(mentions) if mentions.named else text


def describe(mentions: Mentions) -> str:
    """A sentence in the grammar's first wording that says what is named and no more; "" for nothing.

    Somebody does something: an action or a shirt without a person is given to a man.
    """
    parts: list[str] = []
    named = mentions.named
    if {"sex", "shirt", "action"} & set(named):
        parts.append(SUBJECTS[SEXES.index(named.get("sex", "man"))][0])
    if colour := named.get("shirt"):
        parts.append(WEARS[0].format(article="an" if colour[0] in "aeiou" else "a", colour=colour))
    if action := named.get("action"):
        parts.append(DOES[action][0])
    if place := named.get("place"):
        parts.append(WHERE[place][0])
    if time := named.get("time"):
        parts.append(next(phrase for phrase in WHEN[time] if phrase))
    if weather := named.get("weather"):
        parts.append(next(phrase for phrase in AIR[weather] if phrase))
    sentence = " ".join(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""
