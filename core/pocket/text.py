"""The pocket world's text encoder: Korean prompts of its grammar are said in English before they are encoded."""

from __future__ import annotations

from worldattention.core.models.text import TextEncoder, TextEncoding
from worldattention.core.pocket.korean import to_english
from worldattention.core.pocket.prompts import Understood, understand


class PocketTextEncoder:
    """Wraps an English encoder. Timelines and telemetry keep what was typed; only the encoding is of English."""

    def __init__(self, english: TextEncoder) -> None:
        self._english = english

    def encode(self, text: str) -> TextEncoding:
        """The encoding of a prompt in English, or in Korean of the grammar."""
        return self._english.encode(to_english(text))

    def understand(self, text: str) -> Understood:
        """What the world makes of a prompt, with its similarity to what the world knows."""
        return understand(text, self._english)


def understood_by(encoder: TextEncoder, prompt: str) -> Understood | None:
    """What an encoder's world makes of a prompt; None when it cannot say."""
    return encoder.understand(prompt) if isinstance(encoder, PocketTextEncoder) else None
