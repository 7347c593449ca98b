"""Events in words: tooltips, and what a screen reader says of the painted timeline."""

from __future__ import annotations

from worldattention.app.texts import translate
from worldattention.app.timeline.layout import clock
from worldattention.app.timeline.model import TimelineModel
from worldattention.core.timeline import Event


def event_words(event: Event) -> str:
    """When and what."""
    return f"{clock(event.start, True)} – {clock(event.end, True)}\n{event.prompt}"


def states() -> tuple[str, str, str]:
    """Past, under way and to come, in words."""
    return (
        translate("EventTable", "made"),
        translate("EventTable", "being made"),
        translate("EventTable", "to come"),
    )


def state_of(event: Event, locked: float) -> int:
    """Which of `states` an event is in, when the past ends at `locked`."""
    return 0 if event.end <= locked else 1 if event.start < locked else 2


def selection_words(model: TimelineModel) -> str:
    """What is selected; without a selection, what there is."""
    timeline, selected = model.timeline, model.selected
    if selected is None:
        return translate(
            "TimelineView",
            "{0} prompt events; Page Up and Page Down select one. "
            "The tab Table holds the same events as a table.",
        ).format(len(timeline.events))
    words = translate("TimelineView", "Event {0} of {1}, {2} to {3}, {4}: {5}").format(
        timeline.index(selected) + 1,
        len(timeline.events),
        clock(selected.start, True),
        clock(selected.end, True),
        states()[state_of(selected, model.locked)],
        selected.prompt[:300],
    )
    if len(model.selection) > 1:
        words += translate("TimelineView", "; {0} events are selected").format(len(model.selection))
    return words
