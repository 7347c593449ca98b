"""Two-stage retrieval as a pure function that returns every score.

Stage 1 ranks chunks by the cosine of their prompt vectors with the new prompt; stage 2 ranks the
pages of the best chunks by Qbar . Kbar / sqrt(D) (paper: HKV; DESIGN 3). Rival policies share the
interface, so that they can be compared live.

The mean key of a page has a part that no query changes: it lifts all pages of a chunk above those of another, whatever
is asked for (measured: pages of another place were taken before those of the scene that returned, by up to 0.73). So a
page loses `similarity` times what its chunk's cosine falls short of the best one's: between like prompts the score
decides, between unlike ones the prompt.

A prompt of several events ranks chunks once for each of them, and each gets a page of its best chunk before any
gets a second one. Similarity, recency and diversity change the order in which pages are taken, not their scores.

Chunks without a page outside the window take no place in stage 1: they have nothing to give.
Equal scores go to the older chunk or page, so that the result never depends on the machine.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from worldattention.core.config import RETRIEVAL_POLICIES, Preset, RetrievalPolicy

_CACHED_NUMBERS = 1 << 18
LATENTS_A_MINUTE = 240  # four pixel frames each, at 16 a second


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
    """How much a recall may bring: pages, frames (None: uncut), and chunks in stage 1.

    `similarity`, `recency` and `diversity`: see `CacheConfig`.
    """

    pages: int = 3
    frames: int | None = 24
    width: int = 3
    similarity: float = 0.0
    recency: float = 0.0
    diversity: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Retrieval:
    """Everything that retrieval computed.

    `similarities [C]`: cosine per chunk, with the event of the prompt that is nearest to it; `scores [P]`:
    stage 2 per page, NaN where not a candidate; `chunks`: stage 1's choice, best first; `candidates`: page
    ids that competed; `chosen`: page ids in chronological order.
    """

    policy: RetrievalPolicy
    similarities: Tensor
    scores: Tensor
    chunks: tuple[int, ...]
    candidates: tuple[int, ...]
    chosen: tuple[int, ...]


def cosine_with_chunks(prompt_vector: Tensor, prompts: Tensor) -> Tensor:
    """Stage 1: unit `[E]` and unit `[C, E]` -> `[C]` fp32.

    Summed row by row (not as a matrix product), so that equal prompts get bit-equal cosines; some rows at once, all
    alike many, so that they stay in the cache.
    """
    count = prompts.shape[0]
    if count == 0:
        return torch.empty(0)
    vector = prompt_vector.to(prompts.device, torch.float32)
    rows = min(count, max(64, _CACHED_NUMBERS // prompts.shape[1]))
    cosines = vector.new_empty(count)
    for start in range(0, count, rows):
        part = slice(min(start, count - rows), min(start, count - rows) + rows)
        cosines[part] = (prompts[part].float() * vector).sum(dim=-1)
    return cosines.cpu()


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
    memory: Memory, prompt_vectors: Tensor, excluded: Sequence[tuple[int, int]], width: int
) -> list[tuple[int, float, int, list[int]]]:
    """Stage 1 alone, for `prompt_vectors [N, E]`: `(chunk, cosine, which of N is nearest, its eligible pages)`.

    Best first.
    """
    eligible = _eligible(memory, excluded)
    each = _cosines(prompt_vectors, memory.prompts)
    groups = _rank_chunks("hkv", each, _chunks_with(memory.spans, eligible), width)
    similarities, nearest = each.max(0)
    chunks = sorted({chunk for group in groups for chunk in group})
    chunks.sort(key=lambda chunk: -float(similarities[chunk]))
    chunk_of = torch.where(eligible, memory.spans[:, 2], -1)
    return [
        (
            chunk,
            float(similarities[chunk]),
            int(nearest[chunk]),
            torch.nonzero(chunk_of == chunk).squeeze(1).tolist(),
        )
        for chunk in chunks
    ]


def _cosines(prompt_vectors: Tensor, prompts: Tensor) -> Tensor:
    """`[N, E]` and `[C, E]` -> `[N, C]`."""
    return torch.stack([cosine_with_chunks(vector, prompts) for vector in prompt_vectors])


def _eligible(memory: Memory, excluded: Sequence[tuple[int, int]]) -> Tensor:
    eligible = eligible_pages(memory.spans, excluded)
    return eligible if memory.available is None else eligible & memory.available


def _rank_chunks(
    policy: RetrievalPolicy, similarities: Tensor, with_pages: Tensor, width: int
) -> list[list[int]]:
    """Chunk ids that stage 1 lets through for each of `similarities [N, C]`, best first (worst for `mismatched`).

    The width is shared by the events of a prompt; each gets at least one chunk.
    """
    count = -(-width // similarities.shape[0]) if policy == "hkv" else 1
    return [
        with_pages[_first(row[with_pages], count, largest=policy != "mismatched")].tolist()
        for row in similarities
    ]


def _first(values: Tensor, count: int, largest: bool) -> Tensor:
    """Indices of the `count` largest (or smallest) values in their order; of equal ones the first. Sorts only those."""
    among = torch.arange(len(values))
    if count < len(values):
        edge = torch.topk(values, count, largest=largest).values[-1]
        among = torch.nonzero(values >= edge if largest else values <= edge).squeeze(1)
    return among[torch.sort(values[among], descending=largest, stable=True).indices[:count]]


def _chunks_with(spans: Tensor, eligible: Tensor) -> Tensor:
    """Ids of the chunks that have an eligible page, ascending."""
    return torch.nonzero(torch.bincount(spans[:, 2][eligible])).squeeze(1)


def _preference(policy: RetrievalPolicy, pool: Tensor, scores: Tensor, seed: int, block: int) -> Tensor:
    """The pool's page ids in the order in which the policy wants them."""
    if policy in ("recent", "chunk"):
        return pool.flip(0)
    if policy == "random":
        generator = torch.Generator().manual_seed((seed * 1_000_003 + block) % 2**63)
        return pool[torch.randperm(len(pool), generator=generator)]
    return pool[torch.sort(scores[pool], descending=True, stable=True).indices]


