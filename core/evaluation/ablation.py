"""The paper's tables in small: recall by attention mode, by retrieval policy, by width of the first stage.

All modes run the same episodes, so differences are paired. A history is made once for each attention mode and
forked for each way to come back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from worldattention.core.errors import UserError
from worldattention.core.evaluation.recall import (
    POLICIES,
    Progress,
    Reader,
    RecallSettings,
    evaluate_recall,
    width_name,
)
from worldattention.core.evaluation.recall_report import RecallReport, paired, report_of_records
from worldattention.core.evaluation.records import NO_RECORDS, Record, Recorder
from worldattention.core.evaluation.statistics import Estimate
from worldattention.core.evaluation.worlds import Worlds

WIDTHS = (1, 2, 3)
MODES = ("hsa", "dense", "linear", "sparse")


@dataclass(frozen=True, slots=True)
class AblationReport:
    """One recall report an attention mode; the main mode's holds all policies and widths."""

    by_attention: dict[str, RecallReport]
    minus: dict[str, Estimate]

    def to_json(self) -> dict[str, Any]:
        """`attention`, `retrieval`, `stage1_width`, each of name -> estimate; `hsa_minus` of mode -> estimate."""
        main = self._main
        return {
            "attention": {
                mode: report.estimates["hkv"].to_json() for mode, report in self.by_attention.items()
            },
            "hsa_minus": {mode: estimate.to_json() for mode, estimate in self.minus.items()},
            "retrieval": {
                name: estimate.to_json()
                for name, estimate in main.estimates.items()
                if name not in map(width_name, WIDTHS)
            },
            "stage1_width": {
                str(width): main.estimates[width_name(width)].to_json()
                for width in WIDTHS
                if width_name(width) in main.estimates
            },
            "about": main.to_json()["about"],
        }

    def to_markdown(self) -> str:
        """Two tables for people."""
        first = next(iter(self.by_attention))
        lines = [
            f"Attention, retrieval hkv, {self._main.episodes} episodes",
            "",
            f"| attention | accuracy | 95 % interval | {first} minus it | 95 % interval | variety |",
            "|---|---|---|---|---|---|",
        ]
        for mode, report in self.by_attention.items():
            estimate = report.estimates["hkv"]
            row = [mode, f"{estimate.accuracy:.3f}", f"{estimate.low:.3f} to {estimate.high:.3f}"]
            minus = self.minus.get(mode)
            row += [f"{minus.accuracy:+.3f}", f"{minus.low:+.3f} to {minus.high:+.3f}"] if minus else ["", ""]
            lines.append(f"| {' | '.join(row)} | {report.variety:.2f} |")
        return "\n".join([*lines, "", self._main.to_markdown()])

    @property
    def _main(self) -> RecallReport:
        return self.by_attention[next(iter(self.by_attention))]


def evaluate_ablation(
    worlds: Worlds,
    reader: Reader,
    settings: RecallSettings,
    modes: tuple[str, ...] = MODES,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
    recorder: Recorder = NO_RECORDS,
) -> AblationReport:
    """Every mode of `modes` over the same episodes; the first one with all policies and widths.

    Raises:
        UserError: nothing could be read, or the model lacks what a mode needs.
        Cancelled: `cancel` said so.
    """
    plans = [replace(settings, attention=modes[0], policies=POLICIES, widths=WIDTHS)]
    plans += [replace(settings, attention=mode, policies=("hkv",), widths=()) for mode in modes[1:]]
    total, before = sum(plan.blocks for plan in plans), 0
    reports = {}
    for plan in plans:

        def advance(done: int, _: int, before: int = before) -> None:
            if progress is not None:
                progress(before + done, total)

        reports[str(plan.attention)] = evaluate_recall(worlds, reader, plan, advance, cancel, recorder)
        before += plan.blocks
    return _compare(reports)


def ablation_of_records(records: Sequence[Record]) -> AblationReport:
    """The report of kept returns, of any attention modes: `hsa` first, if it is among them.

    Raises:
        UserError: none of them recalled by `hkv`, or they differ in their seed.
    """
    found = {record["attention"] for record in records if record["variant"] == "hkv"}
    if not found:
        raise UserError(
            "None of these records is of retrieval hkv: give files of --records of one evaluation."
        )
    return _compare(
        {
            mode: report_of_records([record for record in records if record["attention"] == mode])
            for mode in MODES
            if mode in found
        }
    )


def _compare(reports: dict[str, RecallReport]) -> AblationReport:
    main, *others = reports
    minus = {}
    for mode in others:
        difference = paired(reports[main].hits["hkv"], reports[mode].hits["hkv"], reports[main].seed)
        if difference is not None:
            minus[mode] = difference
    return AblationReport(reports, minus)
