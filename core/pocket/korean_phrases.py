"""Korean prompts to complete from: the grammar's values in the order that Korean says them."""

from __future__ import annotations

from collections.abc import Mapping

KOREAN_SLOTS: Mapping[str, tuple[str, ...]] = {
    "wear": tuple(
        f"{colour} {garment}"
        for garment in ("셔츠를 입은", "옷을 입은", "티셔츠를 입은")
        for colour in ("빨간", "파란", "초록색", "노란", "하얀", "보라색", "주황색", "검은")
    ),
    "subject": ("남자가", "여자가", "소년이", "소녀가", "젊은 남자가", "젊은 여자가"),
    "place": (
        *("마을에서", "해변에서", "산속에서", "도시에서"),
        *("마을 길에서", "바닷가에서", "산속 오두막 앞에서", "도시의 거리에서"),
    ),
    "action": (
        *("공을 던진다", "리본을 돌린다", "횃불을 저글링한다", "연을 날린다", "개를 산책시킨다"),
        *("손을 흔든다", "풍선을 들고 있다", "공을 던지고 받는다", "강아지와 산책한다"),
    ),
    "time": ("낮에", "해질녘에", "밤에", "아침에", "저녁에", "한밤중에"),
    "weather": ("맑은 날", "눈이 오는 날", "비가 오는 날", "눈이 내리는 날", "비가 내리는 날"),
}
"""Slot -> phrases, the values' first wordings first."""

KOREAN_ORDERS: tuple[tuple[str, ...], ...] = (
    ("wear", "subject", "place", "action,", "weather", "time"),
    ("wear", "subject", "time", "place", "action"),
    ("weather", "time", "wear", "subject", "place", "action"),
    ("weather", "time", "place", "wear", "subject", "action"),
    ("time", "place", "wear", "subject", "action"),
    ("place", "wear", "subject", "action,", "weather", "time"),
    ("subject", "place", "action,", "weather", "time"),
)
"""Slots in order; a comma follows where one is named."""
