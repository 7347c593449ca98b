"""`worldattention train pocket`: the pocket world from nothing, stage by stage."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from worldattention.app.commandline import console
from worldattention.app.commandline.options import Options, positive_number, set_up_logging, whole
from worldattention.core.errors import Cancelled, UserError

HELP = "train the pocket world from nothing"
USAGE = "pocket --out FOLDER"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    add = parser.add_argument
    add("what", choices=["pocket"], metavar="pocket", help="what to train")
    add("--out", type=Path, required=True, metavar="FOLDER", help="gets checkpoints; becomes a model folder")
    add("--stages", metavar="A,B", help="these stages, with commas (default: those of the shipped weights)")
    add(
        "--minutes",
        metavar="STAGE=M,...",
        help="minutes of single stages (defaults: what the shipped weights got)",
    )
    add(
        "--rates",
        metavar="STAGE=X,...",
        help="X times the learning rates of single stages of the transformer",
    )
    add("--scale", type=positive_number, default=1.0, metavar="X", help="X times the minutes of every stage")
    add("--processes", type=whole, default=0, metavar="N", help="GPUs to use (default: all)")
    add("--batch", type=whole, default=0, metavar="N", help="samples a step and process (default: by stage)")
    add("--toy", action="store_true", help="every stage for a few steps at a tiny size, to try the recipe")
    add(
        "--resume-from",
        metavar="pocket|DIR",
        help="begin with the weights of this model where the folder has none (default: from nothing)",
    )
    add(
        "--within",
        type=positive_number,
        metavar="SECONDS",
        help="end every stage, its weights written, so many seconds from now (default: no limit)",
    )
    add("--fresh", action="store_true", help="do stages again that are done (default: resume)")


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Trains. Raises UserError, or Cancelled: what is done stays, and the same command goes on."""
    from worldattention.core.pocket.training.options import RECIPE, TrainOptions

    stages = RECIPE if arguments.stages is None else tuple(arguments.stages.split(","))
    wanted = TrainOptions(
        folder=arguments.out,
        stages=stages,
        minutes=_by_stage(arguments.minutes, "--minutes"),
        rates=_by_stage(arguments.rates, "--rates"),
        scale=arguments.scale,
        device=options.device,
        processes=arguments.processes,
        toy=arguments.toy,
        resume=not arguments.fresh,
        seed=options.seed or 0,
        batch=arguments.batch,
        start=arguments.resume_from,
        deadline=None if arguments.within is None else time.time() + arguments.within,
    ).checked()
    from worldattention.core.pocket.training.recipe import train_pocket

    set_up_logging(options.debug, chatty=True)
    try:
        train_pocket(wanted)
    except KeyboardInterrupt as error:
        raise Cancelled(
            f"Stopped, as you asked; what is done stays in '{arguments.out}', and the same command goes on from there."
        ) from error
    console.say(f"Trained {', '.join(stages)} in {arguments.out}: try it with --model {arguments.out}.")
    if options.json:
        console.say_json({"folder": str(arguments.out), "stages": list(stages)})
    return 0


def _by_stage(text: str | None, option: str) -> dict[str, float]:
    """'autoencoder=4,hsa=1.5' -> a number a stage. Raises UserError."""
    result = {}
    for part in text.split(",") if text else ():
        stage, _, amount = part.partition("=")
        try:
            result[stage] = float(amount)
        except ValueError:
            raise UserError(f"{option} takes STAGE=NUMBER with commas, not '{part}'.") from None
    return result
