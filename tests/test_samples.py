"""The sample worlds: sound, written as we write, and each shows what it is for."""

from pathlib import Path

import pytest

from worldattention.core.project import load_project, project_to_json
from worldattention.core.render import RenderJob

SAMPLES = sorted((Path(__file__).parents[1] / "assets" / "samples").glob("*.world"))


def test_there_are_at_least_four():
    assert len(SAMPLES) >= 4
    assert len({load_project(path).name for path in SAMPLES}) == len(SAMPLES)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_each_is_sound_and_canonical(path):
    project = load_project(path)
    RenderJob(project, None).check()
    assert path.read_text(encoding="utf-8") == project_to_json(project)
    assert project.duration == project.timeline.seconds
    assert project.settings.retrieval == "hkv"
    starts = [event.start for event in project.timeline.events]
    assert starts == [0.0, *(event.end for event in project.timeline.events[:-1])]  # no holes


def test_red_ball_returns_in_other_words_after_a_minute():
    project = load_project(next(path for path in SAMPLES if path.stem == "red_ball"))
    events = project.timeline.events
    assert [event.seconds for event in events] == [10.0] * 6
    first, last = events[0].prompt.lower(), events[-1].prompt.lower()
    assert first != last
    for word in ("man", "red shirt", "red ball", "village"):
        assert word in first
        assert word in last
    assert all("village" not in event.prompt.lower() for event in events[1:-1])
