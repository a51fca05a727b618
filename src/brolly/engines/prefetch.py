"""Read on while what was read is worked on: the second core's share of a scan."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import TypeVar

Item = TypeVar("Item")

_AHEAD = 1  # items that wait to be worked on, beside the one that is being made
_GRACE = 1.0  # seconds to let go of a file in: a pipe that nobody writes to is never done
_PATIENCE = 0.1  # seconds between two looks at whether anybody still wants more


def prefetch(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, made in another thread; its errors are raised here, and it ends when this does."""
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
            getattr(items, "close", int)()  # a generator gives up its file here, in the thread that ran it

    thread = threading.Thread(target=work, name="brolly-read", daemon=True)
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
