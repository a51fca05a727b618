"""The report as people meet it: in a browser, with a mouse, a keyboard, a phone, a screen reader, a
printer.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers import report_cases
from helpers.browser import FITS, TEXTS_OUTSIDE
from selenium.webdriver import ActionChains, Keys

from rainproof import DecisionTask, Recalibrator, RoundingPolicy, assess, assess_many
from rainproof.core.text import one_line
from rainproof.report import to_html
from rainproof.verdict.renderer import Renderer, Voice
from rainproof.verdict.templates import OPTIONS
from rainproof.verdict.values import Share, money

HOSTILE = [
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "</script><script>document.title='owned'</script>",
    "<!--<script>",
    "&lt;b&gt; ]]> \u2028 \u2029 ' \"",
    '=HYPERLINK("http://example.org","x")',
    "$main ${data} $$",
    "\ud800 lone",
    "two\nlines \x1b[31m \u202eback",
]


@pytest.mark.parametrize("size", ["desk", "phone"])
def test_endless_names_of_segments_fit(browser, tmp_path, size):
    a = report_cases.single()
    rows = tuple(
        replace(row, key=(f"{i} {'x' * 20_000}",)) for i, row in enumerate(a.segments.rows)
    )
    to_html(replace(a, segments=replace(a.segments, rows=rows)), tmp_path / "long.html")
    browser.open(tmp_path / "long.html", size=size)
    assert browser.run(FITS)
    assert browser.run(TEXTS_OUTSIDE) == []
    longest = (
        "return Math.max(...[...document.querySelectorAll('text, td, option')].map((e) => "
        "e.textContent.length))"
    )
    assert browser.run(longest) < 400


@pytest.mark.parametrize(
    ("page", "size", "dark"),
    [
        ("report", "desk", False),
        ("report", "phone", True),
        ("comparison", "desk", True),
        ("comparison", "phone", False),
    ],
)
def test_opens_without_a_complaint_or_a_request_and_everybody_can_read_it(
    browser, request, page, size, dark
):
    path = request.getfixturevalue(page)
    browser.open(path, size=size, dark=dark)
    browser.picture(f"{page}-{size}-{'dark' if dark else 'light'}")
    browser.unfold()
    assert browser.complaints() == []
    assert browser.requests() == [path.as_uri()]
    assert browser.faults() == []
    assert browser.run(FITS)
    assert browser.run(TEXTS_OUTSIDE) == []
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == (
        "rgb(20, 24, 28)" if dark else "rgb(251, 251, 250)"
    )


def test_costs_are_in_the_users_units(browser, report):
    a = report_cases.single()
    browser.open(report)
    (found,) = browser.texts(".advice-costs")
    rate = a.summary.event_rate
    assert f"always acting {money(35 * (1 - rate))}, never acting {money(65 * rate)}." in found
    browser.set(".cost-fp", 350)
    browser.set(".cost-fn", 650)
    (found,) = browser.texts(".advice-costs")
    assert f"always acting {money(350 * (1 - rate))}, never acting {money(650 * rate)}." in found


SAID = re.compile(r"(as they are|recalibrated|always acting|never acting) ([\d.,]+\d)")
DOTS = """
return [...document.querySelectorAll('[data-chart="costs"] svg circle')].map(d => Number(d.getAttribute('cx')))"""


def costs_in_words(browser):
    (text,) = browser.texts(".advice-costs")
    return {
        name: float(cost.replace(",", ""))
        for name, cost in SAID.findall(text.partition(" Net benefit")[0])
    }


def costs_in_the_chart(browser):
    """The costs by rule, of which the last one, of perfect foresight, is 0, in units of that of
    always acting.
    """
    *found, zero = browser.run(DOTS)
    always = found[-2] - zero
    return [(x - zero) / always for x in found]


def test_words_and_chart_follow_one_cost(browser, report):
    a = report_cases.single()
    browser.open(report)
    stated = costs_in_words(browser)
    rules = {"as they are": a.task.cost, "recalibrated": a.task.cost_recalibrated}
    rules |= {"always acting": a.task.cost_always, "never acting": a.task.cost_never}
    assert stated == {name: pytest.approx(cost.value, rel=0.05) for name, cost in rules.items()}
    drawn = [cost.value / a.task.cost_always.value for cost in a.task.costs.values()][:-1]
    assert costs_in_the_chart(browser) == pytest.approx(drawn, abs=0.01)
    task = browser.one("p.as-stated")
    back = browser.one("button.stated")
    assert task.is_displayed()
    assert not back.is_displayed()
    for entered in (
        {".cost-fp": 10, ".cost-fn": 190},
        {".slider": 120},
        {".cost-fp": 3, ".cost-fn": 1},
    ):
        for box, value in entered.items():
            browser.set(box, value)
        said = costs_in_words(browser)
        assert len(said) == 4
        assert costs_in_the_chart(browser) == pytest.approx(
            [cost / said["always acting"] for cost in said.values()], rel=0.06, abs=0.01
        )
        assert not task.is_displayed()
        (caption,) = browser.texts("figure:has([data-chart='costs']) figcaption span:not([hidden])")
        assert caption.startswith("Cost per case at the costs entered above, on 3,000 rows")
    back.click()
    assert costs_in_words(browser) == stated
    assert costs_in_the_chart(browser) == pytest.approx(drawn, abs=0.01)
    assert task.is_displayed()
    assert browser.complaints() == []


def test_costs_between_two_thresholds_of_the_page_are_said_to_be_near(browser, report):
    browser.open(report)
    browser.set(".cost-fp", 1)
    browser.set(".cost-fn", 99_999)
    (text,) = browser.texts(".means")
    nearest = min(
        report_cases.single().advice, key=lambda found: abs(found.threshold - 0.00001)
    ).threshold
    costs = [float(f"{part * 100_000:.3g}") for part in (nearest, 1 - nearest)]
    shown = f"a false alarm of {costs[0]:g}, a miss of {costs[1]:g}."
    assert text.endswith(
        f" Your costs make it 0.001%; shown is the nearest threshold on this page: {shown}"
    )


def test_costs_of_each_case_are_those_of_no_threshold(browser, tmp_path):
    """The words say nothing of costs until some are entered that they and the chart can follow."""
    y, bold, _, _ = report_cases.rows()
    task = DecisionTask.from_costs(false_positive=1, false_negative=1 + np.arange(len(y)) % 5)
    with report_cases.quickly():
        assess(y, bold, task=task, n_resamples=19, rng=0).to_html(tmp_path / "cases.html")
    browser.open(tmp_path / "cases.html")
    assert costs_in_words(browser) == {}
    assert browser.texts(".means")[0].startswith("For example, act from ")
    before = costs_in_the_chart(browser)
    browser.set(".slider", 60)
    said = costs_in_words(browser)
    after = costs_in_the_chart(browser)
    assert after == pytest.approx(
        [cost / said["always acting"] for cost in said.values()], rel=0.06, abs=0.01
    )
    browser.one("button.stated").click()
    assert costs_in_words(browser) == {}
    assert costs_in_the_chart(browser) == before


def test_the_theme_can_be_chosen(browser, report):
    browser.open(report)
    button = browser.one("#theme")
    colours = set()
    for pressed in ("false", "true", "false"):
        assert button.get_attribute("aria-pressed") == pressed
        colours.add(browser.run("return getComputedStyle(document.body).backgroundColor"))
        button.click()
    assert len(colours) == 2
    assert browser.faults() == []


def test_the_policy_of_the_page_is_in_force(browser, report):
    """A script and a style that the page was not written with do nothing; nothing can be
    fetched.
    """
    browser.open(report)
    browser.run("""
        const script = document.createElement('script'); script.textContent = "document.title = 'owned'";
        const style = document.createElement('style'); style.textContent = 'body { background: rgb(1, 2, 3) }';
        document.body.append(script, style);
        const image = new Image(); image.src = 'https://example.org/x.png'; document.body.append(image);""")
    assert browser.driver.title == "Can these probabilities be acted on?"
    assert browser.run("return getComputedStyle(document.body).backgroundColor") != "rgb(1, 2, 3)"
    refused = browser.complaints()
    assert len(refused) == 3
    assert all("Content Security Policy" in text for text in refused)


def mark(browser):
    """Where the user's mark stands on the decision curve, in pixels."""
    return browser.run(
        "const d = document.querySelector('g.mark circle'); return [d.getAttribute('cx'), "
        "d.getAttribute('cy')]"
    )


