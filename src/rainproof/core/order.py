"""An order of rows that does not depend on how they came, so that nothing drawn from them does.

Rows are sorted by prediction, outcome, weight, segment and costs; rows that are alike in all of
that can take each other's place. Predictions and weights are first rounded to 25 binary digits, so
that the last bit decides only between rows that are alike in all else. Clusters, which stay
together, are sorted by their rows, and not by their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rainproof.core import digests
from rainproof.core.arrays import Array, Bools, Ints, places_of_groups
from rainproof.core.rows import Rows
from rainproof.core.units import Units


class Order(NamedTuple):
    """An order of rows."""

    places: Ints  # of the rows, in order
    unit: Ints | None  # the new number of the unit of each, in order; None without units


def in_order(rows: Rows, units: Units) -> Rows:
    """Return rows in order, with their units numbered in this order."""
    # the weights of a base rate do not count: they are alike for rows that are alike
    if rows.is_plain and units.relative_weight() is None:
        return _sorted(rows, units.event)
    places, unit = _class_order(rows, units) if rows.classes else _order(rows, units)
    return rows.take(places).replace(unit=unit)


def _sorted(rows: Rows, event: Bools) -> Rows:
    """Return rows of nothing but outcome and prediction in order.

    It sorts one integer for each row, which is quicker than sorting places.
    """
    key = digests.with_outcome(np.asarray(rows.prob, np.float64), event)
    key.sort()
    outcome, prob = digests.without_outcome(key)
    return Rows(outcome, prob)


def _order(rows: Rows, units: Units) -> Order:
    """Return the order of rows with any columns."""
    case = rows.case_of_entry()
    first = np.flatnonzero(np.diff(case, prepend=-1))  # the first entry of each case
    exact, rounded = _sort_keys(rows, units, case, first)
    order = np.lexsort([*exact, *rounded])
    unit = rows.unit
    if unit is not None and units.design.clustered:
        alike = _ranks(order, rounded)
        to_the_bit = _ranks(order, [*exact, *rounded])
        kinds = [alike, to_the_bit]
        if np.array_equal(alike, to_the_bit):  # hardly any rows differ in the last bits alone
            kinds = [to_the_bit]
        unit = places_of_groups(unit[first], *kinds)[unit]
        order = np.argsort(unit[first] * len(first) + to_the_bit, kind="stable")
    rank = np.empty(len(first), np.int64)
    rank[order] = np.arange(len(first))
    places = np.argsort(rank[case], kind="stable")
    if unit is None:
        return Order(places, None)
    if not units.design.clustered:  # the units are the cases that are divided
        unit = rank[case]
    return Order(places, unit[places])


def _sort_keys(
    rows: Rows, units: Units, case: Ints, first: Ints
) -> tuple[list[Array], list[Array]]:
    """Return what cases are sorted by, the last key first: to the bit, and before that rounded."""
    weight = units.relative_weight()
    exact = [rows.prob[first]]
    for prob in (rows.others or {}).values():
        exact.append(prob[first])
    forecasts = [digests.rounded(prob) for prob in exact]
    rounded: list[Array] = []
    if rows.costs is not None:
        rounded += list(rows.costs[first].T)
    if rows.segment is not None:
        rounded.append(rows.segment.number[first])
    if weight is not None:
        exact.append(units.mass[first])
        rounded.append(digests.rounded(weight[first]))
    if units.design.shares:
        exact.append(np.bincount(case, units.mass))
        exact.append(np.bincount(case))  # parts of weight zero are told from whole cases
        rounded.append(digests.rounded(np.bincount(case, weight)))
    return exact, [*rounded, units.event[first], *forecasts]


def _class_order(rows: Rows, units: Units) -> Order:
    """Return the order of rows of several classes.

    They are sorted by a number that is made of class, weight and predictions, rounded as those of
    one event, then by one to the last bit.
    """
    columns = list(rows.prob.T)
    rounded = digests.of_rows(rows.outcome, columns, units.relative_weight())
    to_the_bit = digests.of_rows(rows.outcome, columns, units.mass, to_the_bit=True)
    if rows.unit is None:
        return Order(np.lexsort([to_the_bit, rounded]), None)
    rounded_kind = np.unique(rounded, return_inverse=True)[1]
    kind = np.unique(to_the_bit, return_inverse=True)[1]
    unit = places_of_groups(rows.unit, rounded_kind, kind)[rows.unit]
    places = np.lexsort([kind, rounded_kind, unit])
    return Order(places, unit[places])


def _ranks(order: Ints, keys: Sequence[Array]) -> Ints:
    """Return the ranks of rows that these keys sort in this order, the same for rows with the same
    keys.
    """
    differs = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.cumsum(np.append(False, differs))
    return rank
