"""Reading ahead: the next batch is produced in another thread while this one is used."""

from __future__ import annotations

import threading
from collections.abc import Generator
from queue import SimpleQueue
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")

ITEMS_AHEAD = 2  # items that wait, or are being read
SECONDS_TO_CLOSE = 1.0  # reading from a pipe without a writer never ends


class _End(NamedTuple):
    """The end of the items, and the error that ended them."""

    error: BaseException | None


def prefetch(items: Generator[Item, None, None]) -> Generator[Item, None, None]:
    """Yield the same items, produced in another thread.

    Its errors are raised here, and it ends with this generator.
    """
    queue: SimpleQueue[Item | _End] = SimpleQueue()
    room = threading.Semaphore(ITEMS_AHEAD)  # so that memory does not grow with the file
    reader_left = threading.Event()

    def produce() -> None:
        try:
            for item in items:
                queue.put(item)
                room.acquire()
                if reader_left.is_set():
                    break
            queue.put(_End(None))
        except BaseException as error:
            queue.put(_End(error))
        finally:
            items.close()  # its files, in the thread that opened them

    # A daemon, as a read from a pipe without a writer would keep Python from ending.
    thread = threading.Thread(target=produce, name="rainproof-read", daemon=True)
    thread.start()
    try:
        while True:
            item = queue.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
            room.release()
    finally:
        # Also where the reader leaves early: the thread, which may wait for room, then ends.
        reader_left.set()
        room.release()
        thread.join(SECONDS_TO_CLOSE)
