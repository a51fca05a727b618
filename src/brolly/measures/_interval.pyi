import numpy as np
from numpy.typing import NDArray

def mean_window_bias(prob: NDArray[np.float64], prefix: NDArray[np.float64], width: float) -> float: ...
