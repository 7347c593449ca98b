"""The time of a stage, agreed among processes: every process sees the same progress at the same step."""

from __future__ import annotations

import json
import time
from pathlib import Path

from tqdm import tqdm

from worldattention.core.pocket.training.distributed import Group

_AGREE_EVERY = 10


class StageClock:
    """Counts seconds from the first `progress` on, so that compilation before it is not training time.

    With `steps`, progress is counted in steps instead (toy runs, tests).
    """

    def __init__(
        self,
        name: str,
        seconds: float,
        group: Group,
        steps: int = 0,
        done: float = 0.0,
        curve: Path | None = None,
        deadline: float | None = None,
    ) -> None:
        """`done`: the share of the stage that was trained before an interruption; `curve`: a file that gets every
        reported loss as a line of JSON, at once, so that nothing that ends a run takes the curve with it;
        `deadline`: the `time.time()` by which the stage has to end: it is shortened as a whole, so that what
        falls towards its end, such as a learning rate, still does."""
        self._deadline = deadline
        self._name, self._curve = name, curve
        self._seconds, self._group, self._steps = seconds, group, steps
        self._start: float | None = None
        self._before = done
        self._known = done
        self._pace = 0.0
        self._latest = done
        self._since = 0
        self.step = 0
        self.log: list[tuple[float, int, float]] = []
        self._bar = tqdm(
            total=100, desc=name, unit="%", disable=not group.leads, mininterval=5, initial=round(100 * done)
        )

    @property
    def elapsed(self) -> float:
        """Seconds of training in this process."""
        return 0.0 if self._start is None else time.monotonic() - self._start

    def progress(self) -> float:
        """The share of the stage that is done, 0..1; call once a step."""
        share = self.step / self._steps if self._steps else self._timed()
        self.step, self._latest = self.step + 1, max(self._latest, share)
        self._bar.update(max(0, round(100 * min(share, 1)) - self._bar.n))
        return min(share, 1.0)

    def _timed(self) -> float:
        if self._start is None:
            self._start = time.monotonic()
            if self._deadline is not None:
                left = max(self._deadline - time.time(), 0.0)
                self._seconds = min(self._seconds, left / max(1 - self._before, 1e-9))
        if self.step % _AGREE_EVERY == 0:
            own = self._before + self.elapsed / max(self._seconds, 1e-9)
            agreed = self._group.agree(own)
            self._pace = (agreed - self._known) / max(self._since, 1)
            self._known, self._since = agreed, 0
        share = max(self._known + self._pace * self._since, self._latest)
        self._latest = share
        self._since += 1
        return share

    def restart(self) -> None:
        """Count from now on: what was before was compilation."""
        self._start = None

    def report(self, loss: float, **more: float) -> None:
        """Show and keep a loss; rank 0's."""
        self.log.append((round(self.elapsed, 1), self.step, float(f"{loss:.6g}")))
        if self._curve is not None and self._group.leads:
            seconds, step, value = self.log[-1]
            line = {"stage": self._name, "seconds": seconds, "step": step, "progress": round(self._latest, 4)}
            line |= {"loss": value} | {key: round(figure, 6) for key, figure in more.items()}
            with self._curve.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        self._bar.set_postfix(loss=f"{loss:.4f}", step=self.step, **{k: f"{v:.4g}" for k, v in more.items()})

    def close(self) -> None:
        """End the bar."""
        self._bar.close()
