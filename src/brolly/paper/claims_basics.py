"""Sections 1 to 3: the examples, relations between measures, and basic properties of SCDL."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from brolly.core.regret import RegretCurve
from brolly.core.sample.sample import Sample
from brolly.decisions.swap import swap_regret
from brolly.decisions.task import DecisionTask
from brolly.measures.decision_loss import calibration_decision_loss
from brolly.measures.expected import expected_calibration_error
from brolly.measures.lower_distance import lower_distance_to_calibration
from brolly.measures.smooth_calibration import smooth_calibration_error
from brolly.measures.soft_binned import soft_binned_cdl
from brolly.paper.claims import Finding, at_most, claim, open_constant
from brolly.paper.constructions import Distribution, middle_third, umbrella
from brolly.paper.search import random_distribution, ratio, worst_distribution

GRIDS = (1, 2, 3, 4, 5, 7, 8, 16, 32)
_LP_GRID = 128
_FINEST = 1 << 16  # m* is searched for up to this grid
_SIZES = (1, 10, 100, 1_000, 10_000)


def cdl(dist: Distribution) -> float:
    """Compute CDL of a distribution."""
    return calibration_decision_loss(dist.sample())


def scdl(dist: Distribution) -> float:
    """Compute SCDL of a distribution."""
    return soft_binned_cdl(dist.sample())


def distance(dist: Distribution) -> tuple[float, float]:
    """Return lower and upper bounds on distCal for a distribution on the grid of the linear program."""
    value = lower_distance_to_calibration(dist.sample(), grid=_LP_GRID)
    return max(0.0, value - 0.5 / _LP_GRID), value + 1e-8


def on_grid(dist: Distribution, m: int = _LP_GRID) -> Distribution:
    """Move the predictions to the nearest grid points."""
    return Distribution(np.round(dist.at * m) / m, dist.weight, dist.frequency)


def search(
    quantity: str,
    limit: float | None,
    objective: Callable[[Distribution], float],
    rng: np.random.Generator,
    effort: int,
    over: str = "distributions",
) -> Finding:
    """Maximize a quantity and compare it with its limit."""
    value, dist = worst_distribution(objective, rng, effort)
    at = f"p = {_list(dist.at)}, weights {_list(dist.weight)}, frequencies {_list(dist.frequency)}"
    where = f"search over {effort} {over}; worst at {at}"
    return open_constant(quantity, value, where) if limit is None else at_most(quantity, value, limit, where)


def _list(values: object) -> str:
    return "(" + ", ".join(f"{v:.3g}" for v in np.asarray(values)) + ")"


@claim("Example 1", "A calibrated forecast of 20% and 80%: guessing rain above 50% earns 0.8, and no swap earns more.")
def _example_1(_rng: np.random.Generator, _effort: int) -> list[Finding]:
    dist, task = umbrella(), DecisionTask.from_payoffs([[1, 0], [0, 1]])
    earned = float(dist.weight @ np.maximum(dist.frequency, 1 - dist.frequency))
    return [
        at_most("|payoff - 0.8|", abs(earned - 0.8), 0, "exact"),
        at_most("swap regret", swap_regret(dist.sample(), task=task).value, 0, "exact"),
        at_most("CDL", cdl(dist), 0, "exact"),
    ]


@claim(
    "Example 2",
    "p uniform on [1/3, 2/3], y ~ Ber(p): on any T rows the squared-loss task has swap regret >= 1/9, and so CDL.",
)
def _example_2(rng: np.random.Generator, effort: int) -> list[Finding]:
    least_regret = least_loss = math.inf
    for n in _SIZES:
        for _ in range(max(1, effort // (10 * n))):
            y, p = middle_third(n, rng)
            sample = Sample(y, p)
            least_regret = min(least_regret, swap_regret(sample, task=DecisionTask.quadratic()).value)
            least_loss = min(least_loss, calibration_decision_loss(sample))
    run = f"draws of T = {_SIZES} rows; as T grows CDL goes to 5/12"
    return [
        at_most("(1/9) / smallest swap regret", 1 / 9 / least_regret, 1, run),
        at_most("(1/9) / smallest CDL", 1 / 9 / least_loss, 1, run),
    ]


@claim(
    "Claim 1.1",
    "No measure is both actionable for the best response and asymptotically testable for calibrated distributions.",
)
def _claim_1_1(rng: np.random.Generator, effort: int) -> list[Finding]:
    """CDL is the smallest measure that is actionable for the best response; its mean must not vanish."""
    means = []
    for n in _SIZES:
        draws = [middle_third(n, rng) for _ in range(max(2, min(50, effort // max(1, n // 20))))]
        means.append(float(np.mean([calibration_decision_loss(Sample(y, p)) for y, p in draws])))
    run = "CDL, the smallest measure with the first property, on Example 2: mean at T = " + ", ".join(
        f"{n}: {mean:.3f}" for n, mean in zip(_SIZES, means, strict=True)
    )
    return [at_most("(1/9) / smallest mean CDL(S_T)", 1 / 9 / min(means), 1, run)]


@claim("Section 1.3 (bECE)", "Acting on predictions rounded down costs at most bECE_m = 2 ECE(D_m).")
def _binned(rng: np.random.Generator, effort: int) -> list[Finding]:
    def objective(dist: Distribution) -> float:
        values = []
        for m in GRIDS:
            rounded = dist.rounded(m, soft=False)
            ece = float(np.abs(rounded.positive - rounded.weight * rounded.index / m).sum())
            values.append(ratio(dist.decision_loss(m, soft=False), 2 * ece))
        return float(np.nanmax([*values, -math.inf]))

    return [search("CDL(D_m) / bECE_m", 1, objective, rng, effort)]


@claim(
    "Section 1.5 (hard-binned)",
    "With predictions rounded down SCDL stays actionable, CDL(D_m) <= 2 SCDL_m + 2/m, but is not continuous.",
    "the paragraph 'Actionability of SCDL' of the technical overview",
)
def _hard_binned(rng: np.random.Generator, effort: int) -> list[Finding]:
    def objective(dist: Distribution) -> float:
        return max(ratio(dist.decision_loss(m, soft=False), 2 * dist.soft_loss(m, soft=False) + 2 / m) for m in GRIDS)

    step = 2.0**-40
    at, just_below = Distribution.of([0.5], [1], [1.0]), Distribution.of([0.5 - step], [1], [1.0])
    jump = abs(soft_binned_cdl(at.sample(), rounding="hard") - soft_binned_cdl(just_below.sample(), rounding="hard"))
    smooth = abs(scdl(at) - scdl(just_below))
    where = "p = 1/2, and the event always happens"
    return [
        search("CDL(D_m) / (2 SCDL_m + 2/m), rounding down", 1, objective, rng, effort),
        open_constant("jump of the hard-binned value when p moves by 2^-40", jump, where, held=jump > 0.01),
        at_most("change of the soft-binned value there", smooth, 1e-9, where),
    ]


@claim("Section 1.4 (sound and complete)", "SCDL = 0 if and only if the distribution is calibrated.")
def _sound_and_complete(rng: np.random.Generator, effort: int) -> list[Finding]:
    dists = [random_distribution(rng) for _ in range(effort)]
    highest = max(
        scdl(Distribution.of(at, dist.weight, at)) for dist in dists for at in [np.round(dist.at * 1024) / 1024]
    )
    lowest = min(scdl(dist) for dist in dists if expected_calibration_error(dist.sample()) > 1e-6)
    run = f"{effort} random distributions"
    return [
        at_most("largest SCDL of a calibrated distribution", highest, 0, run),
        open_constant("smallest SCDL of a distribution with ECE > 1e-6", lowest, run, held=lowest > 0),
    ]


@claim("Lemma 2.1", "ECE^2 <= CDL <= 2 ECE.")
def _lemma_2_1(rng: np.random.Generator, effort: int) -> list[Finding]:
    def lower(dist: Distribution) -> float:
        return ratio(expected_calibration_error(dist.sample()) ** 2, cdl(dist))

    def upper(dist: Distribution) -> float:
        return ratio(cdl(dist), expected_calibration_error(dist.sample()))

    return [search("ECE^2 / CDL", 1, lower, rng, effort), search("CDL / ECE", 2, upper, rng, effort)]


@claim(
    "Lemma 2.2",
    "sup R <= CDL <= 2 sup R, with R the regret at a threshold.",
    "CDL itself is twice the concave envelope of R at 1/2",
)
def _lemma_2_2(rng: np.random.Generator, effort: int) -> list[Finding]:
    def sup(dist: Distribution) -> float:
        return float(RegretCurve.from_table(dist.sample()._distinct_table()).corners.value.max())

    return [
        search("sup R / CDL", 1, lambda dist: ratio(sup(dist), cdl(dist)), rng, effort),
        search("CDL / sup R", 2, lambda dist: ratio(cdl(dist), sup(dist)), rng, effort),
    ]


@claim(
    "Theorem 2.3", "distCal / 2 <= smCE <= 2 distCal.", "distCal is known up to 1/256 here: the ratios use its safe end"
)
def _theorem_2_3(rng: np.random.Generator, effort: int) -> list[Finding]:
    def lower(dist: Distribution) -> float:
        snapped = on_grid(dist)
        return ratio(distance(snapped)[0], smooth_calibration_error(snapped.sample()))

    def upper(dist: Distribution) -> float:
        snapped = on_grid(dist)
        return ratio(smooth_calibration_error(snapped.sample()), distance(snapped)[1])

    few = max(6, effort // 10)
    return [search("distCal / smCE", 2, lower, rng, few), search("smCE / distCal", 2, upper, rng, few)]


@claim("Lemma 3.1", "pi_i = E[w_i(p)] and pi_i q_i = E[w_i(p) y] with hats w_i(p) = (1 - |mp - i|)+.")
def _lemma_3_1(rng: np.random.Generator, effort: int) -> list[Finding]:
    off = 0.0
    for _ in range(effort):
        dist = random_distribution(rng)
        for m in GRIDS:
            hats = np.maximum(1 - np.abs(m * dist.at - np.arange(m + 1)[:, None]), 0)
            rounded = dist.rounded(m)
            pi, s = np.zeros((2, m + 1))
            pi[rounded.index], s[rounded.index] = rounded.weight, rounded.positive
            off = max(
                off, np.abs(hats @ dist.weight - pi).max(), np.abs(hats @ (dist.weight * dist.frequency) - s).max()
            )
    return [at_most("largest difference", float(off), 0, f"{effort} random distributions, m = {GRIDS}")]


@claim(
    "Lemma 3.2",
    "SCDL_m <= SCDL_2m for every positive integer m.",
    "slip: the proof's last step uses SCFDL_{2m,2i+1}, which for i = m has no bin; that term is 0, so nothing is lost",
)
def _lemma_3_2(rng: np.random.Generator, effort: int) -> list[Finding]:
    def objective(dist: Distribution) -> float:
        return float(np.nanmax([-math.inf, *(ratio(dist.soft_loss(m), dist.soft_loss(2 * m)) for m in GRIDS)]))

    return [search("SCDL_m / SCDL_2m", 1, objective, rng, effort)]


@claim("Lemma 3.3", "SCDL = max(SCDL_m*, 1/m*) lies in [1/m*, 2/m*), and SCDL_2m* >= SCDL; SCDL_2 <= 1/2.")
def _lemma_3_3(rng: np.random.Generator, effort: int) -> list[Finding]:
    def balance(dist: Distribution) -> tuple[float, float, float]:
        """Compute SCDL, m* from its definition, and SCDL_2m*."""
        m = 2
        while dist.soft_loss(2 * m) < 1 / m and m < _FINEST:
            m *= 2
        return max(dist.soft_loss(m), 1 / m), m, dist.soft_loss(2 * m)

    def infimum(dist: Distribution) -> float:
        value, m, _ = balance(dist)
        if m >= _FINEST:  # calibrated up to this resolution: the infimum 0 is not attained
            return math.nan
        best = min(max(dist.soft_loss(2**k), 2.0**-k) for k in range(1, int(m).bit_length() + 1))
        return abs(value - best)

    calibrated = Distribution.of([0.25, 0.7], [0.4, 0.6], [0.25, 0.7])
    return [
        search("m* SCDL (strictly below)", 2, lambda dist: math.prod(balance(dist)[:2]), rng, effort),
        search("SCDL / SCDL_2m*", 1, lambda dist: ratio(balance(dist)[0], balance(dist)[2]), rng, effort),
        search("|max(SCDL_m*, 1/m*) - infimum over m|", 0, infimum, rng, effort),
        search("SCDL_2", 0.5, lambda dist: dist.soft_loss(2), rng, effort),
        at_most("SCDL where m* is infinite", scdl(calibrated), 0, "a calibrated distribution"),
    ]


@claim(
    "Lemma 3.4",
    "SCDL_m <= CDL for every m, and so SCDL <= CDL.",
    "slip: in the proof beta(p) = 1 for p <= i/m (the text has (i-1)/m, which leaves p in ((i-1)/m, i/m] out); the "
    "overview cites this lemma for the factor-2 formula, which is Lemma 2.2",
)
def _lemma_3_4(rng: np.random.Generator, effort: int) -> list[Finding]:
    def objective(dist: Distribution) -> float:
        loss = cdl(dist)
        return max(ratio(dist.soft_loss(m), loss) for m in GRIDS)

    return [
        search("SCDL_m / CDL", 1, objective, rng, effort),
        search("SCDL / CDL", 1, lambda dist: ratio(scdl(dist), cdl(dist)), rng, effort),
    ]
