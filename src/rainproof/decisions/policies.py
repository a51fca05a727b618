"""The policy that the guarantee is about: round the probability reproducibly, then take the best
action there.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core import validation
from rainproof.core.arrays import Floats, Ints, available_threads, freeze, run_in_threads
from rainproof.core.cells import LARGEST_GRID, Rounding, check_grid, check_rounding, split
from rainproof.core.files import Saved, check_document, document
from rainproof.core.piecewise import PiecewiseMap, checked_probabilities
from rainproof.core.result import Result
from rainproof.core.sample import Sample, as_sample
from rainproof.core.validation import ColumnNames
from rainproof.decisions._rounding import (
    choose,
    key_of,
    name_bytes,
    name_objects,
    name_text,
    uniforms,
)
from rainproof.decisions.tasks import (
    CaseTask,
    DecisionTask,
    as_finite,
    as_two_actions,
    check_task,
    expected_gain,
)
from rainproof.errors import InputError

Words: TypeAlias = NDArray[np.uint64]

_RULE = "ids must be integers from -2**63 to 2**64 - 1, or text that UTF-8 can encode"
_HINTS = {
    "f": "floats are not reliable ids; use .astype('int64') or .astype(str)",
    "b": "two values cannot identify rows",
    "M": "use .astype(str)",
    "m": "use .astype(str)",
}


def as_ids(ids: ArrayLike) -> NDArray[Any]:
    """Return ids as an array of integers, text or objects; of a list as objects, as NumPy would
    unify their types.
    """
    validation.refuse_masked(ids, "ids")
    array = validation.one_column(
        np.asarray(ids, None if hasattr(ids, "__array__") else np.object_)
    )
    if array.ndim != 1:
        raise InputError(f"ids must be one-dimensional; its shape is {array.shape}")
    if array.dtype.kind not in "iuUSTO":
        hint = _HINTS.get(array.dtype.kind)
        raise InputError(
            f"ids must be integers or text; they are of type {array.dtype}{f' ({hint})' if hint else ''}"
        )
    return array


def names(ids: NDArray[Any]) -> Words | None:
    """Return the number x of each id (see `rainproof.decisions._rounding`); None if an id has none."""
    kind = ids.dtype.kind
    if kind in "iu":
        wide = np.ascontiguousarray(ids, np.int64 if kind == "i" else np.uint64)
        return wide.view(np.uint64)
    words = np.empty(len(ids), np.uint64)
    if kind in "US":  # text of one width is a matrix of characters
        native = np.ascontiguousarray(ids, ids.dtype.newbyteorder("="))
        good = (
            name_text(native.view(np.uint32).reshape(len(ids), -1), words)
            if kind == "U"
            else name_bytes(native.view(np.uint8).reshape(len(ids), -1), words)
        )
    else:
        good = name_objects(ids.tolist(), words)
    return words if good else None


def explain_ids(ids: NDArray[Any]) -> InputError | None:
    """Return the error for the ids that have no number, if any; slow, as it checks one at a time."""
    one = np.empty(1, np.uint64)
    bad = [row for row, value in enumerate(ids) if not name_objects([value], one)]
    if not bad:
        return None
    return InputError.from_offenders(_RULE, len(bad), f"ids[{bad[0]}]", repr(ids[bad[0]]))


class Selection(Result):
    """Which cases to act on where not all can be.

    Attributes
    ----------
    action : ndarray of str
        The action of each case.
    wanted : int
        The number of cases that would be acted on without a limit.
    acted : int
        The number of cases that are acted on.
    one_more : float
        What acting on one more case would gain, in the units of the task, if its probability is
        right: the first one that is left out. 0 if there is none.
    """

    action: NDArray[Any]
    wanted: int
    acted: int
    one_more: float


def decide(
    p: ArrayLike,
    task: DecisionTask,
    ids: ArrayLike | None = None,
    *,
    capacity: float | None = None,
    seed: int = 0,
) -> Selection:
    """Decide each case on its probability as it is, where at most `capacity` of them can be acted
    on.

    Acted on are the cases with the largest expected gain of the second action over the first; for a
    task from costs ``p * false_negative - (1 - p) * false_positive``. Cases where the first action
    is best are never among them: with enough capacity this is ``task.best_response(p)``. A lottery
    decides between equal gains.

    Explained in docs/guide/capacity.md.

    Parameters
    ----------
    p : array_like of shape (n,)
        Probabilities, in [0, 1]: all cases that compete for the capacity, such as those of a day.
    task : DecisionTask
        The decision, with two actions; its costs may be those of each case.
    ids : array_like of shape (n,), optional
        The id of each case: integers or text, as for `RoundingPolicy`. Required with `capacity`:
        the lottery draws a number from id and seed, so it does not depend on the order of the
        cases.
    capacity : int or float, optional
        The number of cases that can be acted on, or their share, below 1 (default: all).
    seed : int
        From 0 to 2**64 - 1. Another seed draws the lottery anew.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import rainproof
    >>> task = rainproof.DecisionTask.from_costs(false_positive=5, false_negative=[20, 100, 500, 40])
    >>> found = rainproof.decisions.decide([0.9, 0.3, 0.05, 0.1], task, ids=[1, 2, 3, 4], capacity=2)
    >>> found.action.tolist(), found.wanted, round(found.one_more, 2)
    (['wait', 'act', 'act', 'wait'], 3, 17.5)
    """
    two = as_two_actions(check_task(task), "decide")
    task._check_aligned(("p", p), ("ids", ids))
    prob = checked_probabilities(p).astype(np.float64)
    acts = two.best_index(prob) == two.order[-1]
    one_more, wanted = 0.0, int(acts.sum())
    if capacity is not None:
        most = places(capacity, len(prob))
        if ids is None:
            raise InputError(
                "ids is missing: with a capacity, a lottery by id decides between equal gains"
            )
        named = as_ids(ids)
        validation.check_same_length("p", prob, "ids", named)
        words = names(named)
        if words is None:
            raise cast("InputError", explain_ids(named))
        gain, some = expected_gain(two, prob), np.flatnonzero(acts)
        # Not the numbers by which a policy of this seed rounds: those rounded up have low ones.
        draw = uniforms(words, key_of(check_seed(seed) ^ _LOTTERY))
        line = some[np.lexsort((draw[some], -gain[some]))]
        acts[line[most:]] = False
        one_more = float(gain[line[most]]) if wanted > most else 0.0
    action = np.array(two.actions)[np.where(acts, two.order[-1], two.order[0])]
    return Selection(action=action, wanted=wanted, acted=int(acts.sum()), one_more=one_more)


def places(capacity: float, n: int) -> int:
    """The number of n cases that a capacity, a share below 1 or a number, allows to act on."""
    most = validation.check_capacity(capacity)
    return int(most if most >= 1 else most * n + _ROUNDING * n)


_LOTTERY = 2**64 - 1  # which changes every bit of a seed
_ROUNDING = 1e-12  # losses within this count as equal


class GridChoice(Result):
    """The largest loss of any decision on predictions rounded to each grid, and the grid with the
    smallest.

    Attributes
    ----------
    grid : int
        The grid m with the smallest loss (the coarsest, if there are several).
    loss : float
        The loss there: no decision lost a larger share of what is at stake on these rows.
    bound : float
        The paper's bound there.
    grids : ndarray of int
        The grids: 2, 4, 8 and so on.
    losses : ndarray of float
        CDL(S_m) for each grid: the largest expected swap regret of any decision maker who rounds to
        1/m, exactly.
    bounds : ndarray of float
        The paper's bound for each grid, ``2 SCDL_m + 2/m`` (at most 1).
    n : int
        The number of rows.
    """

    _kind = "choose_grid"
    grid: int
    loss: float
    bound: float
    grids: NDArray[np.int64]
    losses: Floats
    bounds: Floats
    n: int

    def __str__(self) -> str:
        lines = [f"{'grid':>8}  {'loss':>8}  {'bound':>8}"]
        for m, loss, bound in zip(
            self.grids.tolist(), self.losses.tolist(), self.bounds.tolist(), strict=True
        ):
            lines.append(f"{m:>8}  {loss:8.4f}  {bound:8.4f}{'  <- best' * (m == self.grid)}")
        return "\n".join(lines)


def choose_grid(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    max_grid: int | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
) -> GridChoice:
    r"""Choose the grid to round predictions to before acting on them.

    Coarse rounding adds error; after fine rounding each value has too few rows for its event rate
    to be close to it. For each grid the loss is computed exactly: the largest expected loss on
    these rows of any decision maker who rounds to it (at random, without bias) and takes the best
    action there. The best grid has the smallest loss.

    Explained in docs/guide/policy.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1].
    max_grid : int, optional
        The finest grid to try, a power of two (default: the first of at least :math:`4 \sqrt n` and
        64, where n is ``Sample.effective_n``; at most the grid of a compressed sample).
    sample_weight : array_like of shape (n,), optional
        The weight of each row (default: all equal).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    base_rate : float, optional
        The event rate of the population, if these rows have another one (see `Sample`).

    Returns
    -------
    GridChoice

    Notes
    -----
    :math:`S_m` is the sample with its predictions rounded to :math:`j/m`; it gives
    :math:`\mathrm{CDL}(S_m) = \sup_Z \mathrm{SR}_Z \le 2\,\mathrm{SCDL}_m + 2/m`, over all tasks Z with payoffs in
    [0, 1]. The left side is twice the concave envelope of the regret curve at 1/2, and often several times
    smaller than the right.

    *The finest grid.* Beyond :math:`m = 4 \sqrt n` rounding costs at most :math:`2/m \le 1/(2\sqrt
    n)`, which is less than the variation of the loss by chance, so finer grids gain nothing.
    Meanwhile the loss of the rounded rows approaches that of the rows themselves, which is far from
    0 even for a perfectly calibrated forecaster: hindsight knows the outcome of every prediction
    that occurs once.

    *Limits.* The loss is that of these rows, and the grid was chosen on them. For K grids fixed in
    advance, the loss in the population is, with probability 1 - d, for all of them at once at most
    :math:`\mathrm{CDL}(S_m) + \sqrt{2 \ln(K/d) / n}` (with `Sample.effective_n` for n). `guarantee`
    has a sharper bound. Regret compares with the best that can be done knowing only the rounded
    prediction: a coarse grid can have a small loss because it carries little information.

    One pass over the rows and O(m) for each grid. A compressed sample gives the same result as its
    rows, on the grids up to its own.

    References
    ----------
    arXiv:2605.17749, Theorem 4.2 (the bound). The exact loss of each grid is new here.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(300)
    >>> y = rng.random(300) < p**1.5
    >>> choice = rainproof.choose_grid(y, p)
    >>> choice
    GridChoice(grid=16, loss=0.0456906, bound=0.161056, n=300)
    >>> print(choice)
        grid      loss     bound
           2    0.1255    1.0000
           4    0.0783    0.5000
           8    0.0484    0.2643
          16    0.0457    0.1611  <- best
          32    0.0496    0.1062
          64    0.0687    0.0978
         128    0.0943    0.1070
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    finest = _finest(sample) if max_grid is None else check_grid(max_grid, "max_grid", sample.grid)
    grids = [2**k for k in range(1, finest.bit_length())]
    found = [sample.on_grid(m) for m in grids]
    losses, bounds = np.array([one.loss for one in found]), np.array([one.bound for one in found])
    at = int(np.flatnonzero(losses <= losses.min() + _ROUNDING)[0])
    return GridChoice(
        grid=grids[at],
        loss=float(losses[at]),
        bound=float(bounds[at]),
        grids=np.array(grids, np.int64),
        losses=losses,
        bounds=bounds,
        n=sample.n,
    )


