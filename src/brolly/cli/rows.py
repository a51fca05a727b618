"""Rows of files for an assessment: kept if they are few or in groups, else compressed."""

from __future__ import annotations

import argparse
import sys

from brolly.assessment.assess import MANY_ROWS
from brolly.cli.options import read
from brolly.cli.progress import Progress
from brolly.core.arrays import Ints
from brolly.core.sample.sample import Sample
from brolly.core.sample.segments import Segments
from brolly.engines.checks import need_pyarrow


def read_rows(arguments: argparse.Namespace, prob: str | None = None) -> tuple[Sample | Segments, Ints | None]:
    """Return the rows as `brolly.assess` would get them in Python, and their groups."""
    need_pyarrow()
    from brolly.engines.kept_rows import keep_rows  # which imports PyArrow

    with Progress(sys.stderr, quiet=arguments.quiet) as progress:
        kept = keep_rows(
            arguments.file,
            prob or arguments.prob,
            arguments.outcome,
            weight=arguments.weight,
            groups=arguments.groups,
            where=arguments.where,
            pos_label=arguments.pos_label,
            at_most=MANY_ROWS if arguments.groups is None else None,
            progress=progress,
        )
    if kept is None:
        return read(arguments, by=arguments.by), None
    if arguments.by is None:
        return kept.sample, kept.groups
    found = read(arguments, by=arguments.by)
    assert isinstance(found, Segments)
    return Segments(found.by, found.counts, found.__getitem__, lambda: kept.sample), kept.groups
