"""Skill and what recalibration gains, against their definitions row by row."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core.sample import Sample
from rainproof.inference.estimates import mean_interval
from rainproof.verdict import evidence
from rainproof.verdict.evidence import (
    Crossed,
    gain_by_recalibration,
    mean_over_folds,
    skill,
    skill_at_best,
)


def units_of(y, p, **columns):
    return Sample(y, p, **columns).units


def value(y, acts, mu, w):
    """What acting gains over the better of always and never, and what foresight does; a miss costs
    1 - mu.
    """
    cost = np.where(acts, (1 - y) * mu, y * (1 - mu))
    simple = min(w @ ((1 - y) * mu), w @ (y * (1 - mu)))
    return (simple - w @ cost) / simple


@for_each("mu", [0.05, 0.3, 0.8, None])
@for_each("weighted", [False, True])
def test_skill_is_the_value_over_that_of_foresight(mu, weighted):
    rng = np.random.default_rng(1)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    w = rng.exponential(size=300) if weighted else np.ones(300)
    units = units_of(y, p, sample_weight=w if weighted else None)
    rate = float(w @ y / w.sum())
    acts = p >= (rate if mu is None else mu)
    found = skill(units, acts * 1.0, mu, 0.95)
    assert found.value == pytest.approx(value(y, acts, rate if mu is None else mu, w / w.sum()))
    assert found.low < found.value < found.high <= 1


@for_each("mu", [None, 0.1, 0.5])
def test_the_interval_of_skill_covers(mu):
    """Acts that are right with a known probability: 200 samples of 200 rows, with about 20
    events.
    """
    rng, hit, alarm, rate = np.random.default_rng(2), 0.7, 0.04, 0.1
    t = rate if mu is None else mu
    cost = t * (1 - rate) * alarm + (1 - t) * rate * (1 - hit)
    simple = min(t * (1 - rate), (1 - t) * rate)
    true, inside = (simple - cost) / simple, 0
    for _ in range(200):
        y = rng.random(200) < rate
        acts = rng.random(200) < np.where(y, hit, alarm)
        found = skill(units_of(y, np.full(200, 0.5)), acts * 1.0, mu, 0.95)
        inside += found.low <= true <= found.high
    assert inside >= 186


def test_skill_of_groups_has_wider_intervals_and_one_outcome_none():
    rng = np.random.default_rng(3)
    p = np.repeat(rng.random(60), 5)
    y = np.repeat(rng.random(60) < p[::5], 5)
    alone, grouped = (
        skill(units_of(y, p, groups=g), (p > 0.5) * 1.0, None, 0.95)
        for g in (None, np.arange(300) // 5)
    )
    assert grouped.high - grouped.low > 1.5 * (alone.high - alone.low)
    assert skill(units_of(np.ones(5), p[:5]), (p[:5] > 0.5) * 1.0, None, 0.95) is None


def test_the_gain_is_that_of_decisions_chosen_on_other_folds():
    rng = np.random.default_rng(4)
    p = np.clip(np.round(rng.random(400), 2), 0.01, 0.99)
    sample = Sample(rng.random(400) < p**2, p).in_order()
    crossed, at = Crossed.of(sample, np.random.default_rng(0)), np.array([0.1, 0.35, 0.5, 0.8])
    found = gain_by_recalibration(crossed, at, 0.95)
    y, q = sample.event, sample.prob

    def gain(better, some, mu):
        return ((y[some] - mu) * ((better[some] >= mu) * 1.0 - (q[some] >= mu))) / max(mu, 1 - mu)

    each, everywhere = np.zeros(400), np.zeros(4)
    for deal in crossed.deals:
        fold = deal.fold
        for f in range(5):
            totals = [
                sum(
                    gain(deal.inner[f, g][deal.entry], fold == g, mu).sum()
                    for g in set(range(5)) - {f}
                )
                for mu in at
            ]
            each[fold == f] += gain(deal.better, fold == f, at[int(np.argmax(totals))]) / 3
        everywhere += [gain(deal.better, np.ones(400, bool), mu).sum() for mu in at]
    assert found.share.value == pytest.approx(each.mean())
    assert found.threshold == at[int(np.argmax(everywhere))]
    better = [deal.better for deal in crossed.deals]
    assert found.mean_prediction == pytest.approx(np.mean(better))
    assert found.brier_score == pytest.approx(
        np.mean([(q - y) ** 2 - (b - y) ** 2 for b in better])
    )
    *new, old = (np.log(np.where(y, one, 1 - one)) for one in (*better, q))
    assert found.log_score == pytest.approx(np.mean(new) - old.mean())


def test_skill_at_the_event_rate_is_not_fooled_by_the_folds():
    """A fold with few events is judged by maps of folds with many: constants would gain, or lose,
    by that alone.
    """
    values = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        sample = Sample(rng.random(100) < 0.22, np.full(100, 0.2)).in_order()
        crossed = Crossed.of(sample, rng)
        assert np.abs(crossed.acts(None)).max() < 1e-12
        noise = Sample(sample.y_true, rng.permutation(100) / 100).in_order()
        found = skill(noise.units, Crossed.of(noise, rng).acts(None), None, 0.95)
        values.append(found.value)
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(15)


def test_cells_have_the_same_evidence_as_their_rows():
    rng = np.random.default_rng(5)
    p = rng.integers(0, 1 << 14, 6000) / (1 << 14)
    y = rng.random(6000) < p**1.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rainproof.RainproofWarning)  # SCDL needs more cells
        one, other = (
            rainproof.assess(s, measures=[]).evidence
            for s in (Sample(y, p), Sample(y, p).compress(1 << 14))
        )
    assert one.grade == other.grade == "recalibrate"
    for name in ("skill", "skill_as_is"):
        assert getattr(one, name).value == pytest.approx(getattr(other, name).value, abs=0.02)
    assert one.gain.share.value == pytest.approx(other.gain.share.value, abs=0.01)


@for_each("base_rate", [None, 0.2])
def test_cells_between_the_same_marks_have_the_same_evidence_as_one(base_rate):
    rng = np.random.default_rng(6)
    p = np.r_[rng.random(30_000), np.zeros(9), np.ones(9), np.full(40, 0.5)]
    y = rng.random(len(p)) < 0.1 + 0.8 * p**1.5
    sample, at = Sample(y, p, base_rate=base_rate).compress(), np.array([0.25, 0.3, 0.5, 0.7])
    marks = np.unique([*at, sample.event_rate])
    each, pooled = (Crossed.of(sample, np.random.default_rng(0), some) for some in (None, marks))
    assert len(pooled.rows.prob) < 0.6 * len(each.rows.prob)
    assert pooled.rows.mass.sum() == pytest.approx(each.rows.mass.sum(), rel=1e-12)
    one, other = (gain_by_recalibration(crossed, at, 0.95) for crossed in (each, pooled))
    for name in ("threshold", "mean_prediction", "log_score", "brier_score"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9)
    event, old, new = each.rows.event, each.rows.prob, each.deals[0].better
    with np.errstate(divide="ignore"):
        logs = [np.log(np.where(event, x, 1 - x)) for x in (new, old)]
    assert one.brier_score == pytest.approx(
        np.average((old - event) ** 2 - (new - event) ** 2, weights=each.rows.mass)
    )
    # it said 0, and 1
    assert one.log_score == np.average(logs[0] - logs[1], weights=each.rows.mass) == np.inf
    skills = [
        skill(crossed.rows.units, acts, mu, 0.95)
        for mu in (None, 0.3)
        for crossed in (each, pooled)
        for acts in (
            crossed.acts(mu),
            (crossed.rows.prob >= (sample.event_rate if mu is None else mu)) * 1.0,
        )
    ]
    for a, b in [(one.share, other.share), *((skills[k], skills[k + 2]) for k in (0, 1, 4, 5))]:
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), rel=1e-9)


def test_recalibration_of_calibrated_forecasts_gains_nothing():
    """On 16 samples the interval of the gain has 0 or less in nearly all."""
    misses = 0
    for seed in range(16):
        rng = np.random.default_rng(seed)
        p = rng.random(300)
        misses += (
            rainproof.assess(
                rng.random(300) < p, p, measures=[], n_resamples=19
            ).evidence.gain.share.low
            > 0
        )
    assert misses <= 2


@for_each("folds", [2, 5, 10])
def test_folds_that_share_rows_err_together(folds):
    """Nadeau and Bengio: the variance of a mean over J folds is 1/J + rows judged / rows fitted
    times a fold's.
    """
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.5
    units = units_of(y, np.full(600, 0.5))
    gained = 0.1 * rng.normal(size=600).clip(-3, 3)
    # as if the folds were independent: 1/J times that of a fold
    alone = mean_interval(units, gained, -1.0, 1.0, 0.95)
    found = mean_over_folds(units, gained, folds, 0.95)
    corrected = (1 / folds + (1 / folds) / (1 - 1 / folds)) * folds
    assert found.value == alone.value
    for name in ("low", "high"):
        off = getattr(found, name) - found.value
        assert off**2 == pytest.approx(corrected * (getattr(alone, name) - alone.value) ** 2)


@for_each("mu", [None, 0.2])
@for_each("weighted", [False, True])
def test_the_best_single_threshold_is_the_one_whose_interval_reaches_highest(mu, weighted):
    rng = np.random.default_rng(4)
    p = rng.integers(0, 6, 80) / 5
    y = rng.random(80) < 0.3
    weight = rng.exponential(size=80) if weighted else None
    units = units_of(y, p, sample_weight=weight)
    highest = max(
        skill(units, (p >= cutoff) * 1.0, mu, 0.95).high for cutoff in (0.2, 0.4, 0.6, 0.8, 1.0)
    )
    assert skill_at_best(units, p, mu, 0.95).high == pytest.approx(highest, rel=1e-12)
    constant = np.full(80, 0.3)
    assert skill_at_best(units_of(y, constant), constant, mu, 0.95) is None


def test_fifty_thresholds_are_tried_half_of_them_where_events_are(monkeypatch):
    rng = np.random.default_rng(5)
    p = rng.random(5000)
    y = rng.random(5000) < 0.02 + 0.3 * (p > 0.97)
    tried = []

    def spy(units, acts, *options):
        tried.append(float(units.entries.prob[acts > 0].min()))
        return skill(units, acts, *options)

    monkeypatch.setattr(evidence, "skill", spy)
    skill_at_best(units_of(y, p), p, None, 0.95)
    assert len(tried) == 49  # the lowest acts in all cases
    # 3% of the rows, where a third of the events are
    assert sum(cutoff > 0.97 for cutoff in tried) >= 8
