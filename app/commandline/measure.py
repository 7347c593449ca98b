"""The measurements of `worldattention eval`: each opens what it needs and returns its report."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from worldattention.app.commandline import console
from worldattention.app.commandline.interrupt import cancel_on_signal
from worldattention.app.commandline.load import open_engine
from worldattention.app.commandline.options import Options
from worldattention.core.evaluation.ablation import AblationReport, evaluate_ablation
from worldattention.core.evaluation.density import DensityReport, measure_density
from worldattention.core.evaluation.drift import DriftReport, DriftSettings, evaluate_drift
from worldattention.core.evaluation.following import FollowingReport, FollowingSettings, evaluate_following
from worldattention.core.evaluation.pocket_reader import PocketReader, find_reader
from worldattention.core.evaluation.reading import ReadingReport, measure_reader
from worldattention.core.evaluation.recall import POLICIES, RecallReport, RecallSettings, evaluate_recall
from worldattention.core.evaluation.truth import TrueScenes
from worldattention.core.evaluation.understanding import UnderstandingReport, measure_understanding
from worldattention.core.evaluation.worlds import Lockstep, OneWorld, Worlds
from worldattention.core.loading import load_autoencoder, model_folder
from worldattention.core.models.text import MiniLMEncoder
from worldattention.core.project import ProjectSettings

if TYPE_CHECKING:
    from worldattention.core.engine import Engine

GPU_WORLDS = 16


@dataclass(frozen=True, slots=True)
class Bench:
    """What a measurement works with."""

    engine: Engine
    worlds: Worlds
    cancel: Callable[[], bool]
    show: Callable[[int, int], None]


def recall(arguments: argparse.Namespace, options: Options) -> RecallReport:
    """What comes back after an absence, by retrieval policy."""
    reader = _reader(arguments, options)
    policies = POLICIES if options.retrieval is None else ("hkv", "none", options.retrieval)
    settings = RecallSettings(
        episodes=arguments.episodes, seed=options.seed or 0, policies=tuple(dict.fromkeys(policies))
    )
    with _open(arguments, options, "Recall", "blocks") as bench:
        return evaluate_recall(bench.worlds, reader, settings, bench.show, bench.cancel)


def ablation(arguments: argparse.Namespace, options: Options) -> AblationReport:
    """Recall by attention mode, policy and width of the first stage."""
    reader = _reader(arguments, options)
    settings = RecallSettings(episodes=arguments.episodes, seed=options.seed or 0)
    with _open(arguments, options, "Ablation", "blocks") as bench:
        return evaluate_ablation(bench.worlds, reader, settings, progress=bench.show, cancel=bench.cancel)


def prompt(arguments: argparse.Namespace, options: Options) -> FollowingReport:
    """Whether new scenes show what was said."""
    reader = _reader(arguments, options)
    settings = FollowingSettings(episodes=arguments.episodes, seed=options.seed or 0)
    autoencoder = load_autoencoder(model_folder(options.model) / "autoencoder")
    with _open(arguments, options, "Scenes", "blocks") as bench:
        truth = TrueScenes(autoencoder, bench.engine.model.device)
        return evaluate_following(bench.worlds, reader, truth, settings, bench.show, bench.cancel)


def understanding(arguments: argparse.Namespace, options: Options) -> UnderstandingReport:
    """Whether prompts of other worlds are told from those of this one."""
    return measure_understanding(MiniLMEncoder(), arguments.episodes, options.seed or 0)


def drift(arguments: argparse.Namespace, options: Options) -> DriftReport:
    """Whether a world stays as it was."""
    reader = _reader(arguments, options)
    settings = DriftSettings(episodes=arguments.episodes, seed=options.seed or 0, seconds=arguments.seconds)
    with _open(arguments, options, "Drift", "blocks") as bench:
        return evaluate_drift(bench.worlds, reader, settings, bench.show, bench.cancel)


def density(arguments: argparse.Namespace, options: Options) -> DensityReport:
    """How much of the window must be read."""
    with _open(arguments, options, "Density", "blocks") as bench:
        return measure_density(bench.engine, progress=bench.show, cancel=bench.cancel)


def reader(arguments: argparse.Namespace, options: Options) -> ReadingReport:
    """How well the reader of attributes reads."""
    network = _reader(arguments, options).network
    autoencoder = load_autoencoder(model_folder(options.model) / "autoencoder")
    with cancel_on_signal() as cancel, console.progress_bar("Reader", "scenes") as show:
        return measure_reader(
            network,
            autoencoder,
            arguments.episodes,
            options.seed or 0,
            lambda done, total: show(done, total, ""),
            cancel,
        )


def _reader(arguments: argparse.Namespace, options: Options) -> PocketReader:
    return PocketReader(arguments.reader or find_reader(options.model))


@contextmanager
def _open(arguments: argparse.Namespace, options: Options, title: str, unit: str) -> Iterator[Bench]:
    """An engine, as many worlds as step together, a way to cancel, a bar."""
    with ExitStack() as stack:
        engine = stack.enter_context(closing(open_engine(options, ProjectSettings())))
        count = arguments.worlds or (GPU_WORLDS if engine.device_name.startswith("cuda") else 1)
        count = min(count, arguments.episodes)
        worlds: Worlds = OneWorld(engine)
        if count > 1:
            worlds = stack.enter_context(closing(Lockstep(engine, count)))
        cancel = stack.enter_context(cancel_on_signal())
        show = stack.enter_context(console.progress_bar(title, unit))
        yield Bench(engine, worlds, cancel, lambda done, total: show(done, total, ""))
