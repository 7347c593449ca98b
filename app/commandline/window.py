"""`worldattention [PROJECT]`: the window."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from worldattention.app.commandline.early import check_options
from worldattention.app.commandline.options import Options, positive
from worldattention.core.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the window."""
    parser.add_argument(
        "project",
        nargs="?",
        type=Path,
        metavar="PROJECT",
        help="a .world file, or the folder of a saved world (default: an empty project)",
    )
    parser.add_argument(
        "--screenshot", type=Path, metavar="PNG", help="save a picture of the window to this file, then end"
    )
    parser.add_argument(
        "--after-blocks",
        type=positive,
        default=8,
        metavar="N",
        help="make N blocks before the screenshot (default: 8)",
    )
    parser.add_argument(
        "--size", type=window_size, metavar="WxH", help="size of the window in pixels, as 1920x1080"
    )
    parser.add_argument(
        "--theme", choices=("system", "dark", "light"), help="colours of the window (default: as last time)"
    )
    parser.add_argument(
        "--language", choices=("system", "en", "ko"), help="language of the window (default: as last time)"
    )


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Opens the window and stays until it is closed. Raises UserError."""
    from worldattention.core.files import check_target, is_saved_world
    from worldattention.core.project import load_project

    if arguments.project is not None and not is_saved_world(arguments.project):
        load_project(arguments.project)  # a bad one is answered here, before a window appears
    check_options(options, model=options.model != "pocket")  # without one, the settings name it
    if arguments.screenshot is not None:
        if arguments.screenshot.suffix.lower() != ".png":
            raise UserError(
                f"The screenshot cannot be written to '{arguments.screenshot}': end it with .png."
            )
        check_target(arguments.screenshot, "the screenshot")
    choose_platform(arguments.screenshot is not None)
    try:
        from worldattention.app.window_entry import run_window  # the only door to Qt
    except ImportError as error:
        if error.name is None or error.name.startswith(("PySide6", "shiboken6", "pyqtgraph")):
            raise UserError(
                f"The window's toolkit, Qt, cannot be loaded ({error}): `worldattention doctor` says what to "
                "install, and `worldattention render` works without it."
            ) from error
        raise
    return run_window(
        arguments.project,
        options,
        arguments.screenshot,
        arguments.after_blocks,
        arguments.theme,
        arguments.language,
        arguments.size,
    )


def window_size(text: str) -> tuple[int, int]:
    """`1920x1080` as width and height. Raises ArgumentTypeError."""
    parts = re.fullmatch(r"(\d{1,5})[xX×](\d{1,5})", text.strip(), re.ASCII)
    width, height = (int(part) for part in parts.groups()) if parts else (0, 0)
    if not (640 <= width <= 16_384 and 480 <= height <= 16_384):
        raise argparse.ArgumentTypeError(f"'{text}' is no size of a window: give one as 1920x1080")
    return width, height


def choose_platform(offscreen_will_do: bool) -> None:
    """Raises UserError when there is no display and one is needed."""
    if sys.platform != "linux" or os.environ.get("QT_QPA_PLATFORM"):
        return
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return
    if not offscreen_will_do:
        raise UserError(
            "There is no display for the window: render to a video instead, with "
            "`worldattention render PROJECT -o OUT.mp4`."
        )
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
