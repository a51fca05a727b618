"""One assessment as a part of the page, in the usual order or in that of the clinical core set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter

import numpy as np

from rainproof.core import VERSION
from rainproof.core.documents import as_text
from rainproof.core.result import Interval
from rainproof.core.text import finite, html_element, html_rows, one_line, short
from rainproof.core.text import percent as exact_percent
from rainproof.decisions.policies import RoundingPolicy
from rainproof.report import tables
from rainproof.report.tables import Column, count, escaped, folded, items, keys, number, table
from rainproof.verdict.advice_statements import advice
from rainproof.verdict.clinical import NUMBERS, ClinicalNumber, ClinicalPerformance
from rainproof.verdict.costs import Rule
from rainproof.verdict.details import worth
from rainproof.verdict.evidence import RARE
from rainproof.verdict.facts import whole
from rainproof.verdict.grades import GRADES
from rainproof.verdict.rankings import AssessmentSet
from rainproof.verdict.renderer import PYTHON, Renderer
from rainproof.verdict.result import Assessment
from rainproof.verdict.statements import Statement, say
from rainproof.verdict.values import Level, Listing, Share, money
from rainproof.verdict.verdict import Verdict

HTML = PYTHON.as_html()
_NOT_GIVEN = (
    '<div><dt>Your cost</dt><dd class="value"><a href="#decision-{}">enter costs</a></dd>'
    '<dd class="more">what a false alarm and a miss cost you, below.</dd></div>'
)
PALE_ROWS = 20  # as charts.js has it
_FILES = {  # what a file is, and what reads it
    "map.json": ("Recalibration map", "for rainproof apply and rainproof.load"),
    "policy.json": ("Policy for your decision", "for rainproof decide and rainproof.load"),
}
_READ = "How to read it, and the numbers"
_FORECAST_LINES = (("forecast", "as they are"), ("map", "recalibrated"))
_BENEFIT_LINES = (("perfect", "always act (treat all)"), ("none", "never act (treat none)"))
_GAIN_LINES = (("none", "no forecast"), ("perfect", "perfect"), ("band", "chance, if calibrated"))


def fields(
    a: Assessment, index: int, renderer: Renderer, *, alone: bool, hidden_segments: int = 0
) -> dict[str, str]:
    """Return what goes into the places of article.html and overview.html."""
    found = a.verdict.rendered_by(renderer.as_html())
    name = a.name or "The forecast"
    m_star = a.profile.m_star
    shown = ("!", "Check the event") if a.evidence.is_reversed else badge(found)
    asides = paragraphs(found.asides)
    segments = ""
    line = " ".join(s.text for s in found.sentences if s.about == "segments")
    if a.segments is not None:
        within = a.guarantee.threshold_range
        segments = tables.segments(a.segments, line, index, hidden_segments, within)
    return {
        **verdict_fields(found, *shown),
        "index": str(index),
        "name": escaped(name),
        "heading": "" if alone else f'<h2 class="model">{escaped(name)}</h2>',
        "downloads": _buttons(a, first=True),
        "more_downloads": _buttons(a, first=False),
        "asides": f'<div class="asides">{asides}</div>' if asides else "",
        "tiles": _tiles(found, index, entered=a.task is not None),
        "ways": ways(found, index, _weights(a)),
        "curve_more": _explained(_about_curve(a), tables.value(a)),
        "with_map": " and recalibration map" if _has_map(a) else "",
        "reliability_keys": keys(
            [("points", "event rate"), ("band", "chance, if calibrated"), *_map_line(a)]
        ),
        "reliability_caption": "On the diagonal it happens as often as they say.",
        "reliability_more": _explained(_about_reliability(a), tables.reliability(a)),
        "advice": HTML.text(_first_advice(a)),
        "costs": "" if a.task is None else tables.costs(a.task, a.confidence_level),
        "advice_more": tables.advice(a),
        "confidence_level": exact_percent(a.confidence_level),
        "grid": str(a.shown_grid),
        "segments": segments,
        "measures_table": tables.measures(a),
        "candidates": "" if a.recalibrator is None else tables.candidates(a.recalibrator),
        "crossing": "" if m_star == float("inf") else f" (m* = {m_star})",
        "profile_table": tables.profile(a),
        "sentences": items(_proofs(a, found)),
        "method": _method(a),
        "assess": assess_line(renderer),
        "sources": _sources(a),
    }


def _explained(how: Statement, table: str) -> str:
    """How to read a chart, and its numbers; to be unfolded."""
    return folded(_READ, f"<p>{HTML.text(how)}</p>{table}")


def verdict_fields(verdict: Verdict, icon: str, badge: str) -> dict[str, str]:
    """Return what goes into the places of the first card, of one event and of several classes."""
    return {
        "grade": verdict.grade,
        "icon": icon,
        "badge": escaped(badge),
        "headline": verdict.headline,
        "reason": verdict.reason,
        "next_step": verdict.next_step,
        "commands": code(verdict.commands),
    }


def paragraphs(texts: Iterable[str]) -> str:
    """Return paragraphs of what is HTML already."""
    return "".join(f"<p>{text}</p>" for text in texts)


def badge(verdict: Verdict) -> tuple[str, str]:
    """The symbol and the word for the verdict, which say no more than its next step."""
    if verdict.grade == "recalibrate" and verdict.rule is not Rule.RECALIBRATED:
        return "!", "Miscalibrated"
    shown = GRADES[verdict.grade]
    return shown.icon, shown.badge


def curve_fields(index: int | str, a: Assessment | None) -> dict[str, str]:
    """Return what goes into the places of curve.html: the decision curves of an assessment, or of
    several forecasts.
    """
    lines = () if a is None else _FORECAST_LINES
    recalibrated = "" if a is None else HTML.text(say(f"curve {a.value.recalibration}"))
    return {
        "index": str(index),
        "chart": "all-value" if a is None else "value",
        "benefit_keys": keys((*lines, *_BENEFIT_LINES)),
        "gain_keys": keys((*lines, *(_GAIN_LINES[:1] if a is None else _GAIN_LINES))),
        "benefit_caption": (
            f"At your threshold, the highest line is the best way to act.{recalibrated}"
        ),
        "gain_caption": (
            "Below 0 at your threshold, the better of always and never acting is better."
        )
        + recalibrated,
    }


def downloads(a: Assessment) -> dict[str, str]:
    """The files that the page can save, as `save` writes them: the map, and the policy.

    The policy of a forecast that should be recalibrated, for now at least, does so first. A
    forecast that should not be used has none.
    """
    found: dict[str, str] = {}
    if a.verdict.grade == "avoid":
        return found
    if a.recalibrator is not None and _has_map(a):
        found["map.json"] = as_text(a.recalibrator.to_dict())
    # whose costs go with these rows only
    if a.task is not None and not a.task.task.profile.per_case:
        first = a.recalibrator.map_ if a.recalibrator is not None and a.verdict.steps else None
        policy = RoundingPolicy(a.task.task, a.task.grid, recalibration=first)
        found["policy.json"] = as_text(policy.to_dict())
    return found


def _has_map(a: Assessment) -> bool:
    """Whether recalibration changes anything."""
    return a.recalibrator is not None and a.recalibrator.method_ != "none"


def _buttons(a: Assessment, *, first: bool) -> str:
    """The buttons that save files: on the first screen those of the next step; the map of other
    verdicts is below.
    """
    needed = {"map.json": bool(a.verdict.steps), "policy.json": a.verdict.grade != "unknown"}
    buttons = ""
    for name in downloads(a):
        if needed[name] is first:
            what, readers = _FILES[name]
            marks = {
                "data_file": name,
                "title": f"{name}, {readers}",
                "aria_label": f"Download: {what}",
            }
            buttons += (
                html_element("button", f"{what} &#8595;", type="button", class_="file", **marks)
                + " "
            )
    return f'<p class="tools" hidden>{buttons}</p>' if buttons else ""


def code(commands: Sequence[str]) -> str:
    """Code or command lines, which are HTML already."""
    return f"<pre>{chr(10).join(commands)}</pre>" if commands else ""


def _tiles(verdict: Verdict, index: int, *, entered: bool) -> str:
    """The answers; without a decision of the user's own, the third asks for it."""
    tiles = []
    for answer in verdict.answers:
        question = f'<div class="about-{answer.about}"><dt>{answer.question}</dt>'
        value = f'<dd class="value">{answer.value}</dd>'
        tiles.append(f'{question}{value}<dd class="more">{answer.meaning}</dd></div>')
    if not entered:
        tiles.insert(-1, _NOT_GIVEN.format(index))
    return "".join(tiles)


