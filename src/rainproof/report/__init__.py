"""The report: an assessment as one HTML page that needs no network, no other file and no program
but a browser.
"""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from html import escape
from importlib.resources import files
from operator import attrgetter, itemgetter
from pathlib import Path
from string import Template
from typing import Any, Literal

import numpy as np

from rainproof.core import VERSION
from rainproof.core.documents import check_replaced
from rainproof.core.files import check_suffix, write_atomic
from rainproof.core.text import one_line, short
from rainproof.errors import InputError
from rainproof.recalibration.certificate import HeldOutRates
from rainproof.report import pages, tables
from rainproof.report.tables import Column, escaped, folded, number, percent, table
from rainproof.verdict.classes import NAME, ClassAssessment
from rainproof.verdict.rankings import AssessmentSet, RankingVerdict
from rainproof.verdict.renderer import PYTHON, Renderer
from rainproof.verdict.result import Assessment
from rainproof.verdict.summaries import Estimate

__all__ = ["to_html"]

_SCRIPTS = ("vendor/d3.min.js", "vendor/plot.umd.min.js", "charts.js", "page.js")
_QUESTION = "Can these probabilities be acted on?"  # the title, if there is no other
_NO_SCRIPTS = (
    '<noscript><p class="note">Scripts are off: the text and the tables are complete; '
    "the charts, the slider and the downloads are missing.</p></noscript>"
)
_SOFTWARE = (
    "<details><summary>Software in this page</summary>"
    "<p>Made by rainproof {}. Charts by Observable Plot and D3, under these licences:</p>"
    '<pre tabindex="0" aria-label="Licences">{}</pre></details>'
)
# characters of a name on the page: more would take the browser seconds to lay out
_LONGEST_NAME = 500


def to_html(
    assessment: Assessment | AssessmentSet | ClassAssessment,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    preset: Literal["clinical"] | None = None,
    overwrite: bool = False,
    renderer: Renderer = PYTHON,
) -> str:
    """Return the report as the text of one HTML page, and write it to `path` if one is given.

    The page opens without a network: a Content-Security-Policy allows nothing but the scripts and
    styles that it was written with. Names of columns, segments and forecasts are shown as text.

    Parameters
    ----------
    assessment : Assessment, AssessmentSet or ClassAssessment
        What to show. The page of several classes has no scripts.
    path : path-like, optional
        The file to write, completely or not at all: an .html file.
    title : str, optional
        The title of the page, such as the name of the forecast or of the file.
    preset : {None, "clinical"}
        "clinical": after the verdict come the measures and plots that reports on clinical
        prediction models give, in the order of the STRATOS core set, and a table of the items of
        TRIPOD+AI that they serve.
    overwrite : bool
        Whether it may replace a file that is no report. A report is replaced in any case.
    renderer : Renderer
        Whether commands are those of Python or of a shell.

    Returns
    -------
    str
        The page. It shows at most 500 segments: those flagged first, then those with the largest
        loss.

    Notes
    -----
    Nothing is estimated here or in the page. The slider looks up the nearest threshold that the
    assessment holds advice for; costs are scaled to the user's units.
    """
    if path is not None:
        check_suffix(Path(path), "path", ".html", ".htm")
        check_replaced(Path(path), "report", overwrite=overwrite)
    if preset not in (None, "clinical"):
        raise InputError(f"preset must be None or 'clinical'; it is {preset!r}")
    if isinstance(assessment, ClassAssessment) and preset is not None:
        raise InputError("preset is for one event; the assessment has several classes")
    page = _page(assessment, escaped(title or _QUESTION), preset, renderer)
    # a name may hold half a character, which no file can
    text = page.encode("utf-8", "replace").decode()
    if path is not None:
        write_atomic(Path(path), text)
    return text


