"""Which tests find miscalibration, at equal size: the share of samples in which each rejects.

Each test is run on samples of calibrated forecasts too. Its power at equal size is the share of miscalibrated samples
whose p-value is below the value that 5% of the calibrated samples are below: a test that rejects too often or too
seldom gains and loses nothing by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit

from benchmarks.race.calls import CallError, call
from benchmarks.race.contestants import BY_NAME, OURS, RESAMPLES
from benchmarks.race.parts import Cell, Line, Lines, Part, entries, generator, markdown, unique, whose
from benchmarks.race.pictures import figure
from benchmarks.race.pictures import lines as draw_lines

SIZES = (100, 1_000, 10_000)
REPLICATES = 25  # of a cell
LEVEL = 0.05
BUDGET = 1.0  # seconds for one p-value
NULL_CELLS = 2  # as many cells of calibrated samples, for each of miscalibrated ones


def _uniform(u: Any) -> Any:
    return u


def _rare(u: Any) -> Any:
    return 0.1 * u**2 + 1e-6


def _tenths(u: Any) -> Any:
    return np.floor(9 * u) / 10 + 0.1


Law = Callable[[Any], Any]
LAWS: dict[str, Law] = {"uniform": _uniform, "rare": _rare, "tenths": _tenths}
# The law of the predictions, and the event rate at each by strength: 1 at 1,000 rows, and as the root of 1 / n.
ALTERNATIVES: dict[str, tuple[str, Callable[[Any, float], Any]]] = {
    "overconfident": ("uniform", lambda p, s: expit(np.exp(-0.25 * s) * logit(p))),
    "underconfident": ("uniform", lambda p, s: expit(np.exp(0.3 * s) * logit(p))),
    "too high": ("uniform", lambda p, s: expit(logit(p) - 0.25 * s)),
    "bent": ("uniform", lambda p, s: expit(logit(p) + 0.35 * s * (np.abs(2 * p - 1) - 0.5))),
    "waves": ("uniform", lambda p, s: p + 0.5 * s * np.sin(12 * np.pi * p) * np.minimum(p, 1 - p) / 2),
    "one region": ("uniform", lambda p, s: p - 0.25 * s * ((p > 0.8) & (p < 0.9))),
    "rare events": ("rare", lambda p, s: p * (1 + 0.4 * s)),
    "tenths, up and down": ("tenths", lambda p, s: p + 0.09 * s * (-1.0) ** np.rint(10 * p)),
}


def _name_of_null(law: str) -> str:
    return f"calibrated, {law}"


def sample(population: str, n: int, block: int, number: int) -> tuple[Any, Any]:
    """Outcomes and predictions; the same for every test."""
    rng = generator(population, n, block, number)
    law, rate = ALTERNATIVES.get(population, (population.removeprefix("calibrated, "), lambda p, _: p))
    while True:
        p = LAWS[law](rng.random(n))
        y = (rng.random(n) < np.clip(rate(p, (1_000 / n) ** 0.5), 0, 1)).astype(np.int64)
        if 0 < y.sum() < n:
            return y, p


def cells(block: int, quick: bool) -> Iterator[Cell]:
    """Calibrated samples first, as power needs them."""
    for n in SIZES[:1] if quick else SIZES:
        for law in LAWS:
            for one, label in entries("tests"):
                for k in range(NULL_CELLS):
                    yield _name_of_null(law), n, one.name, label, NULL_CELLS * block + k
        for name in ALTERNATIVES:
            for one, label in entries("tests"):
                yield name, n, one.name, label, block


def run(population: str, n: int, package: str, entry: str, block: int) -> dict[str, object]:
    """The p-values of the samples of a cell, or why there are none."""
    found: list[float] = []
    for number in range(REPLICATES):
        try:
            value, seconds = call(BY_NAME[package], "tests", entry, *sample(population, n, block, number))
            if number > 0 and seconds > BUDGET:  # the first call imports
                return {"replicates": 0, "note": f"over budget: {seconds:.1f} s for one p-value"}
        except CallError as error:
            return {"replicates": 0, "note": str(error)[:200]}
        found.append(value)
    return {"replicates": len(found), "p_values": " ".join(f"{x:.4g}" for x in found)}


def _values(lines: Lines) -> np.ndarray:
    return np.array([float(x) for line in lines for x in line["p_values"].split()])


def share_below(null: np.ndarray, values: np.ndarray, level: float = LEVEL) -> float:
    """The share of values that a test of the exact level rejects, where `null` has the law of calibrated samples.

    Ties at the critical value are rejected with the probability that makes the level exact.
    """
    critical = np.sort(null)[min(len(null) - 1, int(np.floor(level * len(null))))]
    below, at = (null < critical).mean(), (null == critical).mean()
    extra = (level - below) / at
    return float((values < critical).mean() + extra * (values == critical).mean())


def powers(lines: Lines) -> dict[tuple[str, str, str], dict[tuple[str, str], float]]:
    """By package, test and n: the power at equal size by alternative, and under ("", law) the share as it is."""
    found: dict[tuple[str, str, str], dict[tuple[str, str], float]] = {}
    for package, entry, n in dict.fromkeys((x["package"], x["entry"], x["n"]) for x in lines):
        own = [x for x in lines if (x["package"], x["entry"], x["n"]) == (package, entry, n) and x["p_values"]]
        by = {name: _values([x for x in own if x["population"] == name]) for name in unique(own, "population")}
        for name, values in by.items():
            law = ALTERNATIVES[name][0] if name in ALTERNATIVES else name.removeprefix("calibrated, ")
            null = by.get(_name_of_null(law), np.array([]))
            key = found.setdefault((package, entry, n), {})
            if name in ALTERNATIVES and len(null):
                key["power", name] = share_below(null, values)
            elif name not in ALTERNATIVES:
                key["size", law] = float((values <= LEVEL).mean())
    return found


def _mean(found: dict[tuple[str, str], float]) -> float | None:
    powers_ = [x for (kind, _), x in found.items() if kind == "power"]
    return float(np.mean(powers_)) if len(powers_) == len(ALTERNATIVES) else None


def page(lines: Lines, pictures: Path) -> str:
    """One table of sizes, and one of powers for each n."""
    found = powers(lines)
    sizes, text = unique(lines, "n"), []
    rows: dict[tuple[str, str], Line] = {(x["package"], x["entry"]): x for x in lines}
    samples = min(int(x["replicates"]) for x in lines if x["p_values"])
    null, drawn = (
        {sum(int(x["replicates"]) for x in lines if _is(x, name, sizes[0])) for name in names}
        for names in ([_name_of_null("uniform")], [next(iter(ALTERNATIVES))])
    )
    text.append(
        f"Each number is from {_count(drawn)} samples ({samples} in a cell of the table) of each alternative and "
        f"{_count(null)} calibrated ones of each law of predictions, so it is known to about "
        f"{100 * 0.5 / max(drawn) ** 0.5:.0f} points; the means of eight to about "
        f"{100 * 0.4 / max(drawn) ** 0.5 / 8**0.5:.0f}. Tests that redraw outcomes do it {RESAMPLES} times."
    )
    body = []
    for (package, entry), line in rows.items():
        own = [_mean(found.get((package, entry, n), {})) for n in sizes]
        body.append((own, [whose(line), *("-" if x is None else f"{x:.0%}" for x in own)]))
    body.sort(key=lambda x: -max((y for y in x[0] if y is not None), default=-1.0))
    body.sort(key=lambda x: -(x[0][min(1, len(sizes) - 1)] or 0.0))
    head = ["mean power at equal size", *(f"n = {int(n):,}" for n in sizes)]
    text += ["## Power, mean over the eight alternatives", markdown(head, [x[1] for x in body])]
    for n in sizes:
        head = [f"n = {int(n):,}", *ALTERNATIVES]
        body_ = []
        for (package, entry), line in rows.items():
            own_ = found.get((package, entry, n), {})
            body_.append([whose(line), *(_percent(own_.get(("power", name))) for name in ALTERNATIVES)])
        text += [f"## Power at {int(n):,} rows", markdown(head, body_)]
    head = ["rejects a calibrated forecast", *(f"{law}, {int(n):,}" for law in LAWS for n in sizes)]
    body_ = [
        [whose(line), *(_percent(found.get((*key, n), {}).get(("size", law))) for law in LAWS for n in sizes)]
        for key, line in rows.items()
    ]
    text += [
        "## Size: how often a calibrated forecast is rejected at 5%",
        "As each test comes, before sizes are made equal. Above 5% (beyond chance) its p-values are too small.",
        markdown(head, body_),
    ]
    notes = sorted({f"- {whose(x)} at n = {int(x['n']):,}: {_reason(x['note'])}" for x in lines if x["note"]})
    if notes:
        text += ["## Not measured", "\n".join(notes)]
    _draw(found, rows, sizes, pictures)
    return "\n\n".join(text)


def _reason(note: str) -> str:
    return f"it takes more than {BUDGET:g} s for one p-value" if note.startswith("over budget") else note


def _is(line: Line, population: str, n: str) -> bool:
    return (line["population"], line["n"], line["package"], line["entry"]) == (population, n, OURS, "combined")


def _count(some: set[int]) -> str:
    return str(max(some))


def _percent(x: float | None) -> str:
    return "-" if x is None else f"{x:.0%}"


def _draw(found: Any, rows: dict[tuple[str, str], Line], sizes: list[str], pictures: Path) -> None:
    with figure(pictures / "race-power.png", 9, 4.2) as fig:
        ax, series = fig.add_subplot(), {}
        for package, entry in rows:
            means = [_mean(found.get((package, entry, n), {})) for n in sizes]
            at = [(int(n), x) for n, x in zip(sizes, means, strict=True) if x is not None]
            series[f"{package} {entry}"] = at
        draw_lines(ax, series, OURS)
        ax.set(ylim=(0, 1), xlabel="rows", ylabel="power at equal size, mean of eight alternatives")


def summary(lines: Lines) -> tuple[str, str, str] | None:
    """The mean power over alternatives and sizes at which all have been measured."""
    means: dict[tuple[str, str], list[float | None]] = {}
    for (package, entry, _), some in powers(lines).items():
        means.setdefault((package, entry), []).append(_mean(some))
    complete = {key: float(np.mean(own)) for key, own in means.items() if None not in own and len(own) == len(SIZES)}
    others = {key: x for key, x in complete.items() if key[0] != OURS}
    if (OURS, "combined") not in complete or not others:
        return None
    best = max(others, key=lambda key: others[key])
    return (
        "finds miscalibration: mean power of a test at 5%, eight alternatives, 100 to 10,000 rows",
        f"{complete[OURS, 'combined']:.0%}",
        f"{others[best]:.0%} ({' '.join(best)})",
    )


PART = Part(
    name="power",
    keys=("population", "n", "package", "entry", "block"),
    values=("replicates", "p_values", "note"),
    blocks=4,
    cells=cells,
    run=run,
    page=page,
    summary=summary,
)
