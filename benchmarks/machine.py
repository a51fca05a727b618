"""Description of the machine, without anything that identifies it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

_STAT = Path("/proc/stat")
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def cores() -> int:
    """Return the number of cores this process may use, as rainproof counts them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def version(distribution: str) -> str | None:
    """Return the installed version, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def describe(peers: Sequence[str]) -> list[tuple[str, str]]:
    """Return names and values for the head of the page."""
    torch = ["torch"] if {"netcal", "torchmetrics"} & set(peers) else []
    packages = ("rainproof", "numpy", *peers, *torch)
    return [
        ("processor", f"{processor()}, {cores()} cores usable"),
        ("system", f"{platform.system()} {platform.machine()}"),
        ("Python", platform.python_version()),
        *((name, version(name) or "not installed") for name in packages),
    ]


def processor() -> str:
    """Return the name of the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def reset_peak() -> int:
    """Reset the peak, and return the memory in use."""
    try:
        _CLEAR.write_text("5")
    except OSError:
        return peak()  # the peak cannot be reset: count from it, which may report too little
    return _status("VmRSS")


def peak() -> int:
    """Return the peak of the memory in use since it was reset, in bytes."""
    if _STATUS.exists():
        return _status("VmHWM")
    import resource  # not on every system

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status(field: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024


class Company:
    """Processor use by other programs during a run: measurements on a busy machine are not
    reliable.
    """

    def __init__(self) -> None:
        self._start = self._now()

    def __str__(self) -> str:
        if self._start is None or (now := self._now()) is None:
            return "unknown"
        all_busy, ours, clock = (b - a for a, b in zip(self._start, now, strict=True))
        return f"{max(0.0, all_busy - ours) / clock:.2f} cores busy on average while this ran"

    @staticmethod
    def _now() -> tuple[float, float, float] | None:
        """Return busy seconds of all cores, our own (with ended children), and wall seconds."""
        if not _STAT.exists():
            return None
        user, nice, system, _idle, _wait, irq, soft, steal = map(
            int, _STAT.read_text().split(maxsplit=9)[1:9]
        )
        times = os.times()
        busy = (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")
        return (
            busy,
            times.user + times.system + times.children_user + times.children_system,
            times.elapsed,
        )
