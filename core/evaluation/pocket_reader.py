"""Reads what no prompt names off frames of the pocket world: a place's arrangement and colours, who is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError

from worldattention.core.evaluation.reader_file import broken, check_reader
from worldattention.core.evaluation.recall import Frames
from worldattention.core.evaluation.recall_plan import EpisodePlan
from worldattention.core.pocket.reader import load_reader
from worldattention.core.pocket.truth import ATTRIBUTES, shown_attributes
from worldattention.core.pocket.vocabulary import ACTIONS, PLACES

_AT_ONCE = 64


class PocketReader:
    """The hidden attributes that the scene of an episode shows.

    Raises:
        UserError: the weights are missing or broken.
    """

    def __init__(self, path: Path) -> None:
        check_reader(path)
        try:
            self.network = load_reader(path)
        except (OSError, SafetensorError, RuntimeError) as error:
            raise broken(path) from error
        self._columns = {attribute.name: column for column, attribute in enumerate(ATTRIBUTES)}

    def __call__(self, frames: Frames, plan: EpisodePlan) -> Sequence[Mapping[str, int]]:
        """What the scene of an episode shows, one reading for each of frames [T, H, W, 3]."""
        return self.read(frames, shown_attributes(PLACES[plan.scene.place], ACTIONS[plan.scene.action]))

    def read(self, frames: Frames, names: Sequence[str]) -> Sequence[Mapping[str, int]]:
        """The attributes `names` in each of frames [T, H, W, 3]."""
        rows: list[list[int]] = []
        for start in range(0, len(frames), _AT_ONCE):
            part = torch.from_numpy(frames[start : start + _AT_ONCE].copy())
            rows += self.network.read(part.permute(0, 3, 1, 2).float() / 255).tolist()
        return [{name: row[self._columns[name]] for name in names} for row in rows]
