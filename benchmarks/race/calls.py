"""Calls of contestants: here, or in the other Python that some need, where this file is the program
that answers.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import io
import logging
import os
import pickle
import resource
import subprocess
import sys
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import make_data
from benchmarks.machine import peak, reset_peak
from benchmarks.race.contestants import BY_NAME, CONTESTANTS, Contestant

ROOT = Path(__file__).parents[2]
LONG = 0.2  # seconds; what takes less is called again, as clocks are coarse
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
# A fixed threshold makes the allocator give freed arrays back, so that none is at hand before the
# call.
MEMORY_ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": "65536"}


class CallError(Exception):
    """What a contestant raised: the name of the class and the text."""


def interpreter(contestant: Contestant) -> str:
    """The Python that runs a contestant: beside that of the race there may be an environment of
    another version.
    """
    if contestant.python is None or importlib.util.find_spec(contestant.module):
        return sys.executable
    return str(Path(f"{sys.prefix}-{contestant.python}") / "bin" / "python")


@cache
def version(contestant: Contestant) -> str | None:
    """The installed version; None where it is not installed."""
    if contestant.module == "numpy":
        return np.__version__
    program = interpreter(contestant)
    if program == sys.executable:
        if not importlib.util.find_spec(contestant.module):
            return None
        try:
            return importlib.metadata.version(contestant.name)
        except importlib.metadata.PackageNotFoundError:  # rainproof from its sources
            return str(importlib.import_module(contestant.module).__version__)
    if not Path(program).exists():
        return None
    code = f"import importlib.metadata; print(importlib.metadata.version({contestant.name!r}))"
    found = subprocess.run([program, "-c", code], capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def present() -> list[Contestant]:
    """Those that are installed."""
    return [one for one in CONTESTANTS if version(one)]


def call(contestant: Contestant, part: str, label: str, *arguments: Any) -> tuple[Any, float]:
    """What a function of a contestant returns, and the seconds of processor time that it took."""
    return _there_or_here(contestant, "one", part, label, *arguments)


def timed(contestant: Contestant, part: str, label: str, n: int) -> tuple[float, float]:
    """Seconds of processor time per call on n rows, on one core, and of the sums of the same
    rows.
    """
    return _there_or_here(contestant, "least", part, label, n)


def memory(contestant: Contestant, part: str, label: str, n: int) -> float:
    """Bytes at the peak of a call, beyond the inputs: in a new process."""
    with Server(interpreter(contestant), MEMORY_ENVIRONMENT) as server:
        return float(server.ask("most", contestant.name, part, label, n))


def tried(contestant: Contestant, label: str, case: str) -> tuple[str, str]:
    """What happens to a case of the part about bad input."""
    found: tuple[str, str] = _there_or_here(contestant, "bad", label, case)
    return found


def _there_or_here(contestant: Contestant, kind: str, *arguments: Any) -> Any:
    program = interpreter(contestant)
    if program == sys.executable:
        try:
            return KINDS[kind](contestant.name, *arguments)
        except Exception as error:
            raise CallError(f"{type(error).__name__}: {error}") from error
    if program not in _SERVERS:
        _SERVERS[program] = Server(program, {})
    return _SERVERS[program].ask(kind, contestant.name, *arguments)


def spent() -> float:
    """Seconds of processor time so far: of this process, of those that have ended, and of those
    that still answer.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (
        time.process_time()
        + ended.ru_utime
        + ended.ru_stime
        + sum(one.ask("spent") for one in _SERVERS.values())
    )


def close() -> None:
    """Let the processes that answer end."""
    while _SERVERS:
        _SERVERS.popitem()[1].close()


class Server:
    """A process that answers questions."""

    def __init__(self, program: str, environment: dict[str, str]) -> None:
        environment = {**os.environ, **ENVIRONMENT, **environment}
        self._process = subprocess.Popen(
            [program, "-m", "benchmarks.race.calls"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ask no more, so that it ends."""
        self._process.communicate()

    def ask(self, *question: Any) -> Any:
        """An answer; what the other side raised is raised here."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump(question, self._process.stdin)
        self._process.stdin.flush()
        try:
            good, answer = pickle.load(self._process.stdout)
        except EOFError as error:
            raise CallError("the process ended") from error
        if not good:
            raise CallError(answer)
        return answer


def _one(name: str, part: str, label: str, *arguments: Any) -> tuple[Any, float]:
    with _quiet():
        start = time.process_time()
        found = BY_NAME[name].of(part)[label](*arguments)
        return found, time.process_time() - start


def first(name: str, part: str, label: str) -> None:
    """A first call, as a user makes it after importing the package."""
    rows = _rows(part, 1000)
    _one(name, part, label, *rows)


def _least(name: str, part: str, label: str, n: int) -> tuple[float, float]:
    with _quiet(), _one_core():
        function, arguments = BY_NAME[name].of(part)[label], _rows(part, n)
        function(*_rows(part, min(n, 1000)))  # so that imports are not measured
        return _seconds(function, *arguments), _seconds(
            lambda y, p, *_: y.sum() + p.sum(), *arguments
        )


def _most(name: str, part: str, label: str, n: int) -> int:
    with _quiet():
        function, arguments = BY_NAME[name].of(part)[label], _rows(part, n)
        function(*_rows(part, min(n, 1000)))
        before = reset_peak()
        function(*arguments)
        return max(0, peak() - before)


def _bad(name: str, label: str, case: str) -> tuple[str, str]:
    from benchmarks.race.bad_input import outcome  # which imports this file

    with _quiet():
        return outcome(name, label, case)


KINDS: dict[str, Any] = {
    "one": _one,
    "least": _least,
    "most": _most,
    "bad": _bad,
    "spent": time.process_time,
}
_SERVERS: dict[str, Server] = {}  # by program


def _rows(part: str, n: int) -> tuple[Any, ...]:
    data, grid = make_data(n), np.linspace(0, 1, 1001)
    more = {"maps": (grid,), "advice": (grid, 4.0)}
    return data.y, data.p, *more.get(part, ())


def _seconds(function: Any, *arguments: Any) -> float:
    best, spent = np.inf, 0.0
    while spent < LONG:
        start = time.process_time()
        function(*arguments)
        took = time.process_time() - start
        best, spent = min(best, took), spent + max(took, LONG / 200)
    return float(best)


@contextlib.contextmanager
def _quiet() -> Any:
    """No warnings, logs or bars of progress: they are counted where they matter, in the part about
    bad input.
    """
    logging.disable(logging.CRITICAL)
    with (
        warnings.catch_warnings(action="ignore"),
        np.errstate(all="ignore"),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)


@contextlib.contextmanager
def _one_core() -> Any:
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def main() -> None:
    """Answer until there are no more questions."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a contestant prints is no answer
    while True:
        try:
            kind, *arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = True, KINDS[kind](*arguments)
        except Exception as error:
            answer = False, f"{type(error).__name__}: {error}"
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()
