from typing import Any

import numpy as np
from numpy.typing import NDArray

def repeats(capsule: Any, n: int) -> NDArray[np.uint8]: ...
def tosses(capsule: Any, repeated: NDArray[Any], chance: NDArray[np.float64]) -> NDArray[Any]: ...
