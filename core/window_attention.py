"""Self-attention of one block: rotation, the window of every layer, the mode, and what the heads did."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from worldattention.core.config import AttentionConfig
from worldattention.core.hsa import (
    AttentionWindow,
    HeadStatistics,
    HSAParameters,
    attend,
    build_window,
    update_tail,
)
from worldattention.kernels import ops

Observer = Callable[[int, Tensor, AttentionWindow, HSAParameters | None], None]
"""Takes layer, rotated q [1, L, H, D], the layer's window (live memory: copy what is to stay) and parameters."""


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
    ) -> None:
        self.config = config
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
        self._statistics: list[HeadStatistics] = []

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """[1, L, H, D] un-rotated -> [1, L, H, D]."""
        if layer in self._query_layers:
            self._queries.append(q[0].float().mean(0))
        if self._clean is not None:
            self._clean.append((k[0], v[0]))
        window, parameters = self._windows[layer], self._parameters[layer]
        update_tail(window, ops.rotate(k, *self._rotary), v, parameters)
        q = ops.rotate(q, *self._rotary)
        if self._observer is not None:
            self._observer(layer, q, window, parameters)
        out, statistics = attend(q, window, parameters, self.config, self.config.mode)
        self._statistics.append(statistics)
        return out

    def start_query(self, layers: tuple[int, ...]) -> None:
        """Keep the mean un-rotated query of these layers during the next pass."""
        self._query_layers, self._queries = layers, []

    def take_query(self) -> Tensor:
        """[S, H, D] fp32 of the pass just made."""
        queries, self._query_layers = torch.stack(self._queries), ()
        return queries

    def start_clean(self) -> None:
        """Keep un-rotated keys and values of the next pass, which is the context pass."""
        self._clean = []

    def take_clean(self) -> tuple[Tensor, Tensor]:
        """Keys and values [layers, L, H, D] of the context pass."""
        assert self._clean is not None
        keys, values = zip(*self._clean, strict=True)
        self._clean = None
        return torch.stack(keys), torch.stack(values)

    def drop_statistics(self) -> None:
        """Forget what the passes so far did: they are repeated or no denoising steps."""
        self._statistics = []

    def head_arrays(self) -> dict[str, npt.NDArray[np.float32]]:
        """gini, threshold and density [layers, heads], averaged over the passes since the last drop."""
        layers = len(self._windows)
        arrays = {}
        for name in ("gini", "threshold", "density"):
            rows = torch.stack([getattr(statistics, name).float() for statistics in self._statistics])
            arrays[name] = rows.unflatten(0, (-1, layers)).mean(0).cpu().numpy().astype(np.float32)
        return arrays
