"""Prompts of the pocket world: order, variety, and reading them back."""

import itertools
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from worldattention.core.pocket import grammar
from worldattention.core.pocket.grammar import PARAPHRASES, prompt_index, prompt_table, sentence
from worldattention.core.pocket.mentions import parse
from worldattention.core.pocket.scenes import sample_scenes
from worldattention.core.pocket.vocabulary import VOCABULARY

NAMES = ("sex", "shirt", "action", "place", "time", "weather")
UNSAID = {("time", 0), ("weather", 0)}  # day and clear weather need not be said


def assert_names(text, scene):
    found = parse(text)
    for name, value in zip(NAMES, scene, strict=True):
        read = getattr(found, name)
        assert read == value or (read is None and (name, value) in UNSAID), (text, name, read)


def test_every_prompt_reads_back():
    table = prompt_table()
    scenes = list(itertools.product(range(2), range(8), range(7), range(4), range(3), range(3)))
    assert len(table) == len(scenes) * PARAPHRASES
    for i in range(random.randrange(5), len(table), 5):
        assert_names(table[i], scenes[i // PARAPHRASES])


@given(st.tuples(*(st.integers(0, len(VOCABULARY[n]) - 1) for n in NAMES)), st.integers(0, 2**32))
def test_every_sentence_reads_back(scene, seed):
    assert_names(sentence(*scene, random.Random(seed)), scene)


def test_prompt_index_points_at_the_scene():
    table = prompt_table()
    scene = sample_scenes(50, 3, torch.Generator().manual_seed(2), "cpu")
    for segment in range(3):
        index = prompt_index(scene, segment, torch.arange(50) % PARAPHRASES)
        for b, i in enumerate(index.tolist()):
            assert_names(table[i], [getattr(scene, n)[b, segment].item() for n in NAMES])
            assert i % PARAPHRASES == b % PARAPHRASES


def test_the_table_is_seeded_and_varied():
    table = prompt_table()
    assert table == prompt_table()
    assert table != prompt_table(seed=1)
    assert len(set(table)) > 0.98 * len(table)
    for phrases in (grammar.SUBJECTS, grammar.DOES.values(), grammar.WHERE.values()):
        assert all(len(set(p)) >= 4 for p in phrases)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            "a guy in red juggles on the beach",
            {"sex": "man", "shirt": "red", "action": "torch", "place": "beach"},
        ),
        ("A WOMAN\tWITH A PUPPY downtown", {"sex": "woman", "action": "dog", "place": "city"}),
        ("snowy peaks at dawn", {"place": "mountain"}),
        ("snowfall in the village street", {"weather": "snow", "place": "village"}),
        ("a red ball", {"action": "ball"}),
        ("he waves a ribbon", {"sex": "man", "action": "ribbon"}),
        ("a dragon flies over Tokyo", {}),
        ("", {}),
        ("\0😀" * 50_000, {}),
    ],
)
def test_typed_prompts(text, named):
    found = parse(text)
    assert found.named == named
    assert set(found.missing) == set(NAMES) - set(named)
