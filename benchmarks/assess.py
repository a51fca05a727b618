"""Time of what people wait for: `python -m benchmarks.assess --output docs/benchmarks/speed.md`."""

from __future__ import annotations

import argparse
import copy
import cProfile
import pstats
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import rainproof
from benchmarks import curves
from benchmarks.data import Data, make_data
from benchmarks.machine import Company, describe
from benchmarks.page import write_part
from benchmarks.resampling import BOOTSTRAP, LOOP, _compressed
from benchmarks.tables import Table, figures, size

Job = Callable[[], Any]
Times = dict[str, tuple[float, float]]  # wall and processor, in seconds

_SMALL, _LARGE, _HUGE = 2000, 10**5, 10**8
_SEGMENTS, _SEGMENT_ROWS = 10_000, 100  # as few rows as are tested
_MORE_DRAWS = 1000  # of the bootstrap, for what one more costs
_TEST_DRAWS = 19  # of each measure: the ratio does not depend on their number
_BEFORE = {"assess, 1e8 compressed": "27 s", "confidence_interval": "1.5 s", "compare": "5.5 s"}
_PARTS = (
    "guarantee", "_rounded", "regret_curve", "_fit", "cross_fit", "quick_test", "soft_binned_profile",
)  # fmt: skip
_INTRODUCTION = """# An assessment

Minima over rounds in which each job runs once, in one process. Predictions are uniform, and events happen with
probability p^1.3. A *look* is one `calibration_curve` and one `brier_score_loss` of scikit-learn on the same rows. The
sample of 1e8 rows is compressed to 65,536 cells beforehand. Compare ratios. This part is written by
`python -m benchmarks.assess --output docs/benchmarks/speed.md` in three minutes; it needs scikit-learn and PyArrow.
"""


def _look(data: Data) -> Any:
    from sklearn.calibration import calibration_curve
    from sklearn.metrics import brier_score_loss

    return calibration_curve(data.y, data.p, n_bins=15), brier_score_loss(data.y, data.p)


def _assess(data: Data | rainproof.Sample) -> str:
    found = (
        rainproof.assess(data, rng=0)
        if isinstance(data, rainproof.Sample)
        else rainproof.assess(data.y, data.p, rng=0)
    )
    return str(found)


def _test(data: Data, names: list[str]) -> Any:
    return rainproof.calibration_test(
        data.y, data.p, statistic=names, n_resamples=_TEST_DRAWS, rng=0
    )


def _compare(data: Data, measure: str) -> Any:
    other = np.clip(data.p + 0.02 * np.sin(40 * data.p), 0, 1)
    return rainproof.compare(data.y, data.p, other, measure=measure, rng=0)


def segments(many: int = _SEGMENTS) -> Job:
    """Test so many calibrated segments."""
    data = make_data(many * _SEGMENT_ROWS, calibrated=True)
    found = rainproof.scan(
        {"p": data.p, "y": data.y, "s": np.arange(len(data)) % many}, by="s", grid=1024
    )
    assert isinstance(found, rainproof.io.Segments)
    return lambda: rainproof.inference.segment_tests(found, rng=0)


def jobs(small: int = _SMALL, large: int = _LARGE, huge: int = _HUGE) -> dict[str, Job]:
    """Every job by name."""
    few, many = make_data(small), make_data(large)
    return {
        f"look, {size(small)}": partial(_look, few),
        f"look, {size(large)}": partial(_look, many),
        f"assess, {size(small)}": partial(_assess, few),
        f"assess, {size(large)}": partial(_assess, many),
        # without what was kept
        f"assess, {size(huge)} compressed": lambda: _assess(copy.copy(_compressed(huge))),
        "confidence_interval": lambda: rainproof.confidence_interval(many.y, many.p, rng=0),
        "compare": partial(_compare, many, "brier_score"),
        "compare, SCDL": partial(_compare, many, "soft_binned_cdl"),
        "bootstrap": partial(BOOTSTRAP.contestant.call, many),
        "bootstrap, 1,000 draws": lambda: rainproof.confidence_interval(
            many.y, many.p, method="percentile", n_resamples=_MORE_DRAWS, rng=0
        ),
        "scikit-learn bootstrap": partial(LOOP.contestant.call, many),
    }


def main() -> None:
    """Measure, print, and write the part of the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.assess", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="rounds; the best counts")
    parser.add_argument("--output", type=Path, help="write it into this Markdown file as well")
    options = parser.parse_args()
    warnings.simplefilter("ignore", rainproof.RainproofWarning)
    company = Company()
    for job in jobs(300, 300, 3000).values():
        job()  # so that imports are not measured
    times = _times(jobs(), options.repeats)
    data, names = make_data(_LARGE), list(rainproof.list_measures())
    times |= _times({"segments": segments()}, min(3, options.repeats))
    times |= _times({name: partial(_test, data, [name]) for name in names}, 1)
    with tempfile.TemporaryDirectory() as folder:
        times |= _times(
            {"every measure": partial(_test, data, names), "report": _shell(data, Path(folder))}, 1
        )
    tables = [_targets(times, names), _all(times), *curves.tables(), profile(data)]
    machine = [*describe(("scikit-learn",)), ("other programs meanwhile", str(company))]
    lines = "\n".join(f"- {name}: {value}" for name, value in machine)
    page = f"{_INTRODUCTION}\n{lines}\n" + "".join(f"\n{table.markdown()}\n" for table in tables)
    print(page)
    if options.output:
        write_part(options.output, "assess", page)


def _shell(data: Data, folder: Path) -> Job:
    """Return the command `rainproof report` of an installed rainproof on a Parquet file of these
    rows.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"p": data.p, "y": data.y}), folder / "rows.parquet")
    command = [
        sys.executable,
        "-m",
        "rainproof",
        "report",
        "rows.parquet",
        "--prob",
        "p",
        "--outcome",
        "y",
    ]
    environment, _ = curves.real_install(str(folder))
    options: dict[str, Any] = {
        "cwd": folder,
        "env": environment,
        "check": True,
        "capture_output": True,
    }
    return lambda: subprocess.run([*command, "-o", "out.html"], **options)


