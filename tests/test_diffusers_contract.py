"""Every private detail of diffusers that this project relies on.

A new diffusers that breaks one of them fails here, with the detail's name, and not as a wrong picture. The
forward pass is transcribed from Wan's published formulas, so a change of meaning under the same names shows.
"""

import inspect
import math

import diffusers
import pytest
import torch
import torch.nn.functional as F
from diffusers import AutoencoderKLWan, WanTransformer3DModel
from diffusers.models.normalization import FP32LayerNorm
from torch import Tensor, nn

HEADS, HEAD_DIM, LAYERS, FFN, TEXT, FREQ, CHANNELS = 2, 22, 3, 52, 20, 36, 5
DIM = HEADS * HEAD_DIM
EPS = 1e-6
CONFIG = {
    "patch_size": (1, 2, 2),
    "num_attention_heads": HEADS,
    "attention_head_dim": HEAD_DIM,
    "in_channels": CHANNELS,
    "out_channels": CHANNELS,
    "text_dim": TEXT,
    "freq_dim": FREQ,
    "ffn_dim": FFN,
    "num_layers": LAYERS,
    "cross_attn_norm": True,
    "qk_norm": "rms_norm_across_heads",
    "eps": EPS,
    "image_dim": None,
    "added_kv_proj_dim": None,
    "rope_max_seq_len": 64,
    "pos_embed_seq_len": None,
}


@pytest.fixture
def model() -> WanTransformer3DModel:
    """A small model whose every parameter is random: no zero bias or unit weight can hide a missing term."""
    made = WanTransformer3DModel(**CONFIG).eval()
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            is_scale = name.endswith(("norm_q.weight", "norm_k.weight", "norm2.weight"))
            parameter.normal_(1.0 if is_scale else 0.0, 0.2)
    return made


def test_the_pinned_release_is_installed() -> None:
    major, minor = map(int, diffusers.__version__.split(".")[:2])
    assert (major, minor) == (0, 42)


def test_constructor_and_config(model: WanTransformer3DModel) -> None:
    parameters = list(inspect.signature(WanTransformer3DModel.__init__).parameters)
    assert parameters == ["self", *CONFIG]
    kept = {key: value for key, value in model.config.items() if not key.startswith("_")}
    assert kept == CONFIG
    # Released checkpoints name their class, and the loader goes by it.
    assert model.config_name == "config.json"


def test_a_subclass_without_init_keeps_the_config() -> None:
    class Causal(WanTransformer3DModel):
        pass

    causal = Causal.from_config(CONFIG)
    assert type(causal) is Causal
    assert causal.config.num_layers == len(causal.blocks) == LAYERS


def test_what_stays_in_fp32() -> None:
    assert WanTransformer3DModel._keep_in_fp32_modules == [
        "rope",
        "time_embedder",
        "scale_shift_table",
        "norm1",
        "norm2",
        "norm3",
    ]


def expected_shapes() -> dict[str, tuple[int, ...]]:
    def linear(name: str, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
        return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}

    shapes: dict[str, tuple[int, ...]] = {
        "scale_shift_table": (1, 2, DIM),
        "patch_embedding.weight": (DIM, CHANNELS, 1, 2, 2),
        "patch_embedding.bias": (DIM,),
        **linear("condition_embedder.time_embedder.linear_1", FREQ, DIM),
        **linear("condition_embedder.time_embedder.linear_2", DIM, DIM),
        **linear("condition_embedder.time_proj", DIM, 6 * DIM),
        **linear("condition_embedder.text_embedder.linear_1", TEXT, DIM),
        **linear("condition_embedder.text_embedder.linear_2", DIM, DIM),
        **linear("proj_out", DIM, CHANNELS * 4),
    }
    for layer in range(LAYERS):
        block = f"blocks.{layer}"
        shapes[f"{block}.scale_shift_table"] = (1, 6, DIM)
        shapes |= {f"{block}.norm2.weight": (DIM,), f"{block}.norm2.bias": (DIM,)}
        shapes |= linear(f"{block}.ffn.net.0.proj", DIM, FFN) | linear(f"{block}.ffn.net.2", FFN, DIM)
        for attention in ("attn1", "attn2"):
            for projection in ("to_q", "to_k", "to_v", "to_out.0"):
                shapes |= linear(f"{block}.{attention}.{projection}", DIM, DIM)
            shapes |= {f"{block}.{attention}.norm_{x}.weight": (DIM,) for x in "qk"}
    return shapes


