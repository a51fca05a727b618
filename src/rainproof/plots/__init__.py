"""Pictures of results, with Matplotlib; nothing is computed here.

One function per panel: each takes a result and, as `ax`, the axes to draw into (new ones by
default), and returns the axes. The results' own method ``plot`` calls it. `overview` draws four
panels of an assessment in one figure. Matplotlib's settings are followed and not changed.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from rainproof.core import lazy

__getattr__, __dir__ = lazy(__name__)


@cache
def _panels() -> dict[str, Callable[..., Any]]:
    """The functions of the package, by the type of what each draws: that of its first parameter."""
    return {
        next(iter(draw.__annotations__.values())): draw
        for draw in map(__getattr__, __getattr__("__all__"))
    }


def panel(kind: type) -> Callable[..., Any]:
    """Return the function that draws a type of result."""
    names = [base.__name__ for base in kind.__mro__]
    found = next((name for name in names if name in _panels()), None)
    if found is None:
        raise TypeError(f"there is no picture of a {names[0]}")
    return _panels()[found]
