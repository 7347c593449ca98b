"""app -> core -> kernels, assets a leaf, Qt in app only; read from the sources, and tried in a fresh process."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAY_IMPORT = {
    "app": {"app", "core", "kernels", "assets"},
    "core": {"core", "kernels", "assets"},
    "kernels": {"kernels"},
    "assets": {"assets"},
}
QT = {"PySide6", "shiboken6", "pyqtgraph"}


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported_names(source: Path) -> Iterator[str]:
    """Every module that the file imports anywhere in it, functions and type-checking blocks included."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"), filename=str(source))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source}:{node.lineno}: relative import"
            assert node.module is not None
            if node.module == "worldattention":
                yield from (f"worldattention.{alias.name}" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_imports_point_in_one_direction(folder: str) -> None:
    wrong = [
        f"{source.relative_to(ROOT)} imports {name}"
        for source in sources(folder)
        for name in imported_names(source)
        if name.startswith("worldattention.")
        and name.split(".")[1] not in MAY_IMPORT[folder] | {"__version__"}
    ]
    assert not wrong


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_our_folders_are_never_imported_under_bare_names(folder: str) -> None:
    wrong = [
        f"{source.relative_to(ROOT)} imports {name}"
        for source in sources(folder)
        for name in imported_names(source)
        if name.split(".")[0] in MAY_IMPORT
    ]
    assert not wrong


@pytest.mark.parametrize("folder", ["core", "kernels", "assets"])
def test_qt_is_imported_in_app_only(folder: str) -> None:
    wrong = [
        f"{source.relative_to(ROOT)} imports {name}"
        for source in sources(folder)
        for name in imported_names(source)
        if name.split(".")[0] in QT
    ]
    assert not wrong


def test_core_loads_without_qt_and_without_our_bare_names() -> None:
    """Not only our own import lines: nothing that a library pulls in brings Qt or takes `kernels` for another's."""
    program = f"""
import importlib, pkgutil, sys
import worldattention.core
for module in pkgutil.walk_packages(worldattention.core.__path__, "worldattention.core."):
    importlib.import_module(module.name)
import transformers
found = {{name.split(".")[0] for name in sys.modules}}
print(*sorted(found & {QT | set(MAY_IMPORT)!r}))
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
