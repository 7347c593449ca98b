"""Compiles our kernels for Hopper (sm_90a) without a GPU and prints what the assembler says of them, as JSON.

Run as a program, in a process of its own: Triton's interpreter must be off. Arguments: names of kernels (see
`CASES`); with none, all of them.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

from worldattention.kernels.gluon import narrow, wide
from worldattention.kernels.gluon.sparse import settings
from worldattention.kernels.triton import backward, linear, pages, pool, routing, shares, sparse, support

PTXAS = next((Path(triton.__file__).parent / "backends/nvidia/bin").rglob("ptxas"))
POINTERS = {
    "Table": "*i32",
    "Starts": "*i32",
    "Order": "*i32",
    "Indices": "*i32",
    "Counts": "*i32",
    "Selected": "*i8",
    "Data": "*fp8e4nv",
}
FLOATS = {"scale", "tau_min", "tau_max", "largest"}
HALF = {"Q", "K", "V", "X", "Out", "Sparse", "Linear", "Weight", "Bias", "Grad", "DQ", "DK", "DV"}


def gluon(block: int, channels: int, ragged: bool = True, qk_bytes: int = 2) -> dict[str, Any]:
    """Compiles block-sparse attention for Hopper."""

    def described(rows: int, kind: Any, name: str) -> str:
        layout = gl.NVMMASharedLayout.get_default_for([rows, channels], kind)
        return f"tensordesc<{name}[{rows}, {channels}],{layout!r}>"

    function = wide.attend_shares if block == 128 else narrow.attend_narrow
    constants = settings(block, channels, qk_bytes) | {"RAGGED": ragged}
    kind, name = (gl.bfloat16, "bf16") if qk_bytes == 2 else (gl.float8e4nv, "fp8e4nv")
    types = {
        "q": described(64, kind, name), "k": described(block, kind, name), "v": described(block, gl.bfloat16, "bf16"),
        "o": described(64, gl.bfloat16, "bf16"),
    }  # fmt: skip
    return build(function, types, constants, GluonASTSource)


def plain(function: Any, **constants: Any) -> dict[str, Any]:
    """Compiles a Triton kernel; `num_warps` is an option, not a constant."""
    return build(function, {}, constants, ASTSource)


def build(function: Any, types: dict[str, str], constants: dict[str, Any], source: Any) -> dict[str, Any]:
    """Registers, spills, shared memory and the instructions that were meant."""
    signature = {}
    warps = constants.get("num_warps", 4)
    for argument in function.arg_names:
        if argument in constants:
            signature[argument] = "constexpr"
        elif argument in types:
            signature[argument] = types[argument]
        elif argument[0].isupper():
            signature[argument] = POINTERS.get(argument) or ("*bf16" if argument in HALF else "*fp32")
        else:
            signature[argument] = "fp32" if argument in FLOATS else "i32"
    if source is ASTSource:
        constants = {name: value for name, value in constants.items() if name != "num_warps"}
    start = time.perf_counter()
    built = triton.compile(
        source(function, signature=signature, constexprs=constants),
        target=GPUTarget("cuda", 90, 32),
        options={"num_warps": warps},
    )
    seconds = time.perf_counter() - start
    ptx = built.asm["ptx"]
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        said = subprocess.run(
            [PTXAS, "-v", "-arch=sm_90a", file.name, "-o", "/dev/null"],
            capture_output=True,
            text=True,
            check=True,
        ).stderr

    def number(pattern: str) -> int:
        return sum(int(found) for found in re.findall(pattern, said))

    return {
        "registers": number(r"Used (\d+) registers"),
        "spilled_bytes": number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads"),
        "shared_bytes": built.metadata.shared,
        "wgmma": ptx.count("wgmma.mma_async"),
        "tma": ptx.count("cp.async.bulk.tensor"),
        "seconds": round(seconds, 1),
    }


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "gluon 128 x 128": partial(gluon, 128, 128),
    "gluon 64 x 64": partial(gluon, 64, 64),
    "gluon 128 x 64": partial(gluon, 128, 64),
    "gluon 64 x 128": partial(gluon, 64, 128),
    "gluon 128 x 128 fp8": partial(gluon, 128, 128, qk_bytes=1),
    "sparse 128 x 128": partial(plain, sparse._attend, BLOCK=128, STEP=64, D=128, SAVE=False, num_warps=8),
    "sparse 64 x 64": partial(plain, sparse._attend, BLOCK=64, STEP=64, D=64, SAVE=True),
    "rank": partial(plain, support._rank, TOGETHER=32, CHUNK=128, MEAN=True),
    "means": partial(plain, pool._means, ROWS=128, D=128),
    "logits": partial(plain, routing._logits, ROWS=16, COLUMNS=64, D=128, STEP=32),
    "mass": partial(plain, routing._mass, N=512, STEP=8),
    "mass of 64": partial(plain, routing._mass, N=1024, STEP=8, num_warps=8),
    "select": partial(plain, routing._select, N=512, ROWS=64, FORCED=False, num_warps=1),
    "select of 64": partial(plain, routing._select, N=1024, ROWS=64, FORCED=True, num_warps=2),
    "share": partial(plain, shares._share, WAVES=True, N=512),
    "merge": partial(plain, shares._merge, ROWS=128, TOGETHER=32, D=128),
    "gate": partial(plain, linear._gated_sum, BLOCK=64, D=128, num_warps=8),
    "install": partial(plain, pages._install, ROWS=32, D=128, SCALED=True, TURN=True),
    "encode": partial(plain, pages._encode, ROWS=32, D=128, WHOLE=False),
    "query gradient": partial(plain, backward._query_gradient, BLOCK=128, STEP=32, D=128, num_warps=8),
    "key gradients": partial(plain, backward._key_gradients, BLOCK=128, STEP=32, D=128, num_warps=8),
}


if __name__ == "__main__":
    print(json.dumps({name: CASES[name]() for name in sys.argv[1:] or CASES}))
