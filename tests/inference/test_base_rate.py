"""What is proven, tested and estimated for a population with another base rate."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from benchmarks.studies.base_rate import Shifted
from benchmarks.studies.populations import populations
from benchmarks.studies.tables import read
from rainproof import InputError, Sample
from rainproof.inference.bound_inputs import BoundInputs, loss_at_most
from rainproof.inference.bounds import (
    PRIORS,
    GivenOutcomes,
    _upper_bound_given_outcomes,
    log_cosh,
    tilts,
)
from rainproof.inference.estimates import moments
from rainproof.inference.logistic_estimates import calibration_slope
from rainproof.inference.matched_draws import matched_draws
from rainproof.inference.resampling import by_outcome
from tests.helpers.public import PUBLIC

RATE = 0.03


def _rows(others: int, events: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [others, events])
    return y, np.round(1 / (1 + np.exp(-(rng.normal(size=len(y)) + 1.5 * y - 1))), 3)


def _moved(p: np.ndarray, here: float, there: float) -> np.ndarray:
    """Predictions for the rate `there`, moved to the rate `here` in log odds."""
    with np.errstate(divide="ignore"):
        return 1 / (
            1
            + np.exp(
                -(np.log(p / (1 - p)) + math.log(here / (1 - here)) - math.log(there / (1 - there)))
            )
        )


@for_each("others, events", [(60, 25), (200, 7), (9, 90)])
@for_each("rate", [0.01, 0.4])
def test_the_bound_is_the_largest_loss_that_is_not_excluded(
    others: int, events: int, rate: float
) -> None:
    y, p = _rows(others, events)
    inputs, delta = BoundInputs.as_is(Sample(y, p, base_rate=rate)), 0.1
    tilt = tilts(1 / ((1 - rate) ** 2 / others + rate**2 / events), delta)
    share = {0: (1 - rate) / others, 1: rate / events}
    paid = []
    # by definition: the largest sum of v g + ln cosh(a v) |g| / a of single thresholds and tasks
    for a in tilt:
        charge = {k: float(log_cosh(a * v)) / a for k, v in share.items()}
        paid.append(a * _charged(y, p, share, charge))
    means = np.linspace(-1, 1, 1501)
    with np.errstate(divide="ignore"):
        mixture = sum(
            prior
            * np.exp(-c)
            / (
                (1 - means[:, None] * math.tanh(a * share[0])) ** others
                * (1 - means * math.tanh(a * share[1])) ** events
            )
            for prior, c, a in zip(PRIORS, paid, tilt, strict=True)
        )
    loss = (1 - rate) * means[:, None] + rate * means
    found = loss_at_most(inputs, delta)
    assert found == pytest.approx(min(float(loss[mixture < 1 / delta].max()), 1.0), abs=2e-3)
    assert found >= loss[mixture < 1 / delta].max() - 1e-9


def _charged(
    y: np.ndarray, p: np.ndarray, share: dict[int, float], charge: dict[int, float]
) -> float:
    """The largest charged loss of monotone swaps over mixtures of two thresholds, by brute
    force.
    """
    mus = np.unique(np.concatenate([[0.0, 1.0], p]))
    curve = np.zeros(len(mus))
    v, c = np.where(y == 1, share[1], share[0]), np.where(y == 1, charge[1], charge[0])
    cuts = np.append(np.unique(p), 2.0)
    for k, mu in enumerate(mus):
        for acts in (p > mu, p >= mu):
            change = (p >= cuts[:, None]) * 1.0 - acts
            curve[k] = max(
                curve[k], ((y - mu) * change * v + np.abs((y - mu) * change) * c).sum(axis=1).max()
            )
    best = 0.0
    for i, a in enumerate(mus):
        for j, b in enumerate(mus):
            if a <= 0.5 <= b:
                weight = 1.0 if a == b else (b - 0.5) / (b - a)
                best = max(best, 2 * (weight * curve[i] + (1 - weight) * curve[j]))
    return best


@for_each("response", ["as_is", "rounded"])
def test_at_the_rate_of_balanced_rows_it_is_the_bound_without_one(response: Any) -> None:
    y, p = _rows(400, 400)
    plain, stated = (
        rainproof.guarantee(y, p, response=response, **more) for more in ({}, {"base_rate": 0.5})
    )
    assert stated.bound == pytest.approx(plain.bound, abs=1e-9)
    assert (stated.hoeffding, stated.plug_in) == pytest.approx(
        (plain.hoeffding, plain.plug_in), abs=1e-12
    )


def test_the_bound_of_a_range_is_the_larger_one_of_its_ends() -> None:
    y, p = _rows(300, 200)
    q = p**1.4
    ends = (0.02, 0.3)
    for response in ("as_is", "rounded"):
        whole, *each = (
            rainproof.guarantee(
                y, p, response=response, base_rate=r, grid=[8] if response == "rounded" else None
            )
            for r in (ends, *ends)
        )
        assert whole.bound == max(one.bound for one in each)
        assert whole.base_rate == ends
        assert "between 2% and 30%" in str(whole)
    whole, *each = (rainproof.switch_guarantee(y, p, q, base_rate=r) for r in (ends, *ends))
    assert whole.harm_bound == max(one.harm_bound for one in each)
    assert whole.harm == max(one.harm for one in each)
    assert whole.gain_at_least is None
    assert "A range of base rates does not prove a gain" in str(whole)


def test_a_switch_is_charged_by_outcome() -> None:
    y, p = _rows(120, 40)
    q, rate, delta = np.round(p**1.6, 3), 0.05, 0.05
    found = rainproof.switch_guarantee(y, p, q, base_rate=rate, confidence_level=1 - delta)
    outcomes = GivenOutcomes(np.array([120.0, 40.0]), rate)
    tilt, v = (
        tilts(1 / ((1 - rate) ** 2 / 120 + rate**2 / 40), delta),
        np.where(y == 1, rate / 40, (1 - rate) / 120),
    )
    mus, paid = np.unique(np.concatenate([[0.0, 1.0], p, q])), []
    for a in tilt:
        each = v + 0.0
        charge = log_cosh(a * v) / a
        curve = [
            max(
                0.0,
                *(
                    float(((y - mu) * s * each + np.abs((y - mu) * s) * charge).sum())
                    for s in ((p > mu) * 1.0 - (q > mu), (p >= mu) * 1.0 - (q >= mu))
                ),
            )
            for mu in mus
        ]
        line = [
            (b - 0.5) / (b - a_) * curve[i] + (0.5 - a_) / (b - a_) * curve[j]
            for i, a_ in enumerate(mus)
            for j, b in enumerate(mus)
            if a_ < 0.5 < b
        ]
        paid.append(a * 2 * max(line))
    assert found.harm_bound == pytest.approx(
        _upper_bound_given_outcomes(outcomes, np.array(paid), tilt, delta), abs=1e-9
    )


def test_matched_draws_have_the_mean_of_the_population() -> None:
    y, p = _rows(103, 20)
    sample = Sample(y, p, base_rate=RATE)
    for rows in (sample, sample.compress().at_edges()):
        matched = matched_draws(rows, np.random.default_rng(0))
        assert matched.n_draws == 20
        assert matched.units.weight == pytest.approx(np.ones(20))
        assert matched.event_rate == pytest.approx(RATE)
        in_draws = np.stack(
            [np.bincount(matched.units.unit, matched.event == e) for e in (True, False)]
        )
        assert in_draws[0].tolist() == [1] * 20
        assert set(in_draws[1]) == {5, 6}
    y, p = _rows(400, 300)
    shuffled = np.random.default_rng(1).permutation(len(y))
    found = [
        rainproof.inference.loss_at_least(y[at], p[at], base_rate=0.02).bound
        for at in (slice(None), shuffled)
    ]
    assert found[0] == found[1] > 0
    assert (
        rainproof.inference.loss_at_least(Sample(y, p).compress(256), base_rate=0.02).bound
        > found[0] / 2
    )


def test_the_test_is_that_of_predictions_moved_to_the_rate_of_the_rows() -> None:
    y, p = _rows(300, 300)
    found = rainproof.calibration_test(y, p, base_rate=0.01, n_resamples=199, rng=3)
    moved = rainproof.calibration_test(y, _moved(p, 0.5, 0.01), n_resamples=199, rng=3)
    assert found.p_value == moved.p_value == 1 / 200  # predictions for a rate of one half
    assert found.value == rainproof.soft_binned_cdl(y, p, base_rate=0.01)
    right = _moved(p, 0.01, 0.5)  # calibrated, but for its slope
    null = rainproof.calibration_test(y, right, base_rate=0.01, n_resamples=199, rng=3)
    assert null.null_mean == pytest.approx(null.value, rel=0.5)
    both = rainproof.calibration_test(
        y, p, base_rate=0.01, statistic=["combined", "brier_score"], n_resamples=99, rng=3
    )
    assert both["brier_score"].value == rainproof.measures.brier_score(y, p, base_rate=0.01)


def test_rows_of_a_population_move_to_their_own_rate_and_back() -> None:
    y, p = _rows(300, 100)
    atoms = by_outcome(Sample(y, p, base_rate=0.02))
    q = np.array([0.0, 0.001, 0.3, 1.0])
    assert atoms.here(q)[1:3] == pytest.approx(_moved(q[1:3], 0.25, 0.02))
    assert atoms.here(q)[[0, 3]].tolist() == [0.0, 1.0]
    assert atoms.there(atoms.here(q)) == pytest.approx(q)
    calibrated = atoms.weighed(atoms.count * atoms.here(atoms.prob))
    assert calibrated.positive == pytest.approx(calibrated.weight * atoms.prob)
    rng = np.random.default_rng(0)
    for draw in (atoms.resample(rng) for _ in range(3)):
        assert draw.weight.sum() == pytest.approx(400)
        assert draw.positive.sum() == pytest.approx(400 * 0.02)


def test_intervals_are_about_the_population() -> None:
    y, p = _rows(500, 500)
    with pytest.raises(InputError, match="base_rate cannot be combined with method 'inversion'"):
        rainproof.confidence_interval(y, p, base_rate=0.02)
    off = rainproof.confidence_interval(y, p, base_rate=0.02, rng=0, method="basic")
    assert 0.05 < off.low < rainproof.soft_binned_cdl(y, p, base_rate=0.02) < off.high
    score = rainproof.confidence_interval(y, p, base_rate=0.02, measure="brier_score", rng=0)
    draws = []
    rng, weight = np.random.default_rng(5), (0.98 / 500, 0.02 / 500)
    for _ in range(400):
        at = [rng.choice(np.flatnonzero(y == e), 500) for e in (0, 1)]
        draws.append(
            sum(
                w * float(((p[k] - e) ** 2).sum())
                for e, (w, k) in enumerate(zip(weight, at, strict=True))
            )
        )
    assert (score.low, score.high) == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=4e-3)


def test_net_benefit_is_the_published_formula_with_a_prevalence() -> None:
    """The shares of events and of others that are treated, at the prevalence asked for."""
    y, p = _rows(333, 111)
    mu = np.array([0.05, 0.2, 0.6, 0.9])
    found = rainproof.net_benefit(y, {"model": p, "other": p**2}, mu, base_rate=0.07)
    for name, q in {"model": p, "other": p**2}.items():
        hits, alarms = ([(q[y == e] >= t).mean() for t in mu] for e in (1, 0))
        expected = np.array(hits) * 0.07 - np.array(alarms) * (1 - 0.07) * mu / (1 - mu)
        at = found.names.index(name)
        assert found.value[at] == pytest.approx(expected, abs=1e-9)
        assert (found.low[at] <= expected).all()
        assert (expected <= found.high[at]).all()
    # its 1.1.7
    dcurves = [
        0.022375533428165013,
        -0.07655405405405404,
        -0.05977477477477475,
        0.003783783783783784,
    ]
    assert found.value[found.names.index("model")] == pytest.approx(dcurves, abs=1e-12)
    assert found.treat_all == pytest.approx(0.07 - 0.93 * mu / (1 - mu), abs=1e-9)
    assert found.treat_all_low == pytest.approx(found.treat_all, abs=1e-9)  # the rate is stated


def test_the_variance_of_an_estimate_is_within_outcomes() -> None:
    y, p = _rows(400, 100)
    units = Sample(y, p, base_rate=0.1).units
    second, _ = moments(units, p - 0.3)
    expected = sum(
        r**2 * np.var(p[y == e], ddof=1) / (y == e).sum() for e, r in ((0, 0.9), (1, 0.1))
    )
    assert second == pytest.approx(expected, rel=0.02)
    slope = calibration_slope(units, p, 0.95)
    assert slope is not None
    plain = calibration_slope(Sample(y, p).units, p, 0.95)
    assert plain is not None
    assert 0.5 < (slope.high - slope.low) / (plain.high - plain.low) < 2.5


def test_the_committed_study_is_within_what_is_claimed() -> None:
    for line in read("base-rate-bounds.csv"):
        allowed = (1 - float(line["confidence_level"])) * int(line["repeats"])
        assert all(
            int(line[f"violations_{rate}"]) <= allowed for rate in ("0.005", "0.05", "range")
        )
    assert all(
        int(line["violations"]) <= 0.05 * int(line["repeats"])
        for line in read("base-rate-lower.csv")
    )
    calibrated = [line for line in read("base-rate-tests.csv") if line["error"] == "none"]
    assert all(int(line["rejected"]) <= 0.05 * int(line["repeats"]) for line in calibrated)
    for line in read("base-rate-maps.csv"):
        assert line["certificates_failed"] == "0"
        assert float(line["mean_map"]) == pytest.approx(1, abs=0.1)
        assert float(line["loss_map"]) < float(line["loss_as_is"]) / 5


def test_the_population_of_the_study_keeps_predictions_given_the_outcome() -> None:
    shifted = Shifted.of(populations()["skewed"])
    one, other = (shifted.at(rate) for rate in (0.02, 0.4))
    assert (one.event_rate, other.event_rate) == pytest.approx((0.02, 0.4))
    area = [rainproof.clinical.discrimination(sample).value for sample in (one, other)]
    assert area[0] == pytest.approx(area[1])
    y, p = shifted.draw(110, 1 / 11, np.random.default_rng(0))
    assert (y.sum(), len(p)) == (10, 110)


Y, P = _rows(150, 150)
SITE = np.arange(300) % 5
TAKES_ONE: dict[str, Callable[..., Any]] = {
    **{
        name: PUBLIC[name]
        for name in rainproof.measures.__all__
        if name.endswith(("_error", "_cdl", "_score", "_ece"))
    },
    **{
        name: PUBLIC[name]
        for name in (
            "measure_all",
            "soft_binned_cdl",
            "calibration_decision_loss",
            "lower_distance_to_calibration",
        )
    },
    **{
        name: PUBLIC[name]
        for name in ("score_decomposition", "soft_binned_profile", "choose_grid", "regret_curve")
    },
    **{
        name: PUBLIC[name]
        for name in ("forecast_value", "net_benefit", "loss_at_least", "risk_coverage")
    },
    "swap_regret": lambda *rows, **more: rainproof.swap_regret(
        *rows, task=rainproof.DecisionTask.threshold(0.2), **more
    ),
    "calibration_test": lambda *rows, **more: rainproof.calibration_test(
        *rows, n_resamples=19, rng=0, **more
    ),
    "confidence_interval": lambda *rows, **more: rainproof.confidence_interval(
        *rows, measure="brier_score", n_resamples=39, rng=0, **more
    ),
    "null_band": lambda *rows, **more: rainproof.inference.null_band(
        *rows, n_resamples=19, rng=0, **more
    ),
}
TAKES_A_RANGE: dict[str, Callable[..., Any]] = {
    "guarantee": rainproof.guarantee,
    "find_threshold": lambda *rows, **more: rainproof.find_threshold(*rows, precision=0.1, **more),
    "assess": lambda *rows, **more: rainproof.assess(*rows, measures=[], n_resamples=19, **more),
    "Sample": lambda *rows, **more: Sample(*rows, **more) if len(rows) > 1 else rows[0].scenarios(),
}
REFUSES: dict[str, Callable[[Sample], Any]] = {
    "clinical_performance": rainproof.clinical_performance,
    "discrimination": rainproof.clinical.discrimination,
    "reliability_curve": rainproof.clinical.reliability_curve,
    "compare": lambda s: rainproof.compare(s, s, paired=False),
    "SequentialTest": lambda s: rainproof.SequentialTest().update(s),
    "monitor": lambda s: rainproof.monitor([("a", s), ("b", s)]),
    "segment_tests": lambda s: rainproof.inference.segment_tests({"a": s, "b": s}),
    "sample_size": lambda s: rainproof.sample_size(like=s),
}
# Which read no rows for a statement, or read them through functions above.
OTHERS = {"grade_table", "measure_classes", "class_guarantee"}


@for_each("name", list(TAKES_ONE) + list(TAKES_A_RANGE))
def test_takes_a_base_rate(name: str) -> None:
    function = (TAKES_ONE | TAKES_A_RANGE)[name]
    stated, of_sample = function(Y, P, base_rate=0.02), function(Sample(Y, P, base_rate=0.02))
    if isinstance(stated, float):
        assert stated == of_sample
        assert stated != function(Y, P)
    if name in TAKES_ONE:
        with pytest.raises(InputError, match="base_rate must be one number here"):
            function(Y, P, base_rate=(0.02, 0.1))
    else:
        function(Y, P, base_rate=(0.02, 0.1))
    with pytest.raises(InputError, match="cannot be combined with sample_weight"):
        function(Y, P, base_rate=0.02, sample_weight=np.ones(300))


@for_each("name", list(REFUSES))
def test_refuses_a_base_rate_that_it_cannot_take(name: str) -> None:
    with pytest.raises(InputError, match="base_rate"):
        REFUSES[name](Sample(Y, P, base_rate=0.02))


def test_every_public_function_that_reads_rows_is_tried() -> None:
    reads = {
        name
        for name, function in PUBLIC.items()
        if inspect.isfunction(function)
        and {"y_true", "samples", "like", "segments"} & set(inspect.signature(function).parameters)
    }
    elsewhere = {"switch_guarantee", "u_calibration_error"}
    known = {*TAKES_ONE, *TAKES_A_RANGE, *REFUSES, *elsewhere, *OTHERS}
    assert reads - known == set()
