"""`worldattention doctor`: what will run where, and why."""

from __future__ import annotations

import argparse
from itertools import groupby
from typing import TYPE_CHECKING

from worldattention.app.commandline import console
from worldattention.app.commandline.options import Options
from worldattention.core.errors import UserError

if TYPE_CHECKING:
    from worldattention.core.doctor import Finding

HELP = "check this machine: what will run where and why, and what is missing"
USAGE = ""
_MARKS = {"ok": "+", "note": " ", "warning": "!", "failed": "x"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """This command has no arguments of its own."""


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Examines and reports. Raises UserError when worlds cannot be made here."""
    from worldattention.core.doctor import examine
    from worldattention.core.project import ProjectSettings

    config = options.engine_config(ProjectSettings())
    findings = examine(options.model, options.device, config)
    failed = [finding for finding in findings if finding.status == "failed"]
    if options.json:
        report = {"ok": not failed, "findings": [finding.to_json() for finding in findings]}
        console.say_json(report)
    else:
        for area, lines in groupby(findings, key=lambda finding: finding.area):
            console.say(area)
            for line in lines:
                console.say(f"  {_MARKS[line.status]} {line.name}: {line.text}")
        console.say(_verdict(findings))
    if failed:
        names = ", ".join(f"{finding.area} {finding.name}" for finding in failed)
        raise UserError(f"Worlds cannot be made here until this is repaired: {names}.")
    return 0


def _verdict(findings: list[Finding]) -> str:
    """The last line: what all of it comes to, and what the marks say."""
    found = {finding.status for finding in findings}
    if "failed" in found:
        return "(+ works, ! works in part, x does not work)"
    place = next(finding.text for finding in findings if finding.name == "chosen").partition(" (")[0]
    parts = "; where ! stands, something is missing" if "warning" in found else ""
    return f"Worlds can be made here, on {place}{parts}."
