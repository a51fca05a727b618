"""How cost grows with the rows: time and memory of the main jobs from 100 to 1e8 rows; import time,
installed size.
"""

from __future__ import annotations

import compileall
import copy
import gc
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import rainproof
from benchmarks.data import make_data
from benchmarks.machine import peak, reset_peak
from benchmarks.memory import ENVIRONMENT
from benchmarks.tables import Table, figures, size

SIZES = tuple(10**k for k in range(2, 9))
JOBS: dict[str, Callable[..., Any]] = {
    "SCDL": rainproof.soft_binned_cdl,
    "measure_all": rainproof.measure_all,
    "calibration_test": lambda *rows: rainproof.calibration_test(*rows, rng=0),
    "confidence_interval": lambda *rows: rainproof.confidence_interval(*rows, rng=0),
    "assess": lambda *rows: str(rainproof.assess(*rows, rng=0)),
}
_MOST_ROWS = 10**6  # more are compressed, so many at a time
_WARM_UP = 1000
_LONG = 1.0  # seconds; shorter calls are made three times, and the best counts
_IMPORTS = {
    "NumPy and scipy.special": "import numpy, scipy.special",
    "rainproof": "import rainproof",
    "rainproof, for SCDL": "import rainproof; rainproof.soft_binned_cdl",
    "rainproof, for an assessment": "import rainproof; rainproof.assess",
}


@dataclass(frozen=True, slots=True, eq=False)
class Input:
    """So many rows: outcomes and predictions, or a compressed sample and the seconds that it took
    to compress them.
    """

    rows: tuple[Any, ...]
    reading: float | None = None

    def fresh(self) -> tuple[Any, ...]:
        """Return the arguments of a job, without what another job has left in the sample."""
        return self.rows if self.reading is None else (copy.copy(self.rows[0]),)

    @classmethod
    def of(cls, n: int, most: int = _MOST_ROWS) -> Input:
        """Make n rows; more than `most` are made, and compressed, chunk by chunk."""
        if n <= most:
            data = make_data(n)
            return cls((data.y, data.p))
        rng, made, reading = np.random.default_rng(n), rainproof.Accumulator(), 0.0
        for _ in range(n // most):
            p = rng.random(most)
            y = rng.random(most) < p**1.3
            start = time.perf_counter()
            made.update(y, p)
            reading += time.perf_counter() - start
        return cls((made.sample(),), reading)


def tables(sizes: Sequence[int] = SIZES) -> list[Table]:
    """Measure, and return the tables."""
    seconds, memory = {}, {}
    for n in sizes:
        _say(f"cost curves, n = {size(n)}")
        seconds[n] = _times(Input.of(n))
        memory[n] = _memory(n)
    most = (
        f"More than {size(_MOST_ROWS)} rows are compressed to 65,536 cells "
        "beforehand, chunk by chunk"
    )
    return [
        _by_size("Cost by number of rows", f"Milliseconds. {most}: the first line.", seconds, 1e-3),
        _by_size(
            "Peak memory by number of rows",
            "MB (10^6 bytes) at the peak of one call, beyond rows or sample; the last line is "
            f"all that the process has, with Python, the imports and the rows. {most}.",
            memory,
            1e6,
        ),
        _installation(),
    ]


def _by_size(
    title: str, note: str, found: dict[int, dict[str, float | None]], unit: float
) -> Table:
    names = list(next(iter(found.values())))
    body = [
        [name, *("-" if (x := row[name]) is None else figures(x / unit) for row in found.values())]
        for name in names
    ]
    return Table(title, note, ["n", *map(size, found)], body)


def _times(given: Input) -> dict[str, float | None]:
    """Return seconds by job."""
    found: dict[str, float | None] = {"compress": given.reading}
    for name, job in JOBS.items():
        best = np.inf
        for _ in range(3):
            rows = given.fresh()
            start = time.perf_counter()
            job(*rows)
            best = min(best, time.perf_counter() - start)
            if best > _LONG:
                break
        found[name] = best
    return found


def _memory(n: int) -> dict[str, float | None]:
    """Return bytes by job, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.curves", str(n)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **ENVIRONMENT}, check=True
    )
    found: dict[str, float | None] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure_memory(n: int) -> dict[str, float]:
    """Return the peak memory of each job beyond the rows, and of this process, in bytes."""
    small, given = make_data(_WARM_UP), Input.of(n)
    found, whole = {}, 0
    for name, job in JOBS.items():
        job(small.y, small.p)  # so that imports do not count
        rows = given.fresh()
        gc.collect()
        before = reset_peak()
        job(*rows)
        found[name] = float(max(0, peak() - before))
        whole = max(whole, peak())
    return {**found, "whole process": float(whole)}


def _installation() -> Table:
    """Import times and installed sizes, beside those of NumPy and SciPy."""
    _say("import time and installed size")
    with tempfile.TemporaryDirectory() as folder:
        environment, package = real_install(folder)
        bare = _import_time("pass", environment)
        took = {
            name: _import_time(statement, environment) - bare
            for name, statement in _IMPORTS.items()
        }
        ours = _bytes(package.rglob("*"))
    base = next(iter(took.values()))
    listed = [file for name in ("numpy", "scipy") for file in importlib.metadata.files(name) or []]
    theirs = _bytes(Path(str(file.locate())) for file in listed)
    rows = [
        *(
            [f"import, milliseconds: {name}", figures(t * 1e3), figures(t / base)]
            for name, t in took.items()
        ),
        ["installed, MB: NumPy and SciPy", figures(theirs / 1e6), figures(1.0)],
        ["installed, MB: rainproof", figures(ours / 1e6), figures(ours / theirs)],
    ]
    note = (
        "Processor time of an import in a new process, beyond that of Python alone. Sizes are "
        "without bytecode."
    )
    return Table("Import time and installed size", note, ["", "", "ratio"], rows)


def _import_time(statement: str, environment: dict[str, str]) -> float:
    """Return the least processor seconds of several processes."""
    import resource  # not on every system

    took = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", statement], check=True, env=environment, cwd=os.sep)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(took)


def real_install(folder: str) -> tuple[dict[str, str], Path]:
    """Return the environment of a process that imports an installed rainproof, and where that is.

    An editable install looks for changes at every import, so its files are copied to `folder` and
    compiled to bytecode, as pip does.
    """
    from rainproof.core import _scan

    kernel = Path(_scan.__file__)
    if kernel.parent.name == "core":
        return dict(os.environ), Path(str(rainproof.__file__)).parent
    build = kernel.parents[2]
    subprocess.run(
        ["meson", "install", "-C", build, "--destdir", folder, "--no-rebuild", "--quiet"],
        check=True,
    )
    package = next(Path(folder).rglob("rainproof/__init__.py")).parent
    compileall.compile_dir(package, quiet=2)
    # The variable turns the finder of this editable install off.
    return {
        **os.environ,
        "PYTHONPATH": str(package.parent),
        "MESONPY_EDITABLE_SKIP": str(build),
    }, package


def _bytes(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.suffix != ".pyc" and file.is_file())


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore", rainproof.RainproofWarning)
    print(json.dumps(measure_memory(int(sys.argv[1]))))
