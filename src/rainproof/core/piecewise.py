"""A map from predictions to predictions, of straight pieces: every language computes the same bits.

How maps are fitted is not here: see `rainproof.recalibration`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Array, Floats
from rainproof.core.columns import ColumnNames, explain_probabilities
from rainproof.core.conversion import as_probabilities
from rainproof.core.result import Result
from rainproof.core.text import rows
from rainproof.errors import ExtrapolationWarning, InputError

UNIT = 2.0**52
"""Edges and starts are multiples of 1/UNIT: as integers, all languages read them alike."""

SLOPE_UNIT = 2.0**30
"""Slopes are multiples of 1/SLOPE_UNIT."""

_STEEPEST = 2.0**22
"""The largest slope: up to here multiples of 1/SLOPE_UNIT are doubles. A steeper piece is drawn
with this slope, and jumps at its end.
"""

# Of a tabulated map: how far it may be off, as a share of the smaller of its value and 1 minus its
# value, and in addition.
_TOLERANCE = 2.0**-10
_ADDED_TOLERANCE = 2.0**-40
# nodes to begin with: about those that curves need from 1e-9 to 1 - 1e-9, so few are added
_FIRST_NODES = 129
_MAX_HALVINGS = 16  # of a piece
_QUARTERS = np.array([[0.25], [0.5], [0.75]])  # of a piece on the logit scale, where it is compared

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
        edges = _in_units(np.clip(edges, 0.0, 1.0))
        start = _in_units(np.clip(start, 0.0, 1.0))
        end = _in_units(np.clip(end, 0.0, 1.0))
        last_below_1 = 1 - 1 / UNIT
        last = np.flatnonzero(edges[:-1] < last_below_1)[-1]
        is_steep = abs(end[last] - start[last]) > _STEEPEST * (1 - edges[last])
        # a jump at 1, with no piece after it
        if edges[last + 1] == 1 and (is_steep or end[last] != end[-1]):
            edges = np.append(np.minimum(edges, last_below_1), 1.0)
            start = np.append(start, end[-1])
            end = np.append(end, end[-1])
        has_width = np.diff(edges) > 0
        edges = np.append(edges[:-1][has_width], 1.0)
        start = start[has_width]
        slope = (end[has_width] - start) / np.diff(edges)
        # Rounded towards 0, with a margin for the rounding of the quotient: no piece oversteps its
        # end.
        size = np.minimum(np.abs(slope) * (1 - 2.0**-50), _STEEPEST)
        rounded = np.floor(size * SLOPE_UNIT) / SLOPE_UNIT
        return cls(edges, start, np.copysign(rounded, slope))

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

        Pieces are halved, on the logit scale, until they fit; a piece that is too steep for that
        stays as it is after 16 halvings. That holds from `low` to `high`; outside of them the
        function must be level, or straight between two of `breaks`, where it may jump.
        """
        low, high = _in_units(np.array([low, high])).tolist()
        edges = _first_edges(breaks, low, high)
        lower = edges[:-1]
        upper = edges[1:]
        finished: list[Array] = []  # lower edge, start and end of pieces
        for _ in range(_MAX_HALVINGS):
            # below a jump at the upper edge
            last = np.where(upper < 1, np.nextafter(upper, 0), 1.0)
            start = function(lower)
            end = function(last)
            inner = _expit(_logit(lower) + (_logit(upper) - _logit(lower)) * _QUARTERS)
            inner = np.clip(_in_units(inner), lower, last)
            value = function(inner.ravel()).reshape(inner.shape)
            drawn = start + (end - start) * (inner - lower) / (upper - lower)
            tolerance = _TOLERANCE * np.minimum(value, 1 - value) + _ADDED_TOLERANCE
            is_off = (np.abs(drawn - value) > tolerance).any(axis=0)
            middle = inner[1]
            can_be_halved = (lower >= low) & (upper <= high) & (middle > lower)
            halved = is_off & can_be_halved
            finished.append(np.stack([lower, start, end])[:, ~halved])
            # what is left are both halves of these pieces
            upper = np.concatenate([middle[halved], upper[halved]])
            lower = np.concatenate([lower[halved], middle[halved]])
            if not len(lower):
                break
        if len(lower):  # too steep: drawn to the value at the upper edge, where no jump is sought
            end = function(np.minimum(upper, np.nextafter(1, 0)))
            finished.append(np.stack([lower, function(lower), end]))
        lower, start, end = np.concatenate(finished, axis=1)
        order = np.argsort(lower)
        return cls.from_ends(np.append(lower[order], 1.0), start[order], end[order])

    @classmethod
    def mean(cls, maps: Sequence[PiecewiseMap], shares: Sequence[float]) -> PiecewiseMap:
        """The weighted mean of maps, given the share of each; it rises wherever all of them do."""
        edges = np.unique(np.concatenate([pieces.edges for pieces in maps]))
        ends = np.zeros((2, len(edges) - 1))
        for pieces, share in zip(maps, shares, strict=True):
            ends += share * pieces.drawn_between(edges)
        return cls.from_ends(edges, *ends) if len(maps) > 1 else maps[0]

    @classmethod
    def spliced(cls, maps: Sequence[PiecewiseMap], cuts: Sequence[float]) -> PiecewiseMap:
        """One map below the first of increasing cuts, the next from there on, and so on."""
        borders = _in_units(np.array([0.0, *cuts, 1.0]))
        starts = []
        ends = []
        for pieces, low, high in zip(maps, borders[:-1], borders[1:], strict=True):
            inner = pieces.edges[(pieces.edges > low) & (pieces.edges < high)]
            edges = np.concatenate([[low], inner, [high]])
            starts.append(edges[:-1])
            ends.append(pieces.drawn_between(edges))
        return cls.from_ends(np.concatenate([*starts, [1.0]]), *np.concatenate(ends, axis=1))

    def drawn_between(self, edges: Floats) -> Floats:
        """Return the values at the start and at the end of pieces between these edges, none of
        which has an edge of its own inside.
        """
        lower = edges[:-1]
        piece = self.edges.searchsorted(lower, side="right") - 1
        distance = np.stack([lower, edges[1:]]) - self.edges[piece]
        return self.start[piece] + distance * self.slope[piece]

    def __call__(self, p: ArrayLike) -> Floats:
        """Return the value at each prediction."""
        return self.apply(self.check(p))

    def check(self, p: ArrayLike) -> Array:
        """Return predictions as an array, if all are probabilities."""
        return checked_probabilities(p)

    def outside(self, prob: Array) -> int:
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
        return (
            f"{rows(count)} ({100 * count / total:.3g}%) have predictions outside of those "
            f"that the map was fitted to ({low:.4g} to {high:.4g})"
        )

    def warn_outside(self, count: int, total: int, *, stacklevel: int) -> None:
        """Warn of so many predictions outside of those that the map was fitted to, if there is
        something to say.
        """
        note = self.note_outside(count, total)
        if note is not None:
            warnings.warn(ExtrapolationWarning(note), stacklevel=stacklevel)

    def apply(self, prob: Array) -> Floats:
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
        ends: Floats = np.stack([self.start, end], axis=1).ravel()
        return ends

    @classmethod
    def from_dict(cls, data: Any) -> PiecewiseMap:
        """Read what `to_dict` wrote; anything that is not such a map is refused."""
        names = ("edges", "start", "slope")
        if not isinstance(data, dict) or set(data) - {"fitted_range"} != set(names):
            raise InputError("a map must have 'edges', 'start' and 'slope'")
        edges, start, slope = [_numbers(data[name], name) for name in names]
        if not len(edges) - 1 == len(start) == len(slope) > 0:
            raise InputError(
                "a map must have one 'start' and one 'slope' for each piece, "
                "and one more of 'edges'"
            )
        pieces = cls(edges, start, slope)
        values = pieces._ends()
        in_units = np.append(edges, start) * UNIT
        if edges[0] != 0 or edges[-1] != 1 or (np.diff(edges) <= 0).any():
            rule = "'edges' must increase from 0 to 1"
        elif ((values < 0) | (values > 1)).any():
            rule = "values must lie in [0, 1]"
        elif (in_units % 1 != 0).any():
            rule = "'edges' and 'start' must be multiples of 2**-52"
        elif (slope * SLOPE_UNIT % 1 != 0).any():
            rule = "'slope' must be multiples of 2**-30"
        else:
            return replace(pieces, fitted_range=_range_of(data.get("fitted_range")))
        raise InputError(f"a map is damaged: {rule}")


