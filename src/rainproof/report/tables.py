"""The tables and lists of the page, written out so that they can be read without scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np

from rainproof.assessment.costs import TaskResult
from rainproof.assessment.result import Assessment
from rainproof.assessment.segments import Segment, SegmentTable, by_loss
from rainproof.core.arrays import Floats
from rainproof.core.text import KEEPS_RANKING, finite, html_element, short
from rainproof.core.text import percent as exact_percent
from rainproof.core.text import rows as rows_text
from rainproof.recalibration.recalibrator import Recalibrator


class Column(NamedTuple):
    """One column of a table: its head, how to get the value from a row, and how to show it."""

    head: str
    value: Callable[[Any], Any]
    shown: Callable[[Any], str] | None = None  # None: the value is text; short: a name, whose cell has a title if cut


def number(value: float | None) -> str:
    """Format a number to three digits."""
    return "\u2013" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def percent(share: float | None) -> str:
    """Format a share in percent."""
    return "\u2013" if share is None else f"{100 * share:.3g}%"


def count(value: float) -> str:
    """Format a number of things: 12,345."""
    return f"{value:,.0f}"


def items(texts: Iterable[str]) -> str:
    """Return list items of plain text."""
    return "".join(f"<li>{escape(text)}</li>" for text in texts)


def table(
    caption: str,
    name: str,
    columns: Sequence[Column],
    rows: Sequence[Any],
    *,
    flagged: Callable[[Any], bool] = lambda _: False,
    order: Iterable[int] | None = None,
) -> str:
    """Return a table that scripts make sortable and downloadable; cells keep numbers at full precision.

    Rows for which `flagged` is true get the class of that name. `order` is that of the rows, by index.
    """
    body, head = [], ""
    for column in columns:
        kind = {} if column.shown in (None, short) else {"class_": "number"}
        head += html_element("th", escape(column.head), scope="col", **kind)
    for index in range(len(rows)) if order is None else order:
        row = rows[index]
        marks = {"data_row": str(index)} | ({"class_": "flagged"} if flagged(row) else {})
        body.append(html_element("tr", "".join(_cell(column, row) for column in columns), **marks))
    inside = f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody>"
    shown = html_element("table", inside, class_=name, data_name=name)
    return html_element("div", shown, class_="scroll", role="region", tabindex="0", aria_label=caption)


def folded(summary: str, inside: str) -> str:
    """Return something that readers can unfold."""
    return f"<details><summary>{escape(summary)}</summary>{inside}</details>"


def keys(lines: Iterable[tuple[str, str]]) -> str:
    """The keys of a chart: each name beside its line, or band."""
    found = "".join(
        f'<li><svg width="22" height="10" aria-hidden="true"><path class="key-{kind}" d="M0,5H22"/></svg>'
        f"{escape(name)}</li>"
        for kind, name in lines
    )
    return f'<ul class="keys">{found}</ul>'


def _cell(column: Column, row: Any) -> str:
    value = column.value(row)
    if column.shown is None:
        return html_element("td", escape(str(value)), class_="text")
    if column.shown is short:
        title = {} if short(value) == value else {"title": value}
        return html_element("td", escape(short(value)), class_="text", **title)
    value = finite(value)  # an infinite log score has no digits
    exact = "" if value is None else repr(value)
    return html_element("td", escape(column.shown(value)), class_="number", data_value=exact)


MAX_SEGMENTS = 500  # on one page: more would not be read, and would make it heavy
DRAWN_SEGMENTS = 40  # in the chart, as page.js has it


def numbered(*columns: tuple[str, Callable[[float], str]], start: int = 0) -> list[Column]:
    """Columns of rows that are tuples, by position."""
    return [Column(head, itemgetter(i), shown) for i, (head, shown) in enumerate(columns, start)]


def values_at_thresholds(a: Assessment) -> dict[str, list[float]]:
    """The value at each threshold that there is advice for: as it is, recalibrated, perfect; and that of no forecast.

    ``always`` and ``never`` are costs per row, where a false alarm costs the threshold and a miss 1 minus it. The net
    benefit of never acting is 0.
    """
    curve, mu = a.value, np.array([found.threshold for found in a.advice])
    rate = curve.event_rate

    def at(values: Floats) -> list[float]:
        found: list[float] = a.value._at(mu, values).tolist()
        return found

    return {
        "threshold": mu.tolist(),
        "value": at(curve.value),
        "value_recalibrated": at(curve.value_recalibrated),
        "value_perfect": at(curve.value_perfect),
        "always": (mu * (1 - rate)).tolist(),
        "never": ((1 - mu) * rate).tolist(),
        "null_low": a.null_band.value_low.tolist(),
        "null_high": a.null_band.value_high.tolist(),
        "net_benefit": [found.net_benefit for found in a.advice],
        "net_benefit_always": ((rate - mu) / (1 - mu)).tolist(),
    }


def value(a: Assessment) -> str:
    """The decision curve."""
    heads = ["Threshold", "As it is", "Recalibrated", "Perfect foresight", "Cost: always acting", "Cost: never acting"]
    heads += ["Calibrated: low", "Calibrated: high", "Net benefit: as it is", "Net benefit: always acting"]
    columns = numbered(*((head, number) for head in heads))
    rows = list(zip(*values_at_thresholds(a).values(), strict=True))
    return folded("As a table", table("Decision curve: gain per case over no forecast", "value", columns, rows))


def reliability(a: Assessment) -> str:
    """The reliability diagram."""
    heads = ("Event rate", "Low", "High", "Calibrated: low", "Calibrated: high")
    first = [("Prediction (grid)", number), ("Mean prediction", number), ("Rows", count)]
    columns = numbered(*first, *((head, number) for head in heads))
    bins, null = a.reliability.bins, a.reliability
    arrays = (bins.prediction, bins.mean_prediction, bins.share * bins.n, bins.event_rate, bins.low, bins.high)
    rows = list(zip(*(array.tolist() for array in (*arrays, null.null_low, null.null_high)), strict=True))
    return folded("As a table", table("Event rate by prediction", "reliability", columns, rows))


def costs(found: TaskResult, confidence_level: float) -> str:
    """The cost per case of the user's own decision, by rule."""
    if not found.costs:
        return ""
    rows = [(found.label(rule), cost.value, cost.low, cost.high) for rule, cost in found.costs.items()]
    heads = (("Cost per case", number), ("Low", number), ("High", number))
    columns = [Column("Acting on", itemgetter(0)), *numbered(*heads, start=1)]
    words = (
        f"{found.task} Cost per case, in your units, on {rows_text(found.n)}; those of the map and the cut-off were "
        f"measured on {rows_text(found.n_held_out)} that they were not fitted to. Approximate "
        f"{exact_percent(confidence_level)} intervals."
    )
    return (
        f'<h3>Cost per case</h3><figure><div class="chart" data-chart="costs"></div><figcaption>{escape(words)}'
        f"</figcaption></figure>{table('Cost per case', 'cost-per-case', columns, rows)}"
    )


