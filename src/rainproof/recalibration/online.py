"""Forecasts that stay calibrated whatever happens: one prediction at a time, each outcome when it
is known.

Here are the arguments, the predictions that wait for their outcomes, and the state as it is stored.
The arithmetic is in the kernel `_online`; the journal of a command that may be killed is in
`stream`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.alignment import check_aligned
from rainproof.core.arrays import Floats
from rainproof.core.cells import LARGEST_GRID, check_grid, sum_cells
from rainproof.core.columns import ColumnNames, Columns
from rainproof.core.conversion import refuse_masked
from rainproof.core.documents import Saved, check_document, document
from rainproof.core.validation import as_columns
from rainproof.errors import InputError
from rainproof.inference.options import Seed, as_seed
from rainproof.recalibration._online import Mixture, Walk

MOST_WAITING = 1_000_000
"""Predictions that may wait for their outcomes: of 200 bytes each, in 200 MB."""

_FIRST_GRID = 256
_WEIGHTS_OFF = 1e-9  # of 1, for the sum of the weights of a mixture

_KIND = "online recalibrator"
_VERSION = 2
# What is stored of the kernel's objects, by the names that it has there.
_WALK = ("coins", "n")
_WALK_TABLES = ("bias", "margin", "spread")
_MIXTURE = ("batches", "made", "scale", "oldest")
_MIXTURE_TABLES = ("weight", "line", "table", "visits")
_SETTINGS = ("models", "grid", "grows", "seed")
_KEYS = (*_SETTINGS, *_WALK, *_WALK_TABLES, *_MIXTURE, "fresh", *_MIXTURE_TABLES, "open", "waiting")

Id = str | int
Pending = tuple[float, float, int, bytes]
"""A prediction that waits: its value, its margin, the number of its coin, and the predictions of
the members of the mixture, as doubles. A plain tuple: the kernel makes it in every round.
"""


class OnlineRecalibrator(Saved):
    r"""Keep predictions calibrated while the world changes, whatever happens, and not much worse
    than the model's own.

    It stands between a model, or several, and those who use its predictions. A mixture of the
    models and of their recalibrations says where to start; the prediction is the nearest point of a
    grid that has not been too low or too high so far. Each outcome is counted at the point that was
    predicted, and moves the weights of the mixture. Nothing is assumed about the outcomes or the
    models: they may drift, flip, or be chosen by an adversary who knows the method, its state and
    the models. The adversary must not know the coins.

    Parameters
    ----------
    grid : int, optional
        The grid m, a power of two: points are :math:`1/m` apart at 1/2, and closer towards 0 and 1.
        Default: 256, which doubles when the number of outcomes reaches :math:`(m \log_2 m)^2`.
    rng : None, int or numpy.random.Generator
        The source of the coins; the same seed gives the same predictions. Default: 0. Where others
        choose outcomes, keep it secret: ``numpy.random.default_rng()`` has a seed that is not
        known.

    Notes
    -----
    *Points.* From :math:`2^{-k-1}` to :math:`2^{-k}` and mirrored the step is
    :math:`\min(2^{-\lfloor k/2 \rfloor}/m, 2^{-k-1})`, down to :math:`2^{-30}`: about in proportion
    to the standard deviation of the outcome. Neither 0 nor 1 is ever predicted.

    *Mixture.* Its members are each model itself (half of the weight at first), three logistic
    recalibrations of its log odds by online Newton steps, which forget 0, 1/3000 and 1/300 each
    round, and the event rates of 16 cells, of all rounds and of the last 60 or so. Weights follow
    Bayes; before round t a share 1/t goes back to the first weights. *Proven*, against every
    sequence: with M models, the log loss of the mixture over T rounds is at most that of the best
    model plus :math:`\ln 2M + (1 - 1/2M) \ln T`.

    *Walk.* For the point :math:`v_i` let :math:`B_i` be the sum of :math:`y - v_i` over the rounds
    that predicted it, and :math:`C_i` that of :math:`|y - v_i|`, plus :math:`M_i`. The point is too
    low if :math:`B_i > M_i + \sqrt{C_i + 1}`, too high if :math:`-B_i` is. While a point is too
    low, the next one up is tried, while it is too high, the next one down. If the walk comes to a
    point in order, that is the prediction. If it comes to two neighbours of which the lower one is
    too low and the upper one too high, a coin chooses, and :math:`M_i`, the bias that is tolerated,
    grows by half the step between them at the point chosen. *Proven*, from any start, if each
    outcome is learnt before the next prediction: with probability :math:`1 - \delta` over the
    coins, at all rounds up to T and at all K points, :math:`|B_i| \le M_i + \sqrt{6 C_i \Lambda}`
    with :math:`\Lambda = \ln((2K + 2.2 K \ln(1 + T) + 2.4 \sqrt{KT})/\delta)`. So the calibration
    decision loss of the predictions is of order :math:`\log T/\sqrt T` on the default grid,
    whatever happens.

    *Late outcomes.* Predictions made before any of their outcomes is learnt are a batch, such as
    those of a day. Both proofs hold for batches whose sizes lie above D/2 and not above D, a power
    of two: with :math:`\sqrt D` times the bias, and D times what is added to the log loss.
    *Measured only*: what walk and rounding add to Brier and log scores, and outcomes that are late
    in another way. Proofs and measurements: docs/theory/online.md.

    A prediction takes about a microsecond. The state has :math:`O(m)` numbers, and one entry for
    each prediction that waits for its outcome (1,000,000 at most).

    References
    ----------
    Foster (1999), doi:10.1006/game.1999.0719; Herbster and Warmuth (1998),
    doi:10.1023/A:1007424614876 (sharing); Luo and Schapire (2015), arXiv:1502.05934 (the
    potential); Hu and Wu (2024), arXiv:2404.13503 (from the bias of each point to the loss of every
    decision).

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> r = rainproof.OnlineRecalibrator()
    >>> r.predict(0.7)
    0.703125
    >>> r.update(1)
    >>> r.predict(0.9, id="order 17"), r.predict(0.2, id="order 18")
    (0.9140625, 0.201171875)
    >>> r.update(0, id="order 18")
    >>> r
    OnlineRecalibrator(grid=256, n=2, waiting=1)
    >>> rng = np.random.default_rng(1)
    >>> p = rng.random(20_000)
    >>> y = rng.random(20_000) < 0.25 + p / 2  # the model is overconfident
    >>> honest = rainproof.OnlineRecalibrator().run(p, y)
    >>> rainproof.soft_binned_cdl(y, p) > 3 * rainproof.soft_binned_cdl(y, honest)
    True
    >>> both = rainproof.OnlineRecalibrator()
    >>> both.predict({"old": 0.3, "new": 0.4})  # several models: nearly as good as the best
    0.34765625
    """

    _walk: Walk
    _models: tuple[str, ...] | None  # if they have names
    _open: Pending | None  # the last prediction without an id
    _waiting: dict[Id, Pending]

    def __init__(self, grid: int | None = None, rng: Seed = None) -> None:
        seed = int(as_seed(0 if rng is None else rng)[0].integers(2**64, dtype=np.uint64))
        first_grid = _FIRST_GRID if grid is None else check_grid(grid)
        self._walk = Walk(first_grid, grid is None, seed, Mixture(1))
        self._models = None
        self._open = None
        self._waiting = {}

    @property
    def grid(self) -> int:
        """The grid m: the step between points is ``1/m`` at 1/2, and smaller towards 0 and 1."""
        return self._walk.grid

    @property
    def grows(self) -> bool:
        """Whether the grid doubles as outcomes come; not if it was stated."""
        return self._walk.grows

    @property
    def points(self) -> Floats:
        """The points that can be predicted now."""
        return self._walk.points

    @property
    def n(self) -> int:
        """The number of outcomes learnt."""
        return self._walk.n

    @property
    def waiting(self) -> int:
        """The number of predictions whose outcome is not known yet."""
        return len(self._waiting) + (self._open is not None)

    def predict(self, p: float | Mapping[str, float], id: Id | None = None) -> float:  # noqa: A002
        """Return the recalibrated prediction.

        Parameters
        ----------
        p : float, or mapping of str to float
            The model's prediction, in [0, 1]; or the predictions of several models by name, of the
            same ones each time.
        id : str or int, optional
            A name for this prediction, if others may follow before its outcome is known.
        """
        predictions = self._begin(p)
        if id is None:
            if self._open is not None:
                raise InputError(
                    "the last prediction has no outcome yet: call update(y) first, or predict "
                    "with ids"
                )
            self._open = pending = self._walk.predict(predictions)
            return pending[0]
        name = _checked_id(id)
        if name in self._waiting:
            raise InputError(f"id must be new; {id!r} waits for its outcome already")
        if len(self._waiting) >= MOST_WAITING:
            raise InputError(
                f"{MOST_WAITING:,} predictions wait for their outcome: update or forget some"
            )
        self._waiting[name] = pending = self._walk.predict(predictions)
        return pending[0]

    def prediction(self, id: Id) -> float:  # noqa: A002
        """Return the prediction that was made with this id, while it waits for its outcome."""
        pending = self._waiting.get(_checked_id(id))
        if pending is None:
            raise _no_such_id(id)
        return pending[0]

    def check(self, p: float | Mapping[str, float]) -> None:
        """Refuse what `predict` would refuse, and change nothing."""
        self._read(p)

    def mixture(self, p: float | Mapping[str, float]) -> float:
        """Return the mean of the mixture, from which the walk to the next prediction starts, if the
        model says p.
        """
        predictions = self._begin(p)  # which may begin the walk of several models
        return self._walk.mean(predictions)

    def probabilities(self, p: float | Mapping[str, float]) -> Floats:
        """Return the probability of each of the `points` to be the next prediction, if the model
        says p.
        """
        return self._walk.shares(self.mixture(p))

    def run(
        self, p: ArrayLike | Mapping[str, ArrayLike], y: ArrayLike, batch: ArrayLike | None = None
    ) -> Floats:
        """Predict and learn row by row, each outcome before the next prediction; return the
        predictions.

        Parameters
        ----------
        p : array_like of shape (n,), or mapping of str to such
            The model's predictions, in order of time; or those of several models by name.
        y : array_like of shape (n,)
            The outcomes, 0 or 1.
        batch : array_like of shape (n,), optional
            The batch of each row, such as its day: successive rows of one batch are all predicted
            before their outcomes are learnt.
        """
        check_aligned(("p", p), ("y", y), ("batch", batch))
        if isinstance(p, Mapping):
            columns = {}
            for name, prob_of_model in p.items():
                columns[name] = _read_columns(y, prob_of_model, f"p[{name!r}]")
            self._begin(dict.fromkeys(columns, 0.5))
            models = [columns[name] for name in self._models or ()]
        else:
            self._begin(0.5)
            models = [_read_columns(y, p, "p")]
        happened = models[0].outcome == 1
        ends = _batch_ends(batch, happened.shape)
        longest = int(np.diff(ends, prepend=0).max(initial=1))
        prob = np.column_stack([model.prob for model in models]).astype(np.float64, copy=False)
        return self._walk.run(prob, happened.view(np.uint8), ends, longest)

    def update(self, y: int | bool, id: Id | None = None) -> None:  # noqa: A002
        """Learn an outcome: of the last prediction, or of the one that was made with this id.

        Parameters
        ----------
        y : 0 or 1
            Whether the event happened.
        id : str or int, optional
            The id of the prediction, if it was made with one. Outcomes may come late and in any
            order.
        """
        happened = _checked_outcome(y)
        self._walk.update(*self._take(id), happened)

    def forget(self, id: Id) -> None:  # noqa: A002
        """Give up a prediction whose outcome will never be known; nothing is learnt from it."""
        self._take(id)

    def to_dict(self) -> dict[str, Any]:
        """Return the state in built-in types, ready for JSON."""
        walk = self._walk
        content = {
            "models": None if self._models is None else list(self._models),
            "grid": walk.grid,
            "grows": walk.grows,
            "seed": walk.seed,
            **_state_of(walk, _WALK, _WALK_TABLES),
            **_state_of(walk.mixture, (*_MIXTURE, "fresh"), _MIXTURE_TABLES),
            "open": None if self._open is None else _listed(self._open),
            "waiting": [[name, *_listed(pending)] for name, pending in self._waiting.items()],
        }
        return document(_KIND, _VERSION, content)

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read what `to_dict` wrote; anything that was changed is refused."""
        data = check_document(data, _KIND, version=_VERSION, keys=_KEYS)
        _check_settings(data)
        models = data["models"]
        recalibrator = cls()
        recalibrator._models = None if models is None else tuple(models)
        recalibrator._walk = walk = _read_walk(data)
        if data["open"] is not None:
            recalibrator._open = _read_pending(data["open"], walk)
        for entry in data["waiting"]:
            if not isinstance(entry, list) or len(entry) != 5 or type(entry[0]) not in (str, int):
                raise InputError("'waiting' must have an id and a prediction in each entry")
        waiting = {entry[0]: _read_pending(entry[1:], walk) for entry in data["waiting"]}
        if len(waiting) < len(data["waiting"]):
            raise InputError("'waiting' must not have an id twice")
        recalibrator._waiting = waiting
        return recalibrator

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(grid={self.grid}, n={self.n}, waiting={self.waiting})"

    def _begin(self, p: float | Mapping[str, float]) -> tuple[float, ...]:
        """Read predictions; the first ones say which models there are."""
        predictions = self._read(p)
        if isinstance(p, Mapping) and self._models is None:
            self._models = tuple(p)
            mixture = Mixture(len(predictions))
            self._walk = Walk(self._walk.grid, self._walk.grows, self._walk.seed, mixture)
        return predictions

    def _read(self, p: float | Mapping[str, float]) -> tuple[float, ...]:
        """Return the predictions of the models, in their order."""
        if not isinstance(p, Mapping) and self._models is None:
            return (_checked_probability(p),)
        names = self._models or ()
        if isinstance(p, Mapping) and self._models is None and self._walk.mixture.batches == 0:
            names = tuple(p)  # nothing was predicted yet: these are the models
        if not isinstance(p, Mapping) or not _are_names(list(p)) or set(names) != set(p):
            raise InputError(
                "p must be a number, or have the predictions of the same models by name each "
                f"time; it is {p!r}"
            )
        return tuple(_checked_probability(p[name], f"p[{name!r}]") for name in names)

    def _take(self, id: Id | None) -> Pending:  # noqa: A002
        """Return a prediction that waits, which then waits no more."""
        if id is None:
            pending = self._open
            if pending is None:
                raise InputError("no prediction without an id waits for its outcome: predict first")
            self._open = None
            return pending
        pending = self._waiting.pop(_checked_id(id), None)
        if pending is None:
            raise _no_such_id(id)
        return pending


