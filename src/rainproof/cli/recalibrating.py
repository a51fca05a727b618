"""Commands that recalibrate: ``rainproof recalibrate`` fits a map, ``apply`` applies it, ``stream``
needs none.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from rainproof.cli.ids import repeated_ids
from rainproof.cli.options import files_read, inference
from rainproof.cli.output import (
    draw,
    one_line,
    rows_read,
    say,
    say_paragraphs,
    say_written,
    written,
)
from rainproof.cli.reading import (
    RECALIBRATED,
    copy_with,
    note,
    pooled,
    read_matrix,
    read_rows,
)
from rainproof.core.arrays import Floats, Ints
from rainproof.core.documents import as_text, each_key_once, load_kind
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.text import rows as rows_text
from rainproof.core.text import wrapped
from rainproof.core.validation import check_range
from rainproof.errors import FEW_ROWS, InputError
from rainproof.inference.auroc import auroc
from rainproof.recalibration import summary
from rainproof.recalibration.export_sql import columns_of
from rainproof.recalibration.maps import ClassMap
from rainproof.recalibration.recalibrator import Recalibrator
from rainproof.recalibration.stream import Stream
from rainproof.verdict.assessing import collect_warnings
from rainproof.verdict.clinical import is_reversed
from rainproof.verdict.details import notes as warnings_as_notes
from rainproof.verdict.facts import check_event
from rainproof.verdict.renderer import SHELL
from rainproof.verdict.values import shares_apart


def run_recalibrate(arguments: argparse.Namespace) -> int:
    """Read the files, fit the map, and write it."""
    task = read_matrix(arguments)
    repeated = None if arguments.quiet else repeated_ids(arguments)
    rows = read_rows(arguments)
    if not arguments.classes:
        _check_weights(rows)
    note(arguments, repeated)
    recalibrator = Recalibrator(arguments.methods or "auto", **inference(arguments))
    with collect_warnings() as notes:
        recalibrator.fit(rows, task=task, max_weight=arguments.max_weight)
    sample = pooled(rows)
    if not arguments.quiet:
        _warn(sample if recalibrator.candidates_ else None, notes)
    recalibrator.save(arguments.output, overwrite=arguments.force)
    if arguments.plot is not None:
        draw(recalibrator, arguments.plot)
    if arguments.json:
        say(sys.stdout, as_text(recalibrator.to_dict()))
    elif not arguments.quiet:
        warned = warnings_as_notes(notes if recalibrator.candidates_ else ())
        read_ = rows_read(files_read(arguments), sample, arguments.weight)
        say_paragraphs([read_, *map(SHELL.text, warned)])
        _say(recalibrator, sample, arguments.by or [])
        say_written(Map=arguments.output, Picture=arguments.plot)
    return 0


def _warn(sample: Sample | None, notes: Iterable[str]) -> None:
    """Say on stderr if the labels seem reversed, which a map would learn, if the rows are few, or
    if nothing is fitted.

    `sample` is what the map is fitted to, if it is.
    """
    warnings = []
    if sample is None:
        warnings = [f"the map changes nothing: {note}" for note in notes]
    elif not sample.classes:
        area = auroc(sample)
        if is_reversed(sample, area):
            warnings.append(SHELL.text(check_event(area)))
    if sample is not None and sample.n < FEW_ROWS:
        few = f"only {rows_text(sample.n)}"
        warnings.append(f"{few}: much of the map can be due to chance, and nothing is proven of it")
    for warning in warnings:
        say(sys.stderr, f"{wrapped(f'rainproof: warning: {warning}')}\n")


def _say(recalibrator: Recalibrator, sample: Sample, by: list[str]) -> None:
    """Print what the map is, the certificate and the segments."""
    candidates = recalibrator.candidates_
    if candidates and not sample.classes and not by:
        prob = sample.distinct().prob
        if len(prob) == 1:
            one, other = shares_apart(float(prob[0]), float(recalibrator.predict(prob)[0]))
            alone = f"Every probability is {one}, so the map has one value, {other}"
            say_paragraphs([f"{alone}. That tells no case from another: use another forecast."])
            return
    say_paragraphs([summary.choice_text(recalibrator.method_, candidates)])
    _say_table(summary.candidate_table(candidates))
    certificate = summary.certificate_text(
        recalibrator.certificate_, recalibrator.n_, recalibrator.groups_
    )
    say_paragraphs(certificate.splitlines())
    threshold_range = check_range(recalibrator.threshold_range)
    _say_table(summary.segment_table(by, recalibrator.segments_, threshold_range))


def _say_table(table: str) -> None:
    """Print a table with an empty line above it, unless it is empty."""
    if table:
        say(sys.stdout, f"\n{table}\n")


def _check_weights(rows: Sample | Segments) -> None:
    """Refuse weights that differ, in the words of the command line."""
    samples = rows.values() if isinstance(rows, Segments) else [rows]
    if not all(sample.units.divisible for sample in samples):
        raise InputError(
            "--weight must have the same value in every row here, as rows of files are pooled "
            "before they are divided: for unequal weights use Python, "
            "rainproof.Recalibrator().fit(p, y, sample_weight=w)"
        )


@dataclass
class _Applied:
    """What the map did so far, batch by batch."""

    rows: int = 0
    outside: int = 0  # rows outside of the predictions that the map was fitted to
    unseen: int = 0  # rows of segments that the map has not seen
    sum_before: float = 0.0  # of the probabilities
    sum_after: float = 0.0


def run_apply(arguments: argparse.Namespace) -> int:
    """Apply the map to the file."""
    recalibrator: Recalibrator = load_kind(arguments.map, "recalibrator")
    names = recalibrator.by_ or ()
    by = columns_of(names if arguments.by is None else arguments.by, names)
    classes = _class_columns(arguments.classes, recalibrator.map_)
    new_name: str | tuple[str, ...] = f"{arguments.prob}{RECALIBRATED}"
    if classes:
        arguments.classes = classes
        new_name = tuple(f"{name}{RECALIBRATED}" for name in classes)
    for name in arguments.classes or [arguments.prob]:
        if name.endswith(RECALIBRATED):
            note(arguments, f"{name!r} is recalibrated already")
    done = _Applied()

    def compute(prob: NDArray[Any], places: Mapping[Any, Ints] | None) -> Floats:
        applied = recalibrator.apply(prob, places or {})
        if applied.unseen and arguments.unseen != "pooled":
            new = summary.unseen_text(applied.unseen)
            raise InputError(f"{new}: --unseen pooled uses the map of all rows for them")
        done.rows += len(prob)
        done.outside += applied.outside
        done.unseen += sum(applied.unseen.values())
        # As doubles: sums of single precision would drift over a large file.
        done.sum_before += float(prob.sum(dtype="float64"))
        done.sum_after += float(applied.value.sum())
        return applied.value

    rows = copy_with({new_name: compute}, arguments, by=by)
    note(arguments, recalibrator.map_.note_outside(done.outside, done.rows))
    if not arguments.quiet:
        _say_applied(arguments, done, classes, missing=rows - done.rows)
    return 0


def _say_applied(
    arguments: argparse.Namespace, done: _Applied, classes: list[str], *, missing: int
) -> None:
    """Print how many rows were recalibrated, and what changed."""
    recalibrated = f"{one_line(files_read(arguments))}: {rows_text(done.rows)} recalibrated"
    if classes:
        recalibrated = f"{recalibrated} in {len(classes)} classes"
    elif done.rows:
        before, after = shares_apart(done.sum_before / done.rows, done.sum_after / done.rows)
        recalibrated = f"{recalibrated}; they said {before} on average and now say {after}"
    paragraphs = [recalibrated]
    if missing:
        paragraphs.append(
            f"{rows_text(missing)} without a probability: copied, with nothing in the new column"
        )
    if arguments.percent:
        paragraphs.append("The new column is not in percent: it is from 0 to 1")
    if done.unseen:
        unseen = f"{rows_text(done.unseen)} of segments that the map has not seen"
        paragraphs.append(f"{unseen}: the map of all rows is used")
    say_paragraphs([*paragraphs, written("Result", arguments.output)])


def _class_columns(columns: list[str] | None, fitted: Any) -> list[str]:
    """The columns of a map's classes: by their names if they have those of the classes, else as
    they are given; none for a map of one event.
    """
    given = columns or []
    classes = list(map(str, fitted.classes)) if isinstance(fitted, ClassMap) else []
    if len(given) == len(classes):
        return classes if set(given) == set(classes) else given
    if not classes:
        raise InputError("--map is of one event: name its column with --prob")
    held = f"--map has {len(classes)} classes"
    raise InputError(f"{held}: name a column for each with --classes ({', '.join(classes)})")


REFUSED = 1  # exit code where a line of the stream was refused


def run_stream(arguments: argparse.Namespace) -> int:
    """Answer every line."""
    if sys.stdin is None or sys.stdout is None:
        raise InputError("standard input and output must be open")
    is_any_refused = False
    with Stream(arguments.state, arguments.grid, arguments.seed) as stream:
        for line in sys.stdin.buffer:  # JSON is UTF-8 wherever one is; only a newline ends a line
            answer = _answer(stream, line)
            is_any_refused |= "error" in answer
            say(sys.stdout, json.dumps(answer, allow_nan=False) + "\n")
            sys.stdout.flush()
    return REFUSED if is_any_refused else 0


def _answer(stream: Stream, line: bytes) -> dict[str, Any]:
    try:
        return stream.answer(json.loads(line, object_pairs_hook=each_key_once))
    except InputError as error:
        return {"error": str(error)}
    except (ValueError, RecursionError) as error:
        return {"error": f"a line must be JSON: {error}"}
