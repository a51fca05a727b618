from typing import Any

import numpy as np
from numpy.typing import NDArray

def use_instructions(level: int) -> bool: ...
def scan(
    prob: NDArray[Any],
    label: NDArray[Any],
    weight: NDArray[Any] | None,
    m: int,
    table: NDArray[Any] | None,
    start: int,
    stop: int,
    cut: NDArray[np.float64] | None = None,
) -> bool: ...
def locate(
    prob: NDArray[Any],
    label: NDArray[Any],
    m: int,
    slot: NDArray[np.int32],
    offset: NDArray[np.uint64],
) -> bool: ...
def absorb(into: NDArray[Any], table: NDArray[Any]) -> None: ...
def collect(
    table: NDArray[Any],
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
]: ...
