"""The colours of the two themes, and how legible one is on another. No Qt in here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Colours:
    """What each colour is for, as `#rrggbb`."""

    window: str
    panel: str
    raised: str
    hover: str
    line: str
    stripe: str
    """Every second row of a table."""
    text: str
    muted: str
    faint: str
    """The quietest text that is still read."""
    disabled: str
    accent: str
    accent_hover: str
    on_accent: str
    recall: str
    good: str
    warning: str
    danger: str
    device: str
    dram: str
    disk: str
    dropped: str
    context: str
    decode: str


DARK = Colours(
    window="#0e1116",
    panel="#151a21",
    raised="#1d242e",
    hover="#273140",
    line="#27303c",
    stripe="#181e26",
    text="#e8ecf2",
    muted="#93a0b4",
    faint="#8591a5",
    disabled="#5f6c80",
    accent="#6ea8fe",
    accent_hover="#8bbaff",
    on_accent="#081120",
    recall="#ffb454",
    good="#7fd99a",
    warning="#ffd166",
    danger="#ff7a7a",
    device="#6ea8fe",
    dram="#7fd99a",
    disk="#c49bff",
    dropped="#7b8799",
    context="#3f9c94",
    decode="#d787b0",
)
LIGHT = Colours(
    window="#f1f4f8",
    panel="#ffffff",
    raised="#e6ebf2",
    hover="#d8e0eb",
    line="#cdd6e2",
    stripe="#f6f8fb",
    text="#18202b",
    muted="#4d596b",
    faint="#58647a",
    disabled="#8e99aa",
    accent="#1f5fc4",
    accent_hover="#174ea6",
    on_accent="#ffffff",
    recall="#9a4f00",
    good="#176a35",
    warning="#7d5700",
    danger="#b3202b",
    device="#1f5fc4",
    dram="#176a35",
    disk="#7339bd",
    dropped="#66718a",
    context="#137a70",
    decode="#b0487f",
)


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb` in 0..1 (WCAG 2.2)."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1..21 (WCAG 2.2); text needs 4.5, lines and marks 3."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
