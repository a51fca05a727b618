"""Time of decision curves beside dcurves: `python -m benchmarks.clinical`; it needs `pip install
dcurves`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import rainproof
from benchmarks.data import Data, make_data
from benchmarks.tables import Table, figures, size
from benchmarks.timed_functions import Contestant

SIZE = 10**5
THRESHOLDS = np.arange(1, 100) / 100
GOAL = 10.0


def _net_benefit(grouped: bool, data: Data) -> Any:
    groups = np.arange(len(data)) // 5 if grouped else None
    return rainproof.net_benefit(data.y, data.p, THRESHOLDS, groups=groups)


def _core_set(data: Data) -> Any:
    return rainproof.clinical_performance(data.y, data.p, thresholds=THRESHOLDS, rng=0)


def _dcurves(data: Data) -> Any:
    import pandas as pd
    from dcurves import dca

    frame = pd.DataFrame({"y": data.y, "p": data.p})
    return dca(data=frame, outcome="y", modelnames=["p"], thresholds=THRESHOLDS)


DCURVES = Contestant("dcurves dca (no intervals)", _dcurves, peer="dcurves")
CONTESTANTS = (
    DCURVES,
    Contestant("rainproof net_benefit, with intervals", partial(_net_benefit, False)),
    Contestant("rainproof net_benefit, intervals by groups of 5 rows", partial(_net_benefit, True)),
    Contestant("rainproof clinical_performance", _core_set),
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clinical", description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="rounds; the best counts")
    options = parser.parse_args()
    data, best = make_data(SIZE), dict.fromkeys((one.name for one in CONTESTANTS), np.inf)
    for one in CONTESTANTS:
        one.call(data.head(1000))  # so that imports are not measured
    for k in range(options.repeats):
        print(f"round {k + 1} of {options.repeats}", file=sys.stderr, flush=True)
        for one in CONTESTANTS:
            best[one.name] = min(best[one.name], _seconds(partial(one.call, data)))
    first = best[DCURVES.name]
    rows = [[name, figures(1e3 * took), figures(first / took)] for name, took in best.items()]
    about = (
        "Processor time, minima over rounds in which each runs once, in one process. Goal: "
        f"{GOAL:g} times faster."
    )
    table = Table(
        f"{len(THRESHOLDS)} thresholds, n = {size(SIZE)}", about, ["", "ms", "times faster"], rows
    )
    print(table.text())


def _seconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == "__main__":
    main()
