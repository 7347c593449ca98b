"""What will run where, and why: every part is looked at, and tried where that takes no longer than a second."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import psutil
import torch

from worldattention.core.config import CacheConfig, EngineConfig
from worldattention.core.doctor_qt import examine_qt
from worldattention.core.errors import UserError
from worldattention.core.hkv.notices import DROPPING, DROPPING_WITHOUT_DISK
from worldattention.core.hkv.page import KVShape, PageData, PageInfo
from worldattention.core.hkv.quotas import fit_quotas, free_bytes
from worldattention.core.hkv.session import default_folder
from worldattention.core.hkv.store import TieredStore, open_store
from worldattention.core.loading import pick_device, pick_dtype
from worldattention.core.model_folder import model_folder
from worldattention.core.models.checkpoint import read_weights
from worldattention.core.models.text import MINILM_SHA256, check_sha256, minilm_folder
from worldattention.core.models.weight_files import class_name, read_json
from worldattention.core.recorder import find_ffmpeg
from worldattention.core.units import format_bytes
from worldattention.kernels import ops

Status = Literal["ok", "note", "warning", "failed"]
PACKAGES = ("torch", "triton", "diffusers", "transformers", "safetensors", "numpy", "PySide6-Essentials")
COMPILERS = ("cc", "gcc", "clang")
_MAY_GO = "which may be deleted while no world runs"
_CPU_FLAGS = ("amx_bf16", "avx512_bf16", "avx512_f", "avx2")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `failed` means that worlds cannot be made; `warning` that a part will not work."""

    area: str
    name: str
    status: Status
    text: str

    def to_json(self) -> dict[str, Any]:
        """The finding as a JSON object."""
        return asdict(self)


def examine(model: str, device: str, config: EngineConfig) -> list[Finding]:
    """Every finding, in the order in which it is read. Never raises for what it examines."""
    findings = list(_software())
    place, found = _device(device)
    findings += found
    findings += _try("kernels", "self-test", lambda: _kernels(place))
    findings += _try("model", model, lambda: _model(model))
    findings += _try("model", "text encoder", _text_encoder)
    findings += _try("memory", "quotas", lambda: _quotas(config, place))
    findings += _try("memory", "self-test", lambda: _tiers(config, place))
    findings += _try("video", "ffmpeg", _ffmpeg, "warning")
    findings += [Finding("window", name, status, text) for name, status, text in examine_qt()]
    return findings


def _try(
    area: str, name: str, look: Callable[[], Iterable[Finding]], status: Status = "failed"
) -> list[Finding]:
    """What `look` finds, up to its failure, which is a finding too."""
    found: list[Finding] = []
    try:
        found.extend(look())
    except UserError as error:
        found.append(Finding(area, name, status, str(error)))
    except (OSError, RuntimeError, ValueError) as error:
        found.append(Finding(area, name, status, f"{type(error).__name__}: {error}".splitlines()[0]))
    return found


