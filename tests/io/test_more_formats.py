"""JSON lines, spreadsheets, tables of databases and objects of stores give the sample of their
rows.
"""

from __future__ import annotations

import datetime
import gzip
import io
import json
import sqlite3
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main
from rainproof.io import json_files, spreadsheets
from rainproof.io.new_columns import append_columns

rng = np.random.default_rng(15)
N = 400
P = rng.random(N).round(4)
P[:3] = 0, 1, 0.5
Y = (rng.random(N) < P).astype(int)
EXPECTED = rainproof.Sample(Y, P).compress()


def assert_same(sample, expected=EXPECTED):
    for name in ("y_true", "y_prob", "sample_weight", "counts"):
        np.testing.assert_array_equal(getattr(sample, name), getattr(expected, name), strict=True)


def lines(*rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows)


@for_each("name", ["a.jsonl", "a.ndjson.gz"])
def test_json_lines(tmp_path, monkeypatch, name):
    monkeypatch.setattr(json_files, "ROWS_PER_BATCH", 7)
    kinds = (lambda p: p, str, lambda p: f"{100 * p:.2f}%", lambda p: f"{p:.4f}".replace(".", ","))
    rows = [
        {"q": {"deep": [1]}, "y": bool(y), "p": kinds[i % 4](p)}
        for i, (p, y) in enumerate(zip(P, Y, strict=True))
    ]
    data = ("\n" + lines(*rows).rstrip("\n")).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert_same(rainproof.scan(path))


def test_json_lines_that_are_wrong(tmp_path):
    path = tmp_path / "a.jsonl"
    for text, message in {
        '{"p": 0.5, "y": 1}\n\n{"p": 0.5\n': r"line 3 of .*a\.jsonl must be JSON: ",
        "[0.5, 1]\n": r'entry 0 of .*a\.jsonl must be a JSON object such as \{"p": 0\.7, "y": 1\}',
        '{"p": 0.5}\n': r"a\.jsonl has no column 'y'; it has 'p'",
        '{"p": 0.5, "y": 1}\n{"y": 1}\n': r"p must not contain nulls .* the first is p\[1\]",
        '{"p": [0.5], "y": 1}\n': r"p must hold numbers; it holds values of type list",
        '{"p": "soon", "y": 1}\n{"p": 0.5, "y": 1}\n': r"p must hold numbers; 1 value .* p\[0\] = 'soon'",
        "": r"a\.jsonl is empty",
    }.items():
        path.write_text(text)
        with pytest.raises(rainproof.InputError, match=message):
            rainproof.scan(path)
    path.write_text(lines({"p": 0.5, "y": 2}, {"p": 0.25, "y": 1}))
    assert rainproof.scan(path, pos_label="2").event_rate == 0.5
    assert rainproof.scan(path, pos_label=2).event_rate == 0.5


def test_json_lines_are_copied_with_their_types(tmp_path):
    rows = [{"p": 0.5, "n": 2, "s": "x", "l": [1, 2], "b": True}, {"p": None, "n": None, "s": "é"}]
    (tmp_path / "a.jsonl").write_text(lines(*rows))
    double = {"twice": lambda p, _: 2 * p}
    for name in ("b.jsonl", "b.jsonl.gz"):
        assert (
            append_columns(
                tmp_path / "a.jsonl",
                tmp_path / name,
                prob="p",
                new_columns=double,
                keep_missing=True,
            )
            == 2
        )
        data = (tmp_path / name).read_bytes()
        found = (gzip.decompress(data) if name.endswith(".gz") else data).decode().splitlines()
        assert json.loads(found[0]) == {**rows[0], "twice": 1.0}
        assert json.loads(found[1]) == {**rows[1], "l": None, "b": None, "twice": None}


def spreadsheet(path, rows, state="visible"):
    book = openpyxl.Workbook()
    book.active.title = "Old"
    book.active.sheet_state = state
    for row in rows:
        book.active.append(row)
    book.create_sheet("another").append(["not", "read"])
    book.active = 1
    book.save(path)


def test_spreadsheets(tmp_path, monkeypatch):
    monkeypatch.setattr(spreadsheets, "ROWS_PER_BATCH", 50)
    day = datetime.date(2026, 1, 2)
    rows = [[day, float(p), int(y), i % 2] for i, (p, y) in enumerate(zip(P, Y, strict=True))]
    spreadsheet(tmp_path / "a.xlsx", [["day", "p", "y", "g"], *rows[:9], [], *rows[9:]])
    assert_same(rainproof.scan(tmp_path / "a.xlsx"))
    assert rainproof.scan(tmp_path / "a.xlsx", by="g").counts == {0: 200, 1: 200}
    append_columns(
        tmp_path / "a.xlsx", tmp_path / "b.csv", prob="p", new_columns={"twice": lambda p, _: 2 * p}
    )
    assert (tmp_path / "b.csv").read_text().splitlines()[3] == f"2026-01-02,0.5,{Y[2]},0,1"


@for_each("state", ["hidden", "veryHidden"])
def test_a_hidden_first_sheet_is_named(tmp_path, monkeypatch, capsys, state):
    monkeypatch.chdir(tmp_path)
    spreadsheet("a.xlsx", [["p", "y"], [0.5, 1], [0.2, 0]], state)
    with pytest.warns(
        rainproof.RainproofWarning, match=r"^the first sheet of a.xlsx, 'Old', is hidden; its rows"
    ):
        assert rainproof.scan("a.xlsx").n == 2
    assert main(["measure", "a.xlsx"]) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "hidden" in line]
    assert notes == [
        "rainproof: note: the first sheet of a.xlsx, 'Old', is hidden; its rows are read"
    ]


