"""Sections 5 to 7: continuity, consistency and testability, with constants that the paper leaves open."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from brolly.core.arrays import Floats
from brolly.paper.claims import Finding, at_most, claim, open_constant
from brolly.paper.claims_basics import GRIDS, cdl, distance, on_grid, scdl, search
from brolly.paper.constructions import (
    Distribution,
    empirical,
    fixed_losses,
    level_bias,
    round_rows,
    smooth_gap,
    umbrella,
)
from brolly.paper.search import paired, random_distribution, ratio

_GROWTH = 1.5  # a constant that grows by more than this factor up to the largest T is taken to grow


def calibrated_distributions() -> dict[str, Distribution]:
    """Return calibrated forecasters."""
    at = (np.arange(256) + 0.5) / 256
    return {
        "coin": Distribution.of([0.5], [1], [0.5]),
        "umbrella": umbrella(),
        "uniform": Distribution.of(at, np.ones(256), at),
    }


def miscalibrated_distributions(rng: np.random.Generator, some: int = 4) -> dict[str, Distribution]:
    """Return miscalibrated forecasters: overconfident, uninformative, and some random ones."""
    at = (np.arange(256) + 0.5) / 256
    dists = {
        "overconfident": Distribution.of(at, np.ones(256), 0.25 + at / 2),
        "flat": Distribution.of(at, np.ones(256), np.full(256, 0.5)),
        "sure and wrong": Distribution.of([0.25, 0.75], [0.5, 0.5], [1, 0]),
    }
    return dists | {f"random {k}": random_distribution(rng) for k in range(some)}


def deviations(dist: Distribution, size: int, draws: int, rng: np.random.Generator) -> Floats:
    """Compute abs(SCDL(S) - SCDL(D)) for many samples S."""
    truth = scdl(dist)
    return np.array([abs(scdl(empirical(dist, size, rng)) - truth) for _ in range(draws)])


def scaled(
    dists: dict[str, Distribution],
    sizes: tuple[int, ...],
    draws: int,
    rng: np.random.Generator,
    per: Callable[[int], float],
) -> tuple[float, bool, str]:
    """Return the largest mean deviation in units of a rate, whether it is bounded in T, and its value at each T."""
    means = {n: max(float(deviations(dist, n, draws, rng).mean()) / per(n) for dist in dists.values()) for n in sizes}
    shown = ", ".join(f"{n}: {value:.2f}" for n, value in means.items())
    steady = means[sizes[-1]] <= _GROWTH * max(means[n] for n in sizes[:-1])
    return max(means.values()), steady, f"{draws} samples of each of {len(dists)} distributions; at T = {shown}"


@claim("Theorem 1.2", "E|SCDL(S) - SCDL(D)| = O(T^-1/2 log^1.5 T), and O(T^-1/2 log T) if SCDL(D) = 0.")
def _theorem_1_2(rng: np.random.Generator, effort: int) -> list[Finding]:
    draws, sizes = max(10, effort // 10), (2, 10, 100, 1_000, 10_000)
    dists = {**calibrated_distributions(), **miscalibrated_distributions(rng)}
    value, steady, run = scaled(dists, sizes, draws, rng, lambda n: math.log(n) ** 1.5 / math.sqrt(n))
    null, null_steady, null_run = scaled(
        calibrated_distributions(), sizes, draws, rng, lambda n: math.log(n) / math.sqrt(n)
    )
    plain, _, plain_run = scaled(calibrated_distributions(), sizes, draws, rng, lambda n: 1 / math.sqrt(n))
    return [
        open_constant("E|SCDL(S) - SCDL(D)| sqrt(T) / log^1.5 T", value, run, held=steady),
        open_constant("E[SCDL(S)] sqrt(T) / log T, calibrated", null, null_run, held=null_steady),
        open_constant("E[SCDL(S)] sqrt(T) without any log, calibrated", plain, plain_run),
    ]


@claim("Theorem 5.1", "|SCDL_1^2 - SCDL_2^2| <= O(E|p1 - p2|), and |SCDL_1 - SCDL_2| <= O(sqrt(E|p1 - p2|)).")
def _theorem_5_1(rng: np.random.Generator, effort: int) -> list[Finding]:
    def squares(dist: Distribution) -> float:
        first, second, moved = paired(dist)
        return ratio(abs(scdl(first) ** 2 - scdl(second) ** 2), moved)

    def roots(dist: Distribution) -> float:
        first, second, moved = paired(dist)
        return ratio(abs(scdl(first) - scdl(second)), math.sqrt(moved))

    return [
        search("|SCDL_1^2 - SCDL_2^2| / E|p1 - p2|", None, squares, rng, effort, "pairs"),
        search("|SCDL_1 - SCDL_2| / sqrt(E|p1 - p2|)", None, roots, rng, effort, "pairs"),
    ]


@claim(
    "Lemma 5.2",
    "|SCDL_m(D1) - SCDL_m(D2)| <= O(m E|p1 - p2|).",
    "slips: 'm = 0, 1, ...' should start at 1; in the proof's last display the second absolute value is of a "
    "difference, not a sum",
)
def _lemma_5_2(rng: np.random.Generator, effort: int) -> list[Finding]:
    def objective(dist: Distribution) -> float:
        first, second, moved = paired(dist)
        return max(ratio(abs(first.soft_loss(m) - second.soft_loss(m)), m * moved) for m in GRIDS)

    def hats(dist: Distribution) -> float:
        """Compute sum_i |w_i(p) - w_i(p')| / (m |p - p'|), a step of the proof."""
        p, m = dist.at[[0, -1]], 8
        w = np.maximum(1 - np.abs(m * p - np.arange(m + 1)[:, None]), 0)
        return ratio(float(np.abs(w[:, 0] - w[:, 1]).sum()), m * abs(float(p[0] - p[1])))

    return [
        search("|SCDL_m(D1) - SCDL_m(D2)| / (m E|p1 - p2|)", None, objective, rng, effort, "pairs"),
        search("sum_i |w_i(p) - w_i(p')| / (m |p - p'|)", 2, hats, rng, effort, "pairs"),
    ]


@claim(
    "Theorem 6.1",
    "Omega(distCal^2) <= SCDL <= O(sqrt(distCal)).",
    "distCal is known up to 1/256 here: the ratios use its safe end",
)
def _theorem_6_1(rng: np.random.Generator, effort: int) -> list[Finding]:
    def lower(dist: Distribution) -> float:
        snapped = on_grid(dist)
        return ratio(distance(snapped)[0] ** 2, scdl(snapped))

    def upper(dist: Distribution) -> float:
        snapped = on_grid(dist)
        return ratio(scdl(snapped), math.sqrt(distance(snapped)[1]))

    few = max(6, effort // 10)
    return [
        search("distCal^2 / SCDL", None, lower, rng, few),
        search("SCDL / sqrt(distCal)", None, upper, rng, few),
    ]


@claim(
    "Remark 1",
    "Theorem 6.1 is tight: a distribution with distCal = eps and CDL = O(eps^2), and one with distCal = O(eps) and "
    "SCDL = Omega(sqrt(eps)).",
    "slips: 'the lower bound in Theorem 5.1' should be Theorem 6.1; the second half takes eps up to 1/4 where Theorem "
    "A.1 stops at 1/8",
)
def _remark_1(_rng: np.random.Generator, effort: int) -> list[Finding]:
    epsilons = (0.2, 0.1, 0.05, 0.02)
    points = 2_000 if effort < 100 else 20_000
    squares = max(cdl(level_bias(eps, points)) / eps**2 for eps in epsilons)
    bias = max(
        abs(float(dist.weight @ (dist.frequency - dist.at)) / eps - 1)
        for eps in epsilons
        for dist in [level_bias(eps, points)]
    )
    roots = min(scdl(smooth_gap(eps)[0]) / math.sqrt(eps) for eps in (0.12, 0.01, 1e-4, 1e-6))
    return [
        open_constant(
            "CDL / eps^2 where every p is too low by eps (1/(1 - eps) exactly)",
            squares,
            f"eps = {epsilons}, {points} points",
        ),
        at_most("|distCal / eps - 1| there (distCal is at least the bias, and at most the ECE)", bias, 0, "exact"),
        open_constant("smallest SCDL / sqrt(eps) on D_1 of Theorem A.1", roots, "eps = 0.12 to 1e-6", held=roots > 0.1),
    ]


def quantiles(
    dists: dict[str, Distribution], effort: int, rng: np.random.Generator, rate: Callable[[int, float], float]
) -> tuple[float, str]:
    """Return the largest (1 - delta)-quantile of the deviation in units of a rate, with delta just below 1/T."""
    values = {}
    for size in (10, 30, 100)[: 2 if effort < 100 else 3]:
        delta, draws = 0.99 / size, 10 * size
        values[size] = max(
            float(np.quantile(deviations(dist, size, draws, rng), 1 - delta)) / rate(size, delta)
            for dist in dists.values()
        )
    shown = ", ".join(f"{n}: {value:.2f}" for n, value in values.items())
    return max(values.values()), f"delta = 0.99/T, 10 T samples of each of {len(dists)} distributions; at T = {shown}"


@claim(
    "Theorem 7.1",
    "With probability 1 - delta, |SCDL(S) - SCDL(D)| <= O(sqrt(log(1/delta)/T) log(T/log(1/delta))); with the last "
    "log under the root if SCDL(D) = 0.",
    "the proof mixes log and ln, which only constants notice",
)
def _theorem_7_1(rng: np.random.Generator, effort: int) -> list[Finding]:
    def rate(n: int, delta: float) -> float:
        return math.sqrt(math.log(1 / delta) / n) * math.log(n / math.log(1 / delta))

    def null_rate(n: int, delta: float) -> float:
        return math.sqrt(math.log(1 / delta) / n * math.log(n / math.log(1 / delta)))

    value, run = quantiles({**calibrated_distributions(), **miscalibrated_distributions(rng, 2)}, effort, rng, rate)
    null, null_run = quantiles(calibrated_distributions(), effort, rng, null_rate)
    return [
        open_constant("quantile of |SCDL(S) - SCDL(D)| / rate", value, run),
        open_constant("the same, calibrated", null, null_run),
    ]


def lemma_rate(m: int, loss: float, delta: float, size: int) -> float:
    """Compute the right side of Lemmas 7.2 and 7.4 without its constant."""
    log = math.log(1 / delta)
    return math.sqrt(log / size) + math.log(m) * math.sqrt(m * loss * log / size) + m * math.log(m) * log / size


@claim(
    "Lemma 7.2",
    "With probability 1 - delta, |SCFDL_{m,i}(S) - SCFDL_{m,i}(D)| <= O(sqrt(log(1/delta)/T) + log m sqrt(m SCDL_m "
    "log(1/delta)/T) + m log m log(1/delta)/T).",
    "slips in the proof: w_i should be w_j; the bound on light bins follows from the first Bernstein bound, not the "
    "third",
)
def _lemma_7_2(rng: np.random.Generator, effort: int) -> list[Finding]:
    largest, draws = 0.0, max(40, effort // 2)
    dists = {**calibrated_distributions(), **miscalibrated_distributions(rng)}
    for size, m in ((50, 4), (500, 8), (5_000, 32)):
        delta = max(1 / (2.01 * m), 2 / draws)
        for dist in dists.values():
            truth = fixed_losses(dist.rounded(m))
            off = np.array([np.abs(fixed_losses(empirical(dist, size, rng).rounded(m)) - truth) for _ in range(draws)])
            largest = max(
                largest,
                float(np.quantile(off, 1 - delta, axis=0).max()) / lemma_rate(m, dist.soft_loss(m), delta, size),
            )
    return [
        open_constant(
            "quantile of |SCFDL(S) - SCFDL(D)| / rate, worst i",
            largest,
            f"{draws} samples of {len(dists)} distributions, 3 grids",
        )
    ]


@claim(
    "Lemma 7.3",
    "sum_{j<i} 1[q_j > i/m - alpha/sqrt(pi_j)] sqrt(pi_j) <= 3 + O(log m) (alpha m + sqrt(m SCDL_m)).",
    "slip in the proof: bins with pi_j <= 1/m^2 are summed over j <= i, m + 1 of them, which can give 1 + 1/m; over j "
    "< i it is at most 1",
)
def _lemma_7_3(rng: np.random.Generator, effort: int) -> list[Finding]:
    largest, where = -math.inf, ""
    for _ in range(effort):
        m = int(2 ** rng.integers(1, 10))
        at = np.arange(m + 1) / m
        weight = np.exp(rng.normal() * 2 * at + rng.normal(size=m + 1) * rng.choice([0, 0, 1.0])) * (
            rng.random(m + 1) < rng.uniform(0.3, 1.0)
        )
        spread = 10 ** -rng.uniform(0, 3)
        frequency = np.clip(at + spread * rng.choice([0, 1, rng.random()]), 0, 1)
        dist = Distribution.of(at, weight + 1e-12, frequency)
        loss = dist.soft_loss(m)
        for alpha in 10 ** -rng.uniform(0.5, 5, 4):
            for i in rng.integers(1, m + 1, 4):
                counted = (dist.frequency > i / m - alpha / np.sqrt(dist.weight)) & (np.arange(m + 1) < i)
                left = float(np.sqrt(dist.weight[counted]).sum())
                value = (left - 3) / (math.log(m) * (alpha * m + math.sqrt(m * loss)))
                if value > largest:
                    largest, where = value, f"m = {m}, i = {i}, alpha = {alpha:.2g}, left side {left:.2f}"
    note = "negative: the 3 alone was enough" if largest < 0 else where
    return [
        open_constant(
            "(left side - 3) / (log m (alpha m + sqrt(m SCDL_m)))",
            largest,
            f"{effort} random tables, 16 (i, alpha) each; {note}",
        )
    ]


@claim(
    "Lemma 7.4",
    "With each row rounded at random, |SCDL_m(D') - SCDL_m(D)| is within the bound of Lemma 7.2.",
    "slip: 'round p_i' should be p_t",
)
def _lemma_7_4(rng: np.random.Generator, effort: int) -> list[Finding]:
    largest, draws = 0.0, max(40, effort // 4)
    for size, m in ((50, 4), (500, 8), (4_000, 32)):
        delta = max(1 / (2.01 * m), 2 / draws)
        for power in (1.0, 3.0):
            p = rng.random(size)
            y = rng.random(size) < p**power
            dist = Distribution.of(p, np.ones(size), y.astype(float))
            truth = dist.soft_loss(m)
            off = [abs(round_rows(y, p, m, rng).soft_loss(m) - truth) for _ in range(draws)]
            largest = max(largest, float(np.quantile(off, 1 - delta)) / lemma_rate(m, truth, delta, size))
    return [
        open_constant(
            "quantile of |SCDL_m(D') - SCDL_m(D)| / rate",
            largest,
            f"{draws} roundings of 6 samples of 50 to 4,000 rows",
        )
    ]
