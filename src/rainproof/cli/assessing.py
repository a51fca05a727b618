"""Commands that judge forecasts: ``rainproof assess``, ``assess-many``, ``report`` and ``demo``."""

from __future__ import annotations

import argparse
import csv
import datetime
import io
import json
import math
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rainproof.cli.ids import id_column, repeated_ids
from rainproof.cli.options import costs_of, files_read, inference, task_of
from rainproof.cli.output import coloured, finish, one_line, say, say_paragraphs, watched, written
from rainproof.cli.printed import Screen
from rainproof.cli.reading import (
    fitted_here,
    keep,
    note,
    read_matrix,
    read_rows,
)
from rainproof.core.files import (
    check_output,
    check_replaced,
    make_folder,
    replace_now,
    write_atomic,
)
from rainproof.core.sample import Sample
from rainproof.core.text import short, wrapped
from rainproof.decisions.tasks import DecisionTask
from rainproof.errors import InputError
from rainproof.verdict.assessing import assess
from rainproof.verdict.classes import ClassAssessment
from rainproof.verdict.grades import GRADES
from rainproof.verdict.renderer import Renderer
from rainproof.verdict.result import Assessment

if TYPE_CHECKING:
    from rainproof.verdict.rankings import AssessmentSet

GRADED = 1


def run_assess(arguments: argparse.Namespace) -> int:
    """Assess the files and print the verdict."""
    assessment, renderer = assess_files(arguments)

    def text() -> None:
        say_verdict(assessment, renderer, verbose=arguments.verbose)

    finish(arguments, partial(assessment.to_dict_by, renderer), text)
    return GRADED if assessment.verdict.grade in arguments.fail_on else 0


def assess_files(arguments: argparse.Namespace) -> tuple[Assessment | ClassAssessment, Renderer]:
    """Read the files and assess them, with progress on a terminal; return in whose words, too."""
    costs_of(arguments)
    if arguments.capacity is not None and arguments.cost_fp is None:
        raise InputError(
            "--capacity needs --cost-fp and --cost-fn: which cases to act on depends on the costs"
        )
    matrix = read_matrix(arguments)
    # Of the head of the file, which is looked at before its rows are read.
    repeated = repeated_ids(arguments)
    ids = None if arguments.capacity is None else id_column(arguments)
    rows = read_rows(arguments)
    with watched(arguments) as progress:
        amounts = rows.columns_beside() if isinstance(rows, Sample) else {}
        task = matrix or task_of(arguments, columns=amounts)
        found: Assessment | ClassAssessment = assess(
            rows,
            task=task,
            capacity=arguments.capacity,
            max_weight=arguments.max_weight,
            progress=progress,
            **inference(arguments),
        )
    notes = tuple(text for text in (repeated, fitted_here(arguments)) if text is not None)
    found = replace(found, warnings=(*found.warnings, *notes))
    return found, Screen.of(arguments).renderer(ids)


def say_verdict(
    assessment: Assessment | ClassAssessment, renderer: Renderer, *, verbose: bool = False
) -> None:
    """Print headline (in the colour of the grade), reason, next step, table and segments; or all
    details.
    """
    verdict = assessment.verdict.rendered_by(renderer)
    headline = coloured(
        wrapped(one_line(verdict.headline)), GRADES[verdict.grade].colour, sys.stdout
    )
    say(sys.stdout, f"{headline}\n{_lines(verdict.body())}\n")
    shown = [s.text for s in verdict.sentences] if verbose else verdict.asides
    say_paragraphs(["", *map(one_line, shown)] if shown else [])
    parts = assessment.by_class if isinstance(assessment, ClassAssessment) else assessment.segments
    if parts is not None:
        say(sys.stdout, f"\n{_lines(str(parts))}\n")


def _lines(text: str) -> str:
    """Lines that names in them cannot break."""
    return "\n".join(map(one_line, text.split("\n")))


def run_assess_many(arguments: argparse.Namespace) -> int:
    """Read the files, assess the forecasts, and print the ranking."""
    from rainproof.verdict.rankings import assess_many  # which no other command needs

    costs_of(arguments)
    names: list[str] = arguments.prob
    if len(names) < 2 or len(set(names)) < len(names):
        apart = len(names) == 1 or len(arguments.shown) > 1
        way_out = ": put the forecasts in one file, one column each" if apart else ""
        raise InputError(
            f"--prob must name two or more different columns; it is {' '.join(names)}{way_out}"
        )
    repeated = None if arguments.quiet else repeated_ids(arguments)
    sample = keep(arguments, names)
    note(arguments, repeated)
    with watched(arguments) as progress:
        task = task_of(arguments, columns=sample.columns_beside())
        found = assess_many(
            sample,
            task=task,
            max_weight=arguments.max_weight,
            progress=progress,
            **inference(arguments),
        )
    renderer = Screen.of(arguments).renderer()
    finish(arguments, partial(found.to_dict_by, renderer), lambda: _say_ranking(found, renderer))
    return 0


