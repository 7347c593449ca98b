"""The stages of the recipe, each a function of the session."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from torch import Tensor

from worldattention.core.evaluation.reading import measure_reader
from worldattention.core.pocket.reader import Reader, load_reader, save_reader
from worldattention.core.pocket.training import preview
from worldattention.core.pocket.training import reader as reading
from worldattention.core.pocket.training import transformer as training
from worldattention.core.pocket.training.autoencoder import (
    RATE,
    AutoencoderRun,
    Quality,
    measure_quality,
)
from worldattention.core.pocket.training.clock import StageClock
from worldattention.core.pocket.training.denoiser import SequenceTransformer, attach_hsa
from worldattention.core.pocket.training.distributed import Group
from worldattention.core.pocket.training.fidelity import fidelity
from worldattention.core.pocket.training.hsa import HybridTransformer, layer_density, warm_up
from worldattention.core.pocket.training.matching import MATCHED_STEPS, DistributionMatching
from worldattention.core.pocket.training.rollouts import (
    STEPS,
    Adversary,
    FirstBlockDistillation,
    lived_context,
)
from worldattention.core.pocket.training.session import TEXT_PACK, Session
from worldattention.core.pocket.training.sharpening import Sharpener
from worldattention.core.pocket.training.transformer import (
    Objective,
    Run,
    Schedule,
    Source,
    StepDistillation,
    Teacher,
    Trainee,
)
from worldattention.core.pocket.training.windows import (
    MEMORY_LAYOUT,
    MEMORY_MIXTURE,
    SCENES_LAYOUT,
    SCENES_MIXTURE,
    WHOLE_MIXTURE,
    Layout,
    Mixture,
)

READER = "reader.safetensors"
SAVE_EVERY_SECONDS = 90.0
READER_SAVE_SECONDS = 20.0
HELD_OUT_SEED = 1_000_003
LEAST_PSNR = 24.0
WARM_UP_SHARE = 0.35
DECODER_RATE = 5e-4
CONTINUED_RATE = 1e-3
FIRST_BLOCK_SUBSTEPS = 4
OTHER_BLOCKS = 0.3
"""How much a block that is not its scene's first counts in the stage first-block."""
GUIDANCE = 1.75
"""How much more than the blank prompt a prompt counts for who teaches the few steps."""
JUDGED_BATCHES = 12
SWITCHES = Mixture(nothing=0.4, continued=0.0, switched=0.3)
"""Sequences with many first blocks; what is left returns to a scene that was left."""
LIVED = Mixture(nothing=0.25, continued=0.2, switched=0.25)
"""As many sequences in which a scene goes on, or comes back, as such in which it begins."""


def text_pack(session: Session) -> None:
    """Token ids of all prompts and the cut text encoder, for machines without its package."""
    from worldattention.core.pocket.text_pack import write_text_pack

    if session.group.leads and not session.options.toy:
        session.folder.mkdir(parents=True, exist_ok=True)
        write_text_pack(session.folder / TEXT_PACK)
    session.finish("text-pack", None)


def autoencoder(session: Session) -> None:
    """Frames to latents and back."""
    sizes, clock = session.sizes, session.clock("autoencoder")
    clips = session.clips(sizes.autoencoder_batch, sizes.build_ahead)
    model = session.new_autoencoder().to(session.device)
    batches = 1 if session.options.toy else 12
    rate = RATE if session.options.start is None else CONTINUED_RATE
    run = AutoencoderRun(model, clips, sizes.autoencoder_latents, session.group, clock, batches, False, rate)
    _keep_autoencoder(session, "autoencoder", run)