def advice(a: Assessment) -> str:
    """The advice for every threshold."""
    columns = [
        Column("Threshold", attrgetter("threshold"), number),
        Column("Cost of a false alarm / cost of a miss", attrgetter("cost_ratio"), number),
        Column("Loss per row", attrgetter("regret"), number),
        Column("Share of what is at stake", attrgetter("share_of_stakes"), percent),
        Column("Net benefit", attrgetter("net_benefit"), number),
        Column("By chance up to", attrgetter("null_high"), number),
        Column("Advice", str),
    ]
    return folded("Advice for every threshold, as a table", table("Advice by threshold", "advice", columns, a.advice))


def profile(a: Assessment) -> str:
    """SCDL by grid."""
    columns = numbered(("m", count), ("SCDL on the grid 1/m", number), ("1/m", number))
    arrays = (a.profile.grids, a.profile.losses, 1 / a.profile.grids)
    rows = list(zip(*(array.tolist() for array in arrays), strict=True))
    return table("SCDL by grid", "profile", columns, rows)


def measures(a: Assessment) -> str:
    """All measures."""
    columns = [
        Column("Measure", attrgetter("symbol")),
        Column("Value", attrgetter("value"), number),
        Column("Whose regret a small value bounds", attrgetter("actionable")),
        Column("Name in rainproof", attrgetter("name")),
    ]
    return table("All measures", "measures", columns, a.measures)