def _weights(a: Assessment) -> str:
    """How many independent units weighted rows are worth."""
    if not a.summary.weighted:
        return ""
    key = "weighted_rows" if a.evidence.groups is None else "weighted_groups"
    return HTML.text(say(key, effective=whole(a.summary.effective_n)))


def ways(verdict: Verdict, index: int, weights: str = "") -> str:
    """The table of the verdict, with what it rests on."""
    basis = f'<p class="small">{verdict.basis}{weights}</p>'
    if not verdict.table:
        return f'<section class="card">{basis}</section>'
    shown = side_by_side(verdict.table, f"ways-{index}")
    return (
        f'<section class="card"><h2 id="ways-{index}">Ways to act, side by '
        f"side</h2>{shown}{basis}</section>"
    )


def side_by_side(lines: Sequence[Sequence[str]], labelled_by: str) -> str:
    """A table of text with a head, which the heading with this id names."""
    head, *body = [[one_line(cell) for cell in line] for line in lines]
    rows = f"<thead>{html_rows(head, [])}</thead><tbody>{html_rows([], body)}</tbody>"
    table = html_element("table", rows, class_="ways", aria_labelledby=labelled_by)
    return html_element(
        "div", table, class_="scroll", role="region", tabindex="0", aria_labelledby=labelled_by
    )


