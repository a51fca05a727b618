"""Commands in processes of their own, for tests that send signals: none is waited for without a
limit.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager

PATIENCE = 120  # seconds; a busy machine may need many, a test that hangs needs all of them
# seconds from opening a pipe to reading from it; were they too few, a test would pass too easily
SETTLE = 0.3
# The suite may run where signals are ignored, as in the background or under nohup; its children
# would inherit that.
RESET = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""
SCRIPT = "import sys\nfrom rainproof.cli import main\nsys.exit(main())\n"


@contextmanager
def rainproof_process(*arguments, first="", **options):
    """The command, started as its console script starts it; `first` is code that runs before."""
    command = [sys.executable, "-c", f"{RESET}\n{first}\n{SCRIPT}", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def end_of(process):
    """The exit code, and all that was printed to stdout and stderr."""
    output = process.communicate(timeout=PATIENCE)
    return process.returncode, *output


@contextmanager
def held_up(process, pipe):
    """Wait until the process reads from a named pipe, and keep it waiting there."""
    for _ in range(PATIENCE * 100):
        try:
            writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError:  # nobody reads yet
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
    else:
        raise TimeoutError(f"nobody read from {pipe} for {PATIENCE} seconds")
    try:
        time.sleep(SETTLE)
        yield
    finally:
        os.close(writer)
