from rainproof.core.arrays import Floats

def least_flow(
    negative: Floats, positive: Floats, tolerance: float, steps: int
) -> tuple[float, float]: ...
