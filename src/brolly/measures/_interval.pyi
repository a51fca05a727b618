import numpy as np
from numpy.typing import NDArray

def mean_window_biases(
    prob: NDArray[np.float64], prefix: NDArray[np.float64], widths: NDArray[np.float64]
) -> NDArray[np.float64]: ...
