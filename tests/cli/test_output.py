"""Files are written whole or not at all; progress is for terminals alone."""

from __future__ import annotations

import io
import os
import pty
import select
import stat

import pytest

import brolly
from brolly.cli.output import check_output, say, write_whole
from brolly.cli.progress import Progress


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_whole(tmp_path):
    target = tmp_path / "a.json"
    write_whole(target, "old")
    write_whole(target, "new é\n")
    assert target.read_text(encoding="utf-8") == "new é\n"
    assert names(tmp_path) == ["a.json"]


def test_a_file_has_the_permissions_of_any_new_file(tmp_path):
    write_whole(tmp_path / "a.json", "")
    (tmp_path / "b.json").write_text("")
    assert stat.filemode((tmp_path / "a.json").stat().st_mode) == stat.filemode((tmp_path / "b.json").stat().st_mode)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link.json").symlink_to("there/a.json")
    check_output(tmp_path / "link.json", tmp_path / "rain.csv")
    write_whole(tmp_path / "link.json", "text")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "there" / "a.json").read_text() == "text"
    assert names(tmp_path / "there") == ["a.json"]


def test_what_fails_halfway_leaves_nothing(tmp_path):
    """A folder cannot be replaced by a file, and a lone surrogate cannot be written."""
    (tmp_path / "a.json").mkdir()
    with pytest.raises(brolly.InputError, match=r"^cannot write .*a\.json: Is a directory$"):
        write_whole(tmp_path / "a.json", "text")
    (tmp_path / "b.json").write_text("old")
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        write_whole(tmp_path / "b.json", "half \udcff")
    assert names(tmp_path) == ["a.json", "b.json"]
    assert (tmp_path / "b.json").read_text() == "old"


def test_a_check_leaves_no_trace(tmp_path):
    (tmp_path / "old.json").write_text("old")
    check_output(tmp_path / "old.json", tmp_path / "rain.csv")
    check_output(tmp_path / "new.json", tmp_path / "rain.csv")
    assert names(tmp_path) == ["old.json"]
    assert (tmp_path / "old.json").read_text() == "old"


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
            """All that arrives, until nothing has for a while."""
            text = ""
            while select.select([master], [], [], 0.2)[0]:
                text += os.read(master, 1000).decode()
            return text

        yield stream, shown
    os.close(master)


def test_progress_overwrites_itself_and_goes_away(terminal):
    stream, shown = terminal
    with Progress(stream, patience=0) as progress:
        progress(1000)
        progress(2000)  # too soon after the last to be worth a line
        assert shown() == "\r\r1,000 rows read"
    assert shown() == "\r               \r"


def test_progress_is_cleared_when_the_read_fails(terminal):
    stream, shown = terminal

    def interrupted():
        with Progress(stream, patience=0) as progress:
            progress(5)
            raise KeyboardInterrupt("enough")

    with pytest.raises(KeyboardInterrupt, match=r"^enough$"):
        interrupted()
    assert shown() == "\r\r5 rows read\r           \r"


def test_no_progress_for_what_is_quick_or_quiet_or_no_terminal(terminal):
    stream, shown = terminal
    with Progress(stream) as quick, Progress(stream, quiet=True, patience=0) as quiet:
        quick(10**9)
        quiet(10**9)
    assert shown() == ""
    file = io.StringIO()
    with Progress(file, patience=0) as redirected, Progress(None, patience=0) as closed:
        redirected(10**9)
        closed(10**9)
    assert file.getvalue() == ""
