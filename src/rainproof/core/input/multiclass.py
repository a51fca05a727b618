"""Several classes as binary events: the most likely class, or each class against the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Ints
from rainproof.core.input.labels import plain
from rainproof.core.input.rows import ColumnNames, check_same_length, refuse_masked
from rainproof.errors import InputError

VIEWS = ("top-label", "one-vs-rest")
_TOLERANCE = 1e-4  # for the sum of a row: enough for float32, not for float16
_BLOCK = 1 << 16


def check_view(view: str) -> str:
    """Check the name of a view, and return it."""
    if view not in VIEWS:
        raise InputError(f"view must be one of {', '.join(map(repr, VIEWS))}; it is {view!r}")
    return view


def check_labels(labels: Sequence[Any], classes: int) -> list[Any]:
    """Check that there is one distinct label for each class, and return them."""
    names = [plain(label) for label in labels]
    if len(names) != classes or len(set(names)) != classes:
        raise InputError(f"labels must name each of the {classes:,} classes once; they are {names!r}")
    return names


def read_classes(
    y_true: ArrayLike, y_prob: ArrayLike, labels: Sequence[Any] | None, names: ColumnNames
) -> tuple[Ints, NDArray[Any], Sequence[Any]]:
    """Check outcomes and predictions; return the class of each row, the predictions and the labels of the classes."""
    prob = _matrix(y_prob, names)
    called = range(prob.shape[1]) if labels is None else check_labels(labels, prob.shape[1])
    which = _class_numbers(y_true, called, labels is None, names)
    check_same_length(names.label, which, names.prob, prob)
    for error in violations(prob, names):
        raise error
    return which, prob, called


def _matrix(values: ArrayLike, names: ColumnNames) -> NDArray[Any]:
    """Return predictions with a column for each class as floats; their values are not checked."""
    refuse_masked(values, names.prob)
    array = np.asarray(values)
    if array.ndim != 2 or array.shape[1] < 2:
        raise InputError(f"{names.prob} must have two dimensions, a column for each class; its shape is {array.shape}")
    if array.dtype.kind not in "biufO":
        raise InputError(f"{names.prob} must hold numbers; it holds values of type {array.dtype}")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def violations(prob: NDArray[Any], names: ColumnNames) -> Iterator[InputError]:
    """Yield an error for every rule that the predictions break; a row that breaks one is left out for the next."""
    rules: tuple[tuple[str, Callable[[NDArray[Any]], Any]], ...] = (
        ("must not contain NaN", lambda p: np.isnan(p).any(axis=1)),
        ("must lie in [0, 1]", lambda p: ((p < 0) | (p > 1)).any(axis=1)),
        (f"must sum to 1 in each row (within {_TOLERANCE})", lambda p: np.abs(p.sum(axis=1) - 1) > _TOLERANCE),
    )
    count, first = [0, 0, 0], [-1, -1, -1]
    with np.errstate(invalid="ignore"):
        for start in range(0, len(prob), _BLOCK):
            block = prob[start : start + _BLOCK].astype(np.float64, copy=False)
            fine = np.ones(len(block), np.bool_)
            for at, (_, breaks) in enumerate(rules):
                bad = breaks(block) & fine
                if bad.any():
                    first[at] = first[at] if count[at] else start + int(bad.argmax())
                    count[at] += int(bad.sum())
                    fine &= ~bad
    for (rule, _), many, row in zip(rules, count, first, strict=True):
        if many:
            shown = ", ".join(f"{value:.6g}" for value in prob[row][:4]) + ", ..." * (prob.shape[1] > 4)
            yield InputError.from_offenders(f"{names.prob} {rule}", many, names.at(names.prob, row), f"[{shown}]")


def _class_numbers(label: ArrayLike, labels: Sequence[Any], unnamed: bool, names: ColumnNames) -> Ints:
    """Return the number of each row's class."""
    refuse_masked(label, names.label)
    array = np.asarray(label)
    if array.ndim != 1:
        raise InputError(f"{names.label} must be one-dimensional; its shape is {array.shape}")
    known: dict[Any, int] = {name: k for k, name in enumerate(labels)}
    which = np.fromiter((known.get(value, -1) for value in array.tolist()), np.int64, len(array))
    unknown = which < 0
    if unknown.any():
        first = int(unknown.argmax())
        raise unknown_label(array[first], first, int(unknown.sum()), len(labels), unnamed, names)
    return which


def unknown_label(value: Any, row: int, count: int, classes: int, unnamed: bool, names: ColumnNames) -> InputError:
    """Return the error for labels of no known class."""
    called = f"from 0 to {classes - 1}" if unnamed else f"one of the {classes} labels"
    hint = "; pass labels to name the classes" if unnamed else ""
    return InputError.from_offenders(
        f"{names.label} must be {called}", count, names.at(names.label, row), repr(plain(value)), hint
    )


def top_label(which: Ints, prob: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Return whether the most likely class (the first of equals) occurred, and its predicted probability."""
    top = prob.argmax(axis=1)
    return (top == which).view(np.uint8), prob[np.arange(len(prob)), top]
