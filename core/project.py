"""Projects: a world's prompts and settings as a `.world` file, versioned JSON (DESIGN 7)."""

from __future__ import annotations

import json
import math
import stat
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from pydantic import Field, ValidationError

from worldattention.core.config import (
    ATTENTION_MODES,
    PRESETS,
    RETRIEVAL_POLICIES,
    EngineConfig,
    check_choice,
    preset_config,
    with_choices,
)
from worldattention.core.errors import UserError
from worldattention.core.files import failures_told, reason, replacing
from worldattention.core.history import History
from worldattention.core.history_file import (
    EventFile,
    HistoryFile,
    OpenModel,
    events_from_file,
    events_to_json,
    history_from_file,
    history_to_json,
)
from worldattention.core.timeline import MAX_SECONDS, Timeline

FORMAT = "worldattention-project"
FORMAT_VERSION = 1
MAX_PROJECT_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """How the world is made. `extra` keeps keys that this version does not know."""

    preset: str = "playground"
    attention: str = "hsa"
    retrieval: str = "hkv"
    density: float | None = None
    seed: int = 0
    steps: int = 4  # denoising steps a block
    extra: dict[str, Any] = field(default_factory=dict)

    def engine_config(self) -> EngineConfig:
        """The engine's configuration. Raises UserError on a bad value."""
        return with_choices(
            preset_config(self.preset),
            attention=self.attention,
            retrieval=self.retrieval,
            density=self.density,
            seed=self.seed,
            steps=self.steps,
        )


@dataclass(frozen=True, slots=True)
class Project:
    """A named timeline with its settings.

    `seconds` is the length of the world; None lets it end with its last event. `extra` and `event_extra` (by
    event id) keep keys that this version does not know. `history` has the branches; `timeline` is the current one's.
    """

    name: str = "Untitled"
    seconds: float | None = None
    timeline: Timeline = field(default_factory=Timeline)
    settings: ProjectSettings = field(default_factory=ProjectSettings)
    extra: dict[str, Any] = field(default_factory=dict)
    event_extra: dict[int, dict[str, Any]] = field(default_factory=dict)
    history: History = field(default_factory=History)

    @property
    def duration(self) -> float:
        """Length of the world in seconds."""
        return self.timeline.seconds if self.seconds is None else self.seconds

    def on_branch(self, name: str) -> Project:
        """The project with another branch as the current one. Raises UserError when there is none of that name."""
        branch = self.history.get(name)
        if name == self.history.current:
            return self
        return replace(self, timeline=branch.timeline, history=replace(self.history, current=name))


class _SettingsFile(OpenModel):
    preset: str = "playground"
    attention: str = "hsa"
    retrieval: str = "hkv"
    density: float | None = None
    seed: int = 0
    steps: int = 4


class _ProjectFile(OpenModel):
    format: str
    format_version: int
    name: str = Field(default="Untitled", max_length=1000)
    seconds: float | None = Field(default=None, gt=0, le=MAX_SECONDS)
    settings: _SettingsFile = _SettingsFile()
    events: list[EventFile] = Field(default=[])
    history: HistoryFile | None = None


def new_project(name: str = "Untitled") -> Project:
    """An empty project."""
    return Project(name=name)


def load_project(path: Path | str) -> Project:
    """The project at `path`.

    Raises:
        UserError: there is none, or it is broken, foreign, of a later version, too large or unsound.
    """
    path = Path(path)
    try:
        return project_from_json(_read(path))
    except UserError as error:
        raise UserError(f"The project '{path}' cannot be opened: {_clause(str(error))}") from error


def save_project(project: Project, path: Path | str) -> None:
    """Writes the project to `path`: whole, or not at all. Raises UserError."""
    data = project_to_json(project).encode("utf-8")
    path, what = Path(path), "the project"
    with replacing(path, what) as temporary, failures_told(path, what):
        temporary.write_bytes(data)


