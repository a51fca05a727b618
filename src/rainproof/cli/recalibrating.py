"""Commands that recalibrate: ``rainproof recalibrate`` fits a map, ``apply`` applies it, ``stream``
needs none.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import NDArray

from rainproof.cli.ids import repeated_ids
from rainproof.cli.options import files_read, inference
from rainproof.cli.output import draw, one_line, rows_read, say, say_paragraphs, written
from rainproof.cli.reading import (
    RECALIBRATED,
    copy_with,
    note,
    read_classes,
    read_matrix,
    read_rows,
)
from rainproof.core.arrays import Floats, Ints
from rainproof.core.files import as_text, each_key_once, load_kind
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
from rainproof.verdict import words
from rainproof.verdict.assessing import collect_warnings
from rainproof.verdict.clinical import is_reversed


def run_recalibrate(arguments: argparse.Namespace) -> int:
    """Read the files, fit the map, and write it."""
    task = read_matrix(arguments)
    repeated = None if arguments.quiet else repeated_ids(arguments)
    found = read_classes(arguments) if arguments.classes else read_rows(arguments)
    if not arguments.classes:
        _check_weights(found)
    note(arguments, repeated)
    recalibrator = Recalibrator(arguments.methods or "auto", **inference(arguments))
    with collect_warnings() as notes:
        recalibrator.fit(found, task=task, max_weight=arguments.max_weight)
    sample = found.pooled if isinstance(found, Segments) else found
    if not arguments.quiet:
        _warn(sample if recalibrator.candidates_ else None, notes)
    recalibrator.save(arguments.output, overwrite=arguments.force)
    if arguments.plot is not None:
        draw(recalibrator, arguments.plot)
    if arguments.json:
        say(sys.stdout, as_text(recalibrator.to_dict()))
    elif not arguments.quiet:
        read_ = rows_read(files_read(arguments), sample, arguments.weight)
        say_paragraphs([read_, *(words.note(note) for note in notes if recalibrator.candidates_)])
        _say(recalibrator, sample, arguments.by or [])
        paths = [("Map", arguments.output), ("Picture", arguments.plot)]
        say_paragraphs(written(what, path) for what, path in paths if path is not None)
    return 0


def _warn(sample: Sample | None, notes: Iterable[str]) -> None:
    """Say on stderr if the labels seem reversed, which a map would learn, if the rows are few, or
    if nothing is fitted.

    `sample` is what the map is fitted to, if it is.
    """
    said = [f"the map changes nothing: {note}" for note in notes if sample is None]
    if sample is not None and not sample.classes and is_reversed(sample, area := auroc(sample)):
        said.append(words.check_event(area, words.SHELL))
    if sample is not None and sample.n < FEW_ROWS:
        said.append(
            f"only {rows_text(sample.n)}: much of the map can be due to chance, and nothing is proven of it"
        )
    for text_ in said:
        say(sys.stderr, f"{wrapped(f'rainproof: warning: {text_}')}\n")


def _say(recalibrator: Recalibrator, sample: Sample, by: list[str]) -> None:
    """Print what the map is, the certificate and the segments."""
    r, candidates = recalibrator, recalibrator.candidates_
    if not sample.classes and candidates and not by and len(said := sample.distinct().prob) == 1:
        one, other = words.two_shares(float(said[0]), float(r.predict(said)[0]))
        alone = f"Every probability is {one}, so the map has one value, {other}"
        say_paragraphs([f"{alone}. That tells no case from another: use another forecast."])
        return
    say_paragraphs([summary.choice_text(r.method_, candidates)])
    tables = [
        summary.candidate_table(candidates),
        summary.segment_table(by, r.segments_, check_range(r.threshold_range)),
    ]
    say(sys.stdout, f"\n{tables[0]}\n" if tables[0] else "")
    say_paragraphs(summary.certificate_text(r.certificate_, r.n_, r.groups_).splitlines())
    say(sys.stdout, f"\n{tables[1]}\n" if tables[1] else "")


def _check_weights(found: Sample | Segments) -> None:
    """Refuse weights that differ, in the words of the command line."""
    samples = found.values() if isinstance(found, Segments) else [found]
    if not all(sample.units.divisible for sample in samples):
        raise InputError(
            "--weight must have the same value in every row here, as rows of files are pooled before they are divided: "
            "for unequal weights use Python, rainproof.Recalibrator().fit(p, y, sample_weight=w)"
        )


def run_apply(arguments: argparse.Namespace) -> int:
    """Apply the map to the file."""
    recalibrator: Recalibrator = load_kind(arguments.map, "recalibrator")
    names = recalibrator.by_ or ()
    by = columns_of(names if arguments.by is None else arguments.by, names)
    column: str | tuple[str, ...] = f"{arguments.prob}{RECALIBRATED}"
    classes = _class_columns(arguments.classes, recalibrator.map_)
    if classes:
        arguments.classes, column = classes, tuple(f"{name}{RECALIBRATED}" for name in classes)
    for name in arguments.classes or [arguments.prob]:
        if name.endswith(RECALIBRATED):
            note(arguments, f"{name!r} is recalibrated already")
    sums: dict[str, float] = defaultdict(float)

    def compute(prob: NDArray[Any], places: Mapping[Any, Ints] | None) -> Floats:
        applied = recalibrator.apply(prob, places or {})
        if applied.unseen and arguments.unseen != "pooled":
            new = summary.unseen_text(applied.unseen)
            raise InputError(f"{new}: --unseen pooled uses the map of all rows for them")
        sums["outside"] += applied.outside
        sums["rows"] += len(prob)
        sums["before"] += float(prob.sum(dtype="float64"))
        sums["after"] += float(applied.value.sum())
        sums["unknown"] += sum(applied.unseen.values())
        return applied.value

    rows = copy_with({column: compute}, arguments, by=by)
    outside = recalibrator.map_.note_outside(int(sums["outside"]), int(sums["rows"]))
    note(arguments, outside)
    if not arguments.quiet:
        done, missing = sums["rows"], rows - sums["rows"]
        means = f" in {len(classes)} classes" if classes else ""
        if done and not classes:
            before, after = words.two_shares(sums["before"] / done, sums["after"] / done)
            means = f"; they said {before} on average and now say {after}"
        said = [f"{one_line(files_read(arguments))}: {rows_text(done)} recalibrated{means}"]
        if missing:
            said.append(
                f"{rows_text(missing)} without a probability: copied, with nothing in the new column"
            )
        if arguments.percent:
            said.append("The new column is not in percent: it is from 0 to 1")
        if sums["unknown"]:
            unseen = f"{rows_text(sums['unknown'])} of segments that the map has not seen"
            said.append(f"{unseen}: the map of all rows is used")
        say_paragraphs([*said, written("Result", arguments.output)])
    return 0


def _class_columns(columns: list[str] | None, found: Any) -> list[str]:
    """The columns of a map's classes: by their names if they have those of the classes, else as
    they are given.
    """
    classes = list(map(str, found.classes)) if isinstance(found, ClassMap) else []
    if len(columns or []) == len(classes):
        return classes if set(columns or []) == set(classes) else columns or []
    if not classes:
        raise InputError("--map is of one event: name its column with --prob")
    raise InputError(
        f"--map has {len(classes)} classes: name a column for each with --classes ({', '.join(classes)})"
    )


REFUSED = 1


def run_stream(arguments: argparse.Namespace) -> int:
    """Answer every line."""
    if sys.stdin is None or sys.stdout is None:
        raise InputError("standard input and output must be open")
    refused = False
    with Stream(arguments.state, arguments.grid, arguments.seed) as stream:
        for line in sys.stdin.buffer:  # JSON is UTF-8 wherever one is; only a newline ends a line
            answer = _answer(stream, line)
            refused |= "error" in answer
            say(sys.stdout, json.dumps(answer, allow_nan=False) + "\n")
            sys.stdout.flush()
    return REFUSED if refused else 0


def _answer(stream: Stream, line: bytes) -> dict[str, Any]:
    try:
        return stream.answer(json.loads(line, object_pairs_hook=each_key_once))
    except InputError as error:
        return {"error": str(error)}
    except (ValueError, RecursionError) as error:
        return {"error": f"a line must be JSON: {error}"}