def _software() -> Iterable[Finding]:
    yield Finding("software", "python", "ok", f"{platform.python_version()} on {platform.platform()}")
    for name in PACKAGES:
        try:
            yield Finding("software", name, "ok", importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Finding("software", name, "warning", f"not installed: pip install {name}")


def _device(device: str) -> tuple[torch.device, list[Finding]]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    count = "1 core" if cores == 1 else f"{cores} cores"
    able = torch.cpu.get_capabilities()
    flags = ", ".join(flag for flag in _CPU_FLAGS if able.get(flag)) or "none of " + ", ".join(_CPU_FLAGS)
    findings = [Finding("device", "processor", "ok", f"{_processor()}, {count} to use, with {flags}")]
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            free, total = torch.cuda.mem_get_info(index)
            text = f"{torch.cuda.get_device_name(index)}, {format_bytes(free)} of {format_bytes(total)} free"
            findings.append(Finding("device", f"cuda:{index}", "ok", text))
    else:
        why = "no CUDA device answers" if torch.version.cuda else "this PyTorch was built without CUDA"
        findings.append(Finding("device", "cuda", "note", f"not used: {why}"))
    try:
        place = pick_device(device)
    except UserError as error:
        findings.append(Finding("device", f"--device {device}", "failed", str(error)))
        return torch.device("cpu"), findings
    dtype = pick_dtype(place)
    why = "multiplied natively here" if dtype == torch.bfloat16 else "this CPU has no native bfloat16"
    text = f"{place} in {str(dtype).removeprefix('torch.')} ({why})"
    findings.append(Finding("device", "chosen", "ok", text))
    return place, findings


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _kernels(device: torch.device) -> Iterable[Finding]:
    for choice in ops.explain(device):
        yield Finding("kernels", choice.op, "ok", f"{choice.backend} ({choice.why})")
    if device.type == "cuda" and not any(map(shutil.which, COMPILERS)):
        text = (
            f"none of {', '.join(COMPILERS)} is installed, and Triton needs one to start kernels: install gcc"
        )
        yield Finding("kernels", "C compiler", "failed", text)
    error, allowed = _attention_errors(device)
    text = f"sparse attention differs from fp64 by {error:.1e}, at most {allowed:.1e} is right"
    yield Finding("kernels", "self-test", "ok" if error <= allowed else "failed", text)


def _attention_errors(device: torch.device) -> tuple[float, float]:
    """Largest error of sparse attention, and what is allowed: twice that of torch's own op in the same dtype."""
    # On a GPU the shapes of Wan, so that the kernel made for them is the one that is tried.
    block, channels, blocks = (128, 128, 4) if device.type == "cuda" else (32, 32, 4)
    dtype = pick_dtype(device)
    generator = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(1, blocks * block, 2, channels, generator=generator).to(device, dtype) for _ in range(3)
    )
    selected = torch.rand(1, 2, blocks, blocks, generator=generator).to(device) < 0.5
    selected |= torch.eye(blocks, dtype=torch.bool, device=device)
    mask = selected.repeat_interleave(block, 2).repeat_interleave(block, 3)

    def dense(*tensors: torch.Tensor) -> torch.Tensor:
        q, k, v = (tensor.transpose(1, 2) for tensor in tensors)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask).transpose(1, 2)

    right = dense(q.double(), k.double(), v.double())
    ours = ops.sparse_attention(q, k, v, selected, block)
    error, torchs = ((out.double() - right).abs().max().item() for out in (ours, dense(q, k, v)))
    return error, 2 * torchs + 1e-5


def _model(model: str) -> Iterable[Finding]:
    folder = model_folder(model)
    yield Finding("model", model, "ok", f"in {folder}")
    wan = os.path.isdir(folder / "vae")
    for part in ("transformer", "vae", "text_encoder") if wan else ("transformer", "autoencoder"):
        kind = class_name(read_json(folder / part / "config.json")) or "unnamed class"
        tensors = read_weights(folder / part)
        count = sum(tensor.numel() for tensor in tensors.values())
        size = sum(path.stat().st_size for path in (folder / part).glob("*.safetensors"))
        text = f"{kind}, {count / 1e6:.1f} M parameters in {len(tensors)} tensors, {format_bytes(size)}"
        yield Finding("model", part, "ok", text)


def _text_encoder() -> Iterable[Finding]:
    folder = minilm_folder()
    check_sha256(folder / "model.safetensors", MINILM_SHA256)
    yield Finding("model", "text encoder", "ok", f"MiniLM in {folder}, its SHA-256 is right")


def _quotas(config: EngineConfig, device: torch.device) -> Iterable[Finding]:
    folder = config.cache.folder or default_folder()
    cache, warnings = fit_quotas(config.cache, device, folder)
    memory = psutil.virtual_memory()
    free = {"device": "", "dram": f", {format_bytes(memory.available)} of memory free"}
    free["disk"] = f", {format_bytes(free_bytes(folder))} free at {folder}, {_MAY_GO}"
    for tier, rest in free.items():
        asked, fitted = (getattr(quotas, f"{tier}_quota_bytes") for quotas in (config.cache, cache))
        text = f"{format_bytes(fitted)} for pages{rest}"
        if fitted < asked:
            text += f" (the default of {format_bytes(asked)} does not fit this machine)"
        yield Finding("memory", tier, "ok", text)
    for warning in warnings:
        yield Finding("memory", "quotas", "warning", warning)


