"""What people see first: the verdict, the answers, the two charts; and the table of several forecasts."""

from __future__ import annotations

from helpers import report_cases
from helpers.browser import FITS, TEXTS_OUTSIDE

import brolly
from brolly.report import to_html


def bottom(browser, selector):
    """How far down the page something ends, in pixels."""
    return browser.run("return document.querySelector(arguments[0]).getBoundingClientRect().bottom", selector)


def test_the_first_screen_has_verdict_answers_and_both_charts(browser, report):
    browser.open(report)
    for chart in ("value", "reliability", "histogram"):
        assert bottom(browser, f'[data-chart="{chart}"]') <= 800
    assert len(browser.all(".tiles > div")) == 4
    browser.open(report, size="phone")
    browser.view("report-first-phone")
    assert bottom(browser, ".tiles") <= 750  # the decision curve begins on the first screen
    assert browser.texts(".first h2") == ["Decision curve", "Reliability diagram and recalibration map"]


def test_tables_that_go_on_have_a_shadow(browser, report):
    browser.open(report, size="phone")
    wide = "const s = document.querySelector('.scroll:has(.segments)'); return s.scrollWidth > s.clientWidth"
    assert browser.run(wide)
    shadow = "return getComputedStyle(document.querySelector('.scroll')).backgroundAttachment"
    assert browser.run(shadow) == "local, local, scroll, scroll"


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
    found = brolly.assess_many({"constant": (y, bold * 0 + 0.4), "bold": (y, bold), "calm": (y, calm)}, **options)
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
