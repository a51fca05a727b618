"""Array types, and results that nobody changes by accident, wherever they are sent."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def freeze(*arrays: NDArray[Any]) -> None:
    """Make arrays that a result shows read-only."""
    for array in arrays:
        array.flags.writeable = False


class Frozen:
    """A frozen dataclass whose copies, also those in another process, are made anew from its fields.

    NumPy does not send along that an array is read-only; the class's ``__post_init__`` sees to it again.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return _rebuild, (type(self), values)


def _rebuild(cls: type[Any], values: dict[str, Any]) -> Any:
    return cls(**values)
