"""The page as text: what is in it, what can never be in it, and how large it gets."""

from __future__ import annotations

import hashlib
import html
import json
import re
from base64 import b64encode
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from helpers import report_cases
from helpers.cases import for_each

import rainproof
from rainproof.errors import InputError
from rainproof.report import embedded, to_html
from rainproof.report.tables import bound, count, number, p_value, percent
from rainproof.verdict.costs import Rule
from rainproof.verdict.renderer import PYTHON
from rainproof.verdict.segment_statements import segment_lines, segment_statements
from rainproof.verdict.values import Share, money

LIMIT = 3_000_000  # bytes of a page


class Outline(HTMLParser):
    """The elements of a page with their attributes, and what stands in scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.texts, self.inside = [], [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside = tag in ("script", "style")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.texts.append((*self.elements[-1], data))


def assess(y, p, **options):
    with report_cases.quickly():
        return rainproof.assess(y, p, measures=report_cases.QUICK, n_resamples=19, **options)


def test_the_policy_names_every_script_and_style_by_its_hash():
    outline = Outline(to_html(report_cases.single()))
    policy = next(
        a["content"]
        for tag, a in outline.elements
        if a.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    code = [
        (tag, data) for tag, attrs, data in outline.texts if attrs.get("type") != "application/json"
    ]
    hashes = {"script": [], "style": []}
    for tag, data in code:
        hashes[tag].append(f"'sha256-{b64encode(hashlib.sha256(data.encode()).digest()).decode()}'")
    assert rules["script-src"].split() == hashes["script"]
    assert rules["style-src"].split() == hashes["style"]
    assert (len(hashes["script"]), len(hashes["style"])) == (4, 1)
    assert "unsafe" not in policy


def test_nothing_in_the_page_points_outside_and_nothing_is_styled_or_scripted_inline():
    for tag, attributes in Outline(to_html(report_cases.several())).elements:
        assert not {"src", "style", "srcset", "action"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("href", "#").startswith("#"), tag


@for_each("text", ["</script>", "<!--", "&amp;", "a\u2028b\u2029c", "\ud800", 'x"y\\', "é", "]]>"])
def test_embedded_json_reads_back_and_holds_nothing_that_html_knows(text):
    written = embedded({"text": text})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == {"text": text}
    written.encode("utf-8")


def written(page, name):
    """What stands in an element for data."""
    return next(data for _, attrs, data in Outline(page).texts if attrs.get("id") == name)


def test_the_numbers_in_the_page_are_those_of_the_assessment():
    for found in (report_cases.single(), report_cases.several()):
        assert json.loads(written(to_html(found), "data")) == found.to_dict()


def test_the_verdict_stands_there_without_scripts():
    a = report_cases.single()
    page = to_html(a, title="A & B")
    assert "<title>A &amp; B</title>" in page
    words = html.unescape(re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))
    first = [a.verdict.headline, a.verdict.reason, a.verdict.next_step]
    answers = [
        part
        for answer in a.verdict.answers
        for part in (answer.question, answer.value.rstrip(":;"), answer.meaning)
    ]
    table = [cell for row in a.verdict.table for cell in row]
    told = [*first, *answers, *table, a.verdict.basis, *(s.text for s in a.verdict.sentences)]
    for sentence in [*told, *map(str, a.advice)]:
        assert sentence in words
    assert "SCDL moves in steps: where rounding dominates it is exactly 1/m" in words
    assert "Permission to use, copy, modify" in words  # what the licences ask for


def test_the_files_that_can_be_saved_are_those_that_rainproof_writes(tmp_path):
    a = report_cases.single()
    (more,) = json.loads(written(to_html(a), "more"))
    a.recalibrator.save(tmp_path / "map.json")
    first = a.recalibrator.map_ if a.verdict.grade == "recalibrate" else None
    rainproof.RoundingPolicy(a.task.task, a.rounded_guarantee.grid, recalibration=first).save(
        tmp_path / "policy.json"
    )
    assert more["files"] == {
        name: (tmp_path / name).read_text() for name in ("map.json", "policy.json")
    }


def test_the_recalibrated_line_costs_what_the_verdict_says():
    a = report_cases.single()
    (more,) = json.loads(written(to_html(a), "more"))
    found = more["costs"]
    # of the task, where a false alarm and a miss cost 100 together
    k = found["threshold"].index(0.35)
    none = min(found["always"][k], found["never"][k])
    assert 100 * (none - found["value_recalibrated"][k]) == pytest.approx(
        a.task.cost_recalibrated.value
    )
    page = to_html(a)
    assert "Recalibrated: cross-validated." in page
    assert "no case is judged by a map that was fitted to it" in page


def test_costs_at_a_threshold_are_those_of_acting_on_the_rows():
    """Straight from the definition: a false alarm costs the threshold, a miss 1 minus it."""
    a = report_cases.single()
    y, bold, _, _ = report_cases.rows()
    (more,) = json.loads(written(to_html(a), "more"))
    found = more["costs"]
    assert found["threshold"] == [t.threshold for t in a.advice]
    for k in range(0, len(found["threshold"]), 10):
        mu, none = found["threshold"][k], min(found["always"][k], found["never"][k])
        forecasts = {"value": bold, "value_perfect": y}
        for name, p in forecasts.items():
            cost = np.mean(np.where(p >= mu, mu * (1 - y), (1 - mu) * y))
            assert none - found[name][k] == pytest.approx(cost, abs=1e-12)
        assert found["always"][k] == pytest.approx(mu * np.mean(1 - y))
        assert found["never"][k] == pytest.approx((1 - mu) * np.mean(y))


def test_net_benefit_stands_beside_the_share_of_what_is_at_stake():
    a = report_cases.single()
    page = to_html(a)
    (more,) = json.loads(written(page, "more"))
    costs, rate = more["costs"], a.summary.event_rate
    assert costs["net_benefit"] == [found.net_benefit for found in a.advice]
    curve = rainproof.net_benefit(*report_cases.rows()[:2], costs["threshold"])
    assert costs["net_benefit"] == pytest.approx(curve.value[0].tolist(), abs=1e-12)
    always = [(rate - t) / (1 - t) for t in costs["threshold"]]
    assert costs["net_benefit_always"] == pytest.approx(always, abs=1e-12)
    heads = re.findall(
        r"<th[^>]*>([^<]*)</th>", page[page.index('<table class="advice"') :].split("</thead>")[0]
    )
    assert heads[3:5] == ["Share of what is at stake", "Net benefit"]


def judged(monkeypatch, a, **changed):
    """The page with another verdict."""
    verdict = replace(a.verdict, **changed)
    monkeypatch.setattr(rainproof.results.Assessment, "verdict", property(lambda _: verdict))
    return to_html(a)


@for_each(
    "grade, first, below",
    [
        ("use", ["policy.json"], ["map.json"]),
        ("recalibrate", ["map.json", "policy.json"], []),
        ("unknown", [], ["map.json", "policy.json"]),
        ("unknown", ["map.json"], ["policy.json"]),
        ("avoid", [], []),
    ],
)
def test_the_first_screen_offers_what_the_next_step_needs(monkeypatch, grade, first, below):
    a = report_cases.single()
    steps = a.verdict.steps if "map.json" in first else ()
    page = judged(monkeypatch, a, grade=grade, _steps=steps)
    above, after = page.split("</section>", 1)
    assert re.findall('data-file="(.*?)"', above) == first
    assert re.findall('data-file="(.*?)"', after.split("<script")[0]) == below


def test_who_loses_most_is_the_decision_that_the_verdict_names():
    """Net benefit from the definition, at the threshold of the gain; in the fold of the proofs, if
    there is a gain.
    """
    a = report_cases.single()
    y, bold, _, _ = report_cases.rows()
    assert a.verdict.grade == "recalibrate"
    t = a.evidence.gain.threshold
    old = np.mean((bold >= t) * (y - t)) / (1 - t)
    task = rainproof.DecisionTask.from_costs(false_positive=t, false_negative=1 - t)
    # cross-validated
    cost = rainproof.assess(y, bold, task=task, measures=[]).task.costs["recalibrated"].value
    new = np.mean(y) - cost / (1 - t)
    page = to_html(a)
    (found,) = re.findall("Who loses most: .*?</li>", page)
    assert page.index("What is proven, for whom, against what") < page.index("Who loses most")
    assert f"from about {Share(t)} on" in found
    assert (
        f"is {money(old, new - old)} per case; recalibrated it would be {money(new, new - old)} "
        in found
    )
    same = {**a._found, "value": replace(a.value, value_recalibrated=a.value.value)}
    assert "Who loses most" not in to_html(replace(a, _found=same))
    assert "Who loses most" not in to_html(replace(a, evidence=replace(a.evidence, gain=None)))


def test_what_is_wrong_in_segments_stands_before_the_charts_and_above_their_table():
    a = report_cases.single()
    page = to_html(a)
    asides = page.split('<div class="asides">')[1].split("</div>")[0]
    (found,) = (s.text for s in a.verdict.sentences if s.about == "segments")
    assert html.escape(found) in asides
    assert f'<h2 id="segments-0">Segments</h2><p>{html.escape(found)}</p>' in page
    assert PYTHON.voice.options["own_maps"] in found  # as some are miscalibrated
    calm = tuple(replace(row, flagged=False, flagged_recalibrated=False) for row in a.segments.rows)
    calm_table = replace(a.segments, rows=calm)
    assert PYTHON.voice.options["own_maps"] not in in_words(calm_table)


def in_words(table):
    """What is stated of segments."""
    return PYTHON.passage(segment_statements(table))


def test_segments_say_and_happen_in_the_words_of_the_terminal():
    a = report_cases.single()
    lines = {line[0]: line[1:6] for line in segment_lines(a.segments)[1:]}
    rows = re.findall(
        "<tr data-row.*?</tr>", to_html(a).split('<table class="segments"')[1].split("</table>")[0]
    )
    assert len(rows) == len(lines) == 4
    for row in rows:
        name, *cells = (html.unescape(cell) for cell in re.findall("<td[^>]*>(.*?)</td>", row))
        assert [cell.replace("\u2013", "") for cell in cells[:5]] == lines[name]


def test_the_table_of_the_verdict_and_what_it_rests_on_stand_below_the_tiles():
    y, bold, _, _ = report_cases.rows(300)
    for a in (report_cases.single(), assess(y, bold, sample_weight=np.where(y, 2.0, 1.0))):
        page = to_html(a)
        ways = page.split('<table class="ways"')[1].split("</section>")[0]
        shown = re.findall("<t[hd]>(.*?)</t[hd]>", ways)
        assert list(map(html.unescape, shown)) == [cell for row in a.verdict.table for cell in row]
        assert html.escape(a.verdict.basis) in ways
        assert page.index("</dl>") < page.index('<table class="ways"')
        assert ("effective rows" in ways) is a.summary.weighted


def test_a_chance_band_is_within_what_is_possible():
    """On 20 rows a calibrated forecast would by chance gain more than perfect foresight does on
    these.
    """
    rng = np.random.default_rng(0)
    a = assess(rng.random(20) < 0.9, rng.random(20))
    assert a.null_band.value_high.max() > 1.1 * a.value.value_perfect.max()
    (more,) = json.loads(written(to_html(a), "more"))
    perfect = np.array(more["costs"]["value_perfect"])
    for name in ("low", "high"):
        shown = np.array(more["costs"][f"null_{name}"])
        np.testing.assert_array_equal(
            shown, np.minimum(getattr(a.null_band, f"value_{name}"), perfect)
        )


@for_each(
    "grade, rule, badge",
    [
        ("use", Rule.AS_IS, "Use"),
        ("recalibrate", Rule.RECALIBRATED, "Recalibrate"),
        ("recalibrate", Rule.AS_IS, "Miscalibrated"),
        ("avoid", Rule.NEVER, "Avoid"),
        ("unknown", Rule.AS_IS, "Not sure yet"),
    ],
)
def test_no_badge_contradicts_the_next_step(monkeypatch, grade, rule, badge):
    """Nor does one say that data are missing: the headline knows whether it is rows, groups or
    events.
    """
    page = judged(monkeypatch, report_cases.single(), grade=grade, rule=rule)
    assert re.findall('<p class="badge"><span[^>]*>.</span> (.*?)</p>', page) == [badge]


def test_labels_that_are_reversed_have_a_badge_of_their_own():
    y, _, calm, _ = report_cases.rows()
    a = assess(~y, calm)
    assert a.evidence.is_reversed
    assert " Check the event</p>" in to_html(a)


def test_segments_have_the_users_costs():
    a = report_cases.single()
    assert "Your cost without a forecast" in to_html(a)
    rows = tuple(replace(row, cost=None, cost_without=None) for row in a.segments.rows)
    assert "Your cost without a forecast" not in to_html(
        replace(a, segments=replace(a.segments, rows=rows))
    )


def test_without_a_task_the_third_tile_asks_for_costs_and_there_is_no_policy():
    page = to_html(replace(report_cases.single(), task=None))
    assert '<a href="#decision-0">enter costs</a>' in page
    assert "policy.json" not in page
    assert 'data-chart="costs"' not in page
    assert re.findall("<dt>(.*?)</dt>", page) == [
        "Calibrated?",
        "Skill",
        "Your cost",
        "Guarantee: loses",
    ]


def test_a_forecast_to_avoid_has_nothing_to_save(monkeypatch):
    page = judged(monkeypatch, report_cases.single(), grade="avoid")
    assert json.loads(written(page, "more"))[0]["files"] == {}
    assert 'class="file"' not in page


def test_a_map_that_changes_nothing_is_not_offered():
    y, bold, _, _ = report_cases.rows()
    a = replace(
        report_cases.single(), recalibrator=rainproof.Recalibrator("none", rng=0).fit(bold, y)
    )
    page = to_html(a)
    assert "Recalibration map" not in page
    assert "and recalibration map" not in page
    assert list(json.loads(written(page, "more"))[0]["files"]) == ["policy.json"]


@for_each("case", [report_cases.single, report_cases.several])
def test_the_function_and_the_method_give_the_same_page(tmp_path, case):
    page = to_html(case(), tmp_path / "a.html", title="t")
    assert (
        (tmp_path / "a.html").read_text(encoding="utf-8")
        == page
        == case().to_html(tmp_path / "b.html", title="t")
    )
    assert (tmp_path / "b.html").read_text(encoding="utf-8") == page
    with pytest.raises(InputError, match=r"^cannot write .*c\.html: No such file or directory$"):
        case().to_html(tmp_path / "no" / "c.html")


def test_a_million_rows_make_no_larger_a_page_than_a_thousand():
    small, large = ({}, {})
    for n, sizes in ((1000, small), (1_000_000, large)):
        y, bold, _, _ = report_cases.rows(n)
        sizes["page"] = len(to_html(assess(y, bold)).encode())
    assert large["page"] < min(1.5 * small["page"], LIMIT)


def many_segments(k):
    a = report_cases.single()
    first = a.segments.rows[0]
    rows = tuple(
        replace(first, key=(f"s{i}",), value=i / k / 2, loss=i / k / 3, flagged=i == 3)
        for i in range(k)
    )
    return replace(a, segments=replace(a.segments, rows=rows))


def test_of_very_many_segments_the_worst_are_shown():
    page = to_html(many_segments(20_000))
    assert len(page.encode()) < LIMIT
    assert "19,500 more segments are not on this page." in page
    assert 'value="0">s3<' in page  # flagged: it comes first, however small its value
    assert 'value="1">s19999<' in page
    assert ">s19499<" not in page
    shown = re.findall(r'data-row="(\d+)"[^>]*><td class="text">s\d', page)
    assert shown[:3] == ["0", "1", "2"]  # flagged, then by loss
    assert "The chart shows the first 40." in page


def endless(a):
    """The assessment with segments whose names have 20,000 characters."""
    rows = tuple(
        replace(row, key=(f"{i} {'x' * 20_000}",)) for i, row in enumerate(a.segments.rows)
    )
    return replace(a, segments=replace(a.segments, rows=rows))


def test_an_endless_name_is_cut():
    usual, page = to_html(report_cases.single()), to_html(endless(report_cases.single()))
    assert len(page) < len(usual) + 10_000
    assert f'<td class="text" title="0 {"x" * 495}...">0 {"x" * 55}...</td>' in page
    assert f'<option value="1">1 {"x" * 55}...</option>' in page
    assert "x" * 501 not in page
    assert 'class="text" title=' not in usual


def test_an_endless_name_is_cut_in_sentences_and_tables():
    assert f"2 {'x' * 55}...: says" in in_words(endless(report_cases.single()).segments)
    sample = rainproof.Sample([0, 1] * 10, [0.2, 0.3] * 10)
    tests = rainproof.inference.segment_tests(dict.fromkeys(["x" * 20_000, "y"], sample), rng=0)
    assert max(map(len, str(tests).splitlines())) < 200


def test_of_as_many_as_fit_all_are():
    page = to_html(many_segments(40))
    assert "not on this page" not in page
    assert "The chart shows" not in page


@for_each(
    "show, value, shown",
    [
        (number, None, "\u2013"),
        (number, 0.012345, "0.0123"),
        (number, 1234.5, "1,234"),
        (number, 0.0, "0"),
        (percent, None, "\u2013"),
        (percent, 0.01234, "1.2%"),
        (percent, 0.256, "26%"),
        (bound, 0.01231, "1.24%"),
        (bound, 7.0, "100%"),
        (p_value, 0.0001, "< 0.001"),
        (p_value, 0.0321, "0.033"),
        (count, 12345.4, "12,345"),
    ],
)
def test_numbers_are_shown_short(show, value, shown):
    assert show(value) == shown


def edge_cases():
    rng = np.random.default_rng(0)
    y, p, _, _ = report_cases.rows(3000)
    yield "one row", ([1], [0.3], {})
    yield "five rows", ([0, 1, 0, 1, 1], [0.1, 0.9, 0.2, 0.8, 0.5], {})
    yield "one class", (np.zeros(500), rng.random(500), {})
    yield "one prediction", (rng.random(300) < 0.4, np.full(300, 0.4), {})
    yield "zeros and ones", (y, (p > 0.5).astype(float), {})
    yield "perfect", ([0, 1] * 100, [0.0, 1.0] * 100, {})
    yield "weights", (y, p, {"sample_weight": rng.exponential(size=3000)})
    yield "compressed", (rainproof.Sample(y, p).compress(2**10), None, {})
    yield "thirty segments", (y, p, {"by": rng.integers(0, 30, 3000)})
    yield (
        "three actions",
        (y, p, {"task": rainproof.DecisionTask.from_payoffs([[10, -20], [7, 0], [-5, 6]])}),
    )


@for_each("case", list(edge_cases()))
def test_odd_forecasts_make_pages_without_a_complaint(browser, tmp_path, case):
    name, (y, p, options) = case
    to_html(assess(y, p, **options), tmp_path / "page.html", title=name)
    browser.open(tmp_path / "page.html")
    browser.picture(f"odd-{name.replace(' ', '-')}")
    assert browser.complaints() == []
    text = browser.run("return document.querySelector('main').innerText")
    assert not re.search(r"\b(None|null|undefined|NaN|nan|inf)\b", text)
    browser.unfold()
    assert browser.complaints() == []


def test_the_bar_of_actions_has_the_names_of_the_task(browser, tmp_path):
    task = rainproof.DecisionTask.from_costs(
        false_positive=30, false_negative=70, actions=["keep", "rebook"]
    )
    to_html(assess([0, 1] * 100, [0.2, 0.6] * 100, task=task), tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    assert {"keep", "rebook"} <= set(browser.texts('[data-chart="strip"] svg text'))
    label = browser.run(
        "return document.querySelector('[data-chart=strip] svg').getAttribute('aria-label')"
    )
    assert label.startswith("The forecast says: keep below 30%, then rebook. ")


def test_a_constant_has_no_table_of_what_it_says_and_says_what_that_rests_on():
    y = np.arange(400) % 5 == 0
    a = rainproof.assess(y, np.full(400, 0.25), measures=[], n_resamples=19)
    page = to_html(a)
    assert 'class="ways"' not in page
    assert a.verdict.basis in page
