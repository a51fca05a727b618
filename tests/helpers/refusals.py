"""What a call refuses: for tests that try many bad inputs and name the one that was accepted."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import rainproof


def refusal(call: Callable[..., Any], *arguments: Any, **columns: Any) -> str:
    """Return the message of the InputError that a call raises; empty if it raises none."""
    try:
        call(*arguments, **columns)
    except rainproof.InputError as error:
        return str(error)
    return ""


def refuses(message: str, call: Callable[..., Any], *arguments: Any, **columns: Any) -> bool:
    """Return whether a call raises an InputError whose message has this pattern."""
    return re.search(message, refusal(call, *arguments, **columns)) is not None
