"""``rainproof stream``: keep a model's predictions calibrated, one line in, one line out."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from rainproof.cli.options import new_command
from rainproof.cli.output import say
from rainproof.errors import InputError
from rainproof.recalibration.stream import Stream

if TYPE_CHECKING:
    from rainproof.cli.options import Commands

_DESCRIPTION = """\
Recalibrate a stream of predictions, one line in, one line out.

Standard input has one JSON object a line: {"id": "a", "p": 0.7} asks for a
recalibrated prediction, {"id": "a", "y": 1} tells its outcome, however late. The
answers are {"id": "a", "probability": 0.71875} and {"id": "a", "learnt": true}, or
{"error": ...} for a line that is refused.

The state is in a file, with a journal and a lock beside it. The process may be
killed at any point: start it again with the same file, and send again the lines
that were not answered. Nothing is lost, and nothing is learnt twice. Use each id
once, and one process for each file.
"""
_EPILOG = """\
examples:
  model | rainproof stream state.json | users
  rainproof stream state.json < lines.jsonl

Exit code: 0, or 1 if a line was refused, or 2 if there is an error (one line on
stderr).
"""
REFUSED = 1


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "recalibrate a stream of predictions, whatever happens"
    parser = new_command(commands, run, "stream", summary, _DESCRIPTION, _EPILOG)
    parser.add_argument("state", metavar="FILE", help="the state file; made if there is none")
    parser.add_argument("--grid", metavar="M", type=int, help="the grid of a new state, a power of two (default: 32)")
    parser.add_argument("--seed", metavar="N", type=int, help="the seed of a new state (default: random, and secret)")


def run(arguments: argparse.Namespace) -> int:
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
        return stream.answer(json.loads(line))
    except InputError as error:
        return {"error": str(error)}
    except (ValueError, RecursionError) as error:
        return {"error": f"a line must be JSON: {error}"}
