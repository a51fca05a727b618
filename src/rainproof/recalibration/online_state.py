"""The state of an online forecast as a JSON document, with a digest against damage."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rainproof.core.grid.cells import LARGEST_GRID
from rainproof.core.json_file import check_document, digest_of
from rainproof.errors import InputError
from rainproof.recalibration._online import Walk

_VERSION = 1
_COUNTS = ("seed", "coins", "n", "events")
_TABLES = ("bias", "margin", "number")
_KEYS = ("grid", "grows", *_COUNTS, *_TABLES, "open", "waiting", "digest")

Id = str | int
Point = tuple[int, int, bool]  # its number, the grid, and whether a coin chose it


def state_document(kind: str, walk: Walk, opened: Point | None, waiting: dict[Id, Point]) -> dict[str, Any]:
    """Return everything in built-in types."""
    content = {
        "format": f"rainproof {kind}",
        "version": _VERSION,
        "grid": walk.grid,
        "grows": bool(walk.grows),
        **{name: getattr(walk, name) for name in _COUNTS},
        **{name: getattr(walk, name).tolist() for name in _TABLES},
        "open": None if opened is None else list(opened),
        "waiting": [[name, *point] for name, point in waiting.items()],
    }
    return {**content, "digest": digest_of(content)}


def read_state(kind: str, data: Any) -> tuple[Walk, Point | None, dict[Id, Point]]:
    """Check a document and return the state."""
    data = check_document(data, kind, version=_VERSION, keys=_KEYS)
    try:
        digest = digest_of({key: value for key, value in data.items() if key != "digest"})
    except (RecursionError, TypeError, ValueError) as error:
        raise InputError(f"it is not in types of JSON: {error}") from error
    if digest != data["digest"]:
        raise InputError("it is damaged: its digest does not fit its content")
    grid = data["grid"]
    if not _whole(grid, 2, LARGEST_GRID) or grid & (grid - 1) or not isinstance(data["grows"], bool):
        raise InputError("'grid' must be a power of two and 'grows' true or false")
    for name in _COUNTS:
        if not _whole(data[name], 0, 2**64 - 1 if name == "seed" else 2**63 - 1):
            raise InputError(f"{name!r} must be a non-negative integer; it is {data[name]!r}")
    walk = Walk(grid, data["grows"], data["seed"])
    bias, margin = (_table(data, name, grid, np.float64) for name in ("bias", "margin"))
    walk.restore(data["coins"], data["n"], data["events"], bias, margin, _table(data, "number", grid, np.int64))
    opened = data["open"]
    if not isinstance(data["waiting"], list):
        raise InputError("'waiting' must be a list")
    waiting = {_id(entry): _point(entry[1:], grid) for entry in data["waiting"]}
    if len(waiting) < len(data["waiting"]):
        raise InputError("'waiting' must not have an id twice")
    return walk, None if opened is None else _point(opened, grid), waiting


def _whole(value: Any, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _table(data: dict[str, Any], name: str, grid: int, dtype: type[np.generic]) -> NDArray[Any]:
    values = data[name]
    kinds = (int,) if dtype is np.int64 else (int, float)
    if not isinstance(values, list) or len(values) != grid + 1 or not all(type(value) in kinds for value in values):
        raise InputError(f"{name!r} must be a list of {grid + 1:,} numbers")
    table = np.array(values, np.float64)
    ends = name == "bias" and (table[0] < 0 or table[-1] > 0)  # a walk beyond the ends would leave the grid
    if not np.isfinite(table).all() or ends or (name != "bias" and (table < 0).any()):
        raise InputError(f"{name!r} must have numbers that outcomes can lead to")
    return np.array(values, dtype)


def _id(entry: Any) -> Id:
    if not isinstance(entry, list) or len(entry) != 4 or type(entry[0]) not in (str, int):
        raise InputError("'waiting' must have an id and a point in each entry")
    found: Id = entry[0]
    return found


def _point(values: Any, grid: int) -> Point:
    good = isinstance(values, list) and len(values) == 3 and isinstance(values[2], bool)
    if not good or not _whole(values[1], 2, grid) or grid % values[1] or not _whole(values[0], 0, values[1]):
        raise InputError(f"a point must be a number, a grid that divides {grid}, and true or false; it is {values!r}")
    return values[0], values[1], values[2]
