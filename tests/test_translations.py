"""The interface speaks the user's language: every text is marked, translated, and fits."""

from pathlib import Path

import pytest

from tests.source_texts import ROOT, bare_texts, window_files


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
        ('flat_button("close", name)', []),
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
