"""One assessment as a part of the page: the verdict, places for the charts, tables, the method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from importlib.metadata import version
from operator import attrgetter, itemgetter

from brolly.assessment.result import Assessment
from brolly.assessment.segments import SegmentTable
from brolly.core.text import percent as exact_percent
from brolly.core.text import rows as rows_text
from brolly.core.text import short
from brolly.report.html_tables import Column, count, folded, items, number, percent, table

MAX_SEGMENTS = 500  # on one page: more would not be read, and would make it heavy
DRAWN_SEGMENTS = 40  # in the chart, as page.js has it
GRADES = {  # in words as well as in colours
    "use": ("✓", "Use"),
    "recalibrate": ("!", "Recalibrate"),
    "avoid": ("✗", "Avoid"),
    "unknown": ("?", "Not enough rows"),
}
REFERENCES = (
    "Bairaktari, Hu, Nguyen, Ullman (2026), Testable and Actionable Calibration for Full Swap Regret, arXiv:2605.17749 "
    "(SCDL, the guarantee for rounded forecasts).",
    "Hu, Wu (2024), Predict to Minimize Swap Regret for All Payoff-Bounded Tasks, arXiv:2404.13503 (CDL).",
    "Benjamini, Hochberg (1995), Controlling the false discovery rate, doi:10.1111/j.2517-6161.1995.tb02031.x "
    "(segments).",
)


def fields(a: Assessment, index: int, *, alone: bool, hidden_segments: int = 0) -> dict[str, str]:
    """Return what goes into the places of article.html."""
    icon, badge = GRADES[a.verdict.grade]
    name, m_star = a.name or "The forecast", a.profile.m_star
    return {
        "index": str(index),
        "name": escape(name),
        "heading": "" if alone else f'<h2 class="model">{escape(name)}</h2>',
        "grade": a.verdict.grade,
        "icon": icon,
        "badge": escape(badge),
        "headline": escape(a.verdict.headline),
        "sentences": "".join(f'<li class="about-{s.about}">{escape(s.text)}</li>' for s in a.verdict.sentences),
        "rows": escape(_rows(a)),
        "tiles": _tiles(a),
        "advice": escape(_first_advice(a)),
        "confidence_level": exact_percent(a.confidence_level),
        "grid": str(a.shown_grid),
        "crossing": "" if m_star == float("inf") else f" (m* = {m_star})",
        "advice_table": _advice_table(a),
        "reliability_table": _reliability_table(a),
        "profile_table": _profile_table(a),
        "measures_table": _measures_table(a),
        "segments": "" if a.segments is None else _segments(a.segments, index, hidden_segments),
        "method": _method(a),
    }


def _rows(a: Assessment) -> str:
    weighted = f", weighted ({count(a.summary.effective_n)} effective rows)" if a.summary.weighted else ""
    return f"{rows_text(a.summary.n)}{weighted}; event rate {percent(a.summary.event_rate)}."


def _tile(term: str, value: str, more: str) -> str:
    return (
        f'<div><dt>{escape(term)}</dt><dd class="value">{escape(value)}</dd><dd class="more">{escape(more)}</dd></div>'
    )


def _tiles(a: Assessment) -> str:
    return "".join(_tile(answer.question, answer.value, answer.meaning) for answer in a.verdict.answers)


def _first_advice(a: Assessment) -> str:
    """The advice that stands there before the slider is moved, or where scripts are off."""
    own = a.task.task.thresholds if a.task else ()
    nearest = a.advice_at(own[0] if len(own) == 1 else 0.5)
    return f"If you act from {number(nearest.threshold)} on: {nearest}"


def _advice_table(a: Assessment) -> str:
    columns = [
        Column("Threshold", attrgetter("threshold"), number),
        Column("Cost of a false alarm / cost of a miss", attrgetter("cost_ratio"), number),
        Column("Loss per row", attrgetter("regret"), number),
        Column("Share of the stakes", attrgetter("share_of_stakes"), percent),
        Column("By chance up to", attrgetter("null_high"), number),
        Column("Advice", str),
    ]
    return folded("Advice for every threshold, as a table", table("Advice by threshold", "advice", columns, a.advice))


def _numbered(*columns: tuple[str, Callable[[float], str]]) -> list[Column]:
    """Columns of rows that are tuples, by position."""
    return [Column(head, itemgetter(i), shown) for i, (head, shown) in enumerate(columns)]


def _reliability_table(a: Assessment) -> str:
    columns = _numbered(
        ("Prediction", number),
        ("Rows", count),
        ("Event rate", number),
        ("Low", number),
        ("High", number),
        ("Calibrated: low", number),
        ("Calibrated: high", number),
    )
    bins, null = a.reliability.bins, a.reliability
    arrays = (bins.prediction, bins.share * bins.n, bins.event_rate, bins.low, bins.high, null.null_low, null.null_high)
    rows = list(zip(*(array.tolist() for array in arrays), strict=True))
    return folded("These points as a table", table("Event rate by prediction", "reliability", columns, rows))


def _profile_table(a: Assessment) -> str:
    columns = _numbered(("m", count), ("SCDL on the grid 1/m", number), ("1/m", number))
    arrays = (a.profile.grids, a.profile.losses, 1 / a.profile.grids)
    rows = list(zip(*(array.tolist() for array in arrays), strict=True))
    return folded("These points as a table", table("SCDL by grid", "profile", columns, rows))


def _measures_table(a: Assessment) -> str:
    columns = [
        Column("Measure", attrgetter("measure.symbol")),
        Column("Value", attrgetter("value"), number),
        Column("Whose regret a small value bounds", attrgetter("measure.actionable")),
        Column("Name in brolly", attrgetter("measure.name")),
    ]
    return table("All measures", "measures", columns, a.measures)


def _segments(segments: SegmentTable, index: int, hidden: int) -> str:
    columns = [
        Column(short(" / ".join(segments.by)), attrgetter("label"), short),
        Column("Rows", attrgetter("n"), count),
        Column("Event rate", attrgetter("event_rate"), percent),
        Column("SCDL", attrgetter("value"), number),
        Column("Low", attrgetter("low"), number),
        Column("High", attrgetter("high"), number),
        Column("If calibrated", attrgetter("null_mean"), number),
        Column("p-value", attrgetter("p_value"), number),
        Column("q-value", attrgetter("q_value"), number),
        Column("Test", attrgetter("status")),
    ]
    options = "".join(f'<option value="{i}">{escape(short(s.label))}</option>' for i, s in enumerate(segments.rows))
    note = f"<p>{count(hidden)} more segments are not on this page.</p>" if hidden else ""
    return (
        f'<section class="card" aria-labelledby="segments-{index}"><h2 id="segments-{index}">Segments</h2>'
        f'<p class="picker segment-picker" hidden><label for="segment-{index}">Show a segment</label> '
        f'<select id="segment-{index}"><option value="-1">all</option>{options}</select></p>'
        f'<p class="segment-status" role="status"></p>'
        f'<figure><div class="chart" data-chart="segments"></div><figcaption>{escape(_about(segments))}</figcaption>'
        "</figure>"
        + note
        + table("Segments", "segments", columns, segments.rows, flagged=attrgetter("flagged"))
        + "</section>"
    )


def _about(segments: SegmentTable) -> str:
    """The caption of the chart of segments."""
    level = segments.interval_level
    intervals = (
        ""
        if level is None
        else f" Intervals are at {exact_percent(level)} each, so that on average at most {exact_percent(segments.fdr)} "
        "of the intervals shown miss (Benjamini and Yekutieli)."
    )
    most = f" The chart shows the {DRAWN_SEGMENTS} largest values." if len(segments.rows) > DRAWN_SEGMENTS else ""
    return (
        "SCDL of each segment. Red: miscalibrated beyond chance, at a false discovery rate of "
        f"{exact_percent(segments.fdr)} (Benjamini and Hochberg). Grey dot: not tested, fewer than "
        f"{count(segments.min_rows)} rows. Grey tick: the mean of a calibrated forecast with as many rows."
        f"{intervals}{most}"
    )


def _method(a: Assessment) -> str:
    """What was computed, and where it is described."""
    words: list[str] = [
        "Probabilities are rounded at random to a neighbouring multiple of 1/m, so that their mean stays the same. The "
        "loss of acting on the rounded probabilities is measured against the best change of actions in hindsight. "
        "SCDL considers m = 2, 4, 8, ... and takes the grid where the loss meets 1/m.",
        f"The regret curve and the reliability diagram use the grid 1/{a.shown_grid}. Intervals of event rates: "
        f"{a.reliability.method}.",
        f"The guarantee ({a.guarantee.method} bound): {a.guarantee}",
        f"The guarantee for rounded probabilities: {a.rounded_guarantee}",
    ]
    if a.test is not None:
        words.append(
            f"The test redraws all outcomes {count(a.test.n_resamples)} times as if the probabilities were right."
        )
    if a.recalibrator is not None:
        words.append(f"Recalibration: {a.recalibrator.certificate_}")
    if a.summary.compressed is not None:
        words.append(f"The rows were compressed to a grid of {count(a.summary.compressed)} cells, which keeps SCDL.")
    seed = "a generator of the caller" if a.seed is None else f"seed {a.seed}"
    words.append(f"Random numbers: {seed}. brolly {version('brolly')}.")
    return f"<ul>{items(words)}</ul><h3>References</h3><ul>{items((*REFERENCES, *_sources(a)))}</ul>"


def _sources(a: Assessment) -> Sequence[str]:
    """The source of each measure, measures with the same source together."""
    sources: dict[str, list[str]] = {}
    for e in a.measures:
        sources.setdefault(e.measure.reference, []).append(e.measure.symbol)
    return [f"{'; '.join(symbols)}: {reference}." for reference, symbols in sources.items()]
