"""One assessment as a part of the page, in the usual order or in that of the clinical core set."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from operator import itemgetter

import numpy as np

from rainproof.assessment.advice import RARE
from rainproof.assessment.clinical import NUMBERS, ClinicalPerformance
from rainproof.assessment.rankings import AssessmentSet
from rainproof.assessment.result import Assessment
from rainproof.core import VERSION
from rainproof.core.files import as_text
from rainproof.core.result import Interval
from rainproof.core.text import at_most, finite, html_element, short
from rainproof.core.text import percent as exact_percent
from rainproof.core.text import rows as rows_text
from rainproof.decisions.policies import RoundingPolicy
from rainproof.recalibration.recalibrator import proven
from rainproof.report import tables
from rainproof.report.tables import Column, count, folded, items, keys, number, percent, table

GRADES = {  # in words as well as in colours
    "use": ("✓", "Use"),
    "recalibrate": ("!", "Recalibrate"),
    "avoid": ("✗", "Avoid"),
    "unknown": ("?", "Not enough data"),
}
_NOT_GIVEN = (
    '<div><dt>Your cost</dt><dd class="value"><a href="#decision-{}">enter costs</a></dd>'
    '<dd class="more">what a false alarm and a miss cost you, below.</dd></div>'
)
PALE_ROWS = 20  # as charts.js has it
_FILES = {  # what a file is, and what reads it
    "map.json": ("Recalibration map", "for rainproof apply and rainproof.load"),
    "policy.json": ("Policy for your decision", "for rainproof decide and rainproof.load"),
}
_VALUE_LINES = (
    ("forecast", "as it is"),
    ("map", "recalibrated"),
    ("none", "no forecast"),
    ("perfect", "perfect"),
    ("band", "chance, if calibrated"),
)


def fields(a: Assessment, index: int, *, alone: bool, hidden_segments: int = 0) -> dict[str, str]:
    """Return what goes into the places of article.html."""
    icon, badge = GRADES[a.verdict.grade]
    name, m_star = a.name or "The forecast", a.profile.m_star
    notes = [s.text for about in ("segments", "note") for s in a.verdict.sentences if s.about == about]
    return {
        "index": str(index),
        "name": escape(name),
        "heading": "" if alone else f'<h2 class="model">{escape(name)}</h2>',
        "grade": a.verdict.grade,
        "icon": icon,
        "badge": escape(badge),
        "headline": escape(a.verdict.headline),
        "reason": escape(a.verdict.reason),
        "next_step": escape(a.verdict.next_step),
        "commands": f"<pre>{escape(chr(10).join(a.verdict.commands))}</pre>" if a.verdict.commands else "",
        "rows": escape(_rows(a)),
        "downloads": _buttons(a, first=True),
        "more_downloads": _buttons(a, first=False),
        "stakes": escape(_stakes(a)),
        "rounded": escape(_rounded(a)),
        "notes": "".join(f"<p>{escape(note)}</p>" for note in notes),
        "tiles": _tiles(a, index),
        "value_keys": keys(_VALUE_LINES),
        "value_caption": escape(_value_caption(a)),
        "who_loses": _who_loses(a),
        "value_table": tables.value(a),
        "with_map": " and recalibration map" if _has_map(a) else "",
        "reliability_keys": keys([("forecast", "event rate"), ("band", "chance, if calibrated"), *_map_line(a)]),
        "reliability_caption": escape(_reliability_caption(a)),
        "reliability_table": tables.reliability(a),
        "advice": escape(_first_advice(a)),
        "costs": "" if a.task is None else tables.costs(a.task, a.confidence_level),
        "advice_table": tables.advice(a),
        "confidence_level": exact_percent(a.confidence_level),
        "grid": str(a.shown_grid),
        "segments": "" if a.segments is None else tables.segments(a.segments, index, hidden_segments),
        "measures_table": tables.measures(a),
        "guarantee": _guarantee(a),
        "crossing": "" if m_star == float("inf") else f" (m* = {m_star})",
        "profile_table": tables.profile(a),
        "sentences": "".join(f'<li class="about-{s.about}">{escape(s.text)}</li>' for s in a.verdict.sentences),
        "method": _method(a),
        "sources": _sources(a),
    }


def downloads(a: Assessment) -> dict[str, str]:
    """The files that the page can save, as `save` writes them: the map, and the policy.

    The policy of a forecast that should be recalibrated, for now at least, does so first. A forecast that should not be
    used has none.
    """
    found: dict[str, str] = {}
    if a.verdict.grade == "avoid":
        return found
    if a.recalibrator is not None and _has_map(a):
        found["map.json"] = as_text(a.recalibrator.to_dict())
    if a.task is not None:
        first = a.recalibrator.map_ if a.recalibrator is not None and a.verdict.commands else None
        policy = RoundingPolicy(a.task.task, a.task.grid, recalibration=first)
        found["policy.json"] = as_text(policy.to_dict())
    return found


def _has_map(a: Assessment) -> bool:
    """Whether recalibration changes anything."""
    return a.recalibrator is not None and a.recalibrator.method_ != "none"


def _rows(a: Assessment) -> str:
    what = "rows" if a.evidence.groups is None else "groups"
    weighted = f", weighted ({count(a.summary.effective_n)} effective {what})" if a.summary.weighted else ""
    alone = a.evidence.groups in (None, a.summary.n)  # a group for each row
    groups = "" if alone else f" in {count(a.evidence.groups or 0)} groups"
    return f"{rows_text(a.summary.n)}{groups}{weighted}; event rate {percent(a.summary.event_rate)}."


def _buttons(a: Assessment, *, first: bool) -> str:
    """The buttons that save files: on the first screen those of the next step; the map of other verdicts is below."""
    needed = {"map.json": bool(a.verdict.commands), "policy.json": a.verdict.grade != "unknown"}
    buttons = ""
    for name in downloads(a):
        if needed[name] is first:
            what, readers = _FILES[name]
            marks = {"data_file": name, "title": f"{name}, {readers}", "aria_label": f"Download: {what}"}
            buttons += html_element("button", f"{what} &#8595;", type="button", class_="file", **marks) + " "
    return f'<p class="tools" hidden>{buttons}</p>' if buttons else ""


def _stakes(a: Assessment) -> str:
    """The words of the answers that need an explanation."""
    return (
        "At stake: best minus worst outcome of a case. No forecast: the better of always and never acting. Bounds: "
        f"{exact_percent(a.confidence_level)} confidence each, on average."
    )


def _rounded(a: Assessment) -> str:
    """The guarantee that covers all changes of actions."""
    found = a.rounded_guarantee
    return (
        f"Rounded at random to multiples of 1/{found.grid}, the probabilities lose at most "
        f"{at_most(min(found.bound, 1.0))} of what is at stake against any change of actions, also one that does not "
        "keep the ranking. Bounds hold on average over cases like these rows; costs are estimates."
    )


def _tiles(a: Assessment, index: int) -> str:
    tiles = [
        f'<div class="about-{answer.about}"><dt>{escape(answer.question)}</dt>'
        f'<dd class="value">{escape(answer.value)}</dd>'
        f'<dd class="more">{escape(answer.meaning)}</dd></div>'
        for answer in a.verdict.answers
    ]
    return "".join(tiles if len(tiles) > 3 else [*tiles, _NOT_GIVEN.format(index)])


def _value_caption(a: Assessment) -> str:
    """How to read the decision curve."""
    best, own = "fitted to these same rows", ""
    if a.value.recalibration == "isotonic":
        best = "the best map that keeps the ranking, in hindsight"
    if a.task is not None and a.task.cost_recalibrated is not None:
        own = "; your costs are from rows that it was not fitted to"
    return (
        "Gain per case over no forecast (the better of always and never acting), by the probability from which you "
        f"act; below 0, no forecast is better. Recalibrated: {best}, so optimistic{own}. Grey: where the blue "
        f"line of a calibrated forecast with these predictions would lie ({exact_percent(a.confidence_level)} at each "
        "threshold, outcomes redrawn, so that it can exceed perfect foresight on these)."
    )


def _who_loses(a: Assessment) -> str:
    """The decision that would gain most by recalibration, where it seems to gain; nothing if none would."""
    found = tables.values_at_thresholds(a)
    mu, as_is, better, always, benefit = (
        np.array(found[name])
        for name in ("threshold", "value", "value_recalibrated", "net_benefit_always", "net_benefit")
    )
    share = (better - as_is) / np.maximum(mu, 1 - mu)
    k = int(share.argmax())
    if not a.evidence.improvable or share[k] <= 0:
        return ""
    recalibrated = better[k] / (1 - mu[k]) + max(always[k], 0.0)
    return (
        f"<p>Who loses most on these rows: whoever acts from {percent(mu[k])} on. Recalibrated, they would have "
        f"gained {percent(share[k])} of what is at stake per case (net benefit {number(recalibrated)} instead of "
        f"{number(benefit[k])}).</p>"
    )


def _map_line(a: Assessment) -> list[tuple[str, str]]:
    """The key of the recalibration map, if it changes anything."""
    if a.recalibrator is None or not _has_map(a):
        return []
    return [("map", f"recalibration map ({a.recalibrator.method_})")]


def _reliability_caption(a: Assessment) -> str:
    """How to read the reliability diagram."""
    level = exact_percent(a.confidence_level)
    rare = min(a.summary.event_rate, 1 - a.summary.event_rate) < RARE
    frame = " A point on the frame lies beyond it." if rare else ""
    return (
        f"Points: the event rate of predictions near each point, with {level} intervals; pale: of fewer than "
        f"{PALE_ROWS} rows. A calibrated forecast lies on the diagonal; grey: what chance makes of it.{frame} Bars: "
        f"the predictions (dark: rows with the event). Mean prediction {percent(a.evidence.mean_prediction)}, event "
        f"rate {percent(a.summary.event_rate)}."
    )


def _first_advice(a: Assessment) -> str:
    """The advice that stands there before the slider is moved, or where scripts are off."""
    own = a.task.task.thresholds if a.task else ()
    nearest = a.advice_at(own[0] if len(own) == 1 else a.summary.event_rate)
    return f"If you act from {number(nearest.threshold)} on: {nearest}"


def _guarantee(a: Assessment) -> str:
    """The guarantees, what is proven of recalibration, and the test."""
    words = [
        f"Acting on the probabilities as they are. {a.guarantee}",
        f"Acting on rounded probabilities. {a.rounded_guarantee}",
    ]
    if (found := a.recalibrator) is not None:
        words.append(f"Recalibration ({found.method_}). {proven(found.certificate_, found.n_, found.groups_)}")
    if a.test is not None:
        words.append(f"Test of perfect calibration. {a.test}")
    return f"<ul>{items(words)}</ul>" + ("" if a.recalibrator is None else tables.candidates(a.recalibrator))


def _method(a: Assessment) -> str:
    """How this was computed, beside what the page says of every assessment."""
    words = [
        f"The regret curve and the reliability diagram use the grid of the guarantee for rounded probabilities, "
        f"1/{a.shown_grid}. Intervals of event rates: {a.reliability.method}.",
    ]
    if a.test is not None:
        words.append(
            f"The test redraws all outcomes {count(a.test.n_resamples)} times as if the probabilities were right."
        )
    if a.summary.compressed is not None:
        words.append(f"The rows were compressed to a grid of {count(a.summary.compressed)} cells, which keeps SCDL.")
    seed = "a generator of the caller" if a.seed is None else f"seed {a.seed}"
    words.append(f"Random numbers: {seed}. rainproof {VERSION}.")
    return items(words)


def _sources(a: Assessment) -> str:
    """The source of each measure, measures with the same source together."""
    sources: dict[str, list[str]] = {}
    for e in a.measures:
        sources.setdefault(e.reference, []).append(e.symbol)
    return items(f"{'; '.join(symbols)}: {reference}." for reference, symbols in sources.items())


_SHORT = {  # on the tiles
    "auroc": "AUROC",
    "observed_expected": "O:E ratio",
    "calibration_intercept": "Calibration intercept",
    "calibration_slope": "Calibration slope",
    "brier_score": "Brier score",
    "brier_skill": "Brier skill",
}
DECISION_CURVES = (
    '<div class="chart" data-chart="all-net-benefit"></div><figcaption><strong>Decision curves</strong>: net benefit '
    "per patient by threshold, with intervals for each threshold by itself. Dashed grey: treating all; line at 0: "
    "treating none.</figcaption>"
)


def clinical_fields(a: Assessment, index: int) -> dict[str, str]:
    """Return what goes into the places of clinical.html."""
    found, level = a.clinical, exact_percent(a.confidence_level)
    return {
        "index": str(index),
        "tiles": "".join(_tile(_SHORT[name], perfect, getattr(found, name)) for name, _, perfect in NUMBERS),
        "notes": "".join(f'<p class="note">{escape(note)}</p>' for note in found.notes),
        "confidence_level": level,
        "calibration_keys": keys([("forecast", "smoothed event rate"), ("perfect", "calibrated"), *_map_line(a)]),
        "calibration": _about_calibration(found, level),
        "calibration_table": tables.reliability(a),
        "benefit_keys": keys([("forecast", "act on the model"), ("perfect", "treat all"), ("none", "treat none")]),
        "benefit_table": folded("As a table", _net_benefit(found)),
        "risks_table": folded("As a table", _risks(found)),
        "core_table": folded("As a table", core_table(["Model"], [found])),
        "units": "" if found.groups is None else f", of {count(found.groups)} independent groups of rows",
        "tripod_table": _tripod(a, found),
    }


def core_table(names: Sequence[str], found: Sequence[ClinicalPerformance]) -> str:
    """The core set: a row for each number of one model, or of several."""
    several = len(found) > 1
    rows = [
        (name, words, getattr(each, key), perfect)
        for key, words, perfect in NUMBERS
        for name, each in zip(names, found, strict=True)
    ]
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
    return folded("Core set of all models", core_table(list(found), [a.clinical for a in found.assessments]))


def _tile(name: str, perfect: str, value: Interval | None) -> str:
    ends = "" if value is None else " to ".join(number(finite(end)) for end in (value.low, value.high))
    interval = f'<dd class="more">{ends}</dd>' if ends else ""
    shown = "not defined" if value is None else number(value.value)
    return f'<div><dt>{name}</dt><dd class="value">{shown}</dd>{interval}<dd class="more">perfect: {perfect}</dd></div>'


def _about_calibration(found: ClinicalPerformance, level: str) -> str:
    grouped = "" if found.groups is None else ", with rows as if independent"
    return (
        f"Line: event rate against predicted risk, smoothed (a triangular kernel of half-width "
        f"1/{found.reliability.grid}). Band: {level} intervals, each by itself{grouped}. Pale points: fewer than "
        f"{PALE_ROWS} rows. Above the diagonal, risks are predicted too low."
    )


def _net_benefit(found: ClinicalPerformance) -> str:
    curve = found.net_benefit
    heads = ("Threshold", "Net benefit", "Low", "High", "Treat all", "Low (treat all)", "High (treat all)")
    arrays = (curve.threshold, curve.value[0], curve.low[0], curve.high[0])
    treat_all = (curve.treat_all, curve.treat_all_low, curve.treat_all_high)
    rows = list(zip(*(array.tolist() for array in (*arrays, *treat_all)), strict=True))
    columns = tables.numbered(*((head, number) for head in heads))
    return table("Net benefit per patient (treating none has 0)", "net-benefit", columns, rows)


def _risks(found: ClinicalPerformance) -> str:
    bars = found.risk_distribution
    arrays = (bars.edges[:-1], bars.edges[1:], bars.share_events, bars.share - bars.share_events)
    rows = list(zip(*(array.tolist() for array in arrays), strict=True))
    heads = ("Risk from", "to", "Share of rows: with the event", "without")
    return table("Risk distribution", "risks", tables.numbered(*((head, number) for head in heads)), rows)


def _tripod(a: Assessment, found: ClinicalPerformance) -> str:
    """The items of TRIPOD+AI that the page serves, in our words, and what it has for them."""
    heads = ("Item", "Asks for", "On this page")
    columns = [Column(head, itemgetter(k)) for k, head in enumerate(heads)]
    return table("Items of TRIPOD+AI", "tripod", columns, _items(a, found))


def _items(a: Assessment, found: ClinicalPerformance) -> list[tuple[str, str, str]]:
    events, level = a.summary.events, exact_percent(a.confidence_level)
    total = a.summary.total_weight
    weighted = " (sums of weights)" if a.summary.weighted else ""
    size = f"{count(events)} with the event and {count(total - events)} without{weighted}"
    groups = "Rows are treated as independent of each other."
    if found.groups is not None:
        groups = (
            f"Intervals of the core set and of net benefit allow for dependence within {count(found.groups)} groups; "
            "the calibration plot does not."
        )
    by = None
    if a.segments is not None:
        by = f"{count(len(a.segments.rows))} segments: loss and SCDL of each, not the core set."
    updated = results = "No recalibration map is offered."
    if a.recalibrator is not None and _has_map(a):
        updated = (
            f"A recalibration map ({a.recalibrator.method_}) was fitted on these rows. It counts as updating only if "
            "you use it."
        )
        results = "What is proven of the map, on rows that it was not fitted to: see the part on recalibration below."
    return [
        ("12d", "How differences between clusters (such as hospitals) were handled", groups),
        (
            "12e",
            "All measures and plots used to evaluate performance, with reasons",
            "AUROC (discrimination), calibration plot, net benefit with decision curve (clinical utility), and risk "
            "distribution by outcome, which STRATOS calls essential; beside them observed : expected, calibration "
            "intercept and slope, Brier score and skill. Reasons for your choice are yours to give.",
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