def _say_ranking(found: AssessmentSet, renderer: Renderer) -> None:
    """Print which forecast to take (green if it is shown to be the best), the table, and how every
    two compare.
    """
    shown = found.rendered_by(renderer)
    colour = "green" if found.best else "bold"
    headline = coloured(wrapped(one_line(shown.headline)), colour, sys.stdout)
    say(sys.stdout, f"{headline}\n{_lines(shown.body())}\n")


def run_report(arguments: argparse.Namespace) -> int:
    """Assess the files and write the page."""
    assessment, renderer = assess_files(arguments)
    columns = ", ".join(arguments.classes or [arguments.prob])
    title = f"{files_read(arguments)}: {short(columns)}"
    _finish(assessment, renderer, arguments, arguments.output, title, arguments.preset)
    return 0


def _finish(
    assessment: Assessment | ClassAssessment,
    renderer: Renderer,
    arguments: argparse.Namespace,
    path: Path,
    title: str,
    preset: Literal["clinical"] | None = None,
) -> None:
    """Write the page, print the verdict, and open the page if asked to."""
    assessment.to_html(
        path, title=title, preset=preset, overwrite=arguments.force, renderer=renderer
    )
    if arguments.json:
        more = (
            {"clinical": assessment.clinical.to_dict()}
            if preset and isinstance(assessment, Assessment)
            else {}
        )
        say(
            sys.stdout,
            json.dumps({**assessment.to_dict_by(renderer), **more}, indent=2, allow_nan=False)
            + "\n",
        )
    elif not arguments.quiet:
        say_verdict(assessment, renderer)
        say_paragraphs([written("Report", path)])
    if arguments.open:
        replace_now()
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            note(arguments, f"no browser was found to open {path}")


def run_demo(arguments: argparse.Namespace) -> int:
    """Write the forecasts and the report."""
    data, page = arguments.folder / "rain.csv", arguments.folder / "report.html"
    make_folder(arguments.folder)
    check_output(page)
    check_replaced(page, "report", overwrite=arguments.force, how="--force")
    rows = forecasts()
    _, cities, said, rained = zip(*rows, strict=True)
    if not data.is_file() or data.read_bytes() != as_csv(rows).encode():
        check_replaced(data, None, overwrite=arguments.force, how="--force")
    write_atomic(data, as_csv(rows))
    if not arguments.quiet and not arguments.json:
        say(sys.stdout, f"{one_line(str(data))}: {len(rows):,} rain forecasts in four cities\n\n")
    alarm, miss = 35, 65
    with watched(arguments) as progress:
        assessment = assess(
            rained,
            said,
            by={"city": cities},
            task=DecisionTask.from_costs(
                false_positive=alarm, false_negative=miss, actions=("no umbrella", "umbrella")
            ),
            rng=0,
            progress=progress,
        )
    columns = {"--prob": ("probability",), "--outcome": ("rained",), "--by": ("city",)}
    costs = {"--cost-fp": (str(alarm),), "--cost-fn": (str(miss),)}
    renderer = Screen(files=(str(data),), options=columns | costs, exists=True).renderer()
    title = "Rain forecasts in four cities (rainproof demo)"
    _finish(assessment, renderer, arguments, page, title)
    return 0


CITIES = {"Bergen": 0.65, "Hamburg": 0.5, "Lisbon": 0.3, "Porto": 0.4}  # how often it rains
DAYS = 500
OVERCONFIDENCE = 2.5  # by how much the log-odds are stretched; 1 would be a calibrated forecaster


def forecasts() -> list[tuple[str, str, float, int]]:
    """One row per day and city: the date, the city, the forecast, and whether it rained."""
    rng = random.Random(7)  # noqa: S311 - weather, not secrets
    start = datetime.date(2024, 1, 1)
    rows = []
    for day in range(DAYS):
        for city, often in CITIES.items():
            log_odds = math.log(often / (1 - often)) + rng.gauss(0, 1.2)
            rained = rng.random() < 1 / (1 + math.exp(-log_odds))
            said = 1 / (1 + math.exp(-OVERCONFIDENCE * log_odds))
            date = (start + datetime.timedelta(day)).isoformat()
            rows.append((date, city, round(said, 3), int(rained)))
    return rows


def as_csv(rows: Sequence[Sequence[object]]) -> str:
    """The rows as a CSV file with a header."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [("date", "city", "probability", "rained"), *rows]
    )
    return text.getvalue()
