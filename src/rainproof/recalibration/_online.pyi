import numpy as np
from numpy.typing import NDArray

def points(grid: int) -> NDArray[np.float64]: ...

class Mixture:
    models: int
    batches: int
    made: int
    scale: int
    oldest: int
    fresh: bool
    weight: NDArray[np.float64]
    line: NDArray[np.float64]
    table: NDArray[np.float64]
    visits: NDArray[np.float64]
    def __init__(self, models: int) -> None: ...
    def restore(
        self,
        batches: int,
        made: int,
        scale: int,
        oldest: int,
        fresh: bool,
        weight: NDArray[np.float64],
        line: NDArray[np.float64],
        table: NDArray[np.float64],
        visits: NDArray[np.float64],
    ) -> None: ...

class Walk:
    mixture: Mixture
    grid: int
    grows: bool
    seed: int
    coins: int
    n: int
    points: NDArray[np.float64]
    bias: NDArray[np.float64]
    margin: NDArray[np.float64]
    spread: NDArray[np.float64]
    def __init__(self, grid: int, grows: bool, seed: int, mixture: Mixture) -> None: ...
    def restore(
        self,
        coins: int,
        n: int,
        bias: NDArray[np.float64],
        margin: NDArray[np.float64],
        spread: NDArray[np.float64],
    ) -> None: ...
    def mean(self, p: tuple[float, ...]) -> float: ...
    def shares(self, start: float) -> NDArray[np.float64]: ...
    def predict(self, p: tuple[float, ...]) -> tuple[float, float, int, bytes]: ...
    def update(self, value: float, margin: float, coin: int, members: bytes, y: bool) -> None: ...
    def run(
        self, p: NDArray[np.float64], y: NDArray[np.uint8], ends: NDArray[np.int64], longest: int
    ) -> NDArray[np.float64]: ...
