"""Commands that judge forecasts: ``rainproof assess``, ``assess-many`` and ``report``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rainproof.cli.ids import id_column, repeated_ids
from rainproof.cli.options import costs_of, files_read, inference, task_of
from rainproof.cli.output import (
    coloured,
    finish,
    one_line,
    say,
    say_paragraphs,
    watched,
    write_json,
    written,
)
from rainproof.cli.printed import Screen
from rainproof.cli.reading import fitted_here, keep, note, read_matrix, read_rows
from rainproof.core.files import replace_now
from rainproof.core.sample import Sample
from rainproof.core.text import short, wrapped
from rainproof.errors import InputError
from rainproof.verdict.assessing import assess
from rainproof.verdict.classes import ClassAssessment
from rainproof.verdict.grades import GRADES
from rainproof.verdict.renderer import Renderer
from rainproof.verdict.result import Assessment

if TYPE_CHECKING:
    from rainproof.verdict.rankings import AssessmentSet

GRADED = 1  # exit code where --fail-on names the grade


def run_assess(arguments: argparse.Namespace) -> int:
    """Assess the files and print the verdict."""
    assessment, renderer = assess_files(arguments)

    def text() -> None:
        say_verdict(assessment, renderer, verbose=arguments.verbose)

    finish(arguments, partial(assessment.to_dict_by, renderer), text)
    return GRADED if assessment.verdict.grade in arguments.fail_on else 0


def assess_files(arguments: argparse.Namespace) -> tuple[Assessment | ClassAssessment, Renderer]:
    """Read the files and assess them, with progress on a terminal; return in whose words, too."""
    costs_of(arguments)  # which refuses one cost without the other, before anything is read
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
        assessment: Assessment | ClassAssessment = assess(
            rows,
            task=task,
            capacity=arguments.capacity,
            max_weight=arguments.max_weight,
            progress=progress,
            **inference(arguments),
        )
    notes = [note for note in (repeated, fitted_here(arguments)) if note is not None]
    assessment = replace(assessment, warnings=(*assessment.warnings, *notes))
    return assessment, Screen.of(arguments).renderer(ids)


def say_verdict(
    assessment: Assessment | ClassAssessment, renderer: Renderer, *, verbose: bool = False
) -> None:
    """Print headline (in the colour of the grade), reason, next step, table and segments; or all
    details.
    """
    verdict = assessment.verdict.rendered_by(renderer)
    _say_headline(verdict.headline, GRADES[verdict.grade].colour, verdict.body())
    details: Sequence[str] = verdict.asides
    if verbose:
        details = [sentence.text for sentence in verdict.sentences]
    if details:
        say_paragraphs(["", *map(one_line, details)])
    parts = assessment.by_class if isinstance(assessment, ClassAssessment) else assessment.segments
    if parts is not None:
        say(sys.stdout, f"\n{_lines(str(parts))}\n")


def _say_headline(headline: str, colour: str, body: str) -> None:
    """Print a headline in a colour, and what follows it."""
    first = coloured(wrapped(one_line(headline)), colour, sys.stdout)
    say(sys.stdout, f"{first}\n{_lines(body)}\n")


def _lines(text: str) -> str:
    """Lines that names in them cannot break."""
    return "\n".join(map(one_line, text.split("\n")))


def run_assess_many(arguments: argparse.Namespace) -> int:
    """Read the files, assess the forecasts, and print the ranking."""
    from rainproof.verdict.rankings import assess_many  # which no other command needs

    costs_of(arguments)
    names: list[str] = arguments.prob
    if len(names) < 2 or len(set(names)) < len(names):
        problem = f"--prob must name two or more different columns; it is {' '.join(names)}"
        if len(names) == 1 or len(arguments.shown) > 1:
            problem = f"{problem}: put the forecasts in one file, one column each"
        raise InputError(problem)
    repeated = None if arguments.quiet else repeated_ids(arguments)
    sample = keep(arguments, names)
    note(arguments, repeated)
    with watched(arguments) as progress:
        task = task_of(arguments, columns=sample.columns_beside())
        ranking = assess_many(
            sample,
            task=task,
            max_weight=arguments.max_weight,
            progress=progress,
            **inference(arguments),
        )
    renderer = Screen.of(arguments).renderer()
    finish(
        arguments,
        partial(ranking.to_dict_by, renderer),
        partial(_say_ranking, ranking, renderer),
    )
    return 0


def _say_ranking(ranking: AssessmentSet, renderer: Renderer) -> None:
    """Print which forecast to take (green if it is shown to be the best), the table, and how every
    two compare.
    """
    shown = ranking.rendered_by(renderer)
    colour = "green" if ranking.best else "bold"
    _say_headline(shown.headline, colour, shown.body())


def run_report(arguments: argparse.Namespace) -> int:
    """Assess the files and write the page."""
    assessment, renderer = assess_files(arguments)
    columns = ", ".join(arguments.classes or [arguments.prob])
    title = f"{files_read(arguments)}: {short(columns)}"
    finish_report(assessment, renderer, arguments, arguments.output, title, arguments.preset)
    return 0


def finish_report(
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
        document = assessment.to_dict_by(renderer)
        if preset is not None and isinstance(assessment, Assessment):
            document = {**document, "clinical": assessment.clinical.to_dict()}
        say(sys.stdout, write_json(document, None))
    elif not arguments.quiet:
        say_verdict(assessment, renderer)
        say_paragraphs([written("Report", path)])
    if arguments.open:
        replace_now()  # the page has its name only at the end of the command
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            note(arguments, f"no browser was found to open {path}")
