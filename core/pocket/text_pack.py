"""The pocket world's prompts for machines that train: token ids and MiniLM cut to their vocabulary.

One safetensors file: `ids` [N, L] int16 (rows of the cut embedding, L the longest prompt), `length` [N] uint8,
the weights under `bert.` (matrices int8 with one fp32 scale a row under `scale.`: half the size of fp16, cosine of
the encodings above 0.999), and BERT's configuration as JSON in the metadata. Row n is `prompt_table()[n]`.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from worldattention.core.models.text import (
    MINILM_SHA256,
    TOKEN_SCALE,
    TOKENS,
    bert,
    check_sha256,
    minilm_folder,
    pool,
)
from worldattention.core.pocket.grammar import prompt_table

_WORDS = "embeddings.word_embeddings.weight"
_BATCH = 512


def write_text_pack(path: Path) -> None:
    """Write the pack (under 16 MB). Raises UserError if the text encoder's package is missing or not the known one."""
    from tokenizers import Tokenizer

    folder = minilm_folder()
    check_sha256(folder / "model.safetensors", MINILM_SHA256)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(TOKENS)
    tokenizer.enable_padding()
    rows = tokenizer.encode_batch(prompt_table())
    ids = torch.tensor([row.ids for row in rows])
    length = torch.tensor([sum(row.attention_mask) for row in rows], dtype=torch.uint8)
    used, ids = torch.unique(ids, return_inverse=True)

    state = load_file(folder / "model.safetensors")
    state[_WORDS] = state[_WORDS][used]
    tensors = {"ids": ids.to(torch.int16), "length": length}
    for name, value in state.items():
        if not value.is_floating_point() or name.startswith("pooler"):
            continue
        if value.ndim == 2:
            scale = value.abs().amax(dim=1).clamp(min=1e-12) / 127
            tensors[f"scale.{name}"] = scale
            value = (value / scale[:, None]).round().to(torch.int8)
        tensors[f"bert.{name}"] = value
    config = json.loads((folder / "config.json").read_text("utf-8")) | {"vocab_size": len(used)}
    save_file({k: v.contiguous() for k, v in tensors.items()}, path, {"config": json.dumps(config)})


@torch.no_grad()
def embed_pack(path: Path, device: torch.device | str) -> tuple[Tensor, Tensor]:
    """(tokens [N, 64, 384] half, pooled [N, 384] fp32) of every prompt, as `MiniLMEncoder` gives them."""
    with safe_open(path, framework="pt") as file:
        config = json.loads(file.metadata()["config"])
    state = load_file(path, device=str(device))
    ids, length = state.pop("ids").long(), state.pop("length").long()
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