def test_the_slider_moves_the_mark_and_rewrites_the_advice(browser, report):
    thresholds = report_cases.single().advice
    browser.open(report)
    seen, marks = [], []
    for at in (0, 30, 60, 120, len(thresholds) - 1):
        browser.set(".slider", at)
        here = thresholds[at]
        assert browser.texts(".advice-text") == [str(here)]
        assert (
            browser.one(".slider")
            .get_attribute("aria-valuetext")
            .startswith(f"{Share(here.threshold)}: a ")
        )
        marks.append(tuple(map(float, mark(browser))))
        seen.append(here)
    assert [x for x, _ in marks] == sorted({x for x, _ in marks})
    # The mark stands as high as the net benefit that was looked up: heights are in the order of the
    # values.
    assert (
        np.argsort([here.net_benefit for here in seen]).tolist()
        == np.argsort([-y for _, y in marks]).tolist()
    )
    browser.picture("report-slider")
    assert browser.complaints() == []


def test_the_costs_move_the_slider_and_the_slider_the_costs(browser, report):
    browser.open(report)
    thresholds = [found.threshold for found in report_cases.single().advice]
    browser.set(".cost-fp", 10)
    browser.set(".cost-fn", 90)
    at = int(browser.one(".slider").get_attribute("value"))
    assert thresholds[at] == pytest.approx(0.1)
    before = browser.texts(".advice-text")
    for nonsense in ("-1", "", "1e999"):
        browser.set(".cost-fp", nonsense)
        assert browser.one(".cost-fp").get_attribute("aria-invalid") == "true"
        assert browser.texts(".advice-text") == before
    browser.set(".cost-fp", 10)
    browser.set(".slider", thresholds.index(0.25))
    assert [float(browser.one(s).get_attribute("value")) for s in (".cost-fp", ".cost-fn")] == [
        25,
        75,
    ]


