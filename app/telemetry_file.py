"""The records of a world as a file: JSON lines with everything, or a table with the main figures (DESIGN 7)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from worldattention.app.texts import translate
from worldattention.core.files import failures_told, replacing
from worldattention.core.telemetry import BlockTelemetry
from worldattention.core.telemetry_lines import lines_of
from worldattention.core.units import format_bytes

COLUMNS = (
    *("block", "first_frame", "frames", "prompt", "seed", "preset", "attention", "retrieval"),
    *("gini", "threshold", "density", "fps", "total_ms", "recalled_pages"),
    *("device_bytes", "dram_bytes", "disk_bytes"),
)


def save_telemetry(path: Path, records: Iterable[BlockTelemetry]) -> str:
    """Writes `.csv` as a table and any other name as JSON lines; says how much. Raises UserError."""
    kept = list(records)
    table = path.suffix.lower() == ".csv"
    text = _table(kept) if table else "".join(f"{line}\n" for line in lines_of(kept))
    data = text.encode("utf-8", "surrogatepass")
    with replacing(path, "the telemetry") as temporary, failures_told(path, "the telemetry"):
        temporary.write_bytes(data)
    words = translate("Telemetry", "Saved {0} blocks of telemetry to {1} ({2}).")
    return words.format(len(kept), path.name, format_bytes(len(data)))


def _table(records: list[BlockTelemetry]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for record in records:
        used = {tier.name: tier.used_bytes for tier in record.tiers}
        writer.writerow(
            [
                *(record.block, record.first_frame, record.frames, record.prompt, record.seed),
                *(record.preset, record.attention, record.retrieval),
                *(_mean(heads) for heads in (record.gini, record.threshold, record.density)),
                *(f"{record.fps:.2f}", f"{record.stage_ms['total']:.1f}"),
                " ".join(str(page.page) for page in record.pages if page.recalled),
                *(used.get(name, 0) for name in ("device", "dram", "disk")),
            ]
        )
    return buffer.getvalue()


def _mean(heads: np.ndarray) -> str:
    known = heads[np.isfinite(heads)]
    return f"{known.mean():.4f}" if known.size else ""
