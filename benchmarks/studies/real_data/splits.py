"""Rows to train models, to recalibrate their predictions, and to judge: three ways to divide them.

- "random": rows at random.
- "time": the first rows train, the next ones recalibrate, the last ones judge.
- "site": rows of some sites train; the model is then recalibrated and judged at the others.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from benchmarks.studies.real_data.models import MOST_TRAINED, Floats, Ints, predict
from benchmarks.studies.real_data.sets import Rows, Table, read

SIZES = (60, 100, 300, 1_000, 5_000)
"""How many rows recalibrate."""

_TRAINED = 0.4  # of the rows
_FEWEST_TRAINED = 100
_MOST_HELD_OUT = 12_000  # rows that were not trained on
_MOST_JUDGED = 6_000
_FEWEST_JUDGED = 100
_FEWEST_OF_AN_OUTCOME = 10  # among the rows that judge


@dataclass(frozen=True, kw_only=True)
class Split:
    """Rows that train, and those that are held out, in random order or in that of time."""

    trained: Ints
    held_out: Ints
    in_time: bool


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Predictions and events of the rows that recalibrate, and of those that judge."""

    p: Floats
    y: Ints
    new: Floats
    event: Ints


def kinds(table: Table) -> list[str]:
    """Return the ways to divide a table."""
    return ["random", *(["time"] if table.time else []), *(["site"] if table.site else [])]


def divide(rows: Rows, kind: str, rng: np.random.Generator) -> Split:
    """Divide rows, those that train in random order."""
    order = rng.permutation(len(rows.y))
    if kind == "time":
        assert rows.time is not None
        order = order[np.argsort(rows.time[order], kind="stable")]
    count = max(_FEWEST_TRAINED, int(_TRAINED * len(order)))
    if kind == "site":
        assert rows.site is not None
        order = _sites_in_random_order(rows.site[order], order, rng)
        last = rows.site[order[count - 1]]
        count = int(np.flatnonzero(rows.site[order] == last)[-1]) + 1  # whole sites
    trained = rng.permutation(order[:count])[:MOST_TRAINED]
    held_out = order[count:]
    if kind != "time":
        held_out = rng.permutation(held_out)[:_MOST_HELD_OUT]
    elif len(held_out) > _MOST_HELD_OUT:
        held_out = held_out[np.sort(rng.permutation(len(held_out))[:_MOST_HELD_OUT])]
    return Split(trained=trained, held_out=held_out, in_time=kind == "time")


def _sites_in_random_order(site: Ints, order: Ints, rng: np.random.Generator) -> Ints:
    """Put the rows of each site together."""
    rank = rng.permutation(int(site.max()) + 1)
    return order[np.argsort(rank[site], kind="stable")]


def predictions(table: Table, split: str, model: str, cache: Path) -> tuple[Floats, Ints]:
    """Return predictions and events of the held-out rows, in order; computed once."""
    file = cache / f"{table.name} {split} {model}.npz".replace(" ", "_").replace("/", "_")
    if not file.exists():
        rows = read(table)
        division = divide(rows, split, np.random.default_rng(crc32(table.name.encode())))
        trained = division.trained
        held_out = division.held_out
        y = rows.y[held_out]
        p = np.zeros(0)
        if 0 < rows.y[trained].sum() < len(trained) and len(held_out):
            p = predict(model, rows.x[trained], rows.y[trained], rows.x[held_out])
        cache.mkdir(parents=True, exist_ok=True)
        whole = file.with_name(f"{os.getpid()}.npz")
        np.savez_compressed(whole, p=p, y=y)
        whole.replace(file)  # at once: other parts of the study may read it meanwhile
    stored = np.load(file)
    return stored["p"], stored["y"]


def draw(p: Floats, y: Ints, *, n: int, in_time: bool, rng: np.random.Generator) -> Drawn | None:
    """Draw rows that recalibrate and rows that judge; None where too few are left.

    In time, those that recalibrate are from the first half of the rows held out and those that
    judge from the second.
    """
    if len(p) < n + _FEWEST_JUDGED:
        return None
    if in_time:
        middle = len(p) // 2
        if middle < n:
            return None
        fitted = rng.permutation(middle)[:n]
        judged = middle + rng.permutation(len(p) - middle)
    else:
        order = rng.permutation(len(p))
        fitted = order[:n]
        judged = order[n:]
    judged = judged[:_MOST_JUDGED]
    events = int(y[judged].sum())
    has_both = 0 < y[fitted].sum() < n
    if not has_both or min(events, len(judged) - events) < _FEWEST_OF_AN_OUTCOME:
        return None
    return Drawn(p=p[fitted], y=y[fitted], new=p[judged], event=y[judged])
