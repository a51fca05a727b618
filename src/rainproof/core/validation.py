"""Validation: the arguments of public functions, checked and converted, or refused with a rule.

Here are outcomes and predictions of one event, and arguments that many functions share. Types and
shapes are in `rainproof.core.conversion`, rules on values in `rainproof.core.columns`, predictions
for several classes in `rainproof.core.classes`, labels in `rainproof.core.labels`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.alignment import check_aligned, check_same_length
from rainproof.core.arrays import Array, Bools, Floats, Ints
from rainproof.core.classes import class_columns, event_of_two_classes
from rainproof.core.columns import USUAL_NAMES, ColumnNames, Columns, explain_shares
from rainproof.core.conversion import (
    READABLE_OUTCOMES,
    as_numbers,
    as_readable,
    as_vector,
    first_text,
    is_built_in_number,
    is_number,
    one_column,
)
from rainproof.core.labels import is_missing, plain
from rainproof.core.text import percent
from rainproof.errors import InputError


def as_columns(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    sample_weight: ArrayLike | None,
    pos_label: Any = None,
    *,
    labels: Sequence[Any] | None = None,
    names: ColumnNames = USUAL_NAMES,
) -> Columns:
    """Convert the arguments to arrays, without a copy where the kernels can read them in place.

    Of predictions for two classes, which `labels` name, it takes the event's.
    """
    if type(y_true) is not np.ndarray or type(y_prob) is not np.ndarray:
        check_aligned((names.label, y_true), (names.prob, y_prob), (names.weight, sample_weight))
    # the types first, which cost a small sample no time
    if (type(y_prob) is not np.ndarray or y_prob.ndim == 2) and class_columns(y_prob) > 1:
        y_true, y_prob, pos_label = event_of_two_classes(y_true, y_prob, labels, pos_label, names)
    outcome = as_vector(y_true, names.label)
    other = None
    if pos_label is None:
        outcome = _as_outcome(outcome, names)
    else:
        outcome, other = _is_event(outcome, names, pos_label)
    prob = as_readable(as_vector(y_prob, names.prob), names.prob)
    weight = None
    if sample_weight is not None:
        weight = as_readable(as_vector(sample_weight, names.weight), names.weight)
        check_same_length(names.label, outcome, names.weight, weight)
    check_same_length(names.label, outcome, names.prob, prob)
    return Columns(outcome, prob, weight, names, other)


def _as_outcome(array: Array, names: ColumnNames) -> Array:
    """Return outcomes as the kernels read them; refuse labels."""
    kind = array.dtype.kind
    if kind == "b":
        return array.view(np.uint8)
    if kind not in "iuf":
        text = first_text(array)
        if text is not None:
            raise no_outcome(names.label, f"strings such as {plain(text)!r}")
        if kind in "US":
            raise no_outcome(names.label, "strings")
    return as_readable(array, names.label, READABLE_OUTCOMES)


def no_outcome(name: str, held: str) -> InputError:
    """Return the error for a column of outcomes that holds something else, such as labels."""
    return InputError(
        f"{name} must be 0 or 1; it holds {held}",
        hint=": ",
        remedy="pass pos_label to say which label is the event",
        option=("pos_label", None),
    )


def _is_event(array: Array, names: ColumnNames, pos_label: Any) -> tuple[Array, Any]:
    """Return which labels are the event, and the one other label (None if there is none)."""
    if np.ndim(pos_label) != 0:
        raise InputError(f"pos_label must be one label; it is {pos_label!r}")
    if array.dtype.kind in "OfM":  # a missing label is not the other label
        _refuse_missing_labels(array, names)
    try:
        event = np.asarray(array == pos_label, dtype=np.bool_)
    except Exception as error:  # __eq__ of another library may raise anything
        raise InputError(f"{names.label} could not be compared with pos_label: {error}") from error
    others = np.flatnonzero(~event)
    if not len(others):
        return event.view(np.uint8), None
    other = plain(array[others[0]])
    further = others[np.asarray(array[others] != other, dtype=np.bool_)]
    never_occurs = len(others) == len(array)  # the event: perhaps it is misspelt
    if len(further):
        another = plain(array[further[0]])
        raise InputError.from_offenders(
            f"{names.label} must hold {pos_label!r} and one other label ({other!r})",
            len(further),
            names.at(names.label, int(further[0])),
            repr(another),
            labels=(other, another),
            hint=f"; {pos_label!r} never occurs" if never_occurs else "",
        )
    if never_occurs:
        refuse_misspelt_event(names.label, pos_label, other)
    return event.view(np.uint8), other


def _refuse_missing_labels(array: Array, names: ColumnNames) -> None:
    missing = np.array([is_missing(label) for label in array], np.bool_)
    if missing.any():
        raise InputError.from_offenders(
            f"{names.label} must not contain missing labels",
            int(missing.sum()),
            names.at(names.label, int(missing.argmax())),
            missing=True,
        )


def refuse_misspelt_event(name: str, pos_label: Any, other: Any) -> None:
    """Refuse a column without the event, whose one label differs from it in capitals or spaces
    only.
    """
    if isinstance(other, str) and other.strip().casefold() == str(pos_label).strip().casefold():
        raise InputError(
            f"{name} must hold {pos_label!r}, which never occurs; every label is {other!r}"
        )


class DividedCases(NamedTuple):
    """Cases whose outcome is a share of the event, divided into a part with it and one without."""

    columns: Columns
    case: Ints  # the number of the case that each part belongs to; parts of a case are neighbours


def split_shares(
    y_true: ArrayLike, y_prob: ArrayLike, sample_weight: ArrayLike | None, names: ColumnNames
) -> DividedCases:
    """Divide cases whose outcome is a share of the event.

    A case with outcome 0.3 becomes a part with the event, of weight 0.3, and a part without it, of
    weight 0.7; all averages are then those of the shares.
    """
    shares = one_column(as_numbers(y_true, names.label))
    check_aligned((names.label, y_true), (names.prob, y_prob), (names.weight, sample_weight))
    # any outcome, as shares are checked by a rule of their own, before predictions
    whole = as_columns(np.zeros(shares.shape), y_prob, sample_weight, names=names)
    error = explain_shares(shares, names)
    if error is not None:
        raise error
    whole.check()
    is_divided = (shares > 0) & (shares < 1)
    case = np.repeat(np.arange(len(shares)), np.where(is_divided, 2, 1))
    is_second = np.append(False, case[1:] == case[:-1])
    share = shares[case]
    event = np.where(is_divided[case], ~is_second, share == 1)
    weight = np.where(event, share, 1 - share)
    if whole.weight is not None:
        weight = weight * whole.weight[case]
    return DividedCases(Columns(event.view(np.uint8), whole.prob[case], weight, names), case)


BaseRate = float | tuple[float, float]
"""The event rate of a population, or the ends of a range of rates."""


def check_base_rate(base_rate: Any) -> tuple[float, float]:
    """Return the ends of a range of base rates; a single rate is both of them."""
    try:
        ends = np.asarray(base_rate, np.float64)
    except (TypeError, ValueError):
        ends = np.zeros(0)  # refused below
    if isinstance(base_rate, bool | str) or ends.shape not in ((), (1,), (2,)):
        raise InputError(
            f"base_rate must be a number, or the two ends of a range; it is {base_rate!r}"
        )
    low = float(ends.flat[0])
    high = float(ends.flat[-1])
    if not (0 < low < 1 and 0 < high < 1):
        raise InputError(f"base_rate must lie between 0 and 1, both excluded; it is {base_rate!r}")
    if ends.size == 2 and not low < high:
        raise InputError(
            f"base_rate must have its lower end first, and two different ends; it is {base_rate!r}"
        )
    return low, high


class ThresholdRange(NamedTuple):
    """The decisions whose thresholds lie in a range: from `low` to `high`, both included."""

    low: float
    high: float

    def __str__(self) -> str:
        if self.low == self.high:
            return f"with the threshold {percent(self.low)}"
        return f"with a threshold between {percent(self.low)} and {percent(self.high)}"


def check_range(threshold_range: Any) -> ThresholdRange | None:
    """Return the range of thresholds that a number, or a pair of them, stands for; None for every
    decision.
    """
    if threshold_range is None:
        return None
    is_pair = isinstance(threshold_range, tuple | list) or np.ndim(threshold_range) == 1
    given = threshold_range if is_pair else (threshold_range, threshold_range)
    ends = [plain(end) for end in given]
    if not _is_range(ends):
        raise InputError(
            "threshold_range must be a number above 0 and below 1, or a pair of numbers "
            f"(low, high) with 0 <= low <= high <= 1; it is {threshold_range!r:.60}"
        )
    # every decision is the same as no range
    return None if ends == [0, 1] else ThresholdRange(float(ends[0]), float(ends[1]))


def _is_range(ends: Sequence[Any]) -> bool:
    """Whether these are the ends of a range of thresholds, in which there is some decision."""
    if len(ends) != 2:
        return False
    low, high = ends
    if not is_built_in_number(low) or not is_built_in_number(high):
        return False
    return bool(0 <= low <= high <= 1 and high > 0 and low < 1)


def check_capacity(capacity: Any) -> float:
    """Check how many cases can be acted on: a share of them below 1, or a whole number."""
    number = plain(capacity)
    is_positive = is_built_in_number(number) and 0 < number < math.inf
    if not is_positive or not (number < 1 or float(number).is_integer()):
        raise InputError(
            "capacity must be a share of the cases, above 0 and below 1, "
            f"or a whole number of them; it is {capacity!r}"
        )
    return float(number)


def check_max_weight(max_weight: Any, largest: float) -> float:
    """Check the largest weight that is possible, given the largest of a sample."""
    # equal sums of weights can differ by rounding
    if not is_number(max_weight) or not largest * (1 - 1e-12) <= max_weight < math.inf:
        rule = f"max_weight must be finite, and at least the largest weight {largest:.6g}"
        raise InputError(f"{rule}; it is {max_weight!r}", parameter="max_weight")
    return float(max_weight)


def refuse_values(broken: Bools, values: Array, name: str, rule: str) -> None:
    """Refuse values of which some break a rule, and name the first of them."""
    if broken.any():
        first = int(broken.argmax())
        raise InputError.from_offenders(rule, int(broken.sum()), f"{name}[{first}]", values[first])


def check_probabilities(
    values: ArrayLike, name: str, within: ThresholdRange | None = None
) -> Floats:
    """Check numbers of any shape in [0, 1], or in a range, and return them as doubles."""
    asked: Floats = as_numbers(values, name)
    low, high = within or (0.0, 1.0)
    outside = np.flatnonzero(~((asked >= low) & (asked <= high)))
    if outside.size:
        first = outside[0]
        where = name if asked.ndim == 0 else f"{name}[{first}]"
        rule = f"{name} must lie in [{low:g}, {high:g}]"
        raise InputError.from_offenders(rule, outside.size, where, asked.flat[first])
    return asked