def test_state_dict_names_and_shapes(model: WanTransformer3DModel) -> None:
    found = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    assert found == expected_shapes()


def test_modules(model: WanTransformer3DModel) -> None:
    embedder = model.condition_embedder
    assert isinstance(model.patch_embedding, nn.Conv3d)
    assert model.patch_embedding.stride == (1, 2, 2)
    assert isinstance(embedder.act_fn, nn.SiLU)
    assert embedder.image_embedder is None
    assert embedder.timesteps_proj.num_channels == FREQ
    for norm in (model.norm_out, model.blocks[0].norm1, model.blocks[0].norm3):
        assert isinstance(norm, FP32LayerNorm)
        assert norm.weight is None
        assert norm.eps == EPS
    assert isinstance(model.blocks[0].norm2, FP32LayerNorm)
    assert len(model.blocks[0].ffn.net) == 3
    for attention in (model.blocks[0].attn1, model.blocks[0].attn2):
        assert attention.heads == HEADS
        assert attention.inner_dim == DIM
        assert len(attention.to_out) == 2
        assert attention.add_k_proj is None
        assert isinstance(attention.norm_q, nn.RMSNorm)
        assert attention.norm_q.normalized_shape == (DIM,)  # across the heads, before they are split
        assert attention.norm_q.eps == attention.norm_k.eps == EPS
    assert model.blocks[0].attn2.is_cross_attention
    assert not model.blocks[0].attn1.is_cross_attention
    assert model.gradient_checkpointing is False


def test_a_layers_own_processor_is_called_with_what_we_expect(model: WanTransformer3DModel) -> None:
    class Processor:
        calls: list[tuple[nn.Module, Tensor, Tensor | None, Tensor | None, tuple[Tensor, Tensor]]]

        def __init__(self) -> None:
            self.calls = []

        def __call__(
            self,
            attn: nn.Module,
            hidden_states: Tensor,
            encoder_hidden_states: Tensor | None = None,
            attention_mask: Tensor | None = None,
            rotary_emb: tuple[Tensor, Tensor] | None = None,
        ) -> Tensor:
            assert rotary_emb is not None
            self.calls.append((attn, hidden_states, encoder_hidden_states, attention_mask, rotary_emb))
            return torch.zeros_like(hidden_states)

    mine = Processor()
    model.blocks[1].attn1.set_processor(mine)
    assert model.blocks[1].attn1.processor is mine
    assert model.blocks[0].attn1.processor is not model.blocks[2].attn1.processor
    with torch.no_grad():
        model(torch.randn(1, CHANNELS, 2, 4, 6), torch.tensor([7.0]), torch.randn(1, 3, TEXT))
    [(attn, hidden, text, mask, rotary)] = mine.calls
    assert attn is model.blocks[1].attn1
    assert hidden.shape == (1, 2 * 2 * 3, DIM)
    assert text is None
    assert mask is None
    assert [tuple(r.shape) for r in rotary] == [(1, 12, 1, HEAD_DIM)] * 2


