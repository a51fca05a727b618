"""Which tests find miscalibration, at equal size: the share of samples in which each rejects.

Each test is run on samples of calibrated forecasts too. Its power at equal size is the share of
miscalibrated samples whose p-value is below the value that 5% of the calibrated samples are below:
a test that rejects too often or too seldom gains and loses nothing by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit

from benchmarks.race.calls import CallError, call
from benchmarks.race.contestants import BY_NAME, OURS, RESAMPLES
from benchmarks.race.parts import (
    Cell,
    Line,
    Lines,
    Part,
    entries,
    generator,
    markdown,
    unique,
    whose,
    within,
)
from benchmarks.race.pictures import figure
from benchmarks.race.pictures import lines as draw_lines

SIZES = (100, 1_000, 10_000)
REPLICATES = 25  # of a cell
LEVEL = 0.05
DRAWS = 200  # of the bootstrap behind the errors
BUDGET = 1.0  # seconds for one p-value
# n squared numbers for each draw: from so many rows on it gets fewer samples
SLOW = {"skce_test": 1_000}
NULL_CELLS = 4  # as many cells of calibrated samples, for each of miscalibrated ones


def _uniform(u: Any) -> Any:
    return u


def _rare(u: Any) -> Any:
    return 0.1 * u**2 + 1e-6


def _tenths(u: Any) -> Any:
    return np.floor(9 * u) / 10 + 0.1


Law = Callable[[Any], Any]
LAWS: dict[str, Law] = {"uniform": _uniform, "rare": _rare, "tenths": _tenths}
# The law of the predictions, and the event rate at each by strength: 1 at 1,000 rows, and as the
# root of 1 / n.
ALTERNATIVES: dict[str, tuple[str, Callable[[Any, float], Any]]] = {
    "overconfident": ("uniform", lambda p, s: expit(np.exp(-0.25 * s) * logit(p))),
    "underconfident": ("uniform", lambda p, s: expit(np.exp(0.3 * s) * logit(p))),
    "too high": ("uniform", lambda p, s: expit(logit(p) - 0.25 * s)),
    "bent": ("uniform", lambda p, s: expit(logit(p) + 0.35 * s * (np.abs(2 * p - 1) - 0.5))),
    "waves": (
        "uniform",
        lambda p, s: p + 0.5 * s * np.sin(12 * np.pi * p) * np.minimum(p, 1 - p) / 2,
    ),
    "one region": ("uniform", lambda p, s: p - 0.25 * s * ((p > 0.8) & (p < 0.9))),
    "rare events": ("rare", lambda p, s: p * (1 + 0.4 * s)),
    "tenths, up and down": ("tenths", lambda p, s: p + 0.09 * s * (-1.0) ** np.rint(10 * p)),
}


def _name_of_null(law: str) -> str:
    return f"calibrated, {law}"


def sample(population: str, n: int, block: int, number: int) -> tuple[Any, Any]:
    """Outcomes and predictions; the same for every test."""
    rng = generator(population, n, block, number)
    law, rate = ALTERNATIVES.get(
        population, (population.removeprefix("calibrated, "), lambda p, _: p)
    )
    while True:
        p = LAWS[law](rng.random(n))
        y = (rng.random(n) < np.clip(rate(p, (1_000 / n) ** 0.5), 0, 1)).astype(np.int64)
        if 0 < y.sum() < n:
            return y, p


def cells(block: int, quick: bool) -> Iterator[Cell]:
    """Calibrated samples first, as power needs them."""
    for n in SIZES[:1] if quick else SIZES:
        some = [
            (one.name, label)
            for one, label in entries("tests")
            if block == 0 or n < SLOW.get(label, n + 1)
        ]
        for law in LAWS:
            for package, label in some:
                for k in range(NULL_CELLS if n < SLOW.get(label, n + 1) else 2):
                    yield _name_of_null(law), n, package, label, NULL_CELLS * block + k
        for name in ALTERNATIVES:
            for package, label in some:
                yield name, n, package, label, block


def run(population: str, n: int, package: str, entry: str, block: int) -> dict[str, object]:
    """The p-values of the samples of a cell, or why there are none."""
    found: list[float] = []
    for number in range(REPLICATES):
        try:
            value, seconds = call(
                BY_NAME[package], "tests", entry, *sample(population, n, block, number)
            )
            if number > 0 and seconds > BUDGET:  # the first call imports
                return {"replicates": 0, "note": f"over budget: {seconds:.1f} s for one p-value"}
        except CallError as error:
            return {"replicates": 0, "note": str(error)[:200]}
        found.append(value)
    return {"replicates": len(found), "p_values": " ".join(f"{x:.4g}" for x in found)}


def _values(lines: Lines) -> np.ndarray:
    some = sorted(lines, key=lambda line: int(line["block"]))
    return np.array([float(x) for line in some for x in line["p_values"].split()])


def share_below(null: np.ndarray, values: np.ndarray, level: float = LEVEL) -> np.ndarray:
    """The share of values that a test of the exact level rejects, where `null` has the law of
    calibrated samples.

    Ties at the critical value are rejected with the probability that makes the level exact. Along
    the last axis.
    """
    count = null.shape[-1]
    critical = np.sort(null)[..., [min(count - 1, int(np.floor(level * count)))]]
    below, at = (null < critical).mean(axis=-1), (null == critical).mean(axis=-1)
    extra = (level - below) / at
    found: np.ndarray = (values < critical).mean(axis=-1) + extra * (values == critical).mean(
        axis=-1
    )
    return found


def _redrawn(values: np.ndarray, *seed: str) -> np.ndarray:
    """The values, and below them as many drawn with replacement, again and again: the same samples
    for every test.
    """
    at = generator(*seed).integers(0, len(values), (DRAWS, len(values)))
    return np.concatenate([values[None], values[at]])


# by kind and population: the number itself, then those of the bootstrap
Powers = dict[tuple[str, str], np.ndarray]


def powers(lines: Lines) -> dict[tuple[str, str, str], Powers]:
    """By package, test and n: the power at equal size by alternative, and under ("size", law) the
    share as it is.

    Samples of alternatives and calibrated ones are drawn again for the errors, as both make a power
    uncertain.
    """
    found: dict[tuple[str, str, str], Powers] = {}
    groups: dict[tuple[str, str, str], dict[str, list[Line]]] = {}
    for x in lines:
        own = groups.setdefault((x["package"], x["entry"], x["n"]), {})
        if x["p_values"]:
            own.setdefault(x["population"], []).append(x)
    for key, own in groups.items():
        by = {name: _redrawn(_values(some), name, key[2]) for name, some in own.items()}
        here: Powers = {}
        for name, values in by.items():
            if name not in ALTERNATIVES:
                here["size", name.removeprefix("calibrated, ")] = (values <= LEVEL).mean(axis=-1)
            elif (null := _name_of_null(ALTERNATIVES[name][0])) in by:
                here["power", name] = share_below(by[null], values)
        found[key] = here
    return found


def _mean(found: Powers) -> np.ndarray | None:
    powers_ = [x for (kind, _), x in found.items() if kind == "power"]
    return np.mean(powers_, axis=0) if len(powers_) == len(ALTERNATIVES) else None


def _all_sizes(
    found: dict[tuple[str, str, str], Powers], package: str, entry: str
) -> np.ndarray | None:
    """The mean over all sizes, if it was measured at each."""
    means = [_mean(own) for key, own in found.items() if key[:2] == (package, entry)]
    return (
        None if any(x is None for x in means) or len(means) < len(SIZES) else np.mean(means, axis=0)
    )


def _with_error(x: np.ndarray | None, *, sign: str = "") -> str:
    return "-" if x is None else f"{100 * x[0]:{sign}.1f} ± {100 * x[1:].std():.1f}"


def page(lines: Lines, pictures: Path) -> str:
    """One table of sizes, and one of powers for each n."""
    found = powers(lines)
    sizes, text = unique(lines, "n"), []
    rows: dict[tuple[str, str], Line] = {(x["package"], x["entry"]): x for x in lines}
    null, drawn = (
        min(
            sum(int(x["replicates"]) for x in lines if _is(x, name, n))
            for name in names
            for n in sizes
        )
        for names in (map(_name_of_null, LAWS), ALTERNATIVES)
    )
    text.append(
        f"Each number is from {drawn} samples of an alternative and {null} calibrated ones of "
        "its law of predictions; errors (±) are standard errors by a bootstrap of both. One "
        f"power is known to about {100 * _error_of_one(found):.0f} points. Tests that redraw "
        f"outcomes do it {RESAMPLES} times."
    )
    body, ours = [], _all_sizes(found, OURS, "combined")
    for (package, entry), line in rows.items():
        own = [_mean(found.get((package, entry, n), {})) for n in sizes]
        over = _all_sizes(found, package, entry)
        gap = (
            None
            if ours is None or over is None or (package, entry) == (OURS, "combined")
            else over - ours
        )
        body.append([whose(line), *map(_with_error, own), _with_error(gap, sign="+")])
    body.sort(
        key=lambda row: -next((float(x.split(" ")[0]) for x in (row[2], row[1]) if x != "-"), -1.0)
    )
    head = [
        "mean power at equal size, percent",
        *(f"n = {int(n):,}" for n in sizes),
        "beyond rainproof combined, all",
    ]
    text += ["## Power, mean over the eight alternatives", markdown(head, body)]
    for n in sizes:
        head = [f"n = {int(n):,}", *ALTERNATIVES]
        body_ = []
        for (package, entry), line in rows.items():
            own_ = found.get((package, entry, n), {})
            body_.append(
                [whose(line), *(_percent(own_.get(("power", name))) for name in ALTERNATIVES)]
            )
        text += [f"## Power at {int(n):,} rows", markdown(head, body_)]
    head = ["rejects a calibrated forecast", *(f"{law}, {int(n):,}" for law in LAWS for n in sizes)]
    body_ = [
        [
            whose(line),
            *(_percent(found.get((*key, n), {}).get(("size", law))) for law in LAWS for n in sizes),
        ]
        for key, line in rows.items()
    ]
    text += [
        "## Size: how often a calibrated forecast is rejected at 5%",
        "As each test comes, before sizes are made equal. Above 5% (beyond chance) its p-values "
        "are too small.",
        markdown(head, body_),
    ]
    notes = sorted(
        {f"- {whose(x)} at n = {int(x['n']):,}: {_reason(x['note'])}" for x in lines if x["note"]}
    )
    if notes:
        text += ["## Not measured", "\n".join(notes)]
    _draw(found, rows, sizes, pictures)
    return "\n\n".join(text)


def _reason(note: str) -> str:
    return (
        f"it takes more than {BUDGET:g} s for one p-value"
        if note.startswith("over budget")
        else note
    )


def _is(line: Line, population: str, n: str) -> bool:
    return (line["population"], line["n"], line["package"], line["entry"]) == (
        population,
        n,
        OURS,
        "combined",
    )


def _error_of_one(found: dict[tuple[str, str, str], Powers]) -> float:
    errors = [
        x[1:].std() for own in found.values() for (kind, _), x in own.items() if kind == "power"
    ]
    return float(np.mean(errors)) if errors else float("nan")


def _percent(x: np.ndarray | None) -> str:
    return "-" if x is None else f"{x[0]:.0%}"


def _draw(found: Any, rows: dict[tuple[str, str], Line], sizes: list[str], pictures: Path) -> None:
    with figure(pictures / "race-power.png", 9, 4.2) as fig:
        ax, series = fig.add_subplot(), {}
        for package, entry in rows:
            means = [_mean(found.get((package, entry, n), {})) for n in sizes]
            at = [(int(n), float(x[0])) for n, x in zip(sizes, means, strict=True) if x is not None]
            series[f"{package} {entry}"] = at
        draw_lines(ax, series, OURS)
        ax.set(ylim=(0, 1), xlabel="rows", ylabel="power at equal size, mean of eight alternatives")


def summary(lines: Lines) -> tuple[str, str, str] | None:
    """The mean power over alternatives and sizes, of those that were measured at each."""
    found = powers(lines)
    keys = dict.fromkeys(key[:2] for key in found)
    complete = {key: x for key in keys if (x := _all_sizes(found, *key)) is not None}
    ours = complete.pop((OURS, "combined"), None)
    others = {key: x for key, x in complete.items() if key[0] != OURS}
    if ours is None or not others:
        return None
    best = max(others, key=lambda key: others[key][0])
    gap = others[best] - ours
    return (
        "finds miscalibration: mean power of a test at 5%, eight alternatives, 100 to 10,000 rows",
        f"{ours[0]:.0%}",
        f"{others[best][0]:.0%} ({' '.join(best)}{within(gap[0], gap[1:].std())})",
    )


PART = Part(
    name="power",
    keys=("population", "n", "package", "entry", "block"),
    values=("replicates", "p_values", "note"),
    blocks=10,
    cells=cells,
    run=run,
    page=page,
    summary=summary,
)
