"""The clinical preset: the core set in the order of STRATOS, several models, and the items of
TRIPOD+AI.
"""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pytest
from helpers import report_cases
from helpers.browser import FITS, TEXTS_OUTSIDE

import rainproof
from rainproof.cli import main
from rainproof.report import to_html

NUMBERS = (
    "auroc",
    "observed_expected",
    "calibration_intercept",
    "calibration_slope",
    "brier_score",
    "brier_skill",
)

TOP = "return document.querySelector(arguments[0]).getBoundingClientRect().top"


def data_of(page):
    return json.loads(page.split('id="data">')[1].split("</script>")[0])


def texts(page, pattern):
    return [re.sub("<[^>]*>", "", found) for found in re.findall(pattern, page, re.DOTALL)]


@pytest.fixture(scope="module")
def three():
    """Three models of the same patients, who were seen three times each."""
    y, bold, calm, _ = report_cases.rows()
    models = {
        "bold": (y, bold.clip(0.001, 0.999)),
        "calm": (y, calm),
        "constant": (y, np.full(len(y), 0.4)),
    }
    with report_cases.quickly():
        return rainproof.assess_many(
            models,
            measures=report_cases.QUICK,
            n_resamples=19,
            rng=0,
            groups=np.arange(len(y)) // 3,
        )


def test_sections_come_in_the_order_of_the_core_set():
    page = to_html(report_cases.single(), preset="clinical")
    heads = texts(page, "<h2[^>]*>(.*?)</h2>")
    places = [
        heads.index(head)
        for head in (
            "Calibration plot",
            "Decision curve: net benefit",
            "Risk distribution by outcome",
            "TRIPOD+AI: what this page provides",
            "Your decision",
            "Segments",
        )
    ]
    assert places == sorted(places)
    assert texts(page, "<dt>(.*?)</dt>")[0] == "AUROC"
    assert page.index(">AUROC<") < page.index(">Calibration plot<")
    assert page.count('class="chart" data-chart="value"') == 1  # the decision curve is there once


def test_the_numbers_are_those_of_clinical_performance():
    y, _, calm, _ = report_cases.rows()
    calm = calm.clip(0.001, 0.999)
    groups = np.arange(len(y)) // 3
    with report_cases.quickly():
        a = rainproof.assess(y, calm, groups=groups, measures=[], n_resamples=19, rng=0)
    mine = [each.threshold for each in a.advice]
    alone = rainproof.clinical_performance(y, calm, groups=groups, thresholds=mine, rng=0)
    for name in NUMBERS:
        # in another order
        assert getattr(a.clinical, name).to_dict() == pytest.approx(getattr(alone, name).to_dict())
    found = data_of(a.to_html(preset="clinical"))["clinical"]
    assert found["net_benefit"] == a.clinical.net_benefit.to_dict()
    np.testing.assert_allclose(found["net_benefit"]["low"], alone.net_benefit.low)
    assert found["risk_distribution"] == a.clinical.risk_distribution.to_dict()
    np.testing.assert_allclose(
        found["risk_distribution"]["share_events"], alone.risk_distribution.share_events
    )
    assert found["auroc"]["value"] == a.clinical.auroc.value
    assert a.clinical.reliability is a.reliability
    assert "clinical" not in data_of(a.to_html())
    again = pickle.loads(pickle.dumps(a))
    assert again.clinical.to_dict() == a.clinical.to_dict()


def test_what_is_not_defined_is_said():
    page = to_html(report_cases.single(), preset="clinical")  # some of its predictions are 0 or 1
    assert '<dd class="value">not defined</dd>' in page
    assert (
        "The calibration intercept and slope are not defined: some predictions are 0 or 1, or "
        "nearly so."
    ) in page


def test_items_follow_what_was_given(three):
    single = texts(
        to_html(report_cases.single(), preset="clinical"), '<table class="tripod".*?</table>'
    )[0]
    assert "Rows are treated as independent" in single
    assert "4 segments: event rate, test and loss of each" in single
    assert "1,272 with the event and 1,728 without" in single
    grouped = texts(
        to_html(three["constant"], preset="clinical"), '<table class="tripod".*?</table>'
    )[0]
    assert "dependence within 1,000 groups" in grouped
    assert "No subgroups were given." in grouped
    assert "Not examined." in grouped
    with report_cases.quickly():
        few = rainproof.assess(
            [0, 1, 1, 0],
            [0.2, 0.6, 0.7, 0.4],
            sample_weight=[1, 2, 3, 4],
            measures=[],
            n_resamples=19,
            rng=0,
        )
    assert "5 with the event and 5 without (sums of weights)" in to_html(few, preset="clinical")


def test_a_preset_that_does_not_exist_is_refused():
    with pytest.raises(
        rainproof.InputError, match="preset must be None or 'clinical'; it is 'legal'"
    ):
        report_cases.single().to_html(preset="legal")


