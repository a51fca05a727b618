from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

def key_of(seed: int) -> int: ...
def uniforms(x: NDArray[np.uint64], key: int) -> NDArray[np.float64]: ...
def choose(
    p: NDArray[np.float64],
    x: NDArray[np.uint64],
    key: int,
    m: int,
    soft: bool,
    table: NDArray[Any],
    out: NDArray[Any],
) -> bool: ...
def name_bytes(text: NDArray[np.uint8], out: NDArray[np.uint64]) -> bool: ...
def name_text(text: NDArray[np.uint32], out: NDArray[np.uint64]) -> bool: ...
def name_objects(values: Iterable[Any], out: NDArray[np.uint64]) -> bool: ...
