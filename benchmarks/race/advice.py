"""What following each package's own recommendation costs, in random populations with costs of
errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.race.calls import CallError, call
from benchmarks.race.contestants import BY_NAME, NO_PACKAGE, OURS
from benchmarks.race.parts import Cell, Lines, Part, chance, entries, markdown, unique, whose
from benchmarks.race.pictures import figure
from benchmarks.race.pictures import lines as draw_lines
from benchmarks.studies.advice import Drawn, draw

SIZES = (200, 1_000, 5_000)
BLOCK = 45  # populations: nine kinds, five ratios of costs
# other populations than those of `benchmarks.studies.advice`, on which the rules of the verdict
# were chosen
SEED = 36


@cache
def _drawn(n: int, number: int) -> Drawn | None:
    return draw(n, number, SEED)


def cells(block: int, quick: bool) -> Iterator[Cell]:
    """Population after population, so that all have the same whenever it stops."""
    for n in SIZES[:2] if quick else SIZES:
        for number in range(block * BLOCK, block * BLOCK + (9 if quick else BLOCK)):
            if _drawn(n, number) is not None:
                for one, label in entries("advice"):
                    yield n, number, one.name, label


def run(n: int, number: int, package: str, entry: str) -> dict[str, object]:
    """The regret of one recommendation, in its population."""
    drawn = _drawn(n, number)
    assert drawn is not None
    about: dict[str, object] = {
        "kind": drawn.kind,
        "miss": f"{drawn.miss:.3g}",
        "event_rate": f"{drawn.rate.mean():.4f}",
    }
    try:
        arguments = drawn.y.astype(np.int64), drawn.p, drawn.everyone, drawn.miss
        acts, _ = call(BY_NAME[package], "advice", entry, *arguments)
    except CallError as error:
        return about | {"note": str(error)[:200]}
    return about | {"regret": f"{drawn.regret(acts):.6f}"}


def _regrets(lines: Lines) -> dict[tuple[str, str], dict[tuple[str, str], float]]:
    found: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for x in lines:
        if x["regret"]:
            found.setdefault((x["package"], x["entry"]), {})[x["n"], x["number"]] = float(
                x["regret"]
            )
    return found


def page(lines: Lines, pictures: Path) -> str:
    """Means over populations, and differences from ours."""
    sizes, by = unique(lines, "n"), _regrets(lines)
    ours = next(own for (package, _), own in by.items() if package == OURS)
    count = {n: len({x["number"] for x in lines if x["n"] == n}) for n in sizes}
    body, beyond = [], []
    rows = {(x["package"], x["entry"]): whose(x) for x in lines}
    for key, name in rows.items():
        own = by.get(key, {})
        some = [np.array([x for (m, _), x in own.items() if m == n]) for n in sizes]
        body.append(
            [
                name,
                *(
                    f"{100 * x.mean():.2f} ± {100 * _error(x):.2f}" if len(x) > 1 else "-"
                    for x in some
                ),
            ]
        )
        gaps = [
            np.array([x - ours[k] for k, x in own.items() if k[0] == n and k in ours])
            for n in sizes
        ]
        if key[0] != OURS:
            beyond.append(
                [
                    name,
                    *(
                        f"{100 * x.mean():+.2f} ± {100 * _error(x):.2f}" if len(x) > 1 else "-"
                        for x in gaps
                    ),
                ]
            )
    head = ["mean regret, percent", *(f"n = {int(n):,} ({count[n]} populations)" for n in sizes)]
    text = [
        markdown(head, sorted(body, key=_last)),
        "## Beyond rainproof's, on the same populations",
        markdown(
            ["percent; below 0 it is better", *(f"n = {int(n):,}" for n in sizes)],
            sorted(beyond, key=_last),
        ),
        "## By kind of population, all sizes",
    ]
    kinds = unique(lines, "kind")
    body = []
    for key, name in rows.items():
        own_ = [x for x in lines if (x["package"], x["entry"]) == key and x["regret"]]
        cells_ = [[float(x["regret"]) for x in own_ if x["kind"] == kind] for kind in kinds]
        body.append([name, *(f"{100 * np.mean(x):.1f}" if x else "-" for x in cells_)])
    text.append(markdown(["mean regret, percent", *kinds], body))
    notes: dict[str, int] = {}
    for x in lines:
        if x["note"]:
            key_ = f"{whose(x)}: {x['note'].splitlines()[0]}"
            notes[key_] = notes.get(key_, 0) + 1
    if notes:
        text += [
            "## Failed",
            "\n".join(f"- {note} ({times} populations)" for note, times in notes.items()),
        ]
    with figure(pictures / "race-advice.png", 9, 4.2) as fig:
        ax, series = fig.add_subplot(), {}
        for (package, entry), own in by.items():
            if package != NO_PACKAGE or entry == "as they are":
                at = [
                    (int(n), 100 * np.mean([x for (m, _), x in own.items() if m == n]))
                    for n in sizes
                ]
                series[f"{package}: {entry}"] = at
        draw_lines(ax, series, OURS)
        ax.set(yscale="log", xlabel="rows", ylabel="mean regret, percent")
    return "\n\n".join(text)


def _error(x: np.ndarray) -> float:
    return float(x.std(ddof=1) / len(x) ** 0.5)


def _last(row: list[str]) -> float:
    """The number of the largest n that has one."""
    return next((float(cell.split(" ")[0]) for cell in reversed(row[1:]) if cell != "-"), np.inf)


def summary(lines: Lines) -> tuple[str, str, str] | None:
    """The mean over sizes of the mean regret."""
    by, sizes = _regrets(lines), unique(lines, "n")
    means = {}
    for key, own in by.items():
        some = [[x for (m, _), x in own.items() if m == n] for n in sizes]
        if all(some):
            means[key] = float(np.mean([np.mean(x) for x in some]))
    ours = [x for (package, _), x in means.items() if package == OURS]
    own = next((own for (package, _), own in by.items() if package == OURS), {})
    others = {key: x for key, x in means.items() if key[0] not in (OURS, NO_PACKAGE)}
    if not ours or not others:
        return None
    best = min(others, key=lambda key: others[key])
    return (
        "advises: regret of its recommendation, in percent of the better fixed rule's cost",
        f"{100 * ours[0]:.1f}",
        f"{100 * others[best]:.1f} "
        f"({' '.join(best)}{chance([x - own[k] for k, x in by[best].items() if k in own])})",
    )


PART = Part(
    name="advice",
    keys=("n", "number", "package", "entry"),
    values=("kind", "miss", "event_rate", "regret", "note"),
    blocks=3,
    cells=cells,
    run=run,
    page=page,
    summary=summary,
)
