"""A guarantee for the population: an upper bound on the expected loss of every decision, at a
stated confidence.

Here are the public function, its options and its words. The formulas are in
`rainproof.inference.bounds`, what they take of a sample is in `rainproof.inference.bound_inputs`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats
from rainproof.core.cells import LARGEST_GRID, check_grid
from rainproof.core.result import Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.text import at_most, html_rows, html_text, percent
from rainproof.core.validation import BaseRate, ThresholdRange, check_range
from rainproof.errors import FewRowsWarning, InputError
from rainproof.inference.assumptions import SAME_GIVEN_OUTCOME, no_heavier, population
from rainproof.inference.bound_inputs import (
    BoundInputs,
    draw_table,
    given_outcomes,
    loss_at_most,
)
from rainproof.inference.bounds import check_equal, hoeffding
from rainproof.inference.options import check_share

Method = Literal["adaptive", "hoeffding"]
Response = Literal["rounded", "as_is"]


@result_class
class Guarantee(Result):
    """An upper bound on the expected loss of every decision that acts on the predictions.

    Attributes
    ----------
    response : {"rounded", "as_is"}
        On what a decision acts: on predictions rounded at random, compared with the best fixed
        change of actions; or on predictions as they are, compared with the best fixed monotone
        recalibration of them.
    grid : int or None
        For "rounded" the grid to act on: round predictions at random, without bias, to multiples of
        ``1/grid``. For "as_is" None; if the sample is compressed its grid, as predictions are then
        rounded down to multiples of ``1/grid``.
    bound : float
        The upper bound on the expected loss in the population, as a share of the range of the
        payoffs.
    plug_in : float
        The loss on the sample, in hindsight: CDL(S_m), or CDL with monotone swaps.
    slack : float
        The allowance for chance: ``bound - plug_in``.
    hoeffding : float
        The bound by Hoeffding's inequality alone, at the same confidence, on its own best grid (if
        any). For comparison only: the confidence does not cover the smaller of the two, and it is
        for a fixed number of rows.
    method : {"adaptive", "hoeffding"}
        The inequality of `bound`.
    anytime : bool
        Whether the bound holds at every number of rows at once, together with all others computed
        so.
    confidence_level : float
        The probability, at least, that the bound holds for a sample drawn as stated.
    n : int
        The number of rows.
    groups : int or None
        The number of groups, if rows of a group depend on each other.
    max_weight : float or None
        The largest weight that a row (with groups, a group) can have, if it was stated.
    threshold_range : ThresholdRange or None
        The decisions that it is about: those whose thresholds lie in this range; None if it is
        about every decision.
    effective_n : float
        The number of independent rows of equal weight that carry as much information.
    base_rate : float, tuple of float or None
        The event rate of the population, or its range, if it was stated.
    grids : ndarray of int
        The grids considered; none for "as_is". The bounds hold for all of them at once.
    bounds, plug_ins : ndarray of float
        The bound and the loss on the sample for each of them.
    warnings : tuple of str
        Reasons to read the result with care.
    weighted : bool
        Whether rows have weights, equal ones too: other cases may have others.
    """

    _kind = "guarantee"
    _also = ("slack",)
    _shown = (
        "bound",
        "response",
        "grid",
        "threshold_range",
        "plug_in",
        "confidence_level",
        "method",
        "n",
        "anytime",
    )
    response: Response
    grid: int | None
    bound: float
    plug_in: float
    hoeffding: float
    method: Method
    anytime: bool
    confidence_level: float
    n: int
    groups: int | None
    max_weight: float | None
    threshold_range: ThresholdRange | None
    effective_n: float
    grids: NDArray[np.int64]
    bounds: Floats
    plug_ins: Floats
    warnings: tuple[str, ...]
    base_rate: BaseRate | None = None
    weighted: bool = False

    @property
    def slack(self) -> float:
        """The allowance for chance: ``bound - plug_in``."""
        return self.bound - self.plug_in

    def __str__(self) -> str:
        return "\n".join([*self._promise(), self._assumption(), *self.warnings])

    def _promise(self) -> tuple[str, str]:
        """What is promised, and what it means."""
        chance = f"{self.slack:.2%} is the allowance for chance."
        if self.response == "rounded":
            used = f"predictions, rounded at random to multiples of 1/{self.grid},"
            against = ""
            meaning = (
                "The loss is compared with the best fixed change of actions ('where I would do "
                f"this, do that') that uses the rounded predictions. On the {self.n:,} rows it is "
                f"{self.plug_in:.2%}; {chance}"
            )
        else:
            used = "probabilities as they are"
            them = "them"
            if self.grid is not None:
                used = f"probabilities, rounded down to multiples of 1/{self.grid},"
                them = "the rounded probabilities"
            against = f", compared with any monotone recalibration of {them}"
            meaning = (
                "A monotone recalibration is one fixed function of the probability that never "
                "falls. Corrections that reverse the order of some probabilities are not covered. "
                f"On the {self.n:,} rows the loss is {self.plug_in:.2%}, compared with the best "
                f"monotone recalibration in hindsight; {chance}"
            )
        which = ""
        all_of = "all decisions"
        if self.threshold_range is not None:
            which = f" {self.threshold_range}"
            all_of = f"all decisions {self.threshold_range}"
        promise = (
            f"With {percent(self.confidence_level)} confidence, every decision{which} that acts on "
            f"these {used} loses at most {at_most(self.bound)} of what is at stake (its best minus "
            f"its worst payoff), in expectation{against}."
        )
        scope = f"This holds for {all_of} at once, whatever their actions and payoffs."
        return promise, f"{scope} {meaning}"

    def _assumption(self) -> str:
        """What the promise rests on, and how often it fails."""
        fails = f"It fails for at most {percent(1 - self.confidence_level)} of such samples."
        if self.anytime:
            fails = (
                "It holds at every number of rows at once: one may look as often as one likes. At "
                f"most {percent(1 - self.confidence_level)} of such series of rows have a look at "
                "which it fails."
            )
        if self.base_rate is not None:
            needs = ["given their outcomes, the rows were drawn independently", SAME_GIVEN_OUTCOME]
            assumed = self._assumed(needs)
            return f"It is about {population(self.base_rate)}. It assumes {assumed}. {fails}"
        drawn = "the rows were drawn independently"
        if self.groups is not None:
            drawn = f"the {self.groups:,} groups of rows were drawn independently"
        if self.max_weight is not None:
            unit = "row" if self.groups is None else "group"
            assumed = self._assumed([drawn, no_heavier(self.groups, self.max_weight)])
            return (
                f"It is about the population in which each {unit} counts with its weight. It "
                f"assumes {assumed}. Weights may depend on predictions and outcomes. {fails}"
            )
        drawn += " from the population in which the predictions will be used"
        if self.groups is None and not self.weighted:
            return f"It assumes {self._assumed([drawn])}. {fails}"
        given = "weights, such as survey or cost weights"
        void = "weights that depend on predictions (as importance weights do) or outcomes"
        if self.groups is not None:
            given = "sizes and weights of the groups"
            void = "groups whose size or weight depends on predictions or outcomes"
        assumed = self._assumed([f"given fixed {given}, {drawn}"], comma=True)
        return (
            f"It assumes {assumed}. It does not hold for {void}, unless max_weight is stated. "
            f"{fails}"
        )

    def _assumed(self, needs: list[str], *, comma: bool = False) -> str:
        """List what is assumed, with the grids if any were tried; `comma` is for a first need that
        begins with a condition.
        """
        if self.grids.size:
            grids = "the grid" if len(self.grids) == 1 else f"the {len(self.grids)} grids tried"
            listed = ", ".join(f"1/{m}" for m in self.grids.tolist())
            needs = [*needs, f"{grids} ({listed}) did not depend on them"]
        first, *further = needs
        that = f"that, {first}" if comma else f"that {first}"
        if not further:
            return that
        clauses = [that, *(f"that {need}" for need in further)]
        return f"{', '.join(clauses[:-1])}, and {clauses[-1]}"

    def _repr_html_(self) -> str:
        rows = []
        for m, loss, bound in zip(self.grids, self.plug_ins, self.bounds, strict=True):
            chosen = f"{m} *" if m == self.grid else str(m)
            rows.append([chosen, f"{loss:.4f}", f"{bound:.4f}"])
        text = html_text(str(self))
        if not rows:
            return text
        header = ["grid", "loss on the rows", "bound"]
        return f"{text}<table>{html_rows(header, rows)}</table>"


# A set of grids that grows with n would need ever more of the error probability.
_ANYTIME_GRIDS = (8, 32, 128, 512)
_COARSEST_GRID = 4
_LEAST_FINE_GRID = 8  # the finest of the default grids is at least this
# of rows far below the stated largest weight, whose square may underflow
_LEAST_EFFECTIVE_N = 1e-300


def guarantee(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: BaseRate | None = None,
    confidence_level: float = 0.95,
    response: Response = "rounded",
    grid: int | Iterable[int] | None = None,
    groups: ArrayLike | None = None,
    max_weight: float | None = None,
    threshold_range: float | tuple[float, float] | None = None,
    method: Method = "adaptive",
    anytime: bool = False,
) -> Guarantee:
    r"""Bound the expected loss of every decision that acts on these predictions, in the population.

    A value measured on a sample is about the sample. This bound is about the population that the
    rows came from: at any sample size, for any distribution of predictions and outcomes, at the
    confidence level asked for. It holds for all decisions at once that act as `response` says:

    - "rounded": predictions are rounded at random, without bias, to multiples of ``1/m``, and the
      action is the best one there (as `RoundingPolicy` does). The expected loss is compared with
      the best fixed change of actions, such as "where I would act, wait", whatever its order.
    - "as_is": the action is the best one for each prediction as it is. The expected loss is
      compared with acting on any monotone recalibration: one fixed function of the prediction that
      never falls. Corrections that reverse the order of predictions are not covered; without
      rounding they cannot be tested (Claim 1.1 of the paper).

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row. Given the weights, rows must be drawn independently from the
        population: fixed weights such as survey or cost weights, which do not depend on predictions
        or outcomes. Weights that depend on the predictions, such as importance weights for another
        population, need `max_weight`.
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    base_rate : float or pair of float, optional
        The event rate of the population, or the range that it lies in, if these rows have another
        one (see `Sample`). Not together with `sample_weight`, `groups`, `max_weight` or `anytime`.
    confidence_level : float
        The probability, at least, that the bound holds for a sample drawn as stated.
    response : {"rounded", "as_is"}
        Act on rounded predictions, or on predictions as they are.
    grid : int or iterable of int, optional
        For "rounded" only. The grids to choose from, powers of two, chosen before the rows were
        seen. Every grid makes the bound a little larger. Default: 4, 8, ... up to the first that is
        at least :math:`\sqrt n` (at least 8; n counts as ``Sample.effective_n``), or up to that of
        the compression. With `anytime` 8, 32, 128 and 512, whatever n.
    groups : array_like of shape (n,), optional
        The group of each row (patient, site, day): rows of a group may depend on each other, groups
        must be independent. A group counts as one draw, so the bound is larger. Its size must not
        depend on its predictions or outcomes, unless `max_weight` is stated. Not for compressed
        samples.
    max_weight : float, optional
        The largest weight that a row can have (with `groups`: a whole group), known before the rows
        were seen. Needed where weights depend on the predictions, as importance weights for another
        population do, or where the size of a group is informative. The bound is then about the
        population in which rows count with their weight.
    threshold_range : float or (float, float), optional
        Bound the loss of decisions with one threshold, or whose thresholds all lie in this range,
        ends included: the bound is smaller. Choose it before the rows are seen. Default: of every
        decision.
    method : {"adaptive", "hoeffding"}
        "adaptive" is far smaller if few predictions are close to a threshold, and never much
        larger; "hoeffding" can be checked by hand.
    anytime : bool
        Whether the bound must hold at every number of rows at once. Then one may compute it after
        every new row, as often as one likes, and stop at a number of rows that looks good. It is a
        little larger. It needs rows (or groups) of equal weight, or `max_weight`; with `groups`,
        look after whole groups.

    Returns
    -------
    Guarantee
        `bound`, for "rounded" on the best `grid`; prints the guarantee and its assumptions.

    Warns
    -----
    FewRowsWarning
        If there are so few rows that the bound is 1.

    Notes
    -----
    With K grids and :math:`\delta = (1 - \text{confidence})/K`, Hoeffding's bound is
    :math:`\mathrm{CDL}(D_m) \le \mathrm{CDL}(S_m) + \sqrt{2 \ln(1/\delta) / n}`: of all tasks and
    swaps only the population's worst matters: one function g with values in [-1, 1], whose mean on
    the rows is at most :math:`\mathrm{CDL}(S_m)`.

    The adaptive bound uses that a row with :math:`g = 0` contributes no chance:

    .. math:: e^{-x g} (\cosh x)^{-|g|} \le 1 - g \tanh x \qquad (|g| \le 1)

    turns into a bound on the mean of g in terms of :math:`\sup \frac1n \sum_i \lambda g_i +
    \ln\cosh(\lambda) |g_i|`, which is a CDL that counts gains a little more and losses a little
    less, and as easy to compute. It is averaged over five values of :math:`\lambda` that depend on
    n alone; half of the error probability goes to Hoeffding's, so the bound is at most Hoeffding's
    with :math:`\ln(2/\delta)`. Where predictions have a density its slack shrinks like
    :math:`n^{-2/3}`; for rare events it is many times smaller than Hoeffding's. Proofs:
    docs/theory/bounds.md.

    The same holds for "as_is", with CDL for monotone swaps (`calibration_decision_loss`) in place
    of :math:`\mathrm{CDL}(S_m)`: the population's worst task and monotone recalibration are again
    one g. There is no grid, so all of the error probability goes to one bound. With a
    `threshold_range`, g is the worst function among the tasks of the range, and all suprema are
    over these tasks.

    Without `anytime` the confidence is for one number of rows, fixed in advance. With it, the
    values of :math:`\lambda` are :math:`2^{-k}`, whatever n, so that the bound comes from a
    supermartingale, and by Ville's inequality all bounds that are ever computed hold together with
    the probability `confidence_level`. So does the smallest of them.

    With `base_rate` the bound is for outcomes that are given: events and other rows are independent
    samples of their own, of which the loss is :math:`r G_1 + (1 - r) G_0`, with :math:`G_y` the
    mean of g given the outcome. It is the largest such loss that the rows do not exclude. For each
    g it is linear in r, so of a range of rates it is the larger one of the two ends, at the full
    confidence.

    It is a bound, not an estimate: the loss is likely much smaller. It does not hold if rows depend
    on each other in a way that `groups` does not describe, if the population changes, or if the
    forecast was fitted on these rows. It is about expectations: in a batch of new rows, chance
    comes on top.

    "rounded": one pass over the rows, then O(m) for each grid. A compressed sample gives the same
    bound if weights are equal; if not, the bound uses squared weights by cell, and finer cells make
    it a little smaller. "as_is": a sort, then O(n) for each of five :math:`\lambda` (22 with
    `max_weight` or `anytime`). A compressed sample gives the bound for predictions rounded down to
    multiples of 1/grid, compared with monotone recalibrations of those.

    References
    ----------
    Hoeffding (1963), doi:10.1080/01621459.1963.10500830. The use of a single g, and the adaptive
    bound, are new here.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> y = rng.random(5000) < p
    >>> g = rainproof.guarantee(y, p)
    >>> g
    Guarantee(bound=0.0163948, response='rounded', grid=32, plug_in=0.0034561,
    confidence_level=0.95, method='adaptive', n=5000, anytime=False)
    >>> round(g.hoeffding, 4)
    0.0472
    >>> rainproof.guarantee(y, p, response="as_is")
    Guarantee(bound=0.0145646, response='as_is', plug_in=0.00503727, confidence_level=0.95,
    method='adaptive', n=5000, anytime=False)
    """
    sample = as_sample(
        y_true,
        y_prob,
        sample_weight=sample_weight,
        pos_label=pos_label,
        groups=groups,
        base_rate=base_rate,
        rates=True,
    )
    sample = sample.with_max_weight(max_weight)
    check_share(confidence_level, "confidence_level")
    _check_options(response, method, grid, anytime)
    within = check_range(threshold_range)
    if anytime and given_outcomes(sample) is not None:
        raise InputError(
            "base_rate cannot be combined with anytime: the bound is for given outcomes"
        )
    n = sample.n_draws
    effective_n = sample.effective_n
    equal_draws = float(n) if anytime else None
    max_weight = sample.design.max_weight
    if max_weight is not None:
        equal_draws = sample.total_weight / max_weight
        effective_n = max(equal_draws**2 / n, _LEAST_EFFECTIVE_N)
    elif anytime:
        check_equal(n, effective_n)
    grids = list[int]()
    if response == "rounded":
        # With a stated largest weight the grids must depend on the number of draws alone.
        size = effective_n if max_weight is None else float(n)
        grids = _grids(sample, grid, size, anytime=anytime)
    delta = (1 - confidence_level) / max(len(grids), 1)  # all grids at once, by Bonferroni
    by_scenario = []
    # of a range of base rates, the larger bound at its ends
    scenarios = sample.scenarios()
    effective_by_scenario = [effective_n]
    if sample.design.strata is not None:
        effective_by_scenario = [scenario.effective_n for scenario in scenarios]
    for scenario, effective_n in zip(scenarios, effective_by_scenario, strict=True):
        inputs = _bound_inputs(scenario, grids, effective_n, within)
        plug_ins = [of_grid.plug_in for of_grid in inputs]
        by_hoeffding = [hoeffding(plug_in, effective_n, delta) for plug_in in plug_ins]
        bounds = by_hoeffding
        if method == "adaptive":
            bounds = [loss_at_most(of_grid, delta, equal_draws) for of_grid in inputs]
        by_scenario.append([plug_ins, by_hoeffding, bounds])
    largest_plug_ins, largest_by_hoeffding, largest_bounds = np.max(by_scenario, axis=0)
    best = int(largest_bounds.argmin())
    notes = list[str]()
    if largest_bounds[best] >= 1:
        notes.append(_too_few(sample))
        warnings.warn(FewRowsWarning(notes[0]), stacklevel=2)
    return Guarantee(
        response=response,
        grid=grids[best] if grids else sample.grid,
        bound=float(largest_bounds[best]),
        plug_in=float(largest_plug_ins[best]),
        hoeffding=float(largest_by_hoeffding.min()),
        method=method,
        anytime=anytime,
        confidence_level=float(confidence_level),
        n=sample.n,
        groups=sample.groups,
        max_weight=max_weight,
        threshold_range=within,
        effective_n=min(effective_by_scenario),
        base_rate=sample.base_rate,
        grids=np.array(grids, np.int64),
        bounds=largest_bounds[: len(grids)],
        plug_ins=largest_plug_ins[: len(grids)],
        warnings=tuple(notes),
        weighted=sample.units.has_weights,
    )


def default_grids(n: float, finest: int = LARGEST_GRID) -> list[int]:
    """Return the grids tried on n rows: a function of n (and of the compression) alone."""
    last = max(_LEAST_FINE_GRID, 1 << math.ceil(math.log2(math.sqrt(n))))
    grids = []
    m = _COARSEST_GRID
    while m <= min(last, finest):
        grids.append(m)
        m *= 2
    return grids or [finest]


def _check_options(response: str, method: str, grid: object, anytime: object) -> None:
    if response not in ("rounded", "as_is"):
        raise InputError(f"response must be 'rounded' or 'as_is'; it is {response!r}")
    if method not in ("adaptive", "hoeffding"):
        raise InputError(f"method must be 'adaptive' or 'hoeffding'; it is {method!r}")
    if response == "as_is" and grid is not None:
        raise InputError(
            "grid must not be given with response='as_is': predictions are not rounded"
        )
    if not isinstance(anytime, bool):
        raise InputError(f"anytime must be True or False; it is {anytime!r}")
    if anytime and method == "hoeffding":
        raise InputError(
            "method must be 'adaptive' with anytime=True: Hoeffding's bound is for a fixed number "
            "of rows"
        )


def _grids(
    sample: Sample, grid: int | Iterable[int] | None, effective_n: float, *, anytime: bool
) -> list[int]:
    """The grids asked for, increasing and distinct; or the default."""
    finest = sample.grid or LARGEST_GRID
    if grid is None and anytime:
        return [m for m in _ANYTIME_GRIDS if m <= finest] or [finest]
    if grid is None:
        return default_grids(effective_n, finest)
    asked = [grid] if isinstance(grid, int | np.integer) else list(grid)
    if not asked:
        raise InputError("grid must name at least one grid")
    return sorted({check_grid(m, compressed=sample.grid) for m in asked})


def _bound_inputs(
    sample: Sample, grids: list[int], effective_n: float, within: ThresholdRange | None
) -> list[BoundInputs]:
    """What the bound on each grid takes of a sample; without grids, that of predictions as they
    are.
    """
    if not grids:
        return [BoundInputs.as_is(sample, effective_n, within)]
    # One pass over the rows for all grids; given the outcomes, squared weights are not needed.
    cells = draw_table(sample, grids[-1]) if given_outcomes(sample) is None else None
    return [BoundInputs.rounded(sample, m, cells, within) for m in grids]


def _too_few(sample: Sample) -> str:
    """Say that nothing is promised of so few rows, or groups of them."""
    unit = "row" if sample.groups is None else "group"
    many = f"1 {unit} is" if sample.n_draws == 1 else f"{sample.n_draws:,} {unit}s are"
    stated = ""
    if sample.design.max_weight is not None:
        stated = f" with max_weight {sample.design.max_weight:,.12g}"
    return f"{many} too few for a guarantee at this confidence{stated}: the bound is 100%"