@pytest.mark.parametrize(("head_dim", "split"), [(22, (10, 6, 6)), (64, (24, 20, 20)), (128, (44, 42, 42))])
def test_rope_tables(head_dim: int, split: tuple[int, int, int]) -> None:
    model = WanTransformer3DModel(**CONFIG | {"attention_head_dim": head_dim, "num_layers": 1})
    rope = model.rope
    assert (rope.t_dim, rope.h_dim, rope.w_dim) == split
    assert {name for name, _ in rope.named_buffers()} == {"freqs_cos", "freqs_sin"}
    assert not [
        name for name in model.state_dict() if name.startswith("rope")
    ]  # they must be rebuilt after a load
    for buffer in (rope.freqs_cos, rope.freqs_sin):
        assert buffer.dtype == torch.float32
        assert buffer.shape == (CONFIG["rope_max_seq_len"], head_dim)
    position = 13
    start = 0
    for width in split:
        for pair in range(width // 2):
            angle = position * 10000.0 ** (-2 * pair / width)
            for column in (start + 2 * pair, start + 2 * pair + 1):  # interleaved: a pair is two neighbours
                assert rope.freqs_cos[position, column].item() == pytest.approx(math.cos(angle), abs=1e-6)
                assert rope.freqs_sin[position, column].item() == pytest.approx(math.sin(angle), abs=1e-6)
        start += width


def test_rope_is_built_anew_from_four_values(model: WanTransformer3DModel) -> None:
    rebuilt = type(model.rope)(HEAD_DIM, (1, 2, 2), 64)
    assert torch.equal(rebuilt.freqs_cos, model.rope.freqs_cos)
    assert torch.equal(rebuilt.freqs_sin, model.rope.freqs_sin)


def rotate(x: Tensor, sizes: tuple[int, int, int]) -> Tensor:
    """x: [B, L, H, D], tokens in frame-row-column order; each pair turned as a complex number, in fp64."""
    frames, rows, columns = sizes
    grid = torch.stack(
        torch.meshgrid(torch.arange(frames), torch.arange(rows), torch.arange(columns), indexing="ij"), dim=-1
    ).reshape(-1, 3)
    side = 2 * (HEAD_DIM // 6)
    widths = (HEAD_DIM - 2 * side, side, side)
    angles = torch.cat(
        [
            grid[:, axis, None].double()
            * 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
            for axis, width in enumerate(widths)
        ],
        dim=1,
    )
    turned = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous()) * torch.polar(
        torch.ones_like(angles), angles
    ).unsqueeze(1)
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)


def attention(
    w: dict[str, Tensor], name: str, x: Tensor, context: Tensor, sizes: tuple[int, int, int] | None
) -> Tensor:
    def project(what: str, source: Tensor) -> Tensor:
        return F.linear(source, w[f"{name}.to_{what}.weight"], w[f"{name}.to_{what}.bias"])

    def rms(what: str, y: Tensor) -> Tensor:
        return y / (y.pow(2).mean(-1, keepdim=True) + EPS).sqrt() * w[f"{name}.norm_{what}.weight"]

    q, k = rms("q", project("q", x)), rms("k", project("k", context))
    q, k, v = (y.unflatten(-1, (HEADS, HEAD_DIM)) for y in (q, k, project("v", context)))
    if sizes is not None:
        q, k = rotate(q, sizes), rotate(k, sizes)
    weights = torch.einsum("bqhd,bkhd->bhqk", q, k).div(math.sqrt(HEAD_DIM)).softmax(-1)
    out = torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2)
    return F.linear(out, w[f"{name}.to_out.0.weight"], w[f"{name}.to_out.0.bias"])


