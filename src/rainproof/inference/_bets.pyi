import numpy as np
from numpy.typing import NDArray

def learn(
    p: NDArray[np.float64],
    event: NDArray[np.float64],
    slopes: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    shifts: NDArray[np.float64],
    levels: NDArray[np.int64],
    worth: NDArray[np.float64],
    scale: NDArray[np.int64],
    log_mean: NDArray[np.float64],
) -> None: ...
