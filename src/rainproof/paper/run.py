"""Compute parts of the paper and write the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rainproof.core.atomic_write import write_errors
from rainproof.errors import InputError
from rainproof.paper.beyond import beyond
from rainproof.paper.chunks import Progress, Runner
from rainproof.paper.claims import claims
from rainproof.paper.drawing import draw
from rainproof.paper.figures import figure1, figure2, figure3
from rainproof.paper.page import write_page
from rainproof.paper.question1 import question1
from rainproof.paper.results import PartResult
from rainproof.paper.table1 import table1
from rainproof.paper.table2 import table2


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the paper: its function, its default number of repeats, and the least number it needs."""

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
        The number of repeats of each part: simulations for the tables, alphas for figures 2 and 3, about as many
        distributions per statement for ``claims``. Default: per part, see ``PARTS``.
    seed : int
        The seed. The same seed gives the same numbers, also after an interruption and for any number of processes.
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
    Each finished chunk is stored under ``output/pieces``, so that an interrupted run can be resumed. Chunks of another
    version of rainproof are not used.

    Examples
    --------
    >>> import tempfile
    >>> from rainproof.paper import run_paper
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
