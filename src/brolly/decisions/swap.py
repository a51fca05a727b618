"""Swap regret: what trusting the forecast cost in one decision, and which change of habit would have saved it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from brolly.core.arrays import Floats
from brolly.core.input.rows import as_numbers
from brolly.core.sample.distinct import DistinctTable
from brolly.core.sample.sample import Sample, as_sample
from brolly.core.text import rows
from brolly.decisions.task import DecisionTask
from brolly.errors import InputError

Per = Literal["action", "prediction"]

_BLOCK = 1 << 16  # predictions that a response is asked for together
_SHOWN = 100  # swaps of a quadratic task that are kept
_PRINTED = 10
_SURE = 1e-9  # how far from 1 the probabilities of a response may add up
_ROUNDING = 8 * np.finfo(np.float64).eps  # gains below this share of what they are the difference of are none


class Response(Protocol):
    """How somebody acts: for predictions of shape (n,), the probability of each action, of shape (n, k)."""

    def probabilities(self, p: Any, /) -> Any: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Swap:
    """One change of habit: where you would do `action`, do `replacement`.

    Attributes
    ----------
    action, replacement : str (float for a quadratic task)
        What was done, and what would have been better.
    saves : float
        What the swap saves per row, over all rows, as a share of what is at stake.
    in_units : float
        The same in the units of the payoffs.
    weight : float
        The weight of the rows it concerns: their number, where rows have no weights (the expected one, if
        the response is random).
    share : float
        The same as a share of all rows' weight.
    """

    action: Any
    replacement: Any
    saves: float
    in_units: float
    weight: float
    share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SwapRegret:
    """What a decision maker gave up, and the swaps that would have saved it.

    Attributes
    ----------
    value : float
        The swap regret per row, as a share of what is at stake (``task.scale``); 0 is perfect.
    in_units : float
        The same in the units of the payoffs.
    swaps : tuple of Swap
        The changes of habit that save anything, the best first; together they save `value`. For a
        quadratic task the hundred that save most.
    per : {"action", "prediction"}
        What may be swapped on its own.
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
        """For each action worth changing its replacement; where predictions differ, the one that saves most."""
        best: dict[Any, Any] = {}
        for swap in self.swaps:
            best.setdefault(swap.action, swap.replacement)
        return best

    def to_dict(self) -> dict[str, Any]:
        """All of it in built-in types, ready for JSON."""
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

    def __repr__(self) -> str:
        return f"SwapRegret(value={self.value:.6g}, best_swap={self._shown_swaps()}, per={self.per!r}, n={self.n})"

    def _shown_swaps(self) -> str:
        return f"<{len(self.swaps)} numbers>" if self.task.is_quadratic else repr(self.best_swap)

    def __str__(self) -> str:
        if not self.swaps:
            return f"No swap of {self.per}s would have saved anything on {rows(self.n)}."
        cost = f"{self.value:.2%} of the stakes ({self.in_units:.4g} per row)"
        more = len(self.swaps) - _PRINTED
        return "\n".join(
            [
                f"Swapping {self.per}s in hindsight saves {cost} on {rows(self.n)}.",
                *(f"  {self._sentence(swap)}" for swap in self.swaps[:_PRINTED]),
                *([f"  ... and {more} more."] if more > 0 else []),
            ]
        )

    def _sentence(self, swap: Swap) -> str:
        where = f"{swap.share:.1%} of the weight" if self.weighted else rows(swap.weight)
        if self.task.is_quadratic:
            advice = f"Where you would say {swap.action:.4g}, {swap.replacement:.4g} instead"
        else:
            some = " at some predictions" if self.per == "prediction" else ""
            advice = f"Where you would {swap.action!r}, {swap.replacement!r} instead{some}"
        return f"{advice}: saves {swap.saves:.2%} of the stakes, on {where}."

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line.strip())}</p>" for line in str(self).split("\n"))


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
    r"""What trusting the forecast cost in one decision, and which change of habit would have saved it.

    Somebody took, for each row, the action that is best if the prediction is right. In hindsight: "wherever I
    did this, I should have done that". Swap regret is what the best such rules would have saved, and
    ``best_swap`` is them.

    0 is perfect; never more than 1, as a share of what is at stake.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1]; none with a Sample: ``swap_regret(sample, task=task)``.
    task : DecisionTask
        The decision.
    per : {"action", "prediction"}
        "action": a rule can only say what to do in place of an action. "prediction": it can say so for each
        distinct prediction, which saves at least as much; where all predictions are distinct, hindsight then
        knows every outcome.
    response : object with a method ``probabilities(p)``, optional
        How somebody acts who does not take the best action at p: the probability of each of ``task.actions``,
        of shape (n, k), such as a `RoundingPolicy`. The regret is the expected one.
    sample_weight : array_like of shape (n,), optional
        How much each row counts.
    pos_label : object, optional
        Which label is the event, where labels are not 0 and 1.

    Returns
    -------
    SwapRegret

    Notes
    -----
    With r the response, and E the mean over rows and over the response's own randomness,

    .. math:: \sum_a \max_b \mathrm{E}[(U(b,y) - U(a,y)) 1\{r = a\}]
        \quad\text{or}\quad \mathrm{E}[\max_b (1-q) U(b,0) + q U(b,1)] - \mathrm{E}[U(r, y)],

    per action or per prediction, q being the frequency of the event at each distinct prediction (the one that
    the response is given, not what it may round it to). Both are divided by ``task.scale``. For the best
    response the second is the regret curve integrated against ``task.mixture()``, and at most CDL. For a quadratic
    task every distinct prediction is an action of its own, and both are :math:`\mathrm{E}[(p - q)^2]`.

    O(n log n), and O(k) for each distinct prediction with a `response`. On a compressed sample the rows of a cell
    are taken to act on the mean of their predictions: that changes the action of those alone whose cell
    a threshold cuts, and per prediction only cells are told apart.

    References
    ----------
    arXiv:2605.17749, Definition 4.4 (for random responses) and Theorem 4.2 (what rounding guarantees).
    Foster, Vohra (1997), "Calibrated learning and correlated equilibrium", doi:10.1006/game.1997.0595.

    Examples
    --------
    >>> import brolly
    >>> task = brolly.DecisionTask.from_costs(false_positive=10, false_negative=40, actions=("wait", "treat"))
    >>> r = brolly.swap_regret([0, 0, 0, 0, 0, 0, 1, 0], [0.1, 0.1, 0.3, 0.3, 0.3, 0.3, 0.3, 0.9], task)
    >>> r.value, r.in_units, r.best_swap
    (0.03125, 1.25, {'treat': 'wait'})
    >>> print(r)
    Swapping actions in hindsight saves 3.12% of the stakes (1.25 per row) on 8 rows.
      Where you would 'treat', 'wait' instead: saves 3.12% of the stakes, on 6 rows.
    """
    if isinstance(y_prob, DecisionTask):
        raise InputError("y_prob is a task: with a Sample, pass it by name, swap_regret(sample, task=task)")
    if not isinstance(task, DecisionTask):
        raise InputError(f"task must be a DecisionTask; it is {task!r}")
    if per not in ("action", "prediction"):
        raise InputError(f"per must be 'action' or 'prediction'; it is {per!r}")
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    if task.is_quadratic:
        value, swaps = _quadratic(sample, response)
    else:
        swaps = _swaps(_masses(sample._distinct_table(), task, response, per), task, per, sample.total_weight)
        value = math.fsum(swap.saves for swap in swaps)
    weights = sample.sample_weight
    weighted = weights is not None and (sample.counts is None or not np.array_equal(weights, sample.counts))
    return SwapRegret(
        value=value, in_units=value * task.scale, swaps=swaps, per=per, task=task, n=sample.n, weighted=weighted
    )


