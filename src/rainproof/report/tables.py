"""The tables and lists of the page, written out so that they can be read without scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np

from rainproof.core.arrays import Floats
from rainproof.core.text import at_most, finite, html_element, one_line, p_cell, short
from rainproof.core.validation import ThresholdRange
from rainproof.recalibration.recalibrator import Recalibrator
from rainproof.verdict.advice_statements import advice_limits
from rainproof.verdict.costs import TaskResult
from rainproof.verdict.facts import rows as rows_of
from rainproof.verdict.facts import whole
from rainproof.verdict.renderer import PYTHON
from rainproof.verdict.result import Assessment
from rainproof.verdict.segments import Segment, SegmentTable, by_loss
from rainproof.verdict.statements import Statement, say
from rainproof.verdict.values import Level, Share, shares_apart

HTML = PYTHON.as_html()


class Column(NamedTuple):
    """One column of a table: its head, how to get the value from a row, and how to show it."""

    head: str
    value: Callable[[Any], Any]
    # None: the value is text; short: a name, whose cell has a title if cut
    shown: Callable[[Any], str] | None = None
    text: Callable[[Any], str] | None = None  # of a number that is shown beside another, by the row


def escaped(text: str) -> str:
    """Text as HTML: what cannot be seen in a name, such as a mark of direction, is escaped as on a
    terminal.
    """
    return escape(one_line(text))


def number(value: float | None) -> str:
    """Format a number to three digits."""
    return "\u2013" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def percent(value: float | None) -> str:
    """Format a share in percent."""
    return "\u2013" if value is None else str(Share(value))


def bound(share: float | None) -> str:
    """Format an upper bound in percent."""
    return "\u2013" if share is None else at_most(min(share, 1.0))


def p_value(value: float | None) -> str:
    """Format a p-value."""
    return "\u2013" if value is None else p_cell(value)


def count(value: float) -> str:
    """Format a number of things: 12,345."""
    return f"{value:,.0f}"


def items(texts: Iterable[str]) -> str:
    """Return list items of what is HTML already."""
    return "".join(f"<li>{text}</li>" for text in texts)


def table(
    caption: str,
    name: str,
    columns: Sequence[Column],
    rows: Sequence[Any],
    *,
    flagged: Callable[[Any], bool] = lambda _: False,
    order: Iterable[int] | None = None,
) -> str:
    """Return a table that scripts make sortable and downloadable; cells keep numbers at full
    precision.

    Rows for which `flagged` is true get the class of that name. `order` is that of the rows, by
    index.
    """
    body = []
    head = ""
    for column in columns:
        kind = {} if column.text is None and column.shown in (None, short) else {"class_": "number"}
        head += html_element("th", escaped(column.head), scope="col", **kind)
    for index in range(len(rows)) if order is None else order:
        row = rows[index]
        marks = {"data_row": str(index)} | ({"class_": "flagged"} if flagged(row) else {})
        body.append(html_element("tr", "".join(_cell(column, row) for column in columns), **marks))
    titles = f"<caption>{escaped(caption)}</caption><thead><tr>{head}</tr></thead>"
    inside = f"{titles}<tbody>{''.join(body)}</tbody>"
    shown = html_element("table", inside, class_=name, data_name=name)
    return html_element(
        "div", shown, class_="scroll", role="region", tabindex="0", aria_label=caption
    )


def folded(summary: str, inside: str) -> str:
    """Return something that readers can unfold."""
    return f"<details><summary>{escaped(summary)}</summary>{inside}</details>"


def keys(lines: Iterable[tuple[str, str]]) -> str:
    """The keys of a chart: each name beside its line, or band."""
    found = "".join(
        f'<li><svg width="22" height="10" aria-hidden="true"><path class="key-{kind}" '
        f'd="{"M11,5h0" if kind == "points" else "M0,5H22"}"/></svg>{escaped(name)}</li>'
        for kind, name in lines
    )
    return f'<ul class="keys">{found}</ul>'


def _cell(column: Column, row: Any) -> str:
    value = column.value(row)
    if column.text is not None:
        return html_element(
            "td", escaped(column.text(row)), class_="number", data_value=repr(value)
        )
    if column.shown is None:
        return html_element("td", escaped(str(value)), class_="text")
    if column.shown is short:
        title = {} if short(value) == value else {"title": value}
        return html_element("td", escaped(short(value)), class_="text", **title)
    value = finite(value)  # an infinite log score has no digits
    exact = "" if value is None else repr(value)
    return f'<td class="number" data-value="{exact}">{escaped(column.shown(value))}</td>'


MAX_SEGMENTS = 500  # on one page: more would not be read, and would make it heavy
DRAWN_SEGMENTS = 40  # in the chart, as page.js has it


def table_of(caption: str, name: str, columns: Mapping[str, Any]) -> str:
    """A table of numbers, from columns by their heads; "m" and "Rows" are counts."""
    heads = [
        Column(head, itemgetter(k), count if head in ("m", "Rows") else number)
        for k, head in enumerate(columns)
    ]
    rows = list(zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True))
    return table(caption, name, heads, rows)


def values_at_thresholds(a: Assessment) -> dict[str, list[float]]:
    """The value at each threshold that there is advice for: as it is, recalibrated, perfect; and
    that of no forecast.

    ``always`` and ``never`` are costs per row, where a false alarm costs the threshold and a miss 1
    minus it. The net benefit of never acting is 0. What a calibrated forecast shows by chance ends
    at what is possible on these rows.
    """
    curve = a.value
    mu = np.array([found.threshold for found in a.advice])
    rate = curve.event_rate

    def at(values: Floats) -> list[float]:
        found: list[float] = a.value.interpolated(mu, values).tolist()
        return found

    perfect = at(curve.value_perfect)
    return {
        "threshold": mu.tolist(),
        "value": at(curve.value),
        "value_recalibrated": at(curve.value_recalibrated),
        "value_perfect": perfect,
        "always": (mu * (1 - rate)).tolist(),
        "never": ((1 - mu) * rate).tolist(),
        "null_low": np.minimum(a.null_band.value_low, perfect).tolist(),
        "null_high": np.minimum(a.null_band.value_high, perfect).tolist(),
        "net_benefit": [found.net_benefit for found in a.advice],
        "net_benefit_always": ((rate - mu) / (1 - mu)).tolist(),
    }


def value(a: Assessment) -> str:
    """The decision curve."""
    heads = ["Threshold", "As they are", "Recalibrated", "Perfect foresight", "Cost: always acting"]
    heads += ["Cost: never acting", "Calibrated: low", "Calibrated: high"]
    heads += ["Net benefit: as they are", "Net benefit: always acting"]
    columns = dict(zip(heads, values_at_thresholds(a).values(), strict=True))
    return table_of("Decision curve: gain per case over no forecast", "value", columns)


def reliability(a: Assessment) -> str:
    """The reliability diagram."""
    bins = a.reliability.bins
    null = a.reliability
    said = {
        "Prediction (grid)": bins.prediction,
        "Mean prediction": bins.mean_prediction,
        "Rows": bins.share * bins.n,
    }
    happened = {"Event rate": bins.event_rate, "Low": bins.low, "High": bins.high}
    chance = {"Calibrated: low": null.null_low, "Calibrated: high": null.null_high}
    return table_of("Event rate by prediction", "reliability", {**said, **happened, **chance})


def costs(found: TaskResult, confidence_level: float) -> str:
    """The cost per case of the user's own decision, by rule, as a chart: the verdict has the table.

    Once other costs are entered on the page, the chart follows these.
    """
    if not found.costs:
        return ""
    rows = rows_of(found.n)
    stated = HTML.text(say("costs_stated", rows=rows, level=Level(confidence_level)))
    entered = HTML.text(say("costs_entered", rows=rows))
    back = (
        '<p class="as-entered" hidden><button type="button" class="stated">Back to the stated '
        "decision</button></p>"
    )
    caption = (
        f'<span class="as-stated">{stated}</span><span class="as-entered" hidden>{entered}</span>'
    )
    chart = (
        '<figure><div class="chart" '
        f'data-chart="costs"></div><figcaption>{caption}</figcaption></figure>'
    )
    return f'<p class="small as-stated">{escaped(str(found.task))}</p>{back}{chart}'


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
    scope = HTML.text(advice_limits(a.evidence))
    return folded(
        "Advice for every threshold",
        f"<p>{scope}</p>{table('Advice by threshold', 'advice', columns, a.advice)}",
    )


def profile(a: Assessment) -> str:
    """SCDL by grid."""
    m = a.profile.grids
    return table_of(
        "SCDL by grid", "profile", {"m": m, "SCDL on the grid 1/m": a.profile.losses, "1/m": 1 / m}
    )


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


def segments(
    found: SegmentTable, line: str, index: int, hidden: int, within: ThresholdRange | None
) -> str:
    """The segments: those miscalibrated beyond chance first, then the others, each by loss; `line`
    is all in one, as HTML.
    """

    def said(row: Segment) -> tuple[Share, Share]:
        return shares_apart(row.mean_prediction, row.event_rate)

    columns = [
        Column(short(" / ".join(found.by)), attrgetter("label"), short),
        Column("Rows", attrgetter("n"), count),
        Column("Says", attrgetter("mean_prediction"), text=lambda row: str(said(row)[0])),
        Column("Happens", attrgetter("event_rate"), text=lambda row: str(said(row)[1])),
        Column("p", attrgetter("p_value"), p_value),
        Column("q", attrgetter("q_value"), p_value),
        Column("q after recalibration", attrgetter("q_value_recalibrated"), p_value),
        Column("Your cost", attrgetter("cost"), number),
        Column("Your cost without a forecast", attrgetter("cost_without"), number),
        Column("Loss on these rows", attrgetter("loss"), percent),
        Column("Expected loss at most", attrgetter("loss_bound"), bound),
    ]
    if not any(row.cost is not None for row in found.rows):
        columns = [column for column in columns if not column.head.startswith("Your cost")]
    if not found.recalibrated:
        columns = [column for column in columns if column.head != "q after recalibration"]
    options = "".join(
        f'<option value="{i}">{escaped(short(s.label))}</option>' for i, s in enumerate(found.rows)
    )
    note = ""
    if hidden:
        note = f"<p>{HTML.text(say('more_segments', count=whole(hidden)))}</p>"
    order = sorted(range(len(found.rows)), key=lambda i: flagged_first(found.rows[i]))
    return (
        f'<section class="card" aria-labelledby="segments-{index}">'
        f'<h2 id="segments-{index}">Segments</h2>'
        f"<p>{line}</p>{note}"
        + table(
            "Segments", "segments", columns, found.rows, flagged=attrgetter("flagged"), order=order
        )
        + '<p class="picker segment-picker" hidden>'
        f'<label for="segment-{index}">Show a segment</label> '
        f'<select id="segment-{index}"><option value="-1">all</option>{options}</select></p>'
        f'<p class="segment-status" role="status"></p>'
        '<figure><div class="chart" data-chart="segments"></div><figcaption>'
        "The largest loss of any decision on the segment's rows (dot), and the bound of the "
        "expected loss (end of the line); red: off beyond chance."
        "</figcaption></figure>"
        + folded("How to read it", f"<p>{HTML.text(_about(found, within))}</p>")
        + "</section>"
    )


def flagged_first(row: Segment) -> tuple[bool, bool, float, float]:
    """What to sort by: in small segments chance alone makes large losses, so those beyond chance
    come first.
    """
    return not row.flagged, *by_loss(row)


def _about(found: SegmentTable, within: ThresholdRange | None) -> Statement:
    """How to read the table and the chart of segments."""
    nothing = say("nothing")
    return say(
        "about_segments",
        fdr=Level(found.fdr),
        level=Level(1 - found.fdr),
        fewest=whole(found.min_rows),
        in_decisions=nothing if within is None else say("in_decisions", range=within),
        after=say("q_after") if found.recalibrated else nothing,
        drawn=say("first_drawn", count=DRAWN_SEGMENTS)
        if len(found.rows) > DRAWN_SEGMENTS
        else nothing,
    )
