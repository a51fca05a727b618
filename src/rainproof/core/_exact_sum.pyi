import numpy as np
from numpy.typing import NDArray

def add(values: NDArray[np.float64], bins: NDArray[np.uint64]) -> None: ...