# Arguments.


def _checked_id(id: Any) -> Id:  # noqa: A002
    if isinstance(id, np.integer):
        return int(id)
    if isinstance(id, bool) or not isinstance(id, str | int):
        raise InputError(f"id must be text or an integer; it is {id!r}")
    return id


def _no_such_id(id: Any) -> InputError:  # noqa: A002
    return InputError(f"id must be that of a prediction that waits for its outcome; {id!r} is not")


def _checked_outcome(y: Any) -> bool:
    try:
        if y in (0, 1):
            return bool(y)
    except ValueError:  # an array
        pass
    raise InputError(f"y must be 0 or 1; it is {y!r}")


def _checked_probability(p: Any, name: str = "p") -> float:
    try:
        if 0 <= p <= 1:
            return float(p)
    except (TypeError, ValueError):  # no number, or many
        pass
    raise InputError(f"{name} must be a number in [0, 1]; it is {p!r}")


def _are_names(values: list[Any]) -> bool:
    """Return whether there are some texts, all different."""
    is_text = all(isinstance(value, str) for value in values)
    return len(values) > 0 and is_text and len(set(values)) == len(values)


def _read_columns(y: ArrayLike, p: ArrayLike, name: str) -> Columns:
    columns = as_columns(y, p, None, names=ColumnNames(label="y", prob=name))
    sum_cells(columns, 2)  # which refuses bad values
    return columns


