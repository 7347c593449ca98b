"""What a training run of the pocket world is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from worldattention.core.errors import UserError
from worldattention.core.files import check_makeable
from worldattention.core.model_folder import model_folder

STAGES = (
    *("text-pack", "autoencoder", "decoder", "transformer", "memory", "whole", "refine", "hsa"),
    *("first-block", "matching", "adversarial", "reader"),
)
"""In the order in which they need each other."""

RECIPE = ("text-pack", "autoencoder", "transformer", "memory", "refine", "hsa", "reader")
"""From nothing, and what runs when none are named. The shipped weights went on from such: see the model card."""

MINUTES: Mapping[str, float] = {
    "autoencoder": 4.3,
    "decoder": 2.0,
    "reader": 0.75,
    "transformer": 3.9,
    "memory": 2.0,
    "whole": 4.0,
    "refine": 1.2,
    "hsa": 1.4,
    "first-block": 1.5,
    "matching": 2.0,
    "adversarial": 2.0,
}
"""On two H200 GPUs, for weights from nothing; a guess for the stages outside of `RECIPE`. The text pack takes what it
takes."""


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """A run of `train_pocket`.

    `folder` gets every checkpoint; `minutes` overrides the time of stages, and `scale` multiplies all of them;
    `rates` multiplies the learning rates of stages of the transformer;
    `device` is cpu, cuda, or auto; `toy` runs every stage for a few steps at a tiny size, as a test of the
    recipe; with `resume`, stages that are done are skipped and a stage that was interrupted goes on; `start` is
    a model ('pocket' or a folder) whose weights an empty folder begins with; `deadline` is the `time.time()` by
    which every stage has to end.
    """

    folder: Path
    stages: tuple[str, ...] = RECIPE
    minutes: Mapping[str, float] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    scale: float = 1.0
    device: str = "auto"
    processes: int = 0
    toy: bool = False
    resume: bool = True
    seed: int = 0
    batch: int = 0
    start: str | None = None
    deadline: float | None = None

    def checked(self) -> TrainOptions:
        """Itself. Raises UserError when a value makes no sense."""
        unknown = [name for name in (*self.stages, *self.minutes, *self.rates) if name not in STAGES]
        if unknown:
            raise UserError(f"Unknown stage '{unknown[0]}': choose from {', '.join(STAGES)}.")
        if not self.stages:
            raise UserError(f"No stage is chosen: name some of {', '.join(STAGES)}.")
        if not 0 < self.scale < 1000 or any(not 0 <= minutes < 10000 for minutes in self.minutes.values()):
            raise UserError("The time of a stage must be a positive number of minutes.")
        if any(not 0 <= rate < 100 for rate in self.rates.values()):
            raise UserError("What multiplies a stage's learning rates must be a number from 0 on.")
        if self.device not in ("auto", "cpu", "cuda"):
            raise UserError(f"Unknown device '{self.device}': choose auto, cpu or cuda.")
        if self.batch < 0 or self.processes < 0:
            raise UserError("Batch and number of processes cannot be negative.")
        if self.start is not None:
            model_folder(self.start)
        try:
            check_makeable(self.folder)
        except OSError as error:
            raise UserError(
                f"The folder {self.folder} cannot be made ({error.strerror}): name another."
            ) from None
        return self

    def seconds(self, stage: str) -> float:
        """The time budget of a stage."""
        return 60 * self.scale * self.minutes.get(stage, MINUTES.get(stage, 0.0))
