"""Commands that recalibrate: ``rainproof recalibrate`` fits a map, ``apply`` applies it, ``stream`` needs none."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rainproof.cli.options import ROWS, add_copied, add_output, add_shared, check_outputs, files_read, new_command
from rainproof.cli.output import Progress, draw, one_line, rows_read, say, say_paragraphs, written
from rainproof.cli.reading import RECALIBRATED, note_repeated_ids, read_rows, rewriting
from rainproof.core.files import as_text, check_replaced, load_kind
from rainproof.core.text import rows as rows_text
from rainproof.core.text import wrapped
from rainproof.errors import InputError
from rainproof.io.files import describe_formats, need_pyarrow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rainproof.cli.options import Commands
    from rainproof.core.arrays import Floats, Ints
    from rainproof.core.sample import Sample
    from rainproof.core.segments import Segments
    from rainproof.recalibration.recalibrator import Recalibrator
    from rainproof.recalibration.stream import Stream

_RECALIBRATE = """\
Recalibrate predicted probabilities: fit a map from past predictions to better
ones, and prove what it does on rows that it was not fitted to.

Several methods are tried. With --by, a segment gets a map of its own where rows
held out prove a gain.
"""
_RECALIBRATE_MORE = """\
examples:
  rainproof recalibrate past.csv --prob probability --outcome rained -o map.json
  rainproof recalibrate 'loans/*.parquet' --prob p --outcome status \\
      --pos-label default --by region -o map.json

'rainproof apply' applies the map to a file; 'rainproof policy --map' acts on it.
Files are read in pieces: they may be larger than memory, except with --groups.
Exit code: 0 if there is a map, 2 if there is an error (one line on stderr).
"""
# As rainproof.recalibration.methods has them, which imports NumPy.
_METHODS = ("logistic", "beta", "temperature", "none", "isotonic", "bins_8", "bins_32", "bins_128", "constant")


def add_recalibrate(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "fit a map from predictions to better ones, with a certificate"
    parser = new_command(commands, run_recalibrate, "recalibrate", summary, _RECALIBRATE, _RECALIBRATE_MORE)
    add_shared(parser, "file", "--prob", *ROWS, "--by", "--groups", "--fractional")
    names = ", ".join(_METHODS)
    parser.add_argument(
        "--methods", metavar="M", nargs="+", choices=_METHODS, help=f"what to choose from (default: all): {names}"
    )
    level = "confidence level of each bound (default: 0.95)"
    add_shared(parser, "--confidence-level", "--seed", confidence_level=level)
    add_shared(parser, "--plot", plot="also draw the map: .png, .svg or .pdf")
    add_shared(parser, "--json", json="print the map as JSON instead of text")
    add_output(parser, "the map to write, as JSON")
    add_shared(parser, "--quiet")


def run_recalibrate(arguments: argparse.Namespace) -> int:
    """Read the files, fit the map, and write it."""
    from rainproof.assessment import words
    from rainproof.assessment.assessing import collect_warnings
    from rainproof.core.segments import Segments
    from rainproof.recalibration.recalibrator import Recalibrator

    check_outputs(arguments)
    check_replaced(arguments.output, "recalibrator")
    found = read_rows(arguments)
    _check_weights(found)
    note_repeated_ids(arguments)
    recalibrator = Recalibrator(
        arguments.methods or "auto", confidence_level=arguments.confidence_level, rng=arguments.seed
    )
    with collect_warnings() as notes:
        recalibrator.fit(found)
    sample = found.pooled if isinstance(found, Segments) else found
    if not arguments.quiet and recalibrator.candidates_:
        _warn(sample)
    recalibrator.save(arguments.output)
    if arguments.plot is not None:
        draw(recalibrator, arguments.plot)
    if arguments.json:
        say(sys.stdout, as_text(recalibrator.to_dict()))
    elif not arguments.quiet:
        read_ = rows_read(files_read(arguments), sample, arguments.weight)
        say_paragraphs([read_, *map(words.note, notes)])
        _say(recalibrator, arguments.by or [])
        paths = [("Map", arguments.output), ("Picture", arguments.plot)]
        say_paragraphs(written(what, path) for what, path in paths if path is not None)
    return 0


def _warn(sample: Sample) -> None:
    """Say on stderr if the labels seem reversed, which a map would learn, or if the rows are few."""
    from rainproof.assessment.clinical import is_reversed
    from rainproof.assessment.words import SHELL, check_event
    from rainproof.core.segments import FEW_ROWS
    from rainproof.inference.performance import auroc

    area = auroc(sample)
    said = [check_event(area, SHELL)] if is_reversed(sample, area) else []
    n = sample.n
    if n < FEW_ROWS:
        said.append(
            f"only {rows_text(n)}: much of the map can be due to chance; the certificate says what is proven of it"
        )
    for text_ in said:
        say(sys.stderr, f"{wrapped(f'rainproof: warning: {text_}')}\n")


def _say(recalibrator: Recalibrator, by: list[str]) -> None:
    """Print the choice, the certificate and the segments."""
    from rainproof.recalibration.recalibrator import candidate_table, choice, segment_table

    method, candidates = recalibrator.method_, recalibrator.candidates_
    say_paragraphs([choice(method, candidates)])
    tables = [candidate_table(method, candidates), segment_table(by, recalibrator.segments_)]
    say(sys.stdout, f"\n{tables[0]}\n" if tables[0] else "")
    say_paragraphs(str(recalibrator.certificate_).splitlines())
    say(sys.stdout, f"\n{tables[1]}\n" if tables[1] else "")


def _check_weights(found: Sample | Segments) -> None:
    """Refuse weights that differ, in the words of the command line."""
    from rainproof.core.segments import Segments

    samples = found.values() if isinstance(found, Segments) else [found]
    if not all(sample._divisible for sample in samples):
        raise InputError(
            "--weight must have the same value in every row here, as rows of files are pooled before they are divided: "
            "for unequal weights use Python, rainproof.Recalibrator().fit(p, y, sample_weight=w)"
        )


_APPLY = """\
Apply a map to each row of a file of predicted probabilities.

