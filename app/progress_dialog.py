"""What takes a while: what it is, how far it is, and Cancel."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QProgressBar, QVBoxLayout, QWidget

from worldattention.app.texts import ElidedLabel

WIDTH = 420
_STEPS = 1000


class ProgressDialog(QDialog):
    """`rejected` is Cancel. Qt's own progress dialog runs the event loop in `setValue`, which would let newer
    messages of the worker overtake older ones.
    """

    def __init__(self, title: str, doing: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setFixedWidth(WIDTH)
        label = ElidedLabel()
        label.show_text(doing)
        self._bar = QProgressBar()
        self._bar.setRange(0, _STEPS)
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(doing)
        self._numbers = QLabel()
        self._numbers.setObjectName("muted")
        self._numbers.hide()
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 14)
        column.setSpacing(10)
        for part in (label, self._bar, self._numbers, buttons):
            column.addWidget(part)

    def show_progress(self, share: float, numbers: str = "") -> None:
        """How much is done, of 1, and the same in words, if there are any."""
        self._bar.setValue(round(_STEPS * share))
        self._numbers.setText(numbers)
        self._numbers.setVisible(bool(numbers))
