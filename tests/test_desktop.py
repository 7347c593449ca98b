"""What a Linux desktop reads of us: the entry, the description, the file type and the icon."""

import configparser
import re
import shutil
import subprocess
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from worldattention import __version__
from worldattention.app import icons
from worldattention.app.project_files import SUFFIX
from worldattention.core.project import new_project, save_project

ROOT = Path(__file__).resolve().parents[1]
LINUX = ROOT / "packaging/linux"
MIME = "application/vnd.worldattention.world+json"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
KNOWN_KEYS = {
    *("Type", "Version", "Name", "GenericName", "Comment", "Exec", "Icon", "Terminal", "StartupNotify"),
    *("StartupWMClass", "MimeType", "Categories", "Keywords"),
}
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
FREEDESKTOP = "{http://www.freedesktop.org/standards/shared-mime-info}"


def entry() -> dict[str, str]:
    """The desktop entry, read strictly: one group, no key twice, keys as they are written."""
    parser = configparser.RawConfigParser(strict=True, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str
    parser.read_string((LINUX / f"{icons.APP_ID}.desktop").read_text(encoding="utf-8"))
    assert parser.sections() == ["Desktop Entry"]
    return dict(parser["Desktop Entry"])


def metainfo() -> ElementTree.Element:
    return ElementTree.parse(LINUX / f"{icons.APP_ID}.metainfo.xml").getroot()


def mime_type() -> ElementTree.Element:
    [found] = ElementTree.parse(LINUX / f"{icons.APP_ID}.xml").getroot()
    return found


def test_the_entry_starts_the_program_with_a_file() -> None:
    keys = entry()
    assert keys["Type"] == "Application"
    assert keys["Terminal"] == "false"
    command, argument = keys["Exec"].split()
    assert command in PYPROJECT["scripts"]
    assert argument == "%f"
    assert keys["MimeType"] == f"{MIME};"
    assert keys["Icon"] == icons.APP_ID


def test_the_entry_has_only_keys_of_the_specification_and_each_translation_has_its_english() -> None:
    for key, value in entry().items():
        match = re.fullmatch(r"([A-Za-z]+)(\[ko\])?", key)
        assert match, key
        assert match.group(1) in KNOWN_KEYS
        assert match.group(1) in entry()
        assert value == value.strip() != ""
        if match.group(1) in ("Categories", "Keywords", "MimeType"):
            assert value.endswith(";")
    for key in ("GenericName", "Comment", "Keywords"):
        assert f"{key}[ko]" in entry()


def test_the_description_names_what_there_is() -> None:
    root = metainfo()
    assert root.tag == "component"
    assert root.get("type") == "desktop-application"
    assert root.findtext("id") == icons.APP_ID
    assert root.findtext("launchable") == f"{icons.APP_ID}.desktop"
    assert root.findtext("project_license") == PYPROJECT["license"]
    assert root.findtext("provides/binary") in PYPROJECT["scripts"]
    assert root.findtext("provides/mediatype") == MIME
    assert root.findtext("name") == entry()["Name"]
    releases = [release.get("version") for release in root.findall("releases/release")]
    assert releases[0] == __version__
    summary = root.findtext("summary", "")
    assert 10 <= len(summary) <= 60
    assert not summary.endswith(".")


def test_every_paragraph_of_the_description_is_there_in_korean() -> None:
    description = metainfo().find("description")
    assert description is not None
    assert {part.tag for part in description.iter()} == {"description", "p", "ul", "li"}
    for kind in ("p", "li"):
        parts = list(description.iter(kind))
        assert [part.get(LANGUAGE) for part in parts] == [None, "ko"] * (len(parts) // 2)


def test_the_file_type_is_that_of_the_projects_that_are_saved(tmp_path: Path) -> None:
    found = mime_type()
    assert found.get("type") == MIME
    [pattern] = found.findall(f"{FREEDESKTOP}glob")
    assert pattern.get("pattern") == f"*{SUFFIX}"
    match = found.find(f"{FREEDESKTOP}magic/{FREEDESKTOP}match")
    assert match is not None
    value, (first, last) = match.get("value", ""), map(int, match.get("offset", "").split(":"))
    saved = tmp_path / "new.world"
    save_project(new_project(), saved)
    for path in (saved, *(ROOT / "assets/samples").glob(f"*{SUFFIX}")):
        at = path.read_bytes().find(value.encode())
        assert first <= at <= last, path


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("desktop-file-validate", [LINUX / f"{icons.APP_ID}.desktop"]),
        ("appstreamcli", ["validate", "--no-net", LINUX / f"{icons.APP_ID}.metainfo.xml"]),
    ],
)
def test_the_validators_agree_where_they_are_installed(tool: str, arguments: list[str | Path]) -> None:
    if shutil.which(tool) is not None:
        done = subprocess.run([tool, *arguments], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def render(side: int) -> QImage:
    image = QImage(side, side, QImage.Format.Format_ARGB32)
    image.fill(0)
    painter = QPainter(image)
    icons.app_icon().paint(painter, image.rect())
    painter.end()
    return image


@pytest.mark.parametrize("side", [16, 32, 64, 256])
def test_the_icon_shows_a_ball_on_a_page_at_every_size(qapp, side: int) -> None:
    image = render(side)
    assert image.pixelColor(0, 0).alpha() < 40  # rounded corners
    ball, sky = (image.pixelColor(round(x * side), round(y * side)) for x, y in ((0.6, 0.6), (0.8, 0.45)))
    assert ball.alpha() == sky.alpha() == 255
    assert ball.red() > ball.blue() + 60
    assert sky.blue() > sky.red() + 60


def test_the_icon_is_a_plain_drawing() -> None:
    """Nothing that is fetched, run, or drawn by browsers only."""
    path = ROOT / "assets/icons" / f"{icons.APP_ID}.svg"
    root = ElementTree.parse(path).getroot()
    assert root.get("viewBox") == "0 0 256 256"
    tags = {part.tag.split("}")[1] for part in root.iter()}
    assert tags <= {"svg", "defs", "linearGradient", "radialGradient", "stop", "rect", "circle", "path"}
    assert "href" not in path.read_text(encoding="utf-8")
    assert QSvgRenderer(str(path)).isValid()
