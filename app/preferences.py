"""What holds for every world on this machine: model, device, quotas, defaults. Kept as JSON. No Qt in here."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import platformdirs
import psutil

from worldattention.core.config import ATTENTION_MODES, RETRIEVAL_POLICIES, EngineConfig
from worldattention.core.errors import UserError
from worldattention.core.files import failures_told, private_folder, reason, replacing, standing_place
from worldattention.core.hkv.quotas import free_bytes
from worldattention.core.project import Project, ProjectSettings
from worldattention.core.units import format_bytes, parse_bytes

DEVICES = ("auto", "cpu", "cuda")
_WHAT = "the settings"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Preferences:
    """None: the program's own choice. Quotas in bytes."""

    model: str = "pocket"
    device: str = "auto"
    device_quota_bytes: int | None = None
    dram_quota_bytes: int | None = None
    disk_quota_bytes: int | None = None
    cache_folder: str | None = None
    attention: str = "hsa"
    retrieval: str = "hkv"
    pixel_exact: bool = False

    def needs_restart(self, other: Preferences) -> bool:
        """Whether a running world goes on with the other ones until it is restarted."""
        return self != replace(
            other, attention=self.attention, retrieval=self.retrieval, pixel_exact=self.pixel_exact
        )

    def new_project(self) -> Project:
        """An empty project with these defaults."""
        return Project(settings=ProjectSettings(attention=self.attention, retrieval=self.retrieval))

    def applied(self, config: EngineConfig) -> EngineConfig:
        """`config` with these quotas and this cache folder."""
        quotas = {
            name: getattr(self, name)
            for name in ("device_quota_bytes", "dram_quota_bytes", "disk_quota_bytes")
            if getattr(self, name) is not None
        }
        folder = Path(self.cache_folder) if self.cache_folder is not None else config.cache.folder
        return replace(config, cache=replace(config.cache, folder=folder, **quotas))


class PreferencesStore:
    """Reads and writes preferences. A file that cannot be read is set aside: `problem` says so, once."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.problem: str | None = None
        self.current = self._read()

    def save(self, preferences: Preferences) -> None:
        """Keeps them, for this sitting and the next. Raises UserError when only this sitting can have them."""
        self.current = preferences
        if self._file is None:
            return
        try:
            private_folder(self._file.parent)
        except OSError as error:
            raise UserError(
                f"The settings hold until the end: they cannot be kept, as {reason(error)}."
            ) from error
        with replacing(self._file, _WHAT, private=True) as temporary, failures_told(self._file, _WHAT):
            temporary.write_text(json.dumps(asdict(preferences), ensure_ascii=False, indent=2), "utf-8")

    def _read(self) -> Preferences:
        if self._file is None:
            return Preferences()
        try:
            return preferences_from_json(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return Preferences()
        except (OSError, ValueError, RecursionError) as error:
            log.warning("the settings cannot be read: %s", error)
            self.problem = self._set_aside()
            return Preferences()

    def _set_aside(self) -> str:
        assert self._file is not None
        aside = self._file.with_suffix(".bad")
        try:
            self._file.replace(aside)
        except OSError:
            return "The settings could not be read, so the program's own are used."
        return f"The settings could not be read, so the program's own are used; the file is kept as '{aside.name}'."


def preferences_from_json(text: str) -> Preferences:
    """Preferences of a settings file; unknown keys are left out. Raises ValueError when one is of a wrong kind."""
    record = json.loads(text)
    if not isinstance(record, dict):
        raise ValueError("no object")
    known = {field.name: record[field.name] for field in fields(Preferences) if field.name in record}
    made = Preferences(**known)
    quotas = (made.device_quota_bytes, made.dram_quota_bytes, made.disk_quota_bytes)
    sound = (
        isinstance(made.model, str)
        and "\0" not in made.model
        and isinstance(made.device, str)
        and all(quota is None or (type(quota) is int and quota >= 0) for quota in quotas)
        and (made.cache_folder is None or isinstance(made.cache_folder, str))
        and made.attention in ATTENTION_MODES
        and made.retrieval in RETRIEVAL_POLICIES
        and isinstance(made.pixel_exact, bool)
    )
    if not sound:
        raise ValueError("a value of a wrong kind")
    return made


def check_quota(tier: str, text: str, cache_folder: Path) -> tuple[int | None, str]:
    """Bytes of a typed quota (None: nothing was typed) and what it means here. Raises UserError."""
    on_disk = tier == "disk"
    there = free_bytes(cache_folder) if on_disk else psutil.virtual_memory().total
    amount = format_bytes(there)
    if not text.strip():
        if on_disk:
            return None, f"Chosen by the program: {amount} are free there."
        return None, f"Chosen by the program: this machine has {amount} of memory."
    quota = parse_bytes(text)
    if quota > there and on_disk:
        raise UserError(f"There are only {amount} free there: give less than that.")
    if quota > there:
        raise UserError(f"This machine has {amount} of memory: give less than that.")
    part = format_bytes(quota)
    return quota, f"{part} of the {amount} that are free." if on_disk else f"{part} of {amount} of memory."


def check_cache_folder(text: str, default: Path) -> tuple[str | None, str]:
    """The folder that was typed (None: nothing) and how much is free there. Raises UserError."""
    folder = Path(text) if text.strip() else default
    if not folder.is_absolute():
        raise UserError("Give the whole path of the folder, from / on.")
    place = standing_place(folder)
    if not os.path.isdir(place):
        raise UserError(f"'{place}' is a file, not a folder: choose another.")
    if not os.access(place, os.W_OK | os.X_OK):
        raise UserError(f"Nothing can be written to '{place}': choose another folder.")
    return text.strip() or None, f"{format_bytes(free_bytes(folder))} are free there."


def default_cache() -> Path:
    """The platform's folder for what can be made again."""
    return Path(platformdirs.user_cache_path("worldattention", appauthor=False))
