"""Peak extra memory of one call, measured in a separate process."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

from benchmarks.data import make_data
from benchmarks.machine import peak, reset_peak
from benchmarks.measures import SWITCH
from benchmarks.timed_functions import CONTESTANTS, Contestant
from benchmarks.timing import Cell, at_most

# A fixed threshold makes the allocator give freed arrays back, so that none is at hand before the
# call.
ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": "65536"}
# rows: enough for lazy imports, too few to leave memory behind that hides what the call takes
_WARM_UP = 1000


def extra_memory(contestant: Contestant, n: int, *, calibrated: bool) -> Cell:
    """Return the peak memory in bytes of a call on n rows, beyond the inputs."""
    environment = {**os.environ, **ENVIRONMENT}
    command = [
        sys.executable,
        "-m",
        "benchmarks.memory",
        contestant.name,
        str(n),
        str(int(calibrated)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode == 0:
        return float(done.stdout.split()[-1])
    if contestant.peer is None:
        raise RuntimeError(f"{contestant.name}: {done.stderr}")
    print(f"{contestant.name}: {done.stderr}", file=sys.stderr)
    return "failed"


def _measure(contestant: Contestant, n: int, calibrated: bool) -> int:
    data = make_data(n, calibrated=calibrated)
    with at_most(contestant.threads):
        contestant.call(data.head(_WARM_UP))
        gc.collect()
        before = reset_peak()
        contestant.call(data)
        return max(0, peak() - before)


if __name__ == "__main__":
    from benchmarks import recalibration  # which imports this file

    name, rows, calibrated = sys.argv[1:]
    everybody = (*CONTESTANTS, SWITCH, *recalibration.CONTESTANTS)
    print(
        _measure(next(one for one in everybody if one.name == name), int(rows), calibrated == "1")
    )
