import numpy as np
from numpy.typing import NDArray

class Walk:
    grid: int
    grows: bool
    seed: int
    coins: int
    n: int
    events: int
    bias: NDArray[np.float64]
    margin: NDArray[np.float64]
    number: NDArray[np.int64]
    def __init__(self, grid: int, grows: bool, seed: int) -> None: ...
    def restore(
        self,
        coins: int,
        n: int,
        events: int,
        bias: NDArray[np.float64],
        margin: NDArray[np.float64],
        number: NDArray[np.int64],
    ) -> None: ...
    def base(self) -> float: ...
    def predict(self, x: float) -> tuple[int, int, bool]: ...
    def update(self, i: int, grid: int, tossed: bool, y: bool) -> None: ...
    def run(self, p: NDArray[np.float64], y: NDArray[np.uint8]) -> NDArray[np.float64]: ...
    def shares(self, x: float) -> NDArray[np.float64]: ...
