"""A sample that stands for a population with another base rate."""

from __future__ import annotations

import pickle
from copy import copy, deepcopy

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof import InputError, Sample
from rainproof.io import Segments
from rainproof.measures.catalogue import CATALOGUE


def _rows(n: int = 400, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(1, 3, n), 2)  # with ties
    return (rng.random(n) < p**0.7).astype(int), p


def _weights(y: np.ndarray, rate: float) -> np.ndarray:
    return np.where(y == 1, rate / y.sum(), (1 - rate) / (1 - y).sum())


@for_each("name", list(CATALOGUE))
def test_measures_are_those_of_rows_weighted_by_outcome(name: str) -> None:
    (y, p), measure = _rows(), CATALOGUE[name]
    assert measure(y, p, base_rate=0.03) == pytest.approx(
        measure(y, p, sample_weight=_weights(y, 0.03)), abs=1e-12
    )
    assert measure(Sample(y, p), base_rate=0.03) == measure(Sample(y, p, base_rate=0.03))
    assert measure(y, p, base_rate=y.mean()) == pytest.approx(measure(y, p), abs=1e-12)


@for_each("rate", [1e-9, 0.004, 0.7, 1 - 1e-9])
def test_rows_weigh_what_makes_the_rate(rate: float) -> None:
    y, p = _rows()
    s = Sample(y, p, base_rate=rate)
    share = s.mass / s.mass.sum()
    assert s.event_rate == s.base_rate == rate
    assert share[y == 1].sum() == pytest.approx(rate, rel=1e-12)
    assert s.effective_n == pytest.approx(1 / (_weights(y, rate) ** 2).sum(), rel=1e-9)
    assert s.mean_prediction == pytest.approx(float(_weights(y, rate) @ p), rel=1e-9)
    assert s.total_weight == s.n == len(y)


def test_all_views_of_a_sample_keep_the_rate() -> None:
    y, p = _rows()
    s = Sample(y, p, base_rate=0.02)
    for same in (
        s.compress(256),
        s.in_order(),
        deepcopy(s),
        pickle.loads(pickle.dumps(s.compress(256))),
        copy(s),
    ):
        assert (same.base_rate, same.event_rate, same.effective_n) == (
            s.base_rate,
            s.event_rate,
            s.effective_n,
        )
        assert rainproof.soft_binned_cdl(same) == pytest.approx(
            rainproof.soft_binned_cdl(s), abs=1e-12
        )
        assert not same.units.has_weights
    before = Sample(y, p).compress(256)
    cells = before.with_base_rate(0.02)
    assert cells.sample_weight == pytest.approx(s.compress(256).sample_weight, rel=1e-12)
    assert cells.counts is not None
    assert cells.counts.sum() == len(y)
    both = Sample(y, {"a": p, "b": p**2}, base_rate=0.02)
    assert both["b"].base_rate == 0.02
    assert rainproof.measures.brier_score(both["a"]) == pytest.approx(
        rainproof.measures.brier_score(s)
    )


def test_parts_hold_their_share_of_each_outcome_and_weigh_anew() -> None:
    y, p = _rows(401)
    parts = Sample(y, p, base_rate=0.02).split(
        folds=3, held_out=[0.25], rng=np.random.default_rng(0)
    )
    assert [part.event_rate for part in parts] == [0.02] * 4
    assert sum(part.n for part in parts) == 401
    assert sum(part.events for part in parts) == y.sum()
    assert parts[3].events == round(0.25 * y.sum())


def test_of_a_range_the_weights_are_those_of_the_middle_in_log_odds() -> None:
    y, p = _rows()
    s = Sample(y, p, base_rate=(0.01, 0.2))
    assert s.base_rate == (0.01, 0.2)
    assert s.event_rate / (1 - s.event_rate) == pytest.approx(np.sqrt(0.01 / 0.99 * 0.25))
    assert [end.base_rate for end in s.scenarios()] == [0.01, 0.2]
    assert s.middle().base_rate == s.event_rate
    with pytest.raises(
        InputError, match=r"base_rate must be one number here; it is a range, \(0.01, 0.2\)"
    ):
        rainproof.soft_binned_cdl(s)


@for_each(
    "rate", [0, 1, -0.1, 1.5, float("nan"), (0.1, float("nan")), (0.0, 0.5), np.array([0.2, 1.0])]
)
def test_refuses_rates_outside(rate: object) -> None:
    with pytest.raises(InputError, match="base_rate must lie between 0 and 1, both excluded"):
        Sample(*_rows(), base_rate=rate)


@for_each("rate", [(0.2, 0.1), (0.1, 0.1)])
def test_refuses_reversed_or_equal_ends(rate: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="lower end first, and two different ends"):
        Sample(*_rows(), base_rate=rate)


@for_each("rate", [True, "0.1", (0.1, 0.2, 0.3), None.__class__, [], [[0.1, 0.2]], {"a": 1}])
def test_refuses_what_is_no_rate(rate: object) -> None:
    with pytest.raises(InputError, match="base_rate must be a number, or the two ends of a range"):
        Sample(*_rows(), base_rate=rate)


def test_refuses_what_it_cannot_be_combined_with() -> None:
    y, p = _rows()
    ones, site = np.ones(len(y)), np.arange(len(y)) % 7
    for name, columns in {
        "sample_weight": {"sample_weight": ones},
        "groups": {"groups": site},
        "by": {"by": site},
        "fractional outcomes": {"fractional": True},
    }.items():
        shares = np.where(site == 0, 0.5, y) if name == "fractional outcomes" else y
        with pytest.raises(InputError, match=f"base_rate cannot be combined with {name}"):
            Sample(shares, p, base_rate=0.1, **columns)
    with pytest.raises(InputError, match="base_rate cannot be combined with sample_weight"):
        rainproof.soft_binned_cdl(Sample(y, p, sample_weight=ones), base_rate=0.1)
    with pytest.raises(InputError, match="groups and by cannot be combined with base_rate"):
        rainproof.guarantee(Sample(y, p, base_rate=0.1), groups=site)
    with pytest.raises(InputError, match="has a base_rate already"):
        rainproof.soft_binned_cdl(Sample(y, p, base_rate=0.1), base_rate=0.1)
    with pytest.raises(InputError, match="base_rate needs rows of both outcomes; all 3 have 1"):
        Sample([1, 1, 1], [0.1, 0.2, 0.3], base_rate=0.1)
    with pytest.raises(InputError, match="cannot be added"):
        Sample(y, p, base_rate=0.1).compress() + Sample(y, p).compress()
    with pytest.raises(InputError, match="cannot be saved"):
        Sample(y, p, base_rate=0.1).save("never.parquet")
    with pytest.raises(InputError, match="samples must have no base_rate"):
        Segments.from_samples({"a": Sample(y, p), "b": Sample(y, p, base_rate=0.1)}, "s")