def _about_curve(a: Assessment) -> Statement:
    """How to read the decision curve."""
    recalibrated = say(f"about {a.value.recalibration}")
    return say("about_curve", recalibrated=recalibrated, level=Level(a.confidence_level))


def _who_loses(a: Assessment) -> list[Statement]:
    """What the decision that gains most by recalibration has lost on these rows, if anything."""
    gain = a.evidence.gain
    curve = a.value
    if a.verdict.grade != "recalibrate" or gain is None:
        return []
    threshold = gain.threshold
    at = np.array(threshold)
    original = float(curve.interpolated(at, curve.value))
    recalibrated = float(curve.interpolated(at, curve.value_recalibrated))
    if recalibrated <= original:
        return []
    # Values are over no forecast, net benefits over never acting.
    always = max(0.0, curve.event_rate - threshold)
    old = (original + always) / (1 - threshold)
    new = (recalibrated + always) / (1 - threshold)
    benefit = {"old": money(old, new - old), "new": money(new, new - old)}
    return [say("who_loses", threshold=Share(threshold), **benefit)]


def _proofs(a: Assessment, verdict: Verdict) -> list[str]:
    """What is proven or estimated, for whom, and against what; limits come last but one."""
    *found, limits = (s.text for s in verdict.sentences if s.about not in ("segments", "note"))
    more = [worth(a.worth, a.confidence_level), *_who_loses(a)]
    return [*found, *map(HTML.text, more), limits, HTML.text(say("at_stake"))]


def _map_line(a: Assessment) -> list[tuple[str, str]]:
    """The key of the recalibration map, if it changes anything."""
    if a.recalibrator is None or not _has_map(a):
        return []
    return [("map", f"recalibration map ({a.recalibrator.method_})")]