def decoder(session: Session) -> None:
    """The decoder alone, against an adversary, on the looks as they are now: the latents, and with them the
    transformer, stay. Its weights are kept if pictures become crisper at little cost in exactness."""
    sizes, clock = session.sizes, session.clock("decoder")
    clips = session.clips(sizes.autoencoder_batch, sizes.build_ahead)
    before = session.autoencoder
    batches = 1 if session.options.toy else 12
    were = measure_quality(before, clips, batches)
    sharpener = Sharpener(session.device, session.group)
    run = AutoencoderRun(
        copy.deepcopy(before).requires_grad_(True), clips, sizes.autoencoder_latents, session.group, clock,
        batches, True, DECODER_RATE, sharpener,
    )  # fmt: skip
    averaged = run.train()
    are = measure_quality(averaged, clips, batches)
    kept = session.options.toy or crisper(were, are)
    if kept:
        session.save_autoencoder(averaged)
    figures = {"before": _rounded(were), **_rounded(are), "kept": kept}
    session.finish("decoder", clock, told_apart=round(float(sharpener.told_apart), 3), **figures)


def crisper(were: Quality, are: Quality) -> bool:
    """Whether energies of differences came nearer to those of renders, and errors grew by less than a decibel."""
    nearer = all(
        abs(math.log(getattr(are, name))) <= abs(math.log(getattr(were, name)))
        for name in ("gradient", "motion")
    )
    return nearer and are.psnr > were.psnr - 0.7 and are.moving_psnr > were.moving_psnr - 0.7


def _keep_autoencoder(session: Session, stage: str, run: AutoencoderRun) -> None:
    """Run it, measure it, write it."""
    averaged = run.train()
    quality = measure_quality(averaged, run.source, run.statistics_batches)
    session.save_autoencoder(averaged)
    session.finish(stage, run.clock, **_rounded(quality))


def _rounded(quality: Quality) -> dict[str, float]:
    return {name: round(value, 3) for name, value in asdict(quality).items()}


def reader(session: Session) -> None:
    """The reader of ground truth, by the first process alone: it is small, and the others have pools to fill."""
    if session.group.leads:
        alone = Group(0, 1, session.device)
        done, path = session.progress_of("reader"), session.folder / READER
        clock = session.clock("reader", group=alone)
        begun = path.is_file() and (session.options.start is not None or done > 0)
        network = (load_reader(path) if begun else Reader()).requires_grad_(True).to(session.device)
        saved = time.monotonic()

        def keep(progress: float) -> None:
            nonlocal saved
            if time.monotonic() - saved > READER_SAVE_SECONDS:
                save_reader(network, path)
                session.interim("reader", progress, clock, {})
                saved = time.monotonic()

        batch = session.sizes.reader_batch
        reading.train(network, session.autoencoder, batch, session.generator, clock, keep)
        save_reader(network, path)
        scenes = session.sizes.reader_scenes
        report = measure_reader(network.requires_grad_(False), session.autoencoder, scenes, HELD_OUT_SEED)
        session.finish("reader", clock, accuracy=report.to_json())


def transformer(session: Session) -> None:
    """Scenes from text, without memory tokens."""
    check_autoencoder(session)
    trainee = Trainee(session.transformer(), session.group)
    schedule = Schedule(training.constant)
    _train(session, "transformer", trainee, SCENES_LAYOUT, SCENES_MIXTURE, schedule)


def memory(session: Session) -> None:
    """The window of inference: history, sink and recalled pages."""
    check_autoencoder(session)
    trainee = Trainee(session.transformer(), session.group)
    schedule = Schedule(training.falling, lambda progress: 0.35 if progress > 0.5 else 0.0)
    _train(session, "memory", trainee, MEMORY_LAYOUT, MEMORY_MIXTURE, schedule)


def whole(session: Session) -> None:
    """Scenes from text and the window of inference at once, in one layout and with one compilation; the model
    attends as it will be shipped, if it has hybrid sparse attention."""
    check_autoencoder(session)
    trainee = Trainee(session.last_transformer(), session.group)
    schedule = Schedule(training.settling, lambda progress: 0.3 if progress > 0.5 else 0.0)
    _train(session, "whole", trainee, MEMORY_LAYOUT, WHOLE_MIXTURE, schedule)
    session.keep_flow(trainee.average)


def refine(session: Session) -> None:
    """Few steps over its own frames: progressive distillation, learning rate to zero."""
    check_autoencoder(session)
    trainee = Trainee(session.transformer(), session.group)
    objective = StepDistillation(Teacher(session.transformer(), 3), session.generator)
    schedule = Schedule(training.to_zero, lambda progress: 0.5)
    _train(session, "refine", trainee, MEMORY_LAYOUT, MEMORY_MIXTURE, schedule, objective)