def _finest(sample: Sample) -> int:
    """Return the first grid whose rounding costs less than half of what chance does, at most that
    of the sample.
    """
    enough = 1 << math.ceil(math.log2(4 * math.sqrt(sample.effective_n)))
    return min(max(64, enough), sample.grid or LARGEST_GRID)


_BLOCK = 1 << 15  # rows per block: their temporary arrays stay in the second-level cache
_ROWS_PER_THREAD = 1 << 18  # fewer take less time than starting a thread
_VERSION = 1
_KEYS = ("grid", "rounding", "seed", "task")
_NAMES = ColumnNames(prob="p")
_NONE = np.zeros(0, np.uint64)


def check_seed(seed: int) -> int:
    """Check the seed of roundings and lotteries, and return it."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise InputError(f"seed must be an integer from 0 to 2**64 - 1; it is {seed!r}")
    return int(seed)


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
    This is the paper's :math:`r^*_Z \circ \tau_m`. A probability in the cell ``[k/m, (k+1)/m)`` is rounded up
    exactly if ``u < f`` with ``f = m p - k`` and ``u`` a 53-bit uniform number computed from id and seed by a fixed
    hash; docs/reference/formats.md defines it for implementations in other languages. So ``E[p'] = p`` exactly; below
    ``1/m``, where doubles are finer than 53 bits of a cell, up to ``2**-53 / m``.

    Rows with the same id share their uniform number. The bound on the expected loss still holds;
    the actual loss is close to it with high probability (Theorem 4.4) only if ids differ. The hash
    is not secret: people who can choose their own id and know the seed can choose how they are
    rounded.

    References
    ----------
    arXiv:2605.17749, Section 4: Definition 4.1 (rounding), Theorem 4.2 (the bound), Theorem 4.4 (with high
    probability).

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
    _choices: NDArray[Any]
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
        points = np.arange(size + 1) / size
        choices = task._choices(points)
        freeze(points, choices)
        values = (task, size, rounding, int(seed), recalibration, points, choices, key_of(seed))
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
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
        return self._apply(p, ids, self._points)

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
            self.recalibration.warn_outside(
                self.recalibration.outside(prob), len(prob), stacklevel=3
            )
        if capacity is not None or isinstance(self.task, CaseTask):
            self.task._check_aligned(("p", p))  # of which the rounded ones have no labels
            return decide(
                self.round(p, ids), self.task, ids, capacity=capacity, seed=self.seed
            ).action
        return self.task._decode(self._apply(p, ids, self._choices))

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
        return self._apply(p, ids, self._choices)

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
        task = (
            self.task if isinstance(self.task, CaseTask) else as_finite(self.task, "probabilities")
        )
        task._check_aligned(("p", p))
        prob, cell, up = self._rounded(checked_probabilities(p))
        shares = np.zeros((len(prob), len(task.actions)))
        rows = np.arange(len(prob))
        shares[rows, task.best_index(self._points[cell])] = 1 - up
        shares[rows, task.best_index(self._points[np.minimum(cell + 1, self.grid)])] += up
        return shares

    def _rounded(self, p: NDArray[Any]) -> tuple[Floats, Ints, Floats]:
        """The probabilities that are rounded, the cell of each, and the share of it that is rounded
        up.
        """
        prob: Floats = (
            p.astype(np.float64) if self.recalibration is None else self.recalibration.apply(p)
        )
        return prob, *split(prob, self.grid, soft=self.rounding == "soft")

    def to_dict(self) -> dict[str, Any]:
        """Return the policy in built-in types, ready for JSON; `from_dict` reads it."""
        if isinstance(self.task, CaseTask):
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
        return document("policy", _VERSION, content)

    @classmethod
    def from_dict(cls, data: Any) -> RoundingPolicy:
        """Read the policy that `to_dict` wrote."""
        data = check_document(
            data, "policy", version=_VERSION, keys=_KEYS, optional=("recalibration",)
        )
        task = DecisionTask.from_dict(data["task"])
        recalibration = (
            PiecewiseMap.from_dict(data["recalibration"]) if "recalibration" in data else None
        )
        grid = check_grid(data["grid"])
        return cls(
            task, grid, rounding=data["rounding"], seed=data["seed"], recalibration=recalibration
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # computing the tables is faster than sending them
        return RoundingPolicy.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        first = "" if self.recalibration is None else ", recalibration=..."
        return f"RoundingPolicy({self.task!r}, grid={self.grid}, rounding={self.rounding!r}, seed={self.seed}{first})"

    def __str__(self) -> str:
        first = "" if self.recalibration is None else "recalibrated, then "
        how = "at random to a neighbouring" if self.rounding == "soft" else "down to a"
        return (
            f"{self.task}\nProbabilities are {first}rounded {how} multiple of 1/{self.grid} first."
        )

    def _apply(self, p: ArrayLike, ids: ArrayLike | None, table: NDArray[Any]) -> NDArray[Any]:
        """Look up in the table what each p is rounded to, block by block, on several threads."""
        validation.check_aligned(("p", p), ("ids", ids))
        prob = (
            validation.as_probabilities(p, "p")
            if self.recalibration is None
            else self.recalibration(p)
        )
        named = self._ids(ids, prob)
        out = np.empty(len(prob), table.dtype)
        threads = max(1, min(available_threads(), len(prob) // _ROWS_PER_THREAD))
        edges = [len(prob) * part // threads for part in range(threads + 1)]

        def work(part: int) -> bool:
            for start in range(edges[part], edges[part + 1], _BLOCK):
                rows = slice(start, min(start + _BLOCK, edges[part + 1]))
                x = _NONE if named is None else names(named[rows])
                plain = np.ascontiguousarray(prob[rows], np.float64)
                if x is None or not choose(
                    plain, x, self._key, self.grid, named is not None, table, out[rows]
                ):
                    return False
            return True

        if not run_in_threads(work, threads):
            error = validation.explain_probabilities(prob, _NAMES) or explain_ids(
                cast("NDArray[Any]", named)
            )
            assert error is not None
            raise error
        return out

    def _ids(self, ids: ArrayLike | None, prob: NDArray[Any]) -> NDArray[Any] | None:
        """Check the ids; return None for hard rounding, which does not use them."""
        if ids is None:
            if self.rounding == "soft":
                raise InputError(
                    "ids is missing: soft rounding needs an id for each row, so that the same row gets the same "
                    "action again (np.arange(len(p)) if rows never change their order)"
                )
            return None
        array = as_ids(ids)
        validation.check_same_length("p", prob, "ids", array)
        return array if self.rounding == "soft" else None


def _grid_size(
    grid: int | None, sample: Sample | None, rounding: Rounding, recalibration: PiecewiseMap | None
) -> int:
    if (grid is None) == (sample is None):
        raise InputError(
            "grid is missing: pass grid, or sample=rainproof.Sample(y_true, y_prob) to choose it for past outcomes"
            if grid is None
            else "grid and sample must not both be given: a sample is used only to choose the grid"
        )
    if grid is not None:
        return check_grid(grid)
    if not isinstance(sample, Sample):
        raise InputError(f"sample must be a Sample; it is {type(sample).__name__}")
    if rounding == "hard":
        raise InputError("grid is missing: it can be chosen for soft rounding only")
    return choose_grid(sample if recalibration is None else sample.map(recalibration)).grid


class PolicyCost(Result):
    """The expected cost per case of a policy on these rows, beside that of simpler ways to act.

    The cost of an action is its payoff below that of the best action for the outcome: for a task
    from costs, the cost of a false alarm or a miss. The numbers are those of these rows: estimates
    for new ones.

    Attributes
    ----------
    policy : float
        Of the policy, on average over its random rounding.
    unrounded : float
        Of the best action at each probability as it is (recalibrated first, if the policy does so).
    always : dict of str to float
        Of each action if it is taken in every case.
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
    cost = (task.matrix.max(axis=0) - task.matrix).T  # by outcome and action
    paid = share @ cost  # by prediction and action
    unrounded, random = without_rounding(policy, table.prob)
    outcomes = np.array([table.negative.sum(), table.positive.sum()]) / total
    return PolicyCost(
        policy=float((policy.probabilities(table.prob) * paid).sum()),
        unrounded=float(np.take_along_axis(paid, unrounded[:, None], axis=1).sum()),
        always=dict(zip(task.actions, (outcomes @ cost).tolist(), strict=True)),
        random_share=float(share[random].sum()),
    )


def without_rounding(
    policy: RoundingPolicy, p: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the best action at each probability as it is, and whether the rounding decides between
    two actions.
    """
    task = as_finite(policy.task, "without_rounding")
    prob, cell, up = policy._rounded(p)
    below, above = policy._choices[cell], policy._choices[np.minimum(cell + 1, policy.grid)]
    return task.best_index(prob), (up > 0) & (below != above)
