import numpy as np
from numpy.typing import NDArray

def pool(
    key: NDArray[np.uint64], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
