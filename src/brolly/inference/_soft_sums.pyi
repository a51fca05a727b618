from typing import Any

import numpy as np
from numpy.typing import NDArray

def soft_sums(
    start: NDArray[np.int64], rise: NDArray[np.float64], amount: NDArray[Any], out: NDArray[np.float64]
) -> None: ...
def halved(fine: NDArray[np.float64], soft: bool) -> NDArray[np.float64]: ...
