"""How often the 95% intervals that two or more packages give contain the population's value."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

import rainproof
from benchmarks.race.calls import CallError, call
from benchmarks.race.contestants import (
    BRIER,
    BY_NAME,
    DIAGRAM,
    ECE,
    INTERCEPT,
    NET_BENEFIT,
    OURS,
    SKILL,
    SLOPE,
    THRESHOLD,
)
from benchmarks.race.parts import Cell, Lines, Part, entries, generator, markdown, unique
from benchmarks.race.pictures import figure
from benchmarks.studies.populations import Population, populations
from rainproof.measures import binned_calibration_error

SIZES = (200, 2_000)
NAMES = ("calibrated", "overconfident", "skewed", "rare")
REPLICATES = 10  # of a cell
QUANTITIES = (BRIER, SKILL, INTERCEPT, SLOPE, NET_BENEFIT, ECE, DIAGRAM)


@cache
def _population(name: str) -> Population:
    return populations()[name]


@cache
def truth(name: str, quantity: str) -> float:
    """The value of the population itself."""
    one = _population(name)
    p, rate, share = one.prob, one.rate, one.mass / one.mass.sum()
    brier, events = share @ (rate * (1 - p) ** 2 + (1 - rate) * p**2), share @ rate
    match quantity:
        case "Brier score":
            return float(brier)
        case "Brier skill":
            return float(1 - brier / (events * (1 - events)))
        case "calibration intercept":
            return rainproof.clinical_performance(one.sample).calibration_intercept.value
        case "calibration slope":
            return rainproof.clinical_performance(one.sample).calibration_slope.value
        case "net benefit at 30%":
            acts = p >= THRESHOLD
            return float(share @ (acts * (rate - THRESHOLD / (1 - THRESHOLD) * (1 - rate))))
    return binned_calibration_error(one.sample, n_bins=15, strategy="quantile")


def cells(block: int, quick: bool) -> Iterator[Cell]:
    """Every interval on every population."""
    for n in SIZES[:1] if quick else SIZES:
        for name in NAMES[:2] if quick else NAMES:
            for kind in ("intervals", "bands"):
                for one, label in entries(kind):
                    yield label, name, n, one.name, block


def run(quantity: str, population: str, n: int, package: str, block: int) -> dict[str, object]:
    """Count, over the samples of a cell; an interval of a diagram is one at each of its points."""
    one, all_, missed, width, note = _population(population), 0.0, [0.0, 0.0], [], ""
    order = np.argsort(one.prob)
    for number in range(REPLICATES):
        rng = generator(population, n, block, number)
        y, p = one.draw(n, rng)
        while not 0 < y.sum() < n:
            y, p = one.draw(n, rng)
        rate = np.interp(p, one.prob[order], one.rate[order])
        try:
            if quantity == DIAGRAM:
                low, high, true = call(
                    BY_NAME[package], "bands", quantity, y.astype(np.int64), p, rate
                )[0]
            else:
                low, high = call(BY_NAME[package], "intervals", quantity, y.astype(np.int64), p)[0]
                true = truth(population, quantity)
        except CallError as error:
            note = str(error)[:200]
            continue
        low, high, true = np.atleast_1d(low), np.atleast_1d(high), np.atleast_1d(true)
        all_ += 1
        missed[0] += float((high < true - 1e-9).mean())
        missed[1] += float((low > true + 1e-9).mean())
        width.append(float((high - low).mean()))
    return {
        "replicates": REPLICATES,
        "given": f"{all_:g}",
        "too_low": f"{missed[0]:.4g}",
        "too_high": f"{missed[1]:.4g}",
        "width": f"{np.mean(width):.4g}" if width else "",
        "note": note,
    }


def _covered(lines: Lines) -> tuple[float, float, float] | None:
    """Samples with an interval, the share of intervals that contain the truth, and their mean
    width.
    """
    given = np.array([float(x["given"]) for x in lines])
    if given.sum() == 0:
        return None
    missed = sum(float(x["too_low"]) + float(x["too_high"]) for x in lines)
    width = np.average([float(x["width"] or 0) for x in lines], weights=given)
    return float(given.sum()), 1 - missed / float(given.sum()), float(width)


def page(lines: Lines, pictures: Path) -> str:
    """A table for each quantity."""
    text, sizes, points = [], unique(lines, "n"), []
    counts = [int(sum(int(y["replicates"]) for y in _cell(lines, x))) for x in lines]
    cells_ = len(unique(lines, "population")) * len(sizes)
    few, all_samples = min(counts), min(counts) * cells_
    text.append(
        f"Each share is from {few} samples, so that a true 95% is within about "
        f"{_points(few):.0f} points of it; *all* is from {all_samples}, within "
        f"{_points(all_samples):.0f}. In brackets, the mean width."
    )
    for quantity in [x for x in QUANTITIES if x in unique(lines, "quantity")]:
        own = [x for x in lines if x["quantity"] == quantity]
        head = [
            "95% intervals",
            *(f"{p}, n = {int(n):,}" for p in unique(own, "population") for n in sizes),
            "all",
        ]
        body = []
        for package in unique(own, "package"):
            row = [f"**{package}**" if package == OURS else package]
            some = [x for x in own if x["package"] == package]
            for p in unique(own, "population"):
                for n in sizes:
                    found = _covered([x for x in some if (x["population"], x["n"]) == (p, n)])
                    row.append("-" if found is None else f"{found[1]:.0%} ({found[2]:.3g})")
            all_ = _covered(some)
            body.append([*row, "-" if all_ is None else f"{all_[1]:.1%}"])
            if all_ is not None:
                points.append((quantity, package, all_[1]))
        text += [f"## {quantity[0].upper()}{quantity[1:]}", markdown(head, body)]
    notes = sorted(
        {
            f"- {x['package']}, {x['quantity']}, {x['population']}, n = {x['n']}: {x['note']}"
            for x in lines
            if x["note"]
        }
    )
    if notes:
        text += ["## No interval", "\n".join(notes)]
    names = [x for x in QUANTITIES if x in unique(lines, "quantity")]
    packages = unique(lines, "package")
    with figure(pictures / "race-coverage.png", 9, 3.8) as fig:
        ax = fig.add_subplot()
        for k, package in enumerate(packages):
            at = [(names.index(q), x) for q, who, x in points if who == package]
            shift = (k - len(packages) / 2) / 12
            ax.plot(
                [a + shift for a, _ in at],
                [x for _, x in at],
                "o",
                ms=9 if package == OURS else 6,
                label=package,
            )
        ax.axhline(0.95, color="black", lw=1)
        ax.set_xticks(range(len(names)), [textwrap.fill(name, 14) for name in names], fontsize=7)
        ax.set(ylabel="contain the truth, of 95% intervals", ylim=(0, 1.02))
        ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return "\n\n".join(text)


def _points(samples: int) -> float:
    """Two standard errors of a share of 95%."""
    return float(200 * (0.05 * 0.95 / samples) ** 0.5)


def _cell(lines: Lines, one: dict[str, str]) -> Lines:
    keys = ("quantity", "population", "n", "package")
    return [x for x in lines if all(x[key] == one[key] for key in keys)]


def summary(lines: Lines) -> tuple[str, str, str] | None:
    """The range over quantities of the share that contains the truth."""
    found: dict[str, list[float]] = {}
    for quantity in unique(lines, "quantity"):
        for package in unique(lines, "package"):
            own = _covered(
                [x for x in lines if (x["quantity"], x["package"]) == (quantity, package)]
            )
            if own is not None:
                found.setdefault(package, []).append(own[1])
    others = {package: x for package, x in found.items() if package != OURS}
    if OURS not in found or not others:
        return None
    several = sorted(
        (x for x in others.items() if len(x[1]) > 1), key=lambda x: -min(x[1])
    ) or list(others.items())
    return (
        "covers: share of 95% intervals that contain the truth, least to most over quantities "
        f"({' and '.join(f'{int(n):,}' for n in unique(lines, 'n'))} rows)",
        f"{min(found[OURS]):.0%} to {max(found[OURS]):.0%}",
        ", ".join(f"{min(own):.0%} to {max(own):.0%} ({package})" for package, own in several),
    )


PART = Part(
    name="coverage",
    keys=("quantity", "population", "n", "package", "block"),
    values=("replicates", "given", "too_low", "too_high", "width", "note"),
    blocks=4,
    cells=cells,
    run=run,
    page=page,
    summary=summary,
)