The file is copied with a column of recalibrated probabilities added.
"""
_APPLY_MORE = f"""\
examples:
  rainproof recalibrate past.csv --prob probability --outcome rained -o map.json
  rainproof apply today.csv --map map.json --prob probability -o better.csv

{
    wrapped(
        f"Files are {describe_formats()}. They are read in batches, so they may be larger than memory. The output "
        "appears when it is complete, and never if anything goes wrong."
    )
}
Exit code: 0 if all is done, 2 if there is an error (one line on stderr).
"""


def add_apply(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "apply a map of 'rainproof recalibrate' to each row of a file"
    parser = new_command(commands, run_apply, "apply", summary, _APPLY, _APPLY_MORE)
    add_copied(parser)
    parser.add_argument("--map", metavar="FILE", required=True, help="the map, as written by 'rainproof recalibrate'")
    add_shared(parser, "--by", by="columns of the map's segments (default: the names it was fitted with)")
    parser.add_argument(
        "--unseen",
        choices=("error", "pooled"),
        default="error",
        help="rows of segments that the map has not seen: an error, or recalibrated by the map of all rows",
    )
    parser.add_argument("--column", metavar="NAME", help="name of the new column (default: COL_recalibrated)")
    add_output(parser, "the file to write")
    add_shared(parser, "--quiet")


def run_apply(arguments: argparse.Namespace) -> int:
    """Apply the map to the file."""
    need_pyarrow()
    from rainproof.io.rows import append_columns  # which imports PyArrow
    from rainproof.recalibration.export import columns_of

    check_outputs(arguments)
    recalibrator: Recalibrator = load_kind(arguments.map, "recalibrator")
    names = recalibrator._by or ()
    by = columns_of(names if arguments.by is None else arguments.by, names)
    column = f"{arguments.prob}{RECALIBRATED}" if arguments.column is None else arguments.column
    if not column:
        raise InputError("--column must not be empty")
    compute = _Recalibrated(recalibrator, pooled=arguments.unseen == "pooled")
    with Progress(sys.stderr, quiet=arguments.quiet) as progress:
        rows = append_columns(
            arguments.file,
            arguments.output,
            by=by,
            new_columns={column: compute},
            progress=progress,
            **rewriting(arguments),
        )
    if not arguments.quiet:
        done, missing = compute.rows, rows - compute.rows
        means = f", mean {compute.before / done:.4g} before and {compute.after / done:.4g} after" if done else ""
        said = [f"{one_line(files_read(arguments))}: {rows_text(done)} recalibrated{means}"]
        if missing:
            said.append(f"{rows_text(missing)} without a probability: copied, with nothing in the new column")
        if compute.unknown:
            new = rows_text(compute.unknown)
            said.append(f"{new} of segments that the map has not seen: the map of all rows is used")
        say_paragraphs([*said, written("Result", arguments.output)])
    return 0


class _Recalibrated:
    """The new column, with sums of what was done."""

    def __init__(self, recalibrator: Recalibrator, *, pooled: bool) -> None:
        self._recalibrator, self._pooled = recalibrator, pooled
        self.before = self.after = 0.0
        self.rows = self.unknown = 0

    def __call__(self, prob: NDArray[Any], places: Mapping[Any, Ints] | None) -> Floats:
        from rainproof.recalibration.recalibrator import unseen_text

        new = self._recalibrator._unseen(places or {})
        if new and not self._pooled:
            raise InputError(f"{unseen_text(new)}: --unseen pooled uses the map of all rows for them")
        value = self._recalibrator._predict(prob, places or {})
        self.rows += len(prob)
        self.before += float(prob.sum(dtype="float64"))
        self.after += float(value.sum())
        self.unknown += sum(new.values())
        return value


_STREAM = """\
Recalibrate a stream of predictions, one line in, one line out.

