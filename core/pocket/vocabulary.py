"""What a prompt of the pocket world can name: the values of every prompted attribute."""

from __future__ import annotations

ACTIONS = ("ball", "ribbon", "torch", "kite", "dog", "wave", "balloon")
PLACES = ("village", "beach", "mountain", "city")
TIMES = ("day", "dusk", "night")
WEATHERS = ("clear", "snow", "rain")
SHIRTS = ("red", "blue", "green", "yellow", "white", "purple", "orange", "black")
SEXES = ("man", "woman")

VOCABULARY: dict[str, tuple[str, ...]] = {
    "sex": SEXES,
    "shirt": SHIRTS,
    "action": ACTIONS,
    "place": PLACES,
    "time": TIMES,
    "weather": WEATHERS,
}
