import numpy as np
from numpy.typing import NDArray

def pool_violators(
    negative: NDArray[np.float64], positive: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]: ...
