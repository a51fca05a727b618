"""A file that one process at a time may hold."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from rainproof import InputError
from rainproof.core.files import locked


def test_a_second_holder_is_refused_until_the_first_lets_go(tmp_path):
    path = tmp_path / "state.lock"
    with (
        locked(path),
        pytest.raises(InputError, match=r"cannot lock .*state\.lock: is another process at work\?"),
    ):
        locked(path)
    with locked(path):
        assert path.exists()


def test_a_file_that_cannot_be_made(tmp_path):
    with pytest.raises(InputError, match="cannot write"):
        locked(tmp_path / "gone" / "state.lock")


def test_on_windows(tmp_path, monkeypatch):
    calls = []

    def locking(descriptor, mode, size):
        calls.append((mode, size))
        if len(calls) > 1:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    with locked(tmp_path / "one.lock"), pytest.raises(InputError, match="Permission denied"):
        locked(tmp_path / "one.lock")
    assert calls == [(2, 1), (2, 1)]
