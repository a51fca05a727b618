"""Units: what inference takes, whatever the design."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core.sample import Sample

N = 300
RNG = np.random.default_rng(4)
P = RNG.random(N)
Y = (RNG.random(N) < P).astype(int)
W = RNG.choice([0.0, 0.5, 2.0], N)
G = np.arange(N) // 4


@for_each(
    "sample",
    [
        Sample(Y, P),
        Sample(Y, P, sample_weight=W),
        Sample(Y, P, groups=G, sample_weight=W),
        Sample(np.where(W == 2, 0.25, Y), P, fractional=True),
        Sample(Y, P, base_rate=0.2),
        Sample(Y, P).compress(16),
    ],
)
def test_effective_numbers_from_the_definition(sample: Sample) -> None:
    units = sample.units
    assert units.share.sum() == pytest.approx(1)
    assert units.sums(units.mass) == pytest.approx(units.weight)
    case_share = units.single[units.share > 0]
    cases = (units.share[units.share > 0] / case_share).sum()
    for outcome in (False, True):
        weight = np.where(units.event == outcome, units.mass, 0.0)
        if units.counts is not None:
            expected = float(weight.sum())
        else:
            by_unit = units.sums(weight)
            expected = by_unit.sum() ** 2 / (by_unit**2).sum()
        assert units.effective(outcome=outcome) == pytest.approx(expected)
    assert units.rarer == min(units.effective(outcome=False), units.effective(outcome=True))
    if units.unit is None and not units.has_weights:
        assert cases == pytest.approx(sample.n)


def test_an_outcome_that_never_occurs_has_no_units() -> None:
    assert Sample([0, 0], [0.1, 0.2]).units.effective(outcome=True) == 0


def test_stakes_are_shares_of_the_largest_possible_weight() -> None:
    sample = Sample(Y, P, groups=G, sample_weight=W)
    largest = np.bincount(G, W).max()
    assert sample.units.largest_weight == largest
    np.testing.assert_array_equal(sample.units.stakes(), W / largest)
    stated = sample.with_max_weight(20)
    np.testing.assert_array_equal(stated.units.stakes(), W / 20)
    # the statement is about the population, so parts have it too
    assert stated.split(folds=2)[0].design.max_weight == 20
    for wrong in (largest / 2, np.inf, np.nan, "20", True):
        with pytest.raises(rainproof.InputError, match="max_weight must be finite, and at least"):
            sample.with_max_weight(wrong)
    with pytest.raises(rainproof.InputError, match="cannot be combined with max_weight"):
        Sample(Y, P, base_rate=0.2).with_max_weight(20)


def test_a_deal_is_of_whole_units() -> None:
    sample = Sample(Y, P, groups=G)
    deal = sample.deal(folds=2, held_out=[0.2], rng=np.random.default_rng(0))
    assert deal.part is not None
    for group in range(max(G) + 1):
        assert len(set(deal.part[group == G])) == 1
    np.testing.assert_array_equal(sample.part(deal, 2).prob, P[deal.part == 2])


def test_a_deal_of_cells_divides_their_counts() -> None:
    cells = Sample(Y, P).compress(8)
    deal = cells.deal(folds=2, rng=np.random.default_rng(0))
    assert deal.counts is not None
    np.testing.assert_array_equal(deal.counts.sum(axis=0), cells.counts)
    occupied = deal.counts[1] > 0
    part = cells.part(deal, 1)
    np.testing.assert_array_equal(part.counts, deal.counts[1][occupied])
    np.testing.assert_array_equal(part.cells.slot, cells.cells.slot[occupied])