def _times(some: dict[str, Job], repeats: int) -> Times:
    found: Times = {}
    for _ in range(repeats):
        for name, job in some.items():
            print(name, file=sys.stderr, flush=True)
            start = time.perf_counter(), time.process_time()
            job()
            took = time.perf_counter() - start[0], time.process_time() - start[1]
            before = found.get(name, took)
            found[name] = min(before[0], took[0]), min(before[1], took[1])
    return found


def _targets(times: Times, names: Sequence[str]) -> Table:
    wall = {name: took[0] for name, took in times.items()}
    assess, per_draw = wall[f"assess, {size(_LARGE)}"], wall["bootstrap"] / BOOTSTRAP.draws
    further = (wall["bootstrap, 1,000 draws"] - wall["bootstrap"]) / (_MORE_DRAWS - BOOTSTRAP.draws)
    loop = wall["scikit-learn bootstrap"] / LOOP.draws
    slowest = max(names, key=wall.__getitem__)
    rows = [
        (
            f"assess at {size(_SMALL)} rows, in looks",
            60.0,
            wall[f"assess, {size(_SMALL)}"] / wall[f"look, {size(_SMALL)}"],
        ),
        (f"assess at {size(_LARGE)} rows, in looks", 30.0, assess / wall[f"look, {size(_LARGE)}"]),
        (
            "assess at 1e8 rows, compressed, over that at 1e5",
            2.0,
            wall[f"assess, {size(_HUGE)} compressed"] / assess,
        ),
        (
            "report of 1e5 rows from the shell, over twice assess plus 0.5 s",
            1.0,
            wall["report"] / (2 * assess + 0.5),
        ),
        (
            f"test of every measure at once, over the slowest alone ({slowest})",
            3.0,
            wall["every measure"] / wall[slowest],
        ),
        (
            f"scikit-learn loop over bootstrap of {BOOTSTRAP.draws} draws, by draw",
            60.0,
            loop / per_draw,
        ),
        ("scikit-learn loop over bootstrap, by further draw", 60.0, loop / further),
        ("10,000 segments of 100 rows judged, seconds of processor", 2.0, times["segments"][1]),
    ]
    body = []
    for name, goal, found in rows:
        met = found >= goal if name.startswith("scikit") else found <= goal
        body.append([name, figures(goal), figures(found), "yes" if met else "no"])
    note = (
        "All at 1e5 rows unless said. The loop should be slower by the goal, the others at most "
        "the goal. The first line of the bootstrap counts what is done once, as sorting the "
        "rows; the second does not."
    )
    return Table("Targets", note, ["job", "goal", "measured", "met"], body)


def _all(times: Times) -> Table:
    rows = [
        [name, figures(wall * 1e3), figures(cpu * 1e3), _BEFORE.get(name, "")]
        for name, (wall, cpu) in times.items()
    ]
    note = (
        f"Milliseconds. A bootstrap has {BOOTSTRAP.draws} draws, that around scikit-learn "
        f"{LOOP.draws}. Lines with the name of a measure are `calibration_test` with "
        f"{_TEST_DRAWS} draws. `segments` tests {_SEGMENTS:,} segments of {_SEGMENT_ROWS} rows. "
        "`report` is another process of an installed rainproof, whose processor time is not "
        "seen."
    )
    return Table("Times", note, ["", "wall", "processor", "before"], rows)


def profile(data: Data) -> Table:
    """Where the time of an assessment goes, by the function that `how-it-works` names."""
    run = cProfile.Profile()
    run.runcall(_assess, data)
    stats: Any = pstats.Stats(run)
    total, found = stats.total_tt, dict.fromkeys(_PARTS, 0.0)
    for (path, _, name), (_, _, _, cumulative, _) in stats.stats.items():
        if name in found and "rainproof" in path:
            found[name] = max(found[name], cumulative)
    rows = [
        [name, figures(took * 1e3), f"{took / total:.0%}"]
        for name, took in sorted(found.items(), key=lambda x: -x[1])
    ]
    took = f"{figures(total * 1e3)} ms"
    note = (
        f"One `assess` of {size(len(data))} rows under a profiler, {took}; parts within parts "
        "count twice."
    )
    return Table(
        "Where the time of `assess` goes", note, ["function", "milliseconds", "share"], rows
    )


if __name__ == "__main__":
    main()