def test_it_starts_at_the_users_own_task(browser, report):
    browser.open(report)
    assert [float(browser.one(s).get_attribute("value")) for s in (".cost-fp", ".cost-fn")] == [
        35,
        65,
    ]
    assert "35%" in browser.one(".slider").get_attribute("aria-valuetext")


def test_the_keyboard_is_enough(browser, report):
    browser.open(report)
    ActionChains(browser.driver).send_keys(Keys.TAB).perform()
    assert browser.run("return document.activeElement.className") == "skip"
    slider = browser.one(".slider")
    before = browser.texts(".means")
    slider.send_keys(Keys.ARROW_RIGHT)
    assert browser.texts(".means") != before
    browser.run("arguments[0].focus()", browser.one("details:has(table.measures) summary"))
    ActionChains(browser.driver).send_keys(Keys.ENTER).perform()
    browser.one("table.measures thead button").send_keys(Keys.ENTER)
    assert browser.one("table.measures th").get_attribute("aria-sort") == "ascending"


def test_hovering_shows_the_numbers(browser, report):
    browser.open(report)
    browser.unfold()
    for chart in (
        "value",
        "regret",
        "reliability",
        "histogram",
        "profile",
        "measures",
        "costs",
        "segments",
    ):
        svg = browser.one(f'[data-chart="{chart}"] svg')
        texts = f'[data-chart="{chart}"] svg text'
        before = len(browser.texts(texts))
        browser.run("arguments[0].scrollIntoView({block: 'center'})", svg)
        ActionChains(browser.driver).move_to_element_with_offset(svg, 20, 0).perform()
        browser.wait(
            "return document.querySelectorAll(arguments[0]).length > arguments[1]", texts, before
        )
        browser.view(f"hover-{chart}")
    assert browser.complaints() == []


def test_tables_sort_and_what_is_not_known_stays_last(browser, report):
    browser.open(report)
    rows = report_cases.single().segments.rows
    column = {"Expected loss": "loss_bound", "p": "p_value"}
    for name, key in column.items():
        head = next(th for th in browser.all("table.segments th") if th.text.startswith(name))
        at = browser.run("return arguments[0].cellIndex", head)
        for down in (False, True):
            head.find_element("tag name", "button").click()
            assert head.get_attribute("aria-sort") == ("descending" if down else "ascending")
            cells = (
                "[...document.querySelectorAll('table.segments tbody tr')].map(r => "
                "r.cells[arguments[0]])"
            )
            shown = browser.run(f"return {cells}.map(c => c.dataset.value)", at)
            values = [getattr(row, key) for row in rows]
            known = sorted((value for value in values if value is not None), reverse=down)
            assert [float(x) for x in shown if x] == known
            assert all(x == "" for x in shown[len(known) :])
    browser.one("table.segments th button").click()
    labels = browser.texts("table.segments tbody td:first-child")
    assert sorted(labels) == sorted(row.label for row in rows)


