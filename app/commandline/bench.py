"""`worldattention bench attention`: rivals side by side in one run."""

from __future__ import annotations

import argparse
from typing import Any

from worldattention.app.commandline import console
from worldattention.app.commandline.options import Options, positive
from worldattention.core.config import AttentionConfig

HELP = "time dense against sparse and hybrid attention"
DTYPES = ("float32", "bfloat16")
FORCED_DENSITY = 0.3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("what", choices=["attention"], metavar="attention", help="what to time")
    parser.add_argument("--repeats", type=positive, default=20, metavar="N", help="turns of each rival")


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Times and reports. Raises UserError."""
    import torch

    from worldattention.core.evaluation.bench_attention import (
        AttentionShape,
        benchmark_attention,
        made_up_sample,
    )
    from worldattention.core.loading import pick_device
    from worldattention.core.project import ProjectSettings

    device = pick_device(options.device)
    config: AttentionConfig = options.engine_config(ProjectSettings()).attention
    sample = made_up_sample(AttentionShape(), config.block, device, options.seed or 0)
    records = []
    with console.progress_bar("Bench", "types") as show:
        for count, name in enumerate(DTYPES):
            show(count, len(DTYPES), name)
            records.append(
                benchmark_attention(
                    getattr(torch, name),
                    [sample],
                    config,
                    forced_density=options.density or FORCED_DENSITY,
                    repeats=arguments.repeats,
                )
            )
        show(len(DTYPES), len(DTYPES), "done")
    if options.json:
        console.say_json({record["dtype"]: record for record in records})
    else:
        for line in _table(records):
            console.say(line)
    return 0


def _table(records: list[dict[str, Any]]) -> list[str]:
    first = records[0]
    lines = [
        f"One layer of attention, {first['q_tokens']} queries over {first['k_tokens']} keys, {first['heads']} heads, "
        f"on {first['device']} with {first['threads']} threads (torch {first['torch']})",
        "",
        "| type | density | dense ms | sparse ms | routing ms | hybrid ms | dense / sparse | dense / hybrid |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for record in records:
        for setting in ("tau", "forced"):
            row = record[setting]
            cells = [
                record["dtype"],
                f"{row['density']:.3f} ({setting})",
                *(f"{value:.3f}" for value in (record["dense_ms"], row["sparse_ms"], row["routing_ms"])),
                "" if row["hsa_ms"] is None else f"{row['hsa_ms']:.3f}",
                f"{row['sparse_speedup']:.2f}",
                "" if row["hsa_speedup"] is None else f"{row['hsa_speedup']:.2f}",
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return lines
