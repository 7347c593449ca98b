"""Several GPUs: one process each, gradients averaged. One process works the same without a group."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor
from torch.multiprocessing.spawn import spawn

LOST_S = 3.0
"""So long does a process that failed wait for the lead to have ended first, if it did."""


@dataclass(frozen=True, slots=True)
class Group:
    """This process among all: `rank` of `size`, and its device."""

    rank: int
    size: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    @torch.no_grad()
    def average_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Replace every gradient by its mean over the processes, in one exchange."""
        if self.size == 1:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        self.average(gradients)

    @torch.no_grad()
    def average(self, tensors: list[Tensor]) -> None:
        """Replace tensors by their means over the processes, in one exchange (in fp32)."""
        if self.size == 1 or not tensors:
            return
        flat = torch.cat([tensor.reshape(-1).float() for tensor in tensors])
        dist.all_reduce(flat)
        flat /= self.size
        parts = flat.split([tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))

    @torch.no_grad()
    def share(self, tensors: Iterable[Tensor]) -> None:
        """Overwrite tensors by those of rank 0."""
        if self.size > 1:
            for tensor in tensors:
                dense = tensor.contiguous()
                dist.broadcast(dense, 0)
                tensor.copy_(dense)

    def wait_for_lead(self) -> None:
        """Go on when rank 0 comes here too: what it wrote can be read then."""
        self.agree(0.0)

    def agree(self, value: float) -> float:
        """Rank 0's `value`, for all."""
        if self.size == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64, device=self.device)
        dist.broadcast(shared, 0)
        return float(shared)


def device_count(device: str) -> int:
    """How many processes a training on `device` gets: one a GPU, one on the CPU."""
    return max(torch.cuda.device_count(), 1) if device == "cuda" else 1


def run_processes(work: Callable[[Group], None], device: str, processes: int) -> None:
    """Run `work` in `processes` processes (itself if one). Under torchrun, join the group that stands already.

    `work` must be picklable when there are several: a module's function or a `functools.partial` of one.
    """
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        _work_in_group(int(os.environ.get("LOCAL_RANK", rank)), work, device, size, "env://", rank)
    elif processes == 1:
        work(Group(0, 1, torch.device(device)))
    else:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        spawn(_work_in_group, (work, device, processes, f"tcp://127.0.0.1:{port}"), processes, join=True)


def _work_in_group(
    local_rank: int,
    work: Callable[[Group], None],
    device: str,
    size: int,
    address: str,
    rank: int | None = None,
) -> None:
    rank = local_rank if rank is None else rank
    own = torch.device(device, local_rank) if device == "cuda" else torch.device(device)
    if own.type == "cuda":
        torch.cuda.set_device(own)
    # NVLink multicast through a hypervisor has taken GPUs down; the ring is fast enough for this model.
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    backend = "nccl" if own.type == "cuda" else "gloo"
    dist.init_process_group(
        backend,
        init_method=address,
        rank=rank,
        world_size=size,
        device_id=own if own.type == "cuda" else None,
    )
    try:
        work(Group(rank, size, own))
    except RuntimeError:  # what torch raises where another process is gone, among others
        if rank:
            time.sleep(LOST_S)  # it may have lost the lead, whose reason is the one to be told
        raise
    # Only here: taking a group down waits for all, and after a failure the others wait elsewhere. A process that
    # fails ends at once instead, and says why.
    dist.destroy_process_group()
