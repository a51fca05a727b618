"""Compute parts of the paper and write the results: the function, and the command ``python -m
paper``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from paper.beyond import beyond
from paper.claims import claims, unexpected
from paper.figures import draw, figure1, figure2, figure3
from paper.question1 import question1
from paper.results import PartResult, Progress, Runner, write_errors, write_page
from paper.tables import table1, table2
from rainproof import InputError, RainproofError

_DESCRIPTION = """\
Recompute the tables, figures and statements of the paper.

Bairaktari, Hu, Nguyen, Ullman: 'Testable and Actionable Calibration for Full
Swap Regret' (arXiv:2605.17749). Every number stands beside the printed one.
"""
_EPILOG = """\
examples:
  python -m paper
  python -m paper table2 figure3 claims
  python -m paper table2 --repeats 1000 --seed 0
  python -m paper claims --only "Lemma 4.3"

Writes one page, index.html, and for each part tables (CSV) and pictures (PNG,
SVG; they need Matplotlib: pip install matplotlib). A run that was stopped
goes on where it was. The same seed gives the same numbers.
Exit code: 0 if all was computed and every statement held but for the slips that
are known, 1 if another one did not hold, 2 if there is an error (one line on
stderr).
"""
_FAILED = 2
_GRACE = 5.0  # seconds that an end may take
_NOBODY_READS = 141  # 128 + SIGPIPE, as shells count
_PATIENCE = 2.0  # seconds that need no explanation
_PAUSE = 0.2  # seconds between two lines, each over the last
_WIDTH = 30  # of the bar


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the paper: its function, its default number of repeats, and the least number it
    needs.
    """

    run: Callable[..., PartResult]
    repeats: int
    least: int = 1


PARTS: dict[str, Part] = {
    "table1": Part(table1, 200),
    "table2": Part(table2, 1_000, 2),
    "figure1": Part(figure1, 1),
    "figure2": Part(figure2, 200, 4),
    "figure3": Part(figure3, 200, 4),
    "claims": Part(claims, 1_000, 20),
    "question1": Part(question1, 600, 20),
    "beyond": Part(beyond, 5_000),
}


def run_paper(
    *parts: str,
    output: str | Path,
    repeats: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    only: Sequence[str] = (),
    progress: Progress | None = None,
) -> dict[str, PartResult]:
    """Recompute parts of the paper, and write tables (CSV), figures (PNG, SVG) and one page (HTML).

    Parameters
    ----------
    *parts : str
        Names in ``PARTS``, such as "table2", "figure3" or "claims". Default: all.
    output : path
        The folder for the files; created if it does not exist.
    repeats : int, optional
        The number of repeats of each part: simulations for the tables, alphas for figures 2 and 3,
        about as many distributions per statement for ``claims``. Default: per part, see ``PARTS``.
    seed : int
        The seed. The same seed gives the same numbers, also after an interruption and for any
        number of processes.
    jobs : int
        The number of processes.
    only : sequence of str
        The statements that ``claims`` checks, by their names in the paper. Default: all.
    progress : callable, optional
        Called with the name of the part, the number of chunks done, and the number of all.

    Returns
    -------
    dict of PartResult

    Notes
    -----
    Each finished chunk is stored under ``output/pieces``, so that an interrupted run can be
    resumed. Chunks of another version of rainproof are not used.

    Examples
    --------
    >>> import tempfile
    >>> from paper import run_paper
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = run_paper("claims", only=["Example 1"], repeats=20, output=folder)
    >>> done["claims"].tables[0].title
    '3 of 3 quantities stayed within what the paper says (1 statements)'
    """
    folder = Path(output)
    names = _chosen(parts, repeats, seed, jobs)
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    runner = Runner(folder=folder / "pieces", jobs=jobs, progress=progress)
    done = {}
    for name in names:
        options: dict[str, Any] = {"only": tuple(only)} if name == "claims" else {}
        part = PARTS[name]
        result = part.run(
            runner,
            repeats=part.repeats if repeats is None else max(repeats, part.least),
            seed=seed,
            **options,
        )
        result.write(folder)
        draw(result, folder)
        done[name] = result
    write_page(folder, PARTS)
    return done


