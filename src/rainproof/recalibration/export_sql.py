"""Maps as SQL expressions, in the spelling of each engine.

Of one event an expression gives the same bits as Python; of several classes the same up to
rounding, as it uses LN and EXP.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rainproof.core.classes import SUM_TOLERANCE
from rainproof.core.piecewise import SLOPE_UNIT, UNIT, PiecewiseMap
from rainproof.errors import InputError
from rainproof.io.dialects import Dialect, find_dialect
from rainproof.recalibration.maps import ClassMap, ClassPart
from rainproof.recalibration.methods import NEAREST
from rainproof.recalibration.segment_maps import SpelledKey

_LARGEST_EXPONENT = 700.0  # whose exponential is a double, and that of its opposite
_FIRST_POWER = 7  # of ten from which engines write doubles with an exponent, each in its way


# One event.


def as_sql(
    column: str,
    dialect: str,
    whole: PiecewiseMap,
    maps: Mapping[SpelledKey, PiecewiseMap],
    others: Sequence[SpelledKey] | None,
    columns: Sequence[str],
) -> str:
    """Write the maps of segments, which `columns` tell apart, as one expression.

    The segments in `others` use the map of all rows, and those that are in neither get NULL;
    without `others`, all that have no map of their own use it.
    """
    spoken = find_dialect(dialect)
    value, wrong = _checked_column(column, spoken)
    names = [spoken.identifier(name) for name in columns]
    known = {*maps, *(others or ())}
    cases = []
    for key, own in maps.items():
        is_segment = _is_one_of([key], names, spoken, known)
        cases.append(f"WHEN {is_segment} THEN {_pieces(own, value, spoken)}")
    rest = _pieces(whole, value, spoken)
    if others is not None:
        if others:
            cases.append(f"WHEN {_is_one_of(others, names, spoken, known)} THEN {rest}")
        rest = "NULL"
    branches = " ".join([*cases, "ELSE"])
    return f"CASE WHEN {' OR '.join(wrong)} THEN NULL {branches} {rest} END"


def columns_of(
    by: str | Sequence[str] | Mapping[str, str] | None, names: tuple[str, ...]
) -> list[str]:
    """Return the columns of segments, in the order of the names that the map was fitted with."""
    if isinstance(by, Mapping):
        if set(by) != set(names):
            given = ", ".join(map(str, by)) or "nothing"
            raise InputError(f"by must name {', '.join(names)}; it names {given}")
        return [by[name] for name in names]
    if by is None:
        columns = []
    else:
        columns = [by] if isinstance(by, str) else list(by)
    if len(columns) != len(names):
        fitted = "nothing, as the map was fitted without segments"
        if names:
            fitted = f"one for each of {', '.join(names)}"
        given = ", ".join(map(str, columns)) or "nothing"
        raise InputError(f"by must name {fitted}; it names {given}")
    return columns


def _checked_column(column: str, dialect: Dialect) -> tuple[str, list[str]]:
    """Write a column of probabilities as doubles, and the conditions that a value is none."""
    name = dialect.identifier(column)
    value = dialect.double.format(name)
    wrong = [f"{name} IS NULL", dialect.breaks(value, "{0} >= 0 AND {0} <= 1")]
    if dialect.is_text is not None:
        wrong.append(dialect.is_text.format(name))
    return value, wrong


def _is_one_of(
    keys: Sequence[SpelledKey], names: Sequence[str], dialect: Dialect, known: set[SpelledKey]
) -> str:
    """Write that the columns are those of one of some segments; the depth is a logarithm."""
    if len(keys) > 1:
        middle = len(keys) // 2
        lower = _is_one_of(keys[:middle], names, dialect, known)
        upper = _is_one_of(keys[middle:], names, dialect, known)
        return f"({lower} OR {upper})"
    labels = zip(names, keys[0], strict=True)
    return " AND ".join(_says(name, label, dialect, known) for name, label in labels)


def _says(name: str, label: str | None, dialect: Dialect, known: set[SpelledKey]) -> str:
    """Write that a column of any type says this label."""
    if label is None:
        return f"{name} IS NULL"
    written = ", ".join(dialect.literal(text) for text in _spellings(label))
    test = f"{dialect.as_text.format(name)} IN ({written})"
    bit = {"True": "1", "False": "0"}.get(label)
    if bit is None or dialect.is_whole is None or any(bit in key for key in known):
        return test
    return f"({test} OR {dialect.is_whole.format(name)} AND {name} = {bit})"


def _spellings(label: str) -> list[str]:
    """Return all spellings of engines for what is the same label."""
    spellings = [label]
    if label in ("True", "False"):
        spellings += [label.lower(), label.upper()]
    digits = label.removeprefix("-")
    is_whole = digits.isdecimal() and (digits == "0" or digits[0] != "0")
    if not is_whole:
        return spellings
    spellings.append(f"{label}.0")
    power = len(digits) - 1
    if power >= _FIRST_POWER:
        sign = label[: -len(digits)]
        short = digits.rstrip("0")
        mantissa = f"{sign}{short[0]}.{short[1:] or '0'}"
        spellings.append(f"{mantissa}E{power}")
        spellings.append(f"{mantissa}e+{power:02}")
        spellings.append(f"{mantissa.removesuffix('.0')}e+{power:02}")
    return spellings


def _pieces(pieces: PiecewiseMap, value: str, dialect: Dialect) -> str:
    """Write a map of a column, in whole numbers: an engine reads them as Python does.

    The piece is found by halving, so that expressions stay shallow and quick.
    """
    edges = _whole_numbers(pieces.edges * UNIT)
    starts = _whole_numbers(pieces.start * UNIT)
    slopes = _whole_numbers(pieces.slope * SLOPE_UNIT)

    def piece(k: int) -> str:
        if slopes[k] == 0:
            return dialect.double.format(starts[k])
        # As written: scaled, the smallest doubles would be rounded twice.
        if edges[k] == 0 and starts[k] == 0:
            slope = f"({dialect.double.format(slopes[k])} / {int(SLOPE_UNIT)})"
            steep = f"{value} * {slope} * {int(UNIT)}"
            return f"CASE WHEN {value} > 0 THEN {steep} ELSE {dialect.double.format(0)} END"
        beyond = f"({value} * {int(UNIT)} - {edges[k]})"
        return f"{starts[k]} + {beyond} * ({slopes[k]}) / {int(SLOPE_UNIT)}"

    def between(first: int, last: int) -> str:
        if first == last:
            return piece(first)
        middle = (first + last + 1) // 2
        is_lower = f"{value} * {int(UNIT)} < {edges[middle]}"
        lower = between(first, middle - 1)
        return f"CASE WHEN {is_lower} THEN {lower} ELSE {between(middle, last)} END"

    return f"({between(0, len(starts) - 1)}) / {int(UNIT)}"


def _whole_numbers(values: Any) -> list[int]:
    return [int(value) for value in values.tolist()]


# Several classes.


def classes_as_sql(map_: ClassMap, columns: Sequence[str], dialect: str) -> dict[Any, str]:
    """Write a map as an expression for each class, of columns in the order of the classes."""
    k = len(map_.classes)
    if isinstance(columns, str) or len(columns) != k:
        raise InputError(f"p must name {k} columns, one for each class; it is {columns!r}")
    spoken = find_dialect(dialect)
    values = []
    wrong = []
    for column in columns:
        value, tests = _checked_column(column, spoken)
        values.append(value)
        wrong += tests
    total = f"({' + '.join(values)})"
    low = repr(1 - SUM_TOLERANCE)
    high = repr(1 + SUM_TOLERANCE)
    wrong.append(spoken.breaks(total, f"{{0}} >= {low} AND {{0}} <= {high}"))
    sums: list[list[str]] = [[] for _ in columns]
    unscaled = 0.0  # the weight of the predictions as they are, which sum to 1 nearly
    for part in map_.parts:
        if part.method == "none":
            unscaled = part.weight
        weight = _number(part.weight, spoken)
        for terms, value in zip(sums, _part(part, values, spoken), strict=True):
            terms.append(f"{weight} * {value}")
    scale = f"({_number(1 - unscaled, spoken)} + {_number(unscaled, spoken)} * {total})"
    is_wrong = " OR ".join(wrong)
    expressions = {}
    for label, terms in zip(map_.classes, sums, strict=True):
        mean = f"({' + '.join(terms)}) / {scale}"
        expressions[label] = f"CASE WHEN {is_wrong} THEN NULL ELSE {mean} END"
    return expressions


def _part(part: ClassPart, values: list[str], dialect: Dialect) -> list[str]:
    """Write the value of each class by one map of a mean."""
    if part.slope is not None and part.intercept is not None:
        return _shares([f"EXP({score})" for score in _scores(part, values, dialect)])
    if part.intercept is not None:
        return [_number(rate, dialect) for rate in part.intercept.tolist()]
    if part.maps:
        pairs = zip(part.maps, values, strict=True)
        return _shares([_pieces(own, value, dialect) for own, value in pairs])
    return values


def _scores(part: ClassPart, values: list[str], dialect: Dialect) -> list[str]:
    """Write the scores that softmax makes probabilities of."""
    assert part.slope is not None
    assert part.intercept is not None
    matrix = part.slope
    if matrix.ndim < 2:
        matrix = np.diag(np.broadcast_to(part.slope, len(values)))
    largest = np.abs(matrix).sum(axis=1) * -math.log(NEAREST) + np.abs(part.intercept)
    if largest.max() > _LARGEST_EXPONENT:
        raise InputError(
            f"to_sql needs a map with smaller slopes: exponentials of {part.method!r} would "
            "overflow"
        )
    least = _number(math.log(NEAREST), dialect)
    logs = [f"CASE WHEN {p} > {NEAREST!r} THEN LN({p}) ELSE {least} END" for p in values]
    scores = []
    for row, intercept in zip(matrix.tolist(), part.intercept.tolist(), strict=True):
        terms = [_number(intercept, dialect)]
        for slope, log in zip(row, logs, strict=True):
            if slope:
                terms.append(f"{_number(slope, dialect)} * {log}")
        scores.append(" + ".join(terms))
    return scores


def _number(value: float, dialect: Dialect) -> str:
    return dialect.double.format(repr(value))


def _shares(values: list[str]) -> list[str]:
    total = " + ".join(values)
    return [f"(({value}) / ({total}))" for value in values]
