"""Wan's text encoder, UMT5: read when it is first needed, on the device only while it encodes."""

from __future__ import annotations

import html
import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from worldattention.core.errors import UserError
from worldattention.core.models.checkpoint import load_into, read_weights
from worldattention.core.models.text import TextEncoding, pool
from worldattention.core.models.weight_files import check_class, read_json

TOKENS = 512
"""Length of Wan's text context; what is behind the text is zero."""
_CACHED_TEXTS = 64
_TIED = "encoder.embed_tokens.weight"


class UMT5Encoder:
    """UMT5 of a diffusers folder (text_encoder/, tokenizer/).

    Eleven gigabytes for Wan's: they stay in main memory, and visit the device for one text at a time. The
    configuration and the tokenizer are checked when it is made, the weights when they are first needed.

    Raises:
        UserError: a file is missing, broken or of another model.
    """

    def __init__(self, folder: Path, device: torch.device, dtype: torch.dtype) -> None:
        self._folder, self._device, self._dtype = folder / "text_encoder", device, dtype
        self._settings = read_json(self._folder / "config.json")
        check_class(self._folder, self._settings, "UMT5EncoderModel")
        self._tokenizer = _tokenizer(folder / "tokenizer")
        self._model: Any = None
        self._cache: OrderedDict[str, TextEncoding] = OrderedDict()

    @property
    def dim(self) -> int:
        """Width D of tokens and pooled vectors."""
        return int(self._settings["d_model"])

    @torch.no_grad()
    def encode(self, text: str) -> TextEncoding:
        """tokens [512, D] fp32, zero behind `length`; texts beyond 512 tokens are cut. The latest 64 are kept."""
        if text in self._cache:
            self._cache.move_to_end(text)
            return self._cache[text]
        ids = self._tokenizer.encode(cleaned(text)).ids
        with self._on_device() as model:
            hidden = model(torch.tensor([ids], device=self._device)).last_hidden_state[0].float().cpu()
        tokens = torch.zeros(TOKENS, hidden.shape[-1])
        tokens[: len(ids)] = hidden
        encoding = TextEncoding(tokens, pool(tokens, len(ids)), len(ids))
        self._cache[text] = encoding
        if len(self._cache) > _CACHED_TEXTS:
            self._cache.popitem(last=False)
        return encoding

    @contextmanager
    def _on_device(self) -> Iterator[Any]:
        if self._model is None:
            self._model = _load(self._folder, self._settings, self._dtype)
        if self._device.type == "cpu":
            yield self._model
            return
        try:
            yield self._model.to(self._device)
        finally:
            self._model.to("cpu")


def cleaned(text: str) -> str:
    """HTML entities resolved and white space collapsed, as Wan was trained."""
    return " ".join(html.unescape(html.unescape(text)).split())


def _tokenizer(folder: Path) -> Any:
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not os.path.isfile(path):
        raise UserError(f"The tokenizer file {path} is missing: fetch the model's tokenizer folder.")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more exact
        why = " ".join(str(error).split())[:120]
        raise UserError(f"The file {path} is no tokenizer ({why}): fetch it again.") from None
    tokenizer.enable_truncation(TOKENS)
    tokenizer.no_padding()
    return tokenizer


def _load(folder: Path, settings: dict[str, Any], dtype: torch.dtype) -> Any:
    """The encoder on the CPU, ready to run."""
    # Imported here, since it takes seconds.
    from transformers import UMT5Config, UMT5EncoderModel

    with torch.device("meta"):
        model: Any = UMT5EncoderModel(UMT5Config(**settings))
    tensors: dict[str, Tensor] = {name: tensor.to(dtype) for name, tensor in read_weights(folder).items()}
    for one, other in (("shared.weight", _TIED), (_TIED, "shared.weight")):  # one table under two names
        if one in tensors:
            tensors.setdefault(other, tensors[one])
    load_into(model, tensors, "text encoder")
    model.encoder.embed_tokens = model.shared
    return model.eval().requires_grad_(False)
