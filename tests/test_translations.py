"""The interface speaks the user's language: every text is marked, translated, and fits."""

import string
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QLocale
from PySide6.QtWidgets import QAbstractButton, QComboBox, QDialog, QDockWidget, QLabel, QSizePolicy, QWidget

from tests.fakes_window import FakeSession, Script, opener
from tests.source_texts import ROOT, bare_texts, marked_texts, window_files
from worldattention.app import appearance, theme
from worldattention.app.appearance import Appearance
from worldattention.app.main_window import MainWindow, Setup
from worldattention.core.config import EngineConfig
from worldattention.core.pocket.korean import mentioned
from worldattention.core.project import load_project

TS = ROOT / "app/translations/worldattention_ko.ts"


def messages() -> list[tuple[str, str, ElementTree.Element]]:
    """(context, source, translation) of the Korean translation."""
    contexts = ElementTree.parse(TS).getroot().findall("context")
    return [
        (context.findtext("name", ""), message.findtext("source", ""), message.find("translation"))
        for context in contexts
        for message in context.findall("message")
    ]


@pytest.fixture
def window(qapp, qtbot):
    """Opens a window of a language: `window("ko")`."""
    theme.apply_theme(qapp, "dark")

    def open_window(language: str) -> MainWindow:
        appearance.speak(qapp, language)
        project = load_project(ROOT / "assets/samples/red_ball.world")
        made = MainWindow(Setup(opener(Script()), FakeSession, lambda settings: EngineConfig(), project))
        qtbot.addWidget(made)
        made.resize(1280, 800)
        made.show()
        qtbot.waitExposed(made)
        return made

    yield open_window
    appearance.speak(qapp, "en")


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('label.setText("Hello there")', ["Hello there"]),
        ('label.setText(f"block {n}")', ["block {}"]),
        ('button = QPushButton("Enter", self)', ["Enter"]),
        ('tell("a " + name if name else "Nobody")', ["Nobody"]),
        ('box.addButton("{} frames".format(n), role)', ["{} frames"]),
        ('label.setText(self.tr("Hello there"))', []),
        ('label.setText(translate("Context", "{} frames").format(n))', []),
        ("label.setText(f\"<b style='color:red'>{n}</b> · {m}.mp4\")", []),
        ('flat_button("close", 12)', []),
        ('name_button(close, "Go away")', ["Go away"]),
        ('label.setObjectName("Anything at all")', []),
        ('QLabel("recalled")', ["recalled"]),
        ('log.warning("not kept: %s", error)', []),
    ],
)
def test_bare_texts_are_found(source: str, texts: list[str]) -> None:
    assert [bare.text for bare in bare_texts(source)] == texts