def _about_reliability(a: Assessment) -> Statement:
    """How to read the reliability diagram."""
    rare = min(a.summary.event_rate, 1 - a.summary.event_rate) < RARE
    frame = say("beyond_frame" if rare else "nothing")
    level = Level(a.confidence_level)
    return say("about_reliability", level=level, pale=PALE_ROWS, frame=frame)


def _first_advice(a: Assessment) -> Statement:
    """The advice that stands there before the slider is moved, or where scripts are off."""
    own = None if a.task is None else a.task.task.profile.threshold
    nearest = a.advice_at(a.summary.event_rate if own is None else own)
    said = Listing(advice(nearest), " ")
    return say("if_you_act", threshold=Share(nearest.threshold), advice=said)


def _method(a: Assessment) -> str:
    """How this was computed, beside what the page says of every assessment."""
    found = [say("method_grid", grid=a.shown_grid, intervals=a.reliability.method)]
    if a.test is not None:
        found.append(say("method_test", count=whole(a.test.n_resamples)))
    if a.summary.compressed is not None:
        found.append(say("method_compressed", count=whole(a.summary.compressed)))
    key = "method_generator" if a.seed is None else "method_seed"
    found.append(say(key, seed=a.seed, version=VERSION))
    return items(map(HTML.text, found))


def assess_line(renderer: Renderer) -> str:
    """The command that makes the assessment, if a command made it."""
    line = renderer.voice.assess
    return f"<p>{HTML.text(say('again'))}</p><pre>{escaped(line)}</pre>" if line else ""


def _sources(a: Assessment) -> str:
    """The source of each measure, measures with the same source together."""
    sources: dict[str, list[str]] = {}
    for e in a.measures:
        sources.setdefault(e.reference, []).append(e.symbol)
    found = []
    for reference, symbols in sources.items():
        found.append(say("source", measures=Listing(symbols, "; "), reference=reference))
    return items(map(HTML.text, found))


def clinical_fields(a: Assessment, index: int) -> dict[str, str]:
    """Return what goes into the places of clinical.html."""
    found = a.clinical
    level = exact_percent(a.confidence_level)
    band = say("curve_band", curve=_about_curve(a), level=Level(a.confidence_level))
    return {
        "index": str(index),
        "tiles": "".join(_tile(one, getattr(found, one.field)) for one in NUMBERS),
        "notes": "".join(f'<p class="note">{escaped(note)}</p>' for note in found.notes),
        "confidence_level": level,
        "calibration_keys": keys(
            [("forecast", "smoothed event rate"), ("perfect", "calibrated"), *_map_line(a)]
        ),
        "calibration_more": _explained(_about_calibration(found), tables.reliability(a)),
        "curve_more": _explained(band, _net_benefit(found)),
        "risks_table": folded("As a table", _risks(found)),
        "core_table": folded("As a table", core_table(["Model"], [found])),
        "units": ""
        if found.groups is None
        else f", of {count(found.groups)} independent groups of rows",
        "tripod_table": table("Items of TRIPOD+AI", "tripod", _TRIPOD, _items(a, found)),
    }


def core_table(names: Sequence[str], found: Sequence[ClinicalPerformance]) -> str:
    """The core set: a row for each number of one model, or of several."""
    several = len(found) > 1
    rows = []
    for one in NUMBERS:
        for name, of_model in zip(names, found, strict=True):
            rows.append((name, one.text, getattr(of_model, one.field), one.perfect))
    columns = [
        *([Column("Model", lambda row: row[0], short)] if several else []),
        Column("Measure", lambda row: row[1]),
        Column("Estimate", lambda row: row[2] and row[2].value, number),
        Column("Low", lambda row: row[2] and row[2].low, number),
        Column("High", lambda row: row[2] and row[2].high, number),
        Column("Perfect", lambda row: float(row[3]), number),
    ]
    return table("Core set of performance measures", "core-set", columns, rows)


def comparison(found: AssessmentSet) -> str:
    """The core set of all models, for the part of the page that compares them."""
    return folded(
        "Core set of all models", core_table(list(found), [a.clinical for a in found.assessments])
    )


