"""`worldattention eval recall`: what comes back after an absence, for each retrieval policy."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from worldattention.app.commandline import console
from worldattention.app.commandline.interrupt import cancel_on_signal
from worldattention.app.commandline.load import open_engine
from worldattention.app.commandline.options import Options, positive

HELP = "measure what comes back after an absence"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    add = parser.add_argument
    add("what", choices=["recall"], metavar="recall", help="what to measure")
    add("--episodes", type=positive, default=16, metavar="N", help="worlds to make (default: 16)")
    add("--reader", type=Path, metavar="FILE", help="weights of the reader of hidden attributes")


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Evaluates and reports. Raises UserError or Cancelled."""
    from worldattention.core.evaluation.pocket_reader import PocketReader, find_reader
    from worldattention.core.evaluation.recall import POLICIES, RecallSettings, evaluate_recall
    from worldattention.core.project import ProjectSettings

    reader = PocketReader(arguments.reader or find_reader(options.model))
    policies = POLICIES if options.retrieval is None else ("hkv", "none", options.retrieval)
    settings = RecallSettings(
        episodes=arguments.episodes, seed=options.seed or 0, policies=tuple(dict.fromkeys(policies))
    )
    engine = open_engine(options, ProjectSettings())
    with (
        closing(engine),
        cancel_on_signal() as cancel,
        console.progress_bar("Recall", "blocks") as show,
    ):
        report = evaluate_recall(engine, reader, settings, lambda done, total: show(done, total, ""), cancel)
    console.say(report.to_markdown())
    if options.json:
        console.say_json(report.to_json())
    return 0
