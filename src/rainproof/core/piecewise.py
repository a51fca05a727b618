"""A map from predictions to predictions that every language computes to the last bit: straight
pieces.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats
from rainproof.core.columns import ColumnNames, explain_probabilities
from rainproof.core.conversion import as_probabilities
from rainproof.core.result import Result
from rainproof.core.text import rows
from rainproof.errors import ExtrapolationWarning, InputError

UNIT = 2.0**52
"""Edges and starts are multiples of 1/UNIT: as integers, all languages read them alike."""

SLOPE_UNIT = 2.0**30
"""Slopes are multiples of 1/SLOPE_UNIT."""

# a steeper piece ends below the next one's start: a jump. Before 1 it has a next one
_STEEPEST = 2.0**22
# of a tabulated map, as a share of the smaller of its value and 1 minus its value
_TOLERANCE = 2.0**-10
_FINEST = 2.0**-40  # added to it
# of a tabulated map at first: about those that curves need from 1e-9 to 1 - 1e-9, so few are added
_NODES = 129
_ROUNDS = 16  # halvings of a piece, at most
_BLOCK = 1 << 14  # rows at a time: their temporary arrays stay in the cache
_FEW_OUTSIDE = 0.01  # of predictions: such a share is not worth a warning
_NAMES = ColumnNames(prob="p")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PiecewiseMap(Result):
    """A map of [0, 1] into itself, of straight pieces: ``start[k] + (p - edges[k]) * slope[k]``
    from ``edges[k]`` on.

    Only a comparison, a difference, a product and a sum are needed, in doubles, so Python, SQL and
    ONNX give the same bits. A piece ends at or before the start of the next one (in its own
    direction), and rounding keeps that order: the map stays in [0, 1] and rises wherever its pieces
    rise.

    Attributes
    ----------
    edges : ndarray of shape (k + 1,)
        Increasing, from 0 to 1.
    start, slope : ndarray of shape (k,)
        The value at the lower edge of each piece, and how steep the piece is.
    fitted_range : (float, float) or None
        The smallest and the largest prediction that it was fitted to; None if it is not known, or
        of no concern.
    """

    _shown = ("rises",)
    edges: Floats
    start: Floats
    slope: Floats
    fitted_range: tuple[float, float] | None = None

    @classmethod
    def from_ends(cls, edges: Floats, start: Floats, end: Floats) -> PiecewiseMap:
        """Draw pieces from `start` at their lower edge to `end` at their upper one."""
        edges, start, end = (
            np.rint(np.clip(values, 0.0, 1.0) * UNIT) / UNIT for values in (edges, start, end)
        )
        last = np.flatnonzero(edges[:-1] < 1 - 1 / UNIT)[-1]
        steep = abs(end[last] - start[last]) > _STEEPEST * (1 - edges[last])
        # a jump at 1, with no piece after it
        if edges[last + 1] == 1 and (steep or end[last] != end[-1]):
            edges = np.append(np.minimum(edges, 1 - 1 / UNIT), 1.0)
            start, end = np.append(start, end[-1]), np.append(end, end[-1])
        some = np.diff(edges) > 0
        edges, start, end = np.append(edges[:-1][some], 1.0), start[some], end[some]
        rise = (end - start) / np.diff(edges)
        # Rounded towards 0, with a margin for the rounding of the quotient: no piece oversteps its
        # end.
        steps = np.floor(np.minimum(np.abs(rise) * (1 - 2.0**-50), _STEEPEST) * SLOPE_UNIT)
        return cls(edges, start, np.copysign(steps / SLOPE_UNIT, rise))

    @classmethod
    def steps(cls, cuts: Floats, values: Floats) -> PiecewiseMap:
        """One value below the first cut, the next from there on, and so on."""
        return cls.from_ends(np.concatenate([[0.0], cuts, [1.0]]), values, values)

    @classmethod
    def tabulate(
        cls, function: Callable[[Floats], Floats], breaks: ArrayLike, low: float, high: float
    ) -> PiecewiseMap:
        """Approximate a function, up to 0.1% of the smaller of its value and 1 minus its value, and
        1e-12.

        Pieces are halved, on the logit scale, until they fit. That holds from `low` to `high`;
        outside of them the function must be level, or straight between two of `breaks`, where it
        may jump.
        """
        low, high = (np.rint(np.array([low, high]) * UNIT) / UNIT).tolist()
        between = _expit(np.linspace(_logit(np.array([low])), _logit(np.array([high])), _NODES))
        between = np.clip(np.append(between, breaks), low, high)
        edges = np.unique(
            np.rint(np.concatenate([[0.0, low, high, 1.0], between, np.asarray(breaks)]) * UNIT)
            / UNIT
        )
        lower, upper = edges[:-1], edges[1:]
        done: list[NDArray[Any]] = []
        for _ in range(_ROUNDS):
            # below a jump at the upper edge
            last = np.where(upper < 1, np.nextafter(upper, 0), 1.0)
            start, end = function(lower), function(last)
            inner = _expit(
                _logit(lower) + (_logit(upper) - _logit(lower)) * np.array([[0.25], [0.5], [0.75]])
            )
            inner = np.clip(np.rint(inner * UNIT) / UNIT, lower, last)
            wanted = function(inner.ravel()).reshape(inner.shape)
            drawn = start + (end - start) * (inner - lower) / (upper - lower)
            allowed = _TOLERANCE * np.minimum(wanted, 1 - wanted) + _FINEST
            off = (np.abs(drawn - wanted) > allowed).any(axis=0)
            off &= (lower >= low) & (upper <= high) & (inner[1] > lower)
            done.append(np.stack([lower, start, end])[:, ~off])
            if not off.any():
                break
            middle = inner[1, off]
            lower, upper = (
                np.concatenate([lower[off], middle]),
                np.concatenate([middle, upper[off]]),
            )
        else:
            done.append(
                np.stack([lower, function(lower), function(np.minimum(upper, np.nextafter(1, 0)))])
            )
        lower, start, end = np.concatenate(done, axis=1)
        order = np.argsort(lower)
        return cls.from_ends(np.append(lower[order], 1.0), start[order], end[order])

    @classmethod
    def mean(cls, maps: Sequence[PiecewiseMap], shares: Sequence[float]) -> PiecewiseMap:
        """The weighted mean of maps, given the share of each; it rises wherever all of them do."""
        edges = np.unique(np.concatenate([pieces.edges for pieces in maps]))
        start, end = np.zeros((2, len(edges) - 1))
        for pieces, share in zip(maps, shares, strict=True):
            at = pieces.edges.searchsorted(edges[:-1], side="right") - 1
            for sums, p in ((start, edges[:-1]), (end, edges[1:])):
                sums += share * (pieces.start[at] + (p - pieces.edges[at]) * pieces.slope[at])
        return cls.from_ends(edges, start, end) if len(maps) > 1 else maps[0]

    @classmethod
    def spliced(cls, maps: Sequence[PiecewiseMap], cuts: Sequence[float]) -> PiecewiseMap:
        """One map below the first of increasing cuts, the next from there on, and so on."""
        ends = np.rint(np.array([0.0, *cuts, 1.0]) * UNIT) / UNIT
        starts, values, lasts = [], [], []
        for pieces, low, high in zip(maps, ends[:-1], ends[1:], strict=True):
            inner = pieces.edges[(pieces.edges > low) & (pieces.edges < high)]
            edges = np.concatenate([[low], inner, [high]])
            at = pieces.edges.searchsorted(edges[:-1], side="right") - 1
            rise = pieces.slope[at]
            starts.append(edges[:-1])
            values.append(pieces.start[at] + (edges[:-1] - pieces.edges[at]) * rise)
            lasts.append(pieces.start[at] + (edges[1:] - pieces.edges[at]) * rise)
        return cls.from_ends(
            np.append(np.concatenate(starts), 1.0), np.concatenate(values), np.concatenate(lasts)
        )

    def __call__(self, p: ArrayLike) -> Floats:
        """Return the value at each prediction."""
        return self.apply(self.check(p))

    def check(self, p: ArrayLike) -> NDArray[Any]:
        """Return predictions as an array, if all are probabilities."""
        return checked_probabilities(p)

    def outside(self, prob: NDArray[Any]) -> int:
        """Return how many predictions lie outside of those that the map was fitted to."""
        if self.fitted_range is None:
            return 0
        low, high = self.fitted_range
        return int(np.count_nonzero((prob < low) | (prob > high)))

    def note_outside(self, count: int, total: int) -> str | None:
        """Say how many of the predictions lie outside of those that the map was fitted to, if more
        than 1% do.
        """
        if self.fitted_range is None or count <= _FEW_OUTSIDE * total:
            return None
        low, high = self.fitted_range
        share = f"{rows(count)} ({100 * count / total:.3g}%)"
        return f"{share} have predictions outside of those that the map was fitted to ({low:.4g} to {high:.4g})"

    def warn_outside(self, count: int, total: int, *, stacklevel: int) -> None:
        """Warn of so many predictions outside of those that the map was fitted to, if there is
        something to say.
        """
        note = self.note_outside(count, total)
        if note is not None:
            warnings.warn(ExtrapolationWarning(note), stacklevel=stacklevel)

    def apply(self, prob: NDArray[Any]) -> Floats:
        """Return the values at predictions that were checked already."""
        out = np.empty(len(prob))
        inner = self.edges[1:-1]
        for begin in range(0, len(prob), _BLOCK):
            block = slice(begin, begin + _BLOCK)
            values = prob[block].astype(np.float64)
            piece = inner.searchsorted(values, side="right")
            values -= self.edges.take(piece)
            values *= self.slope.take(piece)
            np.add(self.start.take(piece), values, out=out[block])
        return out

    @property
    def rises(self) -> bool:
        """Whether a larger prediction never gets a smaller value."""
        return bool((np.diff(self._ends()) >= 0).all())

    @property
    def falls(self) -> bool:
        """Whether a larger prediction never gets a larger value."""
        return bool((np.diff(self._ends()) <= 0).all())

    def _ends(self) -> Floats:
        """The values at both ends of each piece, in the order of predictions."""
        end = self.start + np.diff(self.edges) * self.slope
        found: Floats = np.stack([self.start, end], axis=1).ravel()
        return found

    @classmethod
    def from_dict(cls, data: Any) -> PiecewiseMap:
        """Read what `to_dict` wrote; anything that is not such a map is refused."""
        names = ("edges", "start", "slope")
        if not isinstance(data, dict) or set(data) - {"fitted_range"} != set(names):
            raise InputError("a map must have 'edges', 'start' and 'slope'")
        edges, start, slope = (_numbers(data[name], name) for name in names)
        if not len(edges) - 1 == len(start) == len(slope) > 0:
            raise InputError(
                "a map must have one 'start' and one 'slope' for each piece, and one more of 'edges'"
            )
        end = start + np.diff(edges) * slope
        rules = {
            "'edges' must increase from 0 to 1": edges[0] == 0
            and edges[-1] == 1
            and (np.diff(edges) > 0).all(),
            "values must lie in [0, 1]": all(((v >= 0) & (v <= 1)).all() for v in (start, end)),
            "'edges' and 'start' must be multiples of 2**-52": all(
                (v * UNIT % 1 == 0).all() for v in (edges, start)
            ),
            "'slope' must be multiples of 2**-30": (slope * SLOPE_UNIT % 1 == 0).all(),
        }
        for rule, kept in rules.items():
            if not kept:
                raise InputError(f"a map is damaged: {rule}")
        return cls(edges, start, slope, _range_of(data.get("fitted_range")))


def _range_of(value: Any) -> tuple[float, float] | None:
    """Read a range of predictions; files of earlier versions have none."""
    if value is None:
        return None
    low, high = (
        _numbers(value, "fitted_range").tolist()
        if isinstance(value, list) and len(value) == 2
        else (1, 0)
    )
    if not 0 <= low <= high <= 1:
        raise InputError(
            "a map is damaged: 'fitted_range' must be null or two numbers in [0, 1], the smaller first"
        )
    return low, high


def checked_probabilities(p: ArrayLike) -> NDArray[Any]:
    """Return predictions as an array, if all are probabilities."""
    prob = as_probabilities(p, "p")
    error = explain_probabilities(prob, _NAMES)
    if error is not None:
        raise error
    return prob


def _numbers(values: Any, name: str) -> Floats:
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise InputError(f"a map is damaged: {name!r} must be a list of numbers")
    if not all(abs(value) <= _STEEPEST for value in values):
        raise InputError(f"a map is damaged: {name!r} must be finite, and at most 2**22 in size")
    return np.array(values, np.float64)


def _logit(p: Floats) -> Floats:
    inside = np.clip(p, 1 / UNIT, 1 - 1 / UNIT)
    found: Floats = np.log(inside) - np.log1p(-inside)
    return found


def _expit(x: Floats) -> Floats:
    found: Floats = np.where(x < 0, np.exp(np.minimum(x, 0)), 1.0) / (1 + np.exp(-np.abs(x)))
    return found
