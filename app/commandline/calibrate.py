"""`worldattention calibrate`: HSA parameters for a model, learnt from its own dense attention."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from worldattention.app.commandline import console
from worldattention.app.commandline.early import check_options
from worldattention.app.commandline.interrupt import cancel_on_signal
from worldattention.app.commandline.load import open_engine
from worldattention.app.commandline.options import Options, positive
from worldattention.core.files import check_target

if TYPE_CHECKING:
    from worldattention.core.calibration import Calibration

HELP = "learn what hsa needs, for a model that was trained without, from its own dense attention"
USAGE = "pocket|DIR -o FILE"
BLOCKS, HELD_OUT = 60, 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    add = parser.add_argument
    add("what", metavar="pocket|DIR", help="the model; --model is not needed")
    add("-o", "--out", type=Path, required=True, metavar="FILE", help="what was learnt, a .safetensors file")
    add(
        "--blocks",
        type=positive,
        default=BLOCKS,
        metavar="N",
        help=f"blocks to learn from (default: {BLOCKS})",
    )
    add(
        "--held-out",
        type=positive,
        default=HELD_OUT,
        metavar="N",
        help=f"blocks to measure on, before and after (default: {HELD_OUT})",
    )
    add("--fresh", action="store_true", help="start anew, not from the parameters that the model has")


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Learns, saves and reports. Raises UserError or Cancelled."""
    options = replace(options, model=arguments.what, attention="dense")
    check_options(options)
    check_target(arguments.out, "the HSA parameters")
    from worldattention.core.calibration import calibrate, save_parameters
    from worldattention.core.project import ProjectSettings

    engine = open_engine(options, ProjectSettings())
    with closing(engine), cancel_on_signal() as cancel, console.progress_bar("Calibrate", "blocks") as show:
        done = calibrate(engine, arguments.blocks, arguments.held_out, arguments.fresh, show, cancel)
    save_parameters(done.parameters, arguments.out)
    for line in _table(done):
        console.say(line)
    console.say(f"Saved {arguments.out}: as hsa.safetensors beside the transformer's weights it is used.")
    if options.json:
        console.say_json(
            {
                "file": str(arguments.out),
                "blocks": done.blocks,
                "density": done.density,
                "before": done.before,
                "after": done.after,
                "sparse_alone": done.sparse_alone,
            }
        )
    return 0


def _table(done: Calibration) -> list[str]:
    rows = zip(done.sparse_alone, done.before, done.after, strict=True)
    return [
        f"Relative squared error against dense attention, at density {done.density:.3f}:",
        "| layer | sparse alone | before | after |",
        "|---|---|---|---|",
        *(f"| {layer} | " + " | ".join(f"{x:.4f}" for x in row) + " |" for layer, row in enumerate(rows)),
    ]
