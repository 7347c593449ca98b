"""Tries a bundle as its users would: `python packaging/pyinstaller/smoke.py dist/worldattention`.

Prints what it tried, and ends with 1 at the first thing that is not right. Needs nothing but Python, ffmpeg not
even: the bundle has its own. No display is needed.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

KERNELS = """
import importlib, inspect, json, pkgutil, worldattention.kernels as kernels
named = sorted(module.name for module in pkgutil.walk_packages(kernels.__path__, kernels.__name__ + "."))
without = []
for name in named:
    try:
        module = importlib.import_module(name)
        if not inspect.getsource(module).strip():
            without.append(name)
    except (OSError, TypeError) as error:
        without.append(f"{name}: {error}")
    except ImportError as error:
        print("not importable here:", name, error)
print(json.dumps({"modules": len(named), "without": without}))
"""
WORLD = {
    "format": "worldattention-project",
    "format_version": 1,
    "name": "smoke",
    "events": [{"id": 1, "start": 0.0, "end": 10.0, "prompt": "A man in a red shirt throws a ball."}],
}


def run(bundle: Path, *arguments: str, seconds: int = 600) -> str:
    """What the program prints; anything but 0 ends the trial."""
    print(
        "$ worldattention",
        *(argument if "\n" not in argument else "..." for argument in arguments),
        flush=True,
    )
    # Nothing of the machine's Python may help: the bundle stands alone.
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    done = subprocess.run(
        [bundle / "worldattention", *arguments],
        env=clean | {"QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def last_json(text: str) -> dict:
    """The JSON object on the last line."""
    return json.loads(text.strip().splitlines()[-1])


def main() -> None:
    """Every trial, the quick ones first."""
    bundle = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        project, picture, film = (Path(folder) / name for name in ("smoke.world", "window.png", "film.mp4"))
        project.write_text(json.dumps(WORLD), encoding="utf-8")
        print(run(bundle, "--version").strip())
        sources = last_json(run(bundle, "-c", KERNELS))
        if sources["without"] or sources["modules"] < 5:
            sys.exit(f"kernels without their source: {sources}")
        print(f"{sources['modules']} modules of the kernels have their source")
        doctor = last_json(run(bundle, "doctor", "--json"))
        failed = [finding for finding in doctor["findings"] if finding["status"] == "failed"]
        if failed:
            sys.exit(f"the doctor found: {failed}")
        print(f"the doctor's {len(doctor['findings'])} findings: none failed")
        made = last_json(run(bundle, "render", str(project), "-o", str(film), "--seconds", "3", "--json"))
        if made["frames"] != 48 or film.stat().st_size < 5000:
            sys.exit(f"render made {made}")
        print(f"render wrote {made['frames']} frames with {made['backend']}")
        run(bundle, str(project), "--screenshot", str(picture), "--after-blocks", "2", "--language", "ko")
        if picture.read_bytes()[:8] != b"\x89PNG\r\n\x1a\n":
            sys.exit("the window's picture is no PNG")
        print(f"the window's picture has {picture.stat().st_size} bytes")


if __name__ == "__main__":
    main()
