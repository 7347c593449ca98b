"""Whether the window's toolkit would load, tried in a child process: this package never imports Qt."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any, Literal

LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
}
"""What Qt loads beside pip's packages -> the Debian package that has it."""
FONT_PACKAGE = "fonts-dejavu-core"

_PROBE = """
import ctypes, json, os, pathlib, sys
report = {"missing": [], "fonts": any(pathlib.Path("/usr/share/fonts").rglob("*.tt[fc]"))}
for name in json.loads(sys.argv[1]):
    try:
        ctypes.CDLL(name)
    except OSError:
        report["missing"].append(name)
os.environ["QT_QPA_PLATFORM"] = "offscreen"
try:
    from PySide6 import QtCore, QtWidgets
    import pyqtgraph
    application = QtWidgets.QApplication([])
    report["qt"] = QtCore.__version__
except ImportError as error:
    report["error"] = str(error)
print(json.dumps(report))
"""
Line = tuple[str, Literal["ok", "note", "warning", "failed"], str]


def examine_qt(python: str = sys.executable) -> list[Line]:
    """Name, status and text of each finding about the window."""
    libraries = list(LIBRARIES) if sys.platform == "linux" else []
    try:
        done = subprocess.run(
            [python, "-c", _PROBE, json.dumps(libraries)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
        )
        report = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.TimeoutExpired) as error:
        return [("Qt", "warning", f"could not be tried: {error}")]
    except (ValueError, IndexError):
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return [("Qt", "warning", f"does not start: {lines[-1] if lines else done.returncode}")]
    return list(_lines(report))


def _lines(report: dict[str, Any]) -> Iterable[Line]:
    if "error" in report:
        yield "Qt", "warning", f"cannot be loaded: {report['error']}"
    else:
        yield "Qt", "ok", f"{report['qt']} loads"
    packages = [LIBRARIES[name] for name in report["missing"]]
    if sys.platform == "linux" and not report["fonts"]:
        packages.append(FONT_PACKAGE)
    if packages:
        text = f"missing; on Debian: apt-get install --no-install-recommends {' '.join(packages)}"
        yield "libraries", "warning", text
    else:
        yield "libraries", "ok", "all that a window needs are there"
