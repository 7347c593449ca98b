"""Typed prompts of the pocket world: how they go on, what is understood, Korean ones."""

import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldattention.core.pocket.grammar import prompt_table
from worldattention.core.pocket.korean import mentioned, to_english
from worldattention.core.pocket.korean_phrases import KOREAN_SLOTS
from worldattention.core.pocket.mentions import parse
from worldattention.core.pocket.prompts import complete, understand
from worldattention.core.pocket.vocabulary import VOCABULARY

TABLE = prompt_table()


@settings(deadline=None)
@given(st.integers(0, 24_191), st.floats(0, 1), st.booleans())
def test_every_prompt_is_completed_from_every_beginning(row, share, shout):
    prompt = TABLE[row].rstrip(".")
    typed = prompt[: round(share * len(prompt))]
    found = complete(typed.upper() if shout else typed, limit=6)
    assert 1 <= len(found) <= 6
    assert len(set(found)) == len(found)
    for whole in found:
        assert whole.lower().startswith(typed.lower())
        assert whole[0].isupper()
        assert whole.endswith(".")
        assert not {"sex", "shirt", "action", "place"} & set(parse(whole).missing)


def test_completions_differ_where_the_typing_stopped():
    assert {parse(p).named["shirt"] for p in complete("a woman in a ")} >= {"red", "blue", "green"}
    assert all("beach" in p for p in complete("a man in a red shirt flies a kite on the be"))
    assert {parse(p).named["action"] for p in complete("A lady in blue ")} == {
        *("ball", "ribbon", "torch", "kite", "dog", "wave", "balloon")
    }


@pytest.mark.parametrize("typed", ["a dragon", "x" * 10_000, "a man  flies", "\0", "용이"])
def test_what_is_not_of_the_grammar_has_no_completion(typed):
    assert complete(typed) == ()


@pytest.mark.parametrize(
    "typed", ["빨", "빨간 셔츠를 입은 남", "눈이 오는 날 ", "해변에서 노", "여자가 도시에서 연을", "밤에"]
)
def test_korean_is_completed_in_korean(typed):
    for text in (typed, unicodedata.normalize("NFD", typed)):
        found = complete(text)
        assert len(set(found)) == len(found) > 0
        for whole in found:
            assert whole.startswith(typed)
            named = mentioned(whole).named
            assert {"sex", "action", "place"} <= set(named)
            assert to_english(whole).isascii()


def test_every_korean_phrase_of_a_completion_is_understood():
    slots = {"wear": "shirt", "subject": "sex"}
    for slot, phrases in KOREAN_SLOTS.items():
        name = slots.get(slot, slot)
        found = {mentioned(phrase).named.get(name) for phrase in phrases}
        assert found == set(VOCABULARY[name])


def test_completing_is_quick():
    beginnings = ["", "a", "in", "a man in a red shirt", "On the beach, a w", "x" * 100_000]
    complete("a")
    best = min(_seconds(beginnings) for _ in range(10))
    assert best / len(beginnings) < 0.005


def _seconds(texts):
    start = time.perf_counter()
    for text in texts:
        complete(text)
    return time.perf_counter() - start


def test_the_korean_example():
    text = "빨간 셔츠를 입은 남자가 해변에서 공을 던진다, 해질녘"
    for typed in (text, unicodedata.normalize("NFD", text)):
        english = to_english(typed)
        assert english == "A man in a red shirt throws and catches a red ball on the beach at sunset."
    found = understand(text)
    assert (found.action, found.place, found.time, found.shirt, found.sex) == (
        *("ball", "beach", "dusk", "red", "man"),
    )
    assert found.weather is None
    assert found.known
    assert found.notice is None


def test_a_prompt_of_another_world_gets_one_sentence():
    found = understand("a dragon flies over Tokyo")
    assert not found.known
    assert found.notice.count("\n") == 0
    assert found.nearest in found.notice
    assert parse(found.nearest).missing == ()
