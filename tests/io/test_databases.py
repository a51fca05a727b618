"""Addresses, connections and drivers; errors of databases in one line."""

from __future__ import annotations

import re
import sqlite3
import sys
from contextlib import closing

import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main
from rainproof.errors import InputError
from rainproof.io.databases import SCHEMES

ROWS = [(0.1, 0, "no"), (0.8, 1, "yes"), (0.6, 1, "yes"), (0.3, 0, "no")]
ANSWER = "Sample(n=4, events=2, grid=65536)"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "with space.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE predictions (p REAL, y INTEGER, label TEXT, mixed REAL)")
    connection.executemany("INSERT INTO predictions VALUES (?, ?, ?, 1)", ROWS)
    connection.commit()
    connection.close()
    return path


def refused(message, source, *columns, **options):
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        rainproof.scan(source, *columns, **options)
    assert "\n" not in str(caught.value)


def test_a_file_by_its_address(file, monkeypatch):
    assert repr(rainproof.scan(f"sqlite:///{file}#predictions")) == ANSWER
    assert (
        repr(rainproof.scan(rainproof.io.Table(f"SQLite:///{file}", "main.predictions"))) == ANSWER
    )
    monkeypatch.chdir(file.parent)
    assert repr(rainproof.scan(f"sqlite:///{file.name}#predictions")) == ANSWER


def test_a_duckdb_file(tmp_path):
    import duckdb

    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE predictions AS SELECT 0.5::FLOAT AS p, true AS y")
    assert (
        repr(rainproof.scan(f"duckdb:///{path}#predictions")) == "Sample(n=1, events=1, grid=65536)"
    )
    refused("cannot read nothing of duckdb:///", f"duckdb:///{path}#nothing")


def test_a_connection_stays_open(file, postgresql_connection):
    with sqlite3.connect(file) as connection:
        assert repr(rainproof.scan(rainproof.io.Table(connection, "predictions"))) == ANSWER
        assert connection.execute("SELECT COUNT(*) FROM predictions").fetchone() == (4,)
    connection.close()
    postgresql_connection.execute("CREATE TEMPORARY TABLE here AS SELECT 0.5 AS p, true AS y")
    assert (
        repr(rainproof.scan(rainproof.io.Table(postgresql_connection, "here")))
        == "Sample(n=1, events=1, grid=65536)"
    )
    assert not postgresql_connection.closed


class Connection(sqlite3.Connection):
    """Of a driver that nobody knows."""


def test_a_driver_that_nobody_knows_says_its_dialect(file):
    connection = sqlite3.connect(file, factory=Connection)
    refused(
        "dialect must be given: a connection of tests does not",
        rainproof.io.Table(connection, "predictions"),
    )
    assert (
        repr(rainproof.scan(rainproof.io.Table(connection, "predictions", dialect="sqlite")))
        == ANSWER
    )
    connection.close()


def test_arrow_drivers(file, postgresql, postgresql_connection):
    from adbc_driver_postgresql import dbapi as to_postgresql
    from adbc_driver_sqlite import dbapi as to_sqlite

    with to_sqlite.connect(str(file)) as connection:
        assert repr(rainproof.scan(rainproof.io.Table(connection, "predictions"))) == ANSWER
    postgresql_connection.execute("CREATE TABLE for_adbc AS SELECT 0.5::float8 AS p, 1 AS y")
    with to_postgresql.connect(postgresql) as connection:
        table = rainproof.io.Table(connection, "for_adbc", dialect="postgresql")
        assert repr(rainproof.scan(table)) == "Sample(n=1, events=1, grid=65536)"


def test_progress_is_told_once(file):
    seen = []
    rainproof.scan(f"sqlite:///{file}#predictions", progress=lambda *now: seen.append(now))
    assert seen == [(4, 4)]


def test_nothing_can_be_written(file, postgresql, postgresql_connection):
    lite = SCHEMES["sqlite"].connect(f"sqlite:///{file}")
    with closing(lite), pytest.raises(sqlite3.OperationalError, match="readonly"):
        lite.execute("DELETE FROM predictions")
    server = SCHEMES["postgresql"].connect(postgresql)
    with closing(server), pytest.raises(Exception, match="read-only"):
        server.execute("CREATE TABLE never (x integer)")


def test_what_an_address_lacks(file, tmp_path):
    refused(
        "the address of a database must end in # and the name of a table; it is 'sqlite:///a.db'",
        "sqlite:///a.db",
    )
    refused("the address of a database must end in # and the name of a table", "sqlite:///a.db#")
    refused(
        f"there is no file '{tmp_path}/b.db' for the database sqlite",
        f"sqlite:///{tmp_path}/b.db#t",
    )
    refused(
        "the address of a database must begin with postgresql://",
        rainproof.io.Table("mysql://host", "t"),
    )
    refused(f"cannot read t of sqlite:///{file}: no such table: t", f"sqlite:///{file}#t")
    refused("t of sqlite", rainproof.io.Table(f"sqlite:///{file}", ("main", "t")))
    (tmp_path / "c.db").write_text("this is no database, whatever its name says" * 50)
    refused("cannot read t of sqlite", f"sqlite:///{tmp_path}/c.db#t")
    refused("cannot read t of postgresql:///x?host=/nowhere: ", "postgresql:///x?host=/nowhere#t")


