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
    """The places of the rows in order, and the new number of the unit of each; None without units."""

    places: Ints
    unit: Ints | None


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
    weight = units.relative_weight()
    second = units.is_second_part
    case = rows.case_of_entry()
    first = np.flatnonzero(np.diff(case, prepend=-1))  # the first entry of each case
    forecasts = [rows.prob, *(rows.others or {}).values()]

    # Keys are sorted by the last one first.
    exact = [prob[first] for prob in forecasts]
    alike = [] if rows.costs is None else [*rows.costs[first].T]
    if rows.segment is not None:
        alike.append(rows.segment.number[first])
    if weight is not None:
        exact.append(units.mass[first])
        alike.append(digests.rounded(weight[first]))
    if second is not None:
        exact.append(np.bincount(case, units.mass))
        exact.append(np.bincount(case))  # parts of weight zero are told from whole cases
        alike.append(digests.rounded(np.bincount(case, weight)))
    alike.append(units.event[first])
    alike += [digests.rounded(prob) for prob in exact[: len(forecasts)]]
    order = np.lexsort([*exact, *alike])

    clusters = rows.unit if units.design.clustered else None
    if clusters is not None:
        # the same for rows that are alike
        rounded, to_the_bit = _ranks(order, alike), _ranks(order, [*exact, *alike])
        # hardly any rows differ in the last bits alone
        kinds = [to_the_bit] if np.array_equal(rounded, to_the_bit) else [rounded, to_the_bit]
        clusters = places_of_groups(clusters[first], *kinds)[clusters]
        order = np.argsort(clusters[first] * len(first) + to_the_bit, kind="stable")
    rank = np.empty(len(first), np.int64)
    rank[order] = np.arange(len(first))
    places = np.argsort(rank[case], kind="stable")
    if rows.unit is None:
        return Order(places, None)
    # without clusters the units are the cases that are divided
    unit = rank[case] if clusters is None else clusters
    return Order(places, unit[places])


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
    kinds = [np.unique(number, return_inverse=True)[1] for number in (rounded, to_the_bit)]
    unit = places_of_groups(rows.unit, *kinds)[rows.unit]
    places = np.lexsort([*kinds[::-1], unit])
    return Order(places, unit[places])


def _ranks(order: Ints, keys: Sequence[Array]) -> Ints:
    """Return the ranks of rows that these keys sort in this order, the same for rows with the same
    keys.
    """
    differs = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.cumsum(np.append(False, differs))
    return rank
