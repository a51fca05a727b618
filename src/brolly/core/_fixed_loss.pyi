import numpy as np
from numpy.typing import NDArray

def worst_threshold(
    j: NDArray[np.int64], pi: NDArray[np.float64], s: NDArray[np.float64], m: int
) -> tuple[float, int]: ...
