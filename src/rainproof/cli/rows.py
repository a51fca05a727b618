"""Rows of files for an assessment: kept if they are few or in groups, else compressed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from rainproof.assessment.assessing import MANY_ROWS
from rainproof.cli.options import read, reading
from rainproof.cli.progress import Progress
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.errors import InputError
from rainproof.io.files import need_pyarrow

if TYPE_CHECKING:
    from rainproof.io.rows import KeptRows


def read_rows(arguments: argparse.Namespace) -> tuple[Sample | Segments, NDArray[Any] | None]:
    """Return the rows as `rainproof.assess` would get them in Python, and their groups."""
    by, grouped = getattr(arguments, "by", None), getattr(arguments, "groups", None) is not None
    _refuse_fractional_segments(arguments)
    kept = _keep(arguments, arguments.prob, None if grouped else MANY_ROWS)
    if kept is None:
        return read(arguments, by=by), None
    if by is None:
        return kept.sample, kept.groups
    found = read(arguments, by=by)
    assert isinstance(found, Segments)
    return Segments(found.by, found.counts, found.__getitem__, lambda: kept.sample), kept.groups


def read_rows_to_divide(
    arguments: argparse.Namespace,
) -> tuple[Sample | Segments, NDArray[Any] | None, Mapping[str, NDArray[Any]] | None]:
    """Return the rows as `Recalibrator.fit` takes them, their groups, and with groups the labels of their segments.

    Whole groups are fitted or held out, and a group may have rows in several segments: such rows are not compressed.
    """
    if arguments.by is None or arguments.groups is None:
        return *read_rows(arguments), None
    _refuse_fractional_segments(arguments)
    kept = _keep(arguments, arguments.prob, None, by=arguments.by)
    assert kept is not None
    return kept.sample, kept.groups, kept.by


def _refuse_fractional_segments(arguments: argparse.Namespace) -> None:
    if getattr(arguments, "by", None) is not None and getattr(arguments, "fractional", False):
        raise InputError("--fractional cannot be combined with --by: select the rows of a segment with --where")


def keep(arguments: argparse.Namespace, prob: str) -> KeptRows:
    """Return all rows with the predictions in a column."""
    kept = _keep(arguments, prob, None)
    assert kept is not None
    return kept


def _keep(arguments: argparse.Namespace, prob: str, at_most: int | None, *, by: Sequence[str] = ()) -> KeptRows | None:
    need_pyarrow()
    from rainproof.io.rows import keep_rows  # which imports PyArrow

    with Progress(sys.stderr, quiet=arguments.quiet) as progress:
        return keep_rows(
            arguments.file,
            prob,
            arguments.outcome,
            groups=getattr(arguments, "groups", None),
            by=by,
            at_most=at_most,
            fractional=getattr(arguments, "fractional", False),
            progress=progress,
            **reading(arguments),
        )
