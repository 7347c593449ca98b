"""What the world says, shown: messages of the worker become pictures, panels, marks and sentences."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from worldattention.app import commands, icons
from worldattention.app.messages import Acknowledged, Begun, Failed, Ready, WouldRecall
from worldattention.app.notifications import ERROR, WARNING
from worldattention.app.prompt_box import PromptLanguage
from worldattention.app.recalls import arcs_of, foreseen_of, memories_of
from worldattention.app.sentences import spoken
from worldattention.app.texts import QT_TRANSLATE_NOOP, translate, worded
from worldattention.app.timeline.layout import clock
from worldattention.app.viewport import Overlay
from worldattention.core.devices import shared_memory
from worldattention.core.geometry import FPS
from worldattention.core.project import ProjectSettings
from worldattention.core.telemetry import BlockTelemetry

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow

STARTING = "Starting"
"""The first stage of loading."""
PAST = "past"
"""The stage of loading that may take long, since all that a saved world has is decoded."""
RATE_MS = 250
INVITATION = QT_TRANSLATE_NOOP(
    "Presenter",
    "Type what you want to see, for example:\n"
    "A woman in a yellow shirt flies a kite in the city in the morning.",
)
SLOW_BLOCKS = 6
"""Blocks after which a machine that is too slow is told to be."""
SLOW = "slow"
"""The topic of that notice."""


class Presenter(QObject):
    """Listens to a window's world and updates the window's parts."""

    def __init__(self, window: MainWindow, language: PromptLanguage | None) -> None:
        super().__init__(window)
        self._window = window
        self._world = window.world
        self._model = window.model
        self._good_settings = window.settings_bar.settings
        self._told_change: tuple[Hashable, ProjectSettings] = None, self._good_settings
        self._told_slow = False  # once of a world
        self._overlay: Callable[[], Overlay | None] = lambda: None
        window.prompt_box.language = language
        world = self._world
        world.loading.connect(self.show_loading)
        world.ready.connect(self._ready)
        world.said.connect(self._said)
        world.configured.connect(self._configured)
        world.begun.connect(self._begun)
        world.waking.connect(self._show_waking)
        world.would_recall.connect(self._would_recall)
        world.made.connect(self._made)
        world.failed.connect(self._failed)
        world.latency.connect(window.status.show_latency)
        world.playback.moved.connect(self._moved)
        world.playback.playing_changed.connect(self._playing_changed)
        self._ticker = QTimer(self)
        self._ticker.setInterval(RATE_MS)
        self._ticker.timeout.connect(self._show_rate)
        self._ticker.start()
        worded(window, self._speak)

    def _speak(self) -> None:
        self._window.viewport.show_overlay(self._overlay())
        self._show_chip()
        self._show_rate()

    def _lay_over(self, words: Callable[[], Overlay | None]) -> None:
        """Words over the picture, in the language that the window speaks by then."""
        self._overlay = words
        self._window.viewport.show_overlay(words())

    def stop(self) -> None:
        """The window closes."""
        self._ticker.stop()

    def show_loading(self, stage: str, fraction: float) -> None:
        """How far loading is."""

        def words() -> Overlay:
            named = translate("Stages", stage)
            offer = self.tr("Cancel") if stage == PAST else ""
            return Overlay(self.tr("Waking the world"), f"{named[:1].upper()}{named[1:]}", fraction, offer)

        self._lay_over(words)

    def clear(self) -> None:
        """A new world begins: nothing of the old one stays on the screen."""
        window = self._window
        self._model.forget_world()
        window.viewport.show_frame(None)
        window.notifications.clear(ERROR)
        window.status.forget_world()
        self._told_slow = False
        self._withdraw_slow()
        window.prompt_box.forget_world()
        window.panels.clear()

    def accept_settings(self) -> None:
        """The settings that are shown are those that the world runs with."""
        self._good_settings = self._window.settings_bar.settings

    def refuse_settings(self, sentence: str, wanted: ProjectSettings, offer_restart: bool) -> None:
        """Goes back to the settings that the world runs with, and says why."""
        bar = self._window.settings_bar
        bar.show_settings(self._good_settings)
        self._window.refresh_title()

        def restart() -> None:
            bar.show_settings(wanted)
            self._window.restart()

        tell = self._window.notifications.tell
        if offer_restart:
            tell(sentence, WARNING, self.tr("Restart with it"), restart)
        else:
            tell(sentence, WARNING)

    def _ready(self, message: Ready) -> None:
        window = self._window
        self._model.geometry = message.geometry
        window.status.show_device(message.device_name, message.backend)
        window.panels.memory.bars.show_shared(*shared_memory(message.device_name))
        if message.block:
            self._lay_over(lambda: None)
        if self._model.timeline.events or self._world.playback.playing:
            self._world.playback.play()
        else:
            self._lay_over(
                lambda: Overlay(self.tr("A world that remembers"), translate("Presenter", INVITATION))
            )

    def _said(self, message: Acknowledged, prompt: str) -> None:
        if message.refused is not None:
            self._window.prompt_box.show_refused(message.refused)
            return
        self._window.prompt_box.show_acknowledged(prompt, message.block, clock(message.seconds, True))
        self._model.edit(
            commands.SAY,
            lambda old: old.set_prompt_from(message.seconds, prompt),
        )

    def _configured(self, message: Acknowledged, settings: ProjectSettings) -> None:
        if message.refused is not None:
            self.refuse_settings(message.refused, settings, offer_restart=True)
            return
        topic = ("settings", self._world.epoch, message.block)
        if topic != self._told_change[0]:
            self._told_change = topic, self._good_settings
        self._good_settings = settings
        changes = self._changes(self._told_change[1], settings) or self.tr("as before")
        words = self.tr("From block {block} on: {changes}.").format(block=message.block, changes=changes)
        self._window.notifications.tell(words, topic=topic)

    def _changes(self, before: ProjectSettings, now: ProjectSettings) -> str:
        """What differs, in words."""
        density = "τ" if now.density is None else f"{100 * now.density:g} %"
        words = {
            "preset": self.tr("preset {}").format(now.preset),
            "attention": self.tr("attention {}").format(now.attention),
            "retrieval": self.tr("memory {}").format(now.retrieval),
            "density": self.tr("density {}").format(density),
            "steps": self.tr("1 step") if now.steps == 1 else self.tr("{} steps").format(now.steps),
            "seed": self.tr("seed {}").format(now.seed),
        }
        return ", ".join(said for name, said in words.items() if getattr(before, name) != getattr(now, name))

    def _begun(self, message: Begun) -> None:
        self._model.set_locked(message.locked_seconds)
        self._show_waking()

    def _show_waking(self, share: float | None = None) -> None:
        if not self._world.reel.made and not self._window.replay.active:
            made = self.tr("The first pictures are being made")
            self._lay_over(lambda: Overlay(self.tr("Waking the world"), made, share))

    def _would_recall(self, message: WouldRecall) -> None:
        foreseen = foreseen_of(message.preview, self._model, self._world.thumbnail)
        self._window.prompt_box.show_foreseen(message.text, foreseen)
        if message.nearest is not None:
            self._window.prompt_box.show_nearest(message.text, message.nearest)

    def _made(self, records: list[BlockTelemetry]) -> None:
        window = self._window
        for record in records:
            if (picture := self._world.thumbnail(record.first_frame)) is not None:
                self._model.add_picture(record.block, picture)
            self._model.add_arcs(arcs_of(record, self._model))
            self._model.add_record(record)
            for text in record.notices:
                window.notifications.tell(text, WARNING)
            if record.recall is not None:
                window.prompt_box.show_memories(memories_of(record, self._model))
        window.prompt_box.world_went_on()
        if (
            self._world.state == "ready"
        ):  # else these blocks are a saved world's past, which is still being read
            self._lay_over(lambda: None)
        if not window.replay.active:  # there the panels follow the playhead
            self.show_blocks(records)
            self._tell_when_slow()

    def show_blocks(self, records: list[BlockTelemetry]) -> None:
        """The panels take in blocks, in order, and show the last; of a recording it is the one that plays."""
        self._window.panels.show_blocks(records)
        self._window.status.show_block(records[-1], newest=not self._window.replay.active)

    def _tell_when_slow(self) -> None:
        fps = self._world.made_fps
        if fps is not None and fps >= FPS:
            self._withdraw_slow()
        if self._told_slow or self._world.blocks < SLOW_BLOCKS or fps is None or fps > 0.95 * FPS:
            return
        self._told_slow = True
        self._window.notifications.tell(
            self.tr(
                "This machine makes the world more slowly than it plays, so the picture slows down. "
                "A lower density is quicker."
            ),
            WARNING,
            topic=SLOW,
        )

    def _withdraw_slow(self) -> None:
        self._window.notifications.withdraw(SLOW)
        self._window.status.forget_notice(SLOW)

    def _failed(self, message: Failed) -> None:
        self._lay_over(
            lambda: Overlay(
                self.tr("The world stands still"),
                spoken(message.sentence),
                None,
                self.tr("Restart the world"),
            )
        )
        self._window.status.show_stopped()

    def _moved(self) -> None:
        position = self._world.playback.position
        self._model.set_playhead(position / FPS)
        self._window.picture.show_frame()
        if self._world.playback.playing and not self._world.playback.past:
            self._window.timeline.view.follow()
        self._show_chip()

    def _playing_changed(self) -> None:
        name = "pause" if self._world.playback.playing else "play"
        self._window.actions_by_name["play"].setIcon(icons.icon(name, icons.ON_PRIMARY))
        self._show_chip()
        self._show_rate()

    def _show_chip(self) -> None:
        playback, made = self._world.playback, self._world.reel.made
        if made and playback.position >= made:
            text = self.tr("not made yet")
        elif playback.past:
            text = self.tr("the past · {}").format(clock(playback.position / FPS, True))
        else:
            text = self.tr("paused") if made and not playback.playing else ""
        self._window.viewport.show_chip(text, playback.past)

    def _show_rate(self) -> None:
        playback, made = self._world.playback, self._world.made_fps
        show, fps = self._window.toolbar.show_rate, playback.shown_fps
        if playback.past and playback.running and not playback.playing:
            show(None, made, self.tr("the past"))
        elif not playback.playing:
            still = self.tr("paused") if self._world.reel.made else self._state_text()
            show(None, made, self.tr("stopped") if self._world.state == "failed" else still)
        else:
            show(fps or None, made, self.tr("waiting") if not fps and playback.waiting else "")

    def _state_text(self) -> str:
        state = self._world.state
        return {"loading": self.tr("loading"), "ready": self.tr("ready")}.get(state, state)