def transcribed(w: dict[str, Tensor], video: Tensor, time: Tensor, text: Tensor) -> Tensor:
    """Wan's forward pass. video: [B, C, F, H, W]; time: [B] in 0..1000; text: [B, T, TEXT]."""

    def linear(name: str, x: Tensor) -> Tensor:
        return F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])

    def norm(x: Tensor) -> Tensor:
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + EPS).sqrt()

    batch, _, frames, height, width = video.shape
    sizes = (frames, height // 2, width // 2)
    patches = video.reshape(batch, CHANNELS, frames, height // 2, 2, width // 2, 2).permute(
        0, 2, 3, 5, 1, 4, 6
    )
    x = F.linear(patches.reshape(batch, -1, CHANNELS * 4), w["patch_embedding.weight"].flatten(1))
    x = x + w["patch_embedding.bias"]

    half = FREQ // 2
    angles = time[:, None] * torch.exp(-math.log(10000.0) * torch.arange(half) / half)
    waves = torch.cat([angles.cos(), angles.sin()], dim=-1)
    embedder = "condition_embedder"
    moment = linear(
        f"{embedder}.time_embedder.linear_2", F.silu(linear(f"{embedder}.time_embedder.linear_1", waves))
    )
    modulation = linear(f"{embedder}.time_proj", F.silu(moment)).unflatten(1, (6, DIM))
    context = linear(
        f"{embedder}.text_embedder.linear_2",
        F.gelu(linear(f"{embedder}.text_embedder.linear_1", text), approximate="tanh"),
    )

    for layer in range(LAYERS):
        block = f"blocks.{layer}"
        shift1, scale1, gate1, shift2, scale2, gate2 = (
            (w[f"{block}.scale_shift_table"] + modulation).unsqueeze(2).unbind(1)
        )
        y = norm(x) * (1 + scale1) + shift1
        x = x + gate1 * attention(w, f"{block}.attn1", y, y, sizes)
        y = norm(x) * w[f"{block}.norm2.weight"] + w[f"{block}.norm2.bias"]
        x = x + attention(w, f"{block}.attn2", y, context, None)
        y = norm(x) * (1 + scale2) + shift2
        y = linear(f"{block}.ffn.net.2", F.gelu(linear(f"{block}.ffn.net.0.proj", y), approximate="tanh"))
        x = x + gate2 * y

    shift, scale = (w["scale_shift_table"] + moment[:, None]).chunk(2, dim=1)
    x = linear("proj_out", norm(x) * (1 + scale) + shift)
    x = x.reshape(batch, frames, height // 2, width // 2, 2, 2, CHANNELS).permute(0, 6, 1, 2, 4, 3, 5)
    return x.reshape(batch, CHANNELS, frames, height, width)


def test_the_forward_pass_means_what_it_says(model: WanTransformer3DModel) -> None:
    video = torch.randn(2, CHANNELS, 3, 6, 10)
    time = torch.rand(2) * 1000
    text = torch.randn(2, 7, TEXT)
    with torch.no_grad():
        ours = transcribed(dict(model.state_dict()), video, time, text)
        [theirs] = model(video, time, text, return_dict=False)
    torch.testing.assert_close(theirs, ours, rtol=1e-4, atol=1e-4)


@pytest.fixture
def vae() -> AutoencoderKLWan:
    torch.manual_seed(0)
    return AutoencoderKLWan(base_dim=8, z_dim=4, dim_mult=[1, 1, 1, 1], num_res_blocks=1).eval()


@torch.no_grad()
def test_the_wan_decoder_streams(vae: AutoencoderKLWan) -> None:
    """Latent after latent, with the cache kept, is the whole decode: 1 frame, then 4 for each latent."""
    latents = torch.randn(1, 4, 3, 4, 6)
    [whole] = vae.decode(latents, return_dict=False)

    vae.clear_cache()
    frames = []
    for index in range(latents.shape[2]):
        vae._conv_idx = [0]
        latent = vae.post_quant_conv(latents[:, :, index : index + 1])
        frames.append(
            vae.decoder(latent, feat_cache=vae._feat_map, feat_idx=vae._conv_idx, first_chunk=index == 0)
        )
    assert [f.shape[2] for f in frames] == [1, 4, 4]
    assert any(isinstance(kept, Tensor) for kept in vae._feat_map)
    torch.testing.assert_close(torch.cat(frames, dim=2).clamp(-1, 1), whole, rtol=0, atol=1e-5)


@torch.no_grad()
def test_a_whole_decode_forgets_its_cache(vae: AutoencoderKLWan) -> None:
    vae.decode(torch.randn(1, 4, 2, 4, 6))
    assert all(kept is None for kept in vae._feat_map)


def test_the_vae_names_its_latent_statistics(vae: AutoencoderKLWan) -> None:
    assert len(vae.config.latents_mean) == len(vae.config.latents_std) == 16
    assert vae.config.scale_factor_temporal == 4
    assert vae.config.scale_factor_spatial == 8
