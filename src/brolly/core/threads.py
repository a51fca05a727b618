"""Work in parts, on as many threads as there are to be had."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread


def available_threads() -> int:
    """The processors this process may use (what `taskset` or a batch system allows it)."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows have no affinity to ask for
        return os.cpu_count() or 1


def run_in_threads(work: Callable[[int], bool], parts: int) -> bool:
    """Whether the work on each of the parts went well: each in a thread of its own, the first in this one.

    Parts that no thread can be started for are done here too, after the first. (A pool would not do: what it
    found no thread for stays in its queue, and another thread may do it a second time.)
    """
    answers: list[Future[bool]] = [Future() for _ in range(parts)]
    threads, here = [], [0]

    def run(part: int) -> None:
        try:
            answers[part].set_result(work(part))
        except BaseException as error:  # raised again where it is waited for
            answers[part].set_exception(error)

    try:
        for part in range(1, parts):
            thread = Thread(target=run, args=(part,))
            try:
                thread.start()
                threads.append(thread)
            except RuntimeError:  # "can't start new thread": a limit on processes or on memory
                here.append(part)
        for part in here:
            answers[part].set_result(work(part))
    finally:
        for thread in threads:  # they write into arrays of the caller's
            thread.join()
    return all(answer.result() for answer in answers)
