"""Every stage of the pocket world, from nothing: what `worldattention train pocket` runs."""

from __future__ import annotations

import logging
import shutil
from functools import partial
from pathlib import Path

import torch

from worldattention.core.errors import UserError
from worldattention.core.evaluation.reader_file import find_reader
from worldattention.core.model_folder import model_folder
from worldattention.core.pocket.training.distributed import Group, device_count, run_processes
from worldattention.core.pocket.training.options import STAGES, TrainOptions
from worldattention.core.pocket.training.session import Session
from worldattention.core.pocket.training.stages import STAGE_FUNCTIONS

logger = logging.getLogger(__name__)


def train_pocket(options: TrainOptions) -> None:
    """Train the pocket world into `options.folder`, which becomes a model folder.

    On several GPUs one process each is started; under torchrun, the processes that stand are used.

    Raises UserError for options that make no sense, a device that is not there, and a missing earlier stage.
    """
    options = options.checked()
    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("There is no CUDA device here: train on the CPU with --device cpu, or elsewhere.")
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"The folder {options.folder} cannot be made ({error.strerror}): name another."
        ) from None
    if options.start is not None:
        begin_with(options.start, options.folder)
    processes = options.processes or device_count(device)
    run_processes(partial(run_stages, options), device, processes)


def begin_with(model: str, folder: Path) -> None:
    """Copy the weights of `model` into `folder`, part by part, where it has none of its own.

    Raises UserError when there is no such model, or it cannot be copied.
    """
    source = model_folder(model)
    reader = find_reader(model)
    try:
        for part in ("autoencoder", "transformer"):
            if not (folder / part).exists() and (source / part).is_dir():
                shutil.copytree(source / part, folder / part)
        if reader.is_file() and not (folder / reader.name).exists():
            shutil.copyfile(reader, folder / reader.name)
    except OSError as error:
        raise UserError(
            f"The weights of '{model}' cannot be copied to {folder} ({error.strerror})."
        ) from None


def run_stages(options: TrainOptions, group: Group) -> None:
    """The chosen stages in their order, in one process of `group`."""
    if group.device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.benchmark = True
    session = Session(options, group)
    for stage in STAGES:
        if stage not in options.stages:
            continue
        if session.is_done(stage):
            logger.info("stage %s is done already", stage)
            continue
        STAGE_FUNCTIONS[stage](session)
        group.wait_for_lead()
