import numpy as np
from numpy.typing import NDArray

def worst_threshold(
    j: NDArray[np.int64], pi: NDArray[np.float64], s: NDArray[np.float64], m: int
) -> tuple[float, int]: ...
def worst_on_grid(
    slot: NDArray[np.int64],
    weight: NDArray[np.float64],
    rise: NDArray[np.float64],
    grid: int,
    m: int,
    soft: bool,
) -> tuple[float, int]: ...
