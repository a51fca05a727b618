"""Commands that judge a forecast: ``rainproof assess``, ``rainproof report`` and ``rainproof demo``."""

from __future__ import annotations

import argparse
import csv
import datetime
import io
import json
import math
import random
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from rainproof.cli.options import (
    COSTS,
    RESULT,
    ROWS,
    SELECTION,
    VALUES,
    add_output,
    add_shared,
    check_outputs,
    files_read,
    given,
    new_command,
    task_of,
)
from rainproof.cli.output import (
    Progress,
    coloured,
    one_line,
    say,
    say_paragraphs,
    without_warnings,
    write_json,
    written,
)
from rainproof.cli.reading import fitted_here, read_rows, repeated_ids
from rainproof.core.files import check_output, write_atomic, write_errors
from rainproof.core.text import wrapped
from rainproof.errors import InputError

if TYPE_CHECKING:
    from rainproof.assessment.result import Assessment
    from rainproof.cli.options import Commands

_ASSESS = """\
Assess the predicted probabilities in files: are they useful, are they honest,
what would recalibration gain, and what do they cost you?

Prints the verdict (use, recalibrate, avoid, or unknown), the reason, the next
step and a table of the answers. Each statement about the population is proven at
the confidence level, by itself. 'rainproof report' writes the same as a page with
charts; 'rainproof measure' is a quick look at these rows only.
"""
_ASSESS_MORE = """\
examples:
  rainproof assess rain.csv --prob probability --outcome rained
  rainproof assess loans.parquet --prob p_default --outcome status \\
      --pos-label default --weight amount --cost-fp 1 --cost-fn 9 --json
  rainproof assess 'data/*.parquet' --prob p --outcome y --by region
  rainproof assess visits.csv --prob p --outcome died --groups patient \\
      --fail-on avoid,recalibrate

Up to 262,144 rows are judged as they are, more are compressed while they are
read: files may be larger than memory, except with --groups.
Exit code: 0 if there is a verdict, 1 if --fail-on names its grade, 2 if there is
an error (one line on stderr).
"""
GRADED = 1
COLOURS = {"use": "green", "recalibrate": "yellow", "avoid": "red", "unknown": "bold"}
_ASSESSMENT = ("--by", "--groups", "--fractional", *COSTS, "--confidence-level", "--seed")
_ALWAYS = ("segments", "note")  # details that are printed without being asked for


