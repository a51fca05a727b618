"""Validation: what a caller passes, checked and converted to arrays that the kernels read in place."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core._scan import scan
from rainproof.core.arrays import Ints
from rainproof.core.rows import Rows, SegmentColumn
from rainproof.core.text import percent
from rainproof.errors import InputError, Place

Key = tuple[Hashable, ...]
"""A segment: its label in each of the columns that define segments."""

Codes = tuple[Ints, Sequence[Hashable]]
"""A column of labels: a number for each row, and the label that each number stands for."""

_FEW_COMBINATIONS = 1 << 20  # up to here a table of all combinations is faster than sorting


def is_missing(value: Any) -> bool:
    """Whether a label is None, NaN, NaT or pandas.NA."""
    try:
        return value is None or bool(value != value)  # NaN and NaT differ from themselves
    except Exception:  # pandas.NA refuses to be a bool
        return True


def plain(value: Any) -> Any:
    """Return a NumPy scalar as the built-in type that it stands for, anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def as_label(value: Any) -> Any:
    """Return a label as a built-in type; None if it is missing."""
    return None if is_missing(value) else plain(value)


_TRUE_OR_FALSE = {"true": "True", "TRUE": "True", "false": "False", "FALSE": "False"}


def spelled(label: Any) -> str | None:
    """Return what a label says, whatever its type: 1, 1.0 and "1" are the same, and so are True,
    "True" and "true".

    True is not 1; "01" and "1.50" are text. None is a missing label.
    """
    label = as_label(label)
    if label is None:
        return None
    text = str(float(label) if isinstance(label, Decimal) else label)
    try:
        number = float(text)
    except ValueError:
        return _TRUE_OR_FALSE.get(text, text)
    return str(int(number)) if text == repr(number) and number.is_integer() else text


def spelled_key(key: Any) -> tuple[str | None, ...]:
    """Return what the label of a segment says, or each of several labels."""
    return tuple(map(spelled, key)) if isinstance(key, tuple) else (spelled(key),)


def is_plain_label(label: Any) -> bool:
    """Whether a label is text, a finite number, a bool or None: what JSON and SQL have."""
    return (
        label is None
        or isinstance(label, str | bool | int)
        or (isinstance(label, float) and math.isfinite(label))
    )


def check_label(label: Any, where: str) -> None:
    """Refuse a label that other programs would not understand."""
    if not is_plain_label(label):
        raise InputError(
            f"segments must be text, finite numbers, bools or None {where}; one is {label!r}"
        )


def label_order(key: Any) -> tuple[Any, ...]:
    """Return a sort key for a label or a tuple of labels: types that cannot be compared stay apart,
    None is last.
    """
    labels = key if isinstance(key, tuple) else (key,)
    return tuple(
        (v is None, "" if isinstance(v, bool | int | float) else type(v).__name__, v)
        for v in labels
    )


def code_labels(column: Iterable[Any]) -> Codes:
    """Number the distinct labels of a column in their order; missing ones share the label None,
    which is last.
    """
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "biufUS":
            values, codes = np.unique(column, return_inverse=True)
            return codes.reshape(-1), [as_label(value) for value in values.tolist()]
        if column.dtype.kind == "M" and np.datetime_data(column.dtype)[0] in (
            "ns",
            "ps",
            "fs",
            "as",
        ):
            column = column.astype("M8[us]")  # finer ones convert to int only
    found: dict[Hashable, int] = {}
    try:
        codes = np.array(
            [found.setdefault(as_label(value), len(found)) for value in column], np.int64
        )
        labels = sorted(found, key=label_order)
    except TypeError as error:  # a label that cannot be hashed, or two that have no order
        raise InputError(f"labels of groups and segments must be plain values; {error}") from error
    # which True and False may have joined: they are equal, but do not say the same
    if {0, 1} & set(found):
        numbers = (
            value
            for value in map(plain, column)
            if isinstance(value, bool | int | float) and value in (0, 1)
        )
        if len({isinstance(value, bool) for value in numbers}) > 1:
            raise InputError(
                "labels of groups and segments must not mix bools with 0 and 1: write them as text"
            )
    rank = np.empty(len(labels), np.int64)
    rank[[found[label] for label in labels]] = np.arange(len(labels))
    return rank[codes], labels


def number_segments(known: dict[Key, int], keys: Iterable[Key]) -> Ints:
    """Return the number of each of these segments among those that are known; new ones get the next
    numbers.
    """
    return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)


