"""A statement: a key and the values that its template has places for; nothing is in words yet.

What is stated of which evidence is in modules by topic; the words are in `templates`, and a
`Renderer` puts both together.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from rainproof.verdict.templates import TEMPLATES

About = Literal[
    "calibration",
    "skill",
    "loss",
    "rounded",
    "recalibration",
    "cost",
    "worth",
    "segments",
    "limits",
    "note",
]
# {name}, {name.part} of a value with parts; {name!u}, {name!l}: it begins with a large, a small
# letter
PLACE = re.compile(r"\{(\w+)(?:\.(\w+))?(?:!([ul]))?\}")


class Statement(NamedTuple):
    """What is stated, about what, and the values in it; a value can be a statement."""

    key: str
    about: str
    values: Mapping[str, Any]


class Step(NamedTuple):
    """Something to do now, for which a voice has code or command lines."""

    action: Literal["recalibrate", "decide"]
    recalibrated: bool
    forecast: str | None = None  # the name of one of several


def say(key: str, about: str = "", /, **values: Any) -> Statement:
    """Make a statement of values."""
    return Statement(key, about, values)


@cache
def places(key: str) -> tuple[str, ...]:
    """The names of the values that a template has places for."""
    template = TEMPLATES[key]
    text = template if isinstance(template, str) else "".join(template)
    return tuple(dict.fromkeys(place[1] for place in PLACE.finditer(text)))
