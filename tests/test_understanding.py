"""What the prompt box knows: similarities, their threshold, and the command that measures it."""

import random

import numpy as np
import pytest
import torch

from tests.fakes_cli import FakeEngine
from tests.toy import HashEncoder
from worldattention.app.cli import main
from worldattention.core import loading
from worldattention.core.evaluation.understanding import best_threshold, measure_understanding, roc_area
from worldattention.core.evaluation.understanding_prompts import FREE_PARAPHRASES, OTHER_WORLDS
from worldattention.core.models.text import MiniLMEncoder
from worldattention.core.pocket.grammar import prompt_table, sentence
from worldattention.core.pocket.mentions import parse
from worldattention.core.pocket.prompts import LONGEST_TOKENS, SIMILARITY_KNOWN, understand
from worldattention.core.pocket.text import PocketTextEncoder
from worldattention.core.pocket.vocabulary import VOCABULARY
from worldattention.core.project import Project, save_project
from worldattention.core.timeline import Event, make_timeline


@pytest.fixture(scope="module")
def encoder():
    return MiniLMEncoder()


def test_area_and_threshold_against_plain_counting():
    rng = np.random.default_rng()
    inside, outside = rng.normal(1, 1, 40).round(1), rng.normal(0, 1, 30).round(1)
    pairs = [(a > b) + 0.5 * (a == b) for a in inside for b in outside]
    assert roc_area(inside, outside) == pytest.approx(sum(pairs) / len(pairs))
    found = best_threshold(inside, outside)

    def told_apart(threshold):
        return (inside >= threshold).mean() + (outside < threshold).mean()

    assert told_apart(found) == pytest.approx(max(told_apart(t) for t in np.linspace(-4, 5, 2000)))
    assert best_threshold([3.0, 4.0], [1.0, 2.0]) == 2.5


def test_prompts_of_this_world_and_of_others(encoder):
    for prompt in random.sample(prompt_table(), 8):
        found = understand(prompt, encoder)
        assert found.known
        assert found.notice is None
        assert found.similarity > SIMILARITY_KNOWN
        assert found.similarity <= 1 + 1e-5
    for prompt in ("a dragon flies over Tokyo", "a chef cooks pasta in a busy kitchen"):
        found = understand(prompt, encoder)
        assert not found.known
        assert found.notice.startswith("This world knows villages, beaches, mountains and cities")
        assert found.nearest in found.notice
        assert parse(found.nearest).missing == ()


def test_the_nearest_scene_of_a_prompt_that_names_nothing_is_the_most_similar(encoder):
    text = "two hounds trot beside their owner"
    found = understand(text, encoder)
    assert parse(text).named == {}
    assert parse(found.nearest).named["action"] == "dog"
    cosine = float(encoder.encode(text).pooled @ encoder.encode(found.nearest).pooled)
    assert found.similarity == pytest.approx(cosine)


def test_korean_is_as_near_as_its_english_sentence(encoder):
    pocket = PocketTextEncoder(encoder)
    text = "노란 옷을 입은 여자가 비 오는 날 도시에서 풍선을 들고 있다"
    english = pocket.understand(text).english
    assert torch.equal(pocket.encode(text).tokens, encoder.encode(english).tokens)
    assert pocket.understand(text).known
    assert encoder.encode(text).pooled @ encoder.encode(english).pooled < 0.4


def test_scenes_are_found_in_other_words(encoder):
    """The prompt index compares what prompts name: among other scenes, a paraphrase is nearest to its own."""
    pocket, rng = PocketTextEncoder(encoder), random.Random()
    scenes = [tuple(rng.randrange(len(values)) for values in VOCABULARY.values()) for _ in range(12)]
    scenes = list(dict.fromkeys(scenes))
    first, again = (
        torch.stack([pocket.encode(sentence(*scene, rng)).pooled for scene in scenes]) for _ in range(2)
    )
    assert ((again @ first.T).argmax(1) == torch.arange(len(scenes))).all()
    snowy, night, city = (
        pocket.encode(text).pooled
        for text in (
            "A woman in a yellow shirt walks a dog in a mountain meadow with pine trees while it is snowing.",
            "A man in a red shirt juggles fire torches in the mountains at night.",
            "A woman in a yellow shirt flies a kite in the city in the morning.",
        )
    )
    assert snowy @ night > snowy @ city + 0.1, "another person at the same place is nearer than she elsewhere"
    words = "A man in the city throws a ball during the day."
    assert torch.equal(pocket.encode(words).tokens, encoder.encode(words).tokens)


