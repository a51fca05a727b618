import numpy as np
from numpy.typing import NDArray

def sorted_keys(
    prob: NDArray[np.float32] | NDArray[np.float64], event: NDArray[np.uint8]
) -> NDArray[np.uint64] | None: ...
def pool(
    key: NDArray[np.uint64], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]: ...