def _range_of(value: Any) -> tuple[float, float] | None:
    """Read a range of predictions; files of earlier versions have none."""
    if value is None:
        return None
    ends = []
    if isinstance(value, list) and len(value) == 2:
        ends = _numbers(value, "fitted_range").tolist()
    if not ends or not 0 <= ends[0] <= ends[1] <= 1:
        raise InputError(
            "a map is damaged: 'fitted_range' must be null or two numbers in [0, 1], "
            "the smaller first"
        )
    return ends[0], ends[1]


def checked_probabilities(p: ArrayLike) -> Array:
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


def _first_edges(breaks: ArrayLike, low: float, high: float) -> Floats:
    """Return the edges of the pieces that a table begins with: evenly from `low` to `high` on the
    logit scale, and the breaks.
    """
    first = _logit(np.array([low]))
    last = _logit(np.array([high]))
    nodes = _expit(np.linspace(first, last, _FIRST_NODES))
    nodes = np.clip(np.append(nodes, breaks), low, high)
    edges = np.concatenate([[0.0, low, high, 1.0], nodes, np.asarray(breaks)])
    return np.unique(_in_units(edges))


def _in_units(values: Floats) -> Floats:
    """Round to multiples of 1/UNIT."""
    return np.rint(values * UNIT) / UNIT


# not SciPy's: stored maps have the last bits of these
def _logit(p: Floats) -> Floats:
    inside = np.clip(p, 1 / UNIT, 1 - 1 / UNIT)
    log_odds: Floats = np.log(inside) - np.log1p(-inside)
    return log_odds


def _expit(x: Floats) -> Floats:
    # with exponentials of negative numbers alone, which do not overflow
    p: Floats = np.where(x < 0, np.exp(np.minimum(x, 0)), 1.0) / (1 + np.exp(-np.abs(x)))
    return p
