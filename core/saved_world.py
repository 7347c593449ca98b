"""A world as a folder: timeline, history, telemetry, latents and, on request, pages; to go on from elsewhere.

    world.json              what it is, of which model, and of every other file its size and SHA-256
    latents-00000.safetensors ...   [blocks, F, C, h, w] fp32, 256 blocks each
    page-000000.safetensors ...     keys and values [layers, L, H, D] of consecutive latent frames
    telemetry.jsonl         one record a block

Written beside its place and renamed; nothing is read that `world.json` does not vouch for; never pickle. Other
branches than the current one are kept as what they were made from, and made again when they are wanted.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from secrets import token_hex

import torch
from safetensors.torch import save
from torch import Tensor

from worldattention.core.engine import Engine
from worldattention.core.errors import UserError
from worldattention.core.files import MANIFEST, sync_folder
from worldattention.core.history import History
from worldattention.core.history_file import history_to_json
from worldattention.core.parts import exchange, new_folder_part, remove_dead_parts
from worldattention.core.project import Project, project_to_json
from worldattention.core.world_files import (
    CHUNK_BLOCKS,
    FORMAT,
    VERSION,
    SavedWorld,
    WorldWriter,
    check_place,
    saving_told,
)

Progress = Callable[[str, float], None]
"""Called with a stage's name and the share done, 0..1. May raise Cancelled."""

ELSEWHERE = (
    "This world was saved without its pages by another machine, so it goes on approximately as there: "
    "save it with its pages to have equal pictures."
)
OTHER_NUMBERS = (
    "The pages of this world are of a machine that computes with other numbers, so it goes on approximately as there: "
    "open it on one of the same kind to have equal pictures."
)


def save_world(
    folder: Path,
    engine: Engine,
    project: Project,
    history: History,
    *,
    pages: bool = False,
    telemetry: Iterable[str] = (),
    progress: Progress | None = None,
) -> None:
    """Writes the world that `engine` has made into a new folder, or over one that was saved before.

    Args:
        pages: also its keys and values; else they are computed again from the latents.
        telemetry: JSON lines.

    Raises:
        UserError: nothing is made yet, something else is there, or it cannot be written; nothing is left then.
    """
    if engine.block == 0:
        raise UserError("There is nothing to save yet: let the world make a block first.")
    check_place(folder)
    told = progress or _silent
    remove_dead_parts(folder.parent)
    with saving_told(folder), new_folder_part(folder, 0o700) as temporary:
        writer = WorldWriter(temporary)
        blocks = range(0, engine.block, CHUNK_BLOCKS)
        for number, start in enumerate(blocks):
            told("latents", start / engine.block)
            end = min(start + CHUNK_BLOCKS, engine.block)
            chunk = torch.stack([engine.latents(block) for block in range(start, end)])
            writer.write(f"latents-{number:05d}.safetensors", save({"latents": chunk}))
        kept = []
        if pages:
            for number, data in enumerate(engine.memory.kept_pages()):
                told("pages", data.info.first_frame / (engine.block * engine.geometry.block_latents))
                name = f"page-{number:06d}.safetensors"
                pair = {"keys": data.keys.cpu().contiguous(), "values": data.values.cpu().contiguous()}
                writer.write(name, save(pair))
                kept.append({"file": name, "first_frame": data.info.first_frame, "frames": data.info.frames})
        if lines := list(telemetry):
            writer.write("telemetry.jsonl", ("\n".join(lines) + "\n").encode())
        document = {
            "format": FORMAT,
            "format_version": VERSION,
            "model": engine.model.name,
            "fingerprint": engine.model.fingerprint,
            "made_by": made_by(engine),
            "geometry": asdict(engine.geometry),
            "blocks": engine.block,
            "pages": kept,
            "project": json.loads(project_to_json(project)),
            "history": history_to_json(history),
            "files": writer.files,
        }
        writer.write(MANIFEST, json.dumps(document, ensure_ascii=False, indent=1).encode())
        sync_folder(temporary)
        _put_in_place(temporary, folder)
    sync_folder(folder.parent)


def restore_world(engine: Engine, world: SavedWorld, progress: Progress | None = None) -> None:
    """Brings a new engine to where the saved world ends: from its pages, else by one pass a block.

    Raises:
        UserError: another model made it, or a file is damaged (the sentence names it).
        Cancelled: `progress` said so.
    """
    if world.fingerprint != engine.model.fingerprint:
        raise UserError(
            f"The world in '{world.folder}' was made by another model ({world.model}): choose it with --model."
        )
    size, told = engine.geometry.block_latents, progress or _silent
    source = _Pages(world, engine)
    passes = False
    for block, latents in enumerate(world.latents()):
        told("past", block / world.blocks)
        clean = source.take(block * size, size)
        passes |= clean is None
        engine.relive(world.records[block], latents, clean)
    engine.restore_decoder()
    if source.converted:
        engine.lose_exactness(OTHER_NUMBERS)
    if passes and world.made_by != made_by(engine):
        engine.lose_exactness(ELSEWHERE)


def made_by(engine: Engine) -> dict[str, str]:
    """What must be equal for a pass to give equal bits."""
    return {"device": _device(engine), "backend": engine.backend, "torch": str(torch.__version__)}


def _device(engine: Engine) -> str:
    device = engine.model.device
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"cpu {torch.backends.cpu.get_cpu_capability()}"


class _Pages:
    """Keys and values of consecutive blocks out of page files, each read once."""

    def __init__(self, world: SavedWorld, engine: Engine) -> None:
        self._world, self._engine = world, engine
        self._next = list(world.pages)
        self._parts: list[tuple[int, Tensor, Tensor]] = []  # first frame, keys, values: frames not taken yet
        self.converted = False  # whether one was saved in other numbers than this machine's

    def take(self, first: int, frames: int) -> tuple[Tensor, Tensor] | None:
        """Of `frames` latent frames from `first` on; None where a page is not there. Call in ascending order."""
        tokens = self._engine.geometry.frame_tokens
        model = self._engine.model
        while self._next and self._next[0].first_frame < first + frames:
            page = self._next.pop(0)
            keys, values = (half.to(model.device) for half in self._world.page(page, model))
            self.converted |= keys.dtype != model.dtype
            self._parts.append((page.first_frame, keys.to(model.dtype), values.to(model.dtype)))
        found: dict[int, tuple[Tensor, Tensor]] = {}
        for start, keys, values in self._parts:
            for frame in range(first, first + frames):
                part = slice((frame - start) * tokens, (frame - start + 1) * tokens)
                if 0 <= part.start < keys.shape[1]:
                    found[frame] = keys[:, part], values[:, part]
        end = first + frames
        self._parts = [part for part in self._parts if part[0] + part[1].shape[1] // tokens > end]
        if len(found) < frames:
            return None
        pairs = [found[frame] for frame in range(first, end)]
        return torch.cat([keys for keys, _ in pairs], 1), torch.cat([values for _, values in pairs], 1)


def _put_in_place(temporary: Path, folder: Path) -> None:
    """In one step, so that a kill leaves the old world or the new one; else the old one first gets another name."""
    with suppress(OSError):
        exchange(temporary, folder)
        return
    before = folder.parent / f".worldattention-{token_hex(6)}.old"
    replaced = os.path.exists(folder)
    if replaced:
        folder.rename(before)
    try:
        temporary.rename(folder)
    except OSError:
        if replaced:
            before.rename(folder)
        raise
    shutil.rmtree(before, ignore_errors=True)


def _silent(_stage: str, _share: float) -> None:
    return None