def candidates(found: Recalibrator) -> str:
    """The methods of recalibration that were tried."""
    if not found.candidates_:
        return ""
    columns = [
        Column("Method", attrgetter("method")),
        Column("Weight", attrgetter("weight"), percent),
        Column("Log loss", attrgetter("log_loss"), number),
        Column("Brier score", attrgetter("brier_score"), number),
    ]
    caption = "Methods of recalibration, by cross-validation, and the weight of each in the map"
    return table(caption, "candidates", columns, found.candidates_)


def segments(found: SegmentTable, index: int, hidden: int) -> str:
    """The segments: those miscalibrated beyond chance first, then the others, each by loss."""
    columns = [
        Column(short(" / ".join(found.by)), attrgetter("label"), short),
        Column("Rows", attrgetter("n"), count),
        Column("Event rate", attrgetter("event_rate"), percent),
        Column("Loss on these rows", attrgetter("loss"), percent),
        Column("Expected loss at most", attrgetter("loss_bound"), percent),
        Column("Test", attrgetter("status")),
        Column("Your cost per case", attrgetter("cost"), number),
        Column("Your cost without a forecast", attrgetter("cost_without"), number),
        Column("p-value", attrgetter("p_value"), number),
        Column("q-value", attrgetter("q_value"), number),
        Column("SCDL", attrgetter("value"), number),
        Column("SCDL: low", attrgetter("low"), number),
        Column("SCDL: high", attrgetter("high"), number),
        Column("SCDL if calibrated", attrgetter("null_mean"), number),
    ]
    if not any(row.cost is not None for row in found.rows):
        columns = [column for column in columns if not column.head.startswith("Your cost")]
    options = "".join(f'<option value="{i}">{escape(short(s.label))}</option>' for i, s in enumerate(found.rows))
    note = f"<p>{count(hidden)} more segments are not on this page.</p>" if hidden else ""
    order = sorted(range(len(found.rows)), key=lambda i: flagged_first(found.rows[i]))
    return (
        f'<section class="card" aria-labelledby="segments-{index}"><h2 id="segments-{index}">Segments</h2>'
        f'<p class="picker segment-picker" hidden><label for="segment-{index}">Show a segment</label> '
        f'<select id="segment-{index}"><option value="-1">all</option>{options}</select></p>'
        f'<p class="segment-status" role="status"></p>'
        f'<figure><div class="chart" data-chart="segments"></div><figcaption>{escape(_about(found))}</figcaption>'
        "</figure>"
        + note
        + table("Segments", "segments", columns, found.rows, flagged=attrgetter("flagged"), order=order)
        + _about_scdl(found)
        + "</section>"
    )


def flagged_first(row: Segment) -> tuple[bool, bool, float, float]:
    """What to sort by: in small segments chance alone makes large losses, so those beyond chance come first."""
    return not row.flagged, *by_loss(row)


def _about(found: SegmentTable) -> str:
    """The caption of the chart of segments."""
    most = f" The chart shows the first {DRAWN_SEGMENTS}." if len(found.rows) > DRAWN_SEGMENTS else ""
    return (
        "Dot: the largest loss of any decision on the segment's rows, acting on the probabilities as they are, "
        f"{KEEPS_RANKING}. Line: up to the bound of the expected loss, at "
        f"{exact_percent(1 - found.fdr)} for each segment by itself. Red: miscalibrated beyond chance (false discovery "
        f"rate {exact_percent(found.fdr)}, Benjamini and Hochberg); these come first. No dot: fewer than "
        f"{count(found.min_rows)} rows."
        f"{most}"
    )


def _about_scdl(found: SegmentTable) -> str:
    """How to read SCDL in the table of segments."""
    intervals = ""
    if found.interval_level is not None:
        intervals = (
            f" Its intervals, for the population, are at {percent(found.interval_level)} each, so that on average at "
            f"most {exact_percent(found.fdr)} of them miss (Benjamini and Yekutieli); a value above its interval is "
            "inflated by chance."
        )
    return f'<p class="small">SCDL moves in steps of 1/m: rank segments by loss.{escape(intervals)}</p>'
