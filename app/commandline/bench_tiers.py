"""`worldattention bench tiers`: every tier and codec in turns, and what the codecs do to a recalled scene."""

from __future__ import annotations

import argparse
from typing import Any

from worldattention.app.commandline import console
from worldattention.app.commandline.interrupt import cancel_on_signal
from worldattention.app.commandline.options import Options, fit_to_machine


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Times and reports. Raises UserError or Cancelled."""
    from worldattention.core.evaluation import bench_codecs
    from worldattention.core.evaluation import bench_tiers as bench
    from worldattention.core.hkv.page import KVShape
    from worldattention.core.loading import load_model, pick_device, pick_dtype
    from worldattention.core.memory import kv_shape
    from worldattention.core.project import ProjectSettings

    record: dict[str, Any]
    effects: dict[str, dict[str, Any]] = {}
    with cancel_on_signal() as cancel:
        if arguments.made_up:
            device = pick_device(options.device)
            shape = KVShape(8, 128, 6, 64, pick_dtype(device))
            pages = bench.made_up_pages(shape, device, seed=options.seed or 0)
        else:
            config, warnings = fit_to_machine(options, options.engine_config(ProjectSettings()))
            for warning in warnings:
                console.note(warning)
            model = load_model(options.model, options.device)
            device, shape = model.device, kv_shape(model)
            with console.progress_bar("World", "blocks") as show:
                scenes = bench_codecs.scenes(arguments.scene_blocks)
                pages, effects = bench_codecs.codec_effects(
                    model, config, scenes, lambda done, total: show(done, total, ""), cancel
                )
        with console.progress_bar("Bench", "turns") as show:
            record = bench.benchmark_tiers(pages, shape, device, arguments.repeats, show, cancel)
    record["source"] = "made-up numbers" if arguments.made_up else f"{options.model}, pages of a world"
    for name, effect in effects.items():
        record["codecs"][name]["recalled_scene"] = effect
    console.say_record(record, table, options.json)
    return 0


def table(record: dict[str, Any]) -> list[str]:
    """The record as lines of Markdown."""
    scoring = record["scoring"]
    lines = [
        f"Pages of {record['page_bytes'] / 1e6:.1f} MB in {record['dtype']} ({record['source']}), on "
        f"{record['device']} with {record['threads']} threads (torch {record['torch']})",
        "",
        "| codec | tier | write ms | read ms | write GB/s | read GB/s |",
        "|---|---|---|---|---|---|",
    ]
    for name, codec in record["codecs"].items():
        for tier, row in codec["tiers"].items():
            if tier == "device" and name != "bf16":
                continue  # the device keeps the model's own numbers whatever the codec
            cells = [f"{row[key]:.2f}" for key in ("write_ms", "read_ms", "write_gb_s", "read_gb_s")]
            lines.append(f"| {name} | {tier} | {' | '.join(cells)} |")
    lines += [
        "",
        "| codec | bytes | error of keys | error of values | recalled scene |",
        "|---|---|---|---|---|",
    ]
    for name, codec in record["codecs"].items():
        error, effect = codec["relative_error"], codec.get("recalled_scene")
        scene = "" if effect is None else _scene(effect)
        share = codec["stored_bytes"] / record["page_bytes"]
        lines.append(f"| {name} | {share:.2f} | {error['keys']:.5f} | {error['values']:.5f} | {scene} |")
    lines += [
        "",
        f"Choosing pages among {scoring['pages']:,}: {scoring['two_stages_ms']:.2f} ms in two stages, "
        f"{scoring['all_pages_ms']:.2f} ms when every page is scored",
    ]
    return lines


def _scene(effect: dict[str, Any]) -> str:
    same = "same pages" if effect["same_pages"] else "other pages"
    return same + (", bit for bit" if effect["psnr_db"] is None else f", {effect['psnr_db']:.1f} dB")
