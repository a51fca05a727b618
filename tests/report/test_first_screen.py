"""What people see first: the verdict, the answers, the two charts; and the table of several
forecasts.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers import report_cases
from helpers.browser import FITS, TEXTS_OUTSIDE
from selenium.webdriver import Keys

import rainproof
from rainproof.report import to_html
from rainproof.verdict.renderer import PYTHON, Renderer, Voice
from rainproof.verdict.values import Share


def bottom(browser, selector):
    """How far down the page something ends, in pixels."""
    return browser.run(
        "return document.querySelector(arguments[0]).getBoundingClientRect().bottom", selector
    )


def drawn(chart, attribute, colour):
    """The path of a colour in a chart; the colour is its own, or that of its group."""
    own = f'[{attribute}="var(--{colour})"]'
    return f"document.querySelector('[data-chart={chart}] svg :is(g{own} path, path{own})')"


GAIN = "document.querySelector('.switch input[value=gain]')"


def test_the_first_screen_has_verdict_answers_and_both_charts(browser, report):
    a = report_cases.single()
    browser.open(report)
    for chart in ("value", "reliability", "histogram"):
        assert bottom(browser, f'[data-chart="{chart}"]') <= 800
    verdict = a.verdict
    said = [verdict.headline, verdict.reason, verdict.next_step]
    assert browser.texts(".verdict h2, .verdict .reason, .verdict .next") == said
    assert browser.texts(".verdict .file") == [
        "Recalibration map \u2193",
        "Policy for your decision \u2193",
    ]
    shown = [(one.question, one.value, one.meaning) for one in verdict.answers]
    tiles = (
        "return [...document.querySelectorAll('.tiles > div')].map(d => [...d.children].map(e => "
        "e.textContent))"
    )
    assert [tuple(tile) for tile in browser.run(tiles)] == shown
    assert len(shown) == 4
    assert browser.texts(".first h2") == [
        "Reliability diagram and recalibration map",
        "Decision curve",
    ]
    keys = "[...document.querySelectorAll('.first .keys li')].filter(e => e.checkVisibility())"
    assert browser.run(f"return {keys}.map(e => e.textContent)") == [
        *("event rate", "chance, if calibrated", f"recalibration map ({a.recalibrator.method_})"),
        *("as they are", "recalibrated", "always act (treat all)", "never act (treat none)"),
    ]


class Lines(Voice):
    """Command lines as long as they get."""

    def commands(self, _step):
        return SHELL


SHELL = tuple(
    f"rainproof {word} forecasts-of-this-winter.csv --prob p --outcome y -o m.json"
    for word in ("a", "b")
)


def test_headline_money_and_next_step_fit_the_first_screen_of_a_phone(browser, tmp_path):
    """The longest of verdicts: with costs, commands and two buttons."""
    a = report_cases.single()
    to_html(a, tmp_path / "shell.html", renderer=Renderer(Lines()))
    browser.open(tmp_path / "shell.html", size="phone")
    browser.view("report-first-phone")
    assert browser.texts(".verdict pre") == ["\n".join(SHELL)]
    assert bottom(browser, ".verdict") <= 500
    assert bottom(browser, ".tiles") <= 844
    assert browser.run(FITS)


def test_what_to_do_until_there_are_more_rows_fits_the_first_screen(browser, tmp_path):
    rng = np.random.default_rng(5)
    odds = rng.normal(0, 1.5, 143)
    y, p = rng.random(143) < 1 / (1 + np.exp(-0.55 * odds)), 1 / (1 + np.exp(-odds))
    with report_cases.quickly():
        a = rainproof.assess(y, p, task=report_cases.TASK, measures=[], n_resamples=99)
    assert a.verdict.grade == "unknown"
    to_html(a, tmp_path / "few.html")
    browser.open(tmp_path / "few.html")
    assert browser.texts(".badge") == ["? Not sure yet"]
    assert browser.texts(".verdict .next") == [a.verdict.next_step]
    assert browser.texts(".verdict .file") == ["Recalibration map \u2193"] * bool(
        a.verdict.commands
    )
    for chart in ("value", "histogram"):
        assert bottom(browser, f'[data-chart="{chart}"]') <= 800


def test_several_forecasts_have_their_next_step_and_curves_on_the_first_screen(browser, tmp_path):
    y, bold, calm, _ = report_cases.rows()
    options = {"measures": [], "n_resamples": 19, "rng": 0, "task": report_cases.TASK}
    found = rainproof.assess_many(
        {"base rate": (y, bold * 0 + 0.4), "bold": (y, bold), "calm": (y, calm)}, **options
    )
    to_html(found, tmp_path / "several.html")
    browser.open(tmp_path / "several.html")
    assert browser.texts(".comparison .next") == [found.next_step]
    assert browser.texts(".compared h3") == ["Reliability diagrams", "Decision curves"]
    for chart in ("all-value", "all-reliability"):
        assert bottom(browser, f'[data-chart="{chart}"]') <= 800
    lines = found.rendered_by(PYTHON).standings[1:]
    assert browser.texts("table.models td:first-child") == [line[0] for line in lines]
    assert browser.texts("table.models td:nth-child(2)") == [line[1] for line in lines]
    forecasts = f"return {drawn('all-value', 'stroke', 'mark')}.getAttribute('d')"
    before = browser.run(forecasts)
    browser.run(f"{GAIN}.click()")
    assert browser.run(forecasts) != before
    assert browser.complaints() == []


def test_the_decision_curve_is_net_benefit_and_switches_to_the_gain(browser, report):
    """The mark of the user's threshold stands where the definition says, in both states of the one
    chart.
    """
    a = report_cases.single()
    browser.open(report)
    (mu,) = a.task.task.thresholds
    y, bold, _, _ = report_cases.rows()
    benefit, rate = np.mean((bold >= mu) * (y - mu)) / (1 - mu), y.mean()
    label = "return document.querySelector('[data-chart=value] svg').getAttribute('aria-label')"
    assert browser.run(label).endswith(f"at the threshold {Share(mu)} it is {benefit:.3g}.")
    when = (
        "return [...document.querySelectorAll('article [data-when]')].map(e => [e.dataset.when, "
        "e.checkVisibility()])"
    )
    assert all(shown is (state == "benefit") for state, shown in browser.run(when))
    assert browser.run(f"return {drawn('value', 'fill', 'band')}") is None
    # the keyboard is enough
    browser.one(".switch input[value=benefit]").send_keys(Keys.ARROW_RIGHT)
    assert all(shown is (state == "gain") for state, shown in browser.run(when))
    gain = benefit * (1 - mu) - max(0, rate - mu)
    assert browser.run(label).endswith(f"at the threshold {Share(mu)} it is {gain:.3g}.")
    assert len(browser.all('[data-chart="value"]')) == 1
    browser.view("report-gain")
    assert browser.complaints() == []
    assert browser.faults() == []


def test_the_band_of_calibrated_forecasts_is_on_the_decision_curve(browser, report):
    """Its edges are those of the data, on the scale of the axis, and no higher than perfect
    foresight.
    """
    browser.open(report)
    browser.run(f"{GAIN}.click()")
    path = browser.run(f"return {drawn('value', 'fill', 'band')}.getAttribute('d')")
    points = np.array(
        [tuple(map(float, pair.split(","))) for pair in re.findall(r"-?[\d.]+,-?[\d.]+", path)]
    )
    half = len(points) // 2
    null, perfect = report_cases.single().null_band, report_cases.single().value
    thresholds = np.concatenate([[0], null.thresholds, [1]])
    most = np.interp(null.thresholds, perfect.threshold, perfect.value_perfect)
    x, heights, edges = [], [], []
    for side, edge in ((points[:half], null.value_high), (points[:half:-1], null.value_low)):
        at = (side[:, 0] - points[:, 0].min()) / np.ptp(points[:, 0])
        x.append(at)
        heights.append(side[:, 1])
        edges.append(np.interp(at, thresholds, np.concatenate([[0], np.minimum(edge, most), [0]])))
    slope, start = np.polyfit(np.concatenate(edges), np.concatenate(heights), 1)
    assert slope < 0  # pixels count downwards
    np.testing.assert_allclose(
        np.concatenate(heights), start + slope * np.concatenate(edges), atol=0.1
    )


def test_the_map_is_drawn_where_there_are_predictions(browser, tmp_path):
    """Points of few rows are pale."""
    rng = np.random.default_rng(2)
    p = np.append(rng.uniform(0.4, 0.6, 3000), [0.9] * 5)
    with report_cases.quickly():
        a = rainproof.assess(rng.random(3005) < p**2, p, measures=[], n_resamples=19, rng=0)
    to_html(a, tmp_path / "narrow.html")
    browser.open(tmp_path / "narrow.html")
    frame = "document.querySelector('[data-chart=reliability] svg')"
    boxes = (
        f"{part}.getBoundingClientRect()"
        for part in (drawn("reliability", "stroke", "good"), frame)
    )
    line, axis = (browser.run(f"const box = {box}; return [box.left, box.right]") for box in boxes)
    left, right, start, width = *line, axis[0] + 52, axis[1] - axis[0] - 66
    assert (left - start) / width == pytest.approx(0.4, abs=0.03)
    assert (right - start) / width == pytest.approx(0.9, abs=0.03)
    circles = "document.querySelectorAll('[data-chart=reliability] circle')"
    found = browser.run(f"return [...{circles}].map(c => c.getAttribute('fill-opacity'))")
    assert found == ["0.35" if n < 20 else "1" for n in a.reliability.bins.share * a.summary.n]


def test_tables_that_go_on_have_a_shadow(browser, report):
    browser.open(report, size="phone")
    wide = (
        "const s = document.querySelector('.scroll:has(.segments)'); return s.scrollWidth > "
        "s.clientWidth"
    )
    assert browser.run(wide)
    shadow = "return getComputedStyle(document.querySelector('.scroll')).backgroundAttachment"
    assert browser.run(shadow) == "local, local, scroll, scroll"


def test_captions_of_wide_tables_fit_a_phone(browser, report):
    browser.open(report, size="phone")
    browser.unfold()
    wide = (
        "[...document.querySelectorAll('.scroll:has(caption)')].filter((s) => s.scrollWidth > "
        "s.clientWidth)"
    )
    ends = f"return {wide}.map((s) => s.querySelector('caption').offsetWidth <= s.clientWidth)"
    found = browser.run(ends)
    assert len(found) > 2
    assert all(found)


def test_rare_events_are_on_logit_axes(browser, tmp_path):
    to_html(report_cases.rare(), tmp_path / "rare.html")
    browser.open(tmp_path / "rare.html")
    for chart in ("value", "reliability", "histogram", "strip"):
        ticks = browser.texts(f'[data-chart="{chart}"] svg text')
        assert {"1%", "10%"} <= set(ticks), chart
        assert any("logit scale" in text for text in ticks), chart
    assert browser.complaints() == []
    assert browser.run(TEXTS_OUTSIDE) == []
