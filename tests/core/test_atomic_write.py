"""Files are written completely or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from helpers.cases import for_each

import rainproof
from rainproof.core.files import atomic_output, check_output, write_atomic


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_whole(tmp_path):
    target = tmp_path / "a.json"
    write_atomic(target, "old")
    write_atomic(target, "new é\n")
    assert target.read_text(encoding="utf-8") == "new é\n"
    assert names(tmp_path) == ["a.json"]


def test_a_file_has_the_permissions_of_any_new_file(tmp_path):
    write_atomic(tmp_path / "a.json", "")
    (tmp_path / "b.json").write_text("")
    assert stat.filemode((tmp_path / "a.json").stat().st_mode) == stat.filemode(
        (tmp_path / "b.json").stat().st_mode
    )


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link.json").symlink_to("there/a.json")
    check_output(tmp_path / "link.json", tmp_path / "rain.csv")
    write_atomic(tmp_path / "link.json", "text")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "there" / "a.json").read_text() == "text"
    assert names(tmp_path / "there") == ["a.json"]


def test_what_fails_halfway_leaves_nothing(tmp_path):
    """A folder cannot be replaced by a file, and a lone surrogate cannot be written."""
    (tmp_path / "a.json").mkdir()
    with pytest.raises(rainproof.InputError, match=r"^cannot write .*a\.json: Is a directory$"):
        write_atomic(tmp_path / "a.json", "text")
    (tmp_path / "b.json").write_text("old")
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        write_atomic(tmp_path / "b.json", "half \udcff")
    assert names(tmp_path) == ["a.json", "b.json"]
    assert (tmp_path / "b.json").read_text() == "old"


def test_a_check_leaves_no_trace(tmp_path):
    (tmp_path / "old.json").write_text("old")
    check_output(tmp_path / "old.json", tmp_path / "rain.csv")
    check_output(tmp_path / "new.json", tmp_path / "rain.csv")
    assert names(tmp_path) == ["old.json"]
    assert (tmp_path / "old.json").read_text() == "old"


def test_a_check_knows_every_source(tmp_path):
    for name in ("a.csv", "policy.json"):
        (tmp_path / name).write_text("old")
    with pytest.raises(
        rainproof.InputError,
        match=r"policy\.json is the file to read: the result would overwrite it$",
    ):
        check_output(tmp_path / "policy.json", tmp_path / "a.csv", tmp_path / "policy.json")


def test_what_another_run_left_behind_is_in_nobodys_way(tmp_path):
    """A run that was killed leaves its temporary file; the next one takes another name."""
    with atomic_output(tmp_path / "a.json") as first, atomic_output(tmp_path / "a.json") as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert (tmp_path / "a.json").read_text() == "first"
    assert names(tmp_path) == ["a.json"]


def test_an_error_inside_is_passed_on_and_leaves_what_was(tmp_path):
    (tmp_path / "a.json").write_text("old")

    def fail():
        with atomic_output(tmp_path / "a.json") as temporary:
            temporary.write_text("half")
            raise OSError(5, "of the reader")

    with pytest.raises(OSError, match="of the reader"):
        fail()
    assert names(tmp_path) == ["a.json"]
    assert (tmp_path / "a.json").read_text() == "old"


def test_where_the_program_itself_writes_is_refused(tmp_path):
    """A log that standard output is appended to would lose what it holds."""
    log = tmp_path / "log"
    log.write_text("precious")
    kept = os.dup(1)
    try:
        with log.open("a") as file:
            os.dup2(file.fileno(), 1)
        with pytest.raises(
            rainproof.InputError, match=r"log: standard output or error is redirected to it$"
        ):
            check_output(log)
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    assert log.read_text() == "precious"


def test_a_loop_of_links_is_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(rainproof.InputError, match=r"^cannot write .*a: "):
        check_output(tmp_path / "a")
    with (
        pytest.raises(rainproof.InputError, match=r"^cannot write .*a: "),
        atomic_output(tmp_path / "a"),
    ):
        pass


@for_each("mode", [0o600, 0o664, 0o444])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    target = tmp_path / "a.json"
    target.write_text("old")
    target.chmod(mode)
    with atomic_output(target) as temporary:
        # also while it is written
        assert not stat.S_IMODE(temporary.stat().st_mode) & ~(mode | 0o600)
        temporary.write_text("new")
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_a_name_that_no_file_can_have_is_refused():
    with pytest.raises(
        rainproof.InputError, match=r"^cannot write a\\x00b: .*null (byte|character)"
    ):
        write_atomic(Path("a\0b"), "")
    with pytest.raises(
        rainproof.InputError, match=r"^cannot read a\\x00b: .*null (byte|character)"
    ):
        rainproof.load("a\0b")
