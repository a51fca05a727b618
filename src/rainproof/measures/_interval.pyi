import numpy as np
from numpy.typing import NDArray

def running_sums(values: NDArray[np.float64]) -> NDArray[np.float64]: ...
def mean_window_biases(
    prob: NDArray[np.float64], prefix: NDArray[np.float64], widths: NDArray[np.float64]
) -> NDArray[np.float64]: ...
