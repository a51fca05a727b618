"""An assessment as one HTML file that needs nothing else: no network, no other file, no program but a browser."""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from operator import itemgetter as item
from pathlib import Path
from string import Template
from typing import Any, Protocol, runtime_checkable

from brolly.core.atomic_write import write_atomic
from brolly.report.assessment_page import MAX_SEGMENTS, fields
from brolly.report.html_tables import Column, Dict, number, table

_SCRIPTS = ("vendor/d3.min.js", "vendor/plot.umd.min.js", "charts.js", "page.js")


@runtime_checkable
class Assessed(Protocol):
    """An assessment, or several side by side."""

    def to_dict(self) -> dict[str, Any]:
        """All of it in built-in types."""


def render(assessment: Dict | Assessed, *, title: str | None = None) -> str:
    """The report as the text of one HTML file.

    It opens without a network and asks nobody for anything: a Content-Security-Policy forbids all but the scripts and
    styles it was written with. Whatever the data calls its columns and segments is shown as text.

    Parameters
    ----------
    assessment : Assessment, AssessmentSet, or what their ``to_dict()`` gives
        What to show.
    title : str, optional
        What to call it: the name of the forecast, of the file.

    Returns
    -------
    str
        The page. At most 500 segments are shown, those with the largest values.

    Notes
    -----
    Nothing is computed here or in the page: all numbers and sentences are the assessment's. The slider looks up the
    nearest of the thresholds that the assessment holds advice for.
    """
    data = dict(assessment.to_dict() if isinstance(assessment, Assessed) else assessment)
    several = data["result"] == "assessment_set"
    models = [_fit(a) for a in (data["assessments"] if several else [data])]
    data = {**data, "assessments": models} if several else models[0]
    main = "".join(_article(a, index, alone=not several) for index, a in enumerate(models))
    style, scripts = _read("page.css"), [_read(name) for name in _SCRIPTS]
    page = Template(_read("page.html")).substitute(
        policy=_policy(style, scripts),
        version=escape(data["brolly"]),
        title=escape(title or "Can these probabilities be acted on?"),
        style=style,
        main=(_comparison(data) if several else "") + main,
        licences=escape(_read("vendor/LICENCES.txt")),
        data=embedded(data),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )
    return page.encode("utf-8", "replace").decode()  # a name may hold half a character, which no file can


def write(assessment: Dict | Assessed, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write the report to a file, which is there whole or not at all (see `render`)."""
    to_html(assessment, path, title=title)


def to_html(
    assessment: Dict | Assessed, path: str | os.PathLike[str] | None = None, *, title: str | None = None
) -> str:
    """The report as text, and written to a file where one is named: what ``Assessment.to_html`` calls."""
    text = render(assessment, title=title)
    if path is not None:
        write_atomic(Path(path), text)
    return text


def embedded(data: Any) -> str:
    """JSON that can stand in a script element: nothing in it ends the element or means anything to HTML."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", "backslashreplace").decode()  # a lone surrogate becomes \udc80, which JSON can say


@cache
def _read(name: str) -> str:
    return files("brolly.report").joinpath(name).read_text("utf-8")


def _policy(style: str, scripts: list[str]) -> str:
    """Only these scripts and this style, by their hashes; no connection, no frame, no form, no plug-in."""
    hashes = " ".join(map(_hash, scripts))
    allowed = f"script-src {hashes}; style-src {_hash(style)}; img-src data:"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _article(a: Dict, index: int, *, alone: bool) -> str:
    return Template(_read("article.html")).substitute(fields(a, index, alone=alone))


def _fit(a: Dict) -> dict[str, Any]:
    """The assessment with no more segments than a page can show."""
    segments = a.get("segments")
    if segments is None or len(segments["rows"]) <= MAX_SEGMENTS:
        return dict(a)
    shown = sorted(segments["rows"], key=lambda row: (not row["flagged"], -row["value"]))[:MAX_SEGMENTS]
    return {**a, "segments": {**segments, "rows": shown, "not_shown": len(segments["rows"]) - MAX_SEGMENTS}}


def _comparison(data: Dict) -> str:
    """What stands above the single assessments where there are several."""
    verdict = data["verdict"]
    sentences = "".join(f"<li>{escape(s['text'])}</li>" for s in verdict["sentences"])
    options = "".join(f'<option value="{i}">{escape(name)}</option>' for i, name in enumerate(data["names"]))
    return Template(_read("comparison.html")).substitute(
        headline=escape(verdict["headline"]),
        sentences=sentences,
        measures=_measures_table(data),
        pairs=_pairs_table(data),
        options=options,
    )


def _measures_table(data: Dict) -> str:
    """One row per measure, one column per forecast."""

    def value(index: int) -> Callable[[Sequence[Dict]], Any]:
        return lambda row: row[index]["value"]

    columns = [Column("Measure", lambda row: row[0]["symbol"])]
    columns += [Column(name, value(index), number) for index, name in enumerate(data["names"])]
    rows = list(zip(*(a["measures"] for a in data["assessments"]), strict=True))
    return table("All measures of all forecasts", "forecasts", columns, rows)


def _pairs_table(data: Dict) -> str:
    columns = [
        Column("One", item("a")),
        Column("Other", item("b")),
        Column("Difference", item("difference"), number),
        Column("Low", item("low"), number),
        Column("High", item("high"), number),
        Column("p", item("p_value"), number),
        Column("In words", item("words")),
    ]
    return table("In pairs (negative: the first is better calibrated)", "pairs", columns, data["pairs"])
