"""Proven losses: there is a decision that loses at least this by acting on the predictions.

Here are the public function, its words, and how a correction of the predictions and a decision are
chosen; what the bets on them prove is in `rainproof.inference.lower_bounds`, and why in
docs/theory/bounds.md, "Lower bounds".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core._switch import sum_cells
from rainproof.core.arguments import as_sample
from rainproof.core.curve import Chord
from rainproof.core.result import Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.text import percent
from rainproof.core.validation import BaseRate, ThresholdRange, check_range
from rainproof.decisions.regret_curves import worst_task
from rainproof.decisions.tasks import DecisionTask
from rainproof.inference.assumptions import if_drawn
from rainproof.inference.corrections import FITS, Fit
from rainproof.inference.lower_bounds import lower_bound
from rainproof.inference.options import Seed, as_seed, check_share
from rainproof.inference.switch_gains import best_task, switch_rule
from rainproof.inference.wagers import ORDERS, Betting, Cells, Rule, Tally, Wagers, slots


@result_class
class ActionChange(Result):
    """Another action for a range of predictions.

    Attributes
    ----------
    low, high : float
        The range: predictions from `low` to below `high`.
    action : str
        The best action of the task if the prediction is right.
    replacement : str
        The action to take instead.
    """

    low: float
    high: float
    action: str
    replacement: str


@result_class
class LossAtLeast(Result):
    """The result of `loss_at_least`.

    Attributes
    ----------
    bound : float
        In the population there is a decision that loses at least this by acting on the predictions
        as they are, in expectation, as a share of what is at stake. 0 if the rows prove no loss.
    task : DecisionTask or None
        An example of such a decision, with payoffs in [0, 1]: the one that these rows suggest, all
        of them. It is not proven that it is this one. None if `bound` is 0.
    changes : tuple of ActionChange
        The fixed change of actions that these rows suggest for `task`.
    threshold_range : ThresholdRange or None
        The decisions that it is about, as for `SwitchGuarantee`; None if about every decision.
    confidence_level : float
        The probability, at least, that the bound holds for a sample drawn as stated.
    n : int
        The number of rows.
    groups : int or None
        The number of groups, if rows were drawn in groups.
    seed : int or None
        The seed of the orders of the rows; None if a generator was given.
    base_rate : float or None
        The event rate of the population, if it was stated.
    max_weight : float or None
        The largest weight that a row (with groups, a group) can have, if it was stated.
    weighted : bool
        Whether rows have weights, equal ones too: other cases may have others.
    """

    _kind = "loss_at_least"
    bound: float
    task: DecisionTask | None
    changes: tuple[ActionChange, ...]
    threshold_range: ThresholdRange | None
    confidence_level: float
    n: int
    groups: int | None
    seed: int | None
    base_rate: BaseRate | None = None
    max_weight: float | None = None
    weighted: bool = False

    def __str__(self) -> str:
        which = "" if self.threshold_range is None else f" {self.threshold_range}"
        if self.bound == 0:
            return (
                f"These rows do not prove that any decision{which} loses by acting on the "
                "predictions as they are."
            )
        drawn = if_drawn(
            self.groups, "the predictions", self.base_rate, self.max_weight, weighted=self.weighted
        )
        proven = (
            f"With {percent(self.confidence_level)} confidence, there is a decision{which} that "
            f"acts on these predictions as they are and loses at least {100 * self.bound:.3g}% of "
            f"what is at stake, in expectation, against a fixed change of actions, if {drawn}."
        )
        if self.task is None:
            return proven
        changes = "; ".join(_in_words(change) for change in self.changes)
        return (
            f"{proven}\n"
            f"These rows suggest, as an example that is not proven by itself: {changes}, in this "
            "decision.\n"
            f"{self.task}"
        )


def _in_words(change: ActionChange) -> str:
    return (
        f"{change.replacement!r} instead of {change.action!r} for predictions from "
        f"{change.low:.4g} to {change.high:.4g}"
    )


def loss_at_least(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    base_rate: float | None = None,
    max_weight: float | None = None,
    threshold_range: float | tuple[float, float] | None = None,
    confidence_level: float = 0.95,
    rng: Seed = 0,
) -> LossAtLeast:
    r"""Bound from below what some decision loses by acting on these predictions as they are.

    The opposite of `guarantee`: a proof of harm. There are a decision task and a fixed change of
    actions that gains at least `bound` for it, in expectation over the population that the rows
    came from. So there is a correction of the predictions that some decision gains by.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    sample_weight : array_like of shape (n,), optional
        The weight of each row: fixed weights, which do not depend on predictions or outcomes, or
        with `max_weight` any.
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    groups : array_like of shape (n,), optional
        The group of each row (patient, site, day): rows of a group may depend on each other, groups
        must be independent. Their sizes must not depend on predictions or outcomes, unless
        `max_weight` is stated.
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`). Rows of
        either outcome are then matched at random, and a draw is one row of the rarer outcome with
        its share of the others.
    max_weight : float, optional
        As for `guarantee`: the largest weight that a row can have (with `groups`, a whole group),
        known beforehand.
    threshold_range : float or (float, float), optional
        Look for decisions with one threshold, or whose thresholds all lie in this range, ends
        included. Default: all.
    confidence_level : float
        The probability, at least, that the bound holds for a sample drawn as stated.
    rng : numpy.random.Generator or int
        The source of randomness for the orders of the rows; the same rows and seed give the same
        answer, in whatever order they come. Do not try several seeds, or edited rows, and keep the
        best: the confidence is for one.

    Returns
    -------
    LossAtLeast

    Notes
    -----
    Rows (or groups) are dealt at random to twelve parts. The first two only choose. Before each
    other part, a correction of the predictions and a task are chosen on all earlier parts. That
    makes one function :math:`g(p, y)` with values in [-1, 1]: what the change of actions gains on a
    row. With u in [0, 1] the weight of a draw over the largest possible one, and a bet
    :math:`0 < x \le 1/2`, the product over all draws of these parts

    .. math:: \prod (1 + x u (g - \theta))

    has mean at most 1 if no task and change gain more than :math:`\theta` in the population:
    whatever is chosen from earlier rows, each factor then has mean at most 1. So has the mean of
    these products over several bets, three kinds of corrections (logistic, isotonic, bins) and four
    random orders of the rows (fewer, if there are very many). It exceeds :math:`1/\delta` with
    probability at most :math:`\delta` (Markov), and it falls in :math:`\theta`; where it meets
    :math:`1/\delta` is the bound. Proof: docs/theory/bounds.md.

    A small loss needs many rows. Rows must be drawn independently from the population (groups of
    rows, with `groups`), and the forecast must not have been fitted on them. A compressed sample
    gives the same answer as its rows if their weights are equal; unequal weights and groups need
    rows.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> y = rng.random(5000) < 0.5 + (p - 0.5) / 4       # overconfident
    >>> found = rainproof.inference.loss_at_least(y, p)
    >>> found.bound > 0.05
    True
    """
    sample = as_sample(
        y_true,
        y_prob,
        sample_weight=sample_weight,
        pos_label=pos_label,
        groups=groups,
        base_rate=base_rate,
    )
    sample = sample.with_max_weight(max_weight)
    confidence_level = check_share(confidence_level, "confidence_level")
    seed = as_seed(rng, sample)[1]
    wagers = Wagers.of(sample, rng, check_range(threshold_range))
    delta = 1 - confidence_level
    betting = wagers.betting(delta)

    def choose(before: Sequence[Tally]) -> Sequence[Sequence[Rule | None]]:
        return [_rules(wagers, _corrected(wagers, fit, before, betting)) for fit in FITS]

    orders = ORDERS // 2  # as each is bet on by several corrections
    by_fit = wagers.chains(choose, delta, rng, rules=len(FITS), orders=orders)
    bound = lower_bound(list(chain.from_iterable(by_fit)), delta, betting.bets)
    task = None
    changes: tuple[ActionChange, ...] = ()
    if bound > 0:  # the example is that of the fit which proves most, on all rows
        bound_of_fit = [lower_bound(chains, delta, betting.bets) for chains in by_fit]
        best_fit = FITS[bound_of_fit.index(max(bound_of_fit))]
        (example,) = _corrected(wagers, best_fit, [wagers.tally()], betting)
        if example.chord is not None:
            task = worst_task(example.chord)
        if example.chord is not None and task is not None:
            changes = _changes(wagers, example.chord, example.cells, task)
    return LossAtLeast(
        bound=bound,
        task=task,
        changes=changes,
        threshold_range=wagers.within,
        confidence_level=confidence_level,
        n=sample.n,
        groups=sample.groups,
        seed=seed,
        base_rate=sample.base_rate,
        max_weight=sample.design.max_weight,
        weighted=sample.units.has_weights,
    )


class _Corrected(NamedTuple):
    """The task that gains most by a correction of the predictions; None if none gains."""

    chord: Chord | None
    cells: Cells  # what the correction makes of each cell


def _corrected(
    wagers: Wagers, fit: Fit, before: Sequence[Tally], betting: Betting
) -> list[_Corrected]:
    """Correct the predictions by the rows before each block."""
    edges = wagers.edges
    # The prediction of each cell, of which rows differ too little to matter for a choice.
    middle = np.append((edges[1:] + edges[:-1]) / 2, 1.0)
    # by outcome, as the slots of a cell are without and with the event
    weight = np.stack([tally.sums.reshape(-1, 2).T for tally in before])
    corrected = np.clip(fit(middle, weight), 0.0, 1.0)
    old, outcome = slots(len(edges))
    corrections = []
    for tally, prob in zip(before, corrected, strict=True):
        new = (np.searchsorted(edges, prob, "right") - 1).astype(np.int32)
        differing = sum_cells(old, new[old], outcome.view(np.uint8), tally.sums, len(edges) - 1)
        chord = best_task(wagers, Tally(differing, tally.total), betting)
        corrections.append(_Corrected(chord, new))
    return corrections


def _rules(wagers: Wagers, corrections: Sequence[_Corrected]) -> list[Rule | None]:
    """What entries gain by each correction, for its task."""
    (cells,) = wagers.cells
    return [switch_rule(wagers, chord, new[cells]) for chord, new in corrections]


def _changes(
    wagers: Wagers, chord: Chord, new: Cells, task: DecisionTask
) -> tuple[ActionChange, ...]:
    """Neighbouring cells with the same change, as one range."""
    edges = wagers.edges
    # A task with one threshold has an end of the chord without weight or without regret.
    thresholds = np.searchsorted(edges, [chord.mu_a, chord.mu_b])
    uses_first = chord.share > 0 and chord.regret_a > 0
    uses_second = chord.share < 1 and chord.regret_b > 0
    used = np.array([uses_first, uses_second])
    cells = np.arange(len(new))
    action = ((cells[:, np.newaxis] >= thresholds) & used).sum(axis=1)
    replacement = ((new[:, np.newaxis] >= thresholds) & used).sum(axis=1)
    changes = []
    # Both are 0, 1 or 2, so one number tells the pair; it differs from that of the cell before.
    differs = np.diff(3 * action + replacement) != 0
    for run in np.split(cells, np.flatnonzero(differs) + 1):
        first = run[0]
        if action[first] != replacement[first]:
            end = min(run[-1] + 1, len(edges) - 1)
            change = ActionChange(
                low=float(edges[first]),
                high=float(edges[end]),
                action=task.actions[action[first]],
                replacement=task.actions[replacement[first]],
            )
            changes.append(change)
    return tuple(changes)