def _page(
    assessment: Assessment | AssessmentSet | ClassAssessment,
    title: str,
    preset: str | None,
    renderer: Renderer,
) -> str:
    """The page: of several classes it has no scripts."""
    whole: tuple[Assessment, ...] = ()
    top = ""
    shown = assessment
    if isinstance(assessment, ClassAssessment):
        top = _class_article(assessment, renderer)
    elif isinstance(assessment, AssessmentSet):
        whole = assessment.assessments
        top = _comparison(assessment, preset, renderer)
    else:
        whole = (assessment,)
    models = tuple(map(_with_few_segments, whole))
    if isinstance(assessment, AssessmentSet):
        shown = replace(assessment, assessments=models)
    elif models:
        shown = models[0]
    data = shown.to_dict_by(renderer)
    articles = []
    for index, (a, original) in enumerate(zip(models, whole, strict=True)):
        own = renderer if a.name is None else renderer.of_forecast(a.name)
        hidden = _segments(original) - _segments(a)
        fields = pages.fields(a, index, own, alone=not top, hidden_segments=hidden)
        articles.append(_article(a, index, preset, fields))
    style = _read("page.css")
    names: tuple[str, ...] = _SCRIPTS if models else ()
    if preset == "clinical":
        style += _read("clinical.css")
        names = (*_SCRIPTS[:-1], "clinical.js", _SCRIPTS[-1])
        for one, a in zip(data["assessments"] if top else [data], models, strict=True):
            one["clinical"] = a.clinical.to_dict()
    scripts = [_read(name) for name in names]
    notice = software = ""
    if scripts:
        notice = _NO_SCRIPTS
        software = _SOFTWARE.format(VERSION, escape(_read("vendor/LICENCES.txt")))
    more = []
    for a in models:
        more.append({"files": pages.downloads(a), "costs": tables.values_at_thresholds(a)})
    return Template(_read("page.html")).substitute(
        policy=_policy(style, scripts),
        version=escaped(data["rainproof"]),
        title=title,
        style=style,
        main=notice + top + "".join(articles),
        software=software,
        data=embedded(_in_lines(data)),
        more=embedded(more),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )


def _article(a: Assessment, index: int, preset: str | None, found: dict[str, str]) -> str:
    """The part of the page on one assessment; the preset decides what comes after the verdict."""
    first = _read("overview.html")
    own = found
    if preset == "clinical":
        first = "$asides" + _read("clinical.html")
        own = {**found, **pages.clinical_fields(a, index)}
    curve = Template(_read("curve.html")).substitute(pages.curve_fields(index, a))
    top = Template(first).substitute(own, curve=curve)
    return Template(_read("article.html")).substitute(found, first=top)


def _class_article(a: ClassAssessment, renderer: Renderer) -> str:
    """The part of the page on several classes: the verdict, a line for each class, and its
    reliability diagram.
    """
    found = a.verdict.rendered_by(renderer.as_html())
    diagrams = ""
    for one in a.classes[: tables.MAX_SEGMENTS]:
        if one.reliability is not None:
            marked = "flagged" if one.label in a.rejected else ""
            caption = escaped(short(str(one.label), NAME))
            diagrams += f'<figure><figcaption class="{marked}">{caption}</figcaption>'
            diagrams += f"{_diagram(one.reliability)}</figure>"
    intervals = ", with intervals of each bin by itself" if a.groups is None else ""
    return Template(_read("classes.html")).substitute(
        pages.verdict_fields(found, *pages.badge(found)),
        asides=pages.paragraphs(found.asides),
        ways=pages.ways(found, 0),
        classes=pages.side_by_side(a.class_table(tables.MAX_SEGMENTS), "classes"),
        intervals=intervals,
        diagrams=diagrams,
        sentences=tables.items(s.text for s in found.sentences if s.about != "note"),
        assess=pages.assess_line(renderer),
    )


def _diagram(rates: HeldOutRates) -> str:
    """A reliability diagram of one class."""
    points = 100 * np.stack([rates.prediction, rates.event_rate, rates.low, rates.high], axis=1)
    marks = ""
    for x, rate, low, high in points.tolist():
        if not rates.grouped:
            marks += f'<path class="bin" d="M{x:.2f} {100 - low:.2f}V{100 - high:.2f}"/>'
        marks += f'<circle cx="{x:.2f}" cy="{100 - rate:.2f}" r="2.2"/>'
    ends = ""
    for x in (0, 50, 100):
        ends += f'<text x="{x}" y="109" text-anchor="middle">{x}%</text>'
        ends += f'<text x="-3" y="{102 - x}" text-anchor="end">{x}%</text>'
    frame = '<path d="M0 0V100H100"/><path d="M0 100L100 0" stroke-dasharray="3"/>'
    return (
        '<svg viewBox="-22 -4 132 118" role="img" aria-label="Reliability '
        f'diagram">{frame}{ends}{marks}</svg>'
    )


