"""The calls by which Python touches files, of which the n-th under one folder goes wrong."""

from __future__ import annotations

import builtins
import errno
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CODES = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EINTR": errno.EINTR}
FAULTS = (*CODES, "short")
BY_PATH = (
    "open",
    "mkdir",
    "rmdir",
    "unlink",
    "rename",
    "replace",
    "chmod",
    "scandir",
    "listdir",
    "stat",
    "lstat",
)
BY_DESCRIPTOR = ("fsync", "fstat", "write", "read", "close", "pread", "pwrite", "preadv")


class FaultyCalls:
    """While entered, call number `nth` fails, and with `once` false all after it; `short` moves half of the bytes."""

    def __init__(self, folder: Path, fault: str, nth: int, once: bool) -> None:
        self.calls, self.where = 0, ""
        self._folder, self._fault, self._nth, self._once = str(folder), fault, nth, once
        self._patch = pytest.MonkeyPatch()
        self._ours: set[int] = set()  # descriptors

    @property
    def was_hit(self) -> bool:
        """Whether there were so many calls."""
        return self.calls > self._nth

    def __enter__(self) -> FaultyCalls:
        for name in BY_PATH:
            self._patch.setattr(os, name, self._by_path(name, getattr(os, name)))
        for name in BY_DESCRIPTOR:
            self._patch.setattr(os, name, self._by_descriptor(name, getattr(os, name)))
        opened = self._opened(io.open)
        self._patch.setattr(io, "open", opened)
        self._patch.setattr(builtins, "open", opened)
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()

    def fail(self, name: str, size: int = 0) -> int:
        """Counts a call; returns how many bytes it may move. Raises OSError where it is to fail."""
        number, self.calls = self.calls, self.calls + 1
        if number < self._nth or (self._once and number > self._nth):
            return size
        self.where = name
        if self._fault == "short":
            return (size + 1) // 2
        code = CODES[self._fault]
        raise OSError(code, os.strerror(code))

    def _by_path(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(place: Any, *arguments: Any, **options: Any) -> Any:
            known = options.get("dir_fd") in self._ours or place in self._ours
            if not known and not (isinstance(place, str | Path) and str(place).startswith(self._folder)):
                return real(place, *arguments, **options)
            self.fail(name)
            result = real(place, *arguments, **options)
            if name == "open":
                self._ours.add(result)
            return result

        return call

    def _by_descriptor(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(descriptor: int, *arguments: Any) -> Any:
            if descriptor not in self._ours:
                return real(descriptor, *arguments)
            if name == "close":
                self._ours.discard(descriptor)
                real(descriptor)
                return self.fail(name)
            if name == "write":
                data = memoryview(arguments[0])
                return real(descriptor, data[: self.fail(name, len(data))])
            if name == "read":
                return real(descriptor, self.fail(name, arguments[0]))
            self.fail(name)
            return real(descriptor, *arguments)

        return call

    def _opened(self, real: Callable[..., Any]) -> Callable[..., Any]:
        calls = self

        class Raw(io.FileIO):
            def write(self, data: Any) -> int:
                part = memoryview(data).cast("B")
                return super().write(part[: calls.fail("write", len(part))])

            def readinto(self, buffer: Any) -> int:
                part = memoryview(buffer).cast("B")
                return super().readinto(part[: calls.fail("read", len(part))])

            def readall(self) -> bytes:
                calls.fail("read")
                return super().readall()

        def call(
            file: Any,
            mode: str = "r",
            buffering: int = -1,
            encoding: str | None = None,
            errors: str | None = None,
            newline: str | None = None,
        ) -> Any:
            ours = file in self._ours if isinstance(file, int) else str(file).startswith(self._folder)
            if not ours:
                return real(file, mode, buffering, encoding, errors, newline)
            if not isinstance(file, int):
                self.fail("open")
            raw = Raw(file, mode.replace("b", "").replace("t", ""))
            buffered: Any = io.BufferedWriter(raw) if set(mode) & set("wax") else io.BufferedReader(raw)
            if "b" in mode:
                return raw if buffering == 0 else buffered
            return io.TextIOWrapper(buffered, encoding, errors, newline)

        return call