def hsa(session: Session) -> None:
    """Hybrid sparse attention: warm-up of the linear branch and the gate, then a short tune of everything."""
    check_autoencoder(session)
    dense = session.transformer()
    model = session.transformer(HybridTransformer)
    figures: dict[str, Any] = {}
    share = 1.0  # a model that has hybrid sparse attention needs no warm-up
    if not hasattr(model.blocks[0].attn1, "hsa"):
        share -= WARM_UP_SHARE
        attach_hsa(model, session.sizes.frame_tokens)
        clock = session.clock("hsa", WARM_UP_SHARE)
        figures["warm_up_error"] = warm_up(
            model, session.source(session.sizes.memory_batch), session.group, clock
        )
        clock.close()
    trainee = Trainee(model, session.group)
    schedule = Schedule(training.to_zero)
    clock = session.clock("hsa", share)
    objective = StepDistillation(Teacher(dense, 1), session.generator)
    _train(session, "hsa", trainee, MEMORY_LAYOUT, MEMORY_MIXTURE, schedule, objective, clock, figures)


def first_block(session: Session) -> None:
    """The first block of a scene in four steps, as good as in sixteen: distilled along the model's own walk."""
    check_autoencoder(session)
    trainee = Trainee(session.last_transformer(), session.group)
    teacher = Teacher(session.flow_transformer(), FIRST_BLOCK_SUBSTEPS, GUIDANCE)
    objective = FirstBlockDistillation(teacher, MEMORY_LAYOUT, session.generator, OTHER_BLOCKS)
    schedule = Schedule(training.to_zero, lambda progress: 0.3)
    _train(session, "first-block", trainee, MEMORY_LAYOUT, SWITCHES, schedule, objective)


def matching(session: Session) -> None:
    """Four steps whose scenes are as likely as the true ones; the weights stay as they were if that brings their
    scenes no nearer to true ones."""
    check_autoencoder(session)
    before, trainee = session.last_transformer(), Trainee(session.last_transformer(), session.group)
    held = STEPS - MATCHED_STEPS
    hold = FirstBlockDistillation(Teacher(before, 1), MEMORY_LAYOUT, session.generator, 1.0, held)
    objective = DistributionMatching(
        Teacher(session.flow_transformer(), 1, GUIDANCE),
        Trainee(session.flow_transformer(), session.group),
        hold,
        session.generator,
    )
    schedule = Schedule(training.gently, lambda progress: 0.5, lived_context)
    _train(session, "matching", trainee, MEMORY_LAYOUT, LIVED, schedule, objective)
    if session.group.leads:
        were, are = judged(session, before), judged(session, trainee.average)
        kept = are.get("distance", 0.0) <= were.get("distance", 0.0)
        if not kept:
            session.save_transformer(before)
        session.note("matching", before=were, after=are, kept=kept)


def judged(session: Session, model: SequenceTransformer) -> dict[str, float]:
    """`fidelity` of a model, if there is a reader to judge by."""
    if session.options.toy or not (session.folder / READER).is_file():
        return {}
    network = load_reader(session.folder / READER).to(session.device)
    source = session.source(session.sizes.memory_batch)

    def decode(latents: Tensor) -> Tensor:
        return preview.decode(session.autoencoder, latents)

    return fidelity(model, source, network, decode, JUDGED_BATCHES)


def adversarial(session: Session) -> None:
    """Against a small discriminator of latents, held near to what the model was before."""
    check_autoencoder(session)
    trainee = Trainee(session.last_transformer(), session.group)
    near = StepDistillation(Teacher(session.last_transformer(), 1), session.generator)
    discriminator = session.discriminator()
    objective = Adversary(discriminator, near, session.prompt_tokens, session.group)
    schedule = Schedule(lambda progress: 0.5 * training.to_zero(progress))
    _train(session, "adversarial", trainee, MEMORY_LAYOUT, MEMORY_MIXTURE, schedule, objective)


