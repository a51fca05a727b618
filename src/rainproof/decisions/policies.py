"""The policy that the guarantee is about: round the probability reproducibly, then take the best
action there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.alignment import check_aligned, check_same_length
from rainproof.core.arrays import Floats, Ints, available_threads, freeze, run_in_threads
from rainproof.core.cells import Rounding, check_grid, check_rounding, split
from rainproof.core.columns import ColumnNames, explain_probabilities
from rainproof.core.conversion import as_probabilities
from rainproof.core.documents import Saved, check_document, document
from rainproof.core.piecewise import PiecewiseMap, checked_probabilities
from rainproof.core.result import Result
from rainproof.core.sample import Sample
from rainproof.decisions._rounding import choose, key_of
from rainproof.decisions.capacity import decide
from rainproof.decisions.grid_choice import choose_grid
from rainproof.decisions.ids import as_ids, check_seed, explain_ids, id_numbers
from rainproof.decisions.tasks import DecisionTask, as_finite, as_listed, check_task
from rainproof.errors import InputError

_BLOCK = 1 << 15  # rows that are rounded together: their arrays stay in the second-level cache
_ROWS_PER_THREAD = 1 << 18  # fewer rows take less time than the start of a thread
_FORMAT_VERSION = 1  # of the files that hold a policy (docs/reference/formats.md)
_NAMES = ColumnNames(prob="p")
_NO_IDS = np.zeros(0, np.uint64)


@dataclass(frozen=True, init=False, slots=True, eq=False, repr=False)
class RoundingPolicy(Saved, Result):
    r"""Round each probability to a grid, then take the best action there: a policy with a bounded
    expected loss.

    Acting on the raw probabilities can lose a lot in hindsight, however well they are calibrated.
    The expected loss of this policy is at most ``2 SCDL_m + 2/m`` of what is at stake
    (`DecisionTask.scale`), whatever the task, compared with the best swap of actions in hindsight.
    The rounding is random, but reproducible: it depends only on the row's id and the seed, so the
    same row gets the same action on another day, in another order and on another machine.

    Parameters
    ----------
    task : DecisionTask
        The decision.
    grid : int, optional
        The grid m: a power of two, up to 2**20 (default: chosen for `sample`).
    sample : Sample, optional
        Past predictions and outcomes to choose `grid` for, by `rainproof.choose_grid` (soft
        rounding only). Either `grid` or `sample` is required, as no grid is good for all
        predictions.
    rounding : {"soft", "hard"}
        "soft" rounds to one of the two neighbouring multiples of ``1/m``, at random, so that the
        mean is ``p``. "hard" rounds down, without randomness and ids; its bound is that of the
        hard-binned measure, and two close predictions can be treated differently.
    seed : int
        From 0 to 2**64 - 1. Another seed rounds all rows anew, independently.
    recalibration : PiecewiseMap, optional
        A map that probabilities go through before they are rounded, such as ``Recalibrator().fit(p,
        y).map_``; those of `sample` too. All methods take the original probabilities.

    Notes
    -----
    This is the paper's :math:`r^*_Z \circ \tau_m`. A probability in the cell ``[k/m, (k+1)/m)`` is
    rounded up exactly if ``u < f`` with ``f = m p - k`` and ``u`` a 53-bit uniform number computed
    from id and seed by a fixed hash; docs/reference/formats.md defines it for implementations in
    other languages. So ``E[p'] = p`` exactly; below ``1/m``, where doubles are finer than 53 bits
    of a cell, up to ``2**-53 / m``.

    Rows with the same id share their uniform number. The bound on the expected loss still holds;
    the actual loss is close to it with high probability (Theorem 4.4) only if ids differ. The hash
    is not secret: people who can choose their own id and know the seed can choose how they are
    rounded.

    References
    ----------
    arXiv:2605.17749, Section 4: Definition 4.1 (rounding), Theorem 4.2 (the bound), Theorem 4.4
    (with high probability).

    Examples
    --------
    >>> import rainproof
    >>> task = rainproof.DecisionTask.from_costs(false_positive=35, false_negative=65)
    >>> policy = rainproof.RoundingPolicy(task, 8, seed=7)
    >>> policy.round([0.3, 0.3, 0.3, 0.9], ids=["ann", "bob", "cyd", "dan"]).tolist()
    [0.375, 0.25, 0.25, 0.875]
    >>> policy.decide([0.3, 0.3, 0.3, 0.9], ids=["ann", "bob", "cyd", "dan"]).tolist()
    ['act', 'wait', 'wait', 'act']
    >>> policy.probabilities([0.3, 0.9]).round(3).tolist()
    [[0.6, 0.4], [0.0, 1.0]]
    """

    task: DecisionTask
    grid: int
    rounding: Rounding
    seed: int
    recalibration: PiecewiseMap | None
    _points: Floats
    _codes: NDArray[Any]
    _key: int

    def __init__(
        self,
        task: DecisionTask,
        grid: int | None = None,
        *,
        sample: Sample | None = None,
        rounding: Rounding = "soft",
        seed: int = 0,
        recalibration: PiecewiseMap | None = None,
    ) -> None:
        check_task(task)
        check_rounding(rounding)
        if recalibration is not None and not isinstance(recalibration, PiecewiseMap):
            raise InputError(
                f"recalibration must be a PiecewiseMap; it is {type(recalibration).__name__}"
            )
        size = _grid_size(grid, sample, rounding, recalibration)
        check_seed(seed)
        # Rounded probabilities are grid points: what is done at each is computed once.
        points = np.arange(size + 1) / size
        codes = task.action_codes(points)
        freeze(points, codes)
        fields = {
            "task": task,
            "grid": size,
            "rounding": rounding,
            "seed": int(seed),
            "recalibration": recalibration,
            "_points": points,
            "_codes": codes,
            "_key": key_of(seed),
        }
        for name, value in fields.items():  # the class is frozen
            object.__setattr__(self, name, value)

    def round(self, p: ArrayLike, ids: ArrayLike | None = None) -> Floats:
        """Return the rounded probabilities, multiples of ``1/m``.

        Parameters
        ----------
        p : array_like of shape (n,)
            Probabilities, in [0, 1].
        ids : array_like of shape (n,), optional
            The id of each row: integers (of any type, from -2**63 to 2**64 - 1) or text. An integer
            and its decimal text, 5 and "5", are the same id. Required for soft rounding.
        """
        return self._look_up(p, ids, self._points)

    def decide(
        self, p: ArrayLike, ids: ArrayLike | None = None, *, capacity: float | None = None
    ) -> NDArray[Any]:
        """Return the best action at each rounded probability, by name.

        The action depends only on (id, seed, p): not on the order of the rows, on other rows, or on
        the machine. With a `capacity` it depends on the other rows too.

        Parameters
        ----------
        p : array_like of shape (n,)
            Probabilities, in [0, 1].
        ids : array_like of shape (n,), optional
            The id of each row, as for `round`. There is no default, as only the caller knows what
            identifies a case that comes again; the row number, ``np.arange(len(p))``, will do if
            rows never change their order.
        capacity : int or float, optional
            For how many rows, or which share of them, the second of two actions can be taken: where
            it gains most at the rounded probabilities (see `rainproof.decisions.decide`).

        Returns
        -------
        ndarray of str
            For a quadratic task, the rounded probabilities themselves.

        Warns
        -----
        ExtrapolationWarning
            If more than 1% of `p` lie outside of the predictions that the policy's recalibration
            was fitted to.
        """
        if self.recalibration is not None:
            prob = checked_probabilities(p)
            outside = self.recalibration.outside(prob)
            self.recalibration.warn_outside(outside, len(prob), stacklevel=3)
        if capacity is None and not self.task.per_case:
            return self.task.decode(self._look_up(p, ids, self._codes))
        self.task.check_aligned(("p", p))  # here: the rounded ones have no labels
        rounded = self.round(p, ids)
        return decide(rounded, self.task, ids, capacity=capacity, seed=self.seed).action

    def decide_index(self, p: ArrayLike, ids: ArrayLike | None = None) -> NDArray[Any]:
        """Return the index in ``task.actions`` of each action, which takes far less memory than its
        name.

        Parameters
        ----------
        p, ids : array_like of shape (n,)
            As for `decide`.

        Returns
        -------
        ndarray of uint8
            Of intp for tasks with more than 256 actions.
        """
        as_finite(self.task, "decide_index")
        return self._look_up(p, ids, self._codes)

    def probabilities(self, p: ArrayLike) -> Floats:
        """Return the probability of each action over the random rounding, whatever the ids and the
        seed.

        Parameters
        ----------
        p : array_like of shape (n,)
            Probabilities, in [0, 1].

        Returns
        -------
        ndarray of shape (n, k)
            One column for each of ``task.actions``. Each row sums to 1.
        """
        task = as_listed(self.task, "probabilities")
        task.check_aligned(("p", p))
        cell, up = self._split(self._recalibrated(checked_probabilities(p)))
        shares = np.zeros((len(cell), len(task.actions)))
        row = np.arange(len(cell))
        # Both ends of a cell may have the same action, which then gets the whole.
        shares[row, task.best_index(self._points[cell])] = 1 - up
        shares[row, task.best_index(self._points[self._next(cell)])] += up
        return shares

    def without_rounding(self, p: ArrayLike) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the index of the best action at each probability, and where the rounding matters.

        Parameters
        ----------
        p : array_like of shape (n,)
            Probabilities, in [0, 1].

        Returns
        -------
        (ndarray of int, ndarray of bool)
            The index in ``task.actions`` of the action without rounding, and whether the rounding
            decides between two actions.
        """
        task = as_finite(self.task, "without_rounding")
        prob = self._recalibrated(checked_probabilities(p))
        cell, up = self._split(prob)
        random = (up > 0) & (self._codes[cell] != self._codes[self._next(cell)])
        return task.best_index(prob), random

    def _recalibrated(self, prob: NDArray[Any]) -> Floats:
        """Return the probabilities that are rounded, of predictions that were checked already."""
        if self.recalibration is None:
            return prob.astype(np.float64)
        return self.recalibration.apply(prob)

    def _split(self, prob: Floats) -> tuple[Ints, Floats]:
        """Return the cell of each probability, and the share of it that is rounded up."""
        return split(prob, self.grid, soft=self.rounding == "soft")

    def _next(self, cell: Ints) -> Ints:
        """Return the grid point above each cell; the last cell holds 1 alone, which stays."""
        return np.minimum(cell + 1, self.grid)

    def to_dict(self) -> dict[str, Any]:
        """Return the policy in built-in types, ready for JSON; `from_dict` reads it."""
        if self.task.per_case:
            raise InputError(
                "a policy with costs of each case cannot be stored: they go with these cases only"
            )
        content = {
            "grid": self.grid,
            "rounding": self.rounding,
            "seed": self.seed,
            "task": self.task.to_dict(),
        }
        if self.recalibration is not None:
            content["recalibration"] = self.recalibration.to_dict()
        return document("policy", _FORMAT_VERSION, content)

    @classmethod
    def from_dict(cls, data: Any) -> RoundingPolicy:
        """Read the policy that `to_dict` wrote."""
        data = check_document(
            data,
            "policy",
            version=_FORMAT_VERSION,
            keys=("grid", "rounding", "seed", "task"),
            optional=("recalibration",),
        )
        recalibration = None
        if "recalibration" in data:
            recalibration = PiecewiseMap.from_dict(data["recalibration"])
        return cls(
            DecisionTask.from_dict(data["task"]),
            check_grid(data["grid"]),
            rounding=data["rounding"],
            seed=data["seed"],
            recalibration=recalibration,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # The tables of the grid are not sent: to compute them again takes less time.
        return RoundingPolicy.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        recalibration = "" if self.recalibration is None else ", recalibration=..."
        return (
            f"RoundingPolicy({self.task!r}, grid={self.grid}, rounding={self.rounding!r}, "
            f"seed={self.seed}{recalibration})"
        )

    def __str__(self) -> str:
        steps = "rounded down to a"
        if self.rounding == "soft":
            steps = "rounded at random to a neighbouring"
        if self.recalibration is not None:
            steps = f"recalibrated, then {steps}"
        return f"{self.task}\nProbabilities are {steps} multiple of 1/{self.grid} first."

    def _look_up(self, p: ArrayLike, ids: ArrayLike | None, table: NDArray[Any]) -> NDArray[Any]:
        """Return the entry of the table, one for each grid point, that each p is rounded to."""
        check_aligned(("p", p), ("ids", ids))
        if self.recalibration is None:
            prob = as_probabilities(p, "p")
        else:
            prob = self.recalibration(p)
        case_ids = self._ids(ids, prob)
        soft = case_ids is not None
        entries = np.empty(len(prob), table.dtype)
        threads = max(1, min(available_threads(), len(prob) // _ROWS_PER_THREAD))
        first_rows = [len(prob) * part // threads for part in range(threads + 1)]

        def round_part(part: int) -> bool:
            """Round the rows of one thread; return whether their predictions and ids are valid."""
            end = first_rows[part + 1]
            for start in range(first_rows[part], end, _BLOCK):
                rows = slice(start, min(start + _BLOCK, end))
                numbers = _NO_IDS if case_ids is None else id_numbers(case_ids[rows])
                if numbers is None:
                    return False
                # The kernel checks the predictions while it rounds them.
                block = np.ascontiguousarray(prob[rows], np.float64)
                if not choose(block, numbers, self._key, self.grid, soft, table, entries[rows]):
                    return False
            return True

        # What is wrong is looked for once something is.
        if not run_in_threads(round_part, threads):
            error = explain_probabilities(prob, _NAMES)
            if error is None and case_ids is not None:
                error = explain_ids(case_ids)
            assert error is not None
            raise error
        return entries

    def _ids(self, ids: ArrayLike | None, prob: NDArray[Any]) -> NDArray[Any] | None:
        """Check the ids; return None for hard rounding, which does not use them."""
        if ids is None:
            if self.rounding == "soft":
                raise InputError(
                    "ids is missing: soft rounding needs an id for each row, so that the same row "
                    "gets the same action again (np.arange(len(p)) if rows never change their "
                    "order)"
                )
            return None
        array = as_ids(ids)
        check_same_length("p", prob, "ids", array)
        return array if self.rounding == "soft" else None


def _grid_size(
    grid: int | None, sample: Sample | None, rounding: Rounding, recalibration: PiecewiseMap | None
) -> int:
    """Return the grid of a policy: the one that is given, or the best one for a sample."""
    if grid is None and sample is None:
        raise InputError(
            "grid is missing: pass grid, or sample=rainproof.Sample(y_true, y_prob) to choose it "
            "for past outcomes"
        )
    if grid is not None and sample is not None:
        raise InputError(
            "grid and sample must not both be given: a sample is used only to choose the grid"
        )
    if grid is not None:
        return check_grid(grid)
    if not isinstance(sample, Sample):
        raise InputError(f"sample must be a Sample; it is {type(sample).__name__}")
    if rounding == "hard":
        raise InputError("grid is missing: it can be chosen for soft rounding only")
    # The grid is chosen for what will be rounded.
    if recalibration is not None:
        sample = sample.map(recalibration)
    return choose_grid(sample).grid


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class PolicyCost(Result):
    """The expected cost per case of a policy on these rows, beside that of simpler ways to act.

    The cost of an action is its payoff below that of the best action for the outcome: for a task
    from costs, the cost of a false alarm or a miss. The numbers are those of these rows: estimates
    for new ones.

    Attributes
    ----------
    policy : float
        The cost of the policy, on average over its random rounding.
    unrounded : float
        The cost of the best action at each probability (recalibrated first, if the policy does so),
        without rounding.
    always : dict of str to float
        The cost of each action if it is taken in every case.
    random_share : float
        The share of the rows (of their weight) that can get either of two actions, depending on the
        rounding.
    """

    policy: float
    unrounded: float
    always: dict[str, float]
    random_share: float


def policy_cost(policy: RoundingPolicy, sample: Sample) -> PolicyCost:
    """Compute the costs per case; rows of a compressed sample count as equal to the mean of their
    cell.
    """
    task = as_finite(policy.task, "policy_cost")
    table = sample.distinct()
    total = table.negative.sum() + table.positive.sum()
    share = table.by_outcome() / total
    # What an action pays less than the best one for the outcome, by outcome and action.
    cost = (task.matrix.max(axis=0) - task.matrix).T
    cost_at = share @ cost  # by prediction and action
    unrounded, random = policy.without_rounding(table.prob)
    outcomes = np.array([table.negative.sum(), table.positive.sum()]) / total
    return PolicyCost(
        policy=float((policy.probabilities(table.prob) * cost_at).sum()),
        unrounded=float(np.take_along_axis(cost_at, unrounded[:, None], axis=1).sum()),
        always=dict(zip(task.actions, (outcomes @ cost).tolist(), strict=True)),
        random_share=float(share[random].sum()),
    )
