"""What people see first: the verdict, the answers, the two charts; and the table of several forecasts."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers import report_cases
from helpers.browser import FITS, TEXTS_OUTSIDE

import rainproof
from rainproof.report import to_html


def bottom(browser, selector):
    """How far down the page something ends, in pixels."""
    return browser.run("return document.querySelector(arguments[0]).getBoundingClientRect().bottom", selector)


def drawn(chart, attribute, colour):
    """The path of a colour in a chart; the colour is its own, or that of its group."""
    own = f'[{attribute}="var(--{colour})"]'
    return f"document.querySelector('[data-chart={chart}] svg :is(g{own} path, path{own})')"


def test_the_first_screen_has_verdict_answers_and_both_charts(browser, report):
    browser.open(report)
    for chart in ("value", "reliability", "histogram"):
        assert bottom(browser, f'[data-chart="{chart}"]') <= 800
    assert len(browser.all(".tiles > div")) == 4
    assert browser.texts(".first .keys li") == [
        *("as it is", "recalibrated", "no forecast", "perfect", "chance, if calibrated"),
        *("event rate", "chance, if calibrated", f"recalibration map ({report_cases.single().recalibrator.method_})"),
    ]
    browser.open(report, size="phone")
    browser.view("report-first-phone")
    assert bottom(browser, ".tiles") <= 750  # the decision curve begins on the first screen
    assert browser.texts(".first h2") == ["Decision curve", "Reliability diagram and recalibration map"]


def test_what_to_do_until_there_is_more_data_fits_the_first_screen(browser, tmp_path):
    """Rows in groups, with costs and segments: the longest of verdicts, and the map that it needs."""
    rng = np.random.default_rng(1)
    patient = np.repeat(np.arange(300), 5)
    odds = rng.normal(-0.5, 1.2, 1500) + rng.normal(0, 0.7, 300)[patient]
    y, p = rng.random(1500) < 1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(-2.5 * odds))
    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=9)
    region = np.array(["north", "south", "east"])[patient % 3]
    with report_cases.quickly():
        a = rainproof.assess(y, p, task=task, groups=patient, by=region, measures=[], n_resamples=99, rng=0)
    assert a.verdict.grade == "unknown"
    assert "until there is more data, recalibrate" in a.verdict.next_step
    to_html(a, tmp_path / "groups.html")
    browser.open(tmp_path / "groups.html")
    assert browser.texts(".badge") == ["? Not enough data"]
    assert browser.texts(".verdict .next") == [a.verdict.next_step]
    assert browser.texts(".verdict .file") == ["Recalibration map ↓"]
    for chart in ("value", "histogram"):
        assert bottom(browser, f'[data-chart="{chart}"]') <= 800


def test_several_forecasts_have_their_next_step_and_curves_on_the_first_screen(browser, tmp_path):
    y, bold, calm, _ = report_cases.rows()
    options = {"measures": [], "n_resamples": 19, "rng": 0, "task": report_cases.TASK}
    found = rainproof.assess_many({"base rate": (y, bold * 0 + 0.4), "bold": (y, bold), "calm": (y, calm)}, **options)
    to_html(found, tmp_path / "several.html")
    browser.open(tmp_path / "several.html")
    assert browser.texts(".comparison .next") == [found.next_step]
    for chart in ("all-value", "all-reliability"):
        assert bottom(browser, f'[data-chart="{chart}"]') <= 800


def test_the_band_of_calibrated_forecasts_is_on_the_decision_curve(browser, report):
    """Its edges are those of the data, on the scale of the axis."""
    browser.open(report)
    path = browser.run(f"return {drawn('value', 'fill', 'band')}.getAttribute('d')")
    points = [tuple(map(float, pair.split(","))) for pair in re.findall(r"-?[\d.]+,-?[\d.]+", path)]
    null = report_cases.single().null_band
    k = len(null.thresholds) + 2  # it begins and ends at 0
    assert len(points) == 2 * k
    x, high = np.array(points[:k]).T
    low = np.array(points[: k - 1 : -1])[:, 1]
    edges = [np.concatenate([[0], edge, [0]]) for edge in (null.value_high, null.value_low)]
    slope, start = np.polyfit(np.concatenate(edges), np.concatenate([high, low]), 1)
    assert slope < 0  # pixels count downwards
    np.testing.assert_allclose(np.concatenate([high, low]), start + slope * np.concatenate(edges), atol=0.05)
    thresholds = np.concatenate([[0], null.thresholds, [1]])
    np.testing.assert_allclose(x, np.polyval(np.polyfit(thresholds, x, 1), thresholds), atol=0.05)


def test_the_band_of_few_rows_is_inside_the_chart(browser, tmp_path):
    """By chance a calibrated forecast would gain more on 20 rows than perfect foresight at this event rate."""
    rng = np.random.default_rng(0)
    p = rng.random(20)
    with report_cases.quickly():
        a = rainproof.assess(rng.random(20) < 0.9, p, measures=[], n_resamples=19, rng=0)
    assert a.null_band.value_high.max() > 1.1 * a.value.value_perfect.max()
    to_html(a, tmp_path / "few.html")
    browser.open(tmp_path / "few.html")
    path = browser.run(f"return {drawn('value', 'fill', 'band')}.getAttribute('d')")
    assert min(float(y) for y in re.findall(r"-?[\d.]+,(-?[\d.]+)", path)) >= 36  # the margin at the top


def test_the_map_is_drawn_where_there_are_predictions(browser, tmp_path):
    """Points of few rows are pale."""
    rng = np.random.default_rng(2)
    p = np.append(rng.uniform(0.4, 0.6, 3000), [0.9] * 5)
    with report_cases.quickly():
        a = rainproof.assess(rng.random(3005) < p**2, p, measures=[], n_resamples=19, rng=0)
    to_html(a, tmp_path / "narrow.html")
    browser.open(tmp_path / "narrow.html")
    frame = "document.querySelector('[data-chart=reliability] svg')"
    boxes = (f"{part}.getBoundingClientRect()" for part in (drawn("reliability", "stroke", "good"), frame))
    line, axis = (browser.run(f"const box = {box}; return [box.left, box.right]") for box in boxes)
    left, right, start, width = *line, axis[0] + 52, axis[1] - axis[0] - 66
    assert (left - start) / width == pytest.approx(0.4, abs=0.03)
    assert (right - start) / width == pytest.approx(0.9, abs=0.03)
    circles = "document.querySelectorAll('[data-chart=reliability] circle')"
    found = browser.run(f"return [...{circles}].map(c => c.getAttribute('fill-opacity'))")
    assert found == ["0.35" if n < 20 else "1" for n in a.reliability.bins.share * a.summary.n]


def test_tables_that_go_on_have_a_shadow(browser, report):
    browser.open(report, size="phone")
    wide = "const s = document.querySelector('.scroll:has(.segments)'); return s.scrollWidth > s.clientWidth"
    assert browser.run(wide)
    shadow = "return getComputedStyle(document.querySelector('.scroll')).backgroundAttachment"
    assert browser.run(shadow) == "local, local, scroll, scroll"


def test_captions_of_wide_tables_fit_a_phone(browser, report):
    browser.open(report, size="phone")
    browser.unfold()
    wide = "[...document.querySelectorAll('.scroll')].filter((s) => s.scrollWidth > s.clientWidth)"
    ends = f"return {wide}.map((s) => s.querySelector('caption').offsetWidth <= s.clientWidth)"
    found = browser.run(ends)
    assert len(found) > 2
    assert all(found)


def test_rare_events_are_on_logit_axes(browser, tmp_path):
    to_html(report_cases.rare(), tmp_path / "rare.html")
    browser.open(tmp_path / "rare.html")
    for chart in ("value", "reliability", "histogram", "strip"):
        ticks = browser.texts(f'[data-chart="{chart}"] svg text')
        assert {"0.01", "0.1"} <= set(ticks), chart
        assert any("logit scale" in text for text in ticks), chart
    assert browser.complaints() == []
    assert browser.run(TEXTS_OUTSIDE) == []


def test_forecasts_are_ranked_by_cost(browser, tmp_path):
    y, bold, calm, _ = report_cases.rows()
    options = {"measures": [], "n_resamples": 19, "rng": 0, "task": report_cases.TASK}
    found = rainproof.assess_many({"constant": (y, bold * 0 + 0.4), "bold": (y, bold), "calm": (y, calm)}, **options)
    to_html(found, tmp_path / "ranked.html")
    browser.open(tmp_path / "ranked.html", size="phone")
    assert browser.texts("table.models td:first-child") == [
        *found.ranking,
        "always act",
        "never act",
        "perfect foresight",
    ]
    assert browser.texts("table.models tr[data-row='0'] td:nth-child(2)") == ["Avoid"]
    assert browser.run(FITS)