def check_autoencoder(session: Session) -> None:
    """Raises RuntimeError when the autoencoder reconstructs badly, so that hours are not spent on its latents."""
    if session.options.toy:
        return
    quality = measure_quality(session.autoencoder, session.clips(8, 1), 1)
    if quality.psnr < LEAST_PSNR:
        raise RuntimeError(f"the autoencoder reaches only {quality.psnr:.1f} dB: train it again")


def _train(
    session: Session,
    stage: str,
    trainee: Trainee,
    layout: Layout,
    mixture: Mixture,
    schedule: Schedule,
    objective: Objective = training.flow_loss,
    clock: StageClock | None = None,
    figures: dict[str, Any] | None = None,
) -> None:
    """Run one stage of the transformer; its averaged weights and sheets are kept now and then, and at the end."""
    sizes = session.sizes
    source = session.source(sizes.memory_batch if layout.memory else sizes.scene_batch)
    saved = time.monotonic()

    own_clock = clock or session.clock(stage)
    factor = session.options.rates.get(stage, 1.0)
    paced = replace(schedule, rate=lambda progress: factor * schedule.rate(progress))

    def keep(progress: float) -> None:
        nonlocal saved
        if session.group.leads and time.monotonic() - saved > SAVE_EVERY_SECONDS:
            _save(session, trainee, objective)
            session.interim(stage, progress, own_clock, look(session, stage, trainee.average, source, layout))
            saved = time.monotonic()

    run = Run(
        trainee, source, layout, mixture, paced, own_clock, objective, renew=sizes.renew, on_progress=keep
    )
    run.train()
    _save(session, trainee, objective)
    figures = dict(figures or {})
    if isinstance(objective, Adversary):
        figures["told_apart"] = round(objective.told_apart, 4)
    if session.group.leads:
        figures |= look(session, stage, trainee.average, source, layout)
        if isinstance(trainee.average, HybridTransformer):
            figures["density"] = density(trainee.average, source)
    session.finish(stage, own_clock, **figures)


def _save(session: Session, trainee: Trainee, objective: Objective) -> None:
    """The averaged weights, and what an interrupted run needs beside them."""
    session.save_transformer(trainee.average)
    if isinstance(objective, Adversary):
        session.save_discriminator(objective.discriminator)


def look(
    session: Session, stage: str, model: SequenceTransformer, source: Source, layout: Layout
) -> dict[str, Any]:
    """Sheets of what the model makes, beside the checkpoints, and their figures."""
    start = 3 if session.options.toy else 0
    shown = {"text": preview.from_text(model, source, layout, start)}
    if layout.memory:
        shown["recall"] = preview.returning(model, source, layout, right=True)
        if not session.options.toy:
            shown["wrong_pages"] = preview.returning(model, source, layout, right=False)
    figures: dict[str, Any] = {}

    def decode(latents: Tensor) -> Tensor:
        return preview.decode(session.autoencoder, latents)

    if not session.options.toy:
        for name, made in shown.items():
            path = session.folder / f"{stage}_{name}.jpg"
            figures[name] = preview.write_sheet(path, made, decode)
            if made.start and (session.folder / READER).is_file():
                network = load_reader(session.folder / READER).to(session.device)
                figures[name] |= preview.hidden_accuracy(network, made, decode)
    return figures


def density(model: HybridTransformer, source: Source) -> list[float]:
    """Share of the visible frames that tau selects, a layer, on recall sequences."""
    planner = source.planner(MEMORY_LAYOUT)
    recall_only = Mixture(0.0, 0.0, 0.0)
    head_dim = model.config.attention_head_dim
    example = training.make_example(source, planner, recall_only, MEMORY_LAYOUT, head_dim)
    shares = layer_density(
        model, lambda m: example.sequences.velocity(m, example.latents, example.levels), model.rule
    )
    return [round(share, 4) for share in shares]


STAGE_FUNCTIONS: dict[str, Callable[[Session], None]] = {
    "text-pack": text_pack,
    "autoencoder": autoencoder,
    "decoder": decoder,
    "reader": reader,
    "transformer": transformer,
    "memory": memory,
    "whole": whole,
    "refine": refine,
    "hsa": hsa,
    "first-block": first_block,
    "matching": matching,
    "adversarial": adversarial,
}
