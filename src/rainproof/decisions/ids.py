"""The ids of cases: the number that each stands for, by which roundings and lotteries are drawn."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core import validation
from rainproof.decisions._rounding import (
    name_bytes,
    name_objects,
    name_text,
)
from rainproof.errors import InputError

Words: TypeAlias = NDArray[np.uint64]

_RULE = "ids must be integers from -2**63 to 2**64 - 1, or text that UTF-8 can encode"
_HINTS = {
    "f": "floats are not reliable ids; use .astype('int64') or .astype(str)",
    "b": "two values cannot identify rows",
    "M": "use .astype(str)",
    "m": "use .astype(str)",
}


def as_ids(ids: ArrayLike) -> NDArray[Any]:
    """Return ids as an array of integers, text or objects; of a list as objects, as NumPy would
    unify their types.
    """
    validation.refuse_masked(ids, "ids")
    array = validation.one_column(
        np.asarray(ids, None if hasattr(ids, "__array__") else np.object_)
    )
    if array.ndim != 1:
        raise InputError(f"ids must be one-dimensional; its shape is {array.shape}")
    if array.dtype.kind not in "iuUSTO":
        hint = _HINTS.get(array.dtype.kind)
        raise InputError(
            f"ids must be integers or text; they are of type {array.dtype}{f' ({hint})' if hint else ''}"
        )
    return array


def names(ids: NDArray[Any]) -> Words | None:
    """Return the number x of each id (see `rainproof.decisions._rounding`); None if an id has none."""
    kind = ids.dtype.kind
    if kind in "iu":
        wide = np.ascontiguousarray(ids, np.int64 if kind == "i" else np.uint64)
        return wide.view(np.uint64)
    words = np.empty(len(ids), np.uint64)
    if kind in "US":  # text of one width is a matrix of characters
        native = np.ascontiguousarray(ids, ids.dtype.newbyteorder("="))
        good = (
            name_text(native.view(np.uint32).reshape(len(ids), -1), words)
            if kind == "U"
            else name_bytes(native.view(np.uint8).reshape(len(ids), -1), words)
        )
    else:
        good = name_objects(ids.tolist(), words)
    return words if good else None


def explain_ids(ids: NDArray[Any]) -> InputError | None:
    """Return the error for the ids that have no number, if any; slow, as it checks one at a time."""
    one = np.empty(1, np.uint64)
    bad = [row for row, value in enumerate(ids) if not name_objects([value], one)]
    if not bad:
        return None
    return InputError.from_offenders(_RULE, len(bad), f"ids[{bad[0]}]", repr(ids[bad[0]]))


def check_seed(seed: int) -> int:
    """Check the seed of roundings and lotteries, and return it."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise InputError(f"seed must be an integer from 0 to 2**64 - 1; it is {seed!r}")
    return int(seed)
