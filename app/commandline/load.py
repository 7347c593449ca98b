"""Loading the engine, with a bar that names the stage. Ctrl+C ends the program at once here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from worldattention.app.commandline import console
from worldattention.app.commandline.options import Options, fit_to_machine

if TYPE_CHECKING:
    from worldattention.core.engine import Engine
    from worldattention.core.models.text import TextEncoder
    from worldattention.core.project import ProjectSettings


def open_engine(options: Options, settings: ProjectSettings) -> Engine:
    """The engine that the options ask for. Raises UserError."""
    with console.progress_bar("Load", "%") as show:
        show(0, 100, "libraries")
        from worldattention.core import loading

        config, warnings = fit_to_machine(options, options.engine_config(settings))
        text = {} if options.text_pack is None else {"text_encoder": _pack(options.text_pack)}
        engine = loading.open_engine(
            options.model,
            options.device,
            config,
            lambda stage, done: show(round(100 * done), 100, stage),
            **text,
        )
    for warning in warnings:
        console.note(warning)
    return engine


def _pack(path: Path) -> TextEncoder:
    from worldattention.core.pocket.text_pack import PackTextEncoder

    return PackTextEncoder(path)
