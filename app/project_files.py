"""The open project as a file: new, open, save, unsaved changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from worldattention.app import file_dialogs
from worldattention.app.dialogs import ask_save
from worldattention.app.opening import Opening
from worldattention.app.saving import Saving
from worldattention.app.timeline.marks import Marker, markers_from_json, markers_to_json
from worldattention.core.errors import UserError
from worldattention.core.history import History
from worldattention.core.project import (
    Project,
    ProjectSettings,
    load_project,
    new_project,
    project_to_json,
    save_project,
)
from worldattention.core.timeline import Timeline

SUFFIX = ".world"
MARKERS = "markers"


@dataclass(frozen=True, slots=True)
class Present:
    """What the window holds now."""

    timeline: Timeline
    markers: tuple[Marker, ...]
    settings: ProjectSettings
    history: History = field(default_factory=History)


def markers_of(project: Project) -> tuple[Marker, ...]:
    """The markers that a project's file holds; anything else under that key is left alone."""
    return markers_from_json(project.extra.get(MARKERS))


def sample_paths() -> list[Path]:
    """The sample worlds that come with the program."""
    folder = resources.files("worldattention.assets") / "samples"
    return sorted(path for path in Path(str(folder)).glob(f"*{SUFFIX}"))


def _without_records(project: Project) -> Project:
    """What blocks were made from is saved too, but nobody edited it."""
    return replace(project, history=project.history.outline)


def _saved_at(path: Path) -> Project:
    """The project in a file that may be gone or broken."""
    try:
        return load_project(path)
    except UserError:
        return new_project()


class ProjectFiles(QObject):
    """Knows which project is open and whether it differs from its file."""

    opened = Signal()
    renamed = Signal()
    failed = Signal(str)
    told = Signal(str)

    def __init__(
        self,
        window: QWidget,
        opening: Opening,
        project: Project,
        path: Path | None,
        present: Callable[[], Present],
    ) -> None:
        super().__init__(window)
        self._window = window
        self._opening = opening
        self._present = present
        self.saving = Saving(self)
        self.blank: Callable[[], Project] = new_project  # what New begins with
        self.path = path
        self.saved = project

    @property
    def name(self) -> str:
        """The project's name for people."""
        if self.path is not None:
            return self.path.stem
        return self.tr("Untitled") if self.saved.name == new_project().name else self.saved.name

    @property
    def project(self) -> Project:
        """The project as it is now; what this version does not know of its file is kept."""
        now = self._present()
        extra = self.saved.extra
        if now.markers != markers_of(self.saved):
            extra = {**extra, MARKERS: markers_to_json(now.markers)}
        history = History() if now.history.plain else now.history
        return replace(self.saved, timeline=now.timeline, settings=now.settings, extra=extra, history=history)

    def as_text(self) -> str:
        """The project as its file would be, for a video's metadata; empty where it cannot be."""
        try:
            return project_to_json(self.project)
        except UserError:
            return ""

    @property
    def changed(self) -> bool:
        """Whether something would be lost."""
        return _without_records(self.project) != _without_records(self.saved)

    def accept_present(self) -> None:
        """The present settings count as saved (those of the command line)."""
        self.saved = self.project

    def new(self) -> None:
        """An empty project, after asking."""
        if self.confirm():
            self.adopt(self.blank(), None)

    def open_asking(self) -> None:
        """A project chosen in a dialog."""
        folder = str(self.path.parent) if self.path is not None else ""
        kinds = self.tr("Worlds (*.world)")
        if (path := file_dialogs.open_file(self._window, self.tr("Open a world"), folder, kinds)) is not None:
            self.open(path)

    def open(self, path: Path) -> None:
        """The project at `path`, after asking about unsaved changes; the open one stays when that fails."""
        self._read(path, lambda project: self.adopt(project, path))

    def open_copy(self, path: Path, name: str) -> None:
        """What is in a project's file, as another project of that name: saving it asks for a place."""
        self._read(path, lambda project: self.adopt(replace(project, name=name), None))

    def _read(self, path: Path, then: Callable[[Project], None]) -> None:
        def take(project: Project) -> None:
            if self.confirm():
                then(project)

        self._opening.read(path.name, lambda _tell: load_project(path), take)

    def recover(self, project: Project, path: Path | None) -> None:
        """Unsaved work of `path` as it was: open again, and still unsaved."""
        self.adopt(project, path)
        extra = {name: value for name, value in project.extra.items() if name != MARKERS}
        self._differs_from(replace(new_project(), name=project.name, seconds=project.seconds, extra=extra))
        if path is not None:
            self._opening.read(path.name, lambda _tell: _saved_at(path), self._differs_from)

    def _differs_from(self, saved: Project) -> None:
        self.saved = saved
        self.renamed.emit()

    def save(self) -> bool:
        """Writes the project to its file, asking for one when it has none."""
        return self.save_as() if self.path is None else self.save_to(self.path)

    def save_as(self) -> bool:
        """Writes the project to a file chosen in a dialog."""
        start = str(self.path or Path(f"{self.name}{SUFFIX}"))
        kinds = self.tr("Worlds (*.world)")
        path = file_dialogs.save_file(self._window, self.tr("Save the world"), start, kinds)
        return path is not None and self.save_to(path)

    def save_to(self, path: Path) -> bool:
        """Writes the project to `path`."""
        project = self.project
        if self.path is None and project.name == new_project().name:
            project = replace(project, name=path.stem)
        before = self.saved
        try:
            self.saving.write(lambda: save_project(project, path))
        except UserError as error:
            self.failed.emit(str(error))
            return False
        if self.saved is before:  # else another project was opened meanwhile
            self.path, self.saved = path, project
        self.renamed.emit()
        self.told.emit(self.tr("Saved as {}.").format(path.name))
        return True

    def confirm(self) -> bool:
        """Asks about unsaved changes. False when the user would rather stay."""
        if not self.changed:
            return True
        answer = ask_save(self._window, self.name)
        return answer == "discard" or (answer == "save" and self.save())

    def adopt(self, project: Project, path: Path | None) -> None:
        """Another project is open, unchanged; without a `path`, saving asks for one."""
        self.saved, self.path = project, path
        self.opened.emit()
