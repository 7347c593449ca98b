"""The status bar: device, tiers, how long Enter takes to show, and the last notice."""

from __future__ import annotations

import sys
from collections.abc import Hashable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QSizePolicy, QStatusBar, QWidget

from worldattention.app import theme
from worldattention.app.notifications import ERROR, WARNING, Notice
from worldattention.app.texts import plain_label, tip, translate, worded
from worldattention.core.telemetry import BlockTelemetry
from worldattention.core.units import format_bytes


class StatusBar(QStatusBar):
    """Four quiet fields."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeGripEnabled(False)
        self.device, self.block, self.tiers = self._field(), self._field(), self._field()
        self.latency, self.notice = self._field(), self._field()
        self._made_by: tuple[str, str] | None = None  # device and backend, once the world is there
        self._stopped = False
        self._telemetry: BlockTelemetry | None = None  # of the block that is told
        self._newest = True  # whether no later one is made
        self._latency_s: float | None = None
        self._topic: Hashable = None  # of the notice
        self.notice.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        for field in (self.device, self.block, self.tiers, self.latency):
            self.addWidget(field)
        self.addWidget(self.notice, 1)
        self.notice.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        worded(self, self._speak)

    def _speak(self) -> None:
        self.device.setAccessibleName(self.tr("Device"))
        self.block.setAccessibleName(self.tr("Block"))
        self.tiers.setAccessibleName(self.tr("Memory"))
        self.latency.setAccessibleName(self.tr("Enter to picture"))
        self.notice.setAccessibleName(self.tr("Notice"))
        self._write_device()
        self._write_block()
        self._write_latency()

    def show_device(self, device: str, backend: str) -> None:
        """Where the world is made, and why there if it is no GPU."""
        self._made_by, self._stopped = (device, backend), False
        self._write_device()

    def show_stopped(self) -> None:
        """No world is made."""
        self._stopped = True
        self._write_device()

    def show_block(self, telemetry: BlockTelemetry, newest: bool = True) -> None:
        """A block, mostly the newest that is made, and what each tier holds."""
        self._telemetry, self._newest = telemetry, newest
        self._write_block()

    def _write_device(self) -> None:
        if self._stopped or self._made_by is None:
            self.device.setText(self.tr("stopped") if self._stopped else self.tr("loading …"))
            return
        device, backend = self._made_by
        self.device.setText(f"{'CPU' if device == 'cpu' else device} · {backend}")
        why = self._why_cpu() if device == "cpu" else ""
        self.device.setToolTip(tip(why))
        self.device.setAccessibleDescription(why)

    def forget_world(self) -> None:
        """Another world begins: what is told of the blocks is not of it."""
        self._telemetry = self._latency_s = None
        for field in (self.block, self.tiers, self.latency):
            field.clear()
        self.block.setToolTip("")

    def _write_block(self) -> None:
        telemetry = self._telemetry
        if telemetry is None:
            return
        words = self.tr("newest block {}") if self._newest else self.tr("block {}")
        self.block.setText(words.format(telemetry.block))
        stages = ", ".join(
            f"{translate('Stages', name)} {ms:.0f} ms" for name, ms in telemetry.stage_ms.items()
        )
        self.block.setToolTip(self.tr("made in {}").format(stages))
        self.tiers.setText(
            " · ".join(
                f"{theme.tier_name(tier.name)} {format_bytes(tier.used_bytes)}" for tier in telemetry.tiers
            )
        )

    def show_latency(self, seconds: float) -> None:
        """Time from Enter to the first picture of the prompt."""
        self._latency_s = seconds
        self._write_latency()

    def _write_latency(self) -> None:
        if self._latency_s is not None:
            self.latency.setText(self.tr("Enter to picture {:.1f} s").format(self._latency_s))

    def show_notice(self, notice: Notice) -> None:
        """The last thing that was said, when it no longer stands over the picture."""
        theme.set_tone(self.notice, {WARNING: "warning", ERROR: "danger"}.get(notice.level, "muted"))
        self._topic = notice.topic
        self.notice.setText(notice.text)
        self.notice.setToolTip(tip(notice.text))

    def forget_notice(self, topic: Hashable = None) -> None:
        """Nothing was said lately; with a `topic`, nothing on that."""
        if topic is not None and topic != self._topic:
            return
        self._topic = None
        self.notice.clear()
        self.notice.setToolTip("")

    def _why_cpu(self) -> str:
        torch = sys.modules.get("torch")  # the engine has loaded it by now
        if torch is None or torch.cuda.is_available():
            return ""
        if torch.version.cuda is None:
            return self.tr("The world is made on the CPU: this PyTorch was built without CUDA.")
        return self.tr("The world is made on the CPU: no CUDA device answers.")

    def _field(self) -> QLabel:
        label = plain_label()
        label.setFont(theme.font(11))
        return label
