"""Branches in the window: going on from a past moment, changing branches, and what each of them had on the screen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QImage, QUndoCommand
from PySide6.QtWidgets import QMenu

from worldattention.app import commands
from worldattention.app.branches_dock import BranchesDock
from worldattention.app.messages import Branched
from worldattention.app.notifications import WARNING
from worldattention.app.recalls import memories_of
from worldattention.app.thumbnails import Thumbnails
from worldattention.app.timeline.layout import clock
from worldattention.app.timeline.marks import Arc, ModeChange
from worldattention.app.timeline.rules import PastError
from worldattention.core.errors import UserError
from worldattention.core.geometry import FPS
from worldattention.core.history import Branch, check_name
from worldattention.core.telemetry import BlockTelemetry

if TYPE_CHECKING:
    from worldattention.app.main_window import MainWindow

PANEL_BLOCKS = 400
"""Blocks that the panels are given when another branch is shown."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What the window knows of a branch that it left."""

    pictures: dict[int, QImage]
    arcs: list[Arc]
    mode_changes: list[ModeChange]
    telemetry: list[BlockTelemetry]
    thumbnails: Thumbnails


def _merged(
    shown: Iterable[BlockTelemetry], recent: Iterable[BlockTelemetry], block: int
) -> list[BlockTelemetry]:
    """Records before `block`, in order: what the window has, and better, whole, what the log has."""
    found = {record.block: record for record in (*shown, *recent) if record.block < block}
    return [found[number] for number in sorted(found)]


@dataclass(frozen=True, slots=True)
class _Wish:
    """What was asked of the worker: the text of its undo step, whether it makes a branch, and what comes after it."""

    text: str
    makes: bool
    then: Callable[[], object] | None = None
    undoable: bool = True


class _Move(QUndoCommand):
    """A change of branches; it has happened when it is pushed."""

    def __init__(self, text: str, before: str, after: str, switch: Callable[[str], None]) -> None:
        super().__init__(text)
        self._before, self._after, self._switch = before, after, switch
        self._pushed = False

    def redo(self) -> None:
        if self._pushed:
            self._switch(self._after)
        self._pushed = True

    def undo(self) -> None:
        self._switch(self._before)


class _Renaming(QUndoCommand):
    """Another name for a branch."""

    def __init__(self, text: str, before: str, after: str, rename: Callable[[str, str], None]) -> None:
        super().__init__(text)
        self._before, self._after, self._rename = before, after, rename

    def redo(self) -> None:
        self._rename(self._before, self._after)

    def undo(self) -> None:
        self._rename(self._after, self._before)


class _Deleting(QUndoCommand):
    """A branch that goes, and comes back as it was."""

    def __init__(
        self, text: str, name: str, delete: Callable[[str], None], restore: Callable[[str], None]
    ) -> None:
        super().__init__(text)
        self._name, self._delete, self._restore = name, delete, restore

    def redo(self) -> None:
        self._delete(self._name)

    def undo(self) -> None:
        self._restore(self._name)


