"""Prompts as the transformer attends to them, kept while they are likely to be needed again."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from worldattention.core.heap import lasting_memory
from worldattention.core.models.text import TextEncoding
from worldattention.core.models.transformer import TextKeysValues
from worldattention.core.models.world import WorldModel

_KEPT = 16


@dataclass(frozen=True, slots=True)
class Spoken:
    """A prompt, ready to be attended to."""

    text: str
    encoding: TextEncoding
    keys_values: TextKeysValues


class SpokenPrompts:
    """The last few prompts of a world."""

    def __init__(self, model: WorldModel) -> None:
        self._model = model
        self._kept: OrderedDict[str, Spoken] = OrderedDict()

    def get(self, text: str) -> Spoken:
        """The prompt, encoded at most once while it is kept."""
        if text in self._kept:
            self._kept.move_to_end(text)
            return self._kept[text]
        encoding = self._model.text_encoder.encode(text)
        tokens = encoding.tokens.to(self._model.device)[None]
        spoken = Spoken(text, encoding, _kept(self._model.transformer.text_keys_values(tokens)))
        self._kept[text] = spoken
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return spoken

    def fork(self) -> SpokenPrompts:
        """For a world that goes on by itself."""
        other = SpokenPrompts(self._model)
        other._kept = self._kept.copy()
        return other


def _kept(pairs: TextKeysValues) -> TextKeysValues:
    """The keys and values of all layers in one piece of lasting memory."""
    keys, _ = pairs[0]
    kept = lasting_memory((len(pairs), 2, *keys.shape), keys.dtype, keys.device)
    for (k, v), layer in zip(pairs, kept, strict=True):
        layer[0].copy_(k)
        layer[1].copy_(v)
    return [(layer[0], layer[1]) for layer in kept]
