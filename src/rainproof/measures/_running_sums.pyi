import numpy as np
from numpy.typing import NDArray

def running_sums(values: NDArray[np.float64]) -> NDArray[np.float64]: ...