class Branching(QObject):
    """Owns the dock; built by the window, one line, after panels and timeline."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, self._world, self._model = window, window.world, window.model
        self._current = self._world.history(self._model.timeline).current
        self._kept: dict[str, _Kept] = {}
        self._wishes: deque[_Wish] = deque()
        self._gone: set[str] = set()  # names of deleted branches, which may come back
        self._used: set[str] = set()  # all names so far: undo may bring any of them back
        self.dock = BranchesDock(self._picture, window.actions_by_name["branch"])
        window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.dock)
        window.tabifyDockWidget(window.panels.stages, self.dock)
        window.panels.memory.raise_()
        window.panels.all = (*window.panels.all, self.dock)
        self.dock.switch_wanted.connect(self.switch)
        self.dock.rename_wanted.connect(self._rename)
        self.dock.delete_wanted.connect(self._delete)
        self._world.branched.connect(self._branched)
        self._world.branch_refused.connect(self._refused)
        self._world.made.connect(self._follow_settings)
        self._model.past_refused.connect(self._offer)
        self._model.changed.connect(self._show)
        window.viewport.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        window.viewport.customContextMenuRequested.connect(self._menu)
        self._show()

    def continue_here(self) -> None:
        """A new branch from the block's edge nearest to the frame that is shown."""
        self._continue(self._block_near(self._world.playback.position))

    def switch(self, name: str) -> None:
        """Goes on at the end of another branch."""
        if name != self._current:
            self._wishes.append(_Wish(commands.SWITCH_BRANCH, makes=False))
            self._world.switch_branch(name, self._model.timeline)

    def clear(self) -> None:
        """Another world: what was on the screen of its branches is gone."""
        self._kept.clear()
        self._wishes.clear()
        self._gone.clear()
        self._used.clear()
        self._current = self._world.history(self._model.timeline).current
        self._show()

    def _continue(self, block: int, then: Callable[[], object] | None = None) -> None:
        history = self._world.history(self._model.timeline)
        name = history.free_name(self.tr("Branch"), self._used)
        self._wishes.append(_Wish(commands.CONTINUE_FROM_HERE, makes=True, then=then))
        self._world.rewind(block, name, self._model.timeline)

    def _block_near(self, frame: int) -> int:
        sizes, made = self._world.geometry, self._world.reel.made
        block = sizes.block_at_frame(min(frame, max(0, made - 1)))
        first, size = sizes.frames_before_block(block), sizes.frames_of_block(block)
        return block + (2 * (frame - first) >= size)

    def _offer(self, error: PastError, again: Callable[[], bool]) -> None:
        """The past is locked, but a branch that leaves before it is free."""
        block = self._block_near(round(error.at * FPS))
        offer = self.tr("Branch there")
        self._window.notifications.tell(str(error), WARNING, offer, lambda: self._continue(block, again))

    def _undo_switch(self, name: str) -> None:
        self._wishes.append(_Wish("", makes=False, undoable=False))
        self._world.switch_branch(name, self._model.timeline)

    def _rename(self, name: str, new: str) -> None:
        try:
            new = check_name(new)
        except UserError as error:
            self._refused_name(str(error))
            return
        if new in self._gone:
            taken = self.tr("“{}” was deleted and can still be brought back: choose another name.")
            self._refused_name(taken.format(new))
        elif new != name:
            text, rename = commands.RENAME_BRANCH, self._world.rename_branch
            self._model.undo_stack.push(_Renaming(text, name, new, rename))

    def _delete(self, name: str) -> None:
        try:
            self._world.history(self._model.timeline).remove(name)
        except UserError as error:
            self._refused_name(str(error))
            return
        self._gone.add(name)
        delete, restore = self._world.delete_branch, self._world.restore_branch
        text = commands.DELETE_BRANCH
        self._model.undo_stack.push(_Deleting(text, name, delete, restore))
        self._window.notifications.tell(self.tr("“{}” is deleted; undo brings it back.").format(name))

    def _refused_name(self, sentence: str) -> None:
        self._window.notifications.tell(sentence, WARNING)
        self._show()

    def _refused(self, sentence: str) -> None:
        if self._wishes:
            self._wishes.popleft()
        self._refused_name(sentence)

    def _branched(self, message: Branched) -> None:
        before, self._current = self._current, message.history.current
        if message.moved:
            wish = self._wishes.popleft() if self._wishes else None
            self._go(before, message, wish)
            if wish is not None and wish.undoable:
                self._model.undo_stack.push(_Move(wish.text, before, self._current, self._undo_switch))
            if wish is not None and wish.then is not None:
                wish.then()
        self._show()
        self._window.refresh_title()

    def _go(self, before: str, message: Branched, wish: _Wish | None) -> None:
        """The screen of the branch that is left is kept, and the other's shown up to where it goes on."""
        window, world, model = self._window, self._world, self._model
        left = _Kept(
            dict(model.pictures),
            list(model.arcs),
            list(model.mode_changes),
            list(world.telemetry),
            world.thumbnails,
        )
        self._kept[before] = left
        shown = self._kept.pop(self._current, left)
        model.pictures, model.arcs, model.mode_changes = shown.pictures, shown.arcs, shown.mode_changes
        kept = _merged(shown.telemetry, message.recent, message.block)
        world.telemetry = deque(kept, maxlen=world.telemetry.maxlen)
        world.thumbnails = shown.thumbnails.before(world.geometry.frames_before_block(message.block))
        model.show_branch(
            model.timeline if wish is not None and wish.makes else message.timeline, message.block
        )
        window.prompt_box.forget_world()
        window.panels.clear()
        if kept:
            window.presenter.show_blocks(kept[-PANEL_BLOCKS:])
        recalls = (record for record in reversed(kept) if record.recall is not None)
        if (newest := next(recalls, None)) is not None:
            window.prompt_box.show_memories(memories_of(newest, model))
        world.playback.rewind(max(0, world.reel.made - 1))
        at, name = clock(message.seconds, True), message.history.current
        window.notifications.tell(self.tr("“{name}” goes on at {time}.").format(name=name, time=at))

    def _follow_settings(self, records: list[BlockTelemetry]) -> None:
        """A past that is made again brings its settings along: the bar shows those that the world runs with."""
        window, newest = self._window, records[-1]
        if self._world.configuring or window.replay.active:
            return
        bar = window.settings_bar
        now = replace(
            bar.settings,
            preset=newest.preset,
            attention=newest.attention,
            retrieval=newest.retrieval,
            density=newest.asked_density,
            seed=newest.seed,
            steps=newest.steps,
        )
        if now != bar.settings:
            bar.show_settings(now)
            window.presenter.accept_settings()

    def _picture(self, branch: Branch) -> QImage | None:
        """What was on the screen where a branch begins."""
        kept = self._kept.get(branch.name)
        pictures = kept.pictures if kept is not None else self._model.pictures
        return pictures.get(branch.from_block) or self._model.picture_of(branch.from_block)

    def _show(self) -> None:
        history = self._world.history(self._model.timeline)
        self._used |= {branch.name for branch in history.branches}
        self.dock.show_history(history, self._world.geometry)

    def _menu(self, position: QPoint) -> None:
        menu = QMenu(self._window.viewport)
        for name in ("branch", "play", "record"):
            menu.addAction(self._window.actions_by_name[name])
        menu.exec(self._window.viewport.mapToGlobal(position))