def test_a_segment_can_be_picked(browser, report):
    browser.open(report)
    rows = report_cases.single().segments.rows
    browser.set(".segment-picker select", 1, "change")
    assert browser.texts(".segment-status") == [rows[1].status]
    assert browser.texts("tr.picked td:first-child") == [rows[1].label]
    browser.picture("report-segment")
    browser.set(".segment-picker select", -1, "change")
    assert browser.texts("tr.picked td:first-child") == []
    assert browser.texts(".segment-status") == [""]


def click(browser, button):
    browser.run(
        "arguments[0].closest('details')?.setAttribute('open', ''); arguments[0].click()", button
    )


def test_a_viewer_that_blocks_downloads_is_named(browser, report):
    """As in MLflow: a frame that may run scripts and nothing else."""
    page = report.with_name("viewer.html")
    page.write_text(
        f'<iframe sandbox="allow-scripts" src="{report.name}" width="1200" height="700"></iframe>'
    )
    browser.open(report)  # in a light window, whatever the test before had
    browser.driver.get(page.as_uri())
    browser.driver.switch_to.frame(browser.one("iframe"))
    browser.wait("return document.documentElement.dataset.ready === 'yes'")
    assert "Nothing happened?" not in browser.one("body").text
    for button in browser.all("#print, .file, .save"):
        click(browser, button)
        assert browser.run("return arguments[0].nextSibling.textContent", button).startswith(
            " Nothing happened? "
        )
    browser.run("document.getElementById('theme').click()")
    assert browser.run("return document.documentElement.dataset.theme") == "dark"
    browser.driver.switch_to.default_content()
    browser.open(report)
    click(browser, browser.one("#save-json"))
    assert "Nothing happened?" not in browser.one("body").text


def test_downloads_hold_the_numbers_at_full_precision(browser, report):
    browser.open(report)
    data = report_cases.single().to_dict()

    def saved(selector, name):
        click(browser, browser.one(selector))
        return browser.downloaded(name)

    def table(name):
        text = saved(f".scroll:has(.{name}) + .save", f"{name}.csv")
        return list(csv.reader(io.StringIO(text)))

    assert json.loads(saved("#save-json", "report.json")) == data
    recalibrator = Recalibrator.from_dict(json.loads(saved('[data-file="map.json"]', "map.json")))
    assert recalibrator.method_ == data["recalibration"]["method"]
    policy = RoundingPolicy.from_dict(json.loads(saved('[data-file="policy.json"]', "policy.json")))
    assert policy.grid == data["rounded_guarantee"]["grid"]
    head, *lines = table("measures")
    assert head[:2] == ["Measure", "Value"]
    found = [(line[0], float(line[1]) if line[1] else None) for line in lines]
    assert found == [(m["symbol"], m["value"]) for m in data["measures"]]
    assert [float(line[2]) for line in table("advice")[1:]] == [
        t["regret"] for t in data["advice"]["thresholds"]
    ]
    browser.open(report)  # a browser lets a page save ten files
    for name in ("value", "reliability", "profile", "segments", "candidates"):
        assert len(table(name)) > 2
    assert browser.complaints() == []


def measured(a, *estimates):
    """What was computed of an assessment already, with other measures."""
    return {**a._found, "measures": estimates}


class HostileVoice(Voice):
    """Code in every line."""

    def commands(self, _step):
        return tuple(HOSTILE)


def hostile(a, name):
    """The assessment with code for every text that comes from outside, or may quote something from
    outside.
    """
    first = a.segments.rows[0]
    rows = tuple(replace(first, key=(label,), flagged=True) for label in HOSTILE)
    return replace(
        a,
        name=name,
        segments=replace(a.segments, rows=rows, by=(HOSTILE[1],)),
        warnings=tuple(HOSTILE),
        _found=measured(a, replace(a.measures[0], reference=HOSTILE[1]), *a.measures[1:]),
    )