def _quadratic(sample: Sample, response: Response | None) -> tuple[float, tuple[Swap, ...]]:
    """Each distinct prediction is an action, best swapped for its frequency."""
    if response is not None:
        raise InputError(
            "response needs a task with finitely many actions; a quadratic task has every number in [0, 1]"
        )
    table = sample._distinct_table()
    weight = table.negative + table.positive
    best = table.positive / weight
    saves = weight * (table.prob - best) ** 2 / sample.total_weight
    first = np.argsort(-saves, kind="stable")[:_SHOWN]
    columns = (column[first].tolist() for column in (table.prob, best, saves, weight))
    swaps = tuple(
        Swap(action=p, replacement=q, saves=saved, in_units=saved, weight=w, share=w / sample.total_weight)
        for p, q, saved, w in zip(*columns, strict=True)
        if saved > 0
    )
    return float(saves.sum()), swaps


def _masses(table: DistinctTable, task: DecisionTask, response: Response | None, per: Per) -> Floats:
    """The weight without and with the event by action taken (and, per prediction, by the action that is best there)."""
    k = len(task.actions)
    mass = np.zeros((k, k if per == "prediction" else 1, 2))
    for start in range(0, len(table.prob), _BLOCK):
        block = slice(start, start + _BLOCK)
        outcomes = np.stack([table.negative[block], table.positive[block]], axis=1)
        best = task.best_index(outcomes[:, 1] / outcomes.sum(axis=1)) if per == "prediction" else 0
        group = np.broadcast_to(best, len(outcomes))
        if response is None:
            np.add.at(mass, (task.best_index(table.prob[block]), group), outcomes)
            continue
        taken = _asked(response, table.prob[block], task)
        for g in range(mass.shape[1]):
            mass[:, g] += (taken * (group == g)[:, None]).T @ outcomes
    return mass


