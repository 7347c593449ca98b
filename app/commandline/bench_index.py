"""`worldattention bench index`: a world with a long past and thousands of pages in its index beside a fresh one."""

from __future__ import annotations

import argparse
from typing import Any

from worldattention.app.commandline import console
from worldattention.app.commandline.bench_engine import model_to_time
from worldattention.app.commandline.interrupt import cancel_on_signal
from worldattention.app.commandline.options import Options


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Times and reports. Raises UserError or Cancelled."""
    from worldattention.core.evaluation.bench_index import benchmark_index
    from worldattention.core.evaluation.bench_playback import Play

    model, config = model_to_time(arguments, options)
    play = Play(seconds=arguments.past_seconds, source=arguments.pages_from, codec=options.codec or "fp8")
    with cancel_on_signal() as cancel, console.progress_bar("Index", "turns") as show:
        record = benchmark_index(model, config, arguments.repeats, play, arguments.index_pages, show, cancel)
    console.say_record(record, table, options.json)
    return 0


def table(record: dict[str, Any]) -> list[str]:
    """The record as lines of Markdown."""
    rows = (
        f"| {name} | {row['pages']:,} | {sum(tier['pages'] for tier in row['tiers'].values())} "
        f"| {row['steady_ms']:.2f} | {row['recall_ms']:.2f} | {row['block_ms']:.2f} | {row['told_ms']:.2f} |"
        for name, row in ((name, record[name]) for name in ("fresh", "long"))
    )
    over, scoring = record["over"], record["scoring"]
    return [
        f"{record['past_seconds']:g} s of made-up past in {record['source']} ({record['codec']}) behind an index of "
        f"{record['long']['pages']:,} pages, model {record['model']}, {record['dtype']}, density "
        f"{record['asked_density']:g}, on {record['device']} (torch {record['torch']}, {record['date']})",
        "",
        "| world | pages in the index | of them kept | steady ms | recall ms | all ms | with log lines ms |",
        "|---" * 7 + "|",
        *rows,
        "| long over fresh, speed | | | "
        + " | ".join(f"{over[kind]:.3f}" for kind in ("steady", "recall", "block", "told"))
        + " |",
        "",
        f"Choosing pages among {scoring['pages']:,}: {scoring['two_stages_ms']:.2f} ms in two stages, "
        f"{scoring['all_pages_ms']:.2f} ms when every page is scored",
    ]
