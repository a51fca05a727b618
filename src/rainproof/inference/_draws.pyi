from typing import Any

import numpy as np
from numpy.typing import NDArray

def repeats(capsule: Any, n: int) -> NDArray[np.uint8]: ...
def tosses(
    capsule: Any,
    repeated: NDArray[Any],
    bar: NDArray[np.uint32],
    ends: NDArray[np.uint32],
    cluster: NDArray[np.int64] | None = None,
    first: NDArray[np.int64] | None = None,
    shared: NDArray[np.uint32] | None = None,
    alike: int = 0,
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.uint8]]: ...
def compared(
    capsule: Any, first: NDArray[np.uint16], rest: NDArray[np.float64], times: int
) -> NDArray[np.uint8]: ...
def added_up(
    heads: NDArray[np.uint8], owner: NDArray[np.int32], size: int
) -> NDArray[np.int64]: ...
def binomials(
    capsule: Any, count: NDArray[np.int64], chance: NDArray[np.float64], times: int
) -> NDArray[np.int64]: ...
def binomials_along(
    capsule: Any, count: NDArray[np.int64], chance: NDArray[np.float64]
) -> NDArray[np.int64]: ...
def multinomial(capsule: Any, count: NDArray[np.int64]) -> NDArray[np.int64]: ...