def _tile(about: ClinicalNumber, value: Interval | None) -> str:
    shown = "not defined"
    ends = ""
    if value is not None:
        shown = number(value.value)
        low = number(finite(value.low))
        ends = f'<dd class="more">{low} to {number(finite(value.high))}</dd>'
    return (
        f'<div><dt>{about.short}</dt><dd class="value">{shown}</dd>{ends}'
        f'<dd class="more">perfect: {about.perfect}</dd></div>'
    )


def _about_calibration(found: ClinicalPerformance) -> Statement:
    """How to read the calibration plot."""
    return say(
        "about_calibration",
        grid=found.reliability.grid,
        level=Level(found.confidence_level),
        grouped=say("nothing" if found.groups is None else "as_if_independent"),
        pale=PALE_ROWS,
    )


def _net_benefit(found: ClinicalPerformance) -> str:
    curve = found.net_benefit
    columns = {
        "Threshold": curve.threshold,
        "Net benefit": curve.value[0],
        "Low": curve.low[0],
        "High": curve.high[0],
        "Treat all": curve.treat_all,
        "Low (treat all)": curve.treat_all_low,
        "High (treat all)": curve.treat_all_high,
    }
    return tables.table_of("Net benefit per patient (treating none has 0)", "net-benefit", columns)


def _risks(found: ClinicalPerformance) -> str:
    bars = found.risk_distribution
    ends = {"Risk from": bars.edges[:-1], "to": bars.edges[1:]}
    share = {
        "Share of rows: with the event": bars.share_events,
        "without": bars.share - bars.share_events,
    }
    return tables.table_of("Risk distribution", "risks", ends | share)


_TRIPOD = [
    Column(head, itemgetter(k)) for k, head in enumerate(("Item", "Asks for", "On this page"))
]


def _items(a: Assessment, found: ClinicalPerformance) -> list[tuple[str, str, str]]:
    """The items of TRIPOD+AI that the page serves, in our words, and what it has for them."""
    events = a.summary.events
    level = exact_percent(a.confidence_level)
    total = a.summary.total_weight
    weighted = " (sums of weights)" if a.summary.weighted else ""
    size = f"{count(events)} with the event and {count(total - events)} without{weighted}"
    groups = "Rows are treated as independent of each other."
    if found.groups is not None:
        groups = (
            "Intervals of the core set and of net benefit allow for dependence within "
            f"{count(found.groups)} groups; the calibration plot does not."
        )
    by = None
    if a.segments is not None:
        by = (
            f"{count(len(a.segments.rows))} segments: event rate, test and loss of each, not the "
            "core set."
        )
    updated = results = "No recalibration map is offered."
    if a.recalibrator is not None and _has_map(a):
        updated = (
            f"A recalibration map ({a.recalibrator.method_}) was fitted on these rows. It counts "
            "as updating only if you use it."
        )
        results = (
            "What is proven of the map, on rows that it was not fitted to: see the part on what is "
            "proven below."
        )
    return [
        ("12d", "How differences between clusters (such as hospitals) were handled", groups),
        (
            "12e",
            "All measures and plots used to evaluate performance, with reasons",
            "AUROC (discrimination), calibration plot, net benefit with decision curve "
            "(clinical utility), and risk distribution by outcome, which STRATOS calls "
            "essential; beside them observed : expected, calibration intercept and slope, Brier "
            "score and skill. Reasons for your choice are yours to give.",
        ),
        ("12f", "Any updating of the model, such as recalibration", updated),
        (
            "20a, 21",
            "Numbers of participants, with and without the outcome",
            f"{size}. The flow of participants is yours.",
        ),
        (
            "23a",
            "Performance with confidence intervals, also in key subgroups",
            f"Core set and net benefit with {level} intervals. {by or 'No subgroups were given.'}",
        ),
        (
            "23b",
            "Differences in performance between clusters, if examined",
            "Not examined." if by is None else f"If segments are clusters: {by}",
        ),
        ("24", "Results of model updating", results),
    ]
