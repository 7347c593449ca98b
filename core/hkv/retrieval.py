"""Two-stage retrieval as a pure function that returns every score.

Stage 1 ranks chunks by the cosine of their prompt vectors with the new prompt; stage 2 ranks the
pages of the best chunks by Qbar . Kbar / sqrt(D) (paper: HKV; DESIGN 3). Rival policies share the
interface, so that they can be compared live.

Chunks without a page outside the window take no place in stage 1: they have nothing to give.
Equal scores go to the older chunk or page, so that the result never depends on the machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from worldattention.core.config import RETRIEVAL_POLICIES, Preset, RetrievalPolicy


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """What retrieval reads of a bank.

    `prompts [C, E]` unit vectors; `means [P, S, H, D]`; `spans [P, 3]` (first frame, frames, chunk id)
    on the CPU; `available [P]` bool: false for pages whose data is gone (None: all are there).
    """

    prompts: Tensor
    means: Tensor
    spans: Tensor
    available: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a recall may bring: pages, frames (None: uncut), and chunks in stage 1."""

    pages: int = 3
    frames: int | None = 24
    width: int = 3


@dataclass(frozen=True, slots=True, eq=False)
class Retrieval:
    """Everything that retrieval computed.

    `similarities [C]`: cosine per chunk; `scores [P]`: stage 2 per page, NaN where not a candidate;
    `chunks`: stage 1's choice, best first; `candidates`: page ids that competed; `chosen`: page ids in
    chronological order.
    """

    policy: RetrievalPolicy
    similarities: Tensor
    scores: Tensor
    chunks: tuple[int, ...]
    candidates: tuple[int, ...]
    chosen: tuple[int, ...]


def cosine_with_chunks(prompt_vector: Tensor, prompts: Tensor) -> Tensor:
    """Stage 1: unit `[E]` and unit `[C, E]` -> `[C]` fp32.

    Summed row by row (not as a matrix product), so that equal prompts get bit-equal cosines.
    """
    if prompts.shape[0] == 0:
        return torch.empty(0)
    return (prompts.float() * prompt_vector.to(prompts.device, torch.float32)).sum(dim=-1).cpu()


def score_pages(query: Tensor, means: Tensor, preset: Preset = "playground") -> Tensor:
    """Stage 2: mean query `[S, H, D]` against mean keys `[P, S, H, D]` -> `[P]` fp32 on the CPU.

    `playground`: Qbar . Kbar / sqrt(D), averaged over the scoring layers and heads. `authors`: layer 0
    only, its heads concatenated, over sqrt(H * D).
    """
    layers, heads, dim = query.shape
    if preset == "authors":
        query, means, layers = query[:1], means[:, :1], 1
        divisor = (heads * dim) ** 0.5
    else:
        divisor = layers * heads * dim**0.5
    flat = query.to(means.device, torch.float32).reshape(-1)
    scores: Tensor = means.reshape(means.shape[0], -1) @ flat / divisor
    return scores.cpu()


def eligible_pages(spans: Tensor, excluded: Sequence[tuple[int, int]]) -> Tensor:
    """`[P]` bool: pages that share no frame with any of the `(first_frame, frames)` intervals."""
    first, end = spans[:, 0], spans[:, 0] + spans[:, 1]
    eligible = torch.ones(spans.shape[0], dtype=torch.bool)
    for start, frames in excluded:
        if frames > 0:
            eligible &= (end <= start) | (first >= start + frames)
    return eligible


