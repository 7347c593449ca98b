"""What the stages of one run share: options, folder, what is done, and the parts that earlier stages made."""

from __future__ import annotations

import copy
import json
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from worldattention.core.errors import UserError
from worldattention.core.models.vae import AutoencoderConfig, PocketAutoencoder
from worldattention.core.pocket.training.autoencoder import ClipSource
from worldattention.core.pocket.training.checkpoint import load_weights, save_json, save_weights, weight_files
from worldattention.core.pocket.training.clock import StageClock
from worldattention.core.pocket.training.data import LatentPool
from worldattention.core.pocket.training.denoiser import (
    POCKET_CONFIG,
    SequenceTransformer,
    attach_hsa,
    new_transformer,
)
from worldattention.core.pocket.training.distributed import Group
from worldattention.core.pocket.training.hsa import HybridTransformer
from worldattention.core.pocket.training.options import TrainOptions
from worldattention.core.pocket.training.rollouts import Discriminator
from worldattention.core.pocket.training.transformer import Source

TEXT_PACK = "text_pack.safetensors"
STATE = "training.json"
DISCRIMINATOR = "discriminator"
FLOW = "flow"
"""The transformer before its steps were distilled: who teaches the stages that do that. No part of the model."""
CURVES = "loss.jsonl"
"""Every reported loss of every stage, a line each, in the order in which they were reported."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a run: the real ones, or a toy's."""

    layers: int = 8
    picture_crop: tuple[int, int] = (128, 256)
    episodes: int = 2048
    chunk: int = 32
    hold: int = 1
    renew: int = 32
    autoencoder_batch: int = 24
    autoencoder_latents: int = 5
    build_ahead: int = 16
    reader_batch: int = 128
    reader_scenes: int = 1024
    scene_batch: int = 32
    memory_batch: int = 16
    toy_steps: int = 0
    text_rows: int = 0

    @property
    def frame_tokens(self) -> int:
        """Tokens of a latent frame."""
        height, width = self.picture_crop
        return height * width // 256


TOY = Sizes(
    layers=1, picture_crop=(32, 64), episodes=1, chunk=1, hold=16, renew=0, autoencoder_batch=1,
    autoencoder_latents=2, build_ahead=2, reader_batch=2, reader_scenes=2, scene_batch=2, memory_batch=2, toy_steps=2,
    text_rows=16,
)  # fmt: skip


