"""The ids of cases: the number that each stands for, from which roundings and lotteries are drawn.

How a number follows from an id is defined in `rainproof.decisions._rounding`, and for other
languages in docs/reference/formats.md.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.conversion import one_column, refuse_masked
from rainproof.decisions._rounding import name_bytes, name_objects, name_text
from rainproof.errors import InputError

IdNumbers: TypeAlias = NDArray[np.uint64]

_RULE = "ids must be integers from -2**63 to 2**64 - 1, or text that UTF-8 can encode"
# What to do with ids of another type, by the letter that NumPy has for the kind of type.
_HINTS = {
    "f": "floats are not reliable ids; use .astype('int64') or .astype(str)",
    "b": "two values cannot identify rows",
    "M": "use .astype(str)",
    "m": "use .astype(str)",
}


def as_ids(ids: ArrayLike) -> NDArray[Any]:
    """Return ids as an array of integers, text or objects."""
    refuse_masked(ids, "ids")
    # NumPy would turn a list of integers and text into text alone: as objects they stay apart.
    dtype = None if hasattr(ids, "__array__") else np.object_
    array = one_column(np.asarray(ids, dtype))
    if array.ndim != 1:
        raise InputError(f"ids must be one-dimensional; its shape is {array.shape}")
    if array.dtype.kind not in "iuUSTO":
        hint = _HINTS.get(array.dtype.kind)
        advice = f" ({hint})" if hint else ""
        raise InputError(f"ids must be integers or text; they are of type {array.dtype}{advice}")
    return array


def id_numbers(ids: NDArray[Any]) -> IdNumbers | None:
    """Return the number of each id; None if one of the ids has no number."""
    kind = ids.dtype.kind
    if kind == "i":
        return np.ascontiguousarray(ids, np.int64).view(np.uint64)
    if kind == "u":
        return np.ascontiguousarray(ids, np.uint64)
    numbers = np.empty(len(ids), np.uint64)
    if kind == "U":
        valid = name_text(_characters(ids, np.uint32), numbers)
    elif kind == "S":
        valid = name_bytes(_characters(ids, np.uint8), numbers)
    else:
        valid = name_objects(ids.tolist(), numbers)
    return numbers if valid else None


def _characters(ids: NDArray[Any], character: type[Any]) -> NDArray[Any]:
    """Return text of one width as a matrix of its characters, with a row for each id."""
    native = np.ascontiguousarray(ids, ids.dtype.newbyteorder("="))
    characters: NDArray[Any] = native.view(character).reshape(len(ids), -1)
    return characters


def explain_ids(ids: NDArray[Any]) -> InputError | None:
    """Return the error for the ids that have no number, if any. Slow: it checks one at a time."""
    number = np.empty(1, np.uint64)
    bad = [row for row, value in enumerate(ids) if not name_objects([value], number)]
    if not bad:
        return None
    return InputError.from_offenders(_RULE, len(bad), f"ids[{bad[0]}]", repr(ids[bad[0]]))


def check_seed(seed: int) -> int:
    """Check the seed of roundings and lotteries, and return it."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise InputError(f"seed must be an integer from 0 to 2**64 - 1; it is {seed!r}")
    return int(seed)
