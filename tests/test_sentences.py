"""What the core says reaches the window in the user's language."""

import ast
import random
import string

import pytest
from PySide6.QtWidgets import QWidget

from tests.source_texts import ROOT, called, literals, refusals, templates
from worldattention.app import appearance
from worldattention.app.notifications import Notifications
from worldattention.app.said_by_core import SENTENCES, STAGES
from worldattention.app.sentences import spoken
from worldattention.core import rewind
from worldattention.core.errors import UserError
from worldattention.core.hkv import notices
from worldattention.core.project import load_project
from worldattention.core.units import parse_bytes

NOT_IN_THE_WINDOW = {
    *("commandline", "cli.py", "window_entry.py", "window_run.py", "latency.py", "doctor.py", "doctor_qt.py"),
    *("evaluation", "training", "calibration.py", "convert.py", "render.py", "soak.py", "text_pack.py"),
    *("convertible.py", "pack_header.py"),
}
"""What only commands reach."""
SEEN_IN_THE_WINDOW = tuple(
    str(path.relative_to(ROOT))
    for folder in ("core", "app")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not set(path.relative_to(ROOT).parts) & NOT_IN_THE_WINDOW
)


@pytest.fixture
def korean(qapp):
    appearance.speak(qapp, "ko")
    yield
    appearance.speak(qapp, "en")


def test_every_listed_sentence_is_one_that_is_said() -> None:
    said: set[str] = set()
    for folder in ("core", "app"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.name != "said_by_core.py":
                said |= templates(path)
    assert not set(SENTENCES) - said
    assert len(SENTENCES) == len(set(SENTENCES))


def test_every_refusal_that_the_window_shows_is_listed() -> None:
    said = {path: refusals(ROOT / path) for path in SEEN_IN_THE_WINDOW}
    assert sum(map(len, said.values())) > 150
    missing = {path: texts - set(SENTENCES) for path, texts in said.items() if texts - set(SENTENCES)}
    assert not missing
    assert {rewind.REBUILT, rewind.CODED, rewind.LACKING} <= set(SENTENCES)
    assert {notices.DROPPING, notices.DROPPING_WITHOUT_DISK, notices.LATE} <= set(SENTENCES)


def test_every_stage_of_loading_is_listed() -> None:
    """What `report("...", share)` names, in whatever file a world is opened."""
    named = {
        text
        for path in (*SEEN_IN_THE_WINDOW, "app/window_run.py")
        for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8")))
        if isinstance(node, ast.Call)
        and called(node) in ("report", "progress", "told")
        and len(node.args) == 2
        for text in literals(node.args[0])
    }
    assert len(named) >= 8
    assert named == set(STAGES)


def test_no_listed_sentence_fits_anything() -> None:
    for template in SENTENCES:
        assert sum(letter.isalpha() for letter in template) >= 8, template


def filled(template: str, words: list[str]) -> str:
    return "".join(part + word for part, word in zip(template.split("{}"), [*words, ""], strict=True))


def test_every_sentence_is_translated_with_what_was_put_in(korean) -> None:
    """Whatever stands in the gaps (paths with blanks, quotes, other scripts) comes out unchanged."""
    draw = random.Random()
    alphabet = string.ascii_letters + " /\\'’‘ñ한글()[]{}%"
    for template in SENTENCES:
        letters = alphabet.replace(" ", "") if "{} {}" in template else alphabet
        words = [
            "q" + "".join(draw.choice(letters) for _ in range(8)) + str(draw.randrange(10**6)) + "z"
            for _ in range(template.count("{}"))
        ]
        said = spoken(filled(template, words))
        assert any("가" <= letter <= "힣" for letter in said), (template, said)
        assert all(word in said for word in words), (template, said)


def test_a_cause_within_a_sentence_is_translated_too(korean, tmp_path) -> None:
    missing = tmp_path / "없다.world"
    with pytest.raises(UserError) as caught:
        load_project(missing)
    assert (
        spoken(str(caught.value))
        == f"프로젝트 ‘{missing}’을(를) 열 수 없습니다. 그런 파일이 없습니다. 이름을 확인하세요."
    )


def test_a_notice_is_shown_in_korean_and_an_unlisted_one_as_it_is(korean, qtbot) -> None:
    host = QWidget()
    qtbot.addWidget(host)
    notices = Notifications(host)
    with pytest.raises(UserError) as caught:
        parse_bytes("much")
    notices.tell(str(caught.value))
    notices.tell("Nobody has translated this.")
    assert [notice.text for notice in notices.shown] == [
        "‘much’은(는) 메모리 크기가 아닙니다. 4GB, 512MiB, 0처럼 쓰세요.",
        "Nobody has translated this.",
    ]


def test_in_english_nothing_is_changed(qapp) -> None:
    appearance.speak(qapp, "en")
    for template in SENTENCES:
        words = ["x" * 3] * template.count("{}")
        assert spoken(filled(template, words)) == filled(template, words)
