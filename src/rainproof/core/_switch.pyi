import numpy as np
from numpy.typing import NDArray

def keys(
    event: NDArray[np.uint8], old: NDArray[np.float64], new: NDArray[np.float64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]: ...
def merge(
    start: NDArray[np.uint64],
    end: NDArray[np.uint64],
    opened: NDArray[np.float64] | None,
    closed: NDArray[np.float64] | None,
    total: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None]: ...
def sum_cells(
    old: NDArray[np.int32],
    new: NDArray[np.int32],
    event: NDArray[np.uint8],
    weight: NDArray[np.float64],
    m: int,
) -> NDArray[np.float64]: ...
def heights(
    edges: NDArray[np.float64],
    only: NDArray[np.float64],
    squares: NDArray[np.float64] | None,
    charge: float,
    back: bool,
    closed: bool,
) -> NDArray[np.float64]: ...
