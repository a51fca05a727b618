"""Question 1: a measure, a response that depends on its value alone, and its rate; and the best of
all responses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paper.constructions import (
    Distribution,
    Floats,
    cutoff_gap,
    random_distribution,
    ratio,
    smooth_gap,
    worst_distribution,
)
from paper.noise import Noise, NoisyPolicy
from paper.results import Cell, Chunk, PartResult, Runner, Table
from paper.tables import MISCALIBRATED, POPULATIONS, fit_exponent
from rainproof import DecisionTask, Sample, regret_curve, soft_binned_cdl, swap_regret
from rainproof.decisions import FiniteTask
from rainproof.measures import (
    binned_calibration_error,
    calibration_decision_loss,
    cutoff_calibration_error,
    expected_calibration_error,
    smooth_calibration_error,
    smooth_ece,
    two_bin_calibration_error,
)

SIZES = (300, 1_000, 3_000, 10_000, 30_000)
GRIDS = (1 << 10, 1 << 20, 1 << 30)
# the grid, or the number of bins, in the search for the worst ratio of measures that have a fixed
# one
_EIGHT = 8
# a response to alpha must be good for every law whose value is at most alpha
_SLACK = (1.0, 1.4, 1.99)
_FINEST = 2.0**-30  # below, alpha counts as 0, for which the response is the best response to p
_GAUSS = math.sqrt(2 / math.pi)  # the slope that noise of scale 1 leaves; for Laplace noise 1
_NORMAL = 0.339943  # the largest x Pr(|noise| >= x), at scale 1, rounded up; for Laplace noise 1/e
_WORDS = (
    "Question 1 asks for a measure and, for every task Z and every alpha, a response "
    "r_{Z,alpha} such that whenever the measure is at most alpha, the swap regret of the "
    "response is at most alpha; and E[measure] <= epsilon(T) on T rows of a calibrated "
    "forecaster. A measure whose regret is at most c alpha solves it after multiplication by c. "
    "Each row runs the same check. The response is a function of alpha alone. The worst ratio "
    "of regret to alpha is found by a local search over distributions and over alpha from the "
    "value to twice the value, and on the laws of the appendices. epsilon(T) is the largest "
    "mean over three calibrated populations; its exponent is fitted to sizes from 300 to "
    "30,000. 'Proved' is c, derived in docs/theory/derivations.md; where it is empty, no "
    "response will do. The response for Cutoff^(2/3) depends on the task: five tasks are tried.",
    "The second table has the two theorems that rule out higher powers, against every response: "
    "for smCE the best response to the two laws of Theorem A.1, in closed form; for Cutoff that "
    "to the law of Theorem B.1, its mirror image, and one biased prediction, by a convex "
    "program on a grid of actions. 'Smallest regret of any response' corrects for the grid. As "
    "eps falls, regret / eps grows without bound and regret / eps^power levels off.",
    "The third table checks what CDL has to do with SCDL_m for m to infinity (section 1.5 calls "
    "CDL the special case m = infinity). The limit is sup R, the largest regret of one "
    "threshold, which is between CDL / 2 and CDL.",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A candidate for Question 1.

    Attributes
    ----------
    name, response, says : str
        The measure; how to act, given alpha; the actionability that Table 1 states.
    factor : float or None
        The proved limit of regret / alpha: this multiple of the measure solves Question 1. None:
        there is none.
    exponent : float
        The power of T at which it vanishes for calibrated forecasters, in theory and up to log
        factors.
    measure : callable
        The value on a sample, given a grid, which most ignore.
    regret : callable
        The largest regret over tasks on a distribution of the response to alpha, given the same
        grid.
    grid : callable
        The grid for a number of rows.
    """

    name: str
    response: str
    says: str
    factor: float | None
    exponent: float
    measure: Callable[[Sample, int], float]
    regret: Callable[[Distribution, float, int], float]
    grid: Callable[[int], int] = lambda _: _EIGHT


