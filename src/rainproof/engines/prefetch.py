"""Reading ahead in a second thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import TypeVar

Item = TypeVar("Item")

_AHEAD = 1  # items that wait, beside the one that is being read
_GRACE = 1.0  # seconds to close the file in; reading from a pipe without a writer never ends
_PATIENCE = 0.1  # seconds between checks whether the consumer has stopped


def prefetch(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the same items, produced in another thread, whose errors are raised here and which ends with this one."""
    line: queue.Queue[tuple[bool, Item | BaseException | None]] = queue.Queue(_AHEAD)
    left = threading.Event()

    def put(good: bool, item: Item | BaseException | None) -> bool:
        while not left.is_set():
            try:
                line.put((good, item), timeout=_PATIENCE)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for item in items:
                if not put(True, item):
                    break
            else:
                put(False, None)
        except BaseException as error:
            put(False, error)
        finally:
            getattr(items, "close", int)()  # a generator closes its file here, in the thread that ran it

    thread = threading.Thread(target=work, name="rainproof-read", daemon=True)
    thread.start()
    try:
        while True:
            good, item = line.get()
            if good:
                yield item  # type: ignore[misc]
            elif item is None:
                return
            else:
                raise item  # type: ignore[misc]
    finally:
        left.set()
        thread.join(_GRACE)
