"""What the core says reaches the window in the user's language."""

import random
import string

import pytest
from PySide6.QtWidgets import QWidget

from tests.source_texts import ROOT, refusals, templates
from worldattention.app import appearance, sentences
from worldattention.app.notifications import Notifications
from worldattention.app.sentences import SENTENCES, spoken
from worldattention.core.errors import UserError
from worldattention.core.project import load_project
from worldattention.core.units import parse_bytes

SEEN_IN_THE_WINDOW = (
    *("app/director.py", "app/export.py", "app/outputs.py", "app/preferences.py"),
    *("core/files.py", "core/model_folder.py", "core/pictures.py", "core/recorded.py", "core/recorder.py"),
    *("core/replay.py", "core/units.py"),
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
            if path.name != "sentences.py":
                said |= templates(path)
    assert not set(SENTENCES) - said
    assert len(SENTENCES) == len(set(SENTENCES))


@pytest.mark.parametrize("path", SEEN_IN_THE_WINDOW)
def test_every_refusal_that_the_window_shows_is_listed(path: str) -> None:
    assert refusals(ROOT / path)
    assert not refusals(ROOT / path) - set(SENTENCES)


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
    for template in sentences.SENTENCES:
        words = ["x" * 3] * template.count("{}")
        assert spoken(filled(template, words)) == filled(template, words)
