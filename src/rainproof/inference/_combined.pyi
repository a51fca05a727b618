from typing import Any

import numpy as np
from numpy.typing import NDArray

def functions(
    prob: NDArray[np.float64], weight: NDArray[np.float64], squares: NDArray[np.float64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]: ...
def until(
    capsule: Any,
    prob: NDArray[np.float64],
    count: NDArray[np.int64],
    events: NDArray[np.int64],
    start: NDArray[np.int64],
    expected: NDArray[np.float64],
    along: NDArray[np.float64],
    certain: NDArray[np.int64],
    hits: int,
    most: int,
) -> tuple[int, int]: ...
def evidence(
    start: NDArray[np.int64],
    amount: NDArray[Any],
    expected: NDArray[np.float64],
    along: NDArray[np.float64],
    certain: NDArray[np.int64],
    due: NDArray[np.float64],
) -> NDArray[np.float64]: ...
