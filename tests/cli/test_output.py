"""Words for any terminal; progress is for terminals alone."""

from __future__ import annotations

import io
import os
import pty

import pytest

from rainproof.cli.output import say, shown_progress


def test_say_needs_no_encoding():
    stream = io.StringIO()
    say(stream, "é")
    assert stream.getvalue() == "é"


@pytest.fixture
def terminal():
    """A real terminal: a stream to write to, and a function that reads what was shown."""
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:

        def shown():
            """All that arrives, up to a word that is written last."""
            print("<end>", end="", file=stream, flush=True)
            text = ""
            while not text.endswith("<end>"):
                text += os.read(master, 1000).decode()
            return text.removesuffix("<end>")

        yield stream, shown
    os.close(master)


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until the test turns it."""
    times = [100.0]
    monkeypatch.setattr("rainproof.cli.output.time.monotonic", lambda: times[-1])
    return times


def test_progress_overwrites_itself_and_goes_away(terminal, clock):
    stream, shown = terminal
    with shown_progress(stream, patience=0) as progress:
        progress(1000)
        clock.append(100.1)
        progress(2000)  # too soon after the last to be worth a line
        assert shown() == "\r\r1,000 rows read"
        clock.append(100.3)
        progress(3000)
        assert shown() == "\r               \r3,000 rows read"
    assert shown() == "\r               \r"


def test_progress_draws_a_bar_where_the_end_is_known(terminal):
    stream, shown = terminal
    with shown_progress(stream, patience=0) as progress:
        progress(500, 2000)
        assert shown() == "\r\r[#######                       ]  25%  500 rows read"


def test_progress_is_cleared_when_the_read_fails(terminal):
    stream, shown = terminal

    def interrupted():
        with shown_progress(stream, patience=0) as progress:
            progress(5)
            raise KeyboardInterrupt("enough")

    with pytest.raises(KeyboardInterrupt, match=r"^enough$"):
        interrupted()
    assert shown() == "\r\r5 rows read\r           \r"


def test_no_progress_for_what_is_quick_or_quiet_or_no_terminal(terminal, clock):
    stream, shown = terminal
    with shown_progress(stream) as quick, shown_progress(stream, quiet=True, patience=0) as quiet:
        clock.append(101.9)
        quick(10**9)
        assert quiet is None
    assert shown() == ""
    file = io.StringIO()
    with shown_progress(file, patience=0) as redirected, shown_progress(None, patience=0) as closed:
        assert redirected is closed is None
    assert file.getvalue() == ""


def test_progress_of_other_things_than_rows(terminal):
    stream, shown = terminal
    with shown_progress(stream, patience=0, what="steps done") as progress:
        progress(3, 12)
        assert shown().endswith(" steps done")