class Session:
    """One process of a run."""

    def __init__(self, options: TrainOptions, group: Group) -> None:
        self.options, self.group = options, group
        self.folder, self.device = options.folder, group.device
        self.sizes = _sizes(options)
        self.generator = torch.Generator(self.device).manual_seed(options.seed * 1009 + 17 * group.rank + 1)
        torch.manual_seed(options.seed)
        self.state: dict[str, Any] = {"done": [], "partial": None, "stages": {}}
        if options.resume and (self.folder / STATE).is_file():
            self.state = json.loads((self.folder / STATE).read_text(encoding="utf-8"))
        self._autoencoder: PocketAutoencoder | None = None
        self._pool: LatentPool | None = None
        self._text: Tensor | None = None

    # What is done -------------------------------------------------------------------------------------------

    def is_done(self, stage: str) -> bool:
        """Whether an earlier run finished `stage`."""
        return stage in self.state["done"]

    def progress_of(self, stage: str) -> float:
        """How far an interrupted run came with `stage`."""
        partial = self.state["partial"]
        return float(partial["progress"]) if partial and partial["stage"] == stage else 0.0

    def clock(self, stage: str, share: float = 1.0, group: Group | None = None) -> StageClock:
        """The clock of a stage, or of a `share` of its time, from where it was left; of `group`, or all processes."""
        seconds = share * self.options.seconds(stage)
        done = self.progress_of(stage)
        curve, deadline = self.folder / CURVES, self.options.deadline
        return StageClock(stage, seconds, group or self.group, self.sizes.toy_steps, done, curve, deadline)

    def interim(self, stage: str, progress: float, clock: StageClock, figures: dict[str, Any]) -> None:
        """Note how far a stage is; call after its weights were written."""
        self.state["partial"] = {
            "stage": stage,
            "progress": round(progress, 4),
            "steps": clock.step,
            **figures,
        }
        self._write_state()

    def note(self, stage: str, **figures: Any) -> None:
        """More figures of a stage that is done."""
        self.state["stages"][stage] |= figures
        self._write_state()

    def finish(self, stage: str, clock: StageClock | None, **figures: Any) -> None:
        """Note that a stage is done, with its figures and a thinned loss curve."""
        record: dict[str, Any] = dict(figures)
        if clock is not None:
            clock.close()
            record |= {"seconds": round(clock.elapsed, 1), "steps": clock.step}
            record["loss"] = clock.log[:: max(1, len(clock.log) // 60)] + clock.log[-1:]
        name = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "CPU"
        record["device"] = f"{self.group.size} x {name}"
        self.state["stages"][stage] = record
        self.state["done"] = [*self.state["done"], stage]
        self.state["partial"] = None
        self._write_state()

    def _write_state(self) -> None:
        if self.group.leads:
            save_json(self.folder / STATE, self.state)

    # Parts --------------------------------------------------------------------------------------------------

    @property
    def autoencoder(self) -> PocketAutoencoder:
        """The trained autoencoder, in evaluation mode."""
        if self._autoencoder is None:
            weights = load_weights(self.folder / "autoencoder", "model")
            config = json.loads((self.folder / "autoencoder" / "config.json").read_text(encoding="utf-8"))
            config = {k: tuple(v) if isinstance(v, list) else v for k, v in config.items() if k[0] != "_"}
            model = PocketAutoencoder(AutoencoderConfig(**config))
            model.load_state_dict(weights)
            self._autoencoder = model.to(self.device).eval().requires_grad_(False)
            self._autoencoder.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return self._autoencoder

    def new_autoencoder(self) -> PocketAutoencoder:
        """Where the stage begins: with the weights that the run was given, else from nothing."""
        if self.options.start is None:
            return PocketAutoencoder()
        return copy.deepcopy(self.autoencoder).requires_grad_(True)

    def clips(self, batch: int, ahead: int) -> ClipSource:
        """Rendered clips for the autoencoder."""
        return ClipSource(
            self.sizes.autoencoder_latents, batch, ahead, self.generator, self.sizes.picture_crop
        )

    def save_autoencoder(self, model: PocketAutoencoder) -> None:
        """Write the autoencoder in the layout of a model folder; later stages use it."""
        self._autoencoder = None
        if self.group.leads:
            folder = self.folder / "autoencoder"
            save_weights(folder, "model", model.state_dict())
            save_json(folder / "config.json", {"_class_name": "PocketAutoencoder", **asdict(model.config)})

    def transformer(
        self, kind: type[SequenceTransformer] = SequenceTransformer, folder: str = "transformer"
    ) -> SequenceTransformer:
        """The transformer as it was written last, or a new one."""
        model = new_transformer(self.device, self.sizes.layers, kind)
        if weight_files(self.folder / folder, "model"):
            weights = load_weights(self.folder / folder, "model")
            if any(".hsa." in key for key in weights):
                attach_hsa(model, self.sizes.frame_tokens)
            model.load_state_dict(weights)
        return model

    def save_transformer(self, model: SequenceTransformer) -> None:
        """Write the transformer in the layout of a model folder; diffusers names its class."""
        if self.group.leads:
            folder = self.folder / "transformer"
            save_weights(folder, "model", model.state_dict())
            config = {**POCKET_CONFIG, "num_layers": self.sizes.layers}
            save_json(folder / "config.json", {"_class_name": "CausalWanTransformer3DModel", **config})

    def last_transformer(self, folder: str = "transformer") -> SequenceTransformer:
        """The transformer as it was written last; with its hybrid sparse attention, where it has that."""
        files = weight_files(self.folder / folder, "model")
        if not files:
            raise UserError(
                f"There is no transformer in {self.folder}: train one first, or start from a model."
            )
        hybrid = any(".hsa." in key for key in load_weights(self.folder / folder, "model"))
        return self.transformer(HybridTransformer if hybrid else SequenceTransformer, folder)

    def keep_flow(self, model: SequenceTransformer) -> None:
        """Write the transformer for `flow_transformer`."""
        if self.group.leads:
            save_weights(self.folder / FLOW, "model", model.state_dict())

    def flow_transformer(self) -> SequenceTransformer:
        """The transformer before its steps were distilled, where it was kept; else as it was written last."""
        kept = weight_files(self.folder / FLOW, "model")
        return self.last_transformer(FLOW if kept else "transformer")

    def discriminator(self) -> Discriminator:
        """The discriminator as it was written last, or a new one."""
        model = Discriminator()
        if weight_files(self.folder / DISCRIMINATOR, "model"):
            model.load_state_dict(load_weights(self.folder / DISCRIMINATOR, "model"))
        return model.to(self.device)

    def save_discriminator(self, model: Discriminator) -> None:
        """Write it for a later run; it is no part of the model."""
        if self.group.leads:
            save_weights(self.folder / DISCRIMINATOR, "model", model.state_dict())

    def source(self, batch: int) -> Source:
        """Batches of latents; the pool is filled at the first call, and its latents are checked."""
        if self._pool is None:
            self._pool = LatentPool(
                self._encode, self.sizes.episodes, self.generator, self.sizes.chunk, self.sizes.hold
            )
            self._check_latents(self._pool.latents)
        return Source(self._pool, self.prompt_tokens, self.generator, batch)

    def prompt_tokens(self, rows: Tensor) -> Tensor:
        """Rows [N] of the prompt table -> tokens [N, 64, 384]; zeros for -1."""
        if self._text is None:
            self._text = self._read_text()
        return self._text[torch.where(rows < 0, len(self._text) - 1, rows % (len(self._text) - 1))].float()

    def _read_text(self) -> Tensor:
        if self.sizes.text_rows:
            generator = torch.Generator().manual_seed(0)
            tokens = torch.randn(self.sizes.text_rows, 64, 384, generator=generator).to(self.device)
        else:
            from worldattention.core.pocket.text_pack import embed_pack

            if not (self.folder / TEXT_PACK).is_file():
                raise UserError(f"There is no {TEXT_PACK} in {self.folder}: run the stage text-pack first.")
            tokens = embed_pack(self.folder / TEXT_PACK, self.device)[0]
        return torch.cat([tokens, torch.zeros_like(tokens[:1])])

    @torch.no_grad()
    def _encode(self, frames: Tensor) -> Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            height, width = self.sizes.picture_crop
            return self.autoencoder.encode(frames[:, :, :height, :width])

    def _check_latents(self, latents: Tensor) -> None:
        spread = float(latents[:64].float().std())
        if not self.options.toy and not 0.6 < spread < 1.6:
            raise RuntimeError(f"the latents' standard deviation is {spread:.3f}: the autoencoder is broken")


def _sizes(options: TrainOptions) -> Sizes:
    if options.toy:
        return TOY
    return (
        replace(Sizes(), scene_batch=2 * options.batch, memory_batch=options.batch)
        if options.batch
        else Sizes()
    )
