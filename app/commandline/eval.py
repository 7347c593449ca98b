"""`worldattention eval`: what the world remembers, obeys and keeps, measured against the truth of its renderer."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Protocol

from worldattention.app.commandline import console
from worldattention.app.commandline.early import check_options, check_targets
from worldattention.app.commandline.options import Options, WrongUsage, positive, seconds
from worldattention.core.evaluation.records import EVERYTHING, Share, read_records
from worldattention.core.files import failures_told, replacing

HELP = "measure what a world remembers, whether it shows what was said, and whether it stays as it was"


class Report(Protocol):
    """What every measurement returns."""

    def to_json(self) -> dict[str, Any]: ...
    def to_markdown(self) -> str: ...


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    add = parser.add_argument
    add(
        "what",
        choices=MEASUREMENTS,
        metavar="|".join(MEASUREMENTS),
        help="what to measure: what comes back after an absence (recall); whether what was said is shown (prompt); "
        "whether a world stays as it was (drift); recall by attention and choice of pages (ablation); how much "
        "must be read (density); the instruments (reader, autoencoder); or pictures of new scenes, to look at (looks)",
    )
    add("--episodes", type=positive, default=16, metavar="N", help="worlds to make (default: 16)")
    add("--reader", type=Path, metavar="FILE", help="weights of the reader of attributes")
    add("--markdown", type=Path, metavar="FILE", help="write the table to this file as well")
    add(
        "--understanding",
        action="store_true",
        help="with prompt: only whether prompts that are not of this world are noticed",
    )
    add(
        "--seconds",
        type=seconds,
        metavar="S",
        help="length of a world (default: 60 with drift, 6 with looks)",
    )
    add(
        "--sheet", type=Path, metavar="FILE", help="with looks: a picture of six moments of each, JPEG or PNG"
    )
    add("--gif", type=Path, metavar="FILE", help="with looks: all of them moving")
    add(
        "--widths",
        action="store_true",
        help="with recall: hkv with 1 and with 2 chunks in its first stage as well",
    )
    add(
        "--share",
        type=_share,
        default=EVERYTHING,
        metavar="I/N",
        help="only part I of N of the episodes, for several processes (recall, prompt, drift, ablation)",
    )
    add(
        "--records",
        type=Path,
        metavar="FILE",
        help="append what is finished, as lines of JSON (recall, prompt, drift, ablation)",
    )
    add(
        "--from",
        dest="records_of",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="make the report of such records instead of worlds; ablation takes those of recall",
    )
    add(
        "--worlds",
        type=positive,
        default=None,
        metavar="N",
        help="worlds that step together (default: 1 on the CPU, 16 on a GPU)",
    )


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Measures and reports. Raises UserError or Cancelled."""
    _check(arguments, options)
    from worldattention.app.commandline import measure  # what it measures with is loaded when it runs

    name = "understanding" if arguments.understanding else arguments.what
    report: Report = getattr(measure, name)(arguments, options)
    table = report.to_markdown()
    console.say(table)
    if arguments.markdown is not None:
        _write(arguments.markdown, table)
    if options.json:
        console.say_json(report.to_json())
    return 0


MEASUREMENTS = ("recall", "prompt", "drift", "ablation", "density", "reader", "autoencoder", "looks")
USAGE = "|".join(MEASUREMENTS)
OF_EPISODES = ("recall", "prompt", "drift", "ablation")


def _check(arguments: argparse.Namespace, options: Options) -> None:
    """Raises UserError for what files alone tell, before minutes of work."""
    from worldattention.core.evaluation.picture_kind import picture_kind
    from worldattention.core.evaluation.reader_file import check_reader, find_reader
    from worldattention.core.model_folder import check_autoencoder

    what = arguments.what
    if what == "looks" and arguments.sheet is None and arguments.gif is None:
        raise WrongUsage("looks makes pictures: say where to write them, with --sheet or --gif.")
    if arguments.sheet is not None:
        picture_kind(arguments.sheet)
    check_targets(
        the_table=arguments.markdown,
        the_records=arguments.records,
        the_picture=arguments.sheet,
        the_animation=arguments.gif,
    )
    if arguments.understanding:
        return
    if arguments.records_of and what in OF_EPISODES:
        read_records(arguments.records_of, "recall" if what == "ablation" else what)
        return
    if what in ("reader", "autoencoder"):
        check_autoencoder(options.model)
    else:
        check_options(options)
    if what in (*OF_EPISODES, "reader"):
        check_reader(arguments.reader or find_reader(options.model))


def _share(text: str) -> Share:
    """As '2/8': the second of eight parts."""
    number, slash, parts = text.partition("/")
    if not slash or not 1 <= positive(number) <= positive(parts):
        raise argparse.ArgumentTypeError(f"'{text[:40]}' is no part like 2/8")
    return Share(int(number), int(parts))


def _write(path: Path, table: str) -> None:
    with replacing(path, "the table") as temporary, failures_told(path, "the table"):
        temporary.write_text(f"{table}\n", encoding="utf-8")
