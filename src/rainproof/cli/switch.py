"""``rainproof switch``: what decisions lose, and gain, if a new forecast replaces an old one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rainproof import __version__
from rainproof.cli.options import (
    add_columns,
    add_confidence,
    add_groups,
    add_json,
    add_quiet,
    add_seed,
    check_result,
    new_command,
    reading,
)
from rainproof.cli.output import one_line, say
from rainproof.cli.progress import Progress
from rainproof.cli.repeats import note_repeated_ids
from rainproof.cli.results import add_plot, check_plot, draw, say_paragraphs, write_json, written
from rainproof.cli.rows import keep
from rainproof.inference.switches import SwitchGuarantee, switch_guarantee
from rainproof.io.reading import scan

if TYPE_CHECKING:
    from rainproof.cli.options import Commands

_DESCRIPTION = """\
Should a new forecast replace an old one? Print the most that any decision
loses, and gains, by acting on the new one: on these rows, and with a stated
confidence in the population that they were drawn from.

Decisions are those whose thresholds are multiples of 1/1024 (all decisions with
--groups). The rows, or groups, must be independent, and neither forecast may have
been fitted on them.
"""
_EPILOG = """\
examples:
  rainproof switch rain.csv --old p_2025 --new p_2026 --outcome rained
  rainproof switch 'data/*.parquet' --old p --new q --outcome y --plot switch.png

Files are read in pieces: they may be larger than memory, except with --groups.
Exit code: 0 if there is a result, 2 if there is an error (one line on stderr).
"""
_FORECASTS = {
    "--old": "column of the probabilities that are in use, from 0 to 1",
    "--new": "column of the probabilities that may replace them",
}


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "what decisions lose and gain if a new forecast replaces an old one"
    parser = new_command(commands, run, "switch", summary, _DESCRIPTION, _EPILOG)
    add_columns(parser, _FORECASTS)
    add_groups(parser)
    add_confidence(parser, "confidence level of each of the two bounds (default: 0.95)")
    add_seed(parser)
    add_plot(parser, "the loss at each threshold")
    add_json(parser)
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read the files and print the bounds."""
    check_result(arguments)
    check_plot(arguments)
    note_repeated_ids(arguments)
    found = _guarantee(arguments)
    document = write_json({"rainproof": __version__, **found.to_dict()}, arguments.output)
    if arguments.plot is not None:
        draw(found, arguments.plot)
    if arguments.json:
        say(sys.stdout, document)
    elif not arguments.quiet:
        paths: list[tuple[str, Path | None]] = [("Result", arguments.output), ("Picture", arguments.plot)]
        said = [one_line(line) for line in str(found).splitlines()]
        say_paragraphs([*said, *(written(what, path) for what, path in paths if path is not None)])
    return 0


def _guarantee(arguments: argparse.Namespace) -> SwitchGuarantee:
    """The bounds; rows in groups are kept, others are compressed while they are read."""
    options: dict[str, Any] = {"confidence_level": arguments.confidence_level, "rng": arguments.seed}
    if arguments.groups is not None:
        old, new = (keep(arguments, name) for name in (arguments.old, arguments.new))
        rows = (old.sample.y_true, old.sample.y_prob, new.sample.y_prob)
        return switch_guarantee(*rows, sample_weight=old.sample.sample_weight, groups=old.groups, **options)
    with Progress(sys.stderr, quiet=arguments.quiet) as progress:
        sample = scan(
            arguments.file,
            [arguments.old, arguments.new],
            arguments.outcome,
            progress=progress,
            **reading(arguments),
        )
    return switch_guarantee(sample, **options)
