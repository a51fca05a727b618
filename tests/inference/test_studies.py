"""The studies, in short: what is committed under docs/data is what they would find."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.regret_oracle import exact_loss
from numpy.testing import assert_allclose

import rainproof
from benchmarks.studies import (
    anytime,
    detection,
    edges,
    online,
    printed,
    proofs,
    rates,
    sequential,
    switching,
    tables,
    threshold_range,
    violation,
    violation_as_is,
)
from benchmarks.studies.populations import populations

DATA = Path(__file__).parent.parent.parent / "docs" / "data"


def read(name):
    with (DATA / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_populations_are_what_they_say():
    everything = populations(512)
    assert len(everything) >= 8
    for population in everything.values():
        assert population.mass.sum() == pytest.approx(1)
        assert np.all((population.rate >= 0) & (population.rate <= 1))
        y, p = population.draw(100_000, np.random.default_rng(0))
        assert set(p) <= set(population.prob)
        assert p.mean() == pytest.approx(population.mass @ population.prob, abs=0.006)
        assert y.mean() == pytest.approx(population.mass @ population.rate, abs=0.006)
    assert populations()["rare"].sample.event_rate == pytest.approx(0.01, abs=0.001)
    assert rainproof.measures.expected_calibration_error(everything["calibrated"].sample) == 0


def test_their_losses_are_exact():
    """Two points at 0.3 and 0.6 on the grid 1/4, in fractions: (1/4: 0.8 of 0.7), (1/2: 0.2 of 0.7,
    0.6 of 0.3), ...
    """
    population = populations()["two points"]
    hats = np.maximum(0, 1 - np.abs(4 * population.prob[:, None] - np.arange(5)))
    weight, events = population.mass @ hats, (population.mass * population.rate) @ hats
    some = weight > 0
    expected = exact_loss(np.arange(5)[some] / 4, weight[some], events[some], "all")
    assert population.losses(4)[4] == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.filterwarnings("ignore::rainproof.FewRowsWarning")
def test_the_bounds_fail_no_more_often_than_they_may(tmp_path):
    path = tmp_path / "violation.csv"
    violation.main([str(path), "--repeats", "10", "--sizes", "200"])
    with path.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 2 * 2 * len(populations())
    for line in lines:
        # 10 x 0.5 = 5 may fail; all 10 do with a chance of one in 1,024 if each did as often as it
        # may.
        most = {"0.05": 3, "0.5": 9}[line["allowed"]]
        assert int(line["violations_adaptive"]) <= most
        assert int(line["violations_hoeffding"]) <= most
    assert violation.weights("equal", 5) is None


def test_the_committed_counts_are_below_what_is_allowed():
    lines = read("violation.csv")
    assert {int(line["n"]) for line in lines} == set(violation.SIZES)
    assert {line["population"] for line in lines} == set(populations(8))
    for line in lines:
        for method in violation.METHODS:
            assert int(line[f"violations_{method}"]) <= float(line["allowed"]) * int(
                line["repeats"]
            )
    first = next(x for x in lines if (x["population"], x["weights"]) == ("rare", "uneven"))
    again = violation.one(populations()["rare"], 100, "uneven", "default", int(first["repeats"]))
    assert {key: str(value) for key, value in again.items()} == first


@pytest.mark.filterwarnings("ignore::rainproof.FewRowsWarning")
def test_the_bounds_without_rounding_fail_no_more_often_than_they_may(tmp_path):
    path = tmp_path / "as-is.csv"
    violation_as_is.main([str(path), "--repeats", "10", "--sizes", "200"])
    with path.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 2 * len(violation_as_is.cases())
    for line in lines:
        most = {"0.95": 3, "0.5": 9}[line["confidence_level"]]  # as above
        assert int(line["violations_adaptive"]) <= most
        assert int(line["violations_hoeffding"]) <= most


def test_the_committed_counts_without_rounding():
    lines, cases = read("violation-as-is.csv"), violation_as_is.cases()
    assert {line["population"] for line in lines} == set(cases)
    assert len(cases) == 10
    for line in lines:
        allowed = (1 - float(line["confidence_level"])) * int(line["repeats"])
        assert max(int(line["violations_adaptive"]), int(line["violations_hoeffding"])) <= allowed
        assert float(line["truth"]) == pytest.approx(cases[line["population"]].truth(), abs=1e-6)
    assert cases["inverted"].truth() == pytest.approx(1 / 3, abs=1e-3)
    assert cases["constant"].truth() == cases["groups"].truth() == pytest.approx(0.5)


def test_the_bounds_of_a_switch_fail_no_more_often_than_they_may(tmp_path):
    path = tmp_path / "switching.csv"
    switching.main([str(path), "--repeats", "4", "--sizes", "60"])
    with path.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 2 * len(switching.pairs())
    for line in lines:
        assert int(line["violations_harm"]) <= 3


def test_the_committed_counts_of_a_switch():
    lines, pairs = read("switching.csv"), switching.pairs()
    assert {int(line["n"]) for line in lines} == set(switching.SIZES)
    assert {line["population"] for line in lines} == set(pairs)
    for line in lines:
        allowed = (1 - float(line["confidence_level"])) * int(line["repeats"])
        assert int(line["violations_harm"]) <= allowed
        assert float(line["true_harm"]) == pytest.approx(
            pairs[line["population"]].truth(), abs=1e-6
        )
    assert pairs["inverted"].truth() == pytest.approx(1 / 2, abs=1e-5)
    assert pairs["certain"].truth() == pytest.approx(1 / 2)


def test_rates_in_short(tmp_path):
    path = tmp_path / "rates.csv"
    rates.main([str(path), "--repeats", "16", "--sizes", "100", "400", "1600", "--points", "8192"])
    with path.with_name("rates-slopes.csv").open(encoding="utf-8") as file:
        found = {
            (line["forecaster"], line["measure"]): float(line["slope"])
            for line in csv.DictReader(file)
        }
    assert len(found) == 2 * (len(rainproof.list_measures()) + 1)
    assert -0.7 < found["calibrated", "soft_binned_cdl"] < -0.35
    assert abs(found["calibrated", "calibration_decision_loss"]) < 0.1
    assert -0.45 < found["calibrated", rates.CUBE_ROOT] < -0.2


def test_the_committed_rates_show_table_1():
    lines = {(line["forecaster"], line["measure"]): line for line in read("rates-slopes.csv")}
    known = {
        (f, m) for f in rates.FORECASTERS for m in (*rainproof.list_measures(), rates.CUBE_ROOT)
    }
    assert set(lines) <= known  # a measure may be newer than the study
    expected = {"soft_binned_cdl": -1 / 2, "cutoff_calibration_error": -1 / 2, "smooth_calibration_error": -1 / 2,
                rates.CUBE_ROOT: -1 / 3, "calibration_decision_loss": 0, "expected_calibration_error": 0}  # fmt: skip
    for measure, slope in expected.items():
        assert float(lines["calibrated", measure]["slope"]) == pytest.approx(slope, abs=0.05)
    again = list(rates.slopes(read("rates.csv")))
    assert_allclose(
        [float(line["slope"]) for line in again], [float(x["slope"]) for x in lines.values()]
    )


def test_the_study_of_lower_bounds(tmp_path, monkeypatch):
    path = tmp_path / "proofs.csv"
    monkeypatch.setattr(proofs, "FAILURES", [("inverted", "groups"), ("three values", "weights")])
    monkeypatch.setattr(proofs, "POWER", [("three values", 60)])
    proofs.main([str(path), "--repeats", "2"])
    with path.open(encoding="utf-8") as file:
        assert [line["population"] for line in csv.DictReader(file)] == [
            "inverted",
            "three values",
            "three values",
        ]
    for line in read("proofs.csv"):
        at_most = (1 - float(line["confidence_level"])) * int(line["repeats"])
        for statement in proofs.STATEMENTS:
            assert int(line[f"{statement}_failed"]) <= at_most
            assert 0 <= float(line[f"true_{statement}"]) <= 1


def test_the_page_shows_the_committed_data():
    for name in tables.PAGES:
        page = (DATA.parent / name).read_text(encoding="utf-8")
        assert tables.filled(page, tables.PAGES[name]) == page
    page = (DATA.parent / "benchmarks" / "study-bounds.md").read_text(encoding="utf-8")
    assert page.count("| one point |") == page.count("| identical |") == 1


def test_the_study_of_hard_samples(tmp_path):
    path = tmp_path / "edges.csv"
    edges.main([str(path), "--repeats", "4"])
    with path.open(encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    committed = [line for line in read("edges.csv") if line["version"] == "after"]
    same = ("statement", "population", "n")
    assert [[x[name] for name in same] for x in found] == [
        [x[name] for name in same] for x in committed
    ]
    for line in committed:
        samples = int(line["samples"])
        allowed = float(line["may_fail"]) * samples
        assert int(line["false"]) <= allowed + 2 * math.sqrt(allowed), line
    before = [line for line in read("edges.csv") if line["version"] == "before"]
    assert len(before) == len(committed)


def test_a_judge_of_hard_samples_knows_what_is_false(monkeypatch):
    """Of three predictions the largest one has a precision of 95%, the two largest together one of
    72.5%.
    """
    law = edges.threshold_law(3, 0.6, 0.35)
    assert law.rate == (0.1, 0.5, pytest.approx(0.95))
    rng = np.random.default_rng(0)
    for target, threshold, false in (
        (0.9, 0.85, False),
        (0.9, 0.5, True),
        (0.7, 0.5, False),
        (0.6, 0.1, True),
    ):
        told = SimpleNamespace(threshold=threshold)
        monkeypatch.setattr(rainproof, "find_threshold", lambda *_, told=told, **__: told)
        assert edges.thresholds(law, target)(300, rng) == edges.Verdict(said=True, false=false)
    two = edges.Law("two", (0.5, 0.5), (0.2, 0.8), (0.1, 0.5))
    gained = 0.5 * (0.5 - 0.2) - (0.3 - 0.2)  # over always acting, from 0.2 on
    assert edges.skill(two, 0.2) == pytest.approx(gained / (0.2 * 0.7))


def test_online_and_anytime_studies_in_short(tmp_path, monkeypatch):
    monkeypatch.setattr(online, "StreamingIsotonicCalibrator", None)
    online.main([str(tmp_path), "--rows", "400", "--rounds", "50", "100"])
    for name, number in (
        ("online", 13 * 5 + 1),
        ("online-late", 13 * 6 + 1),
        ("online-adversaries", 6 * 2),
    ):
        with (tmp_path / f"{name}.csv").open(encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        assert len(lines) == number
        assert all(0 <= float(line["cdl"]) <= 1 for line in lines)
    calm = anytime.populations()["constant"]
    monkeypatch.setattr(anytime, "LOOKS", 20)
    assert all(line["failed_anytime"] <= 3 for line in anytime.looks(calm, 3))
    monkeypatch.setattr(anytime, "SIZES", {200: 2})
    assert {line["response"] for line in anytime.prices(calm)} == {"rounded", "as_is"}


def test_sequential_studies_in_short(tmp_path, monkeypatch):
    monkeypatch.setattr(sequential, "LOOKS", 200)
    monkeypatch.setattr(detection, "LONGEST", 12)
    monkeypatch.setattr(detection, "CHANGE", 4)
    null, power = (tmp_path / name for name in ("null.csv", "power.csv"))
    sequential.main([str(null), str(power), "--repeats", "2"])
    detection.main([str(tmp_path), "--repeats", "2", "--days", "20"])
    with null.open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 9
    with power.open(encoding="utf-8") as file:
        assert {line["miscalibration"] for line in csv.DictReader(file)} >= {"too low by 0.05"}
    lines = {
        "false": 2 * len(detection.CALM) - 1,
        "shift": 4,
        "delay": len(detection.WRONG),
        "storm": 2,
        "stored": 8,
    }
    for name, many in lines.items():
        with (tmp_path / f"detection-{name}.csv").open(encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == many


def test_the_committed_counts_in_ranges_of_thresholds():
    lines, known = read("threshold-range.csv"), populations()
    assert {line["population"] for line in lines} == set(known)
    for line in lines:
        assert int(line["violations"]) <= (1 - float(line["confidence_level"])) * int(
            line["repeats"]
        )
    for some in threshold_range.RANGES:
        true = threshold_range.truths(known["two points"], some)
        name = "every" if some is None else str(some)
        own = [
            line for line in lines if (line["population"], line["range"]) == ("two points", name)
        ]
        told = {line["bound"]: float(line["truth"]) for line in own}
        assert told == pytest.approx(true, abs=1e-6)


def test_the_weights_of_maps_in_a_range_are_compared_on_the_same_rows():
    everywhere, inside = threshold_range.excess(3, 200, 0.05, 0.2)
    assert 0 <= everywhere < 0.1
    assert 0 <= inside < 0.1
    for line in read("threshold-range-weights.csv"):
        assert 0 < float(line["everywhere"]) < float(line["in_range"])


def test_other_intervals_cover_what_they_say(tmp_path):
    path = tmp_path / "printed.csv"
    printed.main([str(path), "--simulations", "2"])
    with path.open(encoding="utf-8") as file:
        short = list(csv.DictReader(file))
    committed = read("printed.csv")
    case = ("interval", "population", "n", "events")
    assert [[x[k] for k in case] for x in short] == [[x[k] for k in case] for x in committed]
    grades = [x for x in committed if x["intervals"] == "exact"]
    assert grades == [x for x in short if x["intervals"] == "exact"]
    for x in committed:
        if float(x["events"]) >= 10:
            assert float(x["coverage"]) > (0.88 if x["interval"] == "loss by a switch" else 0.92), x
    table = rainproof.clinical.grade_table([3], [0.1], trials=[100])
    assert_allclose([table.low[0], table.high[0]], [0.00852028, 0.07788757], rtol=1e-6)
