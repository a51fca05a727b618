"""Ctrl-C, SIGTERM and SIGHUP end the command within a second, and nothing half-written stays."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rainproof.core.files import remove_unfinished

_GRACE = 0.5  # seconds to unwind in; a library that is busy, or restarts what it waits for, is not waited for
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def stoppable(*, process: bool) -> Iterator[None]:
    """Turn the signals that ask a program to end into KeyboardInterrupt, whatever other libraries made of them.

    Parameters
    ----------
    process : bool
        Whether the command is all that the process does. Then the process ends even if the exception gets stuck;
        else the signals mean afterwards what they meant before.
    """
    if threading.current_thread() is not threading.main_thread():  # where Python lets nobody handle signals
        yield
        return
    # What the parent wants ignored stays ignored, as under nohup.
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    before = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in before:
        signal.signal(number, _stop)
    if process:
        bell, listener = socket.socketpair()
        bell.setblocking(False)
        signal.set_wakeup_fd(bell.detach(), warn_on_full_buffer=False)
        threading.Thread(target=_watch, args=(listener,), name="rainproof-stop", daemon=True).start()
    try:
        yield
    finally:
        if process:
            remove_unfinished()
        for number, handler in before.items():
            if not process:
                signal.signal(number, handler)
            elif signal.getsignal(number) is _stop:  # all is done: there is nothing to unwind any more
                signal.signal(number, signal.SIG_DFL)


def _stop(number: int, _frame: FrameType | None) -> None:
    for other in _SIGNALS:  # once is enough: what cleans up is not stopped again
        if signal.getsignal(other) is _stop:
            signal.signal(other, signal.SIG_IGN)
    raise KeyboardInterrupt(number)


def _watch(listener: socket.socket) -> None:
    """Wait for a signal, give the main thread a moment to end, and end the process."""
    number = listener.recv(1)[0]
    while number not in _SIGNALS:
        number = listener.recv(1)[0]
    time.sleep(_GRACE)
    remove_unfinished()
    if "multiprocessing.process" in sys.modules:
        for worker in sys.modules["multiprocessing.process"].active_children():
            worker.terminate()
    os._exit(128 + number)