def add_assess(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "is the forecast useful, honest, worth recalibrating? the verdict"
    parser = new_command(commands, run_assess, "assess", summary, _ASSESS, _ASSESS_MORE)
    add_shared(parser, "file", "--prob", *ROWS, *_ASSESSMENT, guess=True)
    parser.add_argument(
        "--fail-on",
        metavar="GRADES",
        type=_grades,
        default=(),
        help="exit with code 1 if the verdict is one of these: avoid,recalibrate,unknown,use",
    )
    parser.add_argument("--verbose", action="store_true", help="also print the details behind the verdict")
    add_shared(parser, *RESULT)


def run_assess(arguments: argparse.Namespace) -> int:
    """Assess the files and print the verdict."""
    assessment = assess_files(arguments)
    wanted = arguments.json or arguments.output is not None  # all numbers take longer than those that are printed
    document = write_json(assessment.to_dict(), arguments.output) if wanted else ""
    if arguments.json:
        say(sys.stdout, document)
    elif not arguments.quiet:
        say_verdict(assessment, verbose=arguments.verbose)
        say_paragraphs([] if arguments.output is None else [written("Result", arguments.output)])
    return GRADED if assessment.verdict.grade in arguments.fail_on else 0


def _grades(text: str) -> tuple[str, ...]:
    grades = tuple(part.strip() for part in text.split(","))
    unknown = [grade for grade in grades if grade not in COLOURS]
    if unknown:
        raise argparse.ArgumentTypeError(f"must name grades ({', '.join(COLOURS)}), with commas; it has {unknown[0]!r}")
    return grades


def assess_files(arguments: argparse.Namespace) -> Assessment:
    """Read the files and assess them, with progress on a terminal."""
    from rainproof.assessment.assessing import assess

    task = task_of(arguments)
    check_outputs(arguments)
    rows = read_rows(arguments)
    with Progress(sys.stderr, quiet=arguments.quiet, what="steps done") as progress, without_warnings():
        found = assess(
            rows,
            task=task,
            confidence_level=arguments.confidence_level,
            rng=arguments.seed,
            progress=progress,
        )
    ids = repeated_ids(arguments)
    chosen = given(arguments, (*SELECTION, "--groups", "--fractional", "--confidence-level", "--seed"))
    lines = recalibrate_lines(
        arguments.shown,
        arguments.prob,
        arguments.outcome,
        chosen if ids is None else [*chosen, "--groups", ids[0]],
        given(arguments, VALUES),
        missing=arguments.drop_missing,
    )
    notes = tuple(note for note in (ids and ids[1], fitted_here(arguments)) if note is not None)
    return in_shell(replace(found, warnings=(*found.warnings, *notes)), lines)


def say_verdict(assessment: Assessment, *, verbose: bool = False) -> None:
    """Print headline (in the colour of the grade), reason, next step and answers; with `verbose` all details."""
    verdict = assessment.verdict
    headline = coloured(wrapped(one_line(verdict.headline)), COLOURS[verdict.grade], sys.stdout)
    say(sys.stdout, f"{headline}\n{verdict.body()}\n")
    shown = [one_line(s.text) for s in verdict.sentences if verbose or s.about in _ALWAYS]
    say_paragraphs(["", *shown] if shown else [])


_REPORT = """\
Write a report on the predicted probabilities in files: one HTML page.

The verdict comes first, then charts, tables and the method. A slider takes what
a false alarm and a miss cost, and gives advice for that threshold. The page
works in any browser without a network and can be mailed as it is.
"""
_REPORT_MORE = """\
examples:
  rainproof report rain.csv --prob probability --outcome rained \\
      -o report.html --open
  rainproof report rain.csv --prob probability --outcome rained --by city \\
      --cost-fp 35 --cost-fn 65 -o report.html
  rainproof report loans.parquet --prob p_default --outcome status \\
      --pos-label default --weight amount -o report.html --json > numbers.json
  rainproof report visits.csv --prob risk --outcome died --groups patient \\
      --preset clinical -o report.html

Files are read in pieces: they may be larger than memory.
Exit code: 0 if there is a report, 2 if there is an error (one line on stderr).
"""


def add_report(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "write a report on the probabilities in files: one HTML page"
    parser = new_command(commands, run_report, "report", summary, _REPORT, _REPORT_MORE)
    add_shared(parser, "file", "--prob", *ROWS, *_ASSESSMENT, guess=True)
    parser.add_argument("--title", metavar="TEXT", help="title of the page (default: the name of the file)")
    parser.add_argument(
        "--preset",
        choices=["clinical"],
        help="clinical: measures and plots of the STRATOS core set first, and the TRIPOD+AI items they serve",
    )
    _add_page(parser)
    add_output(parser, "the page to write (.html)")
    add_shared(parser, "--quiet")


def _add_page(parser: argparse.ArgumentParser) -> None:
    """Add what to do with the page, and what to print."""
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    add_shared(parser, "--json", json="print all numbers as JSON instead of the verdict")


def run_report(arguments: argparse.Namespace) -> int:
    """Assess the files and write the page."""
    assessment = assess_files(arguments)
    title = arguments.title or f"{files_read(arguments)}: {arguments.prob}"
    _finish(assessment, arguments, arguments.output, title, arguments.preset)
    return 0


def _finish(
    assessment: Assessment,
    arguments: argparse.Namespace,
    path: Path,
    title: str,
    preset: Literal["clinical"] | None = None,
) -> None:
    """Write the page, print the verdict, and open the page if asked to."""
    assessment.to_html(path, title=title, preset=preset)
    if arguments.json:
        more = {"clinical": assessment.clinical.to_dict()} if preset else {}
        say(sys.stdout, json.dumps({**assessment.to_dict(), **more}, indent=2, allow_nan=False) + "\n")
    elif not arguments.quiet:
        say_verdict(assessment)
        say_paragraphs([written("Report", path)])
    if arguments.open:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            raise InputError(f"no browser was found to open {path}")


_DEMO = """\
Write a report on 2,000 rain forecasts that come with rainproof.

The forecaster is overconfident. The forecasts (rain.csv) and the report
(report.html) are written to a folder. An umbrella for nothing (a false alarm)
costs 35, getting wet (a miss) costs 65.
"""
_DEMO_MORE = """\
examples:
  rainproof demo --open
  rainproof demo build/demo --quiet

The same as
  rainproof report rainproof-demo/rain.csv --prob probability --outcome rained \\
      --by city --cost-fp 35 --cost-fn 65 -o rainproof-demo/report.html
"""


def add_demo(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "write a report on forecasts that come with rainproof"
    parser = new_command(commands, run_demo, "demo", summary, _DEMO, _DEMO_MORE)
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        type=Path,
        default=Path("rainproof-demo"),
        help="default: rainproof-demo",
    )
    _add_page(parser)
    add_shared(parser, "--quiet")


def run_demo(arguments: argparse.Namespace) -> int:
    """Write the forecasts and the report."""
    from rainproof.assessment.assessing import assess
    from rainproof.decisions.tasks import DecisionTask

    data, page = arguments.folder / "rain.csv", arguments.folder / "report.html"
    with write_errors(arguments.folder):
        arguments.folder.mkdir(parents=True, exist_ok=True)
    check_output(page)
    rows = forecasts()
    write_atomic(data, as_csv(rows))
    if not arguments.quiet and not arguments.json:
        say(sys.stdout, f"{one_line(str(data))}: {len(rows):,} rain forecasts in four cities\n\n")
    with Progress(sys.stderr, quiet=arguments.quiet, what="steps done") as progress, without_warnings():
        assessment = assess(
            [row.rained for row in rows],
            [row.probability for row in rows],
            by={"city": [row.city for row in rows]},
            task=DecisionTask.from_costs(false_positive=35, false_negative=65, actions=("no umbrella", "umbrella")),
            rng=0,
            progress=progress,
        )
    assessment = in_shell(assessment, recalibrate_lines([str(data)], "probability", "rained"))
    _finish(assessment, arguments, page, "Rain forecasts in four cities (rainproof demo)")
    return 0


CITIES = {"Bergen": 0.65, "Hamburg": 0.5, "Lisbon": 0.3, "Porto": 0.4}  # how often it rains
DAYS = 500
OVERCONFIDENCE = 2.5  # by how much the log-odds are stretched; 1 would be a calibrated forecaster


class Forecast(NamedTuple):
    """A forecast for a day in a city, and whether it rained."""

    date: str
    city: str
    probability: float
    rained: int


def forecasts() -> list[Forecast]:
    """One row per day and city."""
    rng = random.Random(7)  # noqa: S311 - weather, not secrets
    start = datetime.date(2024, 1, 1)
    rows = []
    for day in range(DAYS):
        for city, often in CITIES.items():
            log_odds = math.log(often / (1 - often)) + rng.gauss(0, 1.2)
            rained = rng.random() < 1 / (1 + math.exp(-log_odds))
            said = 1 / (1 + math.exp(-OVERCONFIDENCE * log_odds))
            date = (start + datetime.timedelta(day)).isoformat()
            rows.append(Forecast(date, city, round(said, 3), int(rained)))
    return rows


def as_csv(rows: list[Forecast]) -> str:
    """The rows as a CSV file with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Forecast._fields)
    writer.writerows(rows)
    return text.getvalue()


def in_shell(found: Assessment, lines: tuple[str, ...]) -> Assessment:
    """Return the assessment with a verdict that names options and command lines, in place of Python."""
    from rainproof.assessment.words import SHELL

    return replace(found, _voice=SHELL._replace(recalibrate=lines))


def recalibrate_lines(
    files: Sequence[str],
    prob: str,
    outcome: str,
    options: Sequence[str] = (),
    reading: Sequence[str] = (),
    *,
    missing: bool = False,
) -> tuple[str, ...]:
    """The command lines that fit the map of the verdict to these files and, if it is one file, apply it.

    With `missing`, rows without a probability are left out by the first (as `options` say), and copied by the second.
    """
    columns = ["--prob", prob, "--outcome", outcome]
    lines = [["rainproof", "recalibrate", *files, *columns, *options, *reading, "-o", "map.json"]]
    path = Path(files[0])
    if len(files) == 1 and path.is_file():
        suffix = "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:])
        applied = ["--map", "map.json", "--prob", prob, *reading, *(["--keep-missing"] if missing else [])]
        lines.append(["rainproof", "apply", files[0], *applied, "-o", f"better{suffix}"])
    return tuple(one_line(shlex.join(line)) for line in lines)
