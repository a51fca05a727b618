"""Threads for kernels that release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread


def available_threads() -> int:
    """Return the number of processors that this process may use (`taskset` and batch systems limit it)."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1


def run_in_threads(work: Callable[[int], bool], parts: int) -> bool:
    """Run ``work(part)`` for each part in a thread, the first in this one; return whether all returned True.

    Parts for which no thread can be started run in this thread, after the first. (A pool would not do: the part
    stays in its queue, and another thread may run it a second time.)
    """
    answers: list[Future[bool]] = [Future() for _ in range(parts)]
    threads, here = [], [0]

    def run(part: int) -> None:
        try:
            answers[part].set_result(work(part))
        except BaseException as error:  # raised again below
            answers[part].set_exception(error)

    try:
        for part in range(1, parts):
            thread = Thread(target=run, args=(part,))
            try:
                thread.start()
                threads.append(thread)
            except RuntimeError:  # a limit on processes or memory
                here.append(part)
        for part in here:
            answers[part].set_result(work(part))
    finally:
        for thread in threads:  # they write into the caller's arrays
            thread.join()
    return all(answer.result() for answer in answers)
