"""The `worldattention` command: finds the sub-command, and turns every failure into one sentence.

Start-up is quick because each command imports what it needs when it runs.
"""

from __future__ import annotations

import argparse
import atexit
import difflib
import errno
import gc
import importlib
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from worldattention import __version__
from worldattention.app.commandline import console
from worldattention.app.commandline.options import (
    Parser,
    WrongUsage,
    common_options,
    set_up_logging,
    take_common,
)
from worldattention.core.errors import Cancelled, UserError, tells_no_memory

COMMANDS = ("render", "doctor", "eval", "bench", "soak", "convert", "calibrate", "train")
PROGRAM = "worldattention"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns 0 when done, 1 when it failed, 2 when it was used wrongly."""
    # Idle threads of torch's CPU pool spin only briefly, then sleep. Sleeping at once costs a third of the speed
    # (a pass is hundreds of short parallel regions); spinning for long takes the core from the video encoder,
    # the window, or the thread that everybody waits for.
    os.environ.setdefault("GOMP_SPINCOUNT", "5000")
    atexit.register(
        gc.freeze
    )  # the process ends at once, where the libraries' objects would be freed one by one
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    try:
        status = _run(arguments)
        console.flush()
        return status
    except SystemExit as end:  # argparse
        return end.code if isinstance(end.code, int) else 1
    except BrokenPipeError:
        console.abandon_stdout()
        return 1
    except (Cancelled, KeyboardInterrupt) as stop:
        return _failed(str(stop) or "Stopped, as you asked; nothing half-made was left.", debug)
    except UserError as error:
        if isinstance(error, WrongUsage):
            command = " ".join([PROGRAM, *(name for name in arguments[:1] if name in COMMANDS)])
            return _failed(f"{str(error).rstrip('.')} (see {command} --help)", debug, 2)
        return _failed(str(error), debug)
    except Exception as error:
        logging.getLogger(__name__).debug("unexpected failure", exc_info=True)
        return _failed(_explain(error), debug)


def _run(arguments: list[str]) -> int:
    name = arguments[0] if arguments and arguments[0] in COMMANDS else None
    module = _module(name or "window")
    parser = _command_parser(name) if name else _window_parser()
    module.add_arguments(parser)
    if name is None and arguments and _is_no_project(arguments[0]):
        near = difflib.get_close_matches(arguments[0], COMMANDS, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"the commands are {', '.join(COMMANDS)}"
        parser.error(f"there is no command '{arguments[0]}', and no such project; {hint}")
    parsed = parser.parse_args(arguments[1:] if name else arguments)
    options = take_common(parsed)
    set_up_logging(options.debug)
    return int(module.run(parsed, options))


def _is_no_project(argument: str) -> bool:
    """Whether a first argument looks like a mistyped command: a bare word that names no file."""
    path = Path(argument)
    bare = not argument.startswith("-") and path.name == argument and path.suffix != ".world"
    return bare and not os.path.lexists(path)


def _module(name: str) -> Any:
    return importlib.import_module(f"worldattention.app.commandline.{name}")


def _command_parser(name: str) -> argparse.ArgumentParser:
    module = _module(name)
    help_text = module.HELP
    return Parser(
        prog=f"{PROGRAM} {name}",
        usage=" ".join(filter(None, (PROGRAM, name, module.USAGE, "[option ...]"))),
        description=f"{help_text[0].upper()}{help_text[1:]}.",
        parents=[common_options()],
        allow_abbrev=False,
    )


def _window_parser() -> argparse.ArgumentParser:
    commands = [f"  {name:10}{_module(name).HELP}" for name in COMMANDS]
    parser = Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [PROJECT] [option ...]\n       {PROGRAM} COMMAND ...",
        description="Opens the playground: a video world that remembers.",
        epilog="\n".join(["other commands:", *commands, f"  `{PROGRAM} COMMAND --help` says more"]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common_options()],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    return parser


def _failed(sentence: str, debug: bool, status: int = 1) -> int:
    if debug:
        console.note(traceback.format_exc().rstrip())
    console.note(f"{PROGRAM}: {_plain(sentence)}")
    return status


def _plain(sentence: str) -> str:
    """Names out of files may hold line ends or escape sequences: one line that no terminal obeys."""
    shown = "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in sentence
    )
    return shown if len(shown) <= 600 else shown[:599] + "\N{HORIZONTAL ELLIPSIS}"


def _explain(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    if "OutOfMemoryError" in text or tells_no_memory(error):
        return _explain_memory(error)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "The disk is full: free some space, or write elsewhere."
    if isinstance(error, ImportError):
        return f"A package is missing or broken ({text}): install WorldAttention again with pip."
    return f"Something went wrong that should not ({text}): run it again with --debug to see where."


def _explain_memory(error: Exception) -> str:
    """Which tier, how many bytes, what to change (CASES 6)."""
    from worldattention.core.out_of_memory import bytes_asked
    from worldattention.core.units import format_bytes

    asked = bytes_asked(str(error))
    wanted = "" if asked is None else f" when {format_bytes(asked)} more were needed"
    if "OutOfMemoryError" in type(error).__name__:
        return (
            f"There is not enough memory on the device (L1){wanted}: close other programs that use it, choose a "
            "smaller --density, or --device cpu."
        )
    return f"There is not enough memory (L2){wanted}: close other programs, or choose a smaller --dram-quota."


if __name__ == "__main__":
    sys.exit(main())
