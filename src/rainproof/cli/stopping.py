"""How a command ends when a signal asks it to: at once, silently, and with nothing written.

Only modules that take no time are imported here: until `stoppable` is entered, Ctrl-C means what
Python makes of it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@contextmanager
def stoppable(*, process: bool) -> Iterator[Callable[[], None]]:
    """Heed the signals that ask a program to end, whatever other libraries make of them.

    In a process of its own the command ends where it is. No exception is raised, as it could get
    stuck anywhere: in a finalizer, in a callback of a library, in an import that is tried. A thread
    ends the process while the main thread is busy in C or waits in a system call that is restarted.

    Parameters
    ----------
    process : bool
        Whether the command is all that the process does. Else signals raise KeyboardInterrupt, and
        mean afterwards what they meant before.

    Yields
    ------
    callable
        Call it when all is done but for the names of the files that are written: from then on
        signals are ignored.
    """
    # Python lets no code of other threads handle signals.
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    # What the parent wants ignored stays ignored, as under nohup.
    handlers: dict[int, Any] = {}
    for number in _SIGNALS:
        handler = signal.getsignal(number)
        if handler not in (signal.SIG_IGN, None):
            handlers[number] = handler
    if process:
        ending = _Ending()
        for number in handlers:
            signal.signal(number, ending.stop)
        try:
            yield ending.settle
        finally:
            ending.settle()
            for number in handlers:
                signal.signal(number, signal.SIG_IGN)
        return
    for number in handlers:
        signal.signal(number, _raise)
    try:
        yield lambda: None
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _raise(number: int, _frame: FrameType | None) -> None:
    for other in _SIGNALS:  # once is enough: what cleans up is not stopped again
        if signal.getsignal(other) is _raise:
            signal.signal(other, signal.SIG_IGN)
    raise KeyboardInterrupt(number)


class _Ending:
    """The end of the process: by a signal, or by itself, whichever comes first."""

    def __init__(self) -> None:
        self._first = threading.Lock()  # held by whichever came first, for good
        self._main = threading.get_ident()
        self._settled = False
        listener, bell = os.pipe()
        if os.name != "nt":
            os.set_blocking(bell, False)
        signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
        threading.Thread(
            target=self._watch, args=(listener,), name="rainproof-stop", daemon=True
        ).start()

    def settle(self) -> None:
        """Let no signal end the process any more."""
        if not self._settled:
            self._first.acquire()
            self._settled = True

    def stop(self, number: int, _frame: FrameType | None = None) -> None:
        """End the process, unless it is settled."""
        # A signal may come inside `settle`, between the lock and the flag: the main thread never
        # waits for itself.
        if self._settled or not self._first.acquire(blocking=threading.get_ident() != self._main):
            return
        files = sys.modules.get("rainproof.core.files")
        if files is not None and hasattr(files, "remove_unfinished"):  # else it is being imported
            files.beginning.acquire()
            files.remove_unfinished()
        if "multiprocessing.process" in sys.modules:
            for worker in sys.modules["multiprocessing.process"].active_children():
                worker.terminate()
        os._exit(128 + number)

    def _watch(self, listener: int) -> None:
        """Wait for signals in a thread of its own."""
        while True:
            number = os.read(listener, 1)[0]
            if number in _SIGNALS:
                self.stop(number)