@pytest.mark.parametrize(("size", "dark"), [("desk", False), ("desk", True), ("phone", False)])
def test_several_models_in_a_browser(browser, tmp_path, three, size, dark):
    to_html(three, tmp_path / "three.html", preset="clinical", title="Three models")
    browser.open(tmp_path / "three.html", size=size, dark=dark)
    browser.picture(f"clinical-three-{size}-{'dark' if dark else 'light'}")
    assert browser.complaints() == []
    assert browser.faults() == []
    assert browser.run(FITS)
    assert browser.run(TEXTS_OUTSIDE) == []
    lines = (
        "return document.querySelectorAll('[data-chart=\"all-value\"] g[fill=none] path').length"
    )
    assert browser.run(lines) >= 4  # three models and treating all
    areas = (
        "return document.querySelectorAll('[data-chart=\"all-value\"] g[fill-opacity] path').length"
    )
    assert browser.run(areas) == 3  # intervals of each
    notes, plot = (
        browser.run(TOP, place) for place in (".core-notes", '[data-chart="calibration"]')
    )
    assert notes < plot  # also on a phone, where small print comes last
    rows = browser.texts("table.core-set")[0]
    assert all(name in rows for name in three)


def test_lines_that_fall_without_end_stop_at_the_frame(browser, tmp_path, three):
    """The net benefit of treating all falls to minus infinity: its dashes made a PDF of 32 MB."""
    to_html(three, tmp_path / "three.html", preset="clinical")
    browser.open(tmp_path / "three.html")
    paths = (
        "return [...document.querySelectorAll('.chart svg path')].map(p => "
        "p.getAttribute('d')).join(' ')"
    )
    numbers = [abs(float(x)) for x in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", browser.run(paths))]
    assert max(numbers) < 2000
    assert browser.printed("clinical-three") < 1_000_000


@pytest.mark.parametrize("case", ["one class", "one group", "one row", "all equal"])
def test_pages_without_some_of_the_numbers(browser, tmp_path, case):
    rng = np.random.default_rng(9)
    p = np.full(80, 0.5) if case == "all equal" else rng.random(1 if case == "one row" else 80)
    y = np.zeros(len(p), int) if case == "one class" else (rng.random(len(p)) < p).astype(int)
    groups = np.zeros(80, int) if case == "one group" else None
    with report_cases.quickly():
        a = rainproof.assess(y, p, groups=groups, measures=[], n_resamples=19, rng=0)
    a.to_html(tmp_path / "page.html", preset="clinical")
    browser.open(tmp_path / "page.html")
    assert browser.complaints() == []
    words = {"one group": "\u2013 to \u2013", "one class": "not defined"}.get(case, "perfect: 1")
    assert any(words in tile for tile in browser.texts(".tiles > div"))


def test_models_of_the_same_outcomes_share_the_line_of_treating_all(browser, tmp_path):
    rng = np.random.default_rng(10)
    half = rng.random(300)
    y = rng.random(300) < half
    rows = {"half": (y, half), "bold": (y, half**2)}
    with report_cases.quickly():
        rainproof.assess_many(rows, measures=[], n_resamples=19, rng=0).to_html(
            tmp_path / "two.html", preset="clinical"
        )
    browser.open(tmp_path / "two.html")
    dashed = (
        'return document.querySelectorAll(\'[data-chart="all-value"] g[stroke-dasharray="4 3"] '
        "path').length"
    )
    assert browser.run(dashed) == 1


def test_one_model_with_rare_events_in_a_browser(browser, tmp_path):
    to_html(report_cases.rare(), tmp_path / "rare.html", preset="clinical")
    browser.open(tmp_path / "rare.html")
    browser.picture("clinical-rare-desk-light")
    assert browser.complaints() == []
    ticks = browser.texts('[data-chart="risks"] svg text')
    assert "100%" not in ticks  # no row has a risk near 1
    assert (
        browser.run("return document.querySelectorAll('[data-chart=\"risks\"] rect').length") > 40
    )


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    p = rng.random(400).round(3)
    y = (rng.random(400) < p).astype(int)
    (tmp_path / "visits.csv").write_text(
        "p,y,who\n"
        + "".join(f"{a},{b},{i // 2}\n" for i, (a, b) in enumerate(zip(p, y, strict=True)))
    )
    command = [
        "report",
        "visits.csv",
        "--prob",
        "p",
        "--outcome",
        "y",
        "--groups",
        "who",
        "-o",
        "page.html",
    ]
    assert main([*command, "--preset", "clinical", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["clinical"]["groups"] == 200
    assert "TRIPOD+AI" in (tmp_path / "page.html").read_text()
    assert main([*command, "--json"]) == 0
    assert "clinical" not in json.loads(capsys.readouterr().out)
    assert main([*command, "--preset", "legal"]) == 2
    assert "invalid choice: 'legal'" in capsys.readouterr().err