def _batch_ends(batch: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return where batches end, given the batch of each row; without it each row is one."""
    (n,) = shape
    if batch is None:
        return np.arange(1, n + 1, dtype=np.int64)
    refuse_masked(batch, "batch")
    of_row = np.asarray(batch)
    if of_row.shape != shape:
        raise InputError(
            f"batch must have a value for each of the {n:,} rows; its shape is {of_row.shape}"
        )
    inner = np.flatnonzero(of_row[1:] != of_row[:-1]) + 1
    return np.append(inner, n).astype(np.int64, copy=False)


# The state, as it is stored.


def _state_of(
    source: Walk | Mixture, numbers: tuple[str, ...], tables: tuple[str, ...]
) -> dict[str, Any]:
    """Return what is stored of an object of the kernel, in the order of the names."""
    state = {name: getattr(source, name) for name in numbers}
    for name in tables:
        state[name] = getattr(source, name).tolist()
    return state


def _listed(pending: Pending) -> list[Any]:
    value, margin, coin, members = pending
    return [value, margin, coin, np.frombuffer(members).tolist()]


def _check_settings(data: dict[str, Any]) -> None:
    """Refuse what is no state, but for its tables and what waits."""
    models = data["models"]
    if models is not None and not (isinstance(models, list) and _are_names(models)):
        raise InputError("'models' must be null or a list of different names")
    grid = data["grid"]
    if not _is_whole(grid, 2, LARGEST_GRID) or grid & (grid - 1):
        raise InputError("'grid' must be a power of two")
    for name in ("grows", "fresh"):
        if not isinstance(data[name], bool):
            raise InputError(f"{name!r} must be true or false")
    for name in ("seed", *_WALK, *_MIXTURE):
        least = 1 if name == "scale" else 0
        most = 2**64 - 1 if name == "seed" else 2**62
        if not _is_whole(data[name], least, most):
            raise InputError(f"{name!r} must be a non-negative integer; it is {data[name]!r}")
    if not isinstance(data["waiting"], list):
        raise InputError("'waiting' must be a list")


def _read_walk(data: dict[str, Any]) -> Walk:
    mixture = Mixture(1 if data["models"] is None else len(data["models"]))
    _restore(mixture, data, (*_MIXTURE, "fresh"), _MIXTURE_TABLES)
    walk = Walk(data["grid"], data["grows"], data["seed"], mixture)
    _restore(walk, data, _WALK, _WALK_TABLES)
    return walk


def _restore(
    target: Walk | Mixture, data: dict[str, Any], numbers: tuple[str, ...], tables: tuple[str, ...]
) -> None:
    """Continue from what `_state_of` had; tables have the shapes that they have in a new object."""
    state = [data[name] for name in numbers]
    for name in tables:
        state.append(_read_table(data, name, getattr(target, name).shape))
    target.restore(*state)


def _read_pending(values: Any, walk: Walk) -> Pending:
    """Read a prediction that waits."""
    members = walk.mixture.weight.size
    if isinstance(values, list) and len(values) == 4:
        value, margin, coin, predicted = values
        has_members = isinstance(predicted, list) and len(predicted) == members
        if (
            has_members
            and value in walk.points
            and _is_share(margin)
            and _is_whole(coin, 0, walk.coins - 1)
            and all(_is_share(share) for share in predicted)
        ):
            return float(value), float(margin), coin, np.array(predicted, np.float64).tobytes()
    raise InputError(
        f"a prediction must be a point, a margin, a coin and what {members} members said; it is "
        f"{values!r}"
    )


def _is_whole(value: Any, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _is_share(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


def _read_table(data: dict[str, Any], name: str, shape: tuple[int, ...]) -> Floats:
    """Read a table of finite numbers that outcomes can lead to."""
    try:
        table = np.array(data[name])
    except ValueError:  # rows of different lengths
        table = np.zeros(0)
    if table.dtype.kind not in "iuf" or table.shape != shape:
        raise InputError(f"{name!r} must have {' x '.join(map(str, shape))} numbers")
    table = np.ascontiguousarray(table, np.float64)
    if not np.isfinite(table).all() or not _is_possible(table, name):
        raise InputError(f"{name!r} must have numbers that outcomes can lead to")
    return table


def _is_possible(table: Floats, name: str) -> bool:
    """Return whether outcomes can lead to such finite numbers."""
    if name == "bias":
        return True
    if name == "line":  # the matrix of a Newton step can be inverted
        return bool((table[..., 2] * table[..., 4] > table[..., 3] ** 2).all())
    if name == "table":
        return bool(((table > 0) & (table < 1)).all())
    if name == "weight":
        return bool((table > 0).all()) and bool(abs(table.sum() - 1) < _WEIGHTS_OFF)
    return bool((table >= 0).all())
