"""Commands on several forecasts: ``rainproof assess-many`` ranks them, ``compare`` and ``switch`` compare two."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from rainproof import __version__
from rainproof.assessment.rankings import AssessmentSet, assess_many
from rainproof.cli.assessing import in_shell
from rainproof.cli.options import check_outputs, task_of
from rainproof.cli.output import Progress, coloured, finish, one_line, say, say_paragraphs, without_warnings
from rainproof.cli.reading import keep, note_repeated_ids, read
from rainproof.core.text import wrapped
from rainproof.errors import InputError
from rainproof.inference.comparisons import compare
from rainproof.inference.switches import switch_guarantee


def run_assess_many(arguments: argparse.Namespace) -> int:
    """Read the files, assess the forecasts, and print the ranking."""
    task = task_of(arguments)
    check_outputs(arguments)
    names: list[str] = arguments.prob
    if len(names) < 2 or len(set(names)) < len(names):
        apart = len(names) == 1 or len(arguments.shown) > 1
        way_out = ": put the forecasts in one file, one column each" if apart else ""
        raise InputError(f"--prob must name two or more different columns; it is {' '.join(names)}{way_out}")
    sample = keep(arguments, names)
    note_repeated_ids(arguments)
    with Progress(sys.stderr, quiet=arguments.quiet, what="steps done") as progress, without_warnings():
        found = assess_many(
            sample,
            task=task,
            confidence_level=arguments.confidence_level,
            rng=arguments.seed,
            progress=progress,
        )
    each = tuple(in_shell(one, arguments, str(one.name)) for one in found.assessments)
    found = replace(found, assessments=each)
    finish(arguments, found.to_dict, lambda: _say(found))
    return 0


def _say(found: AssessmentSet) -> None:
    """Print the best forecast, the table, and how every two compare."""
    headline = coloured(wrapped(one_line(found.headline)), "green" if found.best else "bold", sys.stdout)
    table = "\n".join(map(one_line, found.table().split("\n")))
    say(sys.stdout, f"{headline}\n\n{table}\n\n")
    say_paragraphs(map(one_line, found.sentences))


def run_compare(arguments: argparse.Namespace) -> int:
    """Read the files, and print the difference of the two forecasts."""
    check_outputs(arguments)
    sample = keep(arguments, arguments.prob)
    note_repeated_ids(arguments)
    with Progress(sys.stderr, quiet=arguments.quiet, what="samples drawn") as progress, without_warnings():
        found = compare(
            sample,
            measure=arguments.measure,
            confidence_level=arguments.confidence_level,
            rng=arguments.seed,
            progress=progress,
        )
    names = [f"{letter} is {name}" for letter, name in zip("ab", arguments.prob, strict=True)]
    text = [*str(found).splitlines(), f"Here {' and '.join(names)}."]
    document = {"rainproof": __version__, "prob": arguments.prob, **found.to_dict()}
    finish(arguments, lambda: document, lambda: say_paragraphs(map(one_line, text)), found)
    return 0


def run_switch(arguments: argparse.Namespace) -> int:
    """Read the files and print the bounds; rows in groups and shares are kept, others are compressed at once."""
    check_outputs(arguments)
    note_repeated_ids(arguments)
    kept = arguments.fractional or arguments.groups is not None
    sample = (keep if kept else read)(arguments, [arguments.old, arguments.new])
    found = switch_guarantee(sample, confidence_level=arguments.confidence_level, rng=arguments.seed)
    document = {"rainproof": __version__, **found.to_dict()}
    text = map(one_line, str(found).splitlines())
    finish(arguments, lambda: document, lambda: say_paragraphs(text), found)
    return 0
