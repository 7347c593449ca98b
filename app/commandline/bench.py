"""`worldattention bench attention | engine | block | tiers | playback | index | latency`: rivals side by side."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from worldattention.app.commandline import (
    bench_engine,
    bench_index,
    bench_latency,
    bench_playback,
    bench_tiers,
    console,
)
from worldattention.app.commandline.early import check_options
from worldattention.app.commandline.interrupt import cancel_on_signal
from worldattention.app.commandline.load import open_engine
from worldattention.app.commandline.options import Options, positive, seconds

if TYPE_CHECKING:
    from worldattention.core.evaluation.bench_attention import AttentionSample

HELP = "measure speed: of attention, of blocks, of memory, of a long past, or of the window's answer"
DTYPES = ("float32", "bfloat16")
FORCED_DENSITY = 0.3
WHAT = ("attention", "engine", "block", "linears", "tiers", "playback", "index", "latency")
USAGE = "|".join(WHAT)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument(
        "what",
        choices=WHAT,
        metavar="|".join(WHAT),
        help="what to time: attention; a block, switch by switch (engine) or alone (block); layers in fp8 (linears); "
        "where pages lie (tiers); playing with a long past (playback) and many pages (index); from Enter to the "
        "picture (latency)",
    )
    parser.add_argument(
        "--dtype",
        choices=DTYPES,
        help="attention: one type alone; by default both, or on a GPU bfloat16",
    )
    parser.add_argument(
        "--repeats", type=positive, default=20, metavar="N", help="turns of each (default: 20)"
    )
    parser.add_argument(
        "--made-up",
        action="store_true",
        help="attention, tiers: random tensors instead of those of a world with recalled pages",
    )
    parser.add_argument(
        "--random-weights",
        choices=("wan", "toy"),
        metavar="wan|toy",
        help="sizes of Wan2.1-1.3B, or tiny ones, with random weights: speed alone (attention: with --made-up)",
    )
    parser.add_argument("--fp8-linears", action="store_true", help="block: multiply linear layers in fp8")
    parser.add_argument(
        "--scene-blocks",
        type=positive,
        default=14,
        metavar="N",
        help="engine, block, tiers: blocks of each scene before; playback: of each scene (default: 14)",
    )
    parser.add_argument(
        "--past-seconds",
        type=seconds,
        default=60.0,
        metavar="S",
        help="playback, index: length of the made-up past in seconds (default: 60)",
    )
    parser.add_argument(
        "--pages-from",
        choices=("dram", "disk"),
        default="dram",
        help="playback, index: where its pages lie (default: dram)",
    )
    parser.add_argument(
        "--index-pages",
        type=positive,
        default=10_000,
        metavar="N",
        help="index: pages of the long past in all (default: 10000)",
    )


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Times and reports. Raises UserError or Cancelled."""
    check_options(options, model=not arguments.made_up and arguments.random_weights is None)
    if arguments.what == "latency":
        return bench_latency.run(arguments, options)
    if arguments.what == "playback":
        return bench_playback.run(arguments, options)
    if arguments.what == "index":
        return bench_index.run(arguments, options)
    if arguments.what == "tiers":
        return bench_tiers.run(arguments, options)
    if arguments.what != "attention":
        return bench_engine.run(arguments, options)
    import torch

    from worldattention.core.evaluation.bench_attention import benchmark_attention
    from worldattention.core.loading import pick_device
    from worldattention.core.project import ProjectSettings

    if arguments.made_up and arguments.random_weights == "wan":
        return _rows(arguments, options)
    on_gpu = pick_device(options.device).type == "cuda"
    dtypes = (arguments.dtype,) if arguments.dtype else ("bfloat16",) if on_gpu else DTYPES
    config = options.engine_config(ProjectSettings()).attention
    samples = _made_up(options, config.block) if arguments.made_up else _of_model(options)
    records = []
    with console.progress_bar("Bench", "types") as show:
        for count, name in enumerate(dtypes):
            show(count, len(dtypes), name)
            records.append(
                benchmark_attention(
                    getattr(torch, name),
                    samples,
                    config,
                    forced_density=options.density or FORCED_DENSITY,
                    repeats=arguments.repeats,
                )
            )
        show(len(dtypes), len(dtypes), "done")
    source = (
        "made-up tensors" if arguments.made_up else f"{options.model}, a world that has just recalled pages"
    )
    if options.json:
        console.say_json({"source": source, **{record["dtype"]: record for record in records}})
    else:
        for line in _table(source, records):
            console.say(line)
    return 0


def _rows(arguments: argparse.Namespace, options: Options) -> int:
    """Made-up tensors at the sizes of Wan2.1-1.3B."""
    import torch

    from worldattention.core.evaluation import bench_rows
    from worldattention.core.evaluation.bench_attention import AttentionShape
    from worldattention.core.loading import pick_device
    from worldattention.core.project import ProjectSettings

    dtype, device = getattr(torch, arguments.dtype or "bfloat16"), pick_device(options.device)
    config, shape = (
        options.engine_config(ProjectSettings()).attention,
        AttentionShape(1560, heads=12, channels=128),
    )
    record = bench_rows.benchmark_rows(
        shape, bench_rows.GEOMETRIES, dtype, device, config, repeats=arguments.repeats, seed=options.seed or 0
    )
    if options.json:
        console.say_json({"source": "made-up tensors", **record})
    else:
        for line in bench_rows.table(record):
            console.say(line)
    return 0


def _made_up(options: Options, block: int) -> list[AttentionSample]:
    from worldattention.core.evaluation.bench_attention import AttentionShape, made_up_sample
    from worldattention.core.loading import pick_device

    return [made_up_sample(AttentionShape(), block, pick_device(options.device), options.seed or 0)]


def _of_model(options: Options) -> list[AttentionSample]:
    from worldattention.core.evaluation import attention_samples as samples
    from worldattention.core.project import ProjectSettings

    engine = open_engine(replace(options, density=None), ProjectSettings())
    with closing(engine), cancel_on_signal() as cancel, console.progress_bar("World", "blocks") as show:
        return samples.samples_of(engine, samples.PROMPTS, lambda done, total: show(done, total, ""), cancel)


def _table(source: str, records: list[dict[str, Any]]) -> list[str]:
    first = records[0]
    lines = [
        f"Attention of {source}: {first['samples']} layers, {first['q_tokens']} queries over "
        f"{first['k_tokens']} keys, {first['heads']} heads, on {first['device']} with {first['threads']} threads "
        f"(torch {first['torch']})",
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
