from typing import Any

import numpy as np
from numpy.typing import NDArray

def placed(
    prob: NDArray[np.float64], outcome: NDArray[np.uint8] | None, m: int, soft: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def soft_sums(
    start: NDArray[np.int64],
    rise: NDArray[np.float64],
    amount: NDArray[Any],
    out: NDArray[np.float64],
) -> None: ...
def soft_sums_with(
    cell: NDArray[np.int64],
    rise: NDArray[np.float64],
    shared: NDArray[np.float64],
    row: NDArray[np.int64],
    outcome: NDArray[np.uint8],
) -> NDArray[np.float64]: ...
def balance(
    weight: NDArray[np.float64], positive: NDArray[np.float64], soft: bool, bar: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def balance_repeated(
    start: NDArray[np.int64],
    rise: NDArray[np.float64],
    times: NDArray[np.uint8],
    soft: bool,
    bar: NDArray[np.float64],
) -> tuple[int, float]: ...
def weighted_sums(amount: NDArray[Any], each: NDArray[np.float64]) -> NDArray[np.float64]: ...
def run_sums(amount: NDArray[Any], start: NDArray[np.int64]) -> NDArray[np.float64]: ...
