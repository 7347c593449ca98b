"""Self-attention of one block: rotation, the window of every layer, the mode, and what the heads did."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from worldattention.core.compiled import rotate_pair
from worldattention.core.config import AttentionConfig
from worldattention.core.hsa import (
    AttentionWindow,
    HeadStatistics,
    HSAParameters,
    attend,
    build_window,
    side_by_side,
    update_tail,
)

Observer = Callable[[int, Tensor, AttentionWindow, HSAParameters | None], None]
"""Takes layer, rotated q [1, L, H, D], the layer's window (live memory: copy what is to stay) and parameters."""


HEAD_ARRAYS = ("gini", "threshold", "density")


class KeptOfPass(NamedTuple):
    """What a pass leaves beside its result."""

    statistics: Tensor
    """[3, layers, H] fp32: `HEAD_ARRAYS`."""
    queries: Tensor | None
    """[S, H, D]."""
    clean: tuple[Tensor, Tensor] | None
    """[layers, L, H, D] each."""


class WindowAttention:
    """The `attend` callable of a block: keys [layers, 1, slots * T, H, D] of the window, current block last.

    Queries and keys of the current block are rotated to the slots behind the window. The window's pooled and
    coarse rows are computed when it is made; the current block's are renewed in every pass.
    """

    def __init__(
        self,
        keys: Tensor,
        values: Tensor,
        context_tokens: int,
        rotary: tuple[Tensor, Tensor],
        parameters: tuple[HSAParameters | None, ...],
        config: AttentionConfig,
        observer: Observer | None = None,
        steady: bool = False,
    ) -> None:
        self.config = config
        self.steady = steady and observer is None
        """Whether the next blocks' windows have the same shape and place, so that a captured pass pays."""
        self._observer = observer
        self._rotary = rotary
        self._parameters = parameters
        self._windows: list[AttentionWindow] = [
            build_window(keys[layer], values[layer], context_tokens, parameters[layer], config.block)
            for layer in range(keys.shape[0])
        ]
        self._query_layers: tuple[int, ...] = ()
        self._queries: list[Tensor] = []
        self._clean: list[tuple[Tensor, Tensor]] | None = None
        self._taken: tuple[Tensor, Tensor] | None = None
        self._statistics: list[HeadStatistics] = []

    @property
    def captures(self) -> tuple[tuple[int, ...], bool]:
        """What the next pass keeps: layers whose query is kept, and whether clean keys and values are."""
        return self._query_layers, self._clean is not None

    @property
    def place(self) -> tuple[int, int]:
        """Address of the window's keys, and tokens of the context: passes at one place are alike."""
        return self._windows[0].keys.data_ptr(), self._windows[0].context_tokens

    @property
    def observed(self) -> bool:
        """Whether somebody looks at every layer of every pass."""
        return self._observer is not None

    @property
    def heads(self) -> int:
        """Heads of all worlds together."""
        return self._windows[0].keys.shape[2]

    @property
    def kind(self) -> Hashable:
        """Attention of the same kind can be computed side by side; None when it is observed, and must not be."""
        if self._observer is not None:
            return None
        window = self._windows[0]
        return self.config, window.context_tokens, window.keys.shape[1], self.captures

    @classmethod
    def beside(cls, parts: Sequence[WindowAttention]) -> WindowAttention:
        """One over copies of the windows of several worlds of one kind, their heads side by side."""
        other = copy(parts[0])
        other._windows = [side_by_side(windows) for windows in zip(*(p._windows for p in parts), strict=True)]
        other.begin((), False)
        return other

    def twin(self) -> WindowAttention:
        """Another one over the same keys and values, with pooled and coarse rows of its own."""
        other = copy(self)
        other._windows = [window.twin() for window in self._windows]
        other.begin(*self.captures)
        return other

    def begin(self, query_layers: tuple[int, ...], clean: bool) -> None:
        """Forget all passes; keep what the next one shall."""
        self._query_layers, self._queries, self._statistics = query_layers, [], []
        self._clean, self._taken = [] if clean else None, None

    def adopt(self, other: WindowAttention) -> None:
        """Take over the pooled and coarse rows of another one at the same place."""
        for mine, theirs in zip(self._windows, other._windows, strict=True):
            mine.adopt(theirs)

    def kept(self) -> KeptOfPass:
        """What the pass just made left, stacked over layers."""
        rows = [torch.stack([getattr(s, name).float() for s in self._statistics]) for name in HEAD_ARRAYS]
        queries = torch.stack(self._queries) if self._query_layers else None
        clean = None if self._clean is None else _stacked(self._clean)
        return KeptOfPass(torch.stack(rows), queries, clean)

    def accept(self, kept: KeptOfPass) -> None:
        """As if this one had made the pass that left `kept`; copies it."""
        self._statistics.append(HeadStatistics(*kept.statistics.clone()))
        if kept.queries is not None:
            self._queries = list(kept.queries.clone())
        if kept.clean is not None:
            self._taken = (kept.clean[0].clone(), kept.clean[1].clone())

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """[1, L, H, D] un-rotated -> [1, L, H, D]."""
        if layer in self._query_layers:
            self.keep_query(q)
        if self._clean is not None:
            self.keep_clean(k, v)
        window, parameters = self._windows[layer], self._parameters[layer]
        q, k = rotate_pair(q, k, *self._rotary)
        update_tail(window, k, v, parameters)
        if self._observer is not None:
            self._observer(layer, q, window, parameters)
        out, statistics = attend(q, window, parameters, self.config, self.config.mode)
        self._statistics.append(statistics)
        return out

    def start_query(self, layers: tuple[int, ...]) -> None:
        """Keep the mean un-rotated query of these layers during the next pass."""
        self._query_layers, self._queries = layers, []

    def keep_query(self, q: Tensor) -> None:
        """The mean of un-rotated queries [1, L, H, D], the next layer's."""
        self._queries.append(q[0].float().mean(0))

    def take_query(self) -> Tensor:
        """[S, H, D] fp32 of the pass just made."""
        queries, self._query_layers = torch.stack(self._queries), ()
        return queries

    def start_clean(self) -> None:
        """Keep un-rotated keys and values of the next pass, which is the context pass."""
        self._clean = []

    def keep_clean(self, k: Tensor, v: Tensor) -> None:
        """Un-rotated keys and values [1, L, H, D], the next layer's."""
        assert self._clean is not None
        self._clean.append((k[0], v[0]))

    def take_clean(self) -> tuple[Tensor, Tensor]:
        """Keys and values [layers, L, H, D] of the context pass."""
        assert self._clean is not None
        taken = self._taken or _stacked(self._clean)
        self._clean = self._taken = None
        return taken

    def drop_statistics(self) -> None:
        """Forget what the passes so far did: they are repeated or no denoising steps."""
        self._statistics = []

    def head_table(self) -> Tensor:
        """[3, layers, H] fp32 on the device: `HEAD_ARRAYS`, averaged over the passes since the last drop."""
        layers, tables = len(self._windows), []
        for name in HEAD_ARRAYS:
            rows = [getattr(statistics, name).float() for statistics in self._statistics]
            table = torch.cat([row.view(-1, row.shape[-1]) for row in rows])
            tables.append(table.unflatten(0, (-1, layers)).mean(0))
        return torch.stack(tables)


def head_arrays(table: Tensor) -> dict[str, npt.NDArray[np.float32]]:
    """gini, threshold and density [layers, heads] out of a `head_table`. Waits for the device."""
    return dict(zip(HEAD_ARRAYS, table.cpu().numpy(), strict=True))


def _stacked(pairs: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    keys, values = zip(*pairs, strict=True)
    return torch.stack(keys), torch.stack(values)
