"""`worldattention bench playback`: a world with a long past, played over prompt switches that recall its pages."""

from __future__ import annotations

import argparse
from typing import Any

from worldattention.app.commandline import console
from worldattention.app.commandline.bench_engine import model_to_time
from worldattention.app.commandline.interrupt import cancel_on_signal
from worldattention.app.commandline.options import Options


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Plays and reports. Raises UserError or Cancelled."""
    from worldattention.core.evaluation.bench_playback import Play, benchmark_playback

    model, config = model_to_time(arguments, options)
    play = Play(
        seconds=arguments.past_seconds,
        scene_blocks=arguments.scene_blocks,
        source=arguments.pages_from,
        codec=options.codec or "fp8",
    )
    with cancel_on_signal() as cancel, console.progress_bar("Playback", "blocks") as show:
        record = benchmark_playback(model, config, play, show, cancel)
    console.say_record(record, table, options.json)
    return 0


def table(record: dict[str, Any]) -> list[str]:
    """The record as lines of Markdown."""
    memory, slowdown = record["device_memory"], record["slowdown"]
    lines = [
        f"{record['past_seconds']:g} s of made-up past in {record['past_pages']} pages ({record['codec']}, "
        f"{record['source']}), model {record['model']}, {record['dtype']}, on {record['device']} "
        f"(torch {record['torch']}, {record['date']})",
        "",
        f"Late frames: {record['late_frames']} of {record['frames']} (least wait {record['least_wait_ms']:.0f} ms)",
    ]
    if memory:
        lines.append(f"Device memory: {memory['least'] / 1e9:.2f} to {memory['most'] / 1e9:.2f} GB")
    if slowdown is not None:
        lines.append(f"Denoising beside moving pages: {100 * slowdown['slowdown']:.1f} % slower")
    rows = (
        f"| {index} | {row['ms']:.0f} | {row['install_ms']:.0f} | "
        f"{', '.join(f'{page} from {tier}' for page, tier in row['recalled'].items())} | {len(row['missed'])} |"
        for index, row in enumerate(record["blocks"])
        if row["recalled"]
    )
    return [
        *lines,
        "",
        "| block | ms | recall ms | recalled pages | missed |",
        "|---|---|---|---|---|",
        *rows,
    ]
