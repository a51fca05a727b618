"""Scorers for `cross_val_score`, `GridSearchCV` and the like: larger is better."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from rainproof.core.sample.sample import as_sample
from rainproof.decisions.curve import regret_curve
from rainproof.decisions.finite_task import FiniteTask
from rainproof.errors import InputError
from rainproof.inference.net_benefit import net_benefit
from rainproof.inference.switching import switch_guarantee
from rainproof.measures.catalogue import list_measures


def net_benefit_scorer(threshold: float, *, pos_label: Any = None) -> Any:
    """Make a scorer: the net benefit of acting on predictions from a threshold on.

    Choose a model by it if your threshold is known: it counts what the decision is worth.

    Parameters
    ----------
    threshold : float
        The probability from which you act, in (0, 1).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.

    Returns
    -------
    callable
        A scorer ``(estimator, X, y, sample_weight=None) -> float``.

    Examples
    --------
    >>> import rainproof.sklearn
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = make_classification(random_state=0)
    >>> score = cross_val_score(LogisticRegression(), X, y, scoring=rainproof.sklearn.net_benefit_scorer(0.2)).mean()
    >>> round(float(score), 3)
    0.397
    """
    if not isinstance(threshold, float) or not 0 < threshold < 1:
        raise InputError(f"threshold must be a number between 0 and 1, both excluded; it is {threshold!r}")
    return make_scorer(_net_benefit, response_method="predict_proba", threshold=threshold, pos_label=pos_label)


def _net_benefit(y: ArrayLike, p: ArrayLike, *, threshold: float, sample_weight: Any = None, pos_label: Any) -> float:
    return float(net_benefit(y, p, [threshold], sample_weight=sample_weight, pos_label=pos_label).value[0, 0])


def expected_cost_scorer(task: FiniteTask, *, pos_label: Any = None) -> Any:
    """Make a scorer: minus the mean cost per row of a decision task, in its units.

    Choose a model by it if your costs are known.

    Parameters
    ----------
    task : FiniteTask
        The decision, as from ``rainproof.DecisionTask.from_costs(false_positive=1, false_negative=9)``.
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.

    Returns
    -------
    callable
        A scorer ``(estimator, X, y, sample_weight=None) -> float``.

    Examples
    --------
    >>> import rainproof.sklearn
    >>> task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=9)
    >>> scorer = rainproof.sklearn.expected_cost_scorer(task)
    """
    if not isinstance(task, FiniteTask):
        raise InputError(f"task must be a FiniteTask, such as DecisionTask.from_costs makes; it is {task!r}")
    return make_scorer(_payoff, response_method="predict_proba", task=task, pos_label=pos_label)


def _payoff(y: ArrayLike, p: ArrayLike, *, task: FiniteTask, sample_weight: Any = None, pos_label: Any) -> float:
    table = as_sample(y, p, sample_weight=sample_weight, pos_label=pos_label)._distinct_table()
    payoff = task.matrix[task.best_index(table.prob)]
    gained = float((table.negative * payoff[:, 0] + table.positive * payoff[:, 1]).sum())
    return gained / float(table.negative.sum() + table.positive.sum())


def worst_task_scorer(*, pos_label: Any = None) -> Any:
    """Make a scorer: minus the most that any decision maker falls short of perfect foresight.

    Choose a model by it if others, whose costs you do not know, will act on the predictions. Payoffs lie between 0 and
    1; the decision maker who loses most decides. In expectation nothing scores better than the true probabilities.

    Parameters
    ----------
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.

    Returns
    -------
    callable
        A scorer ``(estimator, X, y, sample_weight=None) -> float``.

    Notes
    -----
    It is the largest loss, over all bounded decision tasks, of switching from the outcomes to the forecast (as in
    `switch_guarantee`). For each task the expected payoff is a proper score, so the worst one is as well.

    Examples
    --------
    >>> import rainproof.sklearn
    >>> scorer = rainproof.sklearn.worst_task_scorer()
    """
    return make_scorer(_worst_task, response_method="predict_proba", pos_label=pos_label)


def _worst_task(y: ArrayLike, p: ArrayLike, *, sample_weight: Any = None, pos_label: Any) -> float:
    sample = as_sample(y, p, sample_weight=sample_weight, pos_label=pos_label)
    outcome = np.asarray(sample.y_true, np.float64)
    return -switch_guarantee(outcome, outcome, sample.y_prob, sample_weight=sample.sample_weight, rng=0).harm


def calibration_scorer(measure: str = "soft_binned_cdl", *, pos_label: Any = None, **options: Any) -> Any:
    """Make a scorer: minus a calibration error. Report it; do not choose a model by it.

    A forecast that says the event rate for every row is calibrated, so a search for the smallest calibration error can
    end there. Choose by `worst_task_scorer`, `net_benefit_scorer`, `expected_cost_scorer` or a proper score, and look
    at this one beside it.

    Parameters
    ----------
    measure : str
        A measure of `rainproof.list_measures`, such as "soft_binned_cdl" or "calibration_decision_loss".
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    **options
        Options of the measure, such as ``swaps="monotone"``; ``grid=16`` for "calibration_decision_loss" is the loss
        of acting on predictions rounded to multiples of 1/16.

    Returns
    -------
    callable
        A scorer ``(estimator, X, y, sample_weight=None) -> float``.

    Examples
    --------
    >>> import rainproof.sklearn
    >>> scoring = {
    ...     "cost": rainproof.sklearn.net_benefit_scorer(0.2),
    ...     "SCDL": rainproof.sklearn.calibration_scorer(),
    ...     "CDL on 1/16": rainproof.sklearn.calibration_scorer("calibration_decision_loss", grid=16),
    ... }
    """
    measures = list_measures()
    if measure not in measures:
        raise InputError(f"measure must be one of {', '.join(measures)}; it is {measure!r}")
    on_grid = measure == "calibration_decision_loss" and "grid" in options
    function = _loss_on_grid if on_grid else measures[measure].function
    return make_scorer(
        function, response_method="predict_proba", greater_is_better=False, pos_label=pos_label, **options
    )


def _loss_on_grid(y: ArrayLike, p: ArrayLike, **options: Any) -> float:
    return regret_curve(y, p, **options).loss