def on_grid(dist: Distribution, alpha: float, *, soft: bool = True) -> float:
    """Return the largest regret of rounding to the grid 1/m with alpha in [1/m, 2/m)."""
    return (
        trust(dist)
        if alpha < _FINEST
        else dist.decision_loss(1 << max(1, math.ceil(-math.log2(alpha))), soft=soft)
    )


def with_noise(dist: Distribution, alpha: float, kind: Noise) -> float:
    """Return the largest regret of acting on predictions with noise of scale alpha, from below."""
    policy = NoisyPolicy(DecisionTask.threshold(0.5), min(max(alpha, 1e-4), 1.0), kind)
    return policy.loss_bounds(dist.sample(), cells=int(np.clip(8 / policy.scale, 256, 4096)))[0]


def trust(dist: Distribution) -> float:
    """Return CDL, the largest regret of acting on the predictions as they are."""
    return calibration_decision_loss(dist.sample())


@cache
def tasks() -> tuple[FiniteTask, ...]:
    """Return tasks for a response that depends on the task: the squared loss, random payoffs, and
    many actions.
    """
    rng = np.random.default_rng(0)
    a, angle = np.linspace(0, 1, 65), np.sort(rng.uniform(0, np.pi / 2, 24))
    curves = ((1 - a**2, 1 - (1 - a) ** 2), (np.cos(angle), np.sin(angle)))
    payoffs = [
        *(np.stack(pair, axis=1) for pair in curves),
        *(rng.random((k, 2)) for k in (3, 6, 20)),
    ]
    return tuple(DecisionTask.from_payoffs(one) for one in payoffs)


@dataclass(frozen=True, slots=True)
class FewActions:
    """Use few of a task's actions: in each of less than 2 m ranges of predictions, the best one at
    its middle.

    The ranges have length 1/m, and are cut again where the slope of the best payoff, U(a, 1) - U(a,
    0), passes a multiple of 2/m. It is the response for Cutoff^(2/3).
    """

    task: FiniteTask
    m: int

    def probabilities(self, p: ArrayLike) -> Floats:
        """Return the probability of each action: 0 or 1."""
        payoffs = self.task.matrix[list(self.task.order)]
        steps = np.minimum(np.floor((payoffs[:, 1] - payoffs[:, 0] + 1) * self.m / 2), self.m - 1)
        turns = np.array(self.task.thresholds)[np.diff(steps) != 0]
        edges = np.unique(np.concatenate([np.arange(self.m + 1) / self.m, turns]))
        place = np.clip(
            np.searchsorted(edges, np.asarray(p, np.float64), "right") - 1, 0, len(edges) - 2
        )
        shares: Floats = np.eye(len(self.task.actions))[
            self.task.best_index((edges[:-1] + edges[1:]) / 2)[place]
        ]
        return shares


def with_few_actions(dist: Distribution, alpha: float) -> float:
    """Return the largest regret over `tasks` of using less than 2 alpha^-1/2 actions."""
    m, sample = math.ceil(max(alpha, 1e-6) ** -0.5), dist.sample()
    return max(
        swap_regret(sample, task=task, response=FewActions(task, m)).in_units for task in tasks()
    )


def fixed_grid(sample: Sample, m: int) -> float:
    """Return 2 SCDL_m + 2/m."""
    return 2 * Distribution.of_sample(sample).soft_loss(m) + 2 / m


def noise_gap(eps: float) -> Distribution:
    """Return a law with smooth ECE eps on which the bias and the noise of scale eps cost most at
    the same threshold.

    A few predictions below 1/2 are events, with a total bias of eps; all others are calibrated,
    0.75 eps above 1/2.
    """
    low, high = 0.5 - 3 * eps, 0.5 + 0.75 * eps
    few = eps / (1 - low)
    return Distribution.of([low, high], [few, 1 - few], [1, high])


