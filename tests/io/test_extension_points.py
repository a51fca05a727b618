"""A new file format, container, dialect or database is one entry in one table."""

from __future__ import annotations

import sqlite3
import sys
from types import ModuleType

import pyarrow as pa
import pytest

import rainproof
from rainproof.cli import main
from rainproof.io import containers, databases, dialects, formats
from rainproof.io.new_columns import append_columns

P, Y = [0.25, 0.5, 0.75], [0, 1, 1]


@pytest.fixture
def pipes(monkeypatch):
    """Text whose columns are separated by pipes, in files called .psv."""
    added = formats.text_format("PSV", ".psv", "|")
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, added))


@pytest.mark.usefixtures("pipes")
def test_a_file_format(tmp_path, capsys):
    path, output = tmp_path / "a.psv", tmp_path / "b.psv"
    path.write_text("p|y\n0.25|0\n0.5|1\n")
    assert repr(rainproof.scan(path)) == "Sample(n=2, events=1, grid=65536)"
    assert (
        append_columns(path, output, prob="p", ids=None, new_columns={"double": lambda p, _: 2 * p})
        == 2
    )
    assert output.read_text() == "p|y|double\n0.25|0|0.5\n0.5|1|1\n"
    with pytest.raises(
        rainproof.InputError,
        match=r"^the name of the file must end in .*, \.psv or \.psv\.gz; it is 'a\.b'",
    ):
        rainproof.scan("a.b")
    assert main(["store", "--help"]) == 0
    assert "PSV (.psv, .psv.gz)" in " ".join(capsys.readouterr().out.split())


def test_a_container(monkeypatch):
    class Rows:
        """Of a library that nobody has written."""

        def __init__(self, columns):
            self.columns = columns

    library = ModuleType("rowlib")
    library.Rows = Rows
    monkeypatch.setitem(sys.modules, "rowlib", library)

    def read(source, columns, native):
        yield pa.record_batch({name: source.columns[name] for name in columns})

    added = containers.Container("rowlib", "Rows", "the rows", lambda source: source.columns, read)
    monkeypatch.setattr(containers, "CONTAINERS", (*containers.CONTAINERS, added))
    assert repr(rainproof.scan(Rows({"p": P, "y": Y}))) == "Sample(n=3, events=2, grid=65536)"


@pytest.fixture
def brackets(monkeypatch):
    """SQLite in other words."""
    entry = dialects.Dialect(
        name="brackets", quote="`", double="({} + 0.0)", floor="CAST({} AS INTEGER)", is_nan=None
    )
    monkeypatch.setitem(dialects.DIALECTS, "brackets", entry)


@pytest.mark.usefixtures("brackets")
def test_a_dialect_and_a_database(monkeypatch):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE predictions (p REAL, y INTEGER)")
    connection.executemany("INSERT INTO predictions VALUES (?, ?)", zip(P, Y, strict=True))
    statement = rainproof.io.sql("predictions", "p", "y", dialect="brackets")
    assert "FROM `predictions`" in statement
    assert (
        repr(rainproof.Sample.from_table(connection.execute(statement)))
        == "Sample(n=3, events=2, grid=65536)"
    )
    monkeypatch.setitem(
        databases.SCHEMES, "brackets", databases.Scheme("brackets", lambda address: connection)
    )
    assert (
        repr(rainproof.scan("brackets://here#predictions")) == "Sample(n=3, events=2, grid=65536)"
    )


def test_the_documentation_of_sql_names_every_dialect():
    (line,) = [
        line
        for line in rainproof.io.sql.__doc__.splitlines()
        if line.strip().startswith("dialect : ")
    ]
    assert line.strip() == f"dialect : {{{', '.join(map(repr, dialects.DIALECTS))}}}"


def test_the_documentation_of_scan_names_every_format():
    for one in formats.FORMATS:
        for suffix in one.suffixes:
            assert suffix in rainproof.scan.__doc__
