"""The files of a saved world: written private and hashed, read only as `world.json` says (see `saved_world`)."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from safetensors import SafetensorError

from worldattention.core.errors import UserError
from worldattention.core.files import MANIFEST, cause, reason
from worldattention.core.history import BlockRecord, History
from worldattention.core.history_file import MAX_BLOCKS, HistoryFile, history_from_file
from worldattention.core.parts import new_folder_part
from worldattention.core.project import Project, project_from_json

if TYPE_CHECKING:
    from torch import Tensor

    from worldattention.core.models.world import WorldModel

FORMAT, VERSION = "worldattention-saved-world", 1
CHUNK_BLOCKS = 256
MAX_MANIFEST_BYTES = 64 << 20
MAX_TELEMETRY_BYTES = 4 << 30
_HEADER_BYTES = 1 << 16
PAGE_DTYPES = {"bfloat16": 2, "float16": 2, "float32": 4}
"""Bytes of a number. What a model computes in depends on the machine; a page is of use to all of them."""
_NAME = re.compile(r"(latents-\d{5}|page-\d{6})\.safetensors|telemetry\.jsonl")
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class _FileEntry(_Strict):
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class _PageEntry(_Strict):
    file: str
    first_frame: int = Field(ge=0)
    frames: int = Field(ge=1, le=64)


class _Geometry(_Strict):
    latent_channels: int = Field(ge=1, le=1024)
    latent_height: int = Field(ge=1, le=4096)
    latent_width: int = Field(ge=1, le=4096)
    block_latents: int = Field(ge=1, le=64)


class _Manifest(_Strict):
    format: str
    format_version: int
    model: str = Field(max_length=4096)
    fingerprint: str = Field(max_length=4096)
    made_by: dict[str, str]
    geometry: _Geometry
    blocks: int = Field(ge=1, le=MAX_BLOCKS)
    pages: list[_PageEntry]
    project: dict[str, Any]
    history: HistoryFile
    files: dict[str, _FileEntry]


@dataclass(frozen=True, slots=True)
class SavedPage:
    """Where keys and values of consecutive latent frames lie."""

    file: str
    first_frame: int
    frames: int


@dataclass(frozen=True, slots=True)
class SavedWorld:
    """A folder whose `world.json` was found sound; its other files are checked when they are read."""

    folder: Path
    model: str
    fingerprint: str
    made_by: dict[str, str]
    blocks: int
    project: Project
    history: History
    pages: tuple[SavedPage, ...]
    files: dict[str, tuple[int, str]]  # bytes and SHA-256 by name
    latent_shape: tuple[int, int, int, int]

    @property
    def records(self) -> tuple[BlockRecord, ...]:
        """What its blocks were made from."""
        return self.history.records(self.history.current)[: self.blocks]

    def latents(self) -> Iterator[Tensor]:
        """[F, C, h, w] fp32 of every block, in order. Raises UserError."""
        for number, start in enumerate(range(0, self.blocks, CHUNK_BLOCKS)):
            name = f"latents-{number:05d}.safetensors"
            shape = (min(CHUNK_BLOCKS, self.blocks - start), *self.latent_shape)
            yield from self._tensors(name, {"latents": shape}, {"float32": 4})["latents"]

    def page(self, page: SavedPage, model: WorldModel) -> tuple[Tensor, Tensor]:
        """Keys and values [layers, L, H, D] in the numbers of the machine that saved them. Raises UserError."""
        tokens = page.frames * model.geometry.frame_tokens
        shape = model.layers, tokens, model.heads, model.head_dim
        tensors = self._tensors(page.file, {"keys": shape, "values": shape}, PAGE_DTYPES)
        return tensors["keys"], tensors["values"]

    def telemetry(self) -> list[str]:
        """JSON lines; empty where none was saved. Raises UserError."""
        name = "telemetry.jsonl"
        if name not in self.files:
            return []
        try:
            return self._read(name, MAX_TELEMETRY_BYTES).decode("utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise self._damaged(name) from error

    def _tensors(
        self, name: str, shapes: dict[str, tuple[int, ...]], dtypes: Mapping[str, int]
    ) -> dict[str, Tensor]:
        from safetensors.torch import load  # torch comes with it, and a manifest is read without

        size = max(dtypes.values()) * sum(map(prod, shapes.values()))
        data = self._read(name, size + _HEADER_BYTES)
        try:
            tensors: dict[str, Tensor] = load(data)
        except (SafetensorError, ValueError, KeyError) as error:
            raise self._damaged(name) from error
        found = {key: tuple(value.shape) for key, value in tensors.items()}
        if found != shapes or any(
            str(value.dtype).removeprefix("torch.") not in dtypes for value in tensors.values()
        ):
            raise UserError(
                f"'{self.folder / name}' does not hold what this model needs: save the world again."
            )
        return tensors

    def check(self) -> None:
        """Raises UserError when a file that is needed is missing or has another size; none is read."""
        latents = (f"latents-{number:05d}.safetensors" for number in range(-(-self.blocks // CHUNK_BLOCKS)))
        for name in (*latents, *(page.file for page in self.pages)):
            size, _ = self._entry(name)
            try:
                found = os.lstat(self.folder / name).st_size
            except OSError as error:
                raise UserError(f"'{self.folder / name}' cannot be read: {reason(error)}.") from error
            if found != size:
                raise self._damaged(name)

    def _entry(self, name: str) -> tuple[int, str]:
        if name not in self.files:
            raise UserError(f"The saved world lacks '{self.folder / name}': copy the whole folder again.")
        return self.files[name]

    def _read(self, name: str, most_bytes: int) -> bytes:
        """The file's bytes, if they are those that were saved. Raises UserError."""
        size, expected = self._entry(name)
        if size > most_bytes:
            raise UserError(f"'{self.folder / name}' is larger than it can be: copy the whole folder again.")
        data = _read_file(self.folder / name, size)
        if len(data) != size or hashlib.sha256(data).hexdigest() != expected:
            raise self._damaged(name)
        return data

    def _damaged(self, name: str) -> UserError:
        return UserError(f"'{self.folder / name}' is damaged: copy the whole folder again.")