ANSWERS = (
    Answer(
        "SCDL", "round at random to 1/m, alpha in [1/m, 2/m)", "full", 4.0, -1 / 2,
        lambda s, _: soft_binned_cdl(s), lambda d, alpha, _: on_grid(d, alpha),
    ),
    Answer(
        "SCDL, hard rounding", "round down to 1/m, alpha in [1/m, 2/m)", "full (section 1.5)", 4.0, -1 / 2,
        lambda s, _: soft_binned_cdl(s, rounding="hard"), lambda d, alpha, _: on_grid(d, alpha, soft=False),
    ),
    Answer(
        "2 SCDL_m + 2/m, m near T^(1/2)", "round at random to 1/m", "full (section 1.5)", 1.0, -1 / 2,
        fixed_grid, lambda d, _, m: d.decision_loss(m), lambda n: 1 << max(1, round(math.log2(n) / 2)),
    ),
    Answer(
        "bECE, T^(1/3) bins", "round down to the bins", "full", 1.0, -1 / 3,
        lambda s, m: binned_calibration_error(s, n_bins=m, form="rounded"),
        lambda d, _, m: d.decision_loss(m, soft=False), lambda n: math.ceil(n ** (1 / 3)),
    ),
    Answer(
        "smooth ECE", "add Gaussian noise of scale alpha", "full", 2 + 2 * _NORMAL, -1 / 3,
        lambda s, _: smooth_ece(s), lambda d, alpha, _: with_noise(d, alpha, "gaussian"),
    ),
    Answer(
        "smCE^(1/2)", "add Laplace noise of scale alpha", "full", 2 + 2 / math.e, -1 / 4,
        lambda s, _: math.sqrt(smooth_calibration_error(s)), lambda d, alpha, _: with_noise(d, alpha, "laplace"),
    ),
    Answer(
        "smCE^(1/2), Gaussian", "add Gaussian noise of scale alpha", "full", 2 * _GAUSS + 2 * _NORMAL, -1 / 4,
        lambda s, _: math.sqrt(smooth_calibration_error(s)), lambda d, alpha, _: with_noise(d, alpha, "gaussian"),
    ),
    Answer(
        "ATB^(1/4)", "add Laplace noise of scale alpha", "", 2 * math.sqrt(2.5) + 2 / math.e, -1 / 4,
        lambda s, _: two_bin_calibration_error(s) ** 0.25, lambda d, alpha, _: with_noise(d, alpha, "laplace"),
    ),
    Answer(
        "Cutoff^(2/3)", "use less than 2 alpha^(-1/2) actions of the task", "full only for powers <= 2/3", 7.0, -1 / 3,
        lambda s, _: cutoff_calibration_error(s) ** (2 / 3), lambda d, alpha, _: with_few_actions(d, alpha),
    ),
    Answer(
        "CDL", "the best response to p", "full", 1.0, 0.0,
        lambda s, _: calibration_decision_loss(s), lambda d, *_: trust(d),
    ),
    Answer(
        "ECE", "the best response to p", "", 2.0, 0.0,
        lambda s, _: expected_calibration_error(s), lambda d, *_: trust(d),
    ),
    Answer(
        "Cutoff", "the best response to p", "monotone", None, -1 / 2,
        lambda s, _: cutoff_calibration_error(s), lambda d, *_: trust(d),
    ),
    Answer(
        "smCE", "add Laplace noise of scale alpha^(1/2)", "none", None, -1 / 2,
        lambda s, _: smooth_calibration_error(s), lambda d, alpha, _: with_noise(d, math.sqrt(alpha), "laplace"),
    ),
)  # fmt: skip