def test_names_that_are_code_are_shown_as_text(browser, tmp_path):
    found = report_cases.several()
    assessments = tuple(
        hostile(a, name) for a, name in zip(found.assessments, HOSTILE[:2], strict=True)
    )
    standings = tuple(
        replace(one, name=name) for one, name in zip(found.standings, HOSTILE[:2], strict=True)
    )
    pairs = (replace(found.pairs[0], a=HOSTILE[0], b=HOSTILE[1]),)
    path = tmp_path / "hostile.html"
    compared = replace(found, assessments=assessments, standings=standings, pairs=pairs)
    options = dict.fromkeys(OPTIONS["shell"], HOSTILE[1])
    voice = HostileVoice(options=options, assess=HOSTILE[2])
    to_html(compared, path, title=HOSTILE[0], renderer=Renderer(voice))
    browser.open(path)
    shown = browser.texts("article:not([hidden]) table.segments td:first-child")
    assert shown == [one_line(name) for name in HOSTILE]
    browser.set("article:not([hidden]) .segment-picker select", 2, "change")
    assert browser.texts("article:not([hidden]) tr.picked td:first-child") == [HOSTILE[2]]
    assert browser.driver.title == HOSTILE[0]
    assert browser.all("img") == []
    assert len(browser.all("script")) == 6
    assert browser.complaints() == []
    assert browser.requests() == [path.as_uri()]
    browser.picture("hostile")
    click(
        browser,
        browser.one("article:not([hidden]) table.segments").find_element(
            "xpath", "../following-sibling::button"
        ),
    )
    cells = [
        line[0] for line in csv.reader(io.StringIO(browser.downloaded("segments.csv"), newline=""))
    ][1:]
    assert cells[5] == "'" + HOSTILE[5]  # a spreadsheet takes it for text
    assert cells[0] == HOSTILE[0]


def test_no_name_adds_a_line_or_turns_text_around(browser, tmp_path):
    """Neither in a tip of a chart, whose lines are made from names and numbers, nor in a heading or
    a command.
    """
    name = "a\nFAKE: use it \u202e \x9b"
    y, bold, calm, segment = report_cases.rows()
    by = {f"{name} by": np.where(segment == "north", f"{name} north", "south")}
    with report_cases.quickly():
        found = assess_many(
            {f"{name} one": (y, bold), f"{name} two": (y, calm)}, by=by, n_resamples=19, rng=0
        )
    to_html(found, tmp_path / "names.html", title=f"{name} title")
    browser.open(tmp_path / "names.html")
    browser.unfold()
    svg = browser.one('article:not([hidden]) [data-chart="segments"] svg')
    browser.run("arguments[0].scrollIntoView({block: 'center'})", svg)
    ActionChains(browser.driver).move_to_element_with_offset(svg, 20, 0).perform()
    browser.wait(
        "return document.querySelectorAll('article:not([hidden]) [data-chart=segments] "
        "tspan').length > 2"
    )
    seen = browser.run(
        "return [...document.querySelectorAll('body > :not(script)')].map(e => "
        "e.textContent).join('')"
    )
    assert "a\\nFAKE: use it" in seen
    for sign in ("\nFAKE", "\u202e", "\x9b"):
        assert sign not in seen
    assert not [line for line in browser.texts("tspan, td, th, option") if line.startswith("FAKE")]
    assert browser.complaints() == []


def test_a_forecast_can_be_picked_from_several(browser, comparison):
    browser.open(comparison)
    names = list(report_cases.several())
    assert browser.texts(".legend li") == names
    assert [a.is_displayed() for a in browser.all("article")] == [True, False]
    browser.set("#model", 1, "change")
    assert [a.is_displayed() for a in browser.all("article")] == [False, True]
    browser.wait("return document.querySelectorAll('article:not([hidden]) .chart svg').length >= 5")
    assert browser.complaints() == []
    assert browser.faults() == []


def test_it_prints_in_black_on_white(browser, report):
    browser.open(report, dark=True)
    assert browser.printed("report") < 1_000_000
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert (
        browser.run("return getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert not browser.one("#print").is_displayed()
    browser.picture("report-print")


def test_what_was_not_computed_is_left_out(browser, tmp_path):
    a = report_cases.single()
    measures = tuple(e for e in a.measures if e.measure.name != "soft_binned_cdl")
    evidence = replace(a.evidence, gain=None, certificate=None)
    less = replace(
        a,
        task=None,
        segments=None,
        recalibrator=None,
        test=None,
        _found=measured(a, *measures),
        evidence=evidence,
    )
    to_html(replace(less, profile=replace(a.profile, m_star=math.inf)), tmp_path / "less.html")
    browser.open(tmp_path / "less.html")
    browser.unfold()
    assert browser.complaints() == []
    assert browser.faults() == []
    assert "None" not in browser.one("main").text
    assert "null" not in browser.one("main").text