def _asked(response: Response, p: Floats, task: DecisionTask) -> Floats:
    """What a response does at these predictions, checked."""
    if not callable(getattr(response, "probabilities", None)):
        raise InputError(f"response must be an object with a method probabilities(p); it is {response!r}")
    theirs = getattr(response, "task", task)
    if isinstance(theirs, DecisionTask) and theirs.actions != task.actions:
        raise InputError(f"response must choose among the task's actions {task.actions}; its task has {theirs.actions}")
    taken = as_numbers(response.probabilities(p), "response.probabilities")
    if taken.shape != (len(p), len(task.actions)):
        raise InputError(
            f"response.probabilities must give shape {(len(p), len(task.actions))}: a row for each prediction, a "
            f"column for each action; it gives {taken.shape}"
        )
    bad = np.flatnonzero(~((taken >= 0).all(axis=1) & (np.abs(taken.sum(axis=1) - 1) <= _SURE)))
    if bad.size:
        rule = "response.probabilities must be probabilities that add up to 1"
        raise InputError.from_offenders(rule, bad.size, f"at p = {p[bad[0]]}", taken[bad[0]].tolist())
    return taken


def _swaps(mass: Floats, task: DecisionTask, per: Per, total: float) -> tuple[Swap, ...]:
    """For each action taken its best replacement, or that of each group; those that save anything, best first."""
    payoffs = task.matrix
    change = payoffs[None] - payoffs[:, None]  # from action a to action b, by outcome
    # Shares, not weights: heavy rows times large payoffs would be too large for a double.
    terms = (mass / total)[:, :, None] * change[:, None]
    gain = terms.sum(axis=3)
    real = gain > _ROUNDING * np.abs(terms).sum(axis=3)
    best = gain.argmax(axis=2) if per == "action" else np.broadcast_to(np.arange(mass.shape[1]), mass.shape[:2])
    found = []
    for a, g in np.ndindex(mass.shape[:2]):
        if real[a, g, b := best[a, g]]:
            saved, weight = float(gain[a, g, b]), float(mass[a, g].sum())
            found.append(
                Swap(
                    action=task.actions[a],
                    replacement=task.actions[b],
                    saves=saved / task.scale,
                    in_units=saved,
                    weight=weight,
                    share=weight / total,
                )
            )
    return tuple(sorted(found, key=lambda swap: -swap.saves))
