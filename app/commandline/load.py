"""Loading the engine, with a bar that names the stage. Ctrl+C ends the program at once here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldattention.app.commandline import console
from worldattention.app.commandline.options import Options, fit_to_machine

if TYPE_CHECKING:
    from worldattention.core.engine import Engine
    from worldattention.core.project import ProjectSettings


def open_engine(options: Options, settings: ProjectSettings) -> Engine:
    """The engine that the options ask for. Raises UserError."""
    with console.progress_bar("Load", "%") as show:
        show(0, 100, "libraries")
        from worldattention.core import loading

        config, warnings = fit_to_machine(options, options.engine_config(settings))
        engine = loading.open_engine(
            options.model, options.device, config, lambda stage, done: show(round(100 * done), 100, stage)
        )
    for warning in warnings:
        console.note(warning)
    return engine
