"""``rainproof decide``: apply a policy to each row of a file."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rainproof.cli.options import add_quiet, add_rewriting, files_read, local_files, new_command, rewriting
from rainproof.cli.output import one_line
from rainproof.cli.progress import Progress
from rainproof.cli.results import say_paragraphs, written
from rainproof.core.files import check_output
from rainproof.core.result import rows as rows_text
from rainproof.core.result import wrapped
from rainproof.decisions.policies import RoundingPolicy, load_policy, without_rounding
from rainproof.errors import InputError
from rainproof.io.files import describe_formats, need_pyarrow

if TYPE_CHECKING:
    from rainproof.cli.options import Commands

_DESCRIPTION = """\
Apply a policy to each row of a file of predicted probabilities.

The file is copied with a column 'action' added. Probabilities are rounded to the
grid of the policy at random, so rows close to a threshold may get either action.
The same id and probability always get the same one, in any file, order and
process.
"""
_EPILOG = f"""\
examples:
  rainproof policy past.csv --prob probability --outcome rained \\
      --cost-fp 35 --cost-fn 65 -o policy.json
  rainproof decide today.csv --policy policy.json --prob probability --id city \\
      -o decided.csv

{
    wrapped(
        f"Files are {describe_formats()}. They are read in batches, so they may be larger than memory. The output "
        "appears when it is complete, and never if anything goes wrong."
    )
}
Exit code: 0 if all is decided, 2 if there is an error (one line on stderr).
"""


def add_command(commands: Commands) -> None:
    """Add the command and its options."""
    summary = "apply a policy to each row of a file"
    parser = new_command(commands, run, "decide", summary, _DESCRIPTION, _EPILOG)
    add_rewriting(parser, "of predicted probabilities")
    parser.add_argument("--policy", metavar="FILE", required=True, help="the policy, as written by 'rainproof policy'")
    parser.add_argument("--id", metavar="COL", help="column of row ids: integers or text")
    parser.add_argument("--rounded", action="store_true", help="also add a column 'rounded': the probability acted on")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="the file to write")
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Apply the policy to the file, and print how often each action was taken."""
    need_pyarrow()
    from rainproof.io.rows import append_columns  # which imports PyArrow

    policy = load_policy(arguments.policy)
    if arguments.id is None and policy.rounding == "soft":
        raise InputError("--id is missing: the policy rounds at random, and row ids make that reproducible")
    check_output(arguments.output, *local_files(arguments), Path(arguments.policy))
    taken: Counter[str | None] = Counter()
    rounded: Counter[str] = Counter()
    columns = {"action": _counting(policy, taken, rounded), **({"rounded": policy.round} if arguments.rounded else {})}
    with Progress(sys.stderr, quiet=arguments.quiet) as progress:
        rows = append_columns(
            arguments.file,
            arguments.output,
            ids=arguments.id,
            new_columns=columns,
            progress=progress,
            **rewriting(arguments),
        )
    if not arguments.quiet:
        counts = ", ".join(f"{one_line(repr(name))} {taken[name]:,} times" for name in policy.task.actions)
        missing = rows - taken[None]
        said = [f"{one_line(files_read(arguments))}: {rows_text(taken[None])} decided{counts and ': ' + counts}"]
        if policy.rounding == "soft":
            said.append(_randomness(policy, taken[None], rounded))
        if missing:
            said.append(f"{rows_text(missing)} without a probability: copied, with nothing in the new columns")
        say_paragraphs([*said, written("Result", arguments.output)])
    return 0


def _randomness(policy: RoundingPolicy, rows: int, rounded: Counter[str]) -> str:
    """Say that actions are random, for how many rows, and how many got another action for it."""
    how = str(policy).splitlines()[-1]
    if not policy.task.actions or not rows:
        return how
    share = f"{rows_text(rounded['random'])} ({100 * rounded['random'] / rows:.3g}%)"
    could = f"{share} could get either of two actions, depending on the id"
    other = f"{rounded['other']:,} got another action than without rounding"
    return f"{how} {could}; {other}. 'rainproof policy' estimates what that costs."


def _counting(policy: RoundingPolicy, taken: Counter[str | None], rounded: Counter[str]) -> Any:
    """The policy, counting its decisions (as None), its actions where they have names, and what rounding changed."""

    def decide(p: NDArray[Any], ids: NDArray[Any] | None) -> NDArray[Any]:
        taken[None] += len(p)
        if not policy.task.actions:
            return policy.decide(p, ids)
        index = policy.decide_index(p, ids)
        for name, count in zip(policy.task.actions, np.bincount(index, minlength=1), strict=False):
            taken[name] += int(count)
        unrounded, random = without_rounding(policy, p)
        rounded["random"] += int(random.sum())
        rounded["other"] += int((index != unrounded).sum())
        return np.array(policy.task.actions).take(index)

    return decide
