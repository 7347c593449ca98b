"""The status bar: device, tiers, how long Enter takes to show, and the last notice."""

from __future__ import annotations

import sys

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QSizePolicy, QStatusBar, QWidget

from worldattention.app import theme
from worldattention.app.notifications import ERROR, WARNING, Notice
from worldattention.app.texts import plain_label, tip
from worldattention.core.telemetry import BlockTelemetry
from worldattention.core.units import format_bytes


class StatusBar(QStatusBar):
    """Four quiet fields."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeGripEnabled(False)
        self.device = self._field(self.tr("Device"))
        self.block = self._field(self.tr("Block"))
        self.tiers = self._field(self.tr("Memory"))
        self.latency = self._field(self.tr("Enter to picture"))
        self.notice = self._field(self.tr("Notice"))
        self.notice.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        for field in (self.device, self.block, self.tiers, self.latency):
            self.addWidget(field)
        self.addWidget(self.notice, 1)
        self.notice.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.device.setText(self.tr("loading …"))

    def show_device(self, device: str, backend: str) -> None:
        """Where the world is made, and why there if it is no GPU."""
        name = "CPU" if device == "cpu" else device
        self.device.setText(f"{name} · {backend}")
        why = self._why_cpu() if device == "cpu" else ""
        self.device.setToolTip(tip(why))
        self.device.setAccessibleDescription(why)

    def show_block(self, telemetry: BlockTelemetry) -> None:
        """The newest block, and what each tier holds."""
        self.block.setText(self.tr("block {}").format(telemetry.block))
        stages = ", ".join(f"{name} {ms:.0f} ms" for name, ms in telemetry.stage_ms.items())
        self.block.setToolTip(self.tr("made in {}").format(stages))
        self.tiers.setText(
            " · ".join(
                f"{theme.tier_name(tier.name)} {format_bytes(tier.used_bytes)}" for tier in telemetry.tiers
            )
        )

    def show_latency(self, seconds: float) -> None:
        """Time from Enter to the first picture of the prompt."""
        self.latency.setText(self.tr("Enter to picture {:.1f} s").format(seconds))

    def show_notice(self, notice: Notice) -> None:
        """The last thing that was said."""
        theme.set_tone(self.notice, {WARNING: "warning", ERROR: "danger"}.get(notice.level, "muted"))
        self.notice.setText(notice.text)
        self.notice.setToolTip(tip(notice.text))

    def _why_cpu(self) -> str:
        torch = sys.modules.get("torch")  # the engine has loaded it by now
        if torch is None or torch.cuda.is_available():
            return ""
        if torch.version.cuda is None:
            return self.tr("The world is made on the CPU: this PyTorch was built without CUDA.")
        return self.tr("The world is made on the CPU: no CUDA device answers.")

    def _field(self, name: str) -> QLabel:
        label = plain_label()
        label.setAccessibleName(name)
        label.setFont(theme.font(11))
        return label
