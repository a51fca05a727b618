"""Rows that another engine holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from brolly.core.segments import GroupedCells
from brolly.engines.roles import Roles
from brolly.errors import InputError


def owns(source: Any) -> bool:  # noqa: ARG001
    """Whether the rows of this source are elsewhere; nothing is imported to find out."""
    return False


def aggregate(
    source: Any,
    roles: Roles,  # noqa: ARG001
    m: int,  # noqa: ARG001
    *,
    progress: Callable[[int, int], object] | None = None,  # noqa: ARG001
) -> GroupedCells:
    """The grouped sums of all rows that count, made by the engine that holds them."""
    raise InputError(f"no engine is known for a source of type {type(source).__qualname__}")
