"""`worldattention render PROJECT -o OUT.mp4|null`: a project to a video, without a window."""

from __future__ import annotations

import argparse
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from worldattention.app.commandline import console
from worldattention.app.commandline.interrupt import cancel_on_signal
from worldattention.app.commandline.load import open_engine
from worldattention.app.commandline.options import Options, seconds
from worldattention.core.errors import UserError

if TYPE_CHECKING:
    from worldattention.core.timeline import Timeline

HELP = "render a project to a video, without a window"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this command."""
    parser.add_argument("project", type=Path, metavar="PROJECT", help="a .world file")
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT.mp4|null", help="the video; null encodes nothing"
    )
    parser.add_argument("--seconds", type=seconds, metavar="S", help="another length than the project's")
    parser.add_argument("--telemetry", type=Path, metavar="JSONL", help="one line of records a block")


def unknown_prompts(engine: object, timeline: Timeline) -> list[str]:
    """A sentence for each prompt that the model's world does not know."""
    understand = getattr(engine, "understand", None)
    if understand is None:
        return []
    found = (understand(prompt) for prompt in dict.fromkeys(event.prompt for event in timeline.events))
    return [one.notice for one in found if one is not None and one.notice is not None]


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Renders. Raises UserError or Cancelled."""
    from worldattention.core.project import load_project
    from worldattention.core.render import RenderJob, render

    output = None if arguments.output == "null" else Path(arguments.output)
    project = load_project(arguments.project)
    job = RenderJob(project, output, arguments.seconds, arguments.telemetry)
    log = arguments.telemetry
    if log is not None and log.resolve() == arguments.project.resolve():
        raise UserError(f"'{log}' is the project itself: name another file for the telemetry.")
    job.check()
    options.engine_config(project.settings)
    started = time.perf_counter()
    engine = open_engine(options, project.settings)
    load_s = time.perf_counter() - started
    for notice in unknown_prompts(engine, project.timeline):
        console.note(notice)
    with closing(engine), cancel_on_signal() as cancel, console.progress_bar("Render", "frames") as show:
        from worldattention.core.session import Session

        summary = render(
            job,
            Session(engine, project.timeline),
            engine.geometry,
            lambda done, total, fps: show(done, total, f"{fps:.1f} FPS"),
            cancel,
        )
        device, backend = engine.device_name, engine.backend
    for notice in summary.notices:
        console.note(notice)
    if not summary.keeps_real_time:
        console.note(
            f"This machine made {summary.fps:.1f} frames a second; the video plays 16, so a live world "
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
