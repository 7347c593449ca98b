"""The attention of several worlds in as few calls as can be: those of one kind side by side, head by head."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from worldattention.core.models.transformer import Attend
from worldattention.core.window_attention import KeptOfPass, WindowAttention


class AttentionBeside:
    """Joins windows of one kind once a block; keeps what was joined while the next passes ask for the same."""

    def __init__(self) -> None:
        self._joined: dict[tuple[int, ...], tuple[Sequence[WindowAttention], WindowAttention]] = {}

    def __call__(self, parts: Sequence[Attend]) -> BatchedAttend:
        """For one pass of these worlds."""
        groups: dict[Hashable, list[int]] = {}
        for row, part in enumerate(parts):
            kind = part.kind if isinstance(part, WindowAttention) else None
            groups.setdefault(row if kind is None else kind, []).append(row)
        before, self._joined = self._joined, {}
        joined = []
        for rows in groups.values():
            windows = [part for row in rows if isinstance(part := parts[row], WindowAttention)]
            if len(windows) < 2:
                continue
            key = tuple(map(id, windows))
            self._joined[key] = before.get(key) or (windows, WindowAttention.beside(windows))
            joined.append(_Group(rows, windows, self._joined[key][1]))
        taken = {row for group in joined for row in group.rows}
        return BatchedAttend(joined, {row: part for row, part in enumerate(parts) if row not in taken})


class _Group:
    """Worlds of one kind: their rows in the batch, and their windows joined."""

    def __init__(self, rows: list[int], parts: Sequence[WindowAttention], joined: WindowAttention) -> None:
        self.rows, self._parts, self._joined = rows, parts, joined
        joined.begin(*parts[0].captures)

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """[N, L, H, D] each -> [N, L, H, D]."""
        count, _, heads, _ = q.shape
        out = self._joined(layer, *(x.transpose(0, 1).flatten(1, 2)[None] for x in (q, k, v)))
        return out[0].unflatten(1, (count, heads)).transpose(0, 1).contiguous()

    def finish(self) -> None:
        """Every world gets what the pass left of it."""
        kept, heads = self._joined.kept(), self._joined.heads // len(self._parts)
        for number, part in enumerate(self._parts):
            own = slice(number * heads, (number + 1) * heads)
            queries = None if kept.queries is None else kept.queries[:, own]
            clean = None if kept.clean is None else (kept.clean[0][:, :, own], kept.clean[1][:, :, own])
            part.accept(KeptOfPass(kept.statistics[..., own], queries, clean))


class BatchedAttend:
    """`attend` of one pass over a batch, of which rows behind those of the worlds mean nothing."""

    def __init__(self, groups: Sequence[_Group], alone: dict[int, Attend]) -> None:
        self._groups, self._alone = groups, alone

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """[B, L, H, D] each -> [B, L, H, D]."""
        if not self._alone and len(self._groups) == 1 and len(self._groups[0].rows) == len(q):
            return self._groups[0].attend(layer, q, k, v)
        out = torch.zeros_like(q)
        for group in self._groups:
            out[group.rows] = group.attend(layer, q[group.rows], k[group.rows], v[group.rows])
        for row, attend in self._alone.items():
            part = slice(row, row + 1)
            out[part] = attend(layer, q[part], k[part], v[part])
        return out

    def finish(self) -> None:
        """After the last layer."""
        for group in self._groups:
            group.finish()