def worst_ratio(k: int, seed: int, effort: int) -> float:
    """Search for the largest ratio of regret to alpha, alpha from the value of the measure to twice
    that.
    """
    answer = ANSWERS[k]

    def objective(dist: Distribution) -> float:
        value = answer.measure(dist.sample(), _EIGHT)
        return max(ratio(answer.regret(dist, c * value, _EIGHT), c * value) for c in _SLACK)

    named = [
        law
        for eps in (1e-2, 1e-3, 1e-4)
        for law in (cutoff_gap(eps)[1], *smooth_gap(eps), noise_gap(eps))
    ]
    found, _ = worst_distribution(objective, np.random.default_rng([seed, 12, k]), effort)
    return max(found, *(value for value in map(objective, named) if value == value))


def mean_values(seed: int, size: int, draws: int) -> list[float]:
    """Return the largest mean of each measure over the calibrated populations, on samples of one
    size.
    """
    largest = np.zeros(len(ANSWERS))
    for j, (name, draw) in enumerate(POPULATIONS.items()):
        if name != MISCALIBRATED:
            rngs = (np.random.default_rng([seed, 13, j, size, index]) for index in range(draws))
            samples = [Sample(*draw(size, rng)) for rng in rngs]
            means = [
                np.mean([one.measure(sample, one.grid(size)) for sample in samples])
                for one in ANSWERS
            ]
            largest = np.maximum(largest, means)
    return [float(value) for value in largest]


def limits_of_soft_loss(seed: int, laws: int) -> list[dict[str, Cell]]:
    """Compare SCDL_m with sup R on random distributions as m grows, and sup R with CDL."""
    rng = np.random.default_rng([seed, 14])
    drawn = [random_distribution(rng) for _ in range(laws)]
    curves = [regret_curve(law.sample()) for law in drawn]
    highest = np.array([curve.worst.regret for curve in curves])
    rows: list[dict[str, Cell]] = []
    for m in GRIDS:
        off = highest - [law.soft_loss(m) for law in drawn]
        rows.append(
            {
                "quantity": f"sup R - SCDL_m, m = {m:,}",
                "smallest": float(off.min()),
                "largest": float(off.max()),
            }
        )
    some = highest > 1e-9
    share = highest[some] / [curve.loss for curve, kept in zip(curves, some, strict=True) if kept]
    rows.append(
        {
            "quantity": "sup R / CDL (1/2 to 1)",
            "smallest": float(share.min()),
            "largest": float(share.max()),
        }
    )
    return rows