def project_to_json(project: Project) -> str:
    """The text of the project's file. Raises UserError when the project is unsound."""
    settings = project.settings
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "name": project.name,
        "seconds": project.seconds,
        "settings": {
            "preset": settings.preset,
            "attention": settings.attention,
            "retrieval": settings.retrieval,
            "density": settings.density,
            "seed": settings.seed,
            "steps": settings.steps,
            **settings.extra,
        },
        "events": events_to_json(project.timeline, project.event_extra),
        **project.extra,
    }
    if not project.history.plain:
        document["history"] = history_to_json(_with_timeline(project.history, project.timeline))
    try:
        text = _dump(document)
    except (ValueError, RecursionError) as error:
        raise UserError("The project holds a value that no file can: correct it before saving.") from error
    project_from_json(text)  # what could not be opened again is not written
    return text


def project_from_json(text: str) -> Project:
    """The project in the text of a project file. Raises UserError."""
    document = _parse(text)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UserError("It is no WorldAttention project: choose a .world file.")
    version = document.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise UserError(f"It was made by a later version (format {version}): update WorldAttention.")
    try:
        file = _ProjectFile.model_validate(document)
    except ValidationError as error:
        raise UserError(_first_problem(error)) from error
    if file.format_version < 1:
        raise UserError(f"Its format version is {file.format_version}, and there was never such a one.")
    if "\0" in file.name:
        raise UserError("Its name holds a NUL character: remove it.")
    return _project(file)


def _project(file: _ProjectFile) -> Project:
    settings = ProjectSettings(
        preset=file.settings.preset,
        attention=file.settings.attention,
        retrieval=file.settings.retrieval,
        density=file.settings.density,
        seed=file.settings.seed,
        steps=file.settings.steps,
        extra=file.settings.model_extra or {},
    )
    check_choice("preset", settings.preset, PRESETS)
    check_choice("attention", settings.attention, ATTENTION_MODES)
    check_choice("retrieval", settings.retrieval, RETRIEVAL_POLICIES)
    settings.engine_config()
    timeline, event_extra = events_from_file(file.events)
    history = History()
    if file.history is not None:  # a version without branches may have edited the events
        history = _with_timeline(history_from_file(file.history), timeline)
    return Project(
        name=file.name,
        seconds=file.seconds,
        timeline=timeline,
        settings=settings,
        extra=file.model_extra or {},
        event_extra=event_extra,
        history=history,
    )


def _with_timeline(history: History, timeline: Timeline) -> History:
    branch, ids = history.get(history.current), {event.id for event in timeline.events}
    extra = {number: keys for number, keys in branch.event_extra.items() if number in ids}
    return history.put(replace(branch, timeline=timeline, event_extra=extra))


def _read(path: Path) -> str:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise UserError("It is a folder: choose a .world file.")
        if not stat.S_ISREG(status.st_mode):
            raise UserError("It is no ordinary file: choose a .world file.")
        if status.st_size > MAX_PROJECT_BYTES:
            raise UserError(
                f"It has {status.st_size:,} bytes, and a project at most {MAX_PROJECT_BYTES:,}: take another."
            )
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise UserError("There is no such file: check its name.") from error
    except UnicodeDecodeError as error:
        raise UserError("It is no UTF-8 text: choose a .world file.") from error
    except (OSError, ValueError) as error:
        raise UserError(f"It cannot be read, as {reason(error)}.") from error


def _parse(text: str) -> Any:
    def number(literal: str) -> float:
        value = float(literal)
        if not math.isfinite(value):
            refuse(literal)
        return value

    def refuse(literal: str) -> NoReturn:
        raise UserError(f"It holds {literal[:20]}, which is no finite number: correct it.")

    try:
        if not text.strip():
            raise UserError("It is empty: choose another file.")
        document = json.loads(text, parse_float=number, parse_constant=refuse)
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode(
            "utf-8"
        )  # what is opened can be saved
    except json.JSONDecodeError as error:
        raise UserError(
            f"It is no whole JSON: it breaks off or is broken at line {error.lineno}, column {error.colno}."
        ) from error
    except UnicodeEncodeError as error:
        raise UserError(
            "It holds half of a character pair (a lone surrogate): type that text again."
        ) from error
    except ValueError as error:
        raise UserError("It holds a number of too many digits: correct it.") from error
    except RecursionError as error:
        raise UserError("It is nested too deeply to be a project: choose another file.") from error
    return document


def _dump(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    message = "input should be an object" if problem["type"] == "model_type" else problem["msg"]
    return f"Its entry '{place[:80]}' is wrong: {_clause(message)}."


def _clause(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
