import numpy as np
from numpy.typing import NDArray

def limits(
    p: NDArray[np.float64],
    negative: NDArray[np.float64],
    positive: NDArray[np.float64],
    h: NDArray[np.float64],
    at: NDArray[np.float64],
    total: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def bridge(mu: NDArray[np.float64], value: NDArray[np.float64]) -> tuple[int, int]: ...
def swapped(
    negative: NDArray[np.float64],
    positive: NDArray[np.float64],
    h: NDArray[np.float64],
    below: int,
    mu: float,
    above: bool,
) -> tuple[float, float, float, float]: ...
