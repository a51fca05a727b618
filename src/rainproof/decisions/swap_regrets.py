"""What acting on the predictions costs in one decision, against the best change of actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from rainproof.core.arguments import as_classes, as_sample
from rainproof.core.result import Result
from rainproof.core.sample import Sample
from rainproof.core.text import rows
from rainproof.decisions.action_swaps import ActionSwap, Per
from rainproof.decisions.class_tasks import ClassTask
from rainproof.decisions.tasks import DecisionTask, check_task
from rainproof.errors import InputError

_PRINTED_SWAPS = 10  # the rest are counted


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class SwapRegret(Result):
    """The swap regret of a decision, and the swaps that would have saved it.

    Attributes
    ----------
    value : float
        The swap regret per row, as a share of what is at stake (``task.scale``); 0 is perfect.
    in_units : float
        The same in the units of the payoffs.
    swaps : tuple of ActionSwap
        The swaps that save anything, the best first; together they save `value`. For a quadratic
        task the hundred that save most.
    per : {"action", "prediction"}
        Whether a swap applies to an action, or to an action at one distinct prediction.
    task : DecisionTask
    n : int
        The number of rows.
    weighted : bool
        Whether the rows have weights.
    """

    _kind = "swap_regret"
    value: float
    in_units: float
    swaps: tuple[ActionSwap, ...]
    per: Per
    task: DecisionTask | ClassTask
    n: int
    weighted: bool

    @property
    def best_swap(self) -> dict[Any, Any]:
        """The replacement of each action worth changing; per prediction, that which saves most."""
        # The best swaps come first.
        best: dict[Any, Any] = {}
        for swap in self.swaps:
            best.setdefault(swap.action, swap.replacement)
        return best

    @property
    def advice(self) -> tuple[str, ...]:
        """A sentence for each of the ten swaps that save most, the best first."""
        where = " at some predictions" if self.per == "prediction" else ""
        sentences = []
        for swap in self.swaps[:_PRINTED_SWAPS]:
            size = f"{swap.share:.1%} of the weight" if self.weighted else rows(swap.weight)
            sentences.append(
                f"Replace {_show(swap.action)} by {_show(swap.replacement)}{where}: "
                f"saves {swap.saves:.2%} of what is at stake, on {size}."
            )
        return tuple(sentences)

    def __str__(self) -> str:
        if not self.swaps:
            return f"No swap of {self.per}s would have saved anything on {rows(self.n)}."
        saved = f"{self.value:.2%} of what is at stake ({self.in_units:.4g} per row)"
        lines = [f"Swapping {self.per}s in hindsight saves {saved} on {rows(self.n)}."]
        lines += [f"  {sentence}" for sentence in self.advice]
        more = len(self.swaps) - _PRINTED_SWAPS
        if more > 0:
            lines.append(f"  ... and {more} more.")
        return "\n".join(lines)


def swap_regret(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    task: DecisionTask | ClassTask | None = None,
    *,
    per: Per = "action",
    response: Any = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
) -> SwapRegret:
    r"""Compute the swap regret of a decision: what the best change of actions would have saved in
    hindsight.

    The decision maker took, for each row, the action that is best if the prediction is right. A
    swap is a rule such as "wherever I acted, I should have waited". Swap regret is what the best
    such rules would have saved; ``best_swap`` lists them.

    Between 0 and 1, as a share of what is at stake; 0 is perfect.

    Explained in docs/guide/decisions.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1]. Omit it with a Sample:
        ``swap_regret(sample, task=task)``.
    task : DecisionTask
        The decision. With a `ClassTask`, `y_prob` has a column for each class (or `y_true` is a
        `Sample`).
    per : {"action", "prediction"}
        "action": a swap replaces an action wherever it was taken. "prediction": it can do so for
        each distinct prediction on its own, which saves at least as much; where all predictions are
        distinct, hindsight then knows every outcome.
    response : object with a method probabilities, optional
        How the decision maker acts (default: the best action at p): the probability of each of
        ``task.actions``, of shape (n, k), such as from a `RoundingPolicy`. The regret is then the
        expected one.
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`).

    Returns
    -------
    SwapRegret

    Notes
    -----
    With r the response, and E the mean over rows and over the response's own randomness,

    .. math:: \sum_a \max_b \mathrm{E}[(U(b,y) - U(a,y)) 1\{r = a\}]
        \quad\text{or}\quad \mathrm{E}[\max_b (1-q) U(b,0) + q U(b,1)] - \mathrm{E}[U(r, y)],

    per action or per prediction, where q is the event rate at each distinct prediction (the
    prediction given to the response, before any rounding by it). Both are divided by
    ``task.scale``. For the best response the second is the regret curve integrated over the
    thresholds of the task, and at most CDL. For a quadratic task every distinct prediction is an
    action of its own, and both are :math:`\mathrm{E}[(p - q)^2]`.

    O(n log n), and O(k) for each distinct prediction with a `response`. On a compressed sample all
    rows of a cell act on the mean of their predictions: this changes the action only in a cell that
    contains a threshold, and "per prediction" means per cell.

    References
    ----------
    arXiv:2605.17749, Definition 4.4 (for random responses) and Theorem 4.2 (what rounding
    guarantees). Foster, Vohra (1997), "Calibrated learning and correlated equilibrium",
    doi:10.1006/game.1997.0595.

    Examples
    --------
    >>> import rainproof
    >>> task = rainproof.DecisionTask.from_costs(
    ...     false_positive=10, false_negative=40, actions=("wait", "treat")
    ... )
    >>> y, p = [0, 0, 0, 0, 0, 0, 1, 0], [0.1, 0.1, 0.3, 0.3, 0.3, 0.3, 0.3, 0.9]
    >>> r = rainproof.swap_regret(y, p, task)
    >>> r.value, r.in_units, r.best_swap
    (0.03125, 1.25, {'treat': 'wait'})
    >>> print(r)
    Swapping actions in hindsight saves 3.12% of what is at stake (1.25 per row) on 8 rows.
      Replace 'treat' by 'wait': saves 3.12% of what is at stake, on 6 rows.
    """
    if isinstance(y_prob, DecisionTask):
        raise InputError(
            "y_prob is a task: with a Sample, pass it by name, swap_regret(sample, task=task)"
        )
    columns: dict[str, Any] = {
        "sample_weight": sample_weight,
        "pos_label": pos_label,
        "base_rate": base_rate,
    }
    if isinstance(task, ClassTask):
        if per != "action" or response is not None:
            raise InputError(
                "several classes have swap regret by action of the best response: omit per and "
                "response"
            )
        of_classes = as_classes(y_true, y_prob, **columns)
        if of_classes is None:
            raise InputError(
                f"y_prob must have a column for each class of the task, {len(task.payoffs[0])}"
            )
        value, swaps = task.find_swaps(of_classes)
        sample = of_classes.top_label  # the same rows and weights
    else:
        task = check_task(task)
        if per not in ("action", "prediction"):
            raise InputError(f"per must be 'action' or 'prediction'; it is {per!r}")
        sample = as_sample(y_true, y_prob, **columns)
        sample = task.add_costs(sample, ("y_true", y_true), ("y_prob", y_prob))
        value, swaps = task.find_swaps(sample, per, response)
    return SwapRegret(
        value=value,
        in_units=value * task.scale,
        swaps=swaps,
        per=per,
        task=task,
        n=sample.n,
        weighted=sample.units.has_weights,
    )


def _show(action: str | float) -> str:
    """Write an action: its name, or its number for a quadratic task."""
    return repr(action) if isinstance(action, str) else f"{action:.4g}"