def _few_first(order: Tensor) -> Iterator[int]:
    """Page ids one by one: most are never asked for."""
    for part in order.tensor_split([32]):
        yield from part.tolist()


def _each_event_first(order: list[int], chunk_of: Tensor, groups: list[list[int]]) -> list[int]:
    """`order` with the best page of every event's best chunk before all others."""
    first: list[int] = []
    for group in filter(None, groups):
        own = (page for page in order if int(chunk_of[page]) == group[0] and page not in first)
        first += list(islice(own, 1))
    return first + [page for page in order if page not in first]


def _aged(scores: Tensor, spans: Tensor, now_frame: int, recency: float) -> Tensor:
    """Scores less `recency` for every minute since a page's end."""
    age = (now_frame - spans[:, 0] - spans[:, 1]).clamp_min(0)
    return scores - recency * age / LATENTS_A_MINUTE


def _behind(each: Tensor, chunk_of: Tensor, groups: list[list[int]]) -> Tensor:
    """By how much every page's chunk falls short of an event's best one: cosines [N, C], chunk ids [P] -> [P].

    Of several events the one under which it is the least counts.
    """
    best = torch.stack([row[group].max() for row, group in zip(each, groups, strict=True)])
    return (best[:, None] - each).amin(0).clamp_min(0)[chunk_of]


def _diverse(order: list[int], scores: Tensor, means: Tensor, weight: float) -> Iterator[int]:
    """Maximal marginal relevance: always the page with the best score less `weight` x its likeness to those taken.

    Likeness is the largest cosine of mean keys `[P, S, H, D]`, none below 0.
    """
    left = torch.tensor(order, dtype=torch.int64)
    vectors = torch.nn.functional.normalize(means[left.to(means.device)].flatten(1).float(), dim=1).cpu()
    likeness = torch.zeros(len(order))
    values = scores[left].clone()
    for _ in order:
        best = int(torch.argmax(values - weight * likeness))
        yield int(left[best])
        likeness = torch.maximum(likeness, vectors @ vectors[best])
        values[best] = -math.inf


def _cut(order: Iterable[int], frames: Tensor, limits: Limits) -> list[int]:
    """The first pages of `order` within both limits; a page that no longer fits is passed over."""
    chosen: list[int] = []
    left = limits.frames
    for page in order:
        if len(chosen) == limits.pages:
            break
        if left is not None:
            if int(frames[page]) > left:
                continue
            left -= int(frames[page])
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

    `query [S, H, D]`: mean un-rotated query; `prompt_vector`: unit vector of the new prompt `[E]`, or those of
    its events `[N, E]` (policy `hkv`; the others take the first); `excluded`: `(first_frame, frames)`
    intervals that stay in the window. `seed` and `block` matter to `random` only.

    Raises:
        ValueError: unknown policy.
    """
    if policy not in RETRIEVAL_POLICIES:
        raise ValueError(f"unknown retrieval policy {policy!r}")
    spans = memory.spans
    vectors = torch.atleast_2d(prompt_vector)
    each = _cosines(vectors if policy == "hkv" else vectors[:1], memory.prompts)
    scores = torch.full((spans.shape[0],), float("nan"))
    eligible = _eligible(memory, excluded)
    groups: list[list[int]] = []
    if policy == "none":
        eligible[:] = False
    elif policy in ("hkv", "mismatched", "chunk"):
        groups = _rank_chunks(policy, each, _chunks_with(spans, eligible), limits.width)
        let_through = torch.tensor([chunk for group in groups for chunk in group], dtype=torch.int64)
        eligible &= torch.isin(spans[:, 2], let_through)
    pool = torch.nonzero(eligible).squeeze(1)
    if len(pool) == len(scores) > 0:
        scores = score_pages(query, memory.means, preset)
    elif 2 * len(pool) > len(scores):  # copying most rows would take longer than scoring all of them
        scores[pool] = score_pages(query, memory.means, preset)[pool]
    elif len(pool):
        scores[pool] = score_pages(query, memory.means[pool.to(memory.means.device)], preset)
    wanted = scores
    if limits.similarity and policy == "hkv" and len(pool):
        wanted = scores - limits.similarity * _behind(each, spans[:, 2], groups)
    if limits.recency and len(pool):
        wanted = _aged(wanted, spans, int((spans[:, 0] + spans[:, 1]).max()), limits.recency)
    order: Iterable[int] = _few_first(_preference(policy, pool, wanted, seed, block))
    if limits.diversity and policy in ("hkv", "mismatched"):
        order = islice(_diverse(list(order), wanted, memory.means, limits.diversity), 8 * limits.pages)
    if len(groups) > 1:
        order = _each_event_first(list(order), spans[:, 2], groups)
    chosen = _cut(order, spans[:, 1], limits)
    chosen.sort(key=lambda page: (int(spans[page, 0]), page))
    chunks = tuple(dict.fromkeys(chunk for group in groups for chunk in group))
    return Retrieval(policy, each.amax(0), scores, chunks, tuple(pool.tolist()), tuple(chosen))
