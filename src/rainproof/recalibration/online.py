"""Forecasts that stay calibrated whatever happens: one prediction at a time, each outcome when it is known."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats
from rainproof.core.cells import LARGEST_GRID, check_grid, sum_cells
from rainproof.core.door import ColumnNames, as_rows
from rainproof.core.files import Saved, check_document, document
from rainproof.errors import InputError
from rainproof.inference.options import Seed, as_seed
from rainproof.recalibration._online import Walk

_VERSION = 1
_COUNTS = ("seed", "coins", "n", "events")
_TABLES = ("bias", "margin", "number")
_KEYS = ("grid", "grows", *_COUNTS, *_TABLES, "open", "waiting")

Id = str | int
Point = tuple[int, int, bool]  # its number, the grid, and whether a coin chose it


def _whole(value: Any, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _table(data: dict[str, Any], name: str, grid: int, dtype: type[np.generic]) -> NDArray[Any]:
    values = data[name]
    kinds = (int,) if dtype is np.int64 else (int, float)
    if not isinstance(values, list) or len(values) != grid + 1 or not all(type(value) in kinds for value in values):
        raise InputError(f"{name!r} must be a list of {grid + 1:,} numbers")
    table = np.array(values, np.float64)
    ends = name == "bias" and (table[0] < 0 or table[-1] > 0)  # a walk beyond the ends would leave the grid
    if not np.isfinite(table).all() or ends or (name != "bias" and (table < 0).any()):
        raise InputError(f"{name!r} must have numbers that outcomes can lead to")
    return np.array(values, dtype)


def _point(values: Any, grid: int) -> Point:
    good = isinstance(values, list) and len(values) == 3 and isinstance(values[2], bool)
    if not good or not _whole(values[1], 2, grid) or grid % values[1] or not _whole(values[0], 0, values[1]):
        raise InputError(f"a point must be a number, a grid that divides {grid}, and true or false; it is {values!r}")
    return values[0], values[1], values[2]


MOST_WAITING = 1_000_000
_FIRST_GRID = 4
_NO_BASE = np.zeros(0)
_NAMES = ColumnNames(label="y", prob="p")


class _Online(Saved):
    """What both have in common: predictions that wait for their outcomes, and the state, which can be saved."""

    _kind: str
    _walk: Walk
    _open: Point | None
    _waiting: dict[Id, Point]

    def _start(self, grid: int, rng: Seed, *, grows: bool = False) -> None:
        coins = int(as_seed(rng)[0].integers(2**64, dtype=np.uint64))
        self._walk, self._open, self._waiting = Walk(grid, grows, coins), None, {}

    @property
    def grid(self) -> int:
        """The grid m: predictions are multiples of ``1/m``."""
        return self._walk.grid

    @property
    def n(self) -> int:
        """The number of outcomes learnt."""
        return self._walk.n

    @property
    def waiting(self) -> int:
        """The number of predictions whose outcome is not known yet."""
        return len(self._waiting) + (self._open is not None)

    def _predict(self, base: float, id: Id | None) -> float:  # noqa: A002
        if id is None:
            if self._open is not None:
                raise InputError("the last prediction has no outcome yet: call update(y) first, or predict with ids")
            self._open = point = self._walk.predict(base)
            return point[0] / point[1]
        name = _name(id)
        if name in self._waiting:
            raise InputError(f"id must be new; {id!r} waits for its outcome already")
        if len(self._waiting) >= MOST_WAITING:
            raise InputError(f"{MOST_WAITING:,} predictions wait for their outcome: update or forget some")
        self._waiting[name] = point = self._walk.predict(base)
        return point[0] / point[1]

    def update(self, y: int | bool, id: Id | None = None) -> None:  # noqa: A002
        """Learn an outcome: of the last prediction, or of the one that was made with this id.

        Parameters
        ----------
        y : 0 or 1
            Whether the event happened.
        id : str or int, optional
            The id of the prediction, if it was made with one. Outcomes may come late and in any order.
        """
        happened = _outcome(y)
        self._walk.update(*self._take(id), happened)

    def forget(self, id: Id) -> None:  # noqa: A002
        """Give up a prediction whose outcome will never be known; nothing is learnt from it."""
        self._take(id)

    def _take(self, id: Id | None) -> Point:  # noqa: A002
        if id is None:
            point, self._open = self._open, None
            if point is None:
                raise InputError("no prediction without an id waits for its outcome: predict first")
            return point
        found = self._waiting.pop(_name(id), None)
        if found is None:
            raise InputError(f"id must be that of a prediction that waits for its outcome; {id!r} is not")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the state in built-in types, ready for JSON."""
        walk = self._walk
        content = {
            "grid": walk.grid,
            "grows": bool(walk.grows),
            **{name: getattr(walk, name) for name in _COUNTS},
            **{name: getattr(walk, name).tolist() for name in _TABLES},
            "open": None if self._open is None else list(self._open),
            "waiting": [[name, *point] for name, point in self._waiting.items()],
        }
        return document(self._kind, _VERSION, content)

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read what `to_dict` wrote; anything that was changed is refused."""
        data = check_document(data, cls._kind, version=_VERSION, keys=_KEYS)
        grid = data["grid"]
        if not _whole(grid, 2, LARGEST_GRID) or grid & (grid - 1) or not isinstance(data["grows"], bool):
            raise InputError("'grid' must be a power of two and 'grows' true or false")
        for name in _COUNTS:
            if not _whole(data[name], 0, 2**64 - 1 if name == "seed" else 2**63 - 1):
                raise InputError(f"{name!r} must be a non-negative integer; it is {data[name]!r}")
        if not isinstance(data["waiting"], list):
            raise InputError("'waiting' must be a list")
        made = cls.__new__(cls)
        made._walk = Walk(grid, data["grows"], data["seed"])
        bias, margin = (_table(data, name, grid, np.float64) for name in ("bias", "margin"))
        number = _table(data, "number", grid, np.int64)
        made._walk.restore(data["coins"], data["n"], data["events"], bias, margin, number)
        made._open = None if data["open"] is None else _point(data["open"], grid)
        if not all(isinstance(one, list) and len(one) == 4 and type(one[0]) in (str, int) for one in data["waiting"]):
            raise InputError("'waiting' must have an id and a point in each entry")
        made._waiting = {one[0]: _point(one[1:], grid) for one in data["waiting"]}
        if len(made._waiting) < len(data["waiting"]):
            raise InputError("'waiting' must not have an id twice")
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(grid={self.grid}, n={self.n}, waiting={self.waiting})"


class OnlineRecalibrator(_Online):
    r"""Keep the predictions of a model calibrated while the world changes, with a guarantee against every adversary.

    It stands between a model and those who use its predictions. Each prediction is moved to a nearby point of a grid
    that has not been too low or too high so far; each outcome is counted at the point that was predicted. Nothing is
    assumed about the outcomes or the model: they may drift, flip, or be chosen by an adversary who knows the method,
    its state and the model. The adversary must not know the coins.

    Parameters
    ----------
    grid : int
        The grid m, a power of two: predictions are multiples of ``1/m``.
    rng : None, int or numpy.random.Generator
        The source of the coins; the same seed gives the same predictions. Keep it secret where others choose outcomes.

    Notes
    -----
    For the point :math:`i/m` let :math:`N_i` be the number of rounds that predicted it and :math:`B_i` the sum of
    :math:`y - i/m` over them. The point is too low if :math:`B_i > M_i + \sqrt{N_i + 1}`, too high if :math:`-B_i`
    is. A prediction is rounded to the grid at random, without bias; while the point is too low, the next one up
    is tried, while it is too high, the next one down. If the walk comes to a point in order, that is the prediction. If
    it comes to two neighbours of which the lower one is too low and the upper one too high, a coin chooses, and
    :math:`M_i`, the bias that is tolerated, grows by :math:`1/2m` at the point chosen.

    *Proven*, if each outcome is learnt before the next prediction: with probability :math:`1 - \delta` over the coins,
    at all rounds up to T and at all points, :math:`|B_i| \le M_i + \sqrt{3 N_i \Lambda}` with
    :math:`\Lambda = \ln((2(m+1) + 3(m+1)(1 + \ln T) + 5.6 \sqrt{(m+1) T})/\delta)`. So the calibration decision loss of
    the predictions made is at most of order :math:`1/m + \sqrt{\Lambda/T} + \Lambda m \log m / T`, whatever happens.
    *Measured only*: that a calibrated model loses next to nothing, what happens to other scores, and late outcomes.
    Proof and measurements: docs/theory/online.md.

    A prediction takes as long as the walk, mostly a step. The state has :math:`O(m)` numbers, and one entry for each
    prediction that waits for its outcome (1,000,000 at most).

    References
    ----------
    Foster (1999), doi:10.1006/game.1999.0719; Luo and Schapire (2015), arXiv:1502.05934 (the potential); Hu and Wu
    (2024), arXiv:2404.13503 (from the bias of each point to the loss of every decision).

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> r = rainproof.OnlineRecalibrator(rng=0)
    >>> r.predict(0.7)
    0.71875
    >>> r.update(1)
    >>> r.predict(0.9, id="order 17"), r.predict(0.2, id="order 18")
    (0.875, 0.21875)
    >>> r.update(0, id="order 18")
    >>> r
    OnlineRecalibrator(grid=32, n=2, waiting=1)
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(20_000)
    >>> y = rng.random(20_000) < 0.25 + p / 2  # the model is overconfident
    >>> honest = rainproof.OnlineRecalibrator(rng=2).run(p, y)
    >>> rainproof.soft_binned_cdl(y, p) > 3 * rainproof.soft_binned_cdl(y, honest)
    True
    """

    _kind = "online recalibrator"

    def __init__(self, grid: int = 32, rng: Seed = None) -> None:
        self._start(check_grid(grid), rng)

    def predict(self, p: float, id: Id | None = None) -> float:  # noqa: A002
        """Return the recalibrated prediction.

        Parameters
        ----------
        p : float
            The model's prediction, in [0, 1].
        id : str or int, optional
            A name for this prediction, if others may follow before its outcome is known.
        """
        return self._predict(_probability(p), id)

    def probabilities(self, p: float) -> Floats:
        """Return the probability of each point ``0, 1/m, ..., 1`` to be the next prediction, if the model says p."""
        return self._walk.shares(_probability(p))

    def run(self, p: ArrayLike, y: ArrayLike) -> Floats:
        """Predict and learn row by row, each outcome before the next prediction; return the predictions.

        Parameters
        ----------
        p : array_like of shape (n,)
            The model's predictions, in order of time.
        y : array_like of shape (n,)
            The outcomes, 0 or 1.
        """
        rows = as_rows(y, p, None, names=_NAMES)
        sum_cells(rows, 2)  # which refuses bad values
        return self._walk.run(np.ascontiguousarray(rows.prob, np.float64), (rows.label == 1).view(np.uint8))


class OnlineForecaster(_Online):
    r"""Predict yes or no without any model, calibrated whatever happens.

    Each round starts from the event rate so far and goes on as `OnlineRecalibrator` does. Use it where there is no
    model, or to see what a model adds.

    Parameters
    ----------
    grid : int, optional
        The grid m, a power of two. Default: it grows with the number of outcomes n, from 4 on, and doubles when n
        reaches :math:`(m \log_2 m)^2`.
    rng : None, int or numpy.random.Generator
        The source of the coins; the same seed gives the same predictions.

    Notes
    -----
    With the default grid the calibration decision loss of T predictions is :math:`O(\log T/\sqrt T)` with high
    probability against every adversary that does not know the coins, if each outcome is learnt before the next
    prediction; proof in docs/theory/online.md.

    References
    ----------
    Foster (1999), doi:10.1006/game.1999.0719; Hu and Wu (2024), arXiv:2404.13503.

    Examples
    --------
    >>> import rainproof
    >>> f = rainproof.recalibration.OnlineForecaster(rng=0)
    >>> f.predict()
    0.5
    >>> f.update(1)
    >>> predictions = f.run([1, 0, 0, 1] * 1000)
    >>> f
    OnlineForecaster(grid=16, n=4001, waiting=0)
    """

    _kind = "online forecaster"

    def __init__(self, grid: int | None = None, rng: Seed = None) -> None:
        self._start(_FIRST_GRID if grid is None else check_grid(grid), rng, grows=grid is None)

    def predict(self, id: Id | None = None) -> float:  # noqa: A002
        """Return the next prediction; with an `id` if others may follow before its outcome is known."""
        return self._predict(self._walk.base(), id)

    def probabilities(self) -> Floats:
        """Return the probability of each point ``0, 1/m, ..., 1`` to be the next prediction."""
        return self._walk.shares(self._walk.base())

    def run(self, y: ArrayLike) -> Floats:
        """Predict and learn outcome by outcome; return the predictions."""
        array = np.asarray(y)
        rows = as_rows(array, np.zeros(array.shape), None, names=_NAMES)
        sum_cells(rows, 2)  # which refuses bad values
        return self._walk.run(_NO_BASE, (rows.label == 1).view(np.uint8))


def _name(id: Any) -> Id:  # noqa: A002
    if isinstance(id, np.integer):
        return int(id)
    if isinstance(id, bool) or not isinstance(id, str | int):
        raise InputError(f"id must be text or an integer; it is {id!r}")
    return id


def _outcome(y: Any) -> bool:
    try:
        if y in (0, 1):
            return bool(y)
    except ValueError:  # an array
        pass
    raise InputError(f"y must be 0 or 1; it is {y!r}")


def _probability(p: float) -> float:
    try:
        if 0 <= p <= 1:
            return float(p)
    except (TypeError, ValueError):  # no number, or many
        pass
    raise InputError(f"p must be a number in [0, 1]; it is {p!r}")
