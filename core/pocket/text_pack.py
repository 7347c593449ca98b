"""The pocket world's prompts for machines that have no MiniLM: token ids, and MiniLM cut to their vocabulary.

One safetensors file: `ids` [N, L] int16 (rows of the cut embedding, L the longest prompt), `length` [N] uint8,
the weights under `bert.` (matrices int8 with one fp32 scale a row under `scale.`: half the size of fp16, cosine of
the encodings above 0.999), `used` [V] int32 (the rows of the whole embedding that were kept), and BERT's
configuration and the tokenizer as JSON in the metadata. Row n is `prompt_table()[n]`.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from worldattention.core.models.text import (
    CACHED_TEXTS,
    MINILM_SHA256,
    TOKEN_SCALE,
    TOKENS,
    TextEncoding,
    bert,
    check_sha256,
    minilm_folder,
    pool,
)
from worldattention.core.pocket.grammar import prompt_table
from worldattention.core.pocket.pack_header import broken, read_header

_WORDS = "embeddings.word_embeddings.weight"
_BATCH = 512
_UNKNOWN = "[UNK]"
_SPECIAL = ("[PAD]", _UNKNOWN, "[CLS]", "[SEP]")


def write_text_pack(path: Path) -> None:
    """Write the pack (under 16 MB). Raises UserError if the text encoder's package is missing or not the known one."""
    from tokenizers import Tokenizer

    folder = minilm_folder()
    check_sha256(folder / "model.safetensors", MINILM_SHA256)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(TOKENS)
    tokenizer.enable_padding()
    special = torch.tensor([tokenizer.token_to_id(token) for token in _SPECIAL])
    rows = tokenizer.encode_batch(prompt_table())
    ids = torch.tensor([row.ids for row in rows])
    length = torch.tensor([sum(row.attention_mask) for row in rows], dtype=torch.uint8)
    used, places = torch.unique(torch.cat([special, ids.flatten()]), return_inverse=True)
    ids = places[len(special) :].reshape(ids.shape)

    state = load_file(folder / "model.safetensors")
    state[_WORDS] = state[_WORDS][used]
    tensors = {"ids": ids.to(torch.int16), "length": length, "used": used.to(torch.int32)}
    for name, value in state.items():
        if not value.is_floating_point() or name.startswith("pooler"):
            continue
        if value.ndim == 2:
            scale = value.abs().amax(dim=1).clamp(min=1e-12) / 127
            tensors[f"scale.{name}"] = scale
            value = (value / scale[:, None]).round().to(torch.int8)
        tensors[f"bert.{name}"] = value
    config = json.loads((folder / "config.json").read_text("utf-8")) | {"vocab_size": len(used)}
    about = {"config": json.dumps(config), "tokenizer": (folder / "tokenizer.json").read_text("utf-8")}
    save_file({k: v.contiguous() for k, v in tensors.items()}, path, about)


class PackTextEncoder:
    """The text encoder out of a pack: prompts of the grammar as `MiniLMEncoder` encodes them, but for the rounding
    of its weights; words that the grammar lacks are unknown to it.

    Raises UserError when the pack cannot be read, or was written without a tokenizer.
    """

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        config, tokenizer = read_header(path)
        try:
            state = load_file(path)
            used = state["used"]
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise broken(path, error) from None
        self._tokenizer = Tokenizer.from_str(tokenizer)
        self._tokenizer.enable_truncation(TOKENS)
        self._tokenizer.no_padding()
        self._places = {int(row): place for place, row in enumerate(used.tolist())}
        self._unknown = self._places.get(self._tokenizer.token_to_id(_UNKNOWN) or 0, 0)
        self._model = bert(config, _weights(state))
        self._cache: OrderedDict[str, TextEncoding] = OrderedDict()

    @torch.no_grad()
    def encode(self, text: str) -> TextEncoding:
        """The encoding of a text of any length and content; the latest 256 are kept."""
        if text in self._cache:
            self._cache.move_to_end(text)
            return self._cache[text]
        ids = [self._places.get(row, self._unknown) for row in self._tokenizer.encode(text).ids]
        hidden = self._model(torch.tensor([ids])).last_hidden_state[0].float()
        tokens = torch.zeros(TOKENS, hidden.shape[-1])
        tokens[: len(ids)] = hidden * TOKEN_SCALE
        encoding = TextEncoding(tokens, pool(tokens, len(ids)), len(ids))
        self._cache[text] = encoding
        if len(self._cache) > CACHED_TEXTS:
            self._cache.popitem(last=False)
        return encoding


@torch.no_grad()
def embed_pack(path: Path, device: torch.device | str) -> tuple[Tensor, Tensor]:
    """(tokens [N, 64, 384] half, pooled [N, 384] fp32) of every prompt, as `MiniLMEncoder` gives them."""
    with safe_open(path, framework="pt") as file:
        config = json.loads(file.metadata()["config"])
    state = load_file(path, device=str(device))
    ids, length = state["ids"].long(), state["length"].long()
    model = bert(config, _weights(state)).to(device)
    tokens = torch.zeros(len(ids), TOKENS, config["hidden_size"], dtype=torch.float16, device=device)
    pooled = torch.zeros(len(ids), config["hidden_size"], device=device)
    order = length.sort().indices  # batches of like lengths, so that little is spent on pads
    for rows in order.split(_BATCH):
        width = int(length[rows].max())
        mask = torch.arange(width, device=ids.device) < length[rows, None]
        hidden = model(ids[rows, :width], attention_mask=mask.long()).last_hidden_state
        hidden = hidden * mask[..., None] * TOKEN_SCALE
        tokens[rows, :width] = hidden.half()
        pooled[rows] = pool(hidden, length[rows])
    return tokens, pooled


def _weights(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The fp32 weights on the CPU, matrices times their rows' scales."""
    weights = {}
    for key, value in state.items():
        if key.startswith("bert."):
            name = key.removeprefix("bert.")
            scale = state.get(f"scale.{name}")
            weights[name] = (value.float() if scale is None else value.float() * scale[:, None]).cpu()
    return weights
