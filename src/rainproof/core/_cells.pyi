import numpy as np
from numpy.typing import NDArray

def bins(
    slot: NDArray[np.int64],
    weight: NDArray[np.float64],
    rise: NDArray[np.float64],
    m: int,
    shift: int,
    soft: bool,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]: ...
def pool(
    slot: NDArray[np.int64],
    count: NDArray[np.int64],
    weight: NDArray[np.float64],
    rise: NDArray[np.float64],
    squares: NDArray[np.float64],
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
]: ...