Standard input has one JSON object a line: {"id": "a", "p": 0.7} asks for a
recalibrated prediction, {"id": "a", "y": 1} tells its outcome, however late. The
answers are {"id": "a", "probability": 0.71875} and {"id": "a", "learnt": true},
or {"error": ...} for a line that is refused.

The state is in a file, with a journal and a lock beside it. The process may be
killed at any point: start it again with the same file, and send again the lines
that were not answered. Nothing is lost, and nothing is learnt twice. Use each id
once, and one process for each file.
"""
_STREAM_MORE = """\
examples:
  model | rainproof stream state.json | users
  rainproof stream state.json < lines.jsonl

Exit code: 0, or 1 if a line was refused, or 2 if there is an error (one line on
stderr).
"""
REFUSED = 1


def add_stream(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "recalibrate a stream of predictions, whatever happens"
    parser = new_command(commands, run_stream, "stream", summary, _STREAM, _STREAM_MORE)
    parser.add_argument("state", metavar="FILE", help="the state file; made if there is none")
    parser.add_argument("--grid", metavar="M", type=int, help="the grid of a new state, a power of two (default: 32)")
    parser.add_argument("--seed", metavar="N", type=int, help="the seed of a new state (default: random, and secret)")


def run_stream(arguments: argparse.Namespace) -> int:
    """Answer every line."""
    if sys.stdin is None or sys.stdout is None:
        raise InputError("standard input and output must be open")
    from rainproof.recalibration.stream import Stream

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
        return stream.answer(json.loads(line))
    except InputError as error:
        return {"error": str(error)}
    except (ValueError, RecursionError) as error:
        return {"error": f"a line must be JSON: {error}"}