def test_labels_of_a_spreadsheet_keep_their_form(tmp_path):
    values = [5, 5.5, datetime.date(2026, 3, 2), datetime.datetime(2026, 3, 2, 14, 5), "a", 5]
    spreadsheet(tmp_path / "a.xlsx", [["p", "y", "g"], *([0.5, 1, value] for value in values)])
    labels = {"5": 2, "5.5": 1, "2026-03-02": 1, "2026-03-02 14:05:00": 1, "a": 1}
    assert rainproof.scan(tmp_path / "a.xlsx", by="g").counts == labels
    mixed = [datetime.date(2026, 3, 2), 5, 5]  # Arrow takes 5 among dates for the sixth day of 1970
    spreadsheet(tmp_path / "b.xlsx", [["p", "y", "g"], *([0.5, 1, value] for value in mixed)])
    assert rainproof.scan(tmp_path / "b.xlsx", by="g").counts == {"2026-03-02": 1, "5": 2}


def test_spreadsheets_that_are_wrong(tmp_path, monkeypatch):
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"no spreadsheet")
    with pytest.raises(rainproof.InputError, match=r"^cannot read .*a\.xlsx: "):
        rainproof.scan(path)
    spreadsheet(path, [])
    with pytest.raises(rainproof.InputError, match=r"^the first sheet of .*a\.xlsx is empty$"):
        rainproof.scan(path)
    spreadsheet(path, [["p", "y"], [0.5, 1], [None, 0]])
    with pytest.raises(rainproof.InputError, match=r"the first is p\[1\]$"):
        rainproof.scan(path)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(
        rainproof.MissingExtraError,
        match=r"^reading a spreadsheet needs python-calamine: pip install python-calamine$",
    ):
        rainproof.scan(path)


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
    from rainproof.io.sources import local_sources

    with pytest.raises(
        rainproof.InputError, match=r"^where must be text for a table of a database"
    ):
        local_sources(database, ["p"], object())
    with pytest.raises(rainproof.InputError, match=r"has no column 'q'"):
        list(local_sources(database, ["q"], None)[0].batches())


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


class Store(BaseHTTPRequestHandler):
    """The least of S3: objects that are listed, described and read in part."""

    objects: dict[str, bytes] = {}  # noqa: RUF012 - one server in the process

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, body):
        path, _, query = self.path.partition("?")
        if "list-type" in query:
            listed = "".join(
                f"<Contents><Key>{k}</Key><Size>{len(v)}</Size></Contents>"
                for k, v in self.objects.items()
            )
            data, code = (
                f"<ListBucketResult><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>".encode(),
                200,
            )
        else:
            data = self.objects.get(path.removeprefix("/bucket/"))
            code = 404 if data is None else 200
        data = data or b""
        part = self.headers.get("Range", "")
        if code == 200 and part:
            first, last = (int(x) for x in part.removeprefix("bytes=").split("-"))
            data, code = data[first : last + 1], 206
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def store(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    buffer = io.BytesIO()
    pq.write_table(pa.table({"p": P, "y": Y}), buffer)
    rows = "p,y\n" + "".join(f"{p},{y}\n" for p, y in zip(P, Y, strict=True))
    Store.objects = {
        "day/a.parquet": buffer.getvalue(),
        "day/b.csv.gz": gzip.compress(rows.encode()),
        "c.jsonl": b"{}",
    }
    yield f"?endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=us-east-1"
    server.shutdown()
    server.server_close()


def test_objects_of_a_store(store, capsys):
    for name in ("day/a.parquet", "day/b.csv.gz"):
        assert_same(rainproof.scan(f"s3://key:sesame@bucket/{name}{store}"))
    assert_same(rainproof.scan(f"s3://key:sesame@bucket/day/*.parquet{store}"))
    assert (
        main(
            [
                "measure",
                f"s3://key:sesame@bucket/day/b.csv.gz{store}",
                "--prob",
                "p",
                "--outcome",
                "y",
                "--json",
            ]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["file"].startswith(
        "s3://key:***@bucket/day/b.csv.gz?"
    )
    with pytest.raises(
        rainproof.InputError, match=r"^no file matches 's3://key:\*\*\*@bucket/day/\*\.feather"
    ):
        rainproof.scan(f"s3://key:sesame@bucket/day/*.feather{store}")
    with pytest.raises(
        rainproof.InputError, match=r"^s3://key:\*\*\*@bucket/c\.jsonl\S* has no column 'p'"
    ):
        rainproof.scan(f"s3://key:sesame@bucket/c.jsonl{store}")


def test_stores_that_cannot_be_read(store, monkeypatch):
    with pytest.raises(
        rainproof.InputError,
        match=r"^cannot read s3://key:\*\*\*@bucket/gone.* \(credentials are taken",
    ):
        rainproof.scan(f"s3://key:sesame@bucket/gone.parquet{store}")
    closed = "?endpoint_override=127.0.0.1:9&scheme=http&region=us-east-1"
    with pytest.raises(
        rainproof.InputError, match=r"^cannot read s3://.*AWS_ACCESS_KEY_ID"
    ) as caught:
        rainproof.scan(f"s3://key:sesame@bucket/*.parquet{closed}")
    assert "sesame" not in str(caught.value)
    with pytest.raises(
        rainproof.InputError,
        match=r"^cannot read abfs://box/a\.parquet: .*account.* AZURE_CLIENT_ID",
    ):
        rainproof.scan("abfs://box/a.parquet")


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
