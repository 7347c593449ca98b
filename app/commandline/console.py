"""What the command line writes, where: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

TENTHS = 10


def say(text: str) -> None:
    """One line of a result on stdout."""
    _write(sys.stdout, text)


def note(text: str) -> None:
    """One line about the work on stderr."""
    _write(sys.stderr, text)


def say_json(value: Any) -> None:
    """One JSON object as a line on stdout: ASCII only, so that every terminal can take it."""
    say(json.dumps(value, allow_nan=False))


def say_record(record: dict[str, Any], table: Callable[[dict[str, Any]], list[str]], as_json: bool) -> None:
    """What was measured, as one JSON object or as the lines of a table."""
    if as_json:
        say_json(record)
    else:
        say("\n".join(table(record)))


@contextmanager
def progress_bar(title: str, unit: str) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on stderr where that is a terminal, else a line every tenth of the work.

    Yields a function that takes what is done, the total, and a remark.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        shown = -1

        def line(done: int, total: int, remark: str = "") -> None:
            nonlocal shown
            tenth = TENTHS * done // max(total, 1)
            if tenth != shown:
                shown = tenth
                note(f"{title}: {done} of {total} {unit}" + (f", {remark}" if remark else ""))

        yield line
        return
    from tqdm import tqdm

    layout = "{desc} {percentage:3.0f}% |{bar}| {n_fmt} of {total_fmt} {unit}, {remaining} to go{postfix}"
    with tqdm(
        total=0,
        desc=title,
        unit=unit,
        bar_format=layout,
        leave=False,
        file=sys.stderr,
        dynamic_ncols=True,
    ) as bar:

        def update(done: int, total: int, remark: str = "") -> None:
            bar.total = total
            bar.set_postfix_str(remark, refresh=False)
            bar.update(done - bar.n)

        yield update


def flush() -> None:
    """Raises BrokenPipeError when nobody reads stdout any more."""
    if sys.stdout is not None:
        sys.stdout.flush()


def abandon_stdout() -> None:
    """Sends the rest of stdout nowhere, so that the interpreter can end quietly."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)


def _write(stream: Any, text: str) -> None:
    if stream is None:  # closed by the caller
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    stream.flush()
