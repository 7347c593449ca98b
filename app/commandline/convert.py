"""`worldattention convert`: checkpoints of other programs into a model folder."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from pathlib import Path

from worldattention.app.commandline import console
from worldattention.app.commandline.options import Options

HELP = "bring a Self-Forcing, CausVid, LongLive or ComfyUI checkpoint into a model folder"
USAGE = "IN.pt -o DIR"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    add = parser.add_argument
    add("checkpoint", type=Path, metavar="IN.pt", help="a .pt or .safetensors file of a Wan2.1 transformer")
    add("-o", "--out", type=Path, required=True, metavar="DIR", help="the model folder; gets transformer/")
    add("--lora", type=Path, metavar="LORA.pt", help="a LoRA to merge, as LongLive's")


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Converts and reports. Raises UserError."""
    from worldattention.core.models.convertible import check_checkpoint, check_free

    for path in (arguments.checkpoint, arguments.lora):
        if path is not None:
            check_checkpoint(path)
    check_free(arguments.out / "transformer")
    from worldattention.core.models.convert import convert

    done = convert(arguments.checkpoint, arguments.out, arguments.lora)
    held = f"its '{done.container}'" if done.container else "the file"
    console.say(
        f"Wrote {arguments.out / 'transformer'}: {done.layers} layers, {done.parameters / 1e6:.1f} M parameters "
        f"from {held}, {'with' if done.hsa else 'without'} HSA parameters, {done.merged} matrices of a LoRA merged."
    )
    missing = [
        part for part in ("vae", "text_encoder", "tokenizer") if not os.path.isdir(arguments.out / part)
    ]
    if missing:
        names = ", ".join(f"{part}/" for part in missing)
        console.say(f"Put {names} of Wan2.1-T2V-1.3B-Diffusers beside it, then use --model {arguments.out}.")
    if options.json:
        console.say_json({"folder": str(arguments.out), **asdict(done)})
    return 0