def _chosen(parts: Sequence[str], repeats: int | None, seed: int, jobs: int) -> list[str]:
    for name in parts:
        if name not in PARTS:
            raise InputError(f"there is no part {name!r}; there are: {', '.join(PARTS)}")
    for name, value, least in (("repeats", repeats, 1), ("seed", seed, 0), ("jobs", jobs, 1)):
        if value is not None and value < least:
            raise InputError(f"{name} must be at least {least}; it is {value}")
    return [name for name in PARTS if name in parts] if parts else list(PARTS)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; errors are one line on stderr.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments, without the name of the program; those of this process if left out.
    """
    try:
        if argv is None:  # a process of its own
            for number in (signal.SIGINT, signal.SIGTERM):
                # what is ignored, as in the background, stays so
                if signal.getsignal(number) != signal.SIG_IGN:
                    signal.signal(number, _stop)
        return _run(_parser().parse_args(argv))
    except SystemExit:  # --help has said what was asked
        return 0
    except RainproofError as error:
        return _fail(str(error))
    except KeyboardInterrupt as stop:
        return 128 + (stop.args[0] if stop.args else signal.SIGINT)
    except BrokenPipeError:
        # nobody reads any more; Python must not fail over it while it shuts down
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _NOBODY_READS
    except OSError as error:
        return _fail(f"cannot write: {error.strerror or error}")


def _run(arguments: argparse.Namespace) -> int:
    bar = _Bar()
    try:
        done = run_paper(
            *(arguments.parts or (["claims"] if arguments.only else [])),
            output=arguments.output,
            repeats=arguments.repeats,
            seed=arguments.seed,
            jobs=arguments.jobs,
            only=arguments.only,
            progress=None if arguments.quiet or not sys.stderr.isatty() else bar,
        )
    finally:
        bar.clear()
    if not arguments.quiet:
        for result in done.values():
            tables = [str(table) for table in result.tables if table.printed]
            print("\n\n".join([result.title, *tables]), end="\n\n")
        print(f"Everything is on one page: {arguments.output / 'index.html'}")
        sys.stdout.flush()
    return int(
        any(
            result.name == "claims" and unexpected(result.tables[0].records())
            for result in done.values()
        )
    )


class _Parser(argparse.ArgumentParser):
    """Report wrong arguments in one line."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message} (see 'python -m paper --help')")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m paper",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "parts",
        metavar="PART",
        nargs="*",
        help=f"what to compute: {', '.join(PARTS)} (default: all)",
    )
    parser.add_argument(
        "--repeats", metavar="N", type=int, help="number of repetitions (default: as in the paper)"
    )
    parser.add_argument(
        "--seed", metavar="N", type=int, default=0, help="seed of the random numbers (default: 0)"
    )
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        default=[],
        help="check this statement alone (claims)",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=int,
        default=os.cpu_count() or 1,
        help="processes (default: all cores)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        type=Path,
        default=Path("build", "paper"),
        help="folder for the files (default: build/paper)",
    )
    parser.add_argument("--quiet", action="store_true", help="print neither text nor progress")
    return parser


class _Bar:
    """Show the progress of a part on a terminal, once the work takes long."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PATIENCE
        self._shown = ""

    def __call__(self, name: str, done: int, total: int) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _PAUSE
            share = done / max(total, 1)
            self._show(
                f"{name:<14} [{'#' * int(share * _WIDTH):{_WIDTH}}] {100 * share:3.0f}%  "
                f"{done}/{total}"
            )

    def clear(self) -> None:
        if self._shown:
            self._show("")

    def _show(self, text: str) -> None:
        sys.stderr.write(f"\r{' ' * len(self._shown)}\r{text}")
        sys.stderr.flush()
        self._shown = text


def _stop(number: int, _: FrameType | None) -> NoReturn:
    """Stop like Ctrl-C; if something holds the process up, it ends after a moment all the same."""
    watch = threading.Timer(_GRACE, _leave, [number])
    watch.daemon = True
    watch.start()
    raise KeyboardInterrupt(number)


def _leave(number: int) -> None:
    for worker in multiprocessing.active_children():
        worker.terminate()
    os._exit(128 + number)


def _fail(message: str) -> int:
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message)
    print(f"paper: error: {line}", file=sys.stderr)
    return _FAILED
