"""Should a new forecast replace an old one? The most that any decision loses, and gains, by the
switch.

Here are the public function, its words and the upper bound on the loss; the proof of a gain is in
`rainproof.inference.switch_gains`.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arguments import as_paired
from rainproof.core.arrays import Floats
from rainproof.core.curve import Chord
from rainproof.core.result import Result, plain, result_class
from rainproof.core.sample import Sample
from rainproof.core.switch_curve import SwitchCurve
from rainproof.core.text import at_least, at_most, percent, rows
from rainproof.core.validation import BaseRate, ThresholdRange, check_range
from rainproof.decisions.regret_curves import worst_task
from rainproof.decisions.tasks import DecisionTask, decision_with
from rainproof.errors import InputError
from rainproof.inference import bounds
from rainproof.inference.assumptions import if_drawn
from rainproof.inference.bound_inputs import given_outcomes
from rainproof.inference.options import Seed, as_seed, check_share
from rainproof.inference.switch_gains import gain_at_least


@result_class
class SwitchGuarantee(Result):
    """The result of `switch_guarantee`.

    Losses and gains are shares of what is at stake: a task's best minus its worst payoff.

    Attributes
    ----------
    harm, gain : float
        On these rows, exactly: the most that any decision loses, and gains, by the switch.
    harm_bound : float
        In the population no decision loses more than this by the switch, in expectation.
    gain_at_least : float or None
        In the population there is a decision that gains at least this by the switch, in
        expectation; 0 if the rows prove no gain, None if they cannot (compressed rows of unequal
        weights, or `anytime`).
    worst_task, best_task : DecisionTask or None
        On these rows, the decision tasks that lose `harm` and gain `gain`; None if none does (up to
        rounding).
    curve : SwitchCurve
        On these rows, the loss by the switch at each threshold.
    confidence_level : float
        The probability, at least, that `harm_bound` holds, and that `gain_at_least` holds; each by
        itself.
    n : int
        The number of rows of positive weight.
    groups : int or None
        The number of groups, if rows were drawn in groups.
    effective_n : float
        The number of independent draws of equal weight that allow the same Hoeffding bound.
    grid : int or None
        For a compressed sample its grid m: all statements are about tasks whose thresholds are
        multiples of 1/m.
    threshold_range : ThresholdRange or None
        The decisions that all of this is about: those whose thresholds lie in this range (for a
        compressed sample its ends are multiples of 1/m, the next ones outside the range asked for);
        None if about every decision.
    seed : int or None
        The seed of the orders of rows behind `gain_at_least`; None if a generator was given.
    anytime : bool
        Whether `harm_bound` holds at every number of rows at once, together with all others
        computed so.
    base_rate : float, tuple of float or None
        The event rate of the population, or its range, if it was stated. Of a range, `harm`, `gain`
        and `harm_bound` are the largest at its ends, `curve` is that of its middle in log odds, and
        `gain_at_least` is None.
    max_weight : float or None
        The largest weight that a row (with groups, a group) can have, if it was stated.
    weighted : bool
        Whether rows have weights, equal ones too: other cases may have others.
    """

    _kind = "switch_guarantee"
    _shown = ("harm", "gain", "harm_bound", "gain_at_least", "threshold_range", "n")
    harm: float
    gain: float
    harm_bound: float
    gain_at_least: float | None
    worst_task: DecisionTask | None
    best_task: DecisionTask | None
    curve: SwitchCurve
    confidence_level: float
    n: int
    groups: int | None
    effective_n: float
    grid: int | None
    threshold_range: ThresholdRange | None
    seed: int | None
    anytime: bool = False
    base_rate: BaseRate | None = None
    max_weight: float | None = None
    weighted: bool = False

    def band(self) -> dict[str, Floats]:
        """Return ``threshold``, ``loss``, ``low`` and ``high``: an interval for each threshold by
        itself, an estimate.

        Between the thresholds the loss is linear; at a jump they occur twice. The interval is that
        of the normal approximation, at `confidence_level`. It proves nothing; the bounds do.
        """
        curve = self.curve
        loss = curve.limits()
        error = curve.standard_error(self.effective_n)
        reach = -NormalDist().inv_cdf((1 - self.confidence_level) / 2) * error
        limits = {"loss": loss, "low": loss - reach, "high": loss + reach}
        if curve.closed:  # exact at the ends of the pieces; at 0 both forecasts lead to the action
            points = {"threshold": curve.edges}
            for name, sides in limits.items():
                points[name] = np.insert(sides[1], 0, 0.0)
        else:
            points = {"threshold": np.repeat(curve.edges, 2)[1:-1]}
            for name, sides in limits.items():
                points[name] = sides.T.ravel()
        if curve.within is None:
            return points
        return _inside(points, curve.within, closed=curve.closed)

    def to_dict(self) -> dict[str, Any]:
        """Return all in built-in types, ready for JSON: the curve by the points of `band`."""
        entries = Result.to_dict(self)
        del entries["curve"]
        return {**entries, **plain(self.band())}

    def __str__(self) -> str:
        level = percent(self.confidence_level)
        which = "" if self.threshold_range is None else f" {self.threshold_range}"
        if self.grid is not None:
            joined = " and" if which else ""
            which += f"{joined} whose thresholds are multiples of 1/{self.grid}"
        drawn = if_drawn(
            self.groups, "the new forecast", self.base_rate, self.max_weight, weighted=self.weighted
        )
        these = "this" if self.n == 1 else "these"
        lines = [
            f"With {level} confidence, no decision{which} loses more than "
            f"{at_most(self.harm_bound)} of what is at stake (its best minus its worst payoff) by "
            "switching to the new forecast, in expectation.",
            self._proven_gain(level, which),
            f"On {these} {rows(self.n)} the largest loss is "
            f"{at_most(self.harm)}{_example(self.worst_task)}; the largest gain is "
            f"{at_least(self.gain)}{_example(self.best_task)}.",
            f"Bounds hold if {drawn}.",
        ]
        return "\n".join(lines)

    def _proven_gain(self, level: str, which: str) -> str:
        if self.gain_at_least is None:
            reason = "Compressed rows of unequal weights cannot"
            if self.anytime:
                reason = "A bound at any time does not"
            if isinstance(self.base_rate, tuple):
                reason = "A range of base rates does not"
            return f"{reason} prove a gain in any decision."
        if self.gain_at_least == 0:
            return f"These rows do not prove a gain in any decision{which}."
        least = at_least(self.gain_at_least)
        return (
            f"With {level} confidence, there is a decision{which} that gains at least {least}, in "
            "expectation."
        )


def _inside(
    columns: dict[str, Floats], within: ThresholdRange, *, closed: bool
) -> dict[str, Floats]:
    """The part of a curve that lies in its range; rows that act from its lower end on are the piece
    just below it.
    """
    mu = columns["threshold"]
    low = within.low if closed else np.nextafter(within.low, 0.0)
    first = int(np.searchsorted(mu, low))
    last = int(np.searchsorted(mu, within.high, "right"))
    if not closed:  # without the piece before the range, and the one after it
        first += low > 0
        last -= within.high < 1
    part = {name: column[first:last] for name, column in columns.items()}
    part["threshold"] = np.maximum(part["threshold"], within.low)
    return part


def _example(task: DecisionTask | None) -> str:
    return "" if task is None else f", of {decision_with(task.thresholds)}"


def switch_guarantee(
    y_true: ArrayLike | Sample,
    p_old: ArrayLike | None = None,
    p_new: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    max_weight: float | None = None,
    threshold_range: float | tuple[float, float] | None = None,
    base_rate: BaseRate | None = None,
    confidence_level: float = 0.95,
    rng: Seed = 0,
    anytime: bool = False,
) -> SwitchGuarantee:
    r"""Bound what any decision loses, and gains, by acting on a new forecast instead of an old one.

    A smaller calibration error is no reason to switch: a constant forecast can be perfectly
    calibrated. These bounds compare what decisions based on the two forecasts earn, for every
    decision task at once.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`. Or a `Sample` of two forecasts,
        the old one first; from `scan` it is compressed, and all statements are about thresholds on
        its grid (see Notes).
    p_old, p_new : array_like of shape (n,)
        The predicted probability of the event in each row by the old and by the new forecast, in
        [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal): fixed weights, which do not depend on
        predictions or outcomes, unless `max_weight` is stated.
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    groups : array_like of shape (n,), optional
        The group of each row (patient, site, day): rows of a group may depend on each other, groups
        must be independent. Their sizes must not depend on predictions or outcomes, unless
        `max_weight` is stated.
    max_weight : float, optional
        As for `guarantee`: the largest weight that a row can have (with `groups`, a whole group),
        known beforehand.
    threshold_range : float or (float, float), optional
        What decisions lose and gain that have one threshold, or whose thresholds all lie in this
        range, ends included. Choose it before the rows are seen. Default: every decision.
    base_rate : float or pair of float, optional
        The event rate of the population, or the range that it lies in, if these rows have another
        one (see `Sample`). Not together with `sample_weight`, `groups`, `max_weight` or `anytime`.
    confidence_level : float
        The probability, at least, that a bound holds for a sample drawn as stated; for each of the
        two bounds by itself.
    rng : numpy.random.Generator or int
        The source of randomness for the orders of the rows behind `gain_at_least`; the same rows
        and seed give the same answer, in whatever order they come. Do not try several seeds, or
        edited rows, and keep the best: the confidence is for one.
    anytime : bool
        Whether `harm_bound` must hold at every number of rows at once, as for `guarantee`: one may
        look as often as one likes. It needs rows (or groups) of equal weight, or `max_weight`.
        `gain_at_least` is then None: no such bound is proven.

    Returns
    -------
    SwitchGuarantee

    Notes
    -----
    Every task with payoffs in [0, 1] is a mixture :math:`\nu` of thresholds with
    :math:`\int (1-\mu)\,d\nu \le 1` and :math:`\int \mu\,d\nu \le 1`. Its loss by the switch is
    :math:`\int D\,d\nu`, where
    :math:`D(\mu) = E[(y - \mu) (1\{p_{old} > \mu\} - 1\{p_{new} > \mu\})]` is the loss at one
    threshold. So the largest loss is twice the concave envelope of :math:`\max(D, 0)` at 1/2; the
    task that loses it has at most two thresholds. With a `threshold_range`, D is set to 0 outside
    of it.

    `harm_bound` is the adaptive bound of `guarantee`, without its grid: the worst task of the
    population is one fixed function of a row with values in [-1, 1]. Rows on which both forecasts
    lead to the same action carry no chance, so the bound is small if the forecasts rarely differ.
    `gain_at_least` is from bets on the rows in random orders, block after block, each on a task
    that is chosen on all rows before it, as in `loss_at_least`; it is for none of these tasks by
    itself.

    A compressed sample of two forecasts knows on which side of each threshold k/m a prediction is,
    and no more. Its results are about all tasks whose thresholds are multiples of 1/m, with actions
    that change from the threshold on. For them they are exact and proven in the same way.

    Both bounds need rows that were drawn independently from the population (groups of rows, with
    `groups`) and that neither forecast was fitted on. Proofs: docs/theory/bounds.md. O(n log n).

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> y = rng.random(10_000) < p**1.5
    >>> found = rainproof.switch_guarantee(y, p, p**1.5)
    >>> found.harm_bound < 0.005 < found.gain_at_least
    True
    """
    confidence_level = check_share(confidence_level, "confidence_level")
    sample = as_paired(
        y_true,
        {"p_old": p_old, "p_new": p_new},
        sample_weight=sample_weight,
        pos_label=pos_label,
        groups=groups,
        base_rate=base_rate,
        rates=True,
    )
    sample = sample.with_max_weight(max_weight)
    seed = as_seed(rng, sample)[1]
    within = check_range(threshold_range)
    curve = sample.curve(*sample.forecasts).restricted(within)
    delta = 1 - confidence_level
    scenarios = sample.scenarios()  # of a range of base rates: its ends
    curves = [curve]
    if len(scenarios) > 1:
        curves = [end.curve(*end.forecasts).restricted(within) for end in scenarios]
    largest_loss = _largest_chord(curves, back=False)
    largest_gain = _largest_chord(curves, back=True)
    harm_bounds = [
        harm_bound(curve_of_end, end, delta, anytime=anytime)
        for curve_of_end, end in zip(curves, scenarios, strict=True)
    ]
    proven_gain = None
    # No bound on the gain is proven at any time, nor from the ends of a range of base rates.
    if not anytime and len(scenarios) == 1:
        proven_gain = gain_at_least(sample, delta, rng, within)
    return SwitchGuarantee(
        harm=largest_loss.loss,
        gain=largest_gain.loss,
        harm_bound=max(harm_bounds),
        gain_at_least=proven_gain,
        worst_task=worst_task(largest_loss),
        best_task=worst_task(largest_gain),
        curve=curve,
        confidence_level=confidence_level,
        n=sample.n,
        groups=sample.groups,
        effective_n=min(sample.effective_n, float(sample.n_draws)),
        grid=sample.grid,
        threshold_range=curve.within,
        seed=seed,
        anytime=anytime,
        base_rate=sample.base_rate,
        max_weight=sample.design.max_weight,
        weighted=sample.units.has_weights,
    )


def _largest_chord(curves: list[SwitchCurve], *, back: bool) -> Chord:
    """The decision that loses most by the switch, or by switching back."""
    chords = [curve.chord(back=back) for curve in curves]
    losses = [chord.loss for chord in chords]
    return chords[losses.index(max(losses))]


def harm_bound(
    curve: SwitchCurve,
    sample: Sample,
    delta: float,
    *,
    anytime: bool = False,
) -> float:
    """In the population no decision loses more by the switch, with a probability of at least ``1 -
    delta``.
    """
    if not isinstance(anytime, bool):
        raise InputError(f"anytime must be True or False; it is {anytime!r}")
    draws = float(sample.n_draws)
    effective_n = min(sample.effective_n, draws)
    outcomes = given_outcomes(sample)
    if anytime and outcomes is not None:
        raise InputError(
            "base_rate cannot be combined with anytime: the bound is for given outcomes"
        )
    # how many such draws there are depends on the rows: the bound must hold at any number
    if sample.design.max_weight is not None:
        draws = sample.total_weight / sample.design.max_weight
        effective_n = draws
        anytime = True
    if anytime:
        bounds.check_equal(draws, effective_n)

    def charged_loss(tilt: float) -> float:
        if outcomes is not None:
            return 2 * curve.chord(outcomes.charges(tilt)).value
        return bounds.charged_switch(curve, draws, effective_n, tilt)

    return bounds.upper_bound(
        charged_loss, draws, effective_n, delta, anytime=anytime, outcomes=outcomes
    )
