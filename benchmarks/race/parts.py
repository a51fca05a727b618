"""What a part of the race is: cells that are computed once, one line of a table each, and a page
made of the lines.
"""

from __future__ import annotations

import csv
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.race.calls import present, spent
from benchmarks.race.contestants import CONTESTANTS, Contestant

Line = dict[str, str]
Lines = Sequence[Line]
Cell = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part: `keys` name a cell, `run` computes the other fields of its line, `page` writes about
    all lines.

    A line has the seconds of processor time that it took, too. `cells` yields those of one block;
    blocks of more replicates come after all cells of the first.
    """

    name: str
    keys: tuple[str, ...]
    values: tuple[str, ...]
    blocks: int
    cells: Callable[[int, bool], Iterator[Cell]]  # of a block; only a few if quick
    run: Callable[..., dict[str, object]]
    page: Callable[[Lines, Path], str]  # writes its picture into a folder
    summary: Callable[[Lines], tuple[str, str, str] | None] = lambda _: None

    def file(self, folder: Path) -> Path:
        return folder / f"{self.name}.csv"

    def lines(self, folder: Path) -> list[Line]:
        """What has been measured so far, package after package."""
        path = self.file(folder)
        if not path.exists():
            return []
        names = [one.name for one in CONTESTANTS]
        with path.open(encoding="utf-8", newline="") as file:
            return sorted(csv.DictReader(file), key=lambda line: names.index(line["package"]))

    def measure(self, folder: Path, *, blocks: int, quick: bool, until: float) -> bool:
        """Compute the cells that are not in the table, block after block; False if the time was
        over before the end.
        """
        done = {tuple(line[key] for key in self.keys) for line in self.lines(folder)}
        folder.mkdir(parents=True, exist_ok=True)
        for block in range(blocks):
            for cell in self.cells(block, quick):
                if tuple(map(str, cell)) in done:
                    continue
                if time.monotonic() > until:
                    return False
                before = spent()
                line = dict(zip(self.keys, cell, strict=True)) | self.run(*cell)
                self._append(folder, line | {"seconds": f"{spent() - before:.3g}"})
        return True

    def _append(self, folder: Path, line: dict[str, object]) -> None:
        path = self.file(folder)
        new = not path.exists()
        with path.open("a", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(
                file, [*self.keys, *self.values, "seconds"], lineterminator="\n", restval=""
            )
            if new:
                table.writeheader()
            table.writerow(line)


def entries(kind: str) -> Iterator[tuple[Contestant, str]]:
    """All functions of a kind, of the contestants that are installed."""
    for one in present():
        for label in one.of(kind):
            yield one, label


def generator(*seed: str | int) -> np.random.Generator:
    """The same numbers for the same words, on every machine."""
    return np.random.default_rng([zlib.crc32(str(part).encode()) for part in seed])


def say(*words: object) -> None:
    """Tell whoever waits."""
    print(*words, file=sys.stderr, flush=True)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells as a table; all but the first column to the right."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *rows))


def whose(line: Line) -> str:
    """The name of a row: the package and its function."""
    package = f"**{line['package']}**" if line["package"] == "rainproof" else line["package"]
    return f"{package} {line['entry']}"


def unique(lines: Lines, key: str) -> list[str]:
    """The values of a field in the order in which they came."""
    return list(dict.fromkeys(line[key] for line in lines))


def within(gap: float, error: float) -> str:
    """Words to add where a difference is within two standard errors of 0."""
    return "; within chance" if abs(gap) < 2 * error else ""


def chance(gaps: Sequence[float]) -> str:
    """The same of a mean difference."""
    x = np.array(gaps)
    return within(float(x.mean()), float(x.std(ddof=1) / len(x) ** 0.5))