@pytest.mark.parametrize("path", window_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_widget_is_given_a_bare_text(path: Path) -> None:
    bare = bare_texts(path.read_text(encoding="utf-8"))
    assert not bare, f"wrap these in self.tr(...) or translate(...): {bare}"


def test_a_translation_takes_the_same_values_as_its_source() -> None:
    """A field that a translation forgets or invents would lose a number, or fail."""

    def fields(text: str) -> Counter[tuple[str | None, str | None]]:
        parsed = [(name, form) for _, name, form, _ in string.Formatter().parse(text) if name is not None]
        return Counter((name or str(number), form) for number, (name, form) in enumerate(parsed))

    for context, source, translation in messages():
        if translation is not None and translation.text and translation.get("type") is None:
            assert fields(translation.text) == fields(source), (context, source)
            assert source.count("\n") == translation.text.count("\n"), (context, source)
            assert source.startswith(" ") == translation.text.startswith(" "), (context, source)


def test_no_text_is_untranslated() -> None:
    """A count that grows with every text that somebody adds: then `make translations`, and a Korean text."""
    missing = [
        (context, source)
        for context, source, translation in messages()
        if translation.get("type") is not None or not translation.text
    ]
    assert len(missing) == 0, missing
    assert len(messages()) > 500


def test_lupdate_sees_every_marked_text() -> None:
    """Its reader of Python has blind spots (f-strings, a translate inside a class): none is stepped into."""
    marked = set().union(*(marked_texts(path) for path in window_files()))
    listed = {(context, source) for context, source, _ in messages()}
    assert marked == listed, f"run `make translations`: {sorted(marked ^ listed)[:10]}"


def test_translations_are_korean() -> None:
    """Except names, numbers and keys, which are the same in both languages."""
    same = [source for _, source, translation in messages() if translation.text == source]
    assert all(len([word for word in source.split() if word.isalpha()]) <= 1 for source in same), same
    done = [t.text for _, source, t in messages() if t.text and t.text != source]
    assert all(any("가" <= letter <= "힣" for letter in text) for text in done)


def test_the_compiled_translation_is_that_of_the_source(tmp_path: Path) -> None:
    compiled = tmp_path / "worldattention_ko.qm"
    tool = Path(sys.executable).with_name("pyside6-lrelease")
    subprocess.run([tool, TS, "-qm", compiled], check=True, capture_output=True, timeout=60)
    assert compiled.read_bytes() == TS.with_suffix(".qm").read_bytes(), "run `make translations`"


def test_the_window_speaks_korean(window) -> None:
    korean = window("ko")
    titles = [action.text() for action in korean.menuBar().actions()]
    assert titles == ["파일(&F)", "편집(&E)", "월드(&W)", "보기(&V)", "도움말(&H)"]
    assert korean.prompt_box.edit.placeholderText() == "월드에서 보고 싶은 장면을 쓰고 Enter를 누르세요"
    docks = {dock.objectName(): dock.windowTitle() for dock in korean.findChildren(QDockWidget)}
    assert docks["memory"] == "계층별 메모리"
    labels = {label.text() for label in korean.findChildren(QLabel)}
    assert {"타임라인", "어텐션"} <= labels
    assert korean.settings_bar.retrieval.accessibleName() == "메모리"


def test_the_example_of_a_prompt_asks_for_the_same_in_both_languages() -> None:
    [(english, korean)] = [(s, t.text) for _, s, t in messages() if s.startswith("Type what you want to see")]
    asked = mentioned(english.split("\n")[1])
    assert asked == mentioned(korean.split("\n")[1])
    assert asked.action is not None


def test_qts_own_buttons_speak_korean(window) -> None:
    window("ko")
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "취소"


def test_a_missing_translation_is_english(window) -> None:
    window("ko")
    assert QCoreApplication.translate("Actions", "Not translated by anyone") == "Not translated by anyone"


def test_english_comes_back(window) -> None:
    window("ko").close()
    english = window("en")
    assert english.menuBar().actions()[0].text() == "&File"


@pytest.mark.parametrize(
    ("languages", "spoken"),
    [
        (["ko-KR", "en-US"], "ko"),
        (["en-US", "ko-KR"], "en"),
        (["de-DE", "ko"], "ko"),
        (["fr-FR"], "en"),
        ([], "en"),
    ],
)
def test_the_system_language_is_the_users_first_that_is_here(monkeypatch, languages, spoken) -> None:
    class System:
        def uiLanguages(self) -> list[str]:
            return languages

    monkeypatch.setattr(QLocale, "system", lambda: System())
    assert appearance.language_of("system") == spoken
    assert appearance.language_of("ko") == "ko"


def test_theme_and_language_are_remembered(tmp_path: Path) -> None:
    file = tmp_path / "한글 폴더 ñ" / "window.ini"
    assert appearance.remembered(file) == Appearance()
    appearance.remember(file, Appearance("light", "ko"))
    assert appearance.remembered(file) == Appearance("light", "ko")
    file.write_text("[appearance]\ntheme=sepia\nlanguage=7\n", encoding="utf-8")
    assert appearance.remembered(file) == Appearance()


def cut_off(window: QWidget) -> list[str]:
    """Visible buttons, selectors and labels that are narrower or lower than their text."""
    return [
        f"{type(part).__name__} '{part.accessibleName() or part.text()}': {part.size()} < {part.sizeHint()}"
        for kind in (QAbstractButton, QLabel, QComboBox)
        for part in window.findChildren(kind)
        if part.isVisible()
        and part.sizePolicy().horizontalPolicy() != QSizePolicy.Policy.Ignored  # one line, elided on purpose
        and not (isinstance(part, QLabel) and part.wordWrap())
        and (part.width() < part.sizeHint().width() or part.height() < text_height(part))
    ]


def text_height(part: QAbstractButton | QLabel | QComboBox) -> int:
    text = part.currentText() if isinstance(part, QComboBox) else part.text()
    return part.fontMetrics().tightBoundingRect(text).height() if text and "<" not in text else 0


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)])
def test_no_text_is_cut_off(window, qtbot, language: str, size: tuple[int, int]) -> None:
    made = window(language)
    made.resize(*size)
    qtbot.waitUntil(lambda: made.size().toTuple() == size, timeout=20000)
    assert made.minimumSizeHint().width() <= 1280
    assert not cut_off(made)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_no_text_of_a_dialog_is_cut_off(window, qtbot, language: str) -> None:
    made = window(language)
    for name in ("settings", "export", "keys", "about"):
        made.actions_by_name[name].trigger()
        qtbot.waitUntil(lambda: shown_dialogs(made) != [], timeout=20000)
        [dialog] = shown_dialogs(made)
        assert not cut_off(dialog), name
        assert dialog.width() <= 1280, name
        assert dialog.height() <= 800, name
        dialog.reject()


def shown_dialogs(window: QWidget) -> list[QDialog]:
    return [dialog for dialog in window.findChildren(QDialog) if dialog.isVisible()]


def test_a_text_that_is_cut_off_is_found(window, qtbot) -> None:
    made = window("ko")
    made.prompt_box._send.setFixedWidth(20)
    qtbot.waitUntil(lambda: made.prompt_box._send.width() == 20, timeout=20000)
    assert cut_off(made)
