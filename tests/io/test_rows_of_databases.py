"""Commands that need single rows fetch them from databases."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rainproof
from rainproof.cli import main
from rainproof.io.sources import local_sources

rng = np.random.default_rng(15)
N = 400
P = rng.random(N).round(4)
P[:3] = 0, 1, 0.5
Y = (rng.random(N) < P).astype(int)


@pytest.fixture
def database(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("rain.db") as db:
        db.execute('CREATE TABLE "rain drops" (p REAL, y INTEGER, town TEXT, w REAL)')
        rows = [(p, int(y), f"t{i % 50}", 1.0) for i, (p, y) in enumerate(zip(P, Y, strict=True))]
        db.executemany('INSERT INTO "rain drops" VALUES (?, ?, ?, ?)', rows)
    db.close()
    return "sqlite:///rain.db#rain drops"


def test_databases_on_the_command_line(database, tmp_path, capsys):
    table = pa.table({"p": P, "y": Y, "town": [f"t{i % 50}" for i in range(N)], "w": np.ones(N)})
    pq.write_table(table, "rain.parquet")
    for command in (
        ["switch", "--old", "p", "--new", "w", "--groups", "town", "--outcome", "y", "--json"],
        ["measure", "--json", "--by", "town", "--weight", "w"],
        ["measure", "--json", "--drop-missing", "--where", "p > 0.5"],
        ["switch", "--old", "p", "--new", "w", "--outcome", "y", "--json"],
    ):
        columns = [] if "--outcome" in command else ["--prob", "p", "--outcome", "y"]
        found = []
        for source in (database, "rain.parquet"):
            assert main([command[0], source, *columns, *command[1:]]) == 0
            found.append({**json.loads(capsys.readouterr().out), "file": ""})
        assert found[0] == found[1]
    assert main(["measure", database, "--json"]) == 0
    assert (
        capsys.readouterr().err
        == "rainproof: note: taking --prob p --outcome y ('w' could be --outcome too)\n"
    )
    assert main([database, "rain.parquet", "--prob", "p", "--outcome", "y"]) == 2
    assert capsys.readouterr().err == (
        "rainproof: error: the address of a database must be alone, not one of several files\n"
    )
    (tmp_path / "map.json").write_text("{}")
    assert main(["apply", database, "--map", "map.json", "--prob", "p", "-o", "b.csv"]) == 2


def test_rows_of_a_database_have_no_other_conditions(database):

    with pytest.raises(
        rainproof.InputError, match=r"^where must be text for a table of a database"
    ):
        local_sources(database, ["p"], object())
    with pytest.raises(rainproof.InputError, match=r"has no column 'q'"):
        list(local_sources(database, ["q"], None)[0].batches())


def test_rows_of_every_database_on_the_command_line(
    tmp_path, monkeypatch, capsys, postgresql, postgresql_connection
):
    """Rows are fetched, a few at a time, where a command needs single ones."""
    import duckdb

    monkeypatch.setattr("rainproof.io.databases.ROWS_PER_BATCH", 37)
    monkeypatch.chdir(tmp_path)
    pq.write_table(
        pa.table({"p": P, "y": Y == 1, "town": [f"t{i % 50}" for i in range(N)]}), "rows.parquet"
    )
    rows = ", ".join(
        f"({p}, {bool(y)}, 't{i % 50}')" for i, (p, y) in enumerate(zip(P, Y, strict=True))
    )
    make = f"CREATE TABLE drops AS SELECT * FROM (VALUES {rows}) AS t(p, y, town)"
    postgresql_connection.execute(make)
    with duckdb.connect("rain.duckdb") as connection:
        connection.execute(make)
    found = []
    for source in (f"{postgresql}#drops", "duckdb:///rain.duckdb#drops", "rows.parquet"):
        command = [
            "recalibrate",
            source,
            "--prob",
            "p",
            "--outcome",
            "y",
            "--groups",
            "town",
            "-o",
            "map.json",
            "--json",
        ]
        assert main(command) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1] == found[2]
