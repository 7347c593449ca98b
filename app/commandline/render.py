"""`worldattention render PROJECT -o OUT.mp4|null`: a project to a video, without a window."""

from __future__ import annotations

import argparse
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from worldattention.app.commandline import console
from worldattention.app.commandline.early import check_options
from worldattention.app.commandline.interrupt import cancel_on_signal
from worldattention.app.commandline.load import open_engine
from worldattention.app.commandline.options import Options, name, seconds, whole
from worldattention.app.commandline.source import open_source
from worldattention.core.errors import UserError

if TYPE_CHECKING:
    from worldattention.core.timeline import Timeline

HELP = "render a project to a video, without a window"
USAGE = "[PROJECT] -o OUT.mp4|null"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    add = parser.add_argument
    add("project", nargs="?", type=Path, metavar="PROJECT", help="a .world file; leave it out with --world")
    add(
        "-o",
        "--output",
        type=name,
        required=True,
        metavar="OUT.mp4|null",
        help="the video; with null none is written",
    )
    add("--seconds", type=seconds, metavar="S", help="length of the video (default: the project's)")
    add(
        "--telemetry",
        type=Path,
        metavar="JSONL",
        help="write a record of every block to this file, a line each",
    )
    add("--branch", metavar="NAME", help="a branch of the project's history (default: the current one)")
    add(
        "--from-block",
        type=whole,
        metavar="N",
        help="begin the video at this block; those before it are made, not written",
    )
    add("--world", type=Path, metavar="DIR", help="go on from a saved world instead of a project's beginning")
    add("--save-world", type=Path, metavar="DIR", help="save the world to a folder when the video is done")
    add(
        "--save-pages",
        action="store_true",
        help="with --save-world: its pages too, to go on from it bit for bit",
    )


def _check_apart(world: Path | None, *files: Path | None) -> None:
    """Raises UserError for a file that has the world's name, or would be replaced together with its folder."""
    for file in files:
        if (
            world is not None
            and file is not None
            and world.resolve() in (file.resolve(), *file.resolve().parents)
        ):
            raise UserError(
                f"'{file}' cannot lie where the world is saved: name another place for one of them."
            )


def unknown_prompts(engine: object, timeline: Timeline) -> list[str]:
    """A sentence for each prompt that the model's world does not know."""
    understand = getattr(engine, "understand", None)
    if understand is None:
        return []
    found = (understand(prompt) for prompt in dict.fromkeys(event.prompt for event in timeline.events))
    return [one.notice for one in found if one is not None and one.notice is not None]


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Renders. Raises UserError or Cancelled."""
    from worldattention.core.geometry import FPS
    from worldattention.core.model_folder import geometry_of, model_folder
    from worldattention.core.render import RenderJob, render

    output = None if arguments.output == "null" else Path(arguments.output)
    source = open_source(arguments)
    log = arguments.telemetry
    if log is not None and arguments.project is not None and log.resolve() == arguments.project.resolve():
        raise UserError(f"'{log}' is the project itself: name another file for the telemetry.")
    _check_apart(arguments.save_world, output, log)
    job = RenderJob(source.project, output, arguments.seconds, log, source.from_block, source.made)
    job.check()
    check_options(options)
    job.frames(geometry_of(model_folder(options.model)))
    options.engine_config(source.project.settings)
    started = time.perf_counter()
    engine = open_engine(options, source.project.settings)
    load_s = time.perf_counter() - started
    for notice in unknown_prompts(engine, source.project.timeline):
        console.note(notice)
    with cancel_on_signal() as cancel, closing(source.open(engine, options, cancel)) as session:
        with console.progress_bar("Render", "frames") as show:
            summary = render(
                job,
                session,
                engine.geometry,
                lambda done, total, fps: show(done, total, f"{fps:.1f} FPS"),
                cancel,
            )
        if arguments.save_world is not None:
            source.save(arguments.save_world, session, arguments.save_pages)
        device, backend = engine.device_name, engine.backend
    for notice in summary.notices:
        console.note(notice)
    if summary.steady_fps is not None and summary.steady_fps < FPS:
        console.note(
            f"This machine made {summary.steady_fps:.1f} frames a second; the video plays 16, so a live world "
            "would be slower than real time."
        )
    result = asdict(summary) | {"load_s": load_s, "device": device, "backend": backend}
    result["bytes"] = result.pop("tier_bytes")
    if options.json:
        console.say_json(result)
    else:
        made = f"{summary.frames} frames ({summary.seconds:.2f} s) at {summary.fps:.1f} FPS on {device}"
        console.say(f"{made}; " + ("nothing was encoded" if output is None else f"the video is {output}"))
    return 0
