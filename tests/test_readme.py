"""README and DESIGN hold: the example is a project, commands and options exist, and so does all that is cited."""

import re
from pathlib import Path

from worldattention.app import cli
from worldattention.app.commandline.options import Parser, common_options
from worldattention.core.config import ATTENTION_MODES, RETRIEVAL_POLICIES
from worldattention.core.project import project_from_json
from worldattention.core.render import RenderJob

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_is_a_project():
    (example,) = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    RenderJob(project_from_json(example), None).check()


def test_commands_exist():
    named = set(re.findall(r"`worldattention ([a-z]+)", TEXT))
    assert named == set(cli.COMMANDS)


def test_options_exist():
    known = {"--no-install-recommends", "--version"}
    for name in (*cli.COMMANDS, "window"):
        parser = Parser(parents=[common_options()])
        cli._module(name).add_arguments(parser)
        known |= {option for action in parser._actions for option in action.option_strings}
    assert set(re.findall(r"--[a-z][a-z-]+", TEXT)) <= known


def test_modes_and_policies_are_the_real_ones():
    policies = re.search(r"`--retrieval (\w+)`, `(\w+)`, `(\w+)`, `(\w+)` or `(\w+)`", TEXT)
    modes = re.search(r"`--attention (\w+)`, `(\w+)` or `(\w+)`", TEXT)
    assert policies is not None
    assert modes is not None
    assert {*policies.groups(), "hkv"} == set(RETRIEVAL_POLICIES)
    assert {*modes.groups(), "hsa"} == set(ATTENTION_MODES)


def test_targets_of_make_and_paths_are_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^    make (\w+)", TEXT, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    for path in re.findall(r"[`(]((?:assets|packaging|app|core|kernels)/[\w./-]*)[`)]", TEXT):
        assert (ROOT / path).exists(), path


def test_every_cited_section_and_case_is_there():
    """`DESIGN 3` in a comment, `CASES 7`, and `case_07` in a test's name lead to something that can be read."""
    design = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    sections = set(re.findall(r"^## (\d+)\.", design, re.MULTILINE))
    cases = set(re.findall(r"^\| (\d+) \|", design, re.MULTILINE))
    folders = ("app", "core", "kernels", "tests")
    texts = [path.read_text(encoding="utf-8") for folder in folders for path in (ROOT / folder).rglob("*.py")]
    numbers = re.findall(r"DESIGN (?:section )?(\d+(?:(?:,| and) \d+)*)", "\n".join(texts))
    cited = {number for group in numbers for number in re.findall(r"\d+", group)}
    assert cited
    assert cited <= sections
    held = {str(int(number)) for text in texts for number in re.findall(r"(?:case_|CASES )(\d+)", text)}
    assert held
    assert held <= cases
