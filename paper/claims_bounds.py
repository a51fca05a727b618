"""Sections 1 to 3, 5 and 6: the examples, relations between measures, properties of SCDL and its
continuity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from paper.claims import Finding, Measures, at_most, claim, open_constant
from paper.constructions import (
    Distribution,
    Floats,
    Law,
    alternating,
    level_bias,
    one_moved,
    one_sided,
    paired,
    random_distribution,
    ratio,
    smooth_gap,
    umbrella,
    worst_distribution,
)
from rainproof import DecisionTask, regret_curve, soft_binned_cdl

GRIDS = (1, 2, 3, 4, 5, 7, 8, 16, 32)
_FINEST = 1 << 16  # m* is searched for up to this grid
_MIDDLE = Law(lambda u: (1 + u) / 3, lambda p: p)  # Example 2
_SIZES = (1, 10, 100, 1_000, 10_000)

# Distributions that are tight in theory, from which searches start.
SURE = Distribution.of([0.0], [1], [1.0])  # CDL = ECE = sup R = 1
HALF = Distribution.of([0.5], [1], [1.0])  # CDL = 1 = 2 sup R; CDL(D_m) = 2 SCDL_m + 2/m
NEARLY = Distribution.of([0.5], [1], [0.501])
# SCDL = CDL (1 - 1/1024)
SOME_SURE = Distribution.of([0.0, 1.0], [1 / 1023, 1022 / 1023], [1.0, 1.0])
CALIBRATED = Distribution.of([0.25, 0.7], [0.4, 0.6], [0.25, 0.7])
EVENTS_UP = Distribution.of([0.01, 0.06], [0.99, 0.01], [0.0, 1.0])  # smCE = (2 - 0.06) distCal
IN_TURN = alternating(32)  # a small cutoff error, a large loss
LEVEL = level_bias(0.05, 40)  # CDL of order ECE^2
STARTS = (SURE, HALF, NEARLY, SOME_SURE, IN_TURN)


def search(
    quantity: str,
    limit: float | None,
    objective: Callable[[Distribution], float],
    rng: np.random.Generator,
    effort: int,
    over: str = "distributions",
    starts: Sequence[Distribution] = STARTS,
) -> Finding:
    """Maximize a quantity and compare it with its limit."""
    value, dist = worst_distribution(objective, rng, effort, starts)
    at = f"p = {_list(dist.at)}, weights {_list(dist.weight)}, frequencies {_list(dist.frequency)}"
    where = f"search over {effort} {over}; worst at {at}"
    return (
        open_constant(quantity, value, where)
        if limit is None
        else at_most(quantity, value, limit, where)
    )


def _list(values: Floats) -> str:
    return "(" + ", ".join(f"{v:.3g}" for v in values[:6]) + ", ..." * (len(values) > 6) + ")"


@claim(
    "Example 1",
    "A calibrated forecast of 20% and 80%: guessing rain above 50% earns 0.8, and no swap earns "
    "more.",
)
def _example_1(_rng: np.random.Generator, _effort: int, on: Measures) -> list[Finding]:
    dist, task = umbrella(), DecisionTask.from_payoffs([[1, 0], [0, 1]])
    earned = float(dist.weight @ np.maximum(dist.frequency, 1 - dist.frequency))
    return [
        at_most("|payoff - 0.8|", abs(earned - 0.8), 0, "exact"),
        at_most("swap regret", on("regret", dist, task), 0, "exact"),
        at_most("CDL", on("CDL", dist), 0, "exact"),
    ]


@claim(
    "Example 2",
    "p uniform on [1/3, 2/3], y ~ Ber(p): on any T rows the squared-loss task has swap regret "
    ">= 1/9, and so CDL.",
)
def _example_2(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    least_regret = least_loss = math.inf
    for n in _SIZES:
        for _ in range(max(1, effort // (10 * n))):
            dist = _MIDDLE.draw(n, rng)
            least_regret = min(least_regret, on("regret", dist, DecisionTask.quadratic()))
            least_loss = min(least_loss, on("CDL", dist))
    surest = Distribution.of([1 / 3], [1], [0.0])  # a row that the law can give
    least_regret = min(least_regret, on("regret", surest, DecisionTask.quadratic()))
    run = f"draws of T = {_SIZES} rows, and the row p = 1/3, y = 0; as T grows CDL goes to 5/12"
    return [
        at_most("(1/9) / smallest swap regret", 1 / 9 / least_regret, 1, run),
        at_most("(1/9) / smallest CDL", ratio(1 / 9, least_loss), 1, run),
    ]


@claim(
    "Claim 1.1",
    "No measure is both actionable for the best response and asymptotically testable for "
    "calibrated distributions.",
)
def _claim_1_1(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    """CDL is the smallest measure that is actionable for the best response; its mean must not
    vanish.
    """
    means = []
    for n in _SIZES:
        draws = [_MIDDLE.draw(n, rng) for _ in range(max(2, min(50, effort // max(1, n // 20))))]
        means.append(float(np.mean([on("CDL", dist) for dist in draws])))
    run = (
        "CDL, the smallest measure with the first property, on Example 2: mean at T = "
        + ", ".join(f"{n}: {mean:.3f}" for n, mean in zip(_SIZES, means, strict=True))
    )
    return [at_most("(1/9) / smallest mean CDL(S_T)", ratio(1 / 9, min(means)), 1, run)]


@claim(
    "Section 1.3 (bECE)", "Acting on predictions rounded down costs at most bECE_m = 2 ECE(D_m)."
)
def _binned(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    def objective(dist: Distribution) -> float:
        downs = (dist.rounded_down(m) for m in GRIDS)
        return float(
            np.nanmax([-math.inf, *(ratio(on("CDL", down), 2 * on("ECE", down)) for down in downs)])
        )

    return [search("CDL(D_m) / bECE_m", 1, objective, rng, effort)]


@claim(
    "Section 1.5 (hard-binned)",
    "With predictions rounded down SCDL stays actionable, CDL(D_m) <= 2 SCDL_m + 2/m, but is "
    "not continuous.",
    "the paragraph 'Actionability of SCDL' of the technical overview",
)
def _hard_binned(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    def objective(dist: Distribution) -> float:
        """Compare on the grid, where rounding at random changes nothing."""
        downs = ((dist.rounded_down(m), m) for m in GRIDS)
        return max(ratio(on("CDL", down), 2 * on("SCDL_m", down, m) + 2 / m) for down, m in downs)

    step = 2.0**-40
    at, just_below = Distribution.of([0.5], [1], [1.0]), Distribution.of([0.5 - step], [1], [1.0])
    jump = abs(
        soft_binned_cdl(at.sample(), rounding="hard")
        - soft_binned_cdl(just_below.sample(), rounding="hard")
    )
    smooth = abs(on("SCDL", at) - on("SCDL", just_below))
    where = "p = 1/2, and the event always happens"
    return [
        search("CDL(D_m) / (2 SCDL_m + 2/m), rounding down", 1, objective, rng, effort),
        open_constant(
            "jump of the hard-binned value when p moves by 2^-40", jump, where, held=jump > 0.01
        ),
        at_most("change of the soft-binned value there", smooth, 1e-9, where),
    ]


@claim(
    "Section 1.4 (sound and complete)", "SCDL = 0 if and only if the distribution is calibrated."
)
def _sound_and_complete(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    dists = [NEARLY, *(random_distribution(rng) for _ in range(effort))]
    highest = max(
        on("SCDL", Distribution.of(at, dist.weight, at))
        for dist in dists
        for at in [np.round(dist.at * 1024) / 1024]
    )
    lowest = min(on("SCDL", dist) for dist in dists if on("ECE", dist) > 1e-6)
    run = f"{len(dists)} distributions"
    return [
        at_most("largest SCDL of a calibrated distribution", highest, 0, run),
        open_constant(
            "smallest SCDL of a distribution with ECE > 1e-6", lowest, run, held=lowest > 0
        ),
    ]


@claim("Lemma 2.1", "ECE^2 <= CDL <= 2 ECE.")
def _lemma_2_1(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    return [
        search(
            "ECE^2 / CDL", 1, lambda dist: ratio(on("ECE", dist) ** 2, on("CDL", dist)), rng, effort
        ),
        search("CDL / ECE", 2, lambda dist: ratio(on("CDL", dist), on("ECE", dist)), rng, effort),
    ]


@claim(
    "Lemma 2.2",
    "sup R <= CDL <= 2 sup R, with R the regret at a threshold.",
    "CDL itself is twice the concave envelope of R at 1/2",
)
def _lemma_2_2(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    def sup(dist: Distribution) -> float:
        return regret_curve(dist.sample()).worst.regret

    return [
        search("sup R / CDL", 1, lambda dist: ratio(sup(dist), on("CDL", dist)), rng, effort),
        search("CDL / sup R", 2, lambda dist: ratio(on("CDL", dist), sup(dist)), rng, effort),
    ]


@claim(
    "Theorem 2.3",
    "distCal / 2 <= smCE <= 2 distCal.",
    "distCal is exact here: a linear program that adds the points it needs, within 1e-9",
)
def _theorem_2_3(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    def lower(dist: Distribution) -> float:
        return ratio(on("distCal", dist), on("smCE", dist))

    def upper(dist: Distribution) -> float:
        return ratio(on("smCE", dist), on("distCal", dist))

    few, starts = max(6, effort // 10), (*STARTS, EVENTS_UP)
    return [
        search("distCal / smCE", 2, lower, rng, few, starts=starts),
        search("smCE / distCal", 2, upper, rng, few, starts=starts),
    ]


@claim(
    "Lemma 3.1", "pi_i = E[w_i(p)] and pi_i q_i = E[w_i(p) y] with hats w_i(p) = (1 - |mp - i|)+."
)
def _lemma_3_1(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    off = 0.0
    for _ in range(effort):
        dist = random_distribution(rng)
        for m in GRIDS:
            j = int(np.floor(m * dist.at[0]))
            hats = np.maximum(1 - np.abs(m * dist.at - j), 0)
            off = max(off, abs(on("pi_j", dist, m, j) - float(hats @ dist.weight)))
            off = max(
                off, abs(on("pi_j q_j", dist, m, j) - float(hats @ (dist.weight * dist.frequency)))
            )
    return [
        at_most(
            "largest difference",
            off,
            0,
            f"{effort} random distributions, m = {GRIDS}, the bin below a row",
        )
    ]


@claim(
    "Lemma 3.2",
    "SCDL_m <= SCDL_2m for every positive integer m.",
    "slip: the proof's last step uses SCFDL_{2m,2i+1}, which for i = m has no bin; that term is "
    "0, so nothing is lost",
)
def _lemma_3_2(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    def objective(dist: Distribution) -> float:
        return max(on("SCDL_m", dist, m) - on("SCDL_m", dist, 2 * m) for m in GRIDS)

    return [search("SCDL_m - SCDL_2m", 0, objective, rng, effort, starts=(*STARTS, CALIBRATED))]


@claim(
    "Lemma 3.3",
    "SCDL = max(SCDL_m*, 1/m*) lies in [1/m*, 2/m*), and SCDL_2m* >= SCDL; SCDL_2 <= 1/2.",
)
def _lemma_3_3(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    def balance(dist: Distribution) -> int:
        """Compute m* from its definition."""
        m = 2
        while on("SCDL_m", dist, 2 * m) < 1 / m and m < _FINEST:
            m *= 2
        return m

    def infimum(dist: Distribution) -> float:
        m = balance(dist)
        if m >= _FINEST:  # calibrated up to this resolution: the infimum 0 is not attained
            return math.nan
        best = min(
            max(on("SCDL_m", dist, 2**k), 2.0**-k) for k in range(1, int(m).bit_length() + 1)
        )
        return max(abs(on("SCDL", dist) - best), abs(max(on("SCDL_m", dist, m), 1 / m) - best))

    def beyond(dist: Distribution) -> float:
        m = balance(dist)
        return (
            ratio(max(on("SCDL_m", dist, m), 1 / m), on("SCDL_m", dist, 2 * m))
            if m < _FINEST
            else math.nan
        )

    return [
        search(
            "m* SCDL (strictly below)",
            2,
            lambda dist: balance(dist) * on("SCDL", dist),
            rng,
            effort,
        ),
        search("SCDL / SCDL_2m*", 1, beyond, rng, effort),
        search("|SCDL - infimum over m|, |max(SCDL_m*, 1/m*) - it|", 0, infimum, rng, effort),
        search("SCDL_2", 0.5, lambda dist: on("SCDL_m", dist, 2), rng, effort),
        at_most(
            "SCDL where m* is infinite", on("SCDL", CALIBRATED), 0, "a calibrated distribution"
        ),
    ]


@claim(
    "Lemma 3.4",
    "SCDL_m <= CDL for every m, and so SCDL <= CDL.",
    "slip: in the proof beta(p) = 1 for p <= i/m (the text has (i-1)/m, which leaves p in "
    "((i-1)/m, i/m] out); the overview cites this lemma for the factor-2 formula, which is "
    "Lemma 2.2",
)
def _lemma_3_4(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    def objective(dist: Distribution) -> float:
        return max(ratio(on("SCDL_m", dist, m), on("CDL", dist)) for m in (*GRIDS, 64))

    calibrated = max(on("SCDL_m", CALIBRATED, m) for m in GRIDS)
    return [
        search("SCDL_m / CDL", 1, objective, rng, effort),
        search(
            "SCDL / CDL",
            1,
            lambda dist: ratio(on("SCDL", dist), on("CDL", dist)),
            rng,
            effort,
            starts=(*STARTS, LEVEL),
        ),
        at_most(
            "SCDL_m of a calibrated distribution, whose CDL is 0", calibrated, 0, f"m = {GRIDS}"
        ),
    ]


_ROUNDING = 1e-14  # of a difference of losses, which is divided by moves as small as 1e-9
_GRIDS = (2, 3, 4, 5, 7, 8, 16, 32)
_SIDES = tuple(dist for m in (4, 8, 64) for dist in one_sided(m))


def _split(gap: float) -> Distribution:
    """Return a prediction at 1/2 with event rate 1/2, its events and non-events a little apart (for
    `paired`).
    """
    half = 0.5 - 1e-9
    return Distribution.of([half, half, half - gap / 2, half + gap / 2], [1, 1, 1, 1], [1, 0, 1, 0])


_PAIRS = (_split(1e-4), _split(1e-3), _split(0.1))


def _moved(dist: Distribution) -> list[tuple[Distribution, Distribution, float]]:
    return [both for both in (one_moved(dist), paired(dist)) if both[2] > 1e-9]


@claim(
    "Theorem 5.1",
    "|SCDL_1^2 - SCDL_2^2| <= O(E|p1 - p2|), and |SCDL_1 - SCDL_2| <= O(sqrt(E|p1 - p2|)).",
    "with the constants 8 and 2, derived from the proof; the first is approached",
)
def _theorem_5_1(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    def squares(dist: Distribution) -> float:
        pairs = _moved(dist)
        return max(
            [abs(on("SCDL", a) ** 2 - on("SCDL", b) ** 2) / moved for a, b, moved in pairs],
            default=math.nan,
        )

    def roots(dist: Distribution) -> float:
        pairs = _moved(dist)
        return max(
            [abs(on("SCDL", a) - on("SCDL", b)) / math.sqrt(moved) for a, b, moved in pairs],
            default=math.nan,
        )

    over, starts = "pairs, one row moved or all", (*_SIDES, *_PAIRS)
    return [
        search("|SCDL_1^2 - SCDL_2^2| / E|p1 - p2|", 8, squares, rng, effort, over, starts),
        search("|SCDL_1 - SCDL_2| / sqrt(E|p1 - p2|)", 2, roots, rng, effort, over, starts),
    ]


@claim(
    "Lemma 5.2",
    "|SCDL_m(D1) - SCDL_m(D2)| <= O(m E|p1 - p2|).",
    "with the constant 2 - 3/m for m >= 2, derived and approached; slips: 'm = 0, 1, ...' "
    "should start at 1; in the proof's last display the second absolute value is of a "
    "difference, not a sum",
)
def _lemma_5_2(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    def objective(dist: Distribution) -> float:
        rates = [
            (abs(on("SCDL_m", a, m) - on("SCDL_m", b, m)) - _ROUNDING) / ((2 * m - 3) * moved)
            for a, b, moved in _moved(dist)
            for m in _GRIDS
        ]
        return max(rates, default=math.nan)

    def hats(dist: Distribution) -> float:
        """Compute sum_i |w_i(p) - w_i(p')| / (m |p - p'|), a step of the proof."""
        p, m = dist.at[[0, -1]], 8
        w = np.maximum(1 - np.abs(m * p - np.arange(m + 1)[:, None]), 0)
        return ratio(
            float(np.abs(w[:, 0] - w[:, 1]).sum()) - _ROUNDING, m * abs(float(p[0] - p[1]))
        )

    over, name = "pairs, one row moved or all", "|SCDL_m(D1) - SCDL_m(D2)| / ((2m - 3) E|p1 - p2|)"
    return [
        search(name, 1, objective, rng, effort, over, (*_SIDES, *_PAIRS)),
        search("sum_i |w_i(p) - w_i(p')| / (m |p - p'|)", 2, hats, rng, effort, "pairs"),
    ]


@claim(
    "Theorem 6.1",
    "Omega(distCal^2) <= SCDL <= O(sqrt(distCal)).",
    "with the constants distCal^2 <= (2 + sqrt(SCDL)/2)^2 SCDL and SCDL <= 2 sqrt(distCal), "
    "derived from the proof; distCal is exact here, within 1e-9",
)
def _theorem_6_1(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    def lower(dist: Distribution) -> float:
        loss = on("SCDL", dist)
        return ratio(on("distCal", dist) ** 2, (2 + math.sqrt(loss) / 2) ** 2 * loss)

    def upper(dist: Distribution) -> float:
        return ratio(on("SCDL", dist), 2 * math.sqrt(on("distCal", dist) + 1e-9))

    few = max(6, effort // 10)
    near = (
        *STARTS[:4],
        LEVEL,
        *(smooth_gap(eps)[0] for eps in (0.1, 0.02, 1e-3)),
        *(one_moved_to(gap) for gap in (1e-4, 1e-3)),
    )
    return [
        search("distCal^2 / ((2 + sqrt(SCDL)/2)^2 SCDL)", 1, lower, rng, few, starts=near),
        search("SCDL / (2 sqrt(distCal))", 1, upper, rng, few, starts=near),
    ]


def one_moved_to(gap: float) -> Distribution:
    """Return events and non-events at 1/2, a little apart: far from calibrated for CDL and Cutoff
    only.
    """
    return Distribution.of([0.5 - gap / 2, 0.5 + gap / 2], [1, 1], [1, 0])


@claim(
    "Remark 1",
    "Theorem 6.1 is tight: a distribution with distCal = eps and CDL = O(eps^2), and one with "
    "distCal = O(eps) and SCDL = Omega(sqrt(eps)).",
    "slip: 'the lower bound in Theorem 5.1' should be Theorem 6.1. That eps runs to 1/4 here "
    "and to 1/8 in Theorem A.1 is right: D_1 exists up to 1/4, D_2 needs 1/8. SCDL >= "
    "sqrt(eps)/4 on D_1 is derived",
)
def _remark_1(_rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    epsilons, points = (0.2, 0.1, 0.05, 0.02), 2_000 if effort < 100 else 20_000
    dists = {eps: level_bias(eps, points) for eps in epsilons}
    squares = max(abs(on("CDL", dist) * (1 - eps) / eps**2 - 1) for eps, dist in dists.items())
    bias = max(abs(on("distCal", level_bias(eps, 40)) / eps - 1) for eps in epsilons)
    gaps = (0.249, 0.12, 0.01, 1e-4, 1e-6)
    roots = min(on("SCDL", smooth_gap(eps)[0]) / math.sqrt(eps) for eps in gaps)
    level = f"every p too low by eps = {epsilons}, {points} points"
    return [
        # 0 in the limit of many points
        at_most("|CDL (1 - eps) / eps^2 - 1|", squares, 0.05, level),
        at_most(
            "|distCal / eps - 1|", bias, 0, f"the same with 40 points, eps = {epsilons}", slack=1e-6
        ),
        at_most(
            "(1/4) / smallest SCDL / sqrt(eps)",
            ratio(0.25, roots),
            1,
            f"D_1 of Theorem A.1, eps = {gaps}",
        ),
        at_most(
            "distCal / eps there",
            max(on("distCal", smooth_gap(eps)[0]) / eps for eps in gaps[:3]),
            4,
            f"eps = {gaps[:3]}; at most 2 smCE / eps, and smCE <= 2 eps",
        ),
    ]