def question1(
    runner: Runner, *, repeats: int, seed: int, sizes: tuple[int, ...] = SIZES
) -> PartResult:
    """Check every answer; `repeats` is the number of distributions tried for each."""
    draws = max(4, min(40, repeats // 10))
    chunks = [
        Chunk(f"seed{seed}-{repeats}-{k}", worst_ratio, (k, seed, repeats))
        for k in range(len(ANSWERS))
    ]
    ratios = runner("question1-ratios", chunks)
    chunks = [
        Chunk(f"seed{seed}-{size}-{draws}", mean_values, (seed, size, draws)) for size in sizes
    ]
    means = np.array(runner("question1-rates", chunks))
    few = repeats < 100
    chunks = [
        Chunk(f"smooth-{eps:g}", smooth_against_all, (eps,))
        for eps in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    ]
    chunks += [
        Chunk(f"cutoff-{e:g}-{k}", cutoff_against_all, (e, k))
        for e, k in ([(1e-2, 3)] if few else _PROGRAMS)
    ]
    against = runner("question1-against", chunks)
    (limits,) = runner(
        "question1-limits", [Chunk(f"seed{seed}-{repeats}", limits_of_soft_loss, (seed, repeats))]
    )
    return PartResult(
        name="question1",
        title="Table 1's first column, and Question 1",
        words=_WORDS,
        tables=(
            Table.of("question1", "Who solves Question 1", _rows(ratios, means, sizes)),
            Table.of("question1_against", "Counterexamples against every response", against),
            Table.of(
                "question1_limits", f"SCDL_m and sup R on {repeats} random distributions", limits
            ),
        ),
        settings={"repeats": repeats, "seed": seed, "sizes": list(sizes)},
    )


_PROGRAMS = [(1e-2, 8), (3e-3, 6), (1e-3, 6), (3e-4, 5), (1e-4, 5)]


def _rows(ratios: list[float], means: Floats, sizes: tuple[int, ...]) -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = []
    for k, answer in enumerate(ANSWERS):
        slope, error = fit_exponent(sizes, means[:, k], np.zeros(len(sizes)))
        actionable = answer.factor is not None and ratios[k] <= answer.factor + 1e-9
        rows.append(
            {
                "measure": answer.name,
                "Table 1": answer.says,
                "response to alpha": answer.response,
                "proved: regret / alpha": answer.factor,
                "worst found": ratios[k],
                "actionable": actionable,
                f"mean at T = {sizes[-1]:,}": float(means[-1, k]),
                "exponent": slope,
                "se": error,
                "theory": answer.exponent,
                "solves Question 1": actionable and answer.exponent < 0,
            }
        )
    return rows


_ROUNDS = 60
_CLOSE = 1e-3  # of the value: the program ends when its two bounds are this close
_LEAST = 1e-12  # probabilities below this are rounding errors of the linear program


@dataclass(frozen=True, kw_only=True, slots=True)
class BestResponse:
    """The smallest worst regret of any response with actions on a grid, for the squared loss.

    Attributes
    ----------
    low, high : float
        Bounds on it: of the last linear program, and the regret of the response found.
    every : float
        A lower bound for every response with actions anywhere in [0, 1].
    """

    low: float
    high: float
    every: float


def best_response(law: Distribution, eps: float, actions: int) -> BestResponse:
    """Find the response that does best against `law`, its mirror image, and one prediction with a
    bias of eps.

    A response is a matrix x of the probabilities of each action a at each prediction p. The regret
    on a law is, per action, the perspective function ``(sum_p w x (a - q))^2 / sum_p w x``, which
    is convex in x and the largest of the linear functions ``sum_p w x (a - b)(a + b - 2 q)`` over
    replacements b. So the smallest worst regret is a convex program. It is solved by linear
    programs, each with the best replacements of the last response as new constraints: their values
    are lower bounds. On a law with one prediction the best replacement is its event rate, so its
    constraint is linear from the start.

    Rounding the actions of any response to the grid changes the root of its regret by at most half
    a step, as conditional expectation is a contraction; this gives `every`.
    """
    grid: Floats = np.linspace(0, 1, actions)
    mirror = np.where(law.at > 0, 2 * law.at - law.frequency, law.frequency)
    laws = [law, Distribution(law.at, law.weight, np.clip(mirror, 0, 1))]
    shape = len(law.at), actions
    ones = [
        (k, (grid - rate) ** 2)
        for k, p in enumerate(law.at)
        for rate in (p - eps, p + eps)
        if 0 <= rate <= 1
    ]
    cuts: list[tuple[int, int, Floats]] = []
    low, high, x = 0.0, math.inf, np.exp(-((grid - law.at[:, None]) ** 2) / eps ** (2 / 3))
    x /= x.sum(axis=1, keepdims=True)
    for _ in range(_ROUNDS):
        worst = max(float(cost @ x[k]) for k, cost in ones)
        for one in range(2):
            regret, new = _regret_and_cuts(laws[one], x, grid)
            worst = max(worst, regret)
            cuts += [(one, a, cut) for a, cut in new]
        high = min(high, worst)
        if high - low <= _CLOSE * high:
            break
        low, x = _solve(shape, cuts, ones)
    every = max(0.0, math.sqrt(low) - 0.5 / (actions - 1)) ** 2
    return BestResponse(low=low, high=high, every=every)


def _regret_and_cuts(
    law: Distribution, x: Floats, grid: Floats
) -> tuple[float, list[tuple[int, Floats]]]:
    """Return the regret of a response, and for each action the linear function that touches the
    regret there.
    """
    mass = law.weight[:, None] * x
    taken, events = mass.sum(axis=0), (mass * law.frequency[:, None]).sum(axis=0)
    some = np.flatnonzero(taken > _LEAST)
    rate = events[some] / taken[some]
    cuts = [
        (int(a), law.weight * (grid[a] - b) * (grid[a] + b - 2 * law.frequency))
        for a, b in zip(some, rate, strict=True)
    ]
    return float((taken[some] * (grid[some] - rate) ** 2).sum()), cuts


def _solve(
    shape: tuple[int, int], cuts: list[tuple[int, int, Floats]], ones: list[tuple[int, Floats]]
) -> tuple[float, Floats]:
    """Solve the linear program: variables x, the regret of each action on each of two laws, and the
    worst regret z.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    points, actions = shape
    size = points * actions
    place: NDArray[np.intp] = np.arange(points) * actions
    rows = [np.full(points + 1, r) for r in range(len(cuts))]
    columns = [np.append(place + a, size + one * actions + a) for one, a, _ in cuts]
    values = [np.append(cut, -1.0) for *_, cut in cuts]
    for one in range(2):  # the regrets of all actions add up to at most z
        rows.append(np.full(actions + 1, len(cuts) + one))
        columns.append(np.append(size + one * actions + np.arange(actions), size + 2 * actions))
        values.append(np.append(np.ones(actions), -1.0))
    for k, (p, squared) in enumerate(ones):
        rows.append(np.full(actions + 1, len(cuts) + 2 + k))
        columns.append(np.append(p * actions + np.arange(actions), size + 2 * actions))
        values.append(np.append(squared, -1.0))
    above = sparse.csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    )
    sums = sparse.hstack(
        [
            sparse.kron(sparse.eye(points), np.ones((1, actions))),
            sparse.csr_array((points, 2 * actions + 1)),
        ]
    )
    cost = np.zeros(size + 2 * actions + 1)
    cost[-1] = 1.0
    found = linprog(cost, above, np.zeros(above.shape[0]), sums, np.ones(points), method="highs")
    x = np.maximum(found.x[:size].reshape(shape), 0.0)
    return float(found.fun), x / x.sum(axis=1, keepdims=True)


def cutoff_against_all(eps: float, per_point: int) -> dict[str, Cell]:
    """Return a row on Theorem B.1: the best response to its law and to one biased prediction, by a
    convex program.
    """
    points, law = cutoff_gap(eps)
    found = best_response(law, eps, 3 * points * per_point + 1)
    return {
        "measure": "Cutoff",
        "eps": eps,
        "value of the measure": cutoff_calibration_error(law.sample()),
        "smallest regret of any response": found.every,
        "of the best found": found.high,
        "best / eps": found.high / eps,
        "best / eps^power": found.high / eps ** (2 / 3),
        "power": 2 / 3,
    }


def smooth_against_all(eps: float) -> dict[str, Cell]:
    """Return a row on Theorem A.1, where a response is one number: the probability of action 1 at
    1/2 - sqrt(eps).

    Taking action 0 there loses on the first law, which has half its weight there, and action 1 on
    the second; the best response makes both equal.
    """
    root, (first, second) = math.sqrt(eps), smooth_gap(eps)
    # what action 0 loses on the first
    zero = float(first.frequency[0]) - (1 - root) * float(1 - first.frequency[0])
    one = (1 - root) * float(1 - second.frequency[0]) - float(second.frequency[0])
    least = 1 / (2 / zero + 1 / one)
    return {
        "measure": "smCE",
        "eps": eps,
        "value of the measure": max(
            smooth_calibration_error(law.sample()) for law in (first, second)
        ),
        "smallest regret of any response": least,
        "of the best found": least,
        "best / eps": least / eps,
        "best / eps^power": least / root,
        "power": 1 / 2,
    }
