"""The clinical preset of the page: the core set in the order of STRATOS, and the items of TRIPOD+AI it serves."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rainproof.assessment.assess_many import AssessmentSet
from rainproof.assessment.clinical import NUMBERS, ClinicalPerformance
from rainproof.assessment.result import Assessment
from rainproof.core.text import finite, short
from rainproof.core.text import percent as exact_percent
from rainproof.inference.influence import IntervalEstimate
from rainproof.report import assessment_tables as tables
from rainproof.report.assessment_page import PALE_ROWS
from rainproof.report.html_tables import Column, count, folded, keys, number, table

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


def fields(a: Assessment, index: int) -> dict[str, str]:
    """Return what goes into the places of clinical.html."""
    found, level = a.clinical, exact_percent(a.confidence_level)
    return {
        "index": str(index),
        "tiles": "".join(_tile(_SHORT[name], perfect, getattr(found, name)) for name, _, perfect in NUMBERS),
        "notes": "".join(f'<p class="note">{escape(note)}</p>' for note in found.notes),
        "confidence_level": level,
        "calibration_keys": keys(_calibration_lines(a)),
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


def _tile(name: str, perfect: str, value: IntervalEstimate | None) -> str:
    ends = "" if value is None else " to ".join(number(finite(end)) for end in (value.low, value.high))
    interval = f'<dd class="more">{ends}</dd>' if ends else ""
    shown = "not defined" if value is None else number(value.value)
    return f'<div><dt>{name}</dt><dd class="value">{shown}</dd>{interval}<dd class="more">perfect: {perfect}</dd></div>'


def _calibration_lines(a: Assessment) -> list[tuple[str, str]]:
    lines, method = [("forecast", "smoothed event rate"), ("perfect", "calibrated")], _method(a)
    return lines if method == "none" else [*lines, ("map", f"recalibration map ({method})")]


def _method(a: Assessment) -> str:
    return "none" if a.recalibrator is None else a.recalibrator.method_


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
    everybody = (curve.treat_all, curve.treat_all_low, curve.treat_all_high)
    rows = list(zip(*(array.tolist() for array in (*arrays, *everybody)), strict=True))
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
    columns = [Column("Item", lambda row: row[0]), Column("Asks for", lambda row: row[1])]
    columns.append(Column("On this page", lambda row: row[2]))
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
    by = (
        None
        if a.segments is None
        else f"{count(len(a.segments.rows))} segments: loss and SCDL of each, not the core set."
    )
    return [
        ("12d", "How differences between clusters (such as hospitals) were handled", groups),
        (
            "12e",
            "All measures and plots used to evaluate performance, with reasons",
            "AUROC (discrimination), calibration plot, net benefit with decision curve (clinical utility), and risk "
            "distribution by outcome, which STRATOS calls essential; beside them observed : expected, calibration "
            "intercept and slope, Brier score and skill. Reasons for your choice are yours to give.",
        ),
        (
            "12f",
            "Any updating of the model, such as recalibration",
            _updating(
                a, "A recalibration map ({}) was fitted on these rows. It counts as updating only if you use it."
            ),
        ),
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
        (
            "24",
            "Results of model updating",
            _updating(
                a, "What is proven of the map, on rows that it was not fitted to: see the part on recalibration below."
            ),
        ),
    ]


def _updating(a: Assessment, words: str) -> str:
    """What the page says of a recalibration map, if there is one."""
    method = _method(a)
    return "No recalibration map is offered." if method == "none" else words.format(method)