def number_rows(known: dict[Key, int], columns: Sequence[Codes], rows: int) -> Ints:
    """Return the number of each row's segment; without columns all rows are one segment, ``()``."""
    if not columns:
        return np.repeat(number_segments(known, [()] * min(rows, 1)), rows)
    combinations = math.prod(len(labels) for _, labels in columns)
    if combinations > np.iinfo(np.int64).max:
        raise InputError(
            "by has more combinations of labels than can be numbered: name fewer columns"
        )
    combined = np.zeros(rows, np.int64)
    for codes, labels in columns:
        combined = combined * len(labels) + codes
    if combinations <= max(_FEW_COMBINATIONS, rows):
        used = np.flatnonzero(np.bincount(combined, minlength=combinations))
        at = np.zeros(combinations, np.int64)
        at[used] = np.arange(len(used))
        at = at[combined]
    else:
        used, at = np.unique(combined, return_inverse=True)
    keys: list[list[Hashable]] = []
    for _, labels in reversed(columns):
        used, code = np.divmod(used, len(labels))
        keys.append([labels[k] for k in code.tolist()])
    found: Ints = number_segments(known, zip(*reversed(keys), strict=True))[at.reshape(-1)]
    return found


def as_labels(column: ArrayLike, name: str, n: int) -> NDArray[Any]:
    """Return one label for each row as an array."""
    labels = one_column(_array(column, name))
    if labels.shape != (n,):
        raise InputError(
            f"{name} must hold one label for each of the {n:,} rows; its shape is {labels.shape}"
        )
    return labels


def named_columns(by: Any) -> list[tuple[str, Any]]:
    """The columns of segments, with the names that messages use."""
    return (
        [(f"by[{name!r}]", column) for name, column in by.items()]
        if isinstance(by, Mapping)
        else [("by", by)]
    )


def segment_column(by: ArrayLike | Mapping[str, ArrayLike], n: int) -> SegmentColumn:
    """Return the segment of each row: a label, or with several columns a tuple of labels."""
    if isinstance(by, Mapping) and not by:
        raise InputError("by must name at least one column")
    codes = [code_labels(as_labels(column, name, n)) for name, column in named_columns(by)]
    names = tuple(map(str, by)) if isinstance(by, Mapping) else ("segment",)
    known: dict[Key, int] = {}
    number = number_rows(known, codes, n)
    labels = tuple(key if len(key) > 1 else key[0] for key in known)
    return SegmentColumn(names, labels, number)


def rows_by_segment(
    by: ArrayLike | Mapping[str, ArrayLike], n: int
) -> tuple[tuple[str, ...], dict[Any, Ints]]:
    """Return the names of the columns that define segments, and the rows of each segment."""
    segment = segment_column(by, n)
    return segment.by, segment.places()


def numbered_groups(groups: ArrayLike, n: int) -> Ints:
    """Return the number of each row's group, from 0 on."""
    array = one_column(_array(groups, "groups"))
    if array.shape != (n,):
        raise InputError(
            f"groups must have one entry for each of the {n:,} rows; its shape is {array.shape}"
        )
    numbers, labels = code_labels(array)
    if labels and labels[-1] is None:
        missing = numbers == len(labels) - 1
        first = Place("groups", int(missing.argmax()))
        rule = "groups must not contain missing values"
        raise InputError.from_offenders(rule, int(missing.sum()), first, missing=True)
    return numbers


def places_of_segments(columns: Sequence[Codes], n: int) -> dict[Any, Ints]:
    """Return the rows of each segment: a label, or with several columns a tuple of labels."""
    known: dict[Key, int] = {}
    at = number_rows(known, columns, n)
    places = np.split(np.argsort(at, kind="stable"), np.cumsum(np.bincount(at))[:-1])
    keys = [key if len(key) > 1 else key[0] for key in known]
    return dict(zip(keys, places, strict=n > 0))  # without rows there is one place, of none


