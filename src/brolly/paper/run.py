"""Run parts of the paper and write what comes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brolly.core.atomic_write import write_errors
from brolly.errors import InputError
from brolly.paper.beyond import beyond
from brolly.paper.chunks import Progress, Runner
from brolly.paper.claims import claims
from brolly.paper.drawing import draw
from brolly.paper.figures import figure1, figure2, figure3
from brolly.paper.page import write_page
from brolly.paper.results import PartResult
from brolly.paper.table1 import table1
from brolly.paper.table2 import table2


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the paper: what computes it, and how often it repeats things if nobody says."""

    run: Callable[..., PartResult]
    repeats: int
    least: int = 1


PARTS: dict[str, Part] = {
    "table1": Part(table1, 200),
    "table2": Part(table2, 1_000, 2),
    "figure1": Part(figure1, 1),
    "figure2": Part(figure2, 200, 4),
    "figure3": Part(figure3, 200, 4),
    "claims": Part(claims, 2_000, 20),
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
    """Compute parts of the paper anew, and write tables (CSV), pictures (PNG, SVG) and one page (HTML).

    Parameters
    ----------
    *parts : str
        "table1", "table2", "figure1", "figure2", "figure3", "claims", "beyond"; all if none is said.
    output : path
        A folder for the files; it is made if it is not there.
    repeats : int, optional
        How often each part repeats things: for ``claims``, about how many distributions to try for each statement; for
        the figures 2 and 3 the number of alphas. If not said: 1,000 for ``table2``, and so on as in ``PARTS``.
    seed : int
        The same seed gives the same numbers, however often the run was stopped and on however many processes.
    jobs : int
        How many processes to use.
    only : sequence of str
        Which statements ``claims`` is to check, as the paper numbers them; all if none is said.
    progress : callable, optional
        Told the part's name, how many of its pieces are done, and how many there are.

    Returns
    -------
    dict of PartResult

    Notes
    -----
    Each finished piece is stored under ``output/pieces``: a run that was stopped goes on where it was. Pieces made by
    another version of brolly are not used.

    Examples
    --------
    >>> import tempfile
    >>> from brolly.paper import run_paper
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = run_paper("claims", only=["Lemma 4.3"], repeats=20, output=folder)
    >>> done["claims"].tables[0].title
    '2 of 2 quantities stayed within what the paper says (1 statements)'
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
            runner, repeats=part.repeats if repeats is None else max(repeats, part.least), seed=seed, **options
        )
        result.write(folder)
        draw(result, folder)
        done[name] = result
    write_page(folder)
    return done


def _chosen(parts: Sequence[str], repeats: int | None, seed: int, jobs: int) -> list[str]:
    for name in parts:
        if name not in PARTS:
            raise InputError(f"there is no part {name!r}; there are: {', '.join(PARTS)}")
    for name, value, least in (("repeats", repeats, 1), ("seed", seed, 0), ("jobs", jobs, 1)):
        if value is not None and value < least:
            raise InputError(f"{name} must be at least {least}; it is {value}")
    return [name for name in PARTS if name in parts] if parts else list(PARTS)
