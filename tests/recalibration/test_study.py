"""The study of recalibration, in short: what is committed under docs/data is what it would find."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from benchmarks.studies import recalibration, recalibration_regret, recalibration_table
from benchmarks.studies.recalibration_data import MADE, Drawn, _made, _real
from benchmarks.studies.tables import filled, read
from rainproof.recalibration.methods import METHODS

DATA = Path(__file__).parent.parent.parent / "docs" / "data"
WAYS = 12


@pytest.fixture(scope="module")
def lines():
    return read("recalibration.csv")


def test_made_data_are_what_they_say():
    assert len(MADE) >= 20
    for name, parts in MADE.items():
        drawn = _made(name, *parts).draw(4000, np.random.default_rng(0))
        assert np.all((drawn.rate >= 0) & (drawn.rate <= 1))
        assert drawn.weight.sum() == pytest.approx(1)
        assert drawn.weight[drawn.event].sum() == pytest.approx(drawn.y.mean(), abs=0.03)
        assert set(drawn.p) <= set(drawn.prob)


def test_real_rows_that_judge_are_not_fitted():
    rows = np.arange(2000) / 2000
    drawn = _real("rows", rows > 0.5, rows).draw(500, np.random.default_rng(0))
    assert len(drawn.p) == 500
    assert len(drawn.prob) == 1500
    assert not set(drawn.p) & set(drawn.prob)


def test_the_loss_that_judges_is_that_of_the_worst_task():
    """Two rows at rates 0.2 and 0.8, told to be 0.8 and 0.2: whoever acts in between loses 0.3 at
    the threshold 1/2.
    """
    rate = np.array([0.2, 0.8, 0.2, 0.8])
    weight = np.array([0.8, 0.2, 0.2, 0.8]) / 2
    drawn = Drawn(
        y=rate,
        p=rate,
        event=np.array([False, False, True, True]),
        prob=rate,
        weight=weight,
        rate=rate,
    )
    assert recalibration.harm(drawn, rate, 1 - rate) == pytest.approx(2 * 0.3)
    assert recalibration.harm(drawn, rate, rate) == 0


def test_costs_are_shares_of_the_better_fixed_rule():
    """Two rows at rates 0.2 and 0.8: whoever acts on both, or on none, pays as much as a fixed
    rule.
    """
    rate = np.array([0.2, 0.8, 0.2, 0.8])
    weight = np.array([0.8, 0.2, 0.2, 0.8]) / 2
    drawn = Drawn(
        y=rate,
        p=rate,
        event=np.array([False, False, True, True]),
        prob=rate,
        weight=weight,
        rate=rate,
    )
    np.testing.assert_allclose(recalibration.costs(drawn, np.ones(4)), 1)
    exact = recalibration.costs(drawn, rate)
    assert exact[0] == pytest.approx((0.2 + 0.2) / 2 / 0.5)
    assert exact[1] == pytest.approx((0.2 + 2 * 0.2) / 2 / 0.5)
    assert exact[4] == pytest.approx(1)  # 0.2 is above 1 / 21


def test_a_repetition():
    found, certificate = recalibration.one(_made("cries wolf", *MADE["cries wolf"]), 300, 0)
    assert len(found) == WAYS
    assert certificate is None
    assert all(loss >= 0 and cost >= -1e-12 for loss, cost in found.values())
    _, certificate = recalibration.one(_made("cries wolf", *MADE["cries wolf"]), 2000, 0)
    assert certificate["harm"] <= certificate["harm_bound"]


def test_the_committed_lines_are_what_the_study_finds(lines):
    data_set = _made("rare, calibrated", *MADE["rare, calibrated"])
    with warnings.catch_warnings(action="ignore"):
        found = [recalibration.one(data_set, 200, k)[0] for k in range(recalibration.REPEATS[200])]
    for way in found[0]:
        some = np.array(
            [(*one[way], *np.subtract(one[way], one[recalibration.OURS])) for one in found]
        )
        (line,) = [
            x for x in lines if (x["data_set"], x["n"], x["way"]) == (data_set.name, "200", way)
        ]
        for name, value in recalibration.summary(some).items():
            assert float(line[name]) == pytest.approx(float(value), abs=2e-6), (way, name)


def test_enough_data_sets_at_every_size(lines):
    assert {int(line["n"]) for line in lines} == set(recalibration.REPEATS)
    for n in recalibration.REPEATS:
        assert len({line["data_set"] for line in lines if line["n"] == str(n)}) >= 20
    assert {line["data_set"] for line in lines if line["kind"] == "made"} == set(MADE)
    assert len({line["way"] for line in lines}) == WAYS


OTHERS = ("as is", "Platt, all rows", "isotonic, all rows", "best cut-off on the same rows")


def test_populations_are_what_they_say():
    rng = np.random.default_rng(0)
    for kind in recalibration_regret.KINDS:
        for _ in range(5):
            whole = recalibration_regret.population(kind, rng)
            assert 0.03 <= whole.rate.mean() <= 0.5
            assert (whole.prob == whole.rate).all() == (kind == "calibrated")
            assert (np.ptp(whole.rate) < 1e-9) == (kind == "useless")


def test_the_best_cutoff_is_that_of_a_search():
    rng = np.random.default_rng(1)
    p, y = np.round(rng.random(60), 1), rng.integers(0, 2, 60)
    found = recalibration_regret.best_cutoffs(p, y)
    for miss, cut in zip(recalibration_regret.MISSES, found, strict=True):
        costs = {
            c: ((p >= c) & (y == 0)).sum() + miss * ((p < c) & (y == 1)).sum()
            for c in [*np.unique(p), 2.0]
        }
        assert costs[cut] == min(costs.values())


def test_acting_on_the_mean_costs_less_than_simple_rules():
    lines = read("recalibration-regret.csv")
    for n in map(str, recalibration_regret.SIZES):
        mean = {
            rule: np.mean([float(x["regret"]) for x in lines if (x["n"], x["rule"]) == (n, rule)])
            for rule in {line["rule"] for line in lines}
        }
        assert all(mean[recalibration_regret.OURS] < mean[rule] for rule in OTHERS)


def test_the_committed_regrets_are_what_the_study_finds():
    found = [
        recalibration_regret.regrets("steps", 200, k)
        for k in range(recalibration_regret.POPULATIONS)
    ]
    lines = [x for x in read("recalibration-regret.csv") if (x["n"], x["kind"]) == ("200", "steps")]
    assert len(lines) == len(found[0])
    for line in lines:
        assert float(line["regret"]) == pytest.approx(
            np.mean([one[line["rule"]] for one in found]), abs=2e-6
        )


def test_certificates_are_wrong_no_more_often_than_they_may_be():
    lines = read("recalibration-certificates.csv")
    assert {line["n"] for line in lines} == {"5000", "20000"}
    for n in (5000, 20_000):
        some = [line for line in lines if line["n"] == str(n)]
        fits = sum(int(line["repeats"]) for line in some)
        for name in ("harm_wrong", "gain_wrong"):
            assert sum(int(line[name]) for line in some) <= 0.05 * fits


def test_the_page_shows_the_committed_data():
    page = (DATA.parent / "benchmarks" / "study-recalibration.md").read_text(encoding="utf-8")
    assert filled(page, recalibration_table.TABLES) == page
    guide = (DATA.parent / "guide" / "recalibration.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in guide for name in METHODS)
