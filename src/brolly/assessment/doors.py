"""Doors to the rooms above: how ``a.plot()`` and ``a.to_html()`` work while this room knows of neither.

Plots and reports are built on the assessment, so the assessment must not import them, not even late and by name:
that would be the same dependency, hidden. Who knows all rooms is the front door (``brolly/__init__.py``), and it is
open before anybody can hold an assessment. It hangs in here, for each method, a function that loads the room when it
is first called. Without it this room still works; only the doors are shut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from brolly.errors import BrollyError

_DOORS: dict[str, Callable[..., Any]] = {}


def hang(name: str, function: Callable[..., Any]) -> None:
    """Say what is behind a door; called from above."""
    _DOORS[name] = function


def through(name: str, *values: Any, **options: Any) -> Any:
    """Call what is behind a door."""
    if name not in _DOORS:
        raise BrollyError(f"nothing is behind the door {name!r}: import brolly opens them")
    return _DOORS[name](*values, **options)
