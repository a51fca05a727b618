"""Commands that judge forecasts: ``rainproof assess``, ``assess-many``, ``report`` and ``demo``."""

from __future__ import annotations

import argparse
import csv
import datetime
import io
import json
import math
import random
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rainproof.assessment import words
from rainproof.assessment.assessing import assess
from rainproof.assessment.classes import ClassAssessment
from rainproof.assessment.result import Assessment
from rainproof.cli.options import COSTS, SELECTION, VALUES, costs_of, files_read, given, inference, task_of
from rainproof.cli.output import coloured, finish, one_line, say, say_paragraphs, watched, written
from rainproof.cli.reading import (
    RECALIBRATED,
    fitted_here,
    keep,
    note_repeated_ids,
    read_classes,
    read_matrix,
    read_rows,
    repeated_ids,
)
from rainproof.core.files import check_output, check_replaced, make_folder, replace_now, write_atomic
from rainproof.core.sample import Sample
from rainproof.core.text import short, wrapped
from rainproof.decisions.tasks import DecisionTask
from rainproof.errors import InputError
from rainproof.io.files import FORMATS

if TYPE_CHECKING:
    from rainproof.assessment.rankings import AssessmentSet

GRADED = 1
COLOURS = {"use": "green", "recalibrate": "yellow", "avoid": "red", "unknown": "bold"}


def run_assess(arguments: argparse.Namespace) -> int:
    """Assess the files and print the verdict."""
    assessment = assess_files(arguments)
    finish(arguments, assessment.to_dict, lambda: say_verdict(assessment, verbose=arguments.verbose))
    return GRADED if assessment.verdict.grade in arguments.fail_on else 0


def assess_files(arguments: argparse.Namespace) -> Assessment | ClassAssessment:
    """Read the files and assess them, with progress on a terminal."""
    costs_of(arguments)
    if arguments.capacity is not None and arguments.cost_fp is None:
        raise InputError("--capacity needs --cost-fp and --cost-fn: which cases to act on depends on the costs")
    matrix = read_matrix(arguments)
    rows = read_classes(arguments) if arguments.classes else read_rows(arguments)
    with watched(arguments) as progress:
        task = matrix or task_of(arguments, columns=rows._amounts if isinstance(rows, Sample) else {})
        found: Assessment | ClassAssessment = assess(
            rows,
            task=task,
            capacity=arguments.capacity,
            max_weight=arguments.max_weight,
            progress=progress,
            **inference(arguments),
        )
    ids = repeated_ids(arguments)
    notes = tuple(note for note in (ids and ids[1], fitted_here(arguments)) if note is not None)
    found = replace(found, warnings=(*found.warnings, *notes))
    prob = arguments.classes or arguments.prob
    told: Assessment | ClassAssessment = in_shell(found, arguments, prob, [] if ids is None else ["--groups", ids[0]])
    return told


def say_verdict(assessment: Assessment | ClassAssessment, *, verbose: bool = False) -> None:
    """Print headline (in the colour of the grade), reason, next step, table and segments; or all details."""
    verdict = assessment.verdict
    headline = coloured(wrapped(one_line(verdict.headline)), COLOURS[verdict.grade], sys.stdout)
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
    from rainproof.assessment.rankings import assess_many  # which no other command needs

    costs_of(arguments)
    names: list[str] = arguments.prob
    if len(names) < 2 or len(set(names)) < len(names):
        apart = len(names) == 1 or len(arguments.shown) > 1
        way_out = ": put the forecasts in one file, one column each" if apart else ""
        raise InputError(f"--prob must name two or more different columns; it is {' '.join(names)}{way_out}")
    sample = keep(arguments, names)
    note_repeated_ids(arguments)
    with watched(arguments) as progress:
        task = task_of(arguments, columns=sample._amounts)
        found = assess_many(
            sample, task=task, max_weight=arguments.max_weight, progress=progress, **inference(arguments)
        )
    each = tuple(in_shell(one, arguments, str(one.name)) for one in found.assessments)
    found = replace(found, assessments=each)
    finish(arguments, found.to_dict, lambda: _say_ranking(found))
    return 0


def _say_ranking(found: AssessmentSet) -> None:
    """Print which forecast to take (green if it is shown to be the best), the table, and how every two compare."""
    headline = coloured(wrapped(one_line(found.headline)), "green" if found.best else "bold", sys.stdout)
    say(sys.stdout, f"{headline}\n{_lines(found.body())}\n")


def run_report(arguments: argparse.Namespace) -> int:
    """Assess the files and write the page."""
    assessment = assess_files(arguments)
    title = arguments.title or f"{files_read(arguments)}: {short(', '.join(arguments.classes or [arguments.prob]))}"
    _finish(assessment, arguments, arguments.output, title, arguments.preset)
    return 0