def _tiers(config: EngineConfig, device: torch.device) -> Iterable[Finding]:
    """Fills small tiers until the first page lies in the last one, and reads a page back from each."""
    shape = KVShape(layers=2, frame_tokens=24, heads=2, head_dim=12, dtype=pick_dtype(device))
    frames = config.cache.page_frames
    page_bytes = frames * shape.frame_bytes()
    cache = replace(
        config.cache,
        device_quota_bytes=page_bytes,
        dram_quota_bytes=page_bytes,
        disk_quota_bytes=1 << 20,
        codec="bf16",
        read_deadline_ms=None,
        write_through=False,
    )
    store = open_store(cache, shape, device, "doctor")
    try:
        names = [tier.name for tier in store.usage()]
        pages = [_page(index, shape, frames, device) for index in range(len(names))]
        handles = [store.put(page) for page in pages]
        store.flush()  # what still waits to be written would be read from memory
        for name, handle, page in zip(names, reversed(handles), reversed(pages), strict=True):
            yield Finding("memory", f"{name} self-test", *_read_back(store, handle, page, name))
    finally:
        store.close()
    yield _journey(cache, device)


def _journey(cache: CacheConfig, device: torch.device) -> Finding:
    """A page of the pocket world's size goes down through all tiers and comes back."""
    shape = KVShape(layers=8, frame_tokens=128, heads=6, head_dim=64, dtype=pick_dtype(device))
    quota = cache.page_frames * shape.frame_bytes()
    cache = replace(cache, device_quota_bytes=quota, dram_quota_bytes=quota, disk_quota_bytes=2 * quota)
    store = open_store(cache, shape, device, "doctor")
    try:
        page = _page(0, shape, cache.page_frames, device)
        began = time.perf_counter()
        first, *_ = [store.put(page) for _ in range(3)]
        store.flush()
        down = time.perf_counter()
        status, text = _read_back(store, first, page, "disk")
        up = time.perf_counter()
        store.flush()
        figures = ", ".join(
            f"{tier.name} {way} {times[0]:.1f} ms"
            for tier in store.usage()
            for way, times in (("write", tier.write_ms), ("read", tier.read_ms))
            if times is not None
        )
    finally:
        store.close()
    if status == "ok":
        text = (
            f"a page of {format_bytes(quota)} went down to the disk in {1000 * (down - began):.0f} ms and came "
            f"back in {1000 * (up - down):.0f} ms, bit for bit ({figures})"
        )
    return Finding("memory", "through all tiers", status, text)


def _page(index: int, shape: KVShape, frames: int, device: torch.device) -> PageData:
    generator = torch.Generator().manual_seed(index)
    keys, values = (
        torch.randn(shape.tensor(frames), generator=generator).to(device, shape.dtype) for _ in range(2)
    )
    return PageData(PageInfo(index, index * frames, frames, 0, index), keys, values)


def _read_back(store: TieredStore, handle: int, page: PageData, tier: str) -> tuple[Status, str]:
    there = store.tier_of(handle)
    if there != tier:
        full = (DROPPING, DROPPING_WITHOUT_DISK)  # of these tiers of a page each, not of a world's
        notices = " ".join(notice for notice in store.take_notices() if notice not in full)
        status: Status = "warning" if tier == "disk" else "failed"  # without its disk a world remembers less
        return status, f"the page went to '{there}' instead of this tier. {notices}".strip()
    (back,) = store.acquire([handle])
    if back is None:
        return "failed", "the page that was written could not be read back"
    same = torch.equal(back.keys, page.keys) and torch.equal(back.values, page.values)
    store.release_pin(handle)
    return ("ok", "a page came back bit for bit") if same else ("failed", "a page came back changed")


def _ffmpeg() -> Iterable[Finding]:
    path = find_ffmpeg()
    done = subprocess.run(
        [path, "-hide_banner", "-version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=20,
    )
    line = done.stdout.decode("utf-8", "replace").splitlines()[:1]
    if done.returncode != 0 or not line:
        yield Finding("video", "ffmpeg", "warning", f"{path} does not run: reinstall imageio-ffmpeg")
        return
    version = line[0].removeprefix("ffmpeg version ").split(" ")[0]
    yield Finding("video", "ffmpeg", "ok", f"{version} at {path}")
