"""The core set for clinical prediction models: against published software, from the definitions,
and at the edges.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.interval_oracle import slow_interval
from scipy.special import ndtri

import rainproof
from rainproof.inference.estimates import brier, observed_expected

VALUES = json.loads((Path(__file__).parents[1] / "reference" / "clinical_values.json").read_text())
Z = float(ndtri(0.975))


@pytest.mark.parametrize("case", VALUES["cases"], ids=range(len(VALUES["cases"])))
class TestPublishedSoftware:
    def test_net_benefit_is_that_of_dcurves(self, case):
        found = rainproof.net_benefit(case["y"], case["p"], VALUES["thresholds"])
        assert found.value[0] == pytest.approx(case["net_benefit"], abs=1e-9)
        assert found.treat_all == pytest.approx(case["treat_all"], abs=1e-9)

    def test_intercept_and_slope_are_those_of_statsmodels(self, case):
        """The interval of the slope has that of the model at least; that of the intercept is near
        it.
        """
        found = rainproof.clinical_performance(case["y"], case["p"], rng=0)
        for name, (value, low, high) in case["statsmodels"].items():
            estimate = getattr(found, name)
            assert estimate.value == pytest.approx(value, abs=1e-7)
            assert 0.7 < (estimate.high - estimate.low) / (high - low) < 1.5
        _, low, high = case["statsmodels"]["calibration_slope"]
        assert found.calibration_slope.low <= low
        assert found.calibration_slope.high >= high

    def test_val_prob_of_r_gives_the_same(self, case):
        found = rainproof.clinical_performance(case["y"], case["p"], rng=0)
        for name in ("auroc", "brier_score", "calibration_slope"):
            assert getattr(found, name).value == pytest.approx(case["r"][name], abs=1e-6)

    def test_the_interval_of_the_auroc_has_delongs_on_the_logit_scale(self, case):
        found, area = (
            rainproof.clinical.discrimination(case["y"], case["p"]),
            case["r"]["auroc_proc"],
        )
        half = Z * case["r"]["auroc_variance"] ** 0.5 / (area * (1 - area))
        middle = np.log(area / (1 - area))
        low, high = 1 / (1 + np.exp(half - middle)), 1 / (1 + np.exp(-half - middle))
        assert found.low <= low
        assert high <= found.high
        assert found.high - found.low < 1.3 * (high - low)


def test_the_auroc_is_the_share_of_pairs_in_order():
    rng = np.random.default_rng(1)
    y, p, w = rng.integers(0, 2, 60), rng.integers(0, 9, 60) / 8, rng.integers(0, 4, 60)
    pairs = [
        (wi * wj, (pi > pj) + (pi == pj) / 2)
        for wi, pi in zip(w[y == 1], p[y == 1], strict=True)
        for wj, pj in zip(w[y == 0], p[y == 0], strict=True)
    ]
    weight, order = np.array(pairs).T
    assert rainproof.clinical.discrimination(y, p, sample_weight=w).value == pytest.approx(
        weight @ order / weight.sum()
    )


@for_each("y, low, high", [([0, 0, 1, 1], 0.025**0.5, 1.0), ([1, 1, 0, 0], 0.0, 1 - 0.025**0.5)])
def test_perfect_order_has_the_exact_interval_of_independent_pairs(y, low, high):
    found = rainproof.clinical.discrimination(y, [0.1, 0.2, 0.8, 0.9])
    assert (found.low, found.high) == pytest.approx((low, high))
    grouped = rainproof.clinical.discrimination(y, [0.1, 0.2, 0.8, 0.9], groups=[1, 2, 1, 2])
    assert min(1 - grouped.low, grouped.high) == pytest.approx(0.975)  # two groups make one pair


def test_the_auroc_needs_both_outcomes():
    with pytest.raises(
        rainproof.InputError, match="y_true must have both outcomes; all rows with weight have 1"
    ):
        rainproof.clinical.discrimination([1, 1], [0.2, 0.3])


def test_rows_alone_in_their_groups_are_rows():
    rng = np.random.default_rng(2)
    p = rng.random(300)
    y = rng.random(300) < p
    alone = rainproof.clinical_performance(y, p, groups=np.arange(300), rng=0)
    plain = rainproof.clinical_performance(y, p, rng=0)
    assert alone.groups == 300
    assert plain.groups is None
    for name in ("auroc", "observed_expected", "brier_score", "brier_skill"):
        a, b = getattr(alone, name), getattr(plain, name)
        assert a.value == pytest.approx(b.value)
        assert a.high - a.low == pytest.approx(b.high - b.low, rel=0.01)
    assert alone.net_benefit.high == pytest.approx(plain.net_benefit.high, abs=1e-3)


def test_copies_of_rows_in_one_group_say_no_more_than_the_rows():
    """Three copies of each are as good as two; one of each is no group, whose intervals are never
    wider.
    """
    rng = np.random.default_rng(3)
    p = rng.random(200)
    y = rng.random(200) < p
    once, plain, copied = (
        rainproof.clinical_performance(
            np.repeat(y, k),
            np.repeat(p, k),
            groups=np.repeat(np.arange(200), k),
            thresholds=[0.3],
            rng=0,
        )
        for k in (1, 2, 3)
    )
    for name in ("observed_expected", "calibration_intercept", "brier_score", "brier_skill"):
        a, b = getattr(once, name), getattr(plain, name)
        assert a.low >= b.low - 1e-9
        assert a.high <= b.high + 1e-9
    for name in (
        "observed_expected",
        "calibration_intercept",
        "calibration_slope",
        "brier_score",
        "brier_skill",
    ):
        a, b = getattr(plain, name), getattr(copied, name)
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high))
    assert plain.net_benefit.low == pytest.approx(copied.net_benefit.low)


def test_weights_are_repetitions_and_weight_zero_is_absence():
    rng = np.random.default_rng(4)
    p = np.append(rng.random(99), 1.0)
    y, w = np.append(rng.random(99) < p[:99], True), np.append(rng.integers(0, 3, 99), 0)
    weighted = rainproof.clinical_performance(y, p, sample_weight=w, rng=0)
    repeated = rainproof.clinical_performance(np.repeat(y, w), np.repeat(p, w), rng=0)
    for name in (
        "auroc",
        "observed_expected",
        "calibration_intercept",
        "calibration_slope",
        "brier_score",
        "brier_skill",
    ):
        assert getattr(weighted, name).value == pytest.approx(getattr(repeated, name).value)
    assert weighted.net_benefit.value == pytest.approx(repeated.net_benefit.value)


def slow_net_benefit(y, p, w, mu, groups):
    """The net benefit and the ends of its interval, row by row."""
    gain = (p >= mu) * np.where(y == 1, 1.0, -mu / (1 - mu))
    return slow_interval(gain, -mu / (1 - mu), 1.0, weights=w, groups=groups, event=y)


@for_each("grouped", [False, True])
@for_each("kind", ["plain", "ties", "extreme", "one class", "heavy", "two rows"])
def test_net_benefit_is_that_of_the_definition(kind, grouped):
    rng = np.random.default_rng(8)
    n = 2 if kind == "two rows" else 70
    p, w, y = rng.random(n), np.ones(n), rng.integers(0, 2, n)
    if kind == "ties":
        p, w = rng.integers(0, 11, n) / 10, rng.integers(0, 3, n).astype(float)
    if kind == "extreme":
        p = rng.choice([0.0, 1.0, 1e-12, 0.1, np.nextafter(0.1, 0)], n)
    if kind == "one class":
        y[:] = 0
    if kind == "heavy":
        w = 10.0 ** rng.integers(-6, 7, n)
    groups = np.arange(n) // 2 * 3 if kind != "two rows" else np.arange(n)
    thresholds = [0.9, 0.1, 1e-12, 0.3, 0.1]  # in no order, one twice
    found = rainproof.net_benefit(
        y, p, thresholds, sample_weight=w, groups=groups if grouped else None
    )
    for k, mu in enumerate(thresholds):
        rounding = {"rel": 1e-6, "abs": 1e-7 / (1 - mu)}
        value, *ends = slow_net_benefit(y, p, w, mu, groups if grouped else None)
        assert found.value[0, k] == pytest.approx(value, abs=1e-12)
        assert [found.low[0, k], found.high[0, k]] == pytest.approx(ends, **rounding)
        value, *ends = slow_net_benefit(y, np.ones(n), w, mu, groups if grouped else None)
        assert found.treat_all[k] == pytest.approx(value, abs=1e-12)
        assert [found.treat_all_low[k], found.treat_all_high[k]] == pytest.approx(ends, **rounding)


@for_each(
    "y, p, missing, note",
    [
        (
            [0, 0, 0],
            [0.1, 0.2, 0.3],
            {"auroc", "calibration_intercept", "calibration_slope", "brier_skill"},
            "All outcomes",
        ),
        (
            [0, 1, 1],
            [0.0, 0.5, 0.4],
            {"calibration_intercept", "calibration_slope"},
            "some predictions are 0 or 1",
        ),
        ([0, 1, 1], [0.2, 0.4, 0.5], {"calibration_slope"}, "separate the outcomes"),
        ([0, 1, 1], [0.2, 0.2, 0.2], {"calibration_slope"}, "all equal"),
        (
            [0, 1],
            [0.0, 0.0],
            {"observed_expected", "calibration_intercept", "calibration_slope"},
            "0 or 1",
        ),
        (
            [1],
            [1e-12],
            {"auroc", "calibration_intercept", "calibration_slope", "brier_skill"},
            "rarer outcome",
        ),
    ],
)
def test_what_does_not_exist_is_none_and_a_note_says_why(y, p, missing, note):
    found = rainproof.clinical_performance(y, p, rng=0)
    names = (
        "auroc",
        "observed_expected",
        "calibration_intercept",
        "calibration_slope",
        "brier_score",
        "brier_skill",
    )
    assert {name for name in names if getattr(found, name) is None} == missing
    assert note in " ".join(found.notes)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["n"] == len(y)
    assert str(found).count("not defined") >= len(missing)


@for_each("weighted", [False, True])
@for_each("n", [6, 7, 9, 10, 31])
def test_one_class_is_found_whatever_the_rounding_of_shares(n, weighted):
    """Shares of 1/n do not add up to 1: the event rate alone does not tell."""
    rng = np.random.default_rng(n)
    p, w = rng.random(n), rng.exponential(size=n) if weighted else None
    for outcome in (0, 1):
        found = rainproof.clinical_performance(np.full(n, outcome), p, sample_weight=w, rng=0)
        missing = (
            found.auroc,
            found.calibration_intercept,
            found.calibration_slope,
            found.brier_skill,
        )
        assert missing == (None,) * 4


@for_each("n", [3, 6, 9, 10, 33])
def test_predictions_that_separate_weighted_outcomes(n):
    rng = np.random.default_rng(n)
    p = np.append([0.1, 0.9], rng.random(n - 2))
    w = rng.exponential(size=n)
    for outcome, area in ((p > 0.5, 1.0), (p < 0.5, 0.0)):
        found = rainproof.clinical_performance(outcome, p, sample_weight=w, rng=0)
        assert found.auroc.value == area
        assert found.auroc.high - found.auroc.low > 1 / n
        assert found.calibration_slope is None


def test_an_intercept_too_far_away_is_not_computed():
    found = rainproof.clinical_performance([0, 1] * 50, [1e-300] * 100, rng=0)
    assert found.calibration_intercept is None
    assert "nearly so" in found.notes[0]


def test_no_event_has_an_upper_limit():
    found = rainproof.clinical_performance([0] * 50, [0.1] * 50, rng=0).observed_expected
    assert (found.value, found.low) == (0.0, 0.0)
    exact = (1 - 0.025 ** (1 / 50)) / 0.1
    assert exact < found.high < 1.5 * exact


def test_a_single_group_proves_nothing():
    found = rainproof.clinical_performance(
        [0, 1, 1, 0], [0.2, 0.4, 0.3, 0.3], groups=[1, 1, 1, 1], rng=0
    )
    assert found.brier_score.low == 0.0
    assert found.brier_score.high == 1.0
    assert found.calibration_intercept.to_dict()["low"] is None
    assert found.notes[-1] == "Only 1 group of the rarer outcome: do not rely on the intervals."


def test_a_compressed_sample_is_taken_but_not_with_groups():
    rng = np.random.default_rng(6)
    p = rng.random(500)
    y = rng.random(500) < p
    sample = rainproof.Sample(y, p)
    found, exact = (
        rainproof.clinical.discrimination(sample.compress(1024)),
        rainproof.clinical.discrimination(sample),
    )
    assert found.value == pytest.approx(exact.value, abs=2e-3)
    assert found.high - found.low == pytest.approx(exact.high - exact.low, rel=0.02)
    with pytest.raises(rainproof.InputError, match="groups need rows"):
        rainproof.clinical.discrimination(sample.compress(64), groups=np.arange(500))


@for_each(
    "thresholds, match",
    [
        (
            [0.1, 0.0],
            r"both excluded; 1 value does not, the first is thresholds\[1\] = 0",
        ),
        ([1.0], "both excluded"),
        ([[0.1]], "list of numbers"),
        ([], "list of numbers"),
        ([np.nan], "thresholds"),
    ],
)
def test_bad_thresholds_are_refused(thresholds, match):
    with pytest.raises(rainproof.InputError, match=match):
        rainproof.net_benefit([0, 1], [0.1, 0.9], thresholds)


def test_several_models_share_a_table():
    y, a, b = [0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4], [0.5, 0.5, 0.5, 0.5]
    found = rainproof.net_benefit(y, {"new": a, "old": b}, [0.3, 0.5])
    assert found.names == ("new", "old")
    assert found.value == pytest.approx(np.array([[0.5 - 3 / 28, 0.5], [0.5 - 3 / 14, 0.0]]))
    assert "new" in str(found)
    assert "<pre>threshold" in found._repr_html_()
    assert "  old  treat all" in found._repr_html_()
    assert found.to_dict()["names"] == ["new", "old"]
    with pytest.raises(rainproof.InputError, match="at least one model"):
        rainproof.net_benefit(y, {})


def test_intervals_cover_the_population():
    """400 samples of 300 rows from a population whose values are known by quadrature."""
    rng = np.random.default_rng(7)
    grid = (np.arange(200_000) + 0.5) / 200_000
    rate, true = grid**2, {"brier_score": 0.0, "observed_expected": (1 / 3) / 0.5}
    true["brier_score"] = float(np.mean(rate * (1 - grid) ** 2 + (1 - rate) * grid**2))
    true["brier_skill"] = 1 - true["brier_score"] / (1 / 3 * 2 / 3)
    above = 1 - grid**3  # the share of events above a prediction
    true["auroc"] = float(np.mean((1 - rate) * above) / (2 / 3))
    true["net_benefit"] = float(np.mean((grid >= 0.4) * (rate - (1 - rate) * 2 / 3)))
    hits = dict.fromkeys(true, 0)
    for _ in range(400):
        p = rng.random(300)
        y = rng.random(300) < p**2
        units = rainproof.Sample(y, p).units
        benefit = rainproof.net_benefit(y, p, [0.4])
        ends = {
            "auroc": rainproof.clinical.discrimination(y, p),
            "observed_expected": observed_expected(units, p, 0.95),
            **dict(zip(("brier_score", "brier_skill"), brier(units, p, 0.95), strict=True)),
        }
        for name, found in ends.items():
            hits[name] += found.low <= true[name] <= found.high
        hits["net_benefit"] += benefit.low[0, 0] <= true["net_benefit"] <= benefit.high[0, 0]
    assert all(count >= 0.91 * 400 for count in hits.values()), hits


@for_each("rarer", [0, 1])
@for_each("few, noted", [(9, True), (10, False)])
def test_fewer_than_ten_rows_of_an_outcome_are_noted(rarer, few, noted):
    y = np.full(200, 1 - rarer)
    y[:few] = rarer
    p = np.random.default_rng(0).uniform(0.1, 0.9, 200)
    notes = rainproof.clinical_performance(y, p, rng=0).notes
    assert notes == (
        ("Only 9 rows of the rarer outcome: do not rely on the intervals.",) if noted else ()
    )


SOME_CLUSTERS = (
    "Events in only {} effective clusters: intervals allow for one more cluster, as large as the "
    "largest."
)


@for_each(
    "few, expected",
    [
        (9, ("Only 9 groups of the rarer outcome: do not rely on the intervals.",)),
        (10, (SOME_CLUSTERS.format(10),)),
        (19, (SOME_CLUSTERS.format(19),)),
        (20, ()),
    ],
)
def test_few_groups_with_an_outcome_are_noted(few, expected):
    """Three events in each group count as one draw."""
    group = np.arange(300) // 3
    p = np.repeat(np.random.default_rng(0).uniform(0.1, 0.9, 100), 3)
    assert rainproof.clinical_performance(group < few, p, groups=group, rng=0).notes == expected


def test_a_sample_has_its_models_already():
    sample = rainproof.Sample([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4])
    with pytest.raises(rainproof.InputError, match=r"a Sample holds predictions, .* pass it alone"):
        rainproof.net_benefit(sample, {"a": [0.5] * 4}, [0.3])
