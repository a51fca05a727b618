"""Ctrl-C, SIGTERM and SIGHUP: the command ends, says nothing and leaves nothing, whatever it was
doing.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from helpers.cases import for_each
from helpers.processes import end_of, held_up, rainproof_process

from rainproof.cli import main
from rainproof.cli.stopping import stoppable
from rainproof.core.files import atomic_output, remove_unfinished

COLUMNS = ["--prob", "p", "--outcome", "y"]

# Polars restarts system calls that Ctrl-C interrupts: a blocked read goes on as if nothing had
# happened.
BEFORE = "import polars, duckdb, pyarrow"
AFTER = """
import pathlib
plain = pathlib.Path.open
def opened(path, *mode, **options):
    if path.suffix == ".csv":
        import polars
    return plain(path, *mode, **options)
pathlib.Path.open = opened
"""
# Code in C that looks for no signals, and would run for days, while a result is being written.
BUSY = """
import hashlib, os
from rainproof.cli import output
from rainproof.core.files import atomic_output
def write(path, text):
    with atomic_output(path):
        os.open("pipe", os.O_RDONLY)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
output.write_atomic = write
"""
# While the command loads NumPy.
IMPORTING = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            open("pipe").read()
sys.meta_path.insert(0, Finder())
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a named pipe that nobody writes to, where the command runs."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.csv")
    os.mkfifo("pipe")


def files():
    return sorted(path.name for path in Path().iterdir())


@for_each("first", ["", BEFORE, AFTER])
def test_ctrl_c_while_it_waits_for_rows(first):
    command = ["report", "pipe.csv", *COLUMNS, "-o", "report.html"]
    with rainproof_process(*command, first=first) as process, held_up(process, "pipe.csv"):
        process.send_signal(signal.SIGINT)
        assert end_of(process) == (130, b"", b"")
    assert files() == ["pipe", "pipe.csv"]


@for_each("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_busy_library_is_not_waited_for(number):
    Path("a.csv").write_text("p,y\n" + "0.5,0\n0.5,1\n" * 50)
    command = ["measure", "a.csv", *COLUMNS, "-o", "a.json"]
    with rainproof_process(*command, first=BUSY) as process, held_up(process, "pipe"):
        assert any(name.startswith(".rainproof-") for name in files())
        process.send_signal(number)
        assert end_of(process)[::2] == (128 + number, b"")
    assert files() == ["a.csv", "pipe", "pipe.csv"]


def test_ctrl_c_while_modules_are_loaded():
    with (
        rainproof_process("measure", "a.csv", *COLUMNS, first=IMPORTING) as process,
        held_up(process, "pipe"),
    ):
        process.send_signal(signal.SIGINT)
        assert end_of(process) == (130, b"", b"")


def test_what_is_ignored_stays_ignored():
    """As SIGHUP is under nohup."""
    Path("a.csv").write_text("p,y\n" + "0.5,0\n0.5,1\n" * 50)
    first = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{IMPORTING}"
    with rainproof_process("measure", "a.csv", *COLUMNS, first=first) as process:
        with held_up(process, "pipe"):
            process.send_signal(signal.SIGHUP)
        code, out, err = end_of(process)
    assert (code, out[:15], err) == (0, b"a.csv: 100 rows", b"")


@pytest.fixture
def handlers():
    """The signals as a program in the foreground finds them; a function that tells how each is
    handled.
    """
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    usual = [signal.default_int_handler, signal.SIG_DFL, signal.SIG_DFL]
    before = [signal.signal(*pair) for pair in zip(numbers, usual, strict=True)]
    yield lambda: [signal.getsignal(number) for number in numbers]
    for pair in zip(numbers, before, strict=True):
        signal.signal(*pair)


def test_signals_mean_afterwards_what_they_meant_before(handlers):
    before = handlers()
    with stoppable(process=False):
        stop = handlers()[0]
        assert handlers() == [stop] * 3
        with pytest.raises(KeyboardInterrupt) as stopped:
            stop(signal.SIGTERM, None)
        assert stopped.value.args == (signal.SIGTERM,)
        # What cleans up is not interrupted by a second signal.
        assert handlers() == [signal.SIG_IGN] * 3
    assert handlers() == before


def test_in_another_thread_signals_are_left_alone(capsys):
    codes = []
    thread = threading.Thread(target=lambda: codes.append(main(["--version"])))
    thread.start()
    thread.join(60)
    assert codes == [0]


def test_unfinished_files_are_removed():
    with atomic_output(Path("a.txt")) as temporary:
        assert temporary.exists()
        remove_unfinished()
        assert not temporary.exists()
        temporary.write_text("whole")
    assert Path("a.txt").read_text() == "whole"
    assert files() == ["a.txt", "pipe", "pipe.csv"]
