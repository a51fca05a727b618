"""Array types, and read-only results."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def freeze(*arrays: NDArray[Any]) -> None:
    """Make the arrays of a result read-only."""
    for array in arrays:
        array.setflags(write=False)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array of the caller, which stays as it is."""
    view = array.view()
    view.setflags(write=False)
    return view


class Frozen:
    """A frozen dataclass whose arrays stay read-only in copies, in other processes too.

    NumPy does not pickle that an array is read-only, so copies are built by the constructor, whose
    ``__post_init__`` makes the arrays read-only again.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return _rebuild, (type(self), values)


def _rebuild(cls: type[Any], values: dict[str, Any]) -> Any:
    return cls(**values)
