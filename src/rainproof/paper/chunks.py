"""Computation in chunks: each result is stored when it is done, so that an interrupted run can be resumed."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rainproof.core.atomic_write import write_atomic

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A function call: a module-level function, so that other processes can import it, and its arguments.

    The result must depend on the arguments alone (a seed is one of them) and be serializable as JSON.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Runner:
    """Run chunks, optionally on several processes, and store their results.

    Attributes
    ----------
    folder : Path
        Where finished chunks are stored.
    jobs : int
        The number of processes. 1: run in this process.
    progress : callable or None
        Called with the name of the part, the number of chunks done, and the number of all.
    """

    folder: Path
    jobs: int = 1
    progress: Progress | None = None

    def __call__(self, part: str, chunks: Sequence[Chunk]) -> list[Any]:
        """Return the result of each chunk, in order; stored ones are not run again."""
        folder = self.folder / fingerprint() / part
        folder.mkdir(parents=True, exist_ok=True)
        found = {chunk.key: _stored(folder, chunk.key) for chunk in chunks}
        missing = [chunk for chunk in chunks if found[chunk.key] is None]
        self._say(part, len(chunks) - len(missing), len(chunks))
        with closing(self._run(missing)) as running:  # ends the workers with the loop
            for done, (chunk, value) in enumerate(running, len(chunks) - len(missing) + 1):
                text = json.dumps(value)
                write_atomic(folder / f"{chunk.key}.json", text)
                found[chunk.key] = json.loads(text)  # the same as when it is read from the file
                self._say(part, done, len(chunks))
        return [found[chunk.key] for chunk in chunks]

    def _say(self, part: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(part, done, total)

    def _run(self, chunks: list[Chunk]) -> Generator[tuple[Chunk, Any], None, None]:
        if self.jobs == 1 or len(chunks) < 2:
            for chunk in chunks:
                yield chunk, chunk.function(*chunk.arguments)
            return
        context = multiprocessing.get_context("spawn")  # the same on every system
        others = multiprocessing.active_children()
        size = min(self.jobs, len(chunks))
        with ProcessPoolExecutor(size, mp_context=context, initializer=_leave_stopping_to_the_parent) as pool:
            waiting = {pool.submit(chunk.function, *chunk.arguments): chunk for chunk in chunks}
            try:
                while waiting:
                    yield from _finished(waiting)
            except BaseException:  # an interrupt must not wait for chunks that will not be stored
                for worker in set(multiprocessing.active_children()).difference(others):
                    worker.terminate()
                pool.shutdown(cancel_futures=True)  # its thread joins the workers; here it would compete for their end
                raise


def _leave_stopping_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal


def _finished(waiting: dict[Future[Any], Chunk]) -> Iterator[tuple[Chunk, Any]]:
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        yield waiting.pop(future), future.result()


def _stored(folder: Path, key: str) -> Any:
    try:
        return json.loads((folder / f"{key}.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def fingerprint() -> str:
    """Return a 12-character hash of rainproof's source: results of other versions are not reused."""
    home = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for file in sorted([*home.rglob("*.py"), *home.rglob("*.pyx")]):
        digest.update(file.relative_to(home).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def spans(total: int, size: int) -> list[tuple[int, int]]:
    """Split range(total) into (start, stop) pairs of a given size, the last one shorter."""
    return [(start, min(start + size, total)) for start in range(0, total, size)]
