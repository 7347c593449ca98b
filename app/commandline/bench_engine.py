"""`worldattention bench engine`, `block` and `linears`: blocks rung by rung, parts of a layer, fp8 layers."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from worldattention.app.commandline import console
from worldattention.app.commandline.interrupt import cancel_on_signal
from worldattention.app.commandline.options import Options, fit_to_machine

if TYPE_CHECKING:
    from worldattention.core.config import EngineConfig
    from worldattention.core.models.world import WorldModel


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Times and reports. Raises UserError or Cancelled."""
    from worldattention.core.evaluation import bench_engine as bench
    from worldattention.core.evaluation.bench_linears import benchmark_linears

    model, config = model_to_time(arguments, options)
    if arguments.fp8_linears and arguments.what == "block":
        from worldattention.core.models.fp8 import with_fp8_linears

        model = with_fp8_linears(model)
    with cancel_on_signal() as cancel, console.progress_bar("Bench", "blocks") as show:
        if arguments.what == "linears":
            record = benchmark_linears(model, config, arguments.repeats, show, cancel)
        elif arguments.what == "engine":
            record = bench.benchmark_engine(
                model, config, arguments.repeats, arguments.scene_blocks, show, cancel
            )
        else:
            record = bench.benchmark_block(
                model, config, arguments.repeats, arguments.scene_blocks, show, cancel
            )
    if arguments.what == "linears":
        console.say_json(record) if options.json else console.say(_distances(record))
        return 0
    if arguments.what == "engine" and arguments.random_weights is not None:
        from worldattention.core.evaluation.bench_decode import benchmark_decode

        record["decode"] = benchmark_decode(model, arguments.repeats)
    if options.json:
        console.say_json(record)
        return 0
    for line in [*_heading(record), *(_ladder(record) if "rungs" in record else []), *_parts(record)]:
        console.say(line)
    return 0


def model_to_time(arguments: argparse.Namespace, options: Options) -> tuple[WorldModel, EngineConfig]:
    """The model to time and the configuration that the machine can run."""
    from worldattention.core.evaluation.made_up import SIZES, made_up_model
    from worldattention.core.loading import load_model, pick_device
    from worldattention.core.memory import kv_shape
    from worldattention.core.project import ProjectSettings

    if arguments.random_weights is None:
        model = load_model(options.model, options.device)
    else:
        size = SIZES[arguments.random_weights]
        model = made_up_model(size, pick_device(options.device), options.seed or 0)
    config = options.engine_config(ProjectSettings())
    page_bytes = config.cache.page_frames * kv_shape(model).frame_bytes()
    config, warnings = fit_to_machine(options, config, page_bytes)
    for warning in warnings:
        console.note(warning)
    if model.geometry.frame_tokens < config.attention.block:
        config = replace(config, attention=replace(config.attention, block=model.geometry.frame_tokens))
    return model, config


def _distances(record: dict[str, Any]) -> str:
    distances = ", ".join("equal" if value is None else f"{value:.1f}" for value in record["psnr_db"])
    return (
        f"Pictures of {record['model']} with fp8 linear layers against {record['dtype']}, block by block, dB: "
        f"{distances}; a block took {record['fp8_ms']:.0f} ms against {record['ms']:.0f} ms on {record['device']}."
    )


def _heading(record: dict[str, Any]) -> list[str]:
    return [
        f"Model {record['model']}, {record['dtype']}, blocks of {record['block']} tokens, window of "
        f"{record['window_frames']} latent frames of {record['frame_tokens']} tokens, on {record['device']} "
        f"(torch {record['torch']}, {record['date']})",
        "",
    ]


def _ladder(record: dict[str, Any]) -> list[str]:
    lines = [
        "| rung | ms a block | FPS | over first | density | sparse branch runs in |",
        "|---|---|---|---|---|---|",
    ]
    rows = record["rungs"] | {"a block that recalls": record["recall"]}
    rows |= {"+ forced density, fp8 linears": record["fp8_linears"].get("fp8", record["fp8_linears"])}
    for name, rung in rows.items():
        if "failure" in rung:
            lines.append(f"| {name} | {rung['failure']} |")
            continue
        numbers = (rung["ms"], rung["fps"], rung["over_first"], rung["density"])
        lines.append(f"| {name} | " + " | ".join(f"{x:.2f}" for x in numbers) + f" | {rung['backend']} |")
    return [
        *lines,
        "",
        f"+ forced density over the same engine with dense attention: {record['over_dense']:.2f}; "
        f"telemetry on over off: {record['telemetry_on_over_off']:.3f}",
        *_decode(record),
        "",
    ]


def _decode(record: dict[str, Any]) -> list[str]:
    """The decoder's line, for worlds whose autoencoder is Wan's."""
    decode = record.get("decode")
    if decode is None:
        return []
    return [
        f"Decoding a block takes {decode['block_ms']:.0f} ms: {decode['over']:.2f} times as fast as diffusers' decode"
    ]


def _parts(record: dict[str, Any]) -> list[str]:
    parts = record["parts"]
    rows = (f"| {name} | {ms:.3f} | {100 * parts['share'][name]:.0f} % |" for name, ms in parts["ms"].items())
    return [
        f"One layer of {parts['q_tokens']} queries over {parts['k_tokens']} keys at density {parts['density']:.3f} "
        f"(dense attention alone: {parts['dense_ms']:.3f} ms):",
        "| part | ms | share |",
        "|---|---|---|",
        *rows,
    ]