def rank_chunks(
    memory: Memory, prompt_vector: Tensor, excluded: Sequence[tuple[int, int]], limit: int
) -> list[tuple[int, float, list[int]]]:
    """Stage 1 alone: `(chunk, cosine, its eligible pages)`, the best `limit` chunks, best first."""
    similarities = cosine_with_chunks(prompt_vector, memory.prompts)
    eligible = eligible_pages(memory.spans, excluded)
    if memory.available is not None:
        eligible &= memory.available
    chunk_of = torch.where(eligible, memory.spans[:, 2], -1)
    with_pages = torch.unique(memory.spans[eligible, 2])
    return [
        (chunk, float(similarities[chunk]), torch.nonzero(chunk_of == chunk).squeeze(1).tolist())
        for chunk in _rank_chunks("hkv", similarities, with_pages, limit)
    ]


def _rank_chunks(policy: RetrievalPolicy, similarities: Tensor, with_pages: Tensor, width: int) -> list[int]:
    """Chunk ids that stage 1 lets through, best first (worst first for `mismatched`)."""
    descending = policy != "mismatched"
    count = width if policy == "hkv" else 1
    order = torch.sort(similarities[with_pages], descending=descending, stable=True).indices[:count]
    return [int(chunk) for chunk in with_pages[order]]


def _preference(policy: RetrievalPolicy, pool: Tensor, scores: Tensor, seed: int, block: int) -> Tensor:
    """The pool's page ids in the order in which the policy wants them."""
    if policy in ("recent", "chunk"):
        return pool.flip(0)
    if policy == "random":
        generator = torch.Generator().manual_seed((seed * 1_000_003 + block) % 2**63)
        return pool[torch.randperm(len(pool), generator=generator)]
    return pool[torch.sort(scores[pool], descending=True, stable=True).indices]


def _cut(order: list[int], frames: list[int], limits: Limits) -> list[int]:
    """The first pages of `order` within both limits; a page that no longer fits is passed over."""
    chosen: list[int] = []
    left = limits.frames
    for page in order:
        if len(chosen) == limits.pages:
            break
        if left is not None:
            if frames[page] > left:
                continue
            left -= frames[page]
        chosen.append(page)
    return chosen


def retrieve(
    policy: RetrievalPolicy,
    memory: Memory,
    query: Tensor,
    prompt_vector: Tensor,
    *,
    excluded: Sequence[tuple[int, int]] = (),
    limits: Limits = Limits(),
    preset: Preset = "playground",
    seed: int = 0,
    block: int = 0,
) -> Retrieval:
    """Choose pages for a block.

    `query [S, H, D]`: mean un-rotated query; `prompt_vector [E]`: unit vector of the new prompt;
    `excluded`: `(first_frame, frames)` intervals that stay in the window. `seed` and `block` matter to
    `random` only.

    Raises:
        ValueError: unknown policy.
    """
    if policy not in RETRIEVAL_POLICIES:
        raise ValueError(f"unknown retrieval policy {policy!r}")
    spans = memory.spans
    similarities = cosine_with_chunks(prompt_vector, memory.prompts)
    scores = torch.full((spans.shape[0],), float("nan"))
    eligible = eligible_pages(spans, excluded)
    if memory.available is not None:
        eligible &= memory.available
    chunks: list[int] = []
    if policy == "none":
        eligible[:] = False
    elif policy in ("hkv", "mismatched", "chunk"):
        chunks = _rank_chunks(policy, similarities, torch.unique(spans[eligible, 2]), limits.width)
        eligible &= torch.isin(spans[:, 2], torch.tensor(chunks, dtype=torch.int64))
    pool = torch.nonzero(eligible).squeeze(1)
    if 2 * len(pool) > len(scores):  # copying most rows would take longer than scoring all of them
        scores[pool] = score_pages(query, memory.means, preset)[pool]
    elif len(pool):
        scores[pool] = score_pages(query, memory.means[pool.to(memory.means.device)], preset)
    order = _preference(policy, pool, scores, seed, block).tolist()
    chosen = _cut(order, spans[:, 1].tolist(), limits)
    chosen.sort(key=lambda page: (int(spans[page, 0]), page))
    return Retrieval(policy, similarities, scores, tuple(chunks), tuple(pool.tolist()), tuple(chosen))
