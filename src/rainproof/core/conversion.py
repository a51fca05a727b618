"""Conversion: what a caller passes, as arrays of types that the kernels read in place.

Types and shapes are checked here, values in `rainproof.core.columns`. Nothing is copied where the
kernels can read the caller's own array.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Array, Bools, Floats
from rainproof.errors import InputError

READABLE = {np.dtype(name) for name in ("f4", "f8")}
"""The types of predictions and weights that the kernels read in place."""

READABLE_OUTCOMES = READABLE | {
    np.dtype(name) for name in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
}
"""The types of outcomes that the kernels read in place."""

_DOUBLES = {np.dtype(np.float64)}
_NAMES_OF_KINDS = {
    "U": "strings",
    "S": "bytes",
    "c": "complex numbers",
    "M": "dates",
    "m": "time spans",
}


def refuse_masked(values: ArrayLike, name: str) -> None:
    """Refuse masked values: NumPy would read what is under the mask."""
    if not np.ma.isMaskedArray(values):
        return
    _refuse_where(np.ma.getmaskarray(values), name)


def _refuse_masked_entries(array: Array, name: str) -> None:
    """Refuse masked values among other objects, as a list of masked labels has them."""
    masked = type(np.ma.masked)
    _refuse_where(np.array([type(value) is masked for value in array.flat], np.bool_), name)


def _refuse_where(is_masked: Bools, name: str) -> None:
    if is_masked.any():
        first = f"{name}[{int(is_masked.argmax())}]"
        rule = f"{name} must not contain masked values"
        raise InputError.from_offenders(rule, int(is_masked.sum()), first)


def as_array(values: ArrayLike, name: str) -> Array:
    """Return values as an array of any type and shape."""
    refuse_masked(values, name)
    try:
        array = np.asarray(values)
    except Exception as error:  # __array__ of another library may raise anything
        raise InputError(f"{name} must be readable as an array: {error}") from error
    if array.dtype.kind not in "US" or not isinstance(values, list | tuple):
        return array
    if set(map(type, values)) == {str} and "\0" not in "".join(values):
        return array
    # NumPy has written as text what stands beside text: a missing label would be the label "nan";
    # and it has cut off zero characters at the end
    objects = np.asarray(values, object)
    _refuse_masked_entries(objects, name)
    return objects


def one_column(array: Array) -> Array:
    """Return a table of one column, as of a frame, as a vector; anything else as it is."""
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def as_vector(values: ArrayLike, name: str) -> Array:
    """Return values as a vector of any type."""
    array = values if type(values) is np.ndarray else as_array(values, name)
    vector: Array = one_column(array)
    if vector.ndim == 1:
        return vector
    hint = ""
    if vector.ndim == 2 and vector.shape[1] == 2:
        event = repr(values.columns[-1]) if hasattr(values, "columns") else ":, 1"
        hint = f"; of two columns pass the event's, {name}[{event}]"
    raise InputError(f"{name} must be one-dimensional; its shape is {vector.shape}", hint=hint)


def as_readable(array: Array, name: str, types: set[np.dtype[Any]] = READABLE) -> Array:
    """Return numbers as an array of one of these types; as doubles if it has none of them."""
    if array.dtype in types and array.dtype.isnative and array.flags.aligned:
        return array
    kind = array.dtype.kind
    if kind not in "biufO":  # bools, integers, floats, and objects that may be numbers
        held = _NAMES_OF_KINDS.get(kind, f"values of type {array.dtype}")
        raise InputError(f"{name} must hold numbers; it holds {held}")
    # NumPy would read text among objects as a number
    text = first_text(array.flat) if kind == "O" else None
    if text is not None:
        held = _NAMES_OF_KINDS["S" if isinstance(text, bytes) else "U"]
        raise InputError(f"{name} must hold numbers; it holds {held}")
    try:
        doubles = array.astype(np.float64)
        if kind == "O" or array.dtype.itemsize > doubles.itemsize:
            _keep_outside(array, doubles)
    except Exception as error:  # __float__ of another library may raise anything
        raise InputError(f"{name} must hold numbers; {error}") from error
    return doubles


def first_text(values: Iterable[Any]) -> str | bytes | None:
    """Return the first text among objects, if there is any."""
    for value in values:
        if isinstance(value, str | bytes):
            return value
    return None


def _keep_outside(array: Array, doubles: Floats) -> None:
    """Keep numbers slightly outside [0, 1] outside, where rounding to a double would clip them."""
    is_zero = doubles == 0.0
    doubles[is_zero] = np.where(array[is_zero] < 0.0, np.nextafter(0.0, -np.inf), 0.0)
    is_one = doubles == 1.0
    doubles[is_one] = np.where(array[is_one] > 1.0, np.nextafter(1.0, np.inf), 1.0)


def as_numbers(values: ArrayLike, name: str) -> Floats:
    """Return numbers of any shape as doubles; their values are not checked."""
    return as_readable(as_array(values, name), name, _DOUBLES)


def as_probabilities(values: ArrayLike, name: str) -> Array:
    """Return predictions as an array of float32 or float64, without a copy where possible and
    without checks.
    """
    return as_readable(as_vector(values, name), name)


def is_built_in_number(value: Any) -> bool:
    """Return whether a value is an int or a float, of whatever size, and not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether a value is a real number that a double can hold, and not a bool."""
    if isinstance(value, np.integer | np.floating):
        return True
    is_too_large = isinstance(value, int) and abs(value) > sys.float_info.max
    return is_built_in_number(value) and not is_too_large