def test_what_a_table_lacks(file, postgresql, postgresql_connection):
    name = f"predictions of sqlite:///{file}"
    refused(
        f"{name} has no column 'q'; it has 'p', 'y', 'label', 'mixed'",
        f"sqlite:///{file}#predictions",
        "q",
    )
    refused(f"{name} has no column 'when'", f"sqlite:///{file}#predictions", where='"when" = 1')
    postgresql_connection.execute("CREATE TABLE empty (p real, y integer, t text)")
    refused("has columns but no rows", rainproof.io.Table(postgresql, "empty"))
    refused(
        "t must hold numbers; it holds values of another type",
        rainproof.io.Table(postgresql, "empty"),
        "t",
    )
    refused(
        "t must hold numbers; it holds values of another type",
        rainproof.io.Table(postgresql, "empty"),
        "p",
        "t",
    )


def test_text_among_sqlite_numbers(file):
    """A column of numbers may hold anything there, and a cast would read it as zero."""
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE predictions SET mixed = 'n/a' WHERE y = 1")
    connection.close()
    address = f"sqlite:///{file}#predictions"
    refused("mixed must hold numbers; 2 values do not", address, "mixed")
    refused("mixed must hold numbers; 2 values do not", address, weight="mixed")
    refused("label must hold numbers; 4 values do not", address, "p", "label")
    assert (
        repr(rainproof.scan(address, "p", "label", pos_label="yes", where="mixed = 1 or y = 1"))
        == ANSWER
    )


def test_three_labels(file):
    with sqlite3.connect(file) as connection:
        connection.execute("INSERT INTO predictions VALUES (0.5, 1, 'maybe', 1)")
    connection.close()
    message = "label must hold 'yes' and one other label; it holds 'maybe' and 'no' too"
    refused(message, f"sqlite:///{file}#predictions", "p", "label", pos_label="yes")


def test_a_password_is_not_shown():
    table = rainproof.io.Table("postgresql://me:secret@nowhere.invalid/db", "a.b")
    assert repr(table) == str(table) == "a.b of postgresql://me:***@nowhere.invalid/db"
    with pytest.raises(InputError, match=r"^cannot read a.b of postgresql://me:\*\*\*@") as caught:
        rainproof.scan(table)
    assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match="must end in #") as caught:
        rainproof.scan("postgresql://me:secret@nowhere.invalid/db")
    assert "secret" not in str(caught.value)


def test_missing_drivers_name_their_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    (tmp_path / "a").touch()
    with pytest.raises(
        rainproof.MissingExtraError, match=r"needs psycopg: pip install 'psycopg\[binary\]'$"
    ):
        rainproof.scan("postgresql://host/db#t")
    with pytest.raises(rainproof.MissingExtraError, match=r"needs duckdb: pip install duckdb$"):
        rainproof.scan(f"duckdb:///{tmp_path}/a#t")


@for_each(
    "address",
    [
        "postgresql://me:hunter2@localhost:1/db",
        "postgresql://me:hun/ter2@localhost:1/db",
        "postgresql://me:hun@ter2@localhost:1/db",
        "postgresql://localhost:1/db?password=hunter2",
        "postgresql://me:hunter2@",
        "mysql://me:hunter2@localhost/db",
        "host=localhost dbname=db user=me password=hunter2",
    ],
)
def test_no_message_shows_a_password(address):
    for source in (rainproof.io.Table(address, "t"), f"{address}#t", address):
        assert "ter2" not in repr(source) or source in (address, f"{address}#t")
        with pytest.raises(InputError) as caught:
            rainproof.scan(source)
        assert "hun" not in str(caught.value)
        assert "ter2" not in str(caught.value)


@for_each("secret", ["hunter2", "hun%zzter2", "hun%21ter"])
def test_passwords_are_never_shown(tmp_path, monkeypatch, capsys, secret):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAINPROOF_TRACEBACK", "1")
    address = f"postgresql://me:{secret}@127.0.0.1:1/rain#drops"
    queried = f"postgresql://127.0.0.1:1/rain?user=me&password={secret}#drops"
    for source in (address, queried):
        for command in (["measure", source, "--prob", "p", "--outcome", "y", "--json"], [source]):
            assert main(command) == 2
            out, err = capsys.readouterr()
            assert "***" in err
            for hidden in (secret, "hunter", "hun!ter", "zzter"):
                assert hidden not in out + err
        with pytest.raises(rainproof.InputError) as caught:
            rainproof.scan(source)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
