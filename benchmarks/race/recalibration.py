"""Whose recalibrated probabilities are best: on rows that no map was fitted to, 20 data sets, four
sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from benchmarks.race.calls import CallError, call
from benchmarks.race.contestants import BY_NAME, OURS, Floats
from benchmarks.race.parts import Cell, Line, Lines, Part, chance, entries, markdown, unique, whose
from benchmarks.race.pictures import figure
from benchmarks.race.pictures import lines as draw_lines
from benchmarks.studies.recalibration import FEWEST_HELD_OUT, costs, harm, seed_of
from benchmarks.studies.recalibration_data import DataSet, Drawn, data_sets

# rows: samples of a block, more where they vary more
SIZES = {200: 4, 1_000: 2, 5_000: 1, 20_000: 1}
MADE = (
    "calibrated",
    "overconfident",
    "underconfident",
    "cries wolf",
    "shifted",
    "alternating",
    "rare, 2.5 times too low",
    "rare, calibrated",
    "U-shaped",
    "saturated",
    "six values",
    "a jump",
)  # the others are made like one of these
CLIPPED = 1e-6  # of probabilities in the log loss, which is infinite where 0 or 1 is wrong
WAY = f"{OURS} Recalibrator"
LESS = 0.005  # of the cost of the better fixed rule: less is no difference
MEASURES = {
    "cost": ("cost, percent of the better fixed rule's", 100),
    "brier": ("Brier score, thousandths", 1000),
    "log_loss": ("log loss, thousandths", 1000),
    "worst": ("worst task, thousandths", 1000),
}


@cache
def sets() -> dict[str, DataSet]:
    """By name: twelve made ones, and the eight that come with rainproof and scikit-learn."""
    return {one.name: one for one in data_sets(flights=False) if one.name in MADE or not one.made}


def cells(block: int, quick: bool) -> Iterator[Cell]:
    """Every map on every data set that is large enough."""
    for n, samples in SIZES.items():
        for name, one in () if quick and n > min(SIZES) else sets().items():
            if one.size is None or one.size >= n + FEWEST_HELD_OUT:
                for k in range(1 if quick else samples):
                    for contestant, label in entries("maps"):
                        yield name, n, contestant.name, label, samples * block + k


def run(data_set: str, n: int, package: str, entry: str, block: int) -> dict[str, object]:
    """Fit to a sample, and judge on the other rows; for made data sets on the population."""
    one = sets()[data_set]
    # not the rows of `benchmarks.studies.recalibration`
    rng = np.random.default_rng(seed_of(one, n, 1_000 + block))
    drawn = one.draw(n, rng)
    while not 0 < drawn.y.sum() < n:
        drawn = one.draw(n, rng)
    at, back = np.unique(drawn.prob, return_inverse=True)
    try:
        found, _ = call(BY_NAME[package], "maps", entry, drawn.y.astype(np.int64), drawn.p, at)
    except CallError as error:
        return {"note": str(error)[:200]}
    value = np.asarray(found, np.float64)[back]
    if not np.isfinite(value).all() or value.min() < 0 or value.max() > 1:
        return {"note": f"not probabilities: {np.nanmin(value):.3g} to {np.nanmax(value):.3g}"}
    return judged(drawn, value)


def judged(drawn: Drawn, value: Floats) -> dict[str, object]:
    """The mean cost of five decisions, both scores, and for made data the loss of the worst
    task.
    """
    weight = np.ones(len(value)) if drawn.weight is None else drawn.weight
    event, clipped = drawn.event * 1.0, np.clip(value, CLIPPED, 1 - CLIPPED)
    loss = -(event * np.log(clipped) + (1 - event) * np.log1p(-clipped))
    return {
        "cost": f"{costs(drawn, value).mean():.6f}",
        "brier": f"{np.average((value - event) ** 2, weights=weight):.6f}",
        "log_loss": f"{np.average(loss, weights=weight):.6f}",
        "worst": "" if drawn.rate is None else f"{harm(drawn, drawn.rate, value):.6f}",
    }


Key = tuple[str, str, str]  # data set, n, block


def _by_way(lines: Lines, measure: str) -> dict[str, dict[Key, float]]:
    found: dict[str, dict[Key, float]] = {}
    for x in lines:
        if x[measure]:
            found.setdefault(f"{x['package']} {x['entry']}", {})[
                x["data_set"], x["n"], x["block"]
            ] = float(x[measure])
    return found


def _beyond(own: dict[Key, float], ours: dict[Key, float], n: str) -> tuple[float, float] | None:
    """The mean difference over data sets, with its standard error, where both have been
    measured.
    """
    by: dict[str, list[float]] = {}
    for key in own.keys() & ours.keys():
        if key[1] == n:
            by.setdefault(key[0], []).append(own[key] - ours[key])
    if len(by) < 2:
        return None
    means = np.array([np.mean(x) for x in by.values()])
    return float(means.mean()), float(means.std(ddof=1) / len(means) ** 0.5)


def differences(lines: Lines, measures: dict[str, tuple[str, int]]) -> list[str]:
    """A table for each measure, with its unit and scale: how much more than rainproof's map, over
    data sets.
    """
    sizes, text = unique(lines, "n"), []
    rows: dict[str, Line] = {f"{x['package']} {x['entry']}": x for x in lines}
    counts = {n: len({(x["data_set"]) for x in lines if x["n"] == n}) for n in sizes}
    repeats = {n: len({x["block"] for x in lines if x["n"] == n}) for n in sizes}
    drawn = (
        f"{counts[n]} at n = {int(n):,} ({repeats[n]} sample{'s' * (repeats[n] > 1)} of each)"
        for n in sizes
    )
    text.append(f"Data sets: {', '.join(drawn)}.")
    for measure, (name, scale) in measures.items():
        by = _by_way(lines, measure)
        ours = by[WAY]
        level = [float(np.mean([x for key, x in ours.items() if key[1] == n])) for n in sizes]
        body = [["**rainproof Recalibrator, itself**", *(f"{scale * x:.2f}" for x in level)]]
        for way, line in rows.items():
            if way != WAY and way in by:
                found = [_beyond(by[way], ours, n) for n in sizes]
                body.append(
                    [
                        whose(line),
                        *(
                            "-" if x is None else f"{scale * x[0]:+.2f} ± {scale * x[1]:.2f}"
                            for x in found
                        ),
                    ]
                )
        body[1:] = sorted(body[1:], key=_second)
        title = name.partition(",")[0]
        head = [name, *(f"n = {int(n):,}" for n in sizes)]
        text += [f"## {title[0].upper()}{title[1:]}", markdown(head, body)]
    return text


def _second(row: list[str]) -> float:
    return next((float(x.split(" ")[0]) for x in row[2:] + row[1:] if x != "-"), np.inf)


def failures(lines: Lines) -> list[str]:
    """Which maps could not be fitted, and how often."""
    notes: dict[str, int] = {}
    for x in lines:
        if x["note"]:
            key = f"{whose(x)}: {x['note'].splitlines()[0].partition(';')[0]}"
            notes[key] = notes.get(key, 0) + 1
    if not notes:
        return []
    return ["## Failed", "\n".join(f"- {note} ({count} cells)" for note, count in notes.items())]


def page(lines: Lines, pictures: Path) -> str:
    """The differences, and where another map is better."""
    rows: dict[str, Line] = {f"{x['package']} {x['entry']}": x for x in lines}
    text = differences(lines, MEASURES)
    text += ["## Where another map is better than rainproof's", _losses(lines, rows)]
    text += failures(lines)
    _draw(lines, rows, unique(lines, "n"), pictures)
    return "\n\n".join(text)


def _losses(lines: Lines, rows: dict[str, Line]) -> str:
    """For each data set and size: the best other map by one half of the samples, judged by the
    other half.
    """
    by, found, judged_, chance_ = _by_way(lines, "cost"), [], 0, 0
    for data_set in unique(lines, "data_set"):
        for n in unique(lines, "n"):
            gaps = {way: _gaps(own, by[WAY], data_set, n) for way, own in by.items() if way != WAY}
            choice = {way: np.mean(x[::2]) for way, x in gaps.items() if len(x) > 3}
            if not choice:
                continue
            way = min(choice, key=lambda way: choice[way])
            judge, judged_ = np.array(gaps[way][1::2]), judged_ + 1
            gap, error = judge.mean(), judge.std(ddof=1) / len(judge) ** 0.5
            sure = -gap > float(student.ppf(0.975, len(judge) - 1)) * error
            chance_ += gap < -LESS and not sure
            if gap < -LESS and sure:
                cost = 100 * np.mean([x for key, x in by[WAY].items() if key[:2] == (data_set, n)])
                found.append(
                    [
                        data_set,
                        f"{int(n):,}",
                        f"{cost:.1f}",
                        f"{100 * gap:+.1f} ± {100 * error:.1f}",
                        whose(rows[way]),
                    ]
                )
    above = (
        f"For each pair of data set and size the best of the {len(by) - 1} other maps was chosen "
        "by the mean cost over one half of the samples, and judged by the other half, so that "
        f"it is not the best by luck. Of {judged_} pairs with four samples or more it is cheaper "
        f"by half a point, beyond a 95% interval, in {len(found)}, and by half a point within it "
        f"in {chance_} more."
    )
    return (
        above
        + "\n\n"
        + markdown(["data set", "n", "rainproof", "the other's beyond it", "whose"], found)
    )


def _gaps(own: dict[Key, float], ours: dict[Key, float], data_set: str, n: str) -> list[float]:
    """The differences in the samples of a cell, in order."""
    keys = sorted(
        (key for key in own.keys() & ours.keys() if key[:2] == (data_set, n)),
        key=lambda key: int(key[2]),
    )
    return [own[key] - ours[key] for key in keys]


def _draw(lines: Lines, rows: dict[str, Line], sizes: Sequence[str], pictures: Path) -> None:
    by = _by_way(lines, "cost")
    with figure(pictures / "race-recalibration.png", 9, 4.2) as fig:
        ax, series = fig.add_subplot(), {WAY: [(int(n), 0.0) for n in sizes]}
        for way in rows:
            if way in by and way != WAY and not way.startswith("no package"):
                series[way] = [
                    (int(n), 100 * x[0]) for n in sizes if (x := _beyond(by[way], by[WAY], n))
                ]
        draw_lines(ax, series, OURS)
        ax.set(xlabel="rows to fit to", ylabel="cost beyond rainproof's, points")


def summary(lines: Lines) -> tuple[str, str, str] | None:
    """The mean cost over data sets and sizes, each counted once, of the samples that every map
    has.
    """
    by = _by_way(lines, "cost")
    if WAY not in by:
        return None
    common = set.intersection(*(set(own) for own in by.values() if len(own) > 0.9 * len(by[WAY])))
    means = {way: _cell_means(own, common) for way, own in by.items() if common <= own.keys()}
    others = {way: x for way, x in means.items() if not way.startswith((OURS, "no package"))}
    if not others:
        return None
    best = min(others, key=lambda way: np.mean(list(others[way].values())))
    raw = means.get("no package as they are")
    gaps: dict[str, list[float]] = {}
    for (data_set, n), x in others[best].items():
        gaps.setdefault(data_set, []).append(x - means[WAY][data_set, n])
    ours, other = (100 * np.mean(list(means[way].values())) for way in (WAY, best))
    return (
        "recalibrates: cost of decisions, in percent of the better fixed rule's"
        + (f" (as they are: {100 * np.mean(list(raw.values())):.1f})" if raw else ""),
        f"{ours:.1f}",
        f"{other:.1f} ({best}{chance([float(np.mean(x)) for x in gaps.values()])})",
    )


def _cell_means(own: dict[Key, float], keys: set[Key]) -> dict[tuple[str, str], float]:
    """By data set and size, the mean over samples."""
    found: dict[tuple[str, str], list[float]] = {}
    for key in sorted(keys):
        found.setdefault(key[:2], []).append(own[key])
    return {cell: float(np.mean(some)) for cell, some in found.items()}


PART = Part(
    name="recalibration",
    keys=("data_set", "n", "package", "entry", "block"),
    values=("cost", "brier", "log_loss", "worst", "note"),
    blocks=4,
    cells=cells,
    run=run,
    page=page,
    summary=summary,
)