def _finish(
    assessment: Assessment | ClassAssessment,
    arguments: argparse.Namespace,
    path: Path,
    title: str,
    preset: Literal["clinical"] | None = None,
) -> None:
    """Write the page, print the verdict, and open the page if asked to."""
    assessment.to_html(path, title=title, preset=preset, overwrite=arguments.force)
    if arguments.json:
        more = {"clinical": assessment.clinical.to_dict()} if preset and isinstance(assessment, Assessment) else {}
        say(sys.stdout, json.dumps({**assessment.to_dict(), **more}, indent=2, allow_nan=False) + "\n")
    elif not arguments.quiet:
        say_verdict(assessment)
        say_paragraphs([written("Report", path)])
    if arguments.open:
        replace_now()
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            raise InputError(f"no browser was found to open {path}")


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
    with watched(arguments) as progress:
        assessment = assess(
            rained,
            said,
            by={"city": cities},
            task=DecisionTask.from_costs(false_positive=35, false_negative=65, actions=("no umbrella", "umbrella")),
            rng=0,
            progress=progress,
        )
    lines = recalibrate_lines([str(data)], "probability", "rained", written=True)
    assessment = replace(assessment, _voice=words.SHELL._replace(recalibrate=lines))
    _finish(assessment, arguments, page, "Rain forecasts in four cities (rainproof demo)")
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
    csv.writer(text, lineterminator="\n").writerows([("date", "city", "probability", "rained"), *rows])
    return text.getvalue()


def in_shell(found: Any, arguments: argparse.Namespace, prob: str | list[str], more: Sequence[str] = ()) -> Any:
    """Return the assessment of a column with a verdict that names options and command lines, in place of Python."""
    beside = ("--groups", "--max-weight", "--fractional", "--threshold-range", "--cost-matrix")
    chosen = given(arguments, (*SELECTION, *beside, "--confidence-level", "--seed"))
    lines = recalibrate_lines(
        arguments.shown,
        prob,
        arguments.outcome,
        [*chosen, *more],
        given(arguments, VALUES),
        missing=arguments.drop_missing,
        several=isinstance(arguments.prob, list),
    )
    voice = words.SHELL._replace(recalibrate=lines)
    if getattr(arguments, "capacity", None) is not None:
        suffix, limits = _suffix(arguments.shown[0]), given(arguments, (*COSTS, "--capacity"))
        output = f"new-decided{_written(suffix)}"
        copied = ["--keep-missing"] * arguments.drop_missing
        new, better = [str(prob), *given(arguments, VALUES)], [f"{prob}{RECALIBRATED}"]
        decided = (
            ["rainproof", "decide", file, "--prob", *reading, *copied, *limits, "--id", "ID", "-o", output]
            for file, reading in ((f"new{suffix}", new), (f"new-recalibrated{_written(suffix)}", better))
        )
        as_is, mapped = (one_line(shlex.join(line)) for line in decided)
        voice = voice._replace(decide=((as_is,), (*lines, mapped)))
    return replace(found, _voice=voice)


def _suffix(file: str) -> str:
    """How the name of a file ends that is like this one."""
    path = Path(file)
    return "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:])


def _written(suffix: str) -> str:
    """How the name of a file ends that is written for those: spreadsheets are read only."""
    return ".csv" if any(one.write is None and suffix.lower() in one.suffixes for one in FORMATS) else suffix


def recalibrate_lines(
    files: Sequence[str],
    prob: str | list[str],
    outcome: str,
    options: Sequence[str] = (),
    reading: Sequence[str] = (),
    *,
    missing: bool = False,
    written: bool = False,
    several: bool = False,
) -> tuple[str, ...]:
    """The command lines that fit the map of the verdict to these files and, if it is one file, apply it to new cases.

    With `missing`, rows without a probability are left out by the first (as `options` say), and copied by the second.
    A file that is `written` by this command gets its name at the end. Of `several` forecasts each has a map.
    """
    path, one, suffix = Path(files[0]), written or Path(files[0]).is_file(), _suffix(files[0])
    forecast = f"-{re.sub(r'[^-.0-9A-Za-z]+', '_', str(prob))}" * several
    map_ = f"{path.name.removesuffix(suffix)}{forecast}-map.json" if one else "map.json"
    columns = ["--prob", prob] if isinstance(prob, str) else ["--classes", *prob]
    lines = [["rainproof", "recalibrate", *files, *columns, "--outcome", outcome, *options, *reading, "-o", map_]]
    if len(files) == 1 and one:
        applied = ["--map", map_, *columns, *reading, *(["--keep-missing"] if missing else [])]
        lines.append(["rainproof", "apply", f"new{suffix}", *applied, "-o", f"new-recalibrated{_written(suffix)}"])
    return tuple(one_line(shlex.join(line)) for line in lines)
