"""Time and memory of a call by the number of rows; what an installation takes on disk, and an
import of time.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.race.calls import ENVIRONMENT, CallError, interpreter, memory, timed
from benchmarks.race.contestants import BY_NAME, NO_PACKAGE, OURS
from benchmarks.race.parts import Cell, Lines, Part, entries, markdown, unique, whose
from benchmarks.race.parts import present as contestants
from benchmarks.race.pictures import figure
from benchmarks.race.pictures import lines as draw_lines
from benchmarks.tables import figures

SIZES = tuple(10**k for k in range(3, 8))
JOBS = {
    "numbers": "one number about calibration",
    "tests": "a test of calibration",
    "maps": "a recalibration map",
}
MOST = {"numbers": 10**7, "tests": 10**5, "maps": 10**5}
MEMORY = 10**6  # rows, of the first job
# seconds that a call may be expected to take, ten times as long as with a tenth of the rows
BUDGET = 10.0
# By our function: those of others for the same quantity, or from the same sums.
SAME = {
    "binned_calibration_error": [
        ("scikit-learn", "calibration_curve"),
        ("probcal", "ece"),
        ("MAPIE", "expected_calibration_error"),
        ("netcal", "ECE"),
        ("torchmetrics", "binary_calibration_error"),
        ("calibre", "expected_calibration_error"),
    ],
    "brier_score": [("scikit-learn", "brier_score_loss")],
    "smooth_ece": [("relplot", "smECE")],
    "net_benefit": [("dcurves", "dca")],
}
INSTALL, IMPORT = "installed, MB", "import and first call, seconds"
IMPORTS = 2  # in a block; the least counts

_last: dict[tuple[str, str, str], float] = {}


def cells(block: int, quick: bool) -> Iterator[Cell]:
    """First the installations, then jobs by size; each block measures again, and the least
    counts.
    """
    for one in contestants():
        if one.name != NO_PACKAGE:
            yield INSTALL, one.name, "", 0, 0
            yield IMPORT, one.name, "", 0, block
    for n in SIZES[:3] if quick else SIZES:
        for job in JOBS:
            if n <= MOST[job]:
                for one, label in entries(job):
                    if one.name != NO_PACKAGE:
                        yield job, one.name, label, n, block


def run(job: str, package: str, entry: str, n: int, block: int) -> dict[str, object]:
    """The seconds of a call beside those of the floor, and the memory at one size; or the size, or
    the import time.
    """
    one = BY_NAME[package]
    if job == INSTALL:
        return {"value": f"{installed(package, one.python is not None) / 1e6:.1f}"}
    if job == IMPORT:
        kind = next(kind for kind in (*JOBS, "advice") if one.of(kind))
        first = f"calls.first({package!r}, {kind!r}, {next(iter(one.of(kind)))!r})"
        return {"value": f"{_import(interpreter(one), first) - _import(interpreter(one), ''):.3f}"}
    try:
        before = _last.get((job, package, entry)) or (
            timed(one, job, entry, n // 10)[0] if n > SIZES[0] else 0.0
        )
        if 10 * before > BUDGET:
            _last[job, package, entry] = 10 * before
            return {"note": f"over budget: about {10 * before:.0f} s"}
        seconds, floor = timed(one, job, entry, n)
        _last[job, package, entry] = seconds
        extra = (
            f"{memory(one, job, entry, n) / 1e6:.1f}"
            if (job, n, block) == ("numbers", MEMORY, 0)
            else ""
        )
    except CallError as error:
        return {"note": str(error)[:200]}
    return {"value": f"{seconds:.4g}", "floor": f"{floor:.4g}", "memory": extra}


@cache
def _import(program: str, code: str) -> float:
    """The least processor seconds of several processes that import NumPy and the race, and run this
    code.
    """
    took, code = [], f"from benchmarks.race import calls; {code}"
    for _ in range(IMPORTS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [program, "-c", code],
            check=True,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **ENVIRONMENT},
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(took)


def installed(package: str, elsewhere: bool = False) -> int:
    """Bytes of a package and of all that it requires (no extras), without bytecode."""
    if elsewhere and interpreter(BY_NAME[package]) != sys.executable:
        program = interpreter(BY_NAME[package])
        code = f"from benchmarks.race.speed import installed; print(installed({package!r}))"
        environment = {**os.environ, **ENVIRONMENT}
        found = subprocess.run(
            [program, "-c", code], capture_output=True, text=True, check=True, env=environment
        )
        return int(found.stdout)
    return sum(map(_bytes, _requirements(package)))


@cache
def _requirements(package: str) -> frozenset[str]:
    found, todo = set(), [_normal(package)]
    while todo:
        name = todo.pop()
        try:
            requires = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            requires = ["numpy", "scipy"] if name == OURS else []  # from its sources
            if name != OURS:
                continue  # for another platform
        found.add(name)
        for line in requires:
            if "extra ==" not in line:
                other = _normal(re.split(r"[ ;<>=!~\[(]", line, maxsplit=1)[0])
                if other not in found:
                    todo.append(other)
    return frozenset(found)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _bytes(package: str) -> int:
    try:
        files = [Path(str(file.locate())) for file in importlib.metadata.files(package) or []]
    except importlib.metadata.PackageNotFoundError:
        # rainproof from its sources: without those of its kernels
        import rainproof

        folder = Path(str(rainproof.__file__)).parent
        files = [x for x in folder.rglob("*") if x.suffix not in (".pyx", ".pxd", ".c", ".h")]
    return sum(x.stat().st_size for x in files if x.is_file() and x.suffix != ".pyc")


def page(lines: Lines, pictures: Path) -> str:
    """Ratios by job and size, memory, and what an installation takes."""
    text = []
    for job, name in JOBS.items():
        own = [x for x in lines if x["job"] == job]
        if not own:
            continue
        sizes = unique(own, "n")
        rows = {(x["package"], x["entry"]): x for x in own}
        ours = {n: _least(own, *next(key for key in rows if key[0] == OURS), n)[0] for n in sizes}
        body = []
        for key, line in rows.items():
            found = [_least(own, *key, n) for n in sizes]
            slope = _growth([(int(n), x) for n, (x, _) in zip(sizes, found, strict=True) if x])
            extra = next(
                (x["memory"] for x in own if (x["package"], x["entry"]) == key and x["memory"]), "-"
            )
            cells_ = [
                f"{figures(x / ours[n])}" if x and ours[n] else (note or "-")
                for n, (x, note) in zip(sizes, found, strict=True)
            ]
            body.append([whose(line), *cells_, slope, *([extra] if job == "numbers" else [])])
        times = ", ".join(f"{figures(1e3 * x)} ms at {int(n):,}" for n, x in ours.items() if x)
        floor = ", ".join(
            f"{figures(x / f)} at {int(n):,}"
            for n, x in ours.items()
            if x and (f := _floor(own, n))
        )
        head = ["times rainproof's time", *(f"n = {int(n):,}" for n in sizes), "growth"]
        head += [f"MB at {MEMORY:,}"] if job == "numbers" else []
        text += [
            f"## {name[0].upper()}{name[1:]}",
            f"rainproof itself ({next(key[1] for key in rows if key[0] == OURS)}): {times}. "
            f"Times the sums of the same rows: {floor}.",
            markdown(head, sorted(body, key=lambda x: _number(x[2]))),
            *(_same(own, sizes) if job == "numbers" else []),
        ]
    install = {x["package"]: x["value"] for x in lines if x["job"] == INSTALL}
    imports: dict[str, float] = {}
    for x in lines:
        if x["job"] == IMPORT and x["value"]:
            imports[x["package"]] = min(imports.get(x["package"], np.inf), float(x["value"]))
    body = [
        [f"**{name}**" if name == OURS else name, install[name], f"{imports[name]:.2f}"]
        for name in sorted(install, key=lambda name: float(install[name]))
        if name in imports
    ]
    text += [
        "## Installation and import",
        "A package with all that it requires, without extras and bytecode; and the processor "
        "time in a new process until its first function has returned on 1,000 rows, beyond that "
        "of NumPy's import. torch is its build for processors; that for graphics cards, which "
        "pip takes unless told otherwise, has several gigabytes more.",
        markdown(["", "MB", "seconds to a first number"], body),
    ]
    _draw(lines, pictures)
    return "\n\n".join(text)


def _same(lines: Lines, sizes: list[str]) -> list[str]:
    """Each function beside ours for the same quantity."""
    body = []
    for ours, others in SAME.items():
        for package, entry in others:
            row = [f"{package} {entry}", ours]
            for n in sizes:
                (mine, _), (other, note) = (
                    _least(lines, OURS, ours, n),
                    _least(lines, package, entry, n),
                )
                row.append(figures(other / mine) if mine and other else (note or "-"))
            body.append(row)
    head = [
        "times the time of rainproof's function",
        "which is",
        *(f"n = {int(n):,}" for n in sizes),
    ]
    return ["The same quantity, or one from the same sums:", markdown(head, body)]


def _least(lines: Lines, package: str, entry: str, n: str) -> tuple[float | None, str]:
    own = [x for x in lines if (x["package"], x["entry"], x["n"]) == (package, entry, n)]
    values = [float(x["value"]) for x in own if x["value"]]
    return (
        (min(values), "")
        if values
        else (None, next((x["note"].partition(":")[0] for x in own if x["note"]), ""))
    )


def _growth(at: list[tuple[int, float]]) -> str:
    """The power of n by which the time grows between the last two sizes."""
    if len(at) < 2:
        return "-"
    (m, a), (n, b) = at[-2:]
    return f"n^{np.log(b / a) / np.log(n / m):.1f}"


def _number(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return np.inf


def _floor(lines: Lines, n: str) -> float:
    """The least seconds that the sums of n rows took; a clock that stood still tells nothing."""
    return min(
        (float(x["floor"]) for x in lines if x["n"] == n and float(x["floor"] or 0)), default=0.0
    )


def _draw(lines: Lines, pictures: Path) -> None:
    own = [x for x in lines if x["job"] == "numbers" and x["value"]]
    if not own:
        return
    with figure(pictures / "race-speed.png", 9, 4.6) as fig:
        ax, series = fig.add_subplot(), {}
        for package, entry in dict.fromkeys((x["package"], x["entry"]) for x in own):
            some = [x for x in own if (x["package"], x["entry"]) == (package, entry)]
            at = [
                (int(n), min(float(x["value"]) for x in some if x["n"] == n))
                for n in unique(some, "n")
            ]
            series[f"{package} {entry}"] = at
        floors = [(int(n), _floor(own, n)) for n in unique(own, "n")]
        draw_lines(ax, series | {"sums of the rows": floors}, OURS)
        ax.set(yscale="log", xlabel="rows", ylabel="seconds of one processor core")


PART = Part(
    name="speed",
    keys=("job", "package", "entry", "n", "block"),
    values=("value", "floor", "memory", "note"),
    blocks=2,
    cells=cells,
    run=run,
    page=page,
)
