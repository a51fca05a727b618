"""The policy that the guarantee is about: round the probability reproducibly, then take the best action there."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats, freeze
from rainproof.core.atomic_write import write_atomic
from rainproof.core.grid.cells import check_grid
from rainproof.core.grid.rounded import Rounding, check_rounding, split
from rainproof.core.input.rows import ColumnNames, as_probabilities, explain_probabilities
from rainproof.core.json_file import check_document, read_json
from rainproof.core.piecewise import PiecewiseMap, checked_probabilities
from rainproof.core.sample.mapped import mapped
from rainproof.core.sample.sample import Sample
from rainproof.core.shown import Shown
from rainproof.core.threads import available_threads, run_in_threads
from rainproof.decisions._rounding import choose, key_of
from rainproof.decisions.finite_task import as_finite
from rainproof.decisions.grid import choose_grid
from rainproof.decisions.ids import as_ids, explain_ids, names
from rainproof.decisions.task import DecisionTask
from rainproof.errors import InputError

_BLOCK = 1 << 15  # rows per block: their temporary arrays stay in the second-level cache
_ROWS_PER_THREAD = 1 << 18  # fewer take less time than starting a thread
_VERSION = 1
_KEYS = ("grid", "rounding", "seed", "task")
_NAMES = ColumnNames(prob="p")
_NONE = np.zeros(0, np.uint64)


@dataclass(frozen=True, init=False, repr=False, eq=False, slots=True)
class RoundingPolicy(Shown):
    r"""Round each probability to a grid, then take the best action there: a policy with a bounded expected loss.

    Acting on the raw probabilities can lose a lot in hindsight, however well they are calibrated. The expected loss of
    this policy is at most ``2 SCDL_m + 2/m`` of what is at stake (`DecisionTask.scale`), whatever the task,
    compared with the best swap of actions in hindsight. The rounding is random, but reproducible: it depends only
    on the row's id and the seed, so the same row gets the same action on another day, in another order and on
    another machine.

    Parameters
    ----------
    task : DecisionTask
        The decision.
    grid : int, optional
        The grid m: a power of two, up to 2**20 (default: chosen for `sample`).
    sample : Sample, optional
        Past predictions and outcomes to choose `grid` for, by `rainproof.choose_grid` (soft rounding only). Either
        `grid` or `sample` is required, as no grid is good for all predictions.
    rounding : {"soft", "hard"}
        "soft" rounds to one of the two neighbouring multiples of ``1/m``, at random, so that the mean is ``p``. "hard"
        rounds down, without randomness and ids; its bound is that of the hard-binned measure, and two
        close predictions can be treated differently.
    seed : int
        From 0 to 2**64 - 1. Another seed rounds all rows anew, independently.
    recalibration : PiecewiseMap, optional
        A map that probabilities go through before they are rounded, such as ``Recalibrator().fit(p, y).map_``; those of
        `sample` too. All methods take the original probabilities.

    Notes
    -----
    This is the paper's :math:`r^*_Z \circ \tau_m`. A probability in the cell ``[k/m, (k+1)/m)`` is rounded up
    exactly if ``u < f`` with ``f = m p - k`` and ``u`` a 53-bit uniform number computed from id and seed by a fixed
    hash; docs/policy.md defines it for implementations in other languages. So ``E[p'] = p`` exactly; below
    ``1/m``, where doubles are finer than 53 bits of a cell, up to ``2**-53 / m``.

    Rows with the same id share their uniform number. The bound on the expected loss still holds; the actual loss
    is close to it with high probability (Theorem 4.4) only if ids differ. The hash is not secret: people who can
    choose their own id and know the seed can choose how they are rounded.

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
        if not isinstance(task, DecisionTask):
            raise InputError(f"task must be a DecisionTask; it is {task!r}")
        check_rounding(rounding)
        if recalibration is not None and not isinstance(recalibration, PiecewiseMap):
            raise InputError(f"recalibration must be a PiecewiseMap; it is {type(recalibration).__name__}")
        size = _grid_size(grid, sample, rounding, recalibration)
        points = np.arange(size + 1) / size
        choices = task._choices(points)
        freeze(points, choices)
        values = (task, size, rounding, _check_seed(seed), recalibration, points, choices, key_of(seed))
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def round(self, p: ArrayLike, ids: ArrayLike | None = None) -> Floats:
        """Return the rounded probabilities, multiples of ``1/m``.

        Parameters
        ----------
        p : array_like of shape (n,)
            Probabilities, in [0, 1].
        ids : array_like of shape (n,), optional
            The id of each row: integers (of any type, from -2**63 to 2**64 - 1) or text. An integer and
            its decimal text, 5 and "5", are the same id. Required for soft rounding.
        """
        return self._apply(p, ids, self._points)

    def decide(self, p: ArrayLike, ids: ArrayLike | None = None) -> NDArray[Any]:
        """Return the best action at each rounded probability, by name.

        The action depends only on (id, seed, p): not on the order of the rows, on other rows, or on
        the machine.

        Parameters
        ----------
        p : array_like of shape (n,)
            Probabilities, in [0, 1].
        ids : array_like of shape (n,), optional
            The id of each row, as for `round`. There is no default, as only the caller knows what identifies a
            case that comes again; the row number, ``np.arange(len(p))``, will do if rows never change their order.

        Returns
        -------
        ndarray of str
            For a quadratic task, the rounded probabilities themselves.
        """
        return self.task._decode(self._apply(p, ids, self._choices))

    def decide_index(
        self, p: ArrayLike, ids: ArrayLike | None = None, *, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Return the index in ``task.actions`` of each action, which takes far less memory than its name.

        Parameters
        ----------
        p, ids : array_like of shape (n,)
            As for `decide`.
        out : ndarray of shape (n,), optional
            The array to write to: contiguous, of the type below. After an error it may be partly written.

        Returns
        -------
        ndarray of uint8
            Of intp for tasks with more than 256 actions.
        """
        as_finite(self.task, "decide_index")
        return self._apply(p, ids, self._choices, out)

    def probabilities(self, p: ArrayLike) -> Floats:
        """Return the probability of each action over the random rounding, whatever the ids and the seed.

        Parameters
        ----------
        p : array_like of shape (n,)
            Probabilities, in [0, 1].

        Returns
        -------
        ndarray of shape (n, k)
            One column for each of ``task.actions``. Each row sums to 1.
        """
        task = as_finite(self.task, "probabilities")
        prob = checked_probabilities(p).astype(np.float64)
        prob = prob if self.recalibration is None else self.recalibration.apply(prob)
        cell, up = split(prob, self.grid, soft=self.rounding == "soft")
        shares = np.zeros((len(prob), len(task.actions)))
        rows = np.arange(len(prob))
        shares[rows, self._choices[cell]] = 1 - up
        shares[rows, self._choices[np.minimum(cell + 1, self.grid)]] += up
        return shares

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy as JSON, completely or not at all; `load_policy` reads it."""
        write_atomic(Path(path), json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n")

    def to_dict(self) -> dict[str, Any]:
        """Return the policy in built-in types, ready for JSON; `from_dict` reads it."""
        document = {
            "format": "rainproof policy",
            "version": _VERSION,
            "grid": self.grid,
            "rounding": self.rounding,
            "seed": self.seed,
            "task": self.task.to_dict(),
        }
        return document if self.recalibration is None else document | {"recalibration": self.recalibration.to_dict()}

    @classmethod
    def from_dict(cls, data: Any) -> RoundingPolicy:
        """Read the policy that `to_dict` wrote."""
        data = check_document(data, "policy", version=_VERSION, keys=_KEYS, optional=("recalibration",))
        task = DecisionTask.from_dict(data["task"])
        recalibration = PiecewiseMap.from_dict(data["recalibration"]) if "recalibration" in data else None
        grid = check_grid(data["grid"])
        return cls(task, grid, rounding=data["rounding"], seed=data["seed"], recalibration=recalibration)

    def __reduce__(self) -> tuple[Any, ...]:
        return RoundingPolicy.from_dict, (self.to_dict(),)  # computing the tables is faster than sending them

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, RoundingPolicy) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.grid, self.rounding, self.seed, self.task))

    def __repr__(self) -> str:
        first = "" if self.recalibration is None else ", recalibration=..."
        return f"RoundingPolicy({self.task!r}, grid={self.grid}, rounding={self.rounding!r}, seed={self.seed}{first})"

    def __str__(self) -> str:
        first = "" if self.recalibration is None else "recalibrated, then "
        how = "at random to a neighbouring" if self.rounding == "soft" else "down to a"
        return f"{self.task}\nProbabilities are {first}rounded {how} multiple of 1/{self.grid} first."

    def _apply(
        self, p: ArrayLike, ids: ArrayLike | None, table: NDArray[Any], out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Look up in the table what each p is rounded to, block by block, on several threads."""
        prob = as_probabilities(p, "p") if self.recalibration is None else self.recalibration(p)
        named = self._ids(ids, len(prob))
        out = np.empty(len(prob), table.dtype) if out is None else _check_out(out, len(prob), table.dtype)
        threads = max(1, min(available_threads(), len(prob) // _ROWS_PER_THREAD))
        edges = [len(prob) * part // threads for part in range(threads + 1)]

        def work(part: int) -> bool:
            blocks = range(edges[part], edges[part + 1], _BLOCK)
            return all(self._block(prob, named, table, out, start, edges[part + 1]) for start in blocks)

        if not run_in_threads(work, threads):
            error = explain_probabilities(prob, _NAMES) or explain_ids(cast("NDArray[Any]", named))
            assert error is not None
            raise error
        return out

    def _block(
        self,
        prob: NDArray[Any],
        ids: NDArray[Any] | None,
        table: NDArray[Any],
        out: NDArray[Any],
        start: int,
        stop: int,
    ) -> bool:
        rows = slice(start, min(start + _BLOCK, stop))
        x = _NONE if ids is None else names(ids[rows])
        if x is None:
            return False
        plain = np.ascontiguousarray(prob[rows], np.float64)
        return choose(plain, x, self._key, self.grid, ids is not None, table, out[rows])

    def _ids(self, ids: ArrayLike | None, n: int) -> NDArray[Any] | None:
        """Check the ids; return None for hard rounding, which does not use them."""
        if ids is None:
            if self.rounding == "soft":
                raise InputError(
                    "ids is missing: soft rounding needs an id for each row, so that the same row gets the same "
                    "action again (np.arange(len(p)) if rows never change their order)"
                )
            return None
        array = as_ids(ids)
        if len(array) != n:
            raise InputError(f"p and ids must have the same length; they have {n:,} and {len(array):,}")
        return array if self.rounding == "soft" else None


def load_policy(path: str | os.PathLike[str]) -> RoundingPolicy:
    """Read a policy that `RoundingPolicy.save` wrote.

    Explained in docs/policy.md.

    Parameters
    ----------
    path : str or path-like
        The JSON file.

    Raises
    ------
    InputError
        If the file cannot be read, is not JSON, or is not a policy of a version that this rainproof reads.

    Examples
    --------
    >>> import rainproof, tempfile
    >>> policy = rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.35), 32)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy.save(f"{folder}/policy.json")
    ...     rainproof.load_policy(f"{folder}/policy.json") == policy
    True
    """
    return read_json(path, "policy", lambda data, _: RoundingPolicy.from_dict(data))


def _grid_size(grid: int | None, sample: Sample | None, rounding: Rounding, recalibration: PiecewiseMap | None) -> int:
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
    return choose_grid(sample if recalibration is None else mapped(sample, recalibration)).grid


def _check_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise InputError(f"seed must be an integer from 0 to 2**64 - 1; it is {seed!r}")
    return int(seed)


def _check_out(out: NDArray[Any], n: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    good = isinstance(out, np.ndarray) and out.shape == (n,) and out.dtype == dtype
    if not good or not (out.flags.c_contiguous and out.flags.writeable):
        raise InputError(f"out must be a contiguous, writeable array of {n:,} values of type {dtype}")
    return out