_BLOCK = 1 << 16  # rows checked at a time when a bad one is searched for
LABEL_RULE = "must be 0 or 1 (pos_label names the event among other labels)"
WEIGHT_RULE = "must be finite and not negative"
_READABLE = {np.dtype(t) for t in ("f4", "f8")}
_KINDS = {"U": "strings", "S": "bytes", "c": "complex numbers", "M": "dates", "m": "time spans"}
_LABELS = _READABLE | {np.dtype(t) for t in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")}


@dataclass(frozen=True, slots=True, eq=False)
class ColumnNames:
    """What the caller calls the columns, for error messages."""

    label: str = "y_true"
    prob: str = "y_prob"
    weight: str = "sample_weight"
    old: str = "p_old"  # another forecast for the same rows
    first: int = 0  # the number of the first row, where the rows are one batch of several
    source: str = ""  # the name of the source, where there are several

    def at(self, name: str, row: int) -> Place:
        """Return the place of a value."""
        return Place(name, self.first + row, self.source)


_NAMES = ColumnNames()


# not frozen, which would cost a small sample more time than its rows
@dataclass(slots=True, eq=False)
class Columns:
    """What a caller gave, as arrays of one length and of types that the kernels read in place;
    their values are not checked yet.
    """

    outcome: NDArray[Any]
    prob: NDArray[Any]
    weight: NDArray[Any] | None
    names: ColumnNames = _NAMES
    other: Any = None  # the label besides pos_label, where there is one

    def __len__(self) -> int:
        return len(self.prob)

    @property
    def label(self) -> NDArray[Any]:
        """An old name, which other packages use until they have moved to the new one."""
        return self.outcome

    def check(self) -> None:
        """Raise the rule that the rows break, if any; one pass over them."""
        if not scan(self.prob, self.outcome, self.weight, 2, None, 0, len(self)):
            raise self.explain()

    def explain(self) -> InputError:
        """Return the error for the rule that the rows break; the kernel reports only that they
        break one.
        """
        names, labels = self.names, self.outcome
        error = explain_probabilities(self.prob, names)
        error = error or _offenders(
            names.label, labels, lambda y: (y != 0) & (y != 1), LABEL_RULE, names
        )
        if error is None and self.weight is not None:
            error = _offenders(
                names.weight, self.weight, lambda w: ~((w >= 0) & (w < np.inf)), WEIGHT_RULE, names
            )
        if error is None:
            return InputError("the rows changed while they were read")
        if error.rule != f"{names.label} {LABEL_RULE}":
            return error
        # Labels and probabilities seem to be swapped, or labels to be shares, or there are two
        # other labels.
        low, high = labels.min(), labels.max()  # of all rows: the first may be unlike the rest
        shares, two = low >= 0 and high <= 1, _holds(labels, lambda y: (y == low) | (y == high))
        if (shares or (low < high and not two)) and _holds(
            self.prob, lambda p: (p == 0) | (p == 1) | (p == 0.01)
        ):  # 1 in percent
            return error.revised(hint=f"; were {names.label} and {names.prob} swapped?")
        if shares:
            hint, remedy = (
                "; if these are shares (a draw is half a win), ",
                "make a Sample with fractional=True",
            )
            return error.revised(hint=hint, remedy=remedy, option=("fractional", ""))
        if two and low < high < np.inf and low > -np.inf:
            hint = f"; the labels are {low:g} and {high:g}: if {high:g} is the event, "
            return error.revised(
                hint=hint, remedy=f"pass pos_label={high:g}", option=("pos_label", f"{high:g}")
            )
        return error


def _holds(values: NDArray[Any], rule: Callable[[Any], Any]) -> bool:
    return all(
        rule(values[start : start + _BLOCK]).all() for start in range(0, len(values), _BLOCK)
    )


def _offenders(
    name: str, values: NDArray[Any], bad: Callable[[Any], Any], rule: str, names: ColumnNames
) -> InputError | None:
    """Return the error for the bad values, if there are any; blocks keep the memory small."""
    count, first = 0, -1
    for start in range(0, len(values), _BLOCK):
        mask = bad(values[start : start + _BLOCK])
        if mask.any():
            first = first if count else start + int(mask.argmax())
            count += int(mask.sum())
    if not count:
        return None
    missing = bad is np.isnan
    value = None if missing else values[first]
    return InputError.from_offenders(
        f"{name} {rule}", count, names.at(name, first), value, missing=missing
    )


def as_rows(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    sample_weight: ArrayLike | None,
    pos_label: Any = None,
    *,
    labels: Sequence[Any] | None = None,
    names: ColumnNames | None = None,
) -> Columns:
    """Convert the arguments to arrays, without a copy where the kernel can read them in place.

    Of predictions for two classes, which `labels` name, it takes the event's.
    """
    names = names or _NAMES
    if type(y_true) is not np.ndarray or type(y_prob) is not np.ndarray:
        check_aligned((names.label, y_true), (names.prob, y_prob), (names.weight, sample_weight))
    if (type(y_prob) is not np.ndarray or y_prob.ndim == 2) and class_columns(y_prob) > 1:
        y_true, y_prob, pos_label = _of_two_classes(y_true, y_prob, labels, pos_label, names)
    if pos_label is None:
        label, other = _label(_vector(y_true, names.label), names), None
    else:
        label, other = _is_event(_vector(y_true, names.label), names, pos_label)
    prob = _number(_vector(y_prob, names.prob), names.prob, _READABLE)
    weight = None
    if sample_weight is not None:
        weight = _number(_vector(sample_weight, names.weight), names.weight, _READABLE)
        check_same_length(names.label, label, names.weight, weight)
    check_same_length(names.label, label, names.prob, prob)
    return Columns(label, prob, weight, names, other)


def as_columns(rows: Rows | Columns) -> Columns:
    """Return the columns of rows that are read again, with the usual names."""
    return rows if isinstance(rows, Columns) else Columns(rows.outcome, rows.prob, rows.weight)


def split_shares(
    y_true: ArrayLike, y_prob: ArrayLike, sample_weight: ArrayLike | None, names: ColumnNames
) -> tuple[Columns, Ints]:
    """Split rows whose outcome is a share of the event into a part with the event and one without.

    A row with outcome 0.3 becomes a row with the event, of weight 0.3, and a row without it, of
    weight 0.7; all averages are then those of the shares. Also returned is the number of the row
    that each part belongs to.
    """
    shares = one_column(as_numbers(y_true, names.label))
    check_aligned((names.label, y_true), (names.prob, y_prob), (names.weight, sample_weight))
    rows = as_rows(np.zeros(shares.shape), y_prob, sample_weight, names=names)
    error = explain_shares(shares, names)
    if error is not None:
        raise error
    rows.check()
    both = (shares > 0) & (shares < 1)
    at = np.repeat(np.arange(len(shares)), np.where(both, 2, 1))
    second = np.append(False, at[1:] == at[:-1])
    label = np.where(both[at], ~second, shares[at] == 1)
    weight = np.where(label, shares[at], 1 - shares[at])
    weight = weight if rows.weight is None else weight * rows.weight[at]
    return Columns(label.view(np.uint8), rows.prob[at], weight, names), at


def explain_shares(shares: NDArray[Any], names: ColumnNames) -> InputError | None:
    """Return the error for outcomes that are no shares, if there are any."""
    rule = "must be a share of the event, in [0, 1]"
    return _offenders(names.label, shares, lambda y: ~((y >= 0) & (y <= 1)), rule, names)


BaseRate = float | tuple[float, float]
"""The event rate of a population, or the ends of a range of rates."""


def check_base_rate(base_rate: Any) -> tuple[float, float]:
    """Return the ends of a range of base rates; a single rate is both of them."""
    try:
        ends = np.asarray(base_rate, np.float64)
    except (TypeError, ValueError):
        ends = np.zeros(0)
    if isinstance(base_rate, bool | str) or ends.shape not in ((), (1,), (2,)):
        raise InputError(
            f"base_rate must be a number, or the two ends of a range; it is {base_rate!r}"
        )
    low, high = float(ends.flat[0]), float(ends.flat[-1])
    if not (0 < low < 1 and 0 < high < 1):
        raise InputError(f"base_rate must lie between 0 and 1, both excluded; it is {base_rate!r}")
    if ends.size == 2 and not low < high:
        raise InputError(
            f"base_rate must have its lower end first, and two different ends; it is {base_rate!r}"
        )
    return low, high


def as_probabilities(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return predictions as an array of float32 or float64, without a copy where possible and
    without checks.
    """
    return _number(_vector(values, name), name, _READABLE)


def explain_probabilities(prob: NDArray[Any], names: ColumnNames) -> InputError | None:
    """Return the error for predictions that break a rule, if there are any."""
    missing = _offenders(names.prob, prob, np.isnan, "must not contain NaN", names)
    error = missing or _offenders(
        names.prob, prob, lambda p: (p < 0) | (p > 1), "must lie in [0, 1]", names
    )
    if missing is not None or error is None:
        return missing
    some = prob[:_BLOCK]
    low, high = some.min(), some.max()
    if low >= 0 and 10 < high <= 100 and np.median(some) > 1:  # most above 1, some far above it
        return error.revised(
            hint="; if it is in percent, ", remedy="divide by 100", option=("percent", "")
        )
    if low < 0 and high > 1:
        return error.revised(
            hint="; if these are log-odds, apply the logistic function first: 1 / (1 + exp(-x))"
        )
    if low < 0 and high <= 0:
        return error.revised(hint="; if these are logarithms of probabilities, apply exp first")
    return error


def check_same_length(name: str, values: NDArray[Any], other: str, others: NDArray[Any]) -> None:
    """Refuse two columns of different length."""
    if len(values) != len(others):
        raise InputError(
            f"{name} and {other} must have the same length; they have {len(values):,} and {len(others):,}"
        )


def check_aligned(*columns: tuple[str, Any]) -> None:
    """Refuse pandas objects, given with their names, whose rows have different labels: they are
    paired by position.

    That is, the same labels in another order, or two indexes that differ and of which neither is
    the default one.
    """
    known: list[tuple[str, Any]] = [
        (name, index)
        for name, column in columns
        if hasattr(index := getattr(column, "index", None), "equals")
    ]
    for (name, index), (other, theirs) in combinations(known, 2):
        if index.equals(theirs):
            continue
        try:
            reordered = len(index) == len(theirs) and index.sort_values().equals(
                theirs.sort_values()
            )
        except TypeError:  # labels that cannot be sorted
            reordered = False
        if reordered or not (_is_default(index) or _is_default(theirs)):
            what = "the same index in another order" if reordered else "different indexes"
            raise InputError(
                f"{name} and {other} have {what}: align them first, or pass {other}.to_numpy() to pair rows by position"
            )


def _is_default(index: Any) -> bool:
    return getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1


def refuse_masked(values: ArrayLike, name: str) -> None:
    """Refuse masked values: NumPy would read what is under the mask."""
    if np.ma.isMaskedArray(values):
        masked = np.ma.getmaskarray(values)
        if masked.any():
            first = f"{name}[{int(masked.ravel().argmax())}]"
            raise InputError.from_offenders(
                f"{name} must not contain masked values", int(masked.sum()), first
            )


def _refuse_masked_entries(array: NDArray[Any], name: str) -> None:
    """Refuse masked values among other objects, as a list of masked labels has them."""
    masked = type(np.ma.masked)
    if masked in set(map(type, array.flat)):
        places = np.fromiter((type(value) is masked for value in array.flat), np.bool_, array.size)
        first = f"{name}[{int(places.argmax())}]"
        raise InputError.from_offenders(
            f"{name} must not contain masked values", int(places.sum()), first
        )


def as_numbers(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return numbers of any shape as doubles; their values are not checked."""
    return _number(_array(values, name), name, {np.dtype(np.float64)})


class ThresholdRange(NamedTuple):
    """The decisions whose thresholds lie in a range: from `low` to `high`, both included."""

    low: float
    high: float

    def __str__(self) -> str:
        low, high = (percent(end) for end in self)
        return (
            f"with the threshold {low}"
            if self.low == self.high
            else f"with a threshold between {low} and {high}"
        )


def check_range(threshold_range: Any) -> ThresholdRange | None:
    """Return the range of thresholds that a number, or a pair of them, stands for; None for every
    decision.
    """
    if threshold_range is None:
        return None
    pair = isinstance(threshold_range, tuple | list) or np.ndim(threshold_range) == 1
    ends = [plain(end) for end in (threshold_range if pair else (threshold_range, threshold_range))]
    numbers = len(ends) == 2 and all(
        isinstance(end, int | float) and not isinstance(end, bool) for end in ends
    )
    if not numbers or not 0 <= ends[0] <= ends[1] <= 1 or ends in ([0, 0], [1, 1]):
        raise InputError(
            "threshold_range must be a number above 0 and below 1, or a pair of numbers (low, high) with "
            f"0 <= low <= high <= 1; it is {threshold_range!r:.60}"
        )
    return None if ends == [0, 1] else ThresholdRange(float(ends[0]), float(ends[1]))


def check_capacity(capacity: Any) -> float:
    """Check how many cases can be acted on: a share of them below 1, or a whole number."""
    number = plain(capacity)
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < math.inf:
        number = math.nan
    if not (number < 1 or float(number).is_integer()):
        raise InputError(
            f"capacity must be a share of the cases, above 0 and below 1, or a whole number of them; it is {capacity!r}"
        )
    return float(number)


def is_number(x: Any) -> bool:
    """Return whether x is a real number that a double can hold, and not a bool."""
    if isinstance(x, bool) or not isinstance(x, int | float | np.integer | np.floating):
        return False
    return not isinstance(x, int) or abs(x) <= sys.float_info.max


def check_max_weight(max_weight: Any, largest: float) -> float:
    """Check the largest weight that is possible, given the largest of a sample."""
    # equal sums of weights can differ by rounding
    if not is_number(max_weight) or not largest * (1 - 1e-12) <= max_weight < math.inf:
        rule = f"max_weight must be finite, and at least the largest weight {largest:.6g}"
        raise InputError(f"{rule}; it is {max_weight!r}", parameter="max_weight")
    return float(max_weight)


def check_probabilities(
    values: ArrayLike, name: str, within: ThresholdRange | None = None
) -> NDArray[np.float64]:
    """Check numbers of any shape in [0, 1], or in a range, and return them as doubles."""
    asked, (low, high) = as_numbers(values, name), within or (0.0, 1.0)
    bad = np.flatnonzero(~((asked >= low) & (asked <= high)))
    if bad.size:
        where = name if asked.ndim == 0 else f"{name}[{bad[0]}]"
        rule = f"{name} must lie in [{low:g}, {high:g}]"
        raise InputError.from_offenders(rule, bad.size, where, asked.flat[bad[0]])
    return asked


def _array(values: ArrayLike, name: str) -> NDArray[Any]:
    refuse_masked(values, name)
    try:
        array = np.asarray(values)
    except Exception as error:  # __array__ of another library may raise anything
        raise InputError(f"{name} must be readable as an array: {error}") from error
    if array.dtype.kind not in "US" or not isinstance(values, list | tuple):
        return array
    # NumPy has written as text what stands beside text: a missing label would be the label "nan"
    objects = np.asarray(values, object)
    _refuse_masked_entries(objects, name)
    return objects


def one_column(array: NDArray[Any]) -> NDArray[Any]:
    """Return a table of one column, as of a frame, as a vector; anything else as it is."""
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _vector(values: ArrayLike, name: str) -> NDArray[Any]:
    array: NDArray[Any] = one_column(values if type(values) is np.ndarray else _array(values, name))
    if array.ndim != 1:
        hint = ""
        if array.ndim == 2 and array.shape[1] == 2:
            event = repr(values.columns[-1]) if hasattr(values, "columns") else ":, 1"
            hint = f"; of two columns pass the event's, {name}[{event}]"
        raise InputError(f"{name} must be one-dimensional; its shape is {array.shape}", hint=hint)
    return array


def _number(array: NDArray[Any], name: str, readable: set[np.dtype[Any]]) -> NDArray[Any]:
    if array.dtype in readable and array.dtype.isnative and array.flags.aligned:
        return array
    if array.dtype.kind not in "biufO":
        held = _KINDS.get(array.dtype.kind, f"values of type {array.dtype}")
        raise InputError(f"{name} must hold numbers; it holds {held}")
    if array.dtype.kind == "O":
        text = next((value for value in array.flat if isinstance(value, str | bytes)), None)
        if text is not None:
            held = _KINDS["S" if isinstance(text, bytes) else "U"]
            raise InputError(f"{name} must hold numbers; it holds {held}")
    try:
        doubles = array.astype(np.float64)
        if array.dtype.kind == "O" or array.dtype.itemsize > doubles.itemsize:
            _keep_outside(array, doubles)
    except Exception as error:  # __float__ of another library may raise anything
        raise InputError(f"{name} must hold numbers; {error}") from error
    return doubles


def _keep_outside(array: NDArray[Any], doubles: NDArray[np.float64]) -> None:
    """Keep numbers slightly outside [0, 1] outside, where rounding to a double would clip them."""
    for end, beyond in ((0.0, -np.inf), (1.0, np.inf)):
        at = doubles == end
        exact = array[at]
        doubles[at] = np.where(
            exact < end if end == 0 else exact > end, np.nextafter(end, beyond), end
        )


def no_outcome(name: str, held: str) -> InputError:
    """Return the error for a column of outcomes that holds something else, such as labels."""
    rule, remedy = (
        f"{name} must be 0 or 1; it holds {held}",
        "pass pos_label to say which label is the event",
    )
    return InputError(rule, hint=": ", remedy=remedy, option=("pos_label", None))


def _label(array: NDArray[Any], names: ColumnNames) -> NDArray[Any]:
    kind = array.dtype.kind
    if kind == "b":
        return array.view(np.uint8)
    if kind not in "iuf":
        text = next((value for value in array if isinstance(value, str | bytes)), None)
        if kind in "US" or text is not None:
            example = "" if text is None else f" such as {plain(text)!r}"
            raise no_outcome(names.label, f"strings{example}")
    return _number(array, names.label, _LABELS)


def _is_event(array: NDArray[Any], names: ColumnNames, pos_label: Any) -> tuple[NDArray[Any], Any]:
    """Return which labels are the event, and the one other label (None if there is none)."""
    if np.ndim(pos_label) != 0:
        raise InputError(f"pos_label must be one label; it is {pos_label!r}")
    if array.dtype.kind in "OfM":  # a missing label is not the other label
        missing = np.fromiter(map(is_missing, array), np.bool_, len(array))
        if missing.any():
            rule, place = (
                f"{names.label} must not contain missing labels",
                names.at(names.label, int(missing.argmax())),
            )
            raise InputError.from_offenders(rule, int(missing.sum()), place, missing=True)
    try:
        event = np.asarray(array == pos_label, dtype=np.bool_)
    except Exception as error:  # __eq__ of another library may raise anything
        raise InputError(f"{names.label} could not be compared with pos_label: {error}") from error
    others = np.flatnonzero(~event)
    if not len(others):
        return event.view(np.uint8), None
    negative = plain(array[others[0]])
    further = others[np.asarray(array[others] != negative, dtype=np.bool_)]
    never = "" if len(others) < len(array) else f"; {pos_label!r} never occurs"
    if len(further):
        another = plain(array[further[0]])
        raise InputError.from_offenders(
            f"{names.label} must hold {pos_label!r} and one other label ({negative!r})",
            len(further),
            names.at(names.label, int(further[0])),
            repr(another),
            labels=(negative, another),
            hint=never,
        )
    if never:
        refuse_misspelt_event(names.label, pos_label, negative)
    return event.view(np.uint8), negative


def refuse_misspelt_event(name: str, pos_label: Any, other: Any) -> None:
    """Refuse a column without the event, whose one label differs from it in capitals or spaces
    only.
    """
    if isinstance(other, str) and other.strip().casefold() == str(pos_label).strip().casefold():
        raise InputError(
            f"{name} must hold {pos_label!r}, which never occurs; every label is {other!r}"
        )


SUM_TOLERANCE = 1e-4
"""By how much the sum of a row of probabilities may miss 1: enough for float32, not for float16."""


def check_labels(labels: Sequence[Any], classes: int) -> list[Any]:
    """Check that there is one distinct label for each class, and return them."""
    names = [plain(label) for label in labels]
    if len(names) != classes or len(set(names)) != classes:
        raise InputError(
            f"labels must name each of the {classes:,} classes once; they are {names!r}"
        )
    return names


def class_columns(values: Any) -> int:
    """Count the columns of predictions for several classes; 0 if they are not a table."""
    if isinstance(values, list | tuple):
        first = values[0] if len(values) else None
        return len(first) if isinstance(first, list | tuple | np.ndarray) and np.ndim(first) else 0
    shape = getattr(values, "shape", ())
    return shape[1] if isinstance(shape, tuple) and len(shape) == 2 else 0


def read_classes(
    y_true: ArrayLike, y_prob: ArrayLike, labels: Sequence[Any] | None, names: ColumnNames
) -> tuple[Ints, NDArray[Any], list[Any]]:
    """Check outcomes and predictions; return the class of each row, the predictions and the labels
    of the classes.

    Without `labels` the columns of a frame name the classes. Outcomes are names; or numbers of
    columns, if no name is.
    """
    prob = _table(y_prob, names)
    columns = getattr(y_prob, "columns", None)
    named = labels if labels is not None or columns is None else list(columns)
    called = list(range(prob.shape[1])) if named is None else check_labels(named, prob.shape[1])
    label = _vector(y_true, names.label)
    code, found = code_labels(label)
    known = {name: k for k, name in enumerate(called)}
    if not any(isinstance(name, int | float) for name in called) and not any(
        name in known for name in found
    ):
        known = {k: k for k in range(len(called))}  # of the columns
    which = np.array([known.get(value, -1) for value in found], np.int64)[code]
    if (unknown := which < 0).any():
        first = int(unknown.argmax())
        raise unknown_label(
            label[first], first, int(unknown.sum()), len(called), named is None, names
        )
    check_same_length(names.label, which, names.prob, prob)
    _refuse_other_tables(prob, names)
    return which, prob, called


def _table(y_prob: ArrayLike, names: ColumnNames) -> NDArray[Any]:
    """Return predictions for several classes as a table of numbers, which are not checked."""
    array = _array(y_prob, names.prob)
    if array.ndim != 2 or array.shape[1] < 2:
        raise InputError(
            f"{names.prob} must have two dimensions, a column for each class; its shape is {array.shape}"
        )
    return _number(array, names.prob, _READABLE)


def _of_two_classes(
    y_true: Any, y_prob: Any, labels: Sequence[Any] | None, pos_label: Any, names: ColumnNames
) -> tuple[Any, NDArray[Any], Any]:
    """Return the outcomes and the column of the event: `pos_label`, else the second class."""
    prob = _table(y_prob, names)
    if prob.shape[1] > 2:
        raise one_event(prob.shape[1], names.prob)
    if pos_label is None:
        which, prob, _ = read_classes(y_true, y_prob, labels, names)
        return which, prob[:, 1], None
    _refuse_other_tables(prob, names)
    called = list(getattr(y_prob, "columns", ())) if labels is None else check_labels(labels, 2)
    return y_true, prob[:, called.index(pos_label) if pos_label in called else 1], pos_label


def _refuse_other_tables(prob: NDArray[Any], names: ColumnNames) -> None:
    for error in violations(prob, names):
        several = "; several forecasts of one event go into a mapping of names to columns"
        raise error.revised(hint=several if "sum to 1" in str(error.rule) else "")


def one_event(classes: int, name: str) -> InputError:
    """Return the error for several classes, where predictions of one event are needed."""
    return InputError(
        f"{name} has {classes:,} classes, but this is about one event: choose a class, Sample(y, p)[label], or the "
        "most likely one, Sample(y, p).top_label"
    )


def violations(prob: NDArray[Any], names: ColumnNames) -> Iterator[InputError]:
    """Yield an error for every rule that the predictions break; a row that breaks one is left out
    for the next.
    """
    rules: dict[str, Callable[[NDArray[Any]], Any]] = {
        "must not contain NaN": lambda p: np.isnan(p).any(axis=1),
        "must lie in [0, 1]": lambda p: ((p < 0) | (p > 1)).any(axis=1),
        f"must sum to 1 in each row (within {SUM_TOLERANCE})": lambda p: (
            np.abs(p.sum(axis=1) - 1) > SUM_TOLERANCE
        ),
    }
    found: dict[str, tuple[int, int]] = {}  # how many rows break a rule, and the first
    with np.errstate(invalid="ignore"):
        for start in range(0, len(prob), _BLOCK):
            block = prob[start : start + _BLOCK].astype(np.float64, copy=False)
            if (
                block.min() >= 0
                and block.max() <= 1
                and np.abs(block.sum(axis=1) - 1).max() <= SUM_TOLERANCE
            ):
                continue  # which is quicker than the rules one by one
            fine = np.ones(len(block), np.bool_)
            for rule, breaks in rules.items():
                bad = breaks(block) & fine
                if bad.any():
                    count, first = found.get(rule, (0, start + int(bad.argmax())))
                    found[rule] = count + int(bad.sum()), first
                    fine &= ~bad
    for rule in rules:
        if rule in found:
            count, row = found[rule]
            shown = ", ".join(f"{value:.6g}" for value in prob[row][:4]) + ", ..." * (
                prob.shape[1] > 4
            )
            missing = rule == "must not contain NaN"
            place = names.at(names.prob, row)
            yield InputError.from_offenders(
                f"{names.prob} {rule}", count, place, f"[{shown}]", missing=missing
            )


def unknown_label(
    value: Any, row: int, count: int, classes: int, unnamed: bool, names: ColumnNames
) -> InputError:
    """Return the error for labels of no known class."""
    called = f"from 0 to {classes - 1}" if unnamed else f"one of the {classes} labels"
    hint = "; pass labels to name the classes" if unnamed else ""
    return InputError.from_offenders(
        f"{names.label} must be {called}",
        count,
        names.at(names.label, row),
        repr(plain(value)),
        hint=hint,
    )
