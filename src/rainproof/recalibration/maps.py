"""What a map is, and the maps of several classes: of a row of probabilities to another.

Here is what a map does, and how it is read from a file. How one is fitted is in `class_scaling`
and `selection`; a map of one event is a `core.piecewise.PiecewiseMap`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arrays import Floats
from rainproof.core.classes import SUM_TOLERANCE, check_labels, violations
from rainproof.core.columns import ColumnNames
from rainproof.core.conversion import as_numbers
from rainproof.core.labels import is_plain_label
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.result import Result, result_class
from rainproof.errors import InputError
from rainproof.recalibration.method_names import KNOWN_METHODS, has_class_maps
from rainproof.recalibration.methods import NEAREST, check_shape

BLOCK = 1 << 20
"""Numbers that are worked on together, 8 MB: temporary arrays of all rows would not fit."""


@result_class
class ClassPart(Result):
    """One map of a mean of maps for several classes.

    Attributes
    ----------
    method : str
        Its name.
    weight : float
        Its weight in the mean.
    slope : ndarray or None
        Of "temperature" one number, of "vector" one for each class, of "matrix" a matrix: the new
        scores are ``slope * log p + intercept`` (of a matrix the product), and softmax makes them
        probabilities.
    intercept : ndarray or None
        Of these methods one number for each class; of "constant" the probabilities themselves.
    maps : tuple of PiecewiseMap
        Of "isotonic" and the other methods of one event: the map of each class against the rest,
        before rows are divided by their sum.
    """

    _shown: ClassVar = ("method", "weight")
    method: str
    weight: float
    slope: Floats | None = None
    intercept: Floats | None = None
    maps: tuple[PiecewiseMap, ...] = ()

    def apply(self, prob: Floats, logs: Floats | None = None) -> Floats:
        """Return the values of rows of probabilities; `logs` are `logarithms`, if known."""
        if self.method == "none":
            return prob
        if self.slope is not None and self.intercept is not None:
            if logs is None:
                logs = logarithms(prob)
            return softmax(scores(self.slope, self.intercept, logs))
        if self.method == "constant":
            assert self.intercept is not None
            return np.broadcast_to(self.intercept, prob.shape)
        value = np.stack([own.apply(prob[:, k]) for k, own in enumerate(self.maps)], axis=1)
        value /= value.sum(axis=1, keepdims=True)
        return value


UNCHANGED = ClassPart(method="none", weight=1.0)


@result_class
class ClassMap(Result):
    """A map of rows of probabilities, one for each class: the weighted mean of several.

    Attributes
    ----------
    classes : tuple
        The labels of the classes, in the order of the columns.
    parts : tuple of ClassPart
        The maps that it is the mean of.
    """

    _shown: ClassVar = ("classes",)
    classes: tuple[Any, ...]
    parts: tuple[ClassPart, ...]

    def __call__(self, p: ArrayLike) -> Floats:
        """Check rows of probabilities and return the recalibrated ones; each row sums to 1."""
        return self.apply(self.check(p))

    def check(self, p: ArrayLike) -> NDArray[Any]:
        """Return rows of probabilities as an array, if they are such; of a frame, by its names."""
        columns = getattr(p, "columns", None)
        has_names = set(self.classes) != set(range(len(self.classes)))
        if columns is not None and has_names and set(columns) == set(self.classes):
            p = p[list(self.classes)]  # type: ignore[call-overload, index]  # a frame, whatever the order of its columns
        table = as_numbers(p, "p")
        if table.ndim != 2 or table.shape[1] != len(self.classes):
            rule = f"p must have {len(self.classes)} columns, one for each class"
            raise InputError(f"{rule}; its shape is {table.shape}")
        for error in violations(table, ColumnNames(prob="p")):
            raise error
        return table

    def apply(self, prob: NDArray[Any]) -> Floats:
        """Return the recalibrated values of probabilities that were checked already."""
        value = np.empty(prob.shape)
        for block in blocks(prob):
            old = np.asarray(prob[block], np.float64)
            new = value[block]
            new[:] = 0
            for part in self.parts:
                new += part.weight * part.apply(old)
            # Rows that were checked sum to 1 up to a tolerance; the values do exactly.
            new /= new.sum(axis=1, keepdims=True)
        return value

    def outside(self, prob: NDArray[Any]) -> int:  # noqa: ARG002 - a map of one event asks it
        """Return 0: of rows of probabilities, what was seen in the fit is not kept."""
        return 0

    def note_outside(self, count: int, total: int) -> str | None:  # noqa: ARG002
        """Return None: there is nothing to say."""
        return None

    @classmethod
    def from_dict(cls, data: Any) -> ClassMap:
        """Read what `to_dict` wrote; anything that no fit has is refused."""
        has_keys = isinstance(data, dict) and list(data) == ["classes", "parts"]
        if not has_keys or not isinstance(data["parts"], list):
            raise InputError("a map for several classes must have 'classes' and 'parts'")
        labels = data["classes"]
        if not isinstance(labels, list) or not all(map(is_plain_label, labels)):
            raise InputError("'classes' must be a list of labels")
        classes = tuple(check_labels(labels, len(labels)))
        for part in data["parts"]:
            _check_keys(part)
        parts = tuple(_read_part(part, len(classes)) for part in data["parts"])
        total = sum(part.weight for part in parts)
        if abs(total - 1) > SUM_TOLERANCE:
            raise InputError(
                f"the 'weight' of all parts of a map must sum to 1; they sum to {total:.6g}"
            )
        return cls(classes=classes, parts=parts)


Map = PiecewiseMap | ClassMap
"""A map of one event or of several classes: both check predictions, apply, say what lies outside of
those that they were fitted to, and are stored and read as dictionaries.
"""


def read_map(data: Any) -> Map:
    """Read a map of either kind."""
    has_classes = isinstance(data, dict) and "classes" in data
    return ClassMap.from_dict(data) if has_classes else PiecewiseMap.from_dict(data)


def _check_keys(part: Any) -> None:
    """Refuse what is no part of a map."""
    keys = ["method", "weight", "slope", "intercept", "maps"]
    is_part = isinstance(part, dict) and list(part) == keys and part["method"] in KNOWN_METHODS
    if not is_part:
        names = ", ".join(map(repr, keys))
        raise InputError(f"a part of a map must have {names}, of a method that is known")


def _read_part(data: dict[str, Any], k: int) -> ClassPart:
    """Read a part of a map for k classes; what its method cannot have fitted is refused."""
    method = data["method"]
    slope = _read_numbers(data, "slope")
    intercept = _read_numbers(data, "intercept")
    weight = data["weight"]
    if type(weight) is not float or not 0 <= weight <= 1:
        raise InputError(
            f"'weight' of a part of a map must be a number from 0 to 1; it is {weight!r}"
        )
    if not isinstance(data["maps"], list):
        raise InputError("'maps' of a part of a map must be a list")
    maps = tuple(map(PiecewiseMap.from_dict, data["maps"]))
    shapes = (_shape(slope), _shape(intercept), len(maps))
    if shapes != _expected_shapes(method, k):
        raise InputError(f"a part of a map must be about {k} classes")
    if method == "constant" and intercept is not None:
        is_shares = (intercept >= 0).all() and abs(intercept.sum() - 1) <= SUM_TOLERANCE
        if not is_shares:
            raise InputError(
                "'intercept' of the method 'constant' must be probabilities that sum to 1"
            )
    for pieces in maps:
        check_shape(pieces, method)
    return ClassPart(method=method, weight=weight, slope=slope, intercept=intercept, maps=maps)


def _expected_shapes(method: str, k: int) -> tuple[Any, Any, int]:
    """Return the shapes of slope and intercept, and the number of maps, for k classes."""
    if method == "temperature":
        return (1,), (k,), 0
    if method == "vector":
        return (k,), (k,), 0
    if method == "matrix":
        return (k, k), (k,), 0
    if method == "constant":
        return None, (k,), 0
    return None, None, k if has_class_maps(method) else 0


def _shape(array: Floats | None) -> tuple[int, ...] | None:
    return None if array is None else array.shape


def _read_numbers(data: dict[str, Any], name: str) -> Floats | None:
    if data[name] is None:
        return None
    numbers = as_numbers(data[name], repr(name))
    if not np.isfinite(numbers).all():
        raise InputError(f"{name!r} of a part of a map must be finite")
    return numbers


def logarithms(prob: NDArray[Any]) -> Floats:
    """Return the logarithms of probabilities; those below `NEAREST` count like it."""
    return np.asarray(np.log(np.maximum(prob, NEAREST, dtype=np.float64)))


def scores(slope: Floats, intercept: Floats, logs: Floats) -> Floats:
    """Return what softmax makes probabilities of: `slope` is a matrix, or multiplies columns."""
    scaled = logs @ slope.T if slope.ndim == 2 else logs * slope
    return scaled + intercept


def softmax(score: Floats) -> Floats:
    """Return the exponentials of scores, divided by their sum in each row.

    The scores are overwritten.
    """
    score -= score.max(axis=1, keepdims=True)
    np.exp(score, out=score)
    score /= score.sum(axis=1, keepdims=True)
    return score


def blocks(table: NDArray[Any]) -> list[slice]:
    """Return the rows of a table in blocks of `BLOCK` numbers."""
    size = max(1, BLOCK // table.shape[1])
    return [slice(start, start + size) for start in range(0, len(table), size)]
