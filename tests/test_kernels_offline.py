"""Our kernels compile for Hopper without a GPU, use the instructions that they are written for, and do not spill."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "offline_compile.py"


def compiled(names: list[str], cache: Path) -> dict[str, dict[str, float]]:
    """What the assembler says of each kernel; in a process of its own, with a cache of its own."""
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-P", str(PROGRAM), *names],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def check_hopper(reports: dict[str, dict[str, float]]) -> None:
    for name, report in reports.items():
        if name.startswith("gluon"):
            assert report["wgmma"] > 0, name
            assert report["tma"] > 0, name
            assert report["spilled_bytes"] == 0, name
        assert report["shared_bytes"] <= 227 * 1024, name
        assert report["registers"] <= 255, name


def test_hopper_kernels_compile(tmp_path):
    reports = compiled(["gluon 64 x 64", "gluon 128 x 64"], tmp_path)
    assert len(reports) == 2
    check_hopper(reports)


@pytest.mark.endurance
def test_every_kernel_compiles(tmp_path):
    reports = compiled([], tmp_path)
    assert len(reports) > 10
    check_hopper(reports)
    print(json.dumps(reports, indent=1))
