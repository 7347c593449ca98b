"""The pocket world's text encoder: Korean prompts of its grammar are said in English before they are encoded."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F

from worldattention.core.models.text import TextEncoder, TextEncoding
from worldattention.core.pocket.korean import describe, mentioned
from worldattention.core.pocket.mentions import Mentions
from worldattention.core.pocket.prompts import Understood, understand, unsaid


class PocketTextEncoder:
    """Wraps an English encoder. Timelines and telemetry keep what was typed; only the encoding is of English.

    The model attends to the tokens of the words as they are; instead of a prompt that its world does not know, or that
    is too long for it, to those of the nearest scene, as the prompt line says. The prompt index compares scenes:
    `pooled` is of the grammar's own sentence for what a prompt names, so that other words for the same scene find it,
    and of its place once more, since a place is what memory has to keep: the same person elsewhere is less alike than
    another one here.
    """

    def __init__(self, english: TextEncoder) -> None:
        self._english = english

    def encode(self, text: str) -> TextEncoding:
        """The encoding of a prompt in English, or in Korean of the grammar, or of what is shown instead of it."""
        said = self.understand(text).english if text.strip() else text
        encoding = self._english.encode(said)
        named = [sentence for sentence in (scene_of(said), place_of(said)) if sentence]
        if not named:
            return encoding
        pooled = torch.stack([self._english.encode(sentence).pooled for sentence in named]).sum(0)
        return replace(encoding, pooled=F.normalize(pooled, dim=0))

    def understand(self, text: str) -> Understood:
        """What the world makes of a prompt, with its similarity to what the world knows."""
        return understand(text, self._english)


def scene_of(text: str) -> str:
    """The grammar's sentence for the scene that a prompt names; "" when it names nothing of the world."""
    return describe(unsaid(mentioned(text)))


def place_of(text: str) -> str:
    """The grammar's words for the place that a prompt names; "" when it names none."""
    return describe(Mentions(place=mentioned(text).place))


def understood_by(encoder: TextEncoder, prompt: str) -> Understood | None:
    """What an encoder's world makes of a prompt; None when it cannot say."""
    return encoder.understand(prompt) if isinstance(encoder, PocketTextEncoder) else None
