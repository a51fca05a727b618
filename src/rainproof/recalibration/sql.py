"""A map as an SQL expression that gives the same bits: constants are integers, which every engine reads alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rainproof.core.piecewise import SLOPE_UNIT, UNIT, PiecewiseMap
from rainproof.engines.dialects import Dialect, find_dialect
from rainproof.errors import InputError
from rainproof.recalibration.storage import check_label


def recalibrated(
    column: str, dialect: str, whole: PiecewiseMap, maps: Mapping[Any, PiecewiseMap], columns: Sequence[str]
) -> str:
    """Write the maps of segments, which are told by `columns`, and the one of all other rows as one expression."""
    spoken = find_dialect(dialect)
    name = spoken.identifier(column)
    value = spoken.double.format(name)
    wrong = [f"{name} IS NULL", spoken.breaks(value, "{0} >= 0 AND {0} <= 1")]
    if spoken.is_text is not None:
        wrong.append(spoken.is_text.format(name))
    cases = [f"WHEN {_is_segment(key, columns, spoken)} THEN {_tree(own, value, spoken)}" for key, own in maps.items()]
    return f"CASE WHEN {' OR '.join(wrong)} THEN NULL {' '.join([*cases, 'ELSE'])} {_tree(whole, value, spoken)} END"


def _is_segment(key: Any, columns: Sequence[str], dialect: Dialect) -> str:
    tests = []
    for column, label in zip(columns, key if len(columns) > 1 else [key], strict=True):
        check_label(label, "in SQL")
        name = dialect.identifier(column)
        tests.append(f"{name} IS NULL" if label is None else f"{name} = {dialect.literal(label)}")
    return " AND ".join(tests)


def _tree(pieces: PiecewiseMap, value: str, dialect: Dialect) -> str:
    """Find the piece by halving, so that expressions stay shallow and quick."""
    edges, starts = ([int(x) for x in (values * UNIT).tolist()] for values in (pieces.edges, pieces.start))
    slopes = [int(x) for x in (pieces.slope * SLOPE_UNIT).tolist()]

    def piece(k: int) -> str:
        if slopes[k] == 0:
            return dialect.double.format(starts[k])
        if edges[k] == 0 and starts[k] == 0:  # as written: scaled, the smallest doubles would be rounded twice
            steep = f"{value} * ({dialect.double.format(slopes[k])} / {int(SLOPE_UNIT)}) * {int(UNIT)}"
            return f"CASE WHEN {value} > 0 THEN {steep} ELSE {dialect.double.format(0)} END"
        return f"{starts[k]} + ({value} * {int(UNIT)} - {edges[k]}) * ({slopes[k]}) / {int(SLOPE_UNIT)}"

    def between(first: int, last: int) -> str:
        if first == last:
            return piece(first)
        middle = (first + last + 1) // 2
        lower = f"{value} * {int(UNIT)} < {edges[middle]}"
        return f"CASE WHEN {lower} THEN {between(first, middle - 1)} ELSE {between(middle, last)} END"

    return f"({between(0, len(starts) - 1)}) / {int(UNIT)}"


def columns_of(by: str | Sequence[str] | Mapping[str, str] | None, names: tuple[str, ...]) -> list[str]:
    """Return the columns of the segments, in the order of the names that the map was fitted with."""
    if isinstance(by, Mapping):
        if set(by) != set(names):
            raise InputError(f"by must name {', '.join(names)}; it names {', '.join(map(str, by)) or 'nothing'}")
        return [by[name] for name in names]
    columns = [] if by is None else [by] if isinstance(by, str) else list(by)
    if len(columns) != len(names):
        fitted = f"one for each of {', '.join(names)}" if names else "nothing, as the map was fitted without segments"
        raise InputError(f"by must name {fitted}; it names {', '.join(map(str, columns)) or 'nothing'}")
    return columns
