"""A fault of rainproof's own: one line and an exit code that means nothing else, not a
traceback.
"""

from __future__ import annotations

import pytest

from rainproof.cli import main, measuring

COMMAND = ["store", "a.csv", "--prob", "p", "--outcome", "y", "-o", "a.parquet"]


@pytest.fixture
def broken(monkeypatch):
    def read(*_, **__):
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr(measuring, "read", read)


def test_it_is_said_in_one_line(broken, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(COMMAND) == 70
    said = capsys.readouterr().err
    assert said.startswith("rainproof: error: unforeseen RuntimeError: first line")
    assert said.count("\n") == 1


def test_the_traceback_is_there_for_who_asks(broken, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAINPROOF_TRACEBACK", "1")
    with pytest.raises(RuntimeError, match="first line"):
        main(COMMAND)
