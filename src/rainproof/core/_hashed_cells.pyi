import numpy as np
from numpy.typing import NDArray

def add(
    table: NDArray[np.uint64],
    used: int,
    most: int,
    segment: NDArray[np.int64],
    slot: NDArray[np.int32],
    offset: NDArray[np.uint64],
    weight: NDArray[np.float64] | None,
    width: int,
    start: int,
    part: int,
    parts: int,
) -> tuple[int, int]: ...
def rehash(old: NDArray[np.uint64], new: NDArray[np.uint64]) -> None: ...
