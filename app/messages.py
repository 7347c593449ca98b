"""What window and worker say to each other: frozen data, no Qt (DESIGN 6)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from worldattention.app.engine_like import PreviewLike
from worldattention.app.export import ExportJob
from worldattention.core.config import EngineConfig
from worldattention.core.geometry import Geometry
from worldattention.core.history import BlockRecord, History
from worldattention.core.project import Project
from worldattention.core.telemetry import BlockTelemetry
from worldattention.core.timeline import Timeline

# Window -> worker. `epoch` names the world that the sender saw; the worker drops commands of older worlds.


@dataclass(frozen=True, slots=True)
class Command:
    """One wish of the user; acknowledged by its id with the block at which it takes effect."""

    id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Say(Command):
    """A prompt typed live: it holds from the next block on."""

    prompt: str


@dataclass(frozen=True, slots=True)
class Typing(Command):
    """What stands in the prompt line, not said yet. Only the newest counts; `WouldRecall` is its answer."""

    text: str


@dataclass(frozen=True, slots=True)
class SetTimeline(Command):
    """The edited timeline. `said` is the id of the last `Say` that it already holds."""

    timeline: Timeline
    said: int


@dataclass(frozen=True, slots=True)
class Configure(Command):
    """New settings from the next block on."""

    config: EngineConfig


@dataclass(frozen=True, slots=True)
class SetRunning(Command):
    """Whether blocks may be made (play, pause)."""

    running: bool


@dataclass(frozen=True, slots=True)
class Restart(Command):
    """A new world, from block 0, with this timeline and configuration; its `epoch` is the new one.

    `reload`: the engine is opened anew (another model, device or quota, or a recording). `history`: branches that
    are kept, to be made again; `anew`: where their settings differ from `config`, that counts.
    """

    timeline: Timeline
    config: EngineConfig
    reload: bool = False
    history: History | None = None
    anew: bool = False


@dataclass(frozen=True, slots=True)
class Export(Command):
    """Write frames of the world to a file, making those that are missing."""

    job: ExportJob


@dataclass(frozen=True, slots=True)
class Record(Command):
    """Record every block from the next one on into a video at `path`; None ends the recording."""

    path: Path | None
    title: str = ""
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Rewind(Command):
    """Go on from the start of `block` as the new branch `name`, once it may run; `epoch` is the new one.

    `left` is the timeline of the branch that is left, as it was edited. `Branched` answers.
    """

    block: int
    name: str
    left: SetTimeline


@dataclass(frozen=True, slots=True)
class SwitchBranch(Command):
    """Go on at the end of another branch; `epoch` is the new one. `Branched` answers."""

    name: str
    left: SetTimeline


@dataclass(frozen=True, slots=True)
class RenameBranch(Command):
    """Another name for a branch. `Branched` answers."""

    name: str
    new: str


@dataclass(frozen=True, slots=True)
class DeleteBranch(Command):
    """Take out a branch that is not in use. `Branched` answers."""

    name: str


@dataclass(frozen=True, slots=True)
class RestoreBranch(Command):
    """Bring a deleted branch back. `Branched` answers."""

    name: str


@dataclass(frozen=True, slots=True)
class SaveWorld(Command):
    """Save the world as a folder, between two blocks; its acknowledgement says how it went."""

    folder: Path
    project: Project
    pages: bool


# Worker -> window.


@dataclass(frozen=True, slots=True)
class Loading:
    """A stage of loading, and how much of all of it is done (0..1)."""

    stage: str
    fraction: float


@dataclass(frozen=True, slots=True)
class Ready:
    """The engine stands; `block` is the next to be made."""

    epoch: int
    geometry: Geometry
    device_name: str
    backend: str
    block: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Command `id` takes effect at `block`, `seconds` into the world; or was refused, with a sentence."""

    id: int
    epoch: int
    block: int
    seconds: float
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Branched:
    """The tree of branches as it is now; the current one goes on at `block`, under `timeline`."""

    epoch: int
    history: History
    block: int
    seconds: float
    timeline: Timeline
    moved: bool = False  # the world goes on elsewhere than before
    recent: tuple[
        BlockTelemetry, ...
    ] = ()  # then, records of the newest blocks before, its parents' included


@dataclass(frozen=True, slots=True)
class Begun:
    """Block number `block` is being made with this prompt: all before its end is past.

    `due`: when it will probably be there, by `time.perf_counter`; None while that is not known.
    """

    epoch: int
    block: int
    locked_seconds: float
    due: float | None = None


@dataclass(frozen=True, slots=True)
class Due:
    """The block that is being made will be there at another moment than was thought; by `time.perf_counter`."""

    epoch: int
    due: float


@dataclass(frozen=True, slots=True)
class Waking:
    """How much is made, as a share, of what goes before a world's first pictures."""

    epoch: int
    share: float


@dataclass(frozen=True, slots=True)
class WouldRecall:
    """The moments that `text` would recall if it were said now, best first.

    `nearest` is what the world would show instead of a text that it does not know; None when it knows it.
    """

    epoch: int
    text: str
    preview: PreviewLike
    nearest: str | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """A block is made; its frames are on the reel."""

    epoch: int
    telemetry: BlockTelemetry
    record: BlockRecord


@dataclass(frozen=True, slots=True)
class Failed:
    """The world stands still; one sentence for people. A restart revives it."""

    epoch: int
    sentence: str
    detail: str


@dataclass(frozen=True, slots=True)
class ExportProgress:
    """Frames written so far of all."""

    frames: int
    total: int


@dataclass(frozen=True, slots=True)
class ExportDone:
    """The export ended: written, cancelled, or failed with a sentence."""

    path: Path
    frames: int
    cancelled: bool = False
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The recording ended, as wished or with a sentence."""

    path: Path
    frames: int
    failure: str | None = None


Message = (
    Loading
    | Ready
    | Acknowledged
    | Branched
    | Begun
    | Due
    | Waking
    | WouldRecall
    | Made
    | Failed
    | ExportProgress
    | ExportDone
    | Recorded
)
