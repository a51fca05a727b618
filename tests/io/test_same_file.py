"""A file that is named twice, under any name, would be counted twice: it is refused."""

from __future__ import annotations

import os

import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main
from rainproof.io.kept_rows import keep_rows


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("t.csv", "u.csv"):
        (tmp_path / name).write_text("p,y\n0.5,1\n0.2,0\n")
    (tmp_path / "soft.csv").symlink_to("t.csv")
    os.link("t.csv", "hard.csv")
    return tmp_path


@for_each(
    "names, second",
    [
        (["t.csv", "t.csv"], "t.csv"),
        (["t.csv", "./t.csv"], "./t.csv"),
        (["t.csv", "soft.csv"], "soft.csv"),
        (["t.csv", "hard.csv"], "hard.csv"),
        (["t.csv", "t*.csv"], "t.csv"),
    ],
)
def test_the_same_file_twice_is_refused(folder, names, second):
    message = f"^t.csv and {second} are the same file: its rows would count twice; name it once$"
    for read in (rainproof.scan, lambda source: keep_rows(source, "p", "y")):
        with pytest.raises(rainproof.InputError, match=message):
            read(names)


def test_an_absolute_path_is_the_same_file(folder):
    with pytest.raises(rainproof.InputError, match="are the same file"):
        rainproof.scan(["t.csv", folder / "t.csv"])


def test_the_same_object_twice_is_refused():
    with pytest.raises(rainproof.InputError, match="are the same file"):
        rainproof.scan(["s3://bucket/t.csv", "s3://bucket/t.csv"])


def test_equal_files_are_not_the_same(folder):
    assert rainproof.scan(["t.csv", "u.csv"]).n == 4


def test_a_missing_file_is_said_to_be_missing(folder):
    with pytest.raises(rainproof.InputError, match=r"cannot read none.csv"):
        rainproof.scan(["none.csv", "t.csv"])


def test_commands_refuse_it(folder, capsys):
    assert main(["measure", "t.csv", "soft.csv", "--prob", "p", "--outcome", "y"]) == 2
    assert "t.csv and soft.csv are the same file" in capsys.readouterr().err


def test_a_stored_sample_with_two_names_in_a_folder_is_refused(tmp_path, capsys):
    """A link "latest" to a day would be another day."""
    for name in ("2026-03-01", "2026-03-02"):
        rainproof.Sample([0, 1], [0.2, 0.7]).save(tmp_path / f"{name}.parquet")
    assert len(rainproof.load(tmp_path)) == 2
    (tmp_path / "latest.parquet").symlink_to("2026-03-02.parquet")
    message = r"2026-03-02.parquet and .*latest.parquet are the same file"
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.load(tmp_path)
    assert main(["monitor", str(tmp_path)]) == 2
    assert "are the same file" in capsys.readouterr().err