LONG = (
    "A man in a red shirt stands in a quiet village street on a warm day. He throws a shiny red ball high up and "
    "catches it again, while behind him three small houses with brown roofs stand between green trees, and a few "
    "white clouds drift over the blue sky."
)


@pytest.mark.parametrize("text", ["Zebras!", "a dragon over Tokyo", "A man walks. " * 100, LONG, LONG * 9])
def test_what_is_shown_instead_of_a_prompt_is_what_is_encoded(encoder, text):
    """Of words unlike those that it was taught the model makes no picture at all."""
    pocket = PocketTextEncoder(encoder)
    found = pocket.understand(text)
    assert not found.known
    assert found.nearest in found.notice
    assert torch.equal(pocket.encode(text).tokens, encoder.encode(found.nearest).tokens)
    assert torch.equal(pocket.encode(text).pooled, pocket.encode(found.nearest).pooled)


def test_a_long_prompt_is_read_by_what_it_names(encoder):
    found = understand(LONG, encoder)
    assert "longer" in found.notice
    assert found.nearest == "A man in a red shirt throws and catches a red ball in a village street."
    assert parse(found.nearest).missing == ("time", "weather")
    assert encoder.encode(found.nearest).length < LONGEST_TOKENS < encoder.encode(LONG).length


@pytest.mark.parametrize("text", ["ボールを投げる男", "Девушка на пляже с собакой", "海滩上的女人"])
def test_other_scripts_are_answered_with_one_sentence(encoder, text):
    found = understand(text, encoder)
    assert not found.known
    assert "English and Korean" in found.notice
    assert "\n" not in found.notice


@pytest.mark.parametrize("text", ["", " ", "\0", "😀" * 5000, "?" * 5000, "ㅋㅋㅋ"])
def test_garbage_is_no_prompt_of_this_world(text):
    found = understand(text, HashEncoder())
    assert found.notice is None or found.notice.count("\n") == 0
    assert (found.action, found.place, found.shirt) == (None, None, None)


def test_the_sets_do_not_touch_the_grammar():
    table = set(prompt_table())
    assert not table & {*FREE_PARAPHRASES, *OTHER_WORLDS}
    assert len(set(FREE_PARAPHRASES)) == len(FREE_PARAPHRASES) >= 30
    assert len(set(OTHER_WORLDS)) == len(OTHER_WORLDS) >= 50


def test_the_threshold_in_use_is_the_measured_one(encoder):
    report = measure_understanding(encoder, count=20)
    assert report.best_threshold == pytest.approx(SIMILARITY_KNOWN, abs=0.04)
    assert min(report.area, report.grammar, report.free, report.other) > 0.9


def test_prompts_of_another_world_are_told_before_they_are_rendered(monkeypatch, tmp_path, capsys):
    prompts = ("a dragon flies over Tokyo", "A woman flies a kite on the beach.", "a dragon flies over Tokyo")
    events = [Event(i + 1, 0.75 * i, 0.75 * (i + 1), prompt) for i, prompt in enumerate(prompts)]
    save_project(Project("Odd", timeline=make_timeline(events)), tmp_path / "w.world")
    engine = FakeEngine()
    engine.understand = understand
    monkeypatch.setattr(loading, "open_engine", lambda *arguments: engine)
    assert main(["render", str(tmp_path / "w.world"), "-o", "null"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("This world knows")]
    assert told == [understand(prompts[0]).notice]
