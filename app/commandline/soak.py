"""`worldattention soak [--minutes M]`: a long world with small quotas, watched for growth and slowing down."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from worldattention.app.commandline import console
from worldattention.app.commandline.early import check_options
from worldattention.app.commandline.interrupt import cancel_on_signal
from worldattention.app.commandline.load import open_engine
from worldattention.app.commandline.options import Options, positive_number
from worldattention.core.errors import UserError

if TYPE_CHECKING:
    from worldattention.core.soak import SoakReport

FEWEST_MINUTES = 4
HELP = "run a world for long with small quotas, and see that it neither grows nor slows down"
USAGE = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument(
        "--minutes", type=positive_number, default=10.0, metavar="M", help="how long (default: 10)"
    )


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Runs and reports. Raises UserError (also when a goal was missed) or Cancelled."""
    from worldattention.core.project import ProjectSettings
    from worldattention.core.soak import SMALL_DISK_BYTES, SMALL_DRAM_BYTES, small_memory, soak

    dram, disk = options.dram_quota_bytes, options.disk_quota_bytes
    options = replace(
        options,
        dram_quota_bytes=SMALL_DRAM_BYTES if dram is None else dram,
        disk_quota_bytes=SMALL_DISK_BYTES if disk is None else disk,
    )
    check_options(options)
    engine = open_engine(options, ProjectSettings())
    with closing(engine), cancel_on_signal() as cancel, console.progress_bar("Soak", "seconds") as show:
        engine.configure(small_memory(engine.config))
        report = soak(
            engine,
            60 * arguments.minutes,
            lambda done, total, fps: show(done, total, f"{fps:.1f} FPS"),
            cancel,
        )
        device, backend = engine.device_name, engine.backend
    if options.json:
        console.say_json(
            asdict(report) | {"speed_kept": report.speed_kept, "device": device, "backend": backend}
        )
    else:
        for line in table(report):
            console.say(line)
    if report.missed:
        short = (
            "" if arguments.minutes >= FEWEST_MINUTES else " So short a run says little: give --minutes 10."
        )
        raise UserError(f"This machine does not keep a world steady: {'; '.join(report.missed)}.{short}")
    return 0


def table(report: SoakReport) -> list[str]:
    """The report as lines."""
    lines = [
        f"{report.frames} frames in {report.seconds / 60:.1f} minutes, {report.switches} prompt switches",
        f"memory: {report.rss_bytes / 1e6:.0f} MB, {report.growth_bytes_per_minute / 1e6:+.2f} MB a minute",
        f"descriptors {_range(report.descriptors)}, threads {_range(report.threads)}",
        f"speed: {report.last_minute_fps:.1f} frames a second in the last minute, {report.speed_kept:.3f} of the "
        "second one's",
        f"processor time of a frame: {report.second_minute_cpu_ms:.1f} ms in the second minute, "
        f"{report.last_minute_cpu_ms:.1f} in the last",
    ]
    return lines + [
        f"{tier.name}: {tier.pages} pages, {tier.evictions} evictions, {tier.drops} drops, {tier.misses} misses"
        for tier in report.tiers
    ]


def _range(values: tuple[int, int]) -> str:
    return str(values[0]) if values[0] == values[1] else f"{values[0]} to {values[1]}"
