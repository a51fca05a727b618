"""Swap regret: what acting on the predictions cost in one decision, and which change of actions would have saved it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from numpy.typing import ArrayLike

from rainproof.core.sample.sample import Sample, as_sample
from rainproof.core.shown import Shown
from rainproof.core.text import rows
from rainproof.decisions.task import DecisionTask
from rainproof.errors import InputError

Per = Literal["action", "prediction"]

_PRINTED = 10  # swaps


class Response(Protocol):
    """A way to act: for predictions of shape (n,), the probability of each of the k actions, of shape (n, k)."""

    def probabilities(self, p: Any, /) -> Any: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Swap:
    """One change of actions: wherever `action` was taken, take `replacement`.

    Attributes
    ----------
    action, replacement : str (float for a quadratic task)
        The action taken, and the better one.
    saves : float
        What the swap saves per row, over all rows, as a share of what is at stake.
    in_units : float
        The same in the units of the payoffs.
    weight : float
        The weight of the rows with this action: their number, where rows have no weights (the expected number, if
        the response is random).
    share : float
        The same as a share of the weight of all rows.
    """

    action: Any
    replacement: Any
    saves: float
    in_units: float
    weight: float
    share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SwapRegret(Shown):
    """The swap regret of a decision, and the swaps that would have saved it.

    Attributes
    ----------
    value : float
        The swap regret per row, as a share of what is at stake (``task.scale``); 0 is perfect.
    in_units : float
        The same in the units of the payoffs.
    swaps : tuple of Swap
        The swaps that save anything, the best first; together they save `value`. For a quadratic task the hundred
        that save most.
    per : {"action", "prediction"}
        Whether a swap applies to an action, or to an action at one distinct prediction.
    task : DecisionTask
    n : int
        The number of rows.
    weighted : bool
        Whether the rows have weights.
    """

    value: float
    in_units: float
    swaps: tuple[Swap, ...]
    per: Per
    task: DecisionTask
    n: int
    weighted: bool

    @property
    def best_swap(self) -> dict[Any, Any]:
        """The replacement of each action worth changing; per prediction, the one that saves most."""
        best: dict[Any, Any] = {}
        for swap in self.swaps:
            best.setdefault(swap.action, swap.replacement)
        return best

    def to_dict(self) -> dict[str, Any]:
        """Return built-in types, ready for JSON."""
        return {
            "result": "swap_regret",
            "value": self.value,
            "in_units": self.in_units,
            "per": self.per,
            "n": self.n,
            "weighted": self.weighted,
            "swaps": [{name: getattr(swap, name) for name in Swap.__slots__} for swap in self.swaps],
            "task": self.task.to_dict(),
        }

    @property
    def advice(self) -> tuple[str, ...]:
        """A sentence for each of the ten swaps that save most, the best first."""
        some = " at some predictions" if self.per == "prediction" else ""
        return tuple(
            f"Replace {_show(swap.action)} by {_show(swap.replacement)}{some}: saves {swap.saves:.2%} of what is at "
            f"stake, on {f'{swap.share:.1%} of the weight' if self.weighted else rows(swap.weight)}."
            for swap in self.swaps[:_PRINTED]
        )

    def __repr__(self) -> str:
        best = self.best_swap
        shown = repr(best) if len(best) <= _PRINTED else f"<{len(best)} swaps>"
        return f"SwapRegret(value={self.value:.6g}, best_swap={shown}, per={self.per!r}, n={self.n})"

    def __str__(self) -> str:
        if not self.swaps:
            return f"No swap of {self.per}s would have saved anything on {rows(self.n)}."
        cost = f"{self.value:.2%} of what is at stake ({self.in_units:.4g} per row)"
        more = len(self.swaps) - _PRINTED
        return "\n".join(
            [
                f"Swapping {self.per}s in hindsight saves {cost} on {rows(self.n)}.",
                *(f"  {line}" for line in self.advice),
                *([f"  ... and {more} more."] if more > 0 else []),
            ]
        )


def swap_regret(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    task: DecisionTask | None = None,
    *,
    per: Per = "action",
    response: Response | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> SwapRegret:
    r"""Compute the swap regret of a decision: what the best change of actions would have saved in hindsight.

    The decision maker took, for each row, the action that is best if the prediction is right. A swap is a rule such as
    "wherever I acted, I should have waited". Swap regret is what the best such rules would have saved;
    ``best_swap`` lists them.

    Between 0 and 1, as a share of what is at stake; 0 is perfect.

    Explained in docs/decisions.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1]. Omit it with a Sample: ``swap_regret(sample, task=task)``.
    task : DecisionTask
        The decision.
    per : {"action", "prediction"}
        "action": a swap replaces an action wherever it was taken. "prediction": it can do so for each
        distinct prediction on its own, which saves at least as much; where all predictions are distinct, hindsight then
        knows every outcome.
    response : object with a method probabilities, optional
        How the decision maker acts (default: the best action at p): the probability of each of ``task.actions``,
        of shape (n, k), such as from a `RoundingPolicy`. The regret is then the expected one.
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.

    Returns
    -------
    SwapRegret

    Notes
    -----
    With r the response, and E the mean over rows and over the response's own randomness,

    .. math:: \sum_a \max_b \mathrm{E}[(U(b,y) - U(a,y)) 1\{r = a\}]
        \quad\text{or}\quad \mathrm{E}[\max_b (1-q) U(b,0) + q U(b,1)] - \mathrm{E}[U(r, y)],

    per action or per prediction, where q is the event rate at each distinct prediction (the prediction given to the
    response, before any rounding by it). Both are divided by ``task.scale``. For the best
    response the second is the regret curve integrated against ``task.mixture()``, and at most CDL. For a quadratic
    task every distinct prediction is an action of its own, and both are :math:`\mathrm{E}[(p - q)^2]`.

    O(n log n), and O(k) for each distinct prediction with a `response`. On a compressed sample all rows of a cell
    act on the mean of their predictions: this changes the action only in a cell that contains a threshold, and "per
    prediction" means per cell.

    References
    ----------
    arXiv:2605.17749, Definition 4.4 (for random responses) and Theorem 4.2 (what rounding guarantees).
    Foster, Vohra (1997), "Calibrated learning and correlated equilibrium", doi:10.1006/game.1997.0595.

    Examples
    --------
    >>> import rainproof
    >>> task = rainproof.DecisionTask.from_costs(false_positive=10, false_negative=40, actions=("wait", "treat"))
    >>> r = rainproof.swap_regret([0, 0, 0, 0, 0, 0, 1, 0], [0.1, 0.1, 0.3, 0.3, 0.3, 0.3, 0.3, 0.9], task)
    >>> r.value, r.in_units, r.best_swap
    (0.03125, 1.25, {'treat': 'wait'})
    >>> print(r)
    Swapping actions in hindsight saves 3.12% of what is at stake (1.25 per row) on 8 rows.
      Replace 'treat' by 'wait': saves 3.12% of what is at stake, on 6 rows.
    """
    if isinstance(y_prob, DecisionTask):
        raise InputError("y_prob is a task: with a Sample, pass it by name, swap_regret(sample, task=task)")
    if not isinstance(task, DecisionTask):
        raise InputError(f"task must be a DecisionTask; it is {task!r}")
    if per not in ("action", "prediction"):
        raise InputError(f"per must be 'action' or 'prediction'; it is {per!r}")
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    value, swaps = task._swaps(sample, per, response)
    in_units = value * task.scale
    return SwapRegret(
        value=value, in_units=in_units, swaps=swaps, per=per, task=task, n=sample.n, weighted=sample._weighted
    )


def _show(action: str | float) -> str:
    return repr(action) if isinstance(action, str) else f"{action:.4g}"
