"""Korean prompts of the pocket world: every attribute in several phrasings, with particles and endings."""

import random
import unicodedata

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from worldattention.core.models.text import TextEncoding
from worldattention.core.pocket.korean import describe, is_korean, parse_korean, to_english
from worldattention.core.pocket.mentions import parse
from worldattention.core.pocket.text import PocketTextEncoder
from worldattention.core.pocket.vocabulary import VOCABULARY

PHRASINGS = {
    "sex": {
        "man": ["남자가", "한 남자는", "젊은 남성이", "소년이", "아저씨가", "어떤 남자 한 명이"],
        "woman": ["여자가", "한 여자는", "젊은 여성이", "소녀가", "아가씨가", "여인 한 명이"],
    },
    "shirt": {
        "red": [
            "빨간 셔츠를 입은",
            "빨간색 셔츠를 입은",
            "붉은 옷을 입은",
            "빨강 티셔츠 차림의",
            "빨간 옷의",
        ],
        "blue": ["파란 셔츠를 입은", "파란색 티를 입은", "푸른 상의를 걸친", "파랑 셔츠의"],
        "green": ["초록색 셔츠를 입은", "녹색 옷을 입은", "초록 티셔츠를 입은"],
        "yellow": ["노란 셔츠를 입은", "노란색 상의를 입은", "샛노란 옷을 입은", "노랑 티셔츠 차림의"],
        "white": ["하얀 셔츠를 입은", "흰 셔츠를 입은", "흰색 옷을 입은", "하얀색 스웨터를 입은"],
        "purple": ["보라색 셔츠를 입은", "보랏빛 옷을 입은", "자주색 셔츠 차림의"],
        "orange": ["주황색 셔츠를 입은", "오렌지색 옷을 입은", "주황 티셔츠를 입은"],
        "black": ["검은 셔츠를 입은", "검은색 옷을 입은", "까만 티셔츠를 입은", "검정 상의를 입은"],
    },
    "action": {
        "ball": [
            "공을 던진다",
            "공을 던지고 받는다",
            "빨간 공을 던지고 있다",
            "공놀이를 한다",
            "공 던지기를 한다",
        ],
        "ribbon": ["리본을 돌린다", "리본을 흔든다", "긴 리본으로 춤춘다", "리본 체조를 한다"],
        "torch": ["횃불을 저글링한다", "횃불 세 개를 던진다", "불쇼를 한다", "불타는 횃불로 저글링을 한다"],
        "kite": ["연을 날린다", "연날리기를 한다", "하늘에 연을 날리고 있다", "연 날리기를 즐긴다"],
        "dog": ["개를 산책시킨다", "강아지와 산책한다", "개와 함께 걷는다", "강아지를 데리고 걷는다"],
        "wave": ["손을 흔든다", "인사한다", "손을 들어 인사를 한다", "카메라에 손을 흔들고 있다"],
        "balloon": ["풍선을 들고 있다", "큰 풍선을 잡고 서 있다", "풍선과 논다"],
    },
    "place": {
        "village": ["마을에서", "마을 길에서", "작은 마을의 집 앞에서", "시골 마을에서"],
        "beach": ["해변에서", "바닷가에서", "바다 앞에서", "등대 옆 모래사장에서", "해변가에서"],
        "mountain": ["산에서", "산속에서", "산속 오두막 앞에서", "높은 산 아래에서"],
        "city": ["도시에서", "도시의 거리에서", "시내에서", "빌딩 사이에서", "도심에서"],
    },
    "time": {
        "day": ["낮에", "한낮에", "아침에", "대낮에", "오후에"],
        "dusk": ["해질녘", "해 질 녘에", "해질 무렵에", "노을이 질 때", "저녁에", "석양에"],
        "night": ["밤에", "한밤중에", "깊은 밤", "달빛 아래", "밤하늘 아래"],
    },
    "weather": {
        "clear": ["맑은 날", "맑은 하늘 아래", "날씨가 화창하다", "맑게 갠 하늘"],
        "snow": ["눈이 온다", "눈이 내리는 날", "눈 오는 날에", "눈 속에서", "함박눈이 내린다"],
        "rain": ["비가 온다", "비 오는 날", "비가 내리는 날에", "빗속에서", "소나기가 내린다"],
    },
}


@pytest.mark.parametrize("attribute", PHRASINGS)
def test_every_value_is_understood_in_several_phrasings(attribute):
    assert set(PHRASINGS[attribute]) == set(VOCABULARY[attribute])
    for value, phrases in PHRASINGS[attribute].items():
        for phrase in phrases:
            for text in (phrase, unicodedata.normalize("NFD", phrase), f"  {phrase}\n"):
                assert parse_korean(text).named[attribute] == value, phrase


def sentence(scene, rng):
    """A whole sentence, the pieces in one of the orders that Korean allows."""
    words = {name: rng.choice(PHRASINGS[name][value]) for name, value in scene.items()}
    actor = f"{words['shirt']} {words['sex']}"
    orders = (
        f"{actor} {words['place']} {words['action']}, {words['weather']} {words['time']}",
        f"{words['time']} {words['place']} {actor} {words['action']}. {words['weather']}.",
        f"{words['weather']}, {words['time']}, {actor} {words['place']} {words['action']}!",
        f"{words['place']} {actor} {words['action']} - {words['time']}, {words['weather']}",
    )
    return rng.choice(orders)


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_whole_sentences_become_the_sentence_of_the_grammar(seed):
    rng = random.Random(seed)
    scene = {name: rng.choice(values) for name, values in VOCABULARY.items()}
    text = sentence(scene, rng)
    assert parse_korean(text).named == scene, text
    english = to_english(text)
    assert parse(english).named == scene
    assert english.isascii()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("공원에서 공연을 한다", {}),  # a park and a show are no balls, and a show is no kite
        ("세 개의 별", {}),  # a counter is no dog
        ("연기가 난다", {}),  # smoke is no kite
        ("산책", {"action": "dog"}),
        ("눈을 감은 여자", {"sex": "woman"}),  # eyes are no snow
        ("빨간 공을 던지는 여자", {"sex": "woman", "action": "ball"}),  # the ball is red, not the shirt
        ("해변", {"place": "beach"}),
        ("a woman with a kite 해변에서", {"sex": "woman", "action": "kite", "place": "beach"}),
        ("용이 하늘을 난다", {}),
        ("", {}),
    ],
)
def test_what_is_named_and_what_is_not(text, named):
    assert parse_korean(text).named == named


@settings(deadline=None)
@given(st.text() | st.text(alphabet="가공개연산빨간셔츠을를비눈 ,.\0", max_size=80))
def test_any_text_is_mapped_to_itself_or_to_the_grammar(text):
    english = to_english(text)
    if not is_korean(text) or not parse_korean(text).named:
        assert english == text
    else:
        assert english == describe(parse_korean(text))
        assert to_english(english) == english


def test_the_encoder_gets_the_english_sentence():
    heard = []

    class Hears:
        def encode(self, text):
            heard.append(text)
            return TextEncoding(torch.zeros(64, 4), torch.ones(4) / 2, 1)

    encoder = PocketTextEncoder(Hears())
    encoder.encode("여자가 도시에서 연을 날린다")
    assert set(heard) == {"A woman flies a kite in the city.", "In the city."}
    encoder.encode("A man waves by the sea")
    assert "A man waves by the sea" in heard
