"""Sentences of the core in the language of the window.

The core knows no Qt: what it says arrives whole and in English. A sentence
that `said_by_core` does not list stays English.
"""

from __future__ import annotations

import re
from functools import lru_cache

from worldattention.app.said_by_core import SENTENCES
from worldattention.app.texts import translate


def spoken(sentence: str) -> str:
    """The sentence in the language of the window; a sentence within it, such as a cause, too."""
    for pattern, template in _patterns():
        if (found := pattern.fullmatch(sentence)) is not None:
            said = translate("Sentences", template)
            return sentence if said == template else said.format(*map(_part, found.groups()))
    return sentence


def _part(text: str) -> str:
    """What was put into a sentence: a cause begins there with a small letter, a name may begin with a great one."""
    for first in (text[:1].upper(), text[:1].lower()):
        whole = first + text[1:]
        if (said := spoken(whole)) != whole:
            return said
    return text


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """The most telling sentences first: `{} {}` would fit them all."""
    telling = sorted(SENTENCES, key=lambda template: -len(template.replace("{}", "")))
    return tuple(
        (re.compile("(.+?)".join(map(re.escape, template.split("{}"))), re.DOTALL), template)
        for template in telling
    )
