"""The studies of test and intervals, in short, and what their committed results say."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from benchmarks.studies import comparison, coverage, coverage_table, power

DATA = Path(__file__).parent.parent.parent / "docs" / "data"


def read(name):
    with (DATA / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.filterwarnings("ignore:expected_calibration_error compares:rainproof.FewRowsWarning")
@for_each("measure", ["cutoff_calibration_error", "expected_calibration_error"])
def test_the_shortcut_of_the_study_agrees_with_the_intervals(measure):
    """Where the true value is well inside or outside the interval, the study says so too."""
    population = coverage.cases()["overconfident"]
    agreed = 0
    for k in range(6):
        sample = rainproof.Sample(*population.draw(200, np.random.default_rng(k)))
        interval = rainproof.confidence_interval(sample, measure=measure, n_resamples=39, rng=k)
        values = [interval.low * 0.4, interval.corrected, interval.high * 1.5]
        said = [
            coverage.held(sample, measure, value, np.random.default_rng(k))[-1] for value in values
        ]
        agreed += said == [interval.low == 0, True, False]
    assert agreed >= 5


def test_a_short_coverage_study(tmp_path, monkeypatch, capsys):
    options = ["--share", "0.01", "--sizes", "200", "--measures", "cutoff_calibration_error"]
    monkeypatch.setattr("sys.argv", ["coverage", str(tmp_path / "c.csv"), *options])
    coverage.main()
    written = (tmp_path / "c.csv").read_text()
    assert len(written.splitlines()) == 1 + 2 * len(coverage.cases())
    assert "cutoff_calibration_error" in capsys.readouterr().err
    coverage.main()  # nothing is left to do
    assert (tmp_path / "c.csv").read_text() == written


def test_a_short_power_study():
    lines = list(power.size_lines(0.02, {20: 200}))
    assert {line["measure"] for line in lines} == set(power.MEASURES)
    assert all(line["rejected"] <= line["simulations"] == 4 for line in lines)
    lines = list(power.power_lines(0.1, ["cutoff_calibration_error"]))
    strong = [
        x for x in lines if x["alternative"] == "too high everywhere" and x["strength"] == 1.0
    ]
    assert strong[0]["rejected"] >= 0.8 * strong[0]["draws"]


def test_the_committed_sizes_are_at_most_alpha():
    """Within three standard errors each, and on the whole within two."""
    lines = read("size.csv")
    assert {int(x["n"]) for x in lines} == set(power.SIZES)
    # a measure may be newer than the study
    assert "combined" in {x["measure"] for x in lines} <= set(power.MEASURES)
    for line in lines:
        alpha, n = float(line["alpha"]), int(line["simulations"])
        assert int(line["rejected"]) <= n * alpha + 3.5 * np.sqrt(n * alpha * (1 - alpha)), line
    share = sum(int(x["rejected"]) for x in lines) / sum(int(x["simulations"]) for x in lines)
    assert share <= 0.06


def test_the_page_shows_the_committed_results():
    page = (DATA.parent / "benchmarks" / "study-tests.md").read_text(encoding="utf-8")
    for table in coverage_table.TABLES:
        assert f"<!-- {table.__name__} -->\n{table()}\n<!-- end -->" in page


def test_the_committed_coverage_is_near_its_level():
    lines = [x for x in read("coverage.csv") if x["method"] == "inversion"]
    assert {int(x["n"]) for x in lines} == set(coverage.SIMULATIONS)
    assert {x["measure"] for x in lines} == set(coverage.MEASURES)
    assert {x["population"] for x in lines} == set(coverage.cases())
    for line in lines:
        n, covered = int(line["simulations"]), int(line["covered_95"])
        assert n >= 200
        assert covered >= 0.95 * n - 3.5 * np.sqrt(n * 0.95 * 0.05), line
    assert sum(int(x["covered_95"]) for x in lines) >= 0.95 * sum(
        int(x["simulations"]) for x in lines
    )


def test_the_committed_power_grows_with_the_strength():
    # a measure may be newer than the study
    assert "combined" in {x["measure"] for x in read("power.csv")} <= set(power.MEASURES)
    for line in read("power.csv"):
        assert 0 <= int(line["rejected"]) <= int(line["draws"])


def test_a_short_study_of_comparisons(tmp_path):
    comparison.main(
        [str(tmp_path / "c.csv"), "--simulations", "2", "--measures", "cutoff_calibration_error"]
    )
    with (tmp_path / "c.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [(x["pair"], x["clusters"]) for x in lines] == [
        (p, c) for p in comparison.PAIRS for c in ("0", "40")
    ]


def test_the_committed_comparisons_cover_as_the_issue_asks():
    for line in read("comparison.csv"):
        assert int(line["simulations"]) >= 300
        assert int(line["covered_95"]) >= 0.93 * int(line["simulations"]), line
