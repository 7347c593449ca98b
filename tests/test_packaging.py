"""The wheel and the source distribution hold what the tree holds, and the wheel runs without the tree."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from worldattention.core.doctor_qt import FONT_PACKAGE, LIBRARIES

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("app", "assets", "core", "kernels")
NOT_SOURCE = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "*.egg-info", "build", "dist", "out")


def tree_files() -> set[str]:
    """What an installed copy must hold, named as it is there."""
    files = {f"worldattention/{path.name}" for path in (ROOT / "packaging/root").iterdir() if path.is_file()}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            inside = path.relative_to(ROOT)
            if (
                path.is_file()
                and "__pycache__" not in inside.parts
                and inside.parts[:2] != ("assets", "evaluation")
            ):
                files.add(f"worldattention/{inside.as_posix()}")
    return files


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(kind: str, source: Path, out: Path) -> Path:
    """Builds `wheel` or `sdist` with the environment's own setuptools: no isolation, no network."""
    out.mkdir()
    program = f"import sys, setuptools.build_meta as backend; backend.build_{kind}(sys.argv[1])"
    run(sys.executable, "-c", program, out, cwd=source, PYTHONPATH="")
    [made] = out.iterdir()
    return made


def python_files(names: set[str]) -> set[str]:
    return {name for name in names if name.startswith("worldattention/")}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy to build in, so that nothing is left in the tree and nothing old is found there."""
    copy = tmp_path_factory.mktemp("source") / "tree"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=NOT_SOURCE)
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", source, tmp_path_factory.mktemp("wheel") / "out")


@pytest.fixture(scope="module")
def sdist(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", source, tmp_path_factory.mktemp("sdist") / "out")


def test_the_wheel_holds_the_tree(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        names = set(archive.namelist())
    assert python_files(names) == tree_files()
    others = {name.split("/")[0] for name in names} - {"worldattention"}
    # A bare `core` or `kernels` would shadow other people's packages.
    [data, metadata] = sorted(others)
    assert (data.split(".")[-1], metadata.split(".")[-1]) == ("data", "dist-info")
    assert f"{metadata}/licenses/LICENSE" in names
    shared = {name.removeprefix(f"{data}/data/share/") for name in names if name.startswith(data)}
    program = "io.github.worldattention.Playground"
    assert shared == {
        f"applications/{program}.desktop",
        f"metainfo/{program}.metainfo.xml",
        f"mime/packages/{program}.xml",
        f"icons/hicolor/scalable/apps/{program}.svg",
    }


def test_the_wheel_says_what_it_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode()
        [name] = [n for n in archive.namelist() if n.endswith(".dist-info/entry_points.txt")]
        scripts = archive.read(name).decode()
    version = re.search(r'__version__ = "(.+)"', (ROOT / "packaging" / "root" / "__init__.py").read_text())
    assert version
    assert f"\nVersion: {version.group(1)}\n" in metadata
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    assert "\nRequires-Python: <3.15,>=3.11\n" in metadata
    assert "worldattention = worldattention.app.cli:main" in scripts


def test_a_wheel_made_from_the_source_distribution_is_the_same(
    sdist: Path, wheel: Path, tmp_path: Path
) -> None:
    with tarfile.open(sdist) as archive:
        # As an attribute: Debian 12's Python 3.11.2 has no `filter` argument yet.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)
    [unpacked] = tmp_path.iterdir()
    again = build("wheel", unpacked, tmp_path / "again")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert {i.filename: i.CRC for i in second.infolist() if ".dist-info" not in i.filename} == {
            i.filename: i.CRC for i in first.infolist() if ".dist-info" not in i.filename
        }


def test_the_source_distribution_holds_what_checks_it(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    pages = ("LICENSE", "README.md", "CONTRIBUTING.md", "DESIGN.md")
    for name in (*pages, "Makefile", "constraints.txt", "setup.py"):
        assert name in names
    tests = {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("*.py")}
    assert tests <= names
    assert not [name for name in names if name.startswith("packaging/typing") or name.endswith(".pyc")]


def test_the_installed_wheel_runs(wheel: Path, tmp_path: Path) -> None:
    """case_34: every module loads, and the command starts, away from the tree."""
    site = tmp_path / "site"
    run(
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", site, wheel,
        cwd=tmp_path,
    )  # fmt: skip
    program = """
import importlib, pkgutil, worldattention
print(worldattention.__file__)
for module in pkgutil.walk_packages(worldattention.__path__, "worldattention."):
    importlib.import_module(module.name)
"""
    out = run(sys.executable, "-P", "-c", program, cwd=tmp_path, PYTHONPATH=str(site))
    assert Path(out.split("\n")[0]).is_relative_to(site)
    assert "render" in run(site / "bin" / "worldattention", "--help", cwd=tmp_path, PYTHONPATH=str(site))


def test_constraints_pin_every_direct_dependency_within_its_range() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (line.split("#")[0].strip() for line in (ROOT / "constraints.txt").read_text().splitlines())
    pins = dict(line.lower().split("==") for line in lines if line)
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    for text in (text for group in groups for text in group):
        needed = Requirement(text)
        assert needed.specifier.contains(pins[needed.name.lower()]), text


def test_the_doctor_names_the_listed_debian_packages() -> None:
    lines = (ROOT / "packaging/debian-packages.txt").read_text(encoding="utf-8").splitlines()
    listed = [line.split("#")[0].strip() for line in lines]
    assert sorted(filter(None, listed)) == sorted([FONT_PACKAGE, *LIBRARIES.values()])


def test_links_show_checkers_the_installed_layout() -> None:
    shown = (ROOT / "packaging/typing/worldattention").iterdir()
    links = {path.name: path.resolve() for path in shown if path.name != "__pycache__"}
    root = {path.name: path for path in (ROOT / "packaging/root").iterdir() if path.is_file()}
    assert links == root | {folder: ROOT / folder for folder in FOLDERS}


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (None, "install Python 3.11 or newer"),
        ("exit 1", "Python 3.11 to 3.14 is needed"),
        ('case "$2" in *venv*) exit 1;; esac', "apt-get install python3-venv"),
    ],
)
def test_make_says_what_is_missing(script: str | None, says: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    if script is not None:
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
    done = subprocess.run(
        ["make", "--no-print-directory", "check", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode != 0
    assert says in done.stdout
    assert not (tmp_path / "venv").exists()
