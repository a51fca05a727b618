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
    panels = {}
    for name in __getattr__("__all__"):
        draw = __getattr__(name)
        drawn_type = next(iter(draw.__annotations__.values()))
        panels[drawn_type] = draw
    return panels


def panel(kind: type) -> Callable[..., Any]:
    """Return the function that draws a type of result, or the type that it is derived from."""
    panels = _panels()
    for base in kind.__mro__:
        if base.__name__ in panels:
            return panels[base.__name__]
    raise TypeError(f"there is no picture of a {kind.__name__}")
