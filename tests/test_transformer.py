"""The causal transformer against diffusers' own forward pass, and cached against uncached rollout."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from diffusers import WanTransformer3DModel
from torch import Tensor

from worldattention.core.models.transformer import CausalWanTransformer3DModel

TINY = {
    "num_attention_heads": 2,
    "attention_head_dim": 12,
    "in_channels": 4,
    "out_channels": 4,
    "text_dim": 10,
    "freq_dim": 16,
    "ffn_dim": 40,
    "num_layers": 3,
}


def tiny_model(seed: int) -> CausalWanTransformer3DModel:
    torch.manual_seed(seed)
    model = CausalWanTransformer3DModel(**TINY).eval()
    for parameter in model.parameters():  # biases and norm weights too must matter
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def complex_rotation(x: Tensor, positions: Tensor, grid: tuple[int, int]) -> Tensor:
    """Wan's rotary embedding by complex multiplication, written from its definition. x [B, L, H, D]."""
    dim = x.shape[-1]
    space = 2 * (dim // 6)
    rows, columns = grid
    angles = []
    for size, axis in ((dim - 2 * space, "t"), (space, "h"), (space, "w")):
        inverse = 10000.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
        index = {
            "t": positions.double()[:, None, None].expand(-1, rows, columns),
            "h": torch.arange(rows).double()[None, :, None].expand(len(positions), -1, columns),
            "w": torch.arange(columns).double()[None, None, :].expand(len(positions), rows, -1),
        }[axis]
        angles.append(index.flatten()[:, None] * inverse)
    turn = torch.polar(torch.ones(1, dtype=torch.float64), torch.cat(angles, -1))
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turn[:, None]).flatten(-2).to(x.dtype)


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    out = F.scaled_dot_product_attention(
        q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), attn_mask=mask
    )
    return out.transpose(1, 2)


def test_equals_diffusers_on_one_bidirectional_pass() -> None:
    model = tiny_model(0)
    latents, tokens = torch.randn(2, 3, 4, 4, 6), torch.randn(2, 5, 10)
    time = torch.tensor([937.5, 312.0])

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        places = torch.arange(3)
        return attention(complex_rotation(q, places, (2, 3)), complex_rotation(k, places, (2, 3)), v)

    with torch.no_grad():
        expected = WanTransformer3DModel.forward(
            model, latents.transpose(1, 2), time, tokens
        ).sample.transpose(1, 2)
        got = model.predict(latents, time[:, None], model.text_keys_values(tokens), attend)
        model_fused = tiny_model(0)
        for block in model_fused.blocks:
            block.attn1.fuse_projections()
        fused = model_fused.predict(latents, time[:, None], model_fused.text_keys_values(tokens), attend)
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(fused, expected, rtol=1e-4, atol=1e-4)


def test_frames_have_their_own_times_and_prompts() -> None:
    """In double precision: in single, what two groupings round otherwise grows to the bound on some processors."""
    model = tiny_model(1).double()
    latents, tokens = torch.randn(1, 4, 4, 4, 6).double(), torch.randn(2, 5, 10).double()
    times = torch.tensor([[700.0, 700.0, 20.0, 20.0]])

    def alone(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:  # every frame attends to itself only
        split = [part.reshape(4, 6, 2, 12) for part in (q, k, v)]
        return attention(*split).reshape(1, 24, 2, 12)

    with torch.no_grad():
        text = model.text_keys_values(tokens)
        together = model.predict(
            latents, times, text, alone, frame_text=torch.tensor([0, 1, 1, 0]), out_from=1
        )
        grouped = model.predict(
            latents, times[:, ::2], text, alone, frame_text=torch.tensor([0, 1, 1, 0]), out_from=1
        )

        def single(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return attention(q, k, v)

        for frame, prompt in ((1, 1), (2, 1), (3, 0)):
            one = model.predict(
                latents[:, frame : frame + 1],
                times[:, frame : frame + 1],
                model.text_keys_values(tokens[prompt : prompt + 1]),
                single,
            )
            torch.testing.assert_close(together[:, frame - 1 : frame], one, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(grouped, together, rtol=1e-5, atol=1e-6)


def test_cached_rollout_equals_one_masked_pass() -> None:
    """Three blocks of two frames, once block by block over cached keys, once in one block-causal pass."""
    model = tiny_model(2)
    frames, size, tokens_a_frame = 6, 2, 6
    latents, tokens = torch.randn(1, frames, 4, 4, 6), torch.randn(1, 5, 10)
    places = torch.arange(frames)
    owner = places.repeat_interleave(tokens_a_frame) // size
    mask = (owner[:, None] >= owner[None, :])[None, None]

    def masked(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attention(complex_rotation(q, places, (2, 3)), complex_rotation(k, places, (2, 3)), v, mask)

    cache: dict[int, tuple[Tensor, Tensor]] = {}
    done = [0]

    def cached(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if layer in cache:
            k, v = (torch.cat([old, new], 1) for old, new in zip(cache[layer], (k, v), strict=True))
        cache[layer] = (k, v)  # un-rotated, as the bank keeps them
        here = places[done[0] : done[0] + size]
        return attention(
            complex_rotation(q, here, (2, 3)), complex_rotation(k, places[: done[0] + size], (2, 3)), v
        )

    with torch.no_grad():
        text = model.text_keys_values(tokens)
        time = torch.zeros(1, 1)
        whole = model.predict(latents, time, text, masked)
        parts = []
        for start in range(0, frames, size):
            done[0] = start
            parts.append(model.predict(latents[:, start : start + size], time, text, cached))
    torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=1e-4, atol=1e-5)
