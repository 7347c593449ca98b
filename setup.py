"""Maps each top-level folder to `worldattention.<folder>`.

Installed under their own bare names, `core` and `kernels` would shadow other people's packages.
All else is in pyproject.toml.
"""

import re
from pathlib import Path

from setuptools import find_packages, setup

FOLDERS = ("app", "assets", "core", "kernels")
APP_ID = "io.github.worldattention.Playground"
LINUX = "packaging/linux"
DESKTOP_FILES = [  # where the freedesktop.org specifications look below a prefix such as ~/.local
    ("share/applications", [f"{LINUX}/{APP_ID}.desktop"]),
    ("share/metainfo", [f"{LINUX}/{APP_ID}.metainfo.xml"]),
    ("share/mime/packages", [f"{LINUX}/{APP_ID}.xml"]),
    ("share/icons/hicolor/scalable/apps", [f"assets/icons/{APP_ID}.svg"]),
]
NOT_INSTALLED = ("evaluation", "evaluation.*")  # of assets: the reader of ground truth is for checkouts


def packages_in(folder: str) -> list[str]:
    exclude = NOT_INSTALLED if folder == "assets" else ()
    below = [f"worldattention.{folder}.{name}" for name in find_packages(folder, exclude=exclude)]
    return [f"worldattention.{folder}", *below]


def version() -> str:
    path = Path("packaging", "root", "__init__.py")
    text = path.read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    assert found, f"{path} names no version"
    return found.group(1)


setup(
    version=version(),
    packages=["worldattention", *(name for folder in FOLDERS for name in packages_in(folder))],
    package_dir={
        "worldattention": "packaging/root",
        **{f"worldattention.{folder}": folder for folder in FOLDERS},
    },
    package_data={
        "worldattention": ["py.typed", "debian-packages.txt"],
        **{f"worldattention.{folder}": ["**/*"] for folder in FOLDERS},
    },
    exclude_package_data={
        "": ["*.py[cod]", "**/__pycache__/*"],
        "worldattention.assets": ["evaluation/*", "evaluation/**/*"],
    },
    include_package_data=False,
    data_files=DESKTOP_FILES,
)
