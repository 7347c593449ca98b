"""A failure as a text that can be shown to others: no prompt, no name, no home folder in it. No Qt in here."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterable
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from worldattention import __version__
from worldattention.core.telemetry import BlockTelemetry, prompt_hash

PACKAGES = ("torch", "triton", "diffusers", "transformers", "PySide6-Essentials", "imageio-ffmpeg", "numpy")


def make_report(
    sentence: str, detail: str, device: str, last: BlockTelemetry | None, prompts: Iterable[str]
) -> str:
    """What happened, where, and the last block's record. `prompts` are words of the user that must not be in it."""
    said = set(prompts)
    if last is not None:
        said.add(last.prompt)
    parts = [
        f"WorldAttention Playground {__version__}",
        f"Python {sys.version.split()[0]}, {platform.system()} {platform.machine()}",
        ", ".join(f"{name} {_version(name)}" for name in PACKAGES),
        f"Device: {device}",
        "",
        sentence,
        "",
        detail.rstrip(),
    ]
    if last is not None:
        record = json.loads(replace(last, prompt="", notices=()).to_json())
        parts += ["", "Last block:", json.dumps(record, separators=(",", ":"))]
    return redact("\n".join(parts), said) + "\n"


def redact(text: str, prompts: Iterable[str]) -> str:
    """`text` without the prompts and without the home folder, however they are quoted in it."""
    for prompt in sorted((prompt for prompt in prompts if prompt.strip()), key=len, reverse=True):
        name = f"<prompt {prompt_hash(prompt)}>"
        for form in (prompt, repr(prompt)[1:-1], json.dumps(prompt)[1:-1], prompt.strip()):
            text = text.replace(form, name)
    home = str(Path.home())
    if len(home) > 1:
        text = text.replace(home, "~")
    return text


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"
