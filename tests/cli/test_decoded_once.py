"""Every command opens each file once, for its head (of the first) and for its rows."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sqlite3
from collections import Counter
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
import python_calamine
from helpers.cases import for_each
from pyarrow import feather, parquet

import rainproof
from rainproof.cli import main
from rainproof.io import locations, sources, text_files

N = 300
rng = np.random.default_rng(11)
P = rng.random(N).round(3)
Q = (0.1 + 0.8 * P).round(3)
Y = (rng.random(N) < P).astype(int)
CITY = np.array(["Rome", "Oslo", "Bern"])[np.arange(N) % 3]
WHO = np.arange(N) // 2
DAY = np.array([f"2026-03-{1 + k // 60:02d}" for k in range(N)])
HOLES = np.arange(N) % 50 == 7

ONE = ["--prob", "p", "--outcome", "y"]
COMMANDS = {
    "assess": ONE,
    "report": [*ONE, "-o", "report.html"],
    "recalibrate": [*ONE, "-o", "map.json"],
    "policy": [*ONE, "--threshold", "0.3", "-o", "policy.json"],
    "threshold": [*ONE, "--recall", "0.5"],
    "measure": ONE,
    "store": [*ONE, "-o", "sums.parquet"],
    "monitor": [*ONE, "--by", "day"],
    "assess-many": ["--prob", "p", "q", "--outcome", "y"],
    "switch": ["--old", "p", "--new", "q", "--outcome", "y"],
}
BY, GROUPS, DROP = ["--by", "city"], ["--groups", "who"], ["--drop-missing"]
TAKEN = {
    "assess": [BY, GROUPS, [*GROUPS, *BY]],
    "report": [BY],
    "recalibrate": [BY, GROUPS, [*GROUPS, *BY]],
    "policy": [GROUPS],
    "threshold": [GROUPS],
    "measure": [BY],
    "assess-many": [GROUPS],
    "switch": [GROUPS],
}
COMPRESS = ("assess", "report", "recalibrate", "policy", "threshold")  # many rows
# Every pair of a command's options, whether rows are dropped, and whether they are many.
CASES = [
    (
        command,
        [*options, *(DROP if (place + drop) % 2 else [])],
        100 if many and command in COMPRESS else 1 << 18,
    )
    for command in COMMANDS
    for place, options in enumerate(([], *TAKEN.get(command, [])))
    for drop, many in enumerate((False, True))
]

pytestmark = pytest.mark.filterwarnings("ignore::rainproof.FewRowsWarning")


def write(name, part, holes=False):
    lines = [
        f"{'' if holes and HOLES[k] else P[k]},{Q[k]},{Y[k]},{CITY[k]},{WHO[k]},{DAY[k]}\n"
        for k in np.arange(N)[part]
    ]
    Path(name).write_text("p,q,y,city,who,day\n" + "".join(lines))


@pytest.fixture
def read(monkeypatch):
    """Count how often each file is opened, its head is looked at, and its rows are read."""
    found = Counter()

    def count(owner, name, what):
        original = getattr(owner, name)

        def counted(self, *arguments, **options):
            found[Path(self.name).name, what] += 1
            return original(self, *arguments, **options)

        monkeypatch.setattr(owner, name, counted)

    count(locations.Location, "open", "opened")
    count(sources.NamedFile, "head", "head")
    count(sources.NamedFile, "batches", "rows")
    return found


@pytest.fixture
def decoded(read, tmp_path, monkeypatch):
    """The counts, and a folder with files of text in many batches."""
    monkeypatch.chdir(tmp_path)
    for holes, stem in enumerate(("whole", "holes")):
        write(f"{stem}-1.csv", slice(200), bool(holes))
        write(f"{stem}-2.csv", slice(200, None), bool(holes))
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 1024)
    return read


@pytest.mark.parametrize(
    ("command", "options", "many"),
    CASES,
    ids=lambda case: "".join(case) if isinstance(case, list) else str(case),
)
def test_rows_are_read_once(decoded, monkeypatch, capsys, command, options, many):
    monkeypatch.setattr("rainproof.verdict.assessing.MANY_ROWS", many)
    stem = "holes" if "--drop-missing" in options else "whole"
    names = [f"{stem}-{k}.csv" for k in (1, 2)]
    assert main([command, *names, *COMMANDS[command], *options]) == 0
    for name in names:
        assert decoded[name, "opened"] == decoded[name, "rows"] == 1
    told = ("assess", "report", "recalibrate", "assess-many", "switch", "threshold")
    looks_for_ids = command in told and "--groups" not in options
    assert decoded[names[0], "head"] == looks_for_ids
    assert decoded[names[1], "head"] == 0
    note = f"rainproof: note: {HOLES.sum()} of {N} rows have a missing value and are left out\n"
    assert capsys.readouterr().err.count(note) == ("--drop-missing" in options)


def file_of(suffix):
    """Write the rows as a file of a format, and return its name."""
    name = f"rows{suffix}"
    columns = {"p": P, "q": Q, "y": Y, "city": CITY, "who_id": WHO, "amount": 1 + P}
    table = pa.table(columns)
    texts = {
        ".csv": lambda: "".join(
            f"{','.join(map(str, row))}\n"
            for row in [columns, *zip(*columns.values(), strict=True)]
        ),
        ".jsonl": lambda: "".join(f"{json.dumps(row)}\n" for row in table.to_pylist()),
        ".json": lambda: json.dumps(table.to_pylist()),
    }
    if suffix in (".parquet", ".feather"):
        write_typed = parquet.write_table if suffix == ".parquet" else feather.write_feather
        write_typed(table, name)
    elif suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in [columns, *zip(*(column.tolist() for column in columns.values()), strict=True)]:
            book.active.append(list(row))
        book.save(name)
    else:
        data = texts[suffix.removesuffix(".gz")]().encode()
        Path(name).write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    return name


FORMATS = [".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".json", ".parquet", ".feather", ".xlsx"]
GUESSED = {
    # columns are guessed, ids looked for, and costs are compared with the names of columns
    "columns": ["--prob", "p"],
    "costs": ["--prob", "p", "--cost-fp", "1", "--cost-fn", "2", "--capacity", "5%"],
    "costs of each case": ["--prob", "p", "--cost-fp", "1", "--cost-fn", "amount"],
}


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_of_any_format_is_opened_once(read, tmp_path, monkeypatch, suffix):
    monkeypatch.chdir(tmp_path)
    name = file_of(suffix)
    loaded = Counter()
    calamine = python_calamine.load_workbook
    monkeypatch.setattr(
        python_calamine,
        "load_workbook",
        lambda stream: (loaded.update(["workbook"]), calamine(stream))[1],
    )
    for case, options in GUESSED.items():
        read.clear()
        loaded.clear()
        assert main(["assess", name, *options, "--quiet"]) == 0, case
        assert read == {(name, "opened"): 1, (name, "head"): 1, (name, "rows"): 1}, case
        assert loaded["workbook"] == (suffix == ".xlsx"), case
    read.clear()
    rainproof.scan(name)
    assert read == {(name, "opened"): 1, (name, "rows"): 1}


@pytest.mark.parametrize("suffix", FORMATS)
def test_standard_input_is_copied_and_its_copy_opened_once(read, tmp_path, monkeypatch, suffix):
    monkeypatch.chdir(tmp_path)
    data = Path(file_of(suffix)).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(["assess", "-", "--prob", "p", "--cost-fp", "1", "--cost-fn", "2", "--quiet"]) == 0
    assert Counter(what for (_, what) in read.elements()) == {"opened": 1, "head": 1, "rows": 1}


def test_progress_opens_one_parquet_file_once(read, tmp_path, monkeypatch):
    """Of several, the number of rows is read first, as not all of them can be open at once."""
    monkeypatch.chdir(tmp_path)
    name = file_of(".parquet")
    shutil.copy(name, "more.parquet")
    shown = []
    rainproof.scan(name, progress=lambda rows, total: shown.append((rows, total)))
    assert (read[name, "opened"], shown) == (1, [(N, N)])
    shown.clear()
    rainproof.scan("*.parquet", progress=lambda rows, total: shown.append((rows, total)))
    assert shown == [(N, 2 * N), (2 * N, 2 * N)]
    read.clear()
    rainproof.scan("*.parquet")
    assert read[name, "opened"] == read["more.parquet", "opened"] == 1


def test_a_database_answers_one_query_for_its_head(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("rows.db") as database:
        database.execute("CREATE TABLE t (p REAL, y INTEGER, who_id INTEGER)")
        rows = zip(P.tolist(), Y.tolist(), WHO.tolist(), strict=True)
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    database.close()
    asked = []
    table_rows = sources.table_rows

    def counted(address, columns):
        asked.append(columns)
        return table_rows(address, columns)

    monkeypatch.setattr(sources, "table_rows", counted)
    table = "sqlite:///rows.db#t"
    assert main(["assess", table, "--cost-fp", "1", "--cost-fn", "2", "--quiet"]) == 0
    assert asked == [None, ["p", "y"]]


def test_guessing_looks_at_the_head(decoded):
    names = ["whole-1.csv", "whole-2.csv"]
    assert main(["measure", *names, "--prob", "p", "--drop-missing", "--quiet"]) == 0
    assert decoded == {
        ("whole-1.csv", "opened"): 1,
        ("whole-1.csv", "head"): 1,
        ("whole-1.csv", "rows"): 1,
        ("whole-2.csv", "opened"): 1,
        ("whole-2.csv", "rows"): 1,
    }


def test_copies_are_made_in_one_pass(decoded):
    fitted = [*ONE, "--quiet"]
    assert main(["recalibrate", "whole-1.csv", *fitted, *BY, "-o", "map.json"]) == 0
    assert main(["policy", "whole-1.csv", *fitted, "--threshold", "0.3", "-o", "policy.json"]) == 0
    for command in (
        ["apply", "--map", "map.json"],
        ["decide", "--policy", "policy.json", "--id", "who"],
    ):
        decoded.clear()
        assert (
            main(
                [
                    command[0],
                    "whole-2.csv",
                    *command[1:],
                    "--prob",
                    "p",
                    "-o",
                    f"{command[0]}.csv",
                    "--quiet",
                ]
            )
            == 0
        )
        assert decoded == {("whole-2.csv", "opened"): 1, ("whole-2.csv", "rows"): 1}


@for_each("groups", [None, WHO])
def test_segments_of_kept_rows_are_those_of_python(decoded, capsys, groups):
    named = [] if groups is None else GROUPS
    assert main(["assess", "whole-1.csv", "whole-2.csv", *ONE, *BY, *named, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = rainproof.assess(Y, P, by={"city": CITY}, groups=groups, rng=0).to_dict()
    # ids, command lines
    del found["warnings"], expected["warnings"], found["verdict"], expected["verdict"]
    assert found == json.loads(json.dumps(expected))
    fit = [*ONE, *BY, *named, "-o", "map.json", "--quiet"]
    assert main(["recalibrate", "whole-1.csv", "whole-2.csv", *fit]) == 0
    fitted = rainproof.Recalibrator(rng=0).fit(P, Y, by={"city": CITY}, groups=groups)
    assert json.loads(Path("map.json").read_text()) == json.loads(json.dumps(fitted.to_dict()))


@for_each("options", [[], BY, ["--weight", "q", *BY]])
def test_many_rows_without_holes_are_those_of_scan(decoded, capsys, monkeypatch, options):
    """Rows that were kept at first are in the sums, and those with missing values are not."""
    monkeypatch.setattr("rainproof.verdict.assessing.MANY_ROWS", 100)
    assert (
        main(["assess", "holes-1.csv", "holes-2.csv", *ONE, *options, "--drop-missing", "--json"])
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    weight = "q" if "--weight" in options else None
    given = rainproof.scan(
        "holes-*.csv", weight=weight, by="city" if BY[0] in options else None, where="p is not null"
    )
    expected = json.loads(json.dumps(rainproof.assess(given, rng=0).to_dict()))
    for one in (found, expected):
        del one["warnings"], one["verdict"]
    assert found == expected


def test_no_count_of_rows_that_could_not_be_read(decoded, capsys):
    assert main(["measure", "holes-1.csv", "--prob", "p", "--outcome", "z", "--drop-missing"]) == 2
    assert capsys.readouterr().err.startswith("rainproof: error: holes-1.csv has no column 'z'")
