"""What a function returns: fields that print, write and draw themselves; an estimate, and what
predictions said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

import numpy as np

from rainproof.core.arrays import Frozen
from rainproof.core.text import html_fields, html_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

T = TypeVar("T")


def once(compute: Callable[[Any], T]) -> Callable[[Any], T]:
    """Compute a property of a result when it is first asked for, and keep it in `_found`, which
    copies share.
    """
    name = compute.__name__

    @wraps(compute)
    def computed_once(result: Any) -> T:
        if name not in result._found:  # noqa: SLF001
            result._found[name] = compute(result)  # noqa: SLF001
        value: T = result._found[name]  # noqa: SLF001
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        return value

    return computed_once


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False)
def result_class(cls: type[T]) -> type[T]:
    """Make a class of results a dataclass: frozen, with the equality and the representation that
    `Result` has.
    """
    return dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)(cls)


@result_class
class Result(Frozen):
    """What a function returns: a frozen dataclass that its fields print, write as JSON and draw.

    A class states in `_kind` which function made it, in `_also` the properties that JSON has beside
    the fields, in `_shown` what its representation has (default: all single values), and has
    ``__str__`` where a sentence says it better. Fields with a leading underscore are private:
    nothing shows them. In `_later` it states which properties are computed `once`, from private
    fields such as rows: a pickle has those properties, and none of the fields in `_from`.

    Every subclass with fields is a `result_class`, as this class is: equality, which has to compare
    arrays, and the representation are written here, once.
    """

    _kind: ClassVar[str] = ""
    _also: ClassVar[tuple[str, ...]] = ()
    _shown: ClassVar[tuple[str, ...]] = ()
    _later: ClassVar[tuple[str, ...]] = ()
    _from: ClassVar[tuple[str, ...]] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild, (kind, values) = Frozen.__reduce__(self)
        if self._later:  # what is computed later is computed now, as rows are not pickled
            values |= dict.fromkeys(self._from)
            values["_found"] = {name: getattr(self, name) for name in self._later}
        return rebuild, (kind, values)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in built-in types, for JSON; a number that is not finite is None."""
        content: dict[str, Any] = {"result": self._kind} if self._kind else {}
        for name in (*field_names(self), *self._also):
            content[name] = plain(getattr(self, name))
        return content

    def plot(self, ax: Axes | None = None, **options: Any) -> Any:
        """Draw it into Matplotlib axes (default: new ones) and return them: the panel of
        `rainproof.plots` for it.
        """
        panel: Callable[..., Any] = import_module("rainproof.plots").panel(type(self))
        return panel(self, **options) if ax is None else panel(self, ax, **options)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        for field in fields(self):
            if field.compare and not _are_equal(
                getattr(self, field.name), getattr(other, field.name)
            ):
                return False
        return True

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        shown = []
        for name in self._shown or field_names(self):
            value = getattr(self, name)
            is_single = isinstance(value, bool | int | float | str)
            if is_single or (self._shown and value is not None):
                shown.append(f"{name}={_brief(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        if type(self).__str__ is not object.__str__:
            return html_text(str(self))
        return f"<p><b>{type(self).__name__}</b></p>{html_fields(self.to_dict())}"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Interval(Result):
    """An estimate for the population with an approximate confidence interval (not a proven bound).

    Attributes
    ----------
    value : float
        The estimate.
    low, high : float
        The ends of the interval.
    confidence_level : float
        The share of such intervals that contain the population's value, if there are many rows (or
        groups).
    """

    value: float
    low: float
    high: float
    confidence_level: float

    def within(self, least: float, most: float) -> Interval:
        """Return the part of the interval where the quantity can lie, and the nearest such
        estimate.
        """
        value = min(max(self.value, least), most)
        return replace(self, value=value, low=max(self.low, least), high=min(self.high, most))

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class PredictionRange(Result):
    """What was said and what happened in a range of predictions, on these rows.

    Attributes
    ----------
    low, high : float
        The ends of the range.
    mean_prediction, event_rate : float
        What they say on average, and how often the event happened.
    n, events : float
        The number of rows, and of those with the event (sums of weights, scaled to the number of
        rows).
    """

    low: float
    high: float
    mean_prediction: float
    event_rate: float
    n: float
    events: float


def field_names(result: Any) -> list[str]:
    """Return the names of the public fields of a dataclass."""
    return [field.name for field in fields(result) if not field.name.startswith("_")]


def plain(value: Any) -> Any:
    """Return a value in built-in types, ready for JSON: None for a number that is not finite."""
    if isinstance(value, Enum):  # before text, which some are too
        return value.value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, np.ndarray | np.generic):
        built_in = value.tolist()
        all_finite = value.dtype.kind in "biuU" or np.isfinite(value).all()
        return built_in if all_finite else plain(built_in)
    if is_dataclass(value):
        return {name: plain(getattr(value, name)) for name in field_names(value)}
    if isinstance(value, Mapping):
        return {plain(key): plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    return str(value)


def _are_equal(one: Any, other: Any) -> bool:
    """Whether two values of a field are equal: arrays are if all their elements are."""
    if one is other:
        return True
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)


def _brief(value: Any) -> str:
    """A value in the representation of a result: numbers to six digits."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        end = ",)" if len(value) == 1 else ")"
        return f"({', '.join([_brief(part) for part in value])}{end}"
    return repr(value)
