"""Where a render begins: at a project's start, at a block or a branch of it, or where a saved world ends."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from worldattention.app.commandline import console
from worldattention.app.commandline.options import Options, WrongUsage
from worldattention.core.errors import Cancelled, UserError

if TYPE_CHECKING:
    from worldattention.core.engine import Engine
    from worldattention.core.project import Project
    from worldattention.core.session import Session
    from worldattention.core.telemetry import BlockResult
    from worldattention.core.telemetry_log import TelemetryLog
    from worldattention.core.world_files import SavedWorld


@dataclass(slots=True)
class Source:
    """What to make, and from where."""

    project: Project
    world: SavedWorld | None
    branch: str | None
    from_block: int
    made: int  # blocks that were made before
    _log: TelemetryLog  # of the blocks so far

    def open(self, engine: Engine, options: Options, cancel: Callable[[], bool]) -> Rendering:
        """A session that stands at the block where the video begins. Raises UserError or Cancelled."""
        from worldattention.core.session import Session

        session = Session(engine, self.project.timeline)
        try:
            self._bring(session, options, cancel)
        except BaseException:
            session.close()
            self._log.close()
            raise
        return Rendering(session, self._log)

    def save(self, folder: Path, rendering: Rendering, pages: bool) -> None:
        """Saves the world. Raises UserError."""
        from worldattention.core.saved_world import save_world
        from worldattention.core.telemetry_lines import lines_of

        session = rendering.session
        with console.progress_bar("Save", "%") as show:
            save_world(
                folder,
                session.engine,
                self.project,
                session.history,
                pages=pages,
                telemetry=lines_of(self._log.records()),
                progress=lambda stage, share: show(round(100 * share), 100, stage),
            )

    def _bring(self, session: Session, options: Options, cancel: Callable[[], bool]) -> None:
        wanted = session.engine.config
        if self.world is not None:
            self._restore(session, self.world, cancel)
        elif not self.project.history.plain and options.as_recorded:
            session.begin(self.project.history)
        if self.branch is not None and self.branch != session.branch:
            session.switch(self.branch)
            self._log.take_up(self._log.spans(), session.block)
        if self.from_block < session.block:
            session.rewind(self.from_block, session.history.free_name())
            self._log.take_up(self._log.spans(), self.from_block)
        self._make(session, min(self.from_block, self.made), cancel)
        if self.world is not None and not options.as_recorded:
            session.configure(wanted)  # only now: its past is as it was
        self._make(session, self.from_block, cancel)

    def _make(self, session: Session, end: int, cancel: Callable[[], bool]) -> None:
        """The blocks before `end`, of which the video has none."""
        with console.progress_bar("History", "blocks") as show:
            while session.block < end:
                show(session.block, end, "made again")
                self._log.append(session.step(cancel).telemetry)

    def _restore(self, session: Session, world: SavedWorld, cancel: Callable[[], bool]) -> None:
        from worldattention.core.saved_world import restore_world
        from worldattention.core.telemetry_lines import records_of

        with console.progress_bar("Restore", "%") as show:

            def progress(stage: str, share: float) -> None:
                if cancel():
                    raise Cancelled
                show(round(100 * share), 100, stage)

            restore_world(session.engine, world, progress)
        session.begin(world.history)
        try:
            for record in records_of(world.telemetry()[: world.blocks]):
                self._log.append(record)
        except ValueError as error:
            raise UserError("The saved world's telemetry is damaged: copy its folder again.") from error


@dataclass(slots=True)
class Rendering:
    """A session whose records are kept for saving."""

    session: Session
    _log: TelemetryLog

    def step(self, cancel: Callable[[], bool] | None = None) -> BlockResult:
        """The next block. Raises Cancelled or UserError."""
        result = self.session.step(cancel)
        self._log.append(result.telemetry)
        return result

    def close(self) -> None:
        """Closes the session, and frees the records."""
        self.session.close()
        self._log.close()


def open_source(arguments: argparse.Namespace) -> Source:
    """What the arguments of `render` name. Raises WrongUsage or UserError."""
    if (arguments.project is None) == (arguments.world is None):
        raise WrongUsage("Name either a project or, with --world, the folder of a saved world.")
    if arguments.save_pages and arguments.save_world is None:
        raise WrongUsage("--save-pages belongs to --save-world: name the folder.")
    if arguments.save_world is not None:
        from worldattention.core.world_files import check_place

        check_place(arguments.save_world)
    from worldattention.core.project import load_project
    from worldattention.core.telemetry_log import TelemetryLog

    world = None
    if arguments.world is not None:
        from worldattention.core.world_files import open_world

        world = open_world(arguments.world)
        world.check()
        project = replace(world.project, history=world.history)
    else:
        project = load_project(arguments.project)
    if arguments.branch is not None:
        project = project.on_branch(arguments.branch)
    current = project.history.current
    made, block = len(project.history.records(current)), arguments.from_block
    if block is None and world is not None:
        block = world.blocks if current == world.history.current else made
    if world is not None:
        project = replace(project, history=world.project.history)  # a world's is saved beside its project
    return Source(project, world, arguments.branch, block or 0, made, TelemetryLog())
