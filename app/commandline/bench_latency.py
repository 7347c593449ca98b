"""`worldattention bench latency`: from Enter to the picture, in the window itself."""

from __future__ import annotations

import argparse

from worldattention.app.commandline import console
from worldattention.app.commandline.options import Options
from worldattention.app.commandline.window import choose_platform


def run(arguments: argparse.Namespace, options: Options) -> int:
    """Times and reports. Raises UserError."""
    choose_platform(offscreen_will_do=True)
    from worldattention.app.window_run import measure  # the only bench that needs a window

    report = measure(options, arguments.repeats)
    record = report.to_json()
    if options.json:
        console.say_json(record)
        return 0
    for seconds, gap in zip(report.seconds, report.gaps, strict=True):
        console.say(f"{seconds:.2f} s; longest gap {gap}")
    console.say(
        f"Enter to picture: median {record['median_s']:.2f} s of {record['n']}, worst {record['worst_s']:.2f} s; "
        f"longest gap between frames meanwhile {record['longest_gap_s']:.3f} s"
    )
    return 0