class WorldWriter:
    """Writes files of a new world, 0600, and remembers their sizes and hashes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: dict[str, dict[str, object]] = {}

    def write(self, name: str, data: bytes) -> None:
        """A whole file, on the disk when this returns. Raises OSError."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
        descriptor = os.open(self._folder / name, flags, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        self.files[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def check_place(folder: Path) -> None:
    """Raises UserError where something lies that is no saved world, or nothing can be written."""
    with saving_told(folder):
        if not os.path.isdir(folder.parent):
            raise UserError(
                f"There is no folder '{folder.parent}' for the world: make it first, or name another."
            )
        if _lies_there(folder):
            if folder.is_symlink() or not os.path.isdir(folder):
                raise UserError(f"'{folder}' is no folder: name another place for the world.")
            if folder.name in ("", "..") or os.path.ismount(folder):
                raise UserError(f"The folder '{folder}' cannot be replaced: name a new one for the world.")
            if any(folder.iterdir()) and not os.path.isfile(folder / MANIFEST):
                raise UserError(f"The folder '{folder}' holds other things: name a new one for the world.")
        with new_folder_part(folder, 0o700):
            pass


def _lies_there(path: Path) -> bool:
    """Whether something has this name. Raises OSError where nothing ever could."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True


@contextmanager
def saving_told(folder: Path) -> Iterator[None]:
    """Turns a failed file operation inside into a UserError that names the folder."""
    try:
        yield
    except OSError as error:
        raise UserError(f"The world could not be saved to '{folder}': {cause(error)}.") from error


def open_world(folder: Path) -> SavedWorld:
    """The saved world in a folder. Raises UserError, naming the file, when it is none or unsound."""
    path = folder / MANIFEST
    if os.path.isfile(folder):  # which asks without raising
        raise UserError(
            f"'{folder}' is a file, and a saved world is a folder with a {MANIFEST}: give that folder, or a project "
            "without --world."
        )
    if not os.path.isdir(folder):
        raise UserError(f"There is no folder '{folder}': give the folder of a saved world.")
    if not os.path.lexists(path):
        raise UserError(
            f"The folder '{folder}' has no {MANIFEST}, so it is no saved world: give the folder of one."
        )
    data = _read_file(path, MAX_MANIFEST_BYTES)
    try:
        document = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"'{path}' is no saved world: give the folder of one.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UserError(f"'{path}' is no saved world: give the folder of one.")
    version = document.get("format_version")
    if version != VERSION:
        raise UserError(f"'{path}' was written by another version (format {version}): update WorldAttention.")
    try:
        manifest = _Manifest.model_validate(document)
        project = project_from_json(json.dumps(manifest.project))
        history = history_from_file(manifest.history)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])[:80]
        raise UserError(f"'{path}' is damaged at '{where}': copy the whole folder again.") from error
    except (UserError, ValueError, RecursionError) as error:
        raise UserError(f"'{path}' is damaged ({error}): copy the whole folder again.") from error
    return _checked(folder, manifest, project, history)


def _checked(folder: Path, manifest: _Manifest, project: Project, history: History) -> SavedWorld:
    path = folder / MANIFEST
    if not all(_NAME.fullmatch(name) for name in (*manifest.files, *(page.file for page in manifest.pages))):
        raise UserError(f"'{path}' names a file that no saved world has: copy the whole folder again.")
    if len(history.records(history.current)) < manifest.blocks:
        raise UserError(f"'{path}' does not tell how all its blocks were made: copy the whole folder again.")
    pages = sorted(manifest.pages, key=lambda page: page.first_frame)
    sizes = manifest.geometry
    return SavedWorld(
        folder=folder,
        model=manifest.model,
        fingerprint=manifest.fingerprint,
        made_by=manifest.made_by,
        blocks=manifest.blocks,
        project=project,
        history=history,
        pages=tuple(SavedPage(page.file, page.first_frame, page.frames) for page in pages),
        files={name: (entry.bytes, entry.sha256) for name, entry in manifest.files.items()},
        latent_shape=(sizes.block_latents, sizes.latent_channels, sizes.latent_height, sizes.latent_width),
    )


def _read_file(path: Path, most_bytes: int) -> bytes:
    """At most so many bytes of an ordinary file; no link is followed. Raises UserError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _FLAGS)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > most_bytes:
                raise UserError(f"'{path}' is no ordinary file, or too large: copy the whole folder again.")
            return file.read(status.st_size)  # not of the limit: that much memory would be taken at once
    except (OSError, ValueError) as error:
        raise UserError(f"'{path}' cannot be read: {reason(error)}.") from error
