"""Predictions with a column for each of several classes: checked, and the class of each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.alignment import check_same_length
from rainproof.core.arrays import Array, Ints
from rainproof.core.columns import ColumnNames, blocks
from rainproof.core.conversion import as_array, as_readable, as_vector
from rainproof.core.labels import code_labels, plain
from rainproof.errors import InputError

SUM_TOLERANCE = 1e-4
"""How far the predictions of a row may be from a sum of 1: enough for float32, not for float16."""

_PREDICTIONS_SHOWN = 4  # of a row, in a message


class ClassColumns(NamedTuple):
    """Checked outcomes and predictions."""

    which: Ints  # the number of the class of each row
    prob: Array  # shape (n, k)
    labels: list[Any]  # of the classes, in the order of the columns


def class_columns(values: Any) -> int:
    """Count the columns of predictions for several classes; 0 if they are not a table."""
    if isinstance(values, list | tuple):
        first = values[0] if len(values) else None
        if isinstance(first, list | tuple | np.ndarray) and np.ndim(first):
            return len(first)
        return 0
    shape: Any = getattr(values, "shape", None)
    if isinstance(shape, tuple) and len(shape) == 2:
        columns: int = shape[1]
        return columns
    return 0


def check_labels(labels: Sequence[Any], classes: int) -> list[Any]:
    """Check that there is one distinct label for each class, and return them."""
    names = [plain(label) for label in labels]
    if len(names) != classes or len(set(names)) != classes:
        raise InputError(
            f"labels must name each of the {classes:,} classes once; they are {names!r}"
        )
    return names


def read_classes(
    y_true: ArrayLike, y_prob: ArrayLike, labels: Sequence[Any] | None, names: ColumnNames
) -> ClassColumns:
    """Check outcomes and predictions.

    Without `labels` the columns of a frame name the classes. Outcomes are names; or numbers of
    columns, if no name is.
    """
    prob = _as_table(y_prob, names)
    classes = prob.shape[1]
    if labels is None and hasattr(y_prob, "columns"):
        labels = list(y_prob.columns)
    numbers = range(classes)
    class_labels = list(numbers) if labels is None else check_labels(labels, classes)
    outcome = as_vector(y_true, names.label)
    code, occurring = code_labels(outcome)
    number_of = dict(zip(class_labels, numbers, strict=True))
    has_numbers = any(isinstance(label, int | float) for label in class_labels)
    if not has_numbers and number_of.keys().isdisjoint(occurring):
        number_of = dict(zip(numbers, numbers, strict=True))
    which = np.array([number_of.get(label, -1) for label in occurring], np.int64)[code]
    is_unknown = which < 0
    if is_unknown.any():
        first = int(is_unknown.argmax())
        count = int(is_unknown.sum())
        raise unknown_label(outcome[first], first, count, classes, labels is None, names)
    check_same_length(names.label, which, names.prob, prob)
    _refuse_bad_rows(prob, names)
    return ClassColumns(which, prob, class_labels)


def event_of_two_classes(
    y_true: Any, y_prob: Any, labels: Sequence[Any] | None, pos_label: Any, names: ColumnNames
) -> tuple[Any, Array, Any]:
    """Return the outcomes, the column of the event, and the label of the event: `pos_label`, or
    None if it is the second class, and outcomes are already 0 and 1.
    """
    prob = _as_table(y_prob, names)
    if prob.shape[1] > 2:
        raise one_event(prob.shape[1], names.prob)
    if pos_label is None:
        which, prob, _ = read_classes(y_true, y_prob, labels, names)
        return which, prob[:, 1], None
    _refuse_bad_rows(prob, names)
    if labels is None:
        labels = list(getattr(y_prob, "columns", ()))
    else:
        labels = check_labels(labels, 2)
    column = labels.index(pos_label) if pos_label in labels else 1
    return y_true, prob[:, column], pos_label


def one_event(classes: int, name: str) -> InputError:
    """Return the error for several classes, where predictions of one event are needed."""
    return InputError(
        f"{name} has {classes:,} classes, but this is about one event: choose a class, "
        "Sample(y, p)[label], or the most likely one, Sample(y, p).top_label"
    )


def refuse_for_classes(for_one_event: Mapping[str, Any], classes: int) -> None:
    """Refuse arguments that several classes cannot have."""
    for name, value in for_one_event.items():
        if value is not None:
            raise InputError(
                f"{name} is for predictions of one event; y_prob has {classes:,} classes"
            )


def violations(prob: Array, names: ColumnNames) -> Iterator[InputError]:
    """Yield an error for every rule that the predictions break; a row that breaks one is left out
    for the next.
    """
    counts = dict.fromkeys(_RULES, 0)
    first_rows: dict[str, int] = {}
    with np.errstate(invalid="ignore"):
        for start, rows in blocks(prob):
            block = rows.astype(np.float64, copy=False)
            if _keeps_rules(block):  # which is quicker than the rules one by one
                continue
            is_left = np.ones(len(block), np.bool_)
            for rule, breaks in _RULES.items():
                bad = breaks(block) & is_left
                if bad.any():
                    first_rows.setdefault(rule, start + int(bad.argmax()))
                    counts[rule] += int(bad.sum())
                    is_left &= ~bad
    for rule in _RULES:
        if rule in first_rows:
            row = first_rows[rule]
            yield InputError.from_offenders(
                f"{names.prob} {rule}",
                counts[rule],
                names.at(names.prob, row),
                _shown_row(prob[row]),
                missing=rule == _NO_NAN,
            )


def _has_nan(block: Array) -> Any:
    return np.isnan(block).any(axis=1)


def _is_outside(block: Array) -> Any:
    return ((block < 0) | (block > 1)).any(axis=1)


def _has_another_sum(block: Array) -> Any:
    return np.abs(block.sum(axis=1) - 1) > SUM_TOLERANCE


_NO_NAN = "must not contain NaN"
_SUM_OF_1 = f"must sum to 1 in each row (within {SUM_TOLERANCE})"
_RULES: dict[str, Callable[[Array], Any]] = {
    _NO_NAN: _has_nan,
    "must lie in [0, 1]": _is_outside,
    _SUM_OF_1: _has_another_sum,
}
"""The rules on a row, in their order, and what tells the rows that break each."""


def _keeps_rules(block: Array) -> bool:
    """Whether all rows keep all rules."""
    if not (block.min() >= 0 and block.max() <= 1):
        return False
    return not _has_another_sum(block).any()


def _shown_row(prob: Array) -> str:
    shown = [f"{value:.6g}" for value in prob[:_PREDICTIONS_SHOWN]]
    if len(prob) > _PREDICTIONS_SHOWN:
        shown.append("...")
    return f"[{', '.join(shown)}]"


def unknown_label(
    value: Any, row: int, count: int, classes: int, unnamed: bool, names: ColumnNames
) -> InputError:
    """Return the error for labels of no known class."""
    known = f"one of the {classes} labels"
    hint = ""
    if unnamed:
        known = f"from 0 to {classes - 1}"
        hint = "; pass labels to name the classes"
    return InputError.from_offenders(
        f"{names.label} must be {known}",
        count,
        names.at(names.label, row),
        repr(plain(value)),
        hint=hint,
    )


def _as_table(y_prob: ArrayLike, names: ColumnNames) -> Array:
    """Return predictions for several classes as a table of numbers, which are not checked."""
    array = as_array(y_prob, names.prob)
    if array.ndim != 2 or array.shape[1] < 2:
        raise InputError(
            f"{names.prob} must have two dimensions, a column for each class; "
            f"its shape is {array.shape}"
        )
    return as_readable(array, names.prob)


def _refuse_bad_rows(prob: Array, names: ColumnNames) -> None:
    """Raise the first rule that the predictions break."""
    for error in violations(prob, names):
        hint = ""
        if str(error.rule).endswith(_SUM_OF_1):
            hint = "; several forecasts of one event go into a mapping of names to columns"
        raise error.revised(hint=hint)
