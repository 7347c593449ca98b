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
from worldattention.core.evaluation.ablation import (
    WIDTHS,
    AblationReport,
    ablation_of_records,
    evaluate_ablation,
)
from worldattention.core.evaluation.density import DensityReport, measure_density
from worldattention.core.evaluation.drift import DriftReport, DriftSettings, drift_of_records, evaluate_drift
from worldattention.core.evaluation.following import FollowingSettings, evaluate_following
from worldattention.core.evaluation.following_report import FollowingReport, following_of_records
from worldattention.core.evaluation.looks import Looks, make_looks, write_picture
from worldattention.core.evaluation.pocket_reader import PocketReader
from worldattention.core.evaluation.reader_file import find_reader
from worldattention.core.evaluation.reading import ReadingReport, measure_reader
from worldattention.core.evaluation.recall import POLICIES, RecallSettings, evaluate_recall
from worldattention.core.evaluation.recall_report import RecallReport, report_of_records
from worldattention.core.evaluation.reconstruction import ReconstructionReport, measure_reconstruction
from worldattention.core.evaluation.records import Recorder, read_records
from worldattention.core.evaluation.truth import TrueScenes
from worldattention.core.evaluation.understanding import UnderstandingReport, measure_understanding
from worldattention.core.evaluation.worlds import Lockstep, OneWorld, Worlds
from worldattention.core.loading import load_autoencoder, pick_device
from worldattention.core.model_folder import model_folder
from worldattention.core.models.text import MiniLMEncoder
from worldattention.core.pictures import write_gif
from worldattention.core.project import ProjectSettings

if TYPE_CHECKING:
    from worldattention.core.engine import Engine

GPU_WORLDS = 16
DRIFT_SECONDS, LOOKS_SECONDS = 60.0, 6.0


@dataclass(frozen=True, slots=True)
class Bench:
    """What a measurement works with."""

    engine: Engine
    worlds: Worlds
    cancel: Callable[[], bool]
    show: Callable[[int, int], None]
    recorder: Recorder


def recall(arguments: argparse.Namespace, options: Options) -> RecallReport:
    """What comes back after an absence, by retrieval policy."""
    if arguments.records_of:
        return report_of_records(read_records(arguments.records_of, "recall"))
    reader = _reader(arguments, options)
    policies = POLICIES if options.retrieval is None else ("hkv", "none", options.retrieval)
    settings = RecallSettings(
        episodes=arguments.episodes,
        seed=options.seed or 0,
        policies=tuple(dict.fromkeys(policies)),
        widths=WIDTHS[:-1] if arguments.widths else (),
        share=arguments.share,
    )
    with _open(arguments, options, "Recall", "blocks") as bench:
        return evaluate_recall(bench.worlds, reader, settings, bench.show, bench.cancel, bench.recorder)


def ablation(arguments: argparse.Namespace, options: Options) -> AblationReport:
    """Recall by attention mode, policy and width of the first stage."""
    if arguments.records_of:
        return ablation_of_records(read_records(arguments.records_of, "recall"))
    reader = _reader(arguments, options)
    settings = RecallSettings(episodes=arguments.episodes, seed=options.seed or 0, share=arguments.share)
    with _open(arguments, options, "Ablation", "blocks") as bench:
        return evaluate_ablation(
            bench.worlds,
            reader,
            settings,
            progress=bench.show,
            cancel=bench.cancel,
            recorder=bench.recorder,
        )


def prompt(arguments: argparse.Namespace, options: Options) -> FollowingReport:
    """Whether new scenes show what was said."""
    if arguments.records_of:
        return following_of_records(read_records(arguments.records_of, "prompt"))
    reader = _reader(arguments, options)
    settings = FollowingSettings(episodes=arguments.episodes, seed=options.seed or 0, share=arguments.share)
    autoencoder = load_autoencoder(model_folder(options.model) / "autoencoder")
    with _open(arguments, options, "Scenes", "blocks") as bench:
        truth = TrueScenes(autoencoder, bench.engine.model.device)
        return evaluate_following(
            bench.worlds, reader, truth, settings, bench.show, bench.cancel, bench.recorder
        )


def understanding(arguments: argparse.Namespace, options: Options) -> UnderstandingReport:
    """Whether prompts of other worlds are told from those of this one."""
    return measure_understanding(MiniLMEncoder(), arguments.episodes, options.seed or 0)


def drift(arguments: argparse.Namespace, options: Options) -> DriftReport:
    """Whether a world stays as it was."""
    if arguments.records_of:
        return drift_of_records(read_records(arguments.records_of, "drift"))
    reader = _reader(arguments, options)
    settings = DriftSettings(
        episodes=arguments.episodes,
        seed=options.seed or 0,
        seconds=arguments.seconds or DRIFT_SECONDS,
        share=arguments.share,
    )
    autoencoder = load_autoencoder(model_folder(options.model) / "autoencoder")
    with _open(arguments, options, "Drift", "blocks") as bench:
        truth = TrueScenes(autoencoder, bench.engine.model.device).parts
        return evaluate_drift(bench.worlds, reader, truth, settings, bench.show, bench.cancel, bench.recorder)


def looks(arguments: argparse.Namespace, options: Options) -> Looks:
    """What new scenes look like."""
    with _open(arguments, options, "Looks", "blocks") as bench:
        found = make_looks(
            bench.worlds,
            arguments.episodes,
            arguments.seconds or LOOKS_SECONDS,
            options.seed or 0,
            bench.show,
            bench.cancel,
        )
    if arguments.sheet is not None:
        write_picture(arguments.sheet, found.sheet())
    if arguments.gif is not None:
        wall = found.wall()
        write_gif(arguments.gif, wall, len(wall), wall.shape[2])
    return found


def density(arguments: argparse.Namespace, options: Options) -> DensityReport:
    """How much of the window must be read."""
    with _open(arguments, options, "Density", "blocks") as bench:
        return measure_density(bench.engine, progress=bench.show, cancel=bench.cancel)


def reader(arguments: argparse.Namespace, options: Options) -> ReadingReport:
    """How well the reader of attributes reads."""
    device = pick_device(options.device)
    network = _reader(arguments, options).network.to(device)
    autoencoder = load_autoencoder(model_folder(options.model) / "autoencoder").to(device)
    with cancel_on_signal() as cancel, console.progress_bar("Reader", "scenes") as show:
        return measure_reader(
            network,
            autoencoder,
            arguments.episodes,
            options.seed or 0,
            lambda done, total: show(done, total, ""),
            cancel,
        )


def autoencoder(arguments: argparse.Namespace, options: Options) -> ReconstructionReport:
    """What the autoencoder loses."""
    network = load_autoencoder(model_folder(options.model) / "autoencoder")
    with cancel_on_signal() as cancel, console.progress_bar("Autoencoder", "batches") as show:
        return measure_reconstruction(
            network,
            arguments.episodes,
            pick_device(options.device),
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
        count = min(count, len(arguments.share.of(arguments.episodes)))
        worlds: Worlds = OneWorld(engine)
        if count > 1:
            worlds = stack.enter_context(closing(Lockstep(engine, count)))
        cancel = stack.enter_context(cancel_on_signal())
        show = stack.enter_context(console.progress_bar(title, unit))
        recorder = Recorder(arguments.records)
        yield Bench(engine, worlds, cancel, lambda done, total: show(done, total, ""), recorder)
