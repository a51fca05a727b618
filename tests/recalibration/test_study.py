"""The study of recalibration, in short: what is committed under docs/data is what it would find."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from rainproof.recalibration.methods import METHODS
from studies import recalibration, recalibration_table
from studies.recalibration_data import MADE, Drawn, _made, _real
from studies.tables import read

DATA = Path(__file__).parent.parent.parent / "docs" / "data"
WAYS = 11  # without probcal


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
    """Two rows at rates 0.2 and 0.8, told to be 0.8 and 0.2: whoever acts in between loses 0.3 at the threshold 1/2."""
    rate = np.array([0.2, 0.8, 0.2, 0.8])
    weight = np.array([0.8, 0.2, 0.2, 0.8]) / 2
    drawn = Drawn(y=rate, p=rate, event=np.array([False, False, True, True]), prob=rate, weight=weight, rate=rate)
    assert recalibration.harm(drawn, rate, 1 - rate) == pytest.approx(2 * 0.3)
    assert recalibration.harm(drawn, rate, rate) == 0


def test_a_repetition():
    losses, certificate = recalibration.one(_made("cries wolf", *MADE["cries wolf"]), 300, 0, probcal=False)
    assert len(losses) == WAYS
    assert all(loss >= 0 for loss in losses.values())
    chosen = {name: loss for name, loss in losses.items() if "scikit-learn" not in name and "all rows" not in name}
    assert min(chosen.values()) == losses[recalibration.BEST]
    assert certificate["harm"] <= certificate["harm_bound"]


def test_the_committed_lines_are_what_the_study_finds(lines):
    data_set = _made("rare, calibrated", *MADE["rare, calibrated"])
    with warnings.catch_warnings(action="ignore"):
        found = [recalibration.one(data_set, 200, k, probcal=False)[0] for k in range(recalibration.REPEATS[200])]
    for way in found[0]:
        pairs = np.array([(one[way], one[way] - one[recalibration.OURS]) for one in found])
        (line,) = [x for x in lines if (x["data_set"], x["n"], x["way"]) == (data_set.name, "200", way)]
        for name, value in recalibration.summary(pairs).items():
            assert float(line[name]) == pytest.approx(float(value), abs=2e-6), (way, name)


def test_enough_data_sets_at_every_size(lines):
    assert {int(line["n"]) for line in lines} == set(recalibration.REPEATS)
    for n in recalibration.REPEATS:
        assert len({line["data_set"] for line in lines if line["n"] == str(n)}) >= 20
    assert {line["data_set"] for line in lines if line["kind"] == "made"} == set(MADE)
    assert len({line["way"] for line in lines}) == WAYS + 1


def test_ours_is_best_or_within_noise_at_every_size(lines):
    for n in recalibration.REPEATS:
        for way in {line["way"] for line in lines} - {recalibration.BEST, "always Platt, fitted to all rows"}:
            some = [line for line in lines if (line["n"], line["way"]) == (str(n), way)]
            beyond, error = recalibration_table.mean(some, "beyond_ours")
            assert beyond >= -2 * error, (n, way, beyond, error)


def test_certificates_are_wrong_no_more_often_than_they_may_be():
    lines = read("recalibration-certificates.csv")
    for n in recalibration.REPEATS:
        some = [line for line in lines if line["n"] == str(n)]
        fits = sum(int(line["repeats"]) for line in some)
        for name in ("harm_wrong", "gain_wrong"):
            assert sum(int(line[name]) for line in some) <= 0.05 * fits


def test_the_page_shows_the_committed_data():
    page = (DATA.parent / "benchmarks" / "study-recalibration.md").read_text(encoding="utf-8")
    assert recalibration_table.filled(page) == page
    guide = (DATA.parent / "guide" / "recalibration.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in guide for name in METHODS)