def _in_lines(data: Any) -> Any:
    """What charts show: names in one line each, so that none adds a line to a tip or turns text
    around.
    """
    if isinstance(data, str):
        return one_line(data)
    if isinstance(data, dict):
        return {key: part if key == "text" else _in_lines(part) for key, part in data.items()}
    if isinstance(data, list) and data and not isinstance(data[0], int | float):
        return [_in_lines(part) for part in data]
    return data


def embedded(data: Any) -> str:
    """Return JSON that can stand in a script element: nothing in it ends the element or means
    anything to HTML.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # a lone surrogate becomes \udc80, as JSON writes it
    return text.encode("utf-8", "backslashreplace").decode()


@cache
def _read(name: str) -> str:
    return files("rainproof.report").joinpath(name).read_text("utf-8")


def _policy(style: str, scripts: list[str]) -> str:
    """Allow these scripts and this style by their hashes, and no connection, frame, form or
    plug-in.
    """
    hashes = " ".join(map(_hash, scripts)) or "'none'"
    allowed = f"script-src {hashes}; style-src {_hash(style)}; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _with_few_segments(a: Assessment) -> Assessment:
    """The assessment with no more segments than a page can show, nor longer names."""
    if a.segments is None:
        return a
    rows = a.segments.rows
    if len(rows) > tables.MAX_SEGMENTS:
        rows = tuple(sorted(rows, key=tables.flagged_first)[: tables.MAX_SEGMENTS])
    shown = []
    for row in rows:
        shown.append(replace(row, key=tuple(short(part, _LONGEST_NAME) for part in row.key)))
    return replace(a, segments=replace(a.segments, rows=tuple(shown)))


def _segments(a: Assessment) -> int:
    return 0 if a.segments is None else len(a.segments.rows)


def _comparison(found: AssessmentSet, preset: str | None, renderer: Renderer) -> str:
    """The part of the page above the single assessments where there are several."""
    shown = found.rendered_by(renderer.as_html())
    forecasts = _forecasts_table(shown)
    if preset == "clinical":
        forecasts += pages.comparison(found)
    options = ""
    for index, name in enumerate(found):
        options += f'<option value="{index}">{escaped(name)}</option>'
    return Template(_read("comparison.html")).substitute(
        headline=shown.headline,
        next_step=shown.next_step,
        commands=pages.code(shown.commands),
        forecasts=forecasts,
        curve=Template(_read("curve.html")).substitute(pages.curve_fields("all", None)),
        measures=folded("All measures of all forecasts", _measures_table(found)),
        about="".join(f'<p class="small">{text}</p>' for text in shown.about_standings),
        pairs=_pairs(found, shown.pair_limits) if found.pairs else "",
        options=options,
    )


def _forecasts_table(shown: RankingVerdict) -> str:
    """One row per forecast, best first, then rules without a forecast: as in the terminal."""
    head, *lines = shown.standings
    heads = [name[:1].upper() + name[1:] for name in head]
    columns = [Column(name, itemgetter(k), None if k else short) for k, name in enumerate(heads)]
    return table("Forecasts, best first as they are", "models", columns, lines)


def _measures_table(found: AssessmentSet) -> str:
    """One row per measure, one column per forecast."""

    def column(index: int, name: str) -> Column:
        return Column(name, lambda row: row[index].value, number)

    columns = [
        Column("Measure", lambda row: row[0].symbol),
        *(column(i, name) for i, name in enumerate(found)),
    ]
    rows: Sequence[tuple[Estimate, ...]] = list(
        zip(*(a.measures for a in found.assessments), strict=True)
    )
    return table("All measures", "forecasts", columns, rows)


def _pairs(found: AssessmentSet, limits: str) -> str:
    columns = [
        Column("a", attrgetter("a")),
        Column("b", attrgetter("b")),
        Column(
            "Cost of a minus b",
            lambda pair: pair.cost_difference and pair.cost_difference.value,
            number,
        ),
        Column(
            "From a to b: gain at least",
            lambda pair: pair.to_b and pair.to_b.gain_at_least,
            percent,
        ),
        Column("loss at most", lambda pair: pair.to_b and pair.to_b.harm_bound, percent),
        Column(
            "From b to a: gain at least",
            lambda pair: pair.to_a and pair.to_a.gain_at_least,
            percent,
        ),
        Column("loss at most ", lambda pair: pair.to_a and pair.to_a.harm_bound, percent),
    ]
    title = "Pairs of forecasts (gains and losses as shares of what is at stake)"
    inside = f"<p>{limits}</p>{table(title, 'pairs', columns, found.pairs)}"
    return folded("Pairs of forecasts", inside)
