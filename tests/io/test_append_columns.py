"""The output has all rows unchanged and the new columns beside them, or it is not written."""

from __future__ import annotations

import csv
import gzip
import re
import resource
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each
from helpers.file_writing import write_csv, write_parquet

import rainproof
from rainproof.cli import main
from rainproof.io import arrow_files, text_files
from rainproof.io.new_columns import append_columns

N = 300
rng = np.random.default_rng(4)
P = rng.random(N).round(5)
P[:3] = 0.0, 1.0, 0.5
IDS = [f"case {i}" if i % 3 else str(i) for i in range(N)]
POLICY = rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.35), 8, seed=5)
ANSWERS = {"action": POLICY.decide, "rounded": POLICY.round}
SUFFIXES = ["csv", "csv.gz", "tsv", "tsv.gz", "parquet", "pq"]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 256)
    monkeypatch.setattr(arrow_files, "PARQUET_ROWS_PER_BATCH", 7)


def write(path, **columns):
    if path.suffix in (".parquet", ".pq"):
        return write_parquet(path, **columns)
    return write_csv(path, sep="\t" if ".tsv" in path.name else ",", **columns)


def read(path):
    """Columns as lists of text."""
    if path.suffix in (".parquet", ".pq"):
        return {
            name: list(map(str, values)) for name, values in pq.read_table(path).to_pydict().items()
        }
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    header, *rows = csv.reader(
        raw.decode().splitlines(), delimiter="\t" if ".tsv" in path.name else ","
    )
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


@for_each("source", SUFFIXES)
@for_each("target", SUFFIXES)
def test_rows_are_kept_and_answers_added(tmp_path, source, target):
    folder = tmp_path / f"{source} to {target}"
    folder.mkdir()
    file = write(folder / f"in.{source}", day=np.arange(N), p=P, who=IDS)
    seen = []
    out = folder / f"out.{target}"
    assert (
        append_columns(file, out, prob="p", ids="who", new_columns=ANSWERS, progress=seen.append)
        == N
    )
    assert len(seen) > 5
    found = read(out)
    assert list(found) == ["day", "p", "who", "action", "rounded"]
    assert found["day"] == [str(i) for i in range(N)]
    assert found["who"] == IDS
    assert list(map(float, found["p"])) == P.tolist()
    assert found["action"] == POLICY.decide(P, IDS).tolist()
    assert list(map(float, found["rounded"])) == POLICY.round(P, IDS).tolist()
    assert sorted(path.name for path in folder.iterdir()) == sorted([file.name, out.name])


def test_numbers_that_are_ids_agree_between_text_and_types(tmp_path):
    """5 in a text file and 5 in a typed one are one id."""
    ids = np.arange(N) * 10**15 - 10**17
    expected = POLICY.decide(P, ids).tolist()
    for name in ("a.csv", "a.parquet"):
        append_columns(
            write(tmp_path / name, p=P, i=ids),
            tmp_path / f"out {name}",
            prob="p",
            ids="i",
            new_columns=ANSWERS,
        )
        assert read(tmp_path / f"out {name}")["action"] == expected


def test_text_is_kept_letter_by_letter(tmp_path):
    """Spellings of numbers, spaces, quotes, separators, line ends, words that mean a missing value,
    repeated names.
    """
    text = (
        'p,who,x,x,"a ""name"", quoted"\n 0.50,a,NA,"1,5","two\nlines"\n5e-1,b,,"say '
        '""hi""",null\n+0.5,c,007, é,""\n'
    )
    (tmp_path / "a.csv").write_bytes(text.encode())
    policy = rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.35), 8, rounding="hard")
    append_columns(
        tmp_path / "a.csv",
        tmp_path / "b.csv",
        prob="p",
        ids="who",
        new_columns={"action": policy.decide},
    )
    expected = 'p,who,x,x,"a ""name"", quoted",action\n 0.50,a,NA,"1,5","two\nlines",act\n'
    expected += '5e-1,b,,"say ""hi""",null,act\n+0.5,c,007, é,,act\n'
    assert (tmp_path / "b.csv").read_bytes() == expected.encode()


def test_types_are_kept_in_parquet(tmp_path):
    table = pa.table(
        {
            "p": pa.array([0.1, 0.9], pa.float32()),
            "i": pa.array([1, 2], pa.uint64()),
            "l": [[1], [2, 3]],
            "d": pa.array(["x", None]).dictionary_encode(),
            "t": pa.array([0, 1], pa.timestamp("us", "UTC")),
        },
        metadata={"made": "by hand"},
    )
    pq.write_table(table, tmp_path / "a.parquet")
    append_columns(
        tmp_path / "a.parquet", tmp_path / "b.pq", prob="p", ids="i", new_columns=ANSWERS
    )
    found = pq.read_table(tmp_path / "b.pq")
    assert found.select(table.column_names).equals(table)
    assert found.schema.field("action").type == pa.string()
    assert found.schema.metadata[b"made"] == b"by hand"
    message = r"^l cannot be written as text: it holds values of type list<element: int64>$"
    with pytest.raises(rainproof.InputError, match=message):
        append_columns(
            tmp_path / "a.parquet", tmp_path / "b.csv", prob="p", ids="i", new_columns=ANSWERS
        )
    assert not (tmp_path / "b.csv").exists()


def test_without_a_column_of_ids(tmp_path):
    policy = rainproof.RoundingPolicy(rainproof.DecisionTask.quadratic(), 8, rounding="hard")
    file = write_csv(tmp_path / "a.csv", p=P)
    append_columns(file, tmp_path / "b.tsv", prob="p", ids=None, new_columns={"a": policy.decide})
    assert list(map(float, read(tmp_path / "b.tsv")["a"])) == (np.floor(8 * P) / 8).tolist()


def test_the_same_rows_make_the_same_compressed_file(tmp_path):
    file = write_csv(tmp_path / "a.csv", p=P, i=IDS)
    for name in ("b.csv.gz", "c.csv.gz"):
        append_columns(file, tmp_path / name, prob="p", ids="i", new_columns=ANSWERS)
    assert (tmp_path / "b.csv.gz").read_bytes() == (tmp_path / "c.csv.gz").read_bytes()


# What goes wrong.


def put(values, **at):
    values = list(values)
    for row, value in at.items():
        values[int(row.removeprefix("row"))] = value
    return values


WRONG = {
    "above one": (
        {"p": put(P, row17=1.5, row250=-1.0)},
        "p must lie in [0, 1]; 2 values do not, the first is p[17] = 1.5",
    ),
    "late": (
        {"p": put(P, row299=1.5)},
        "p must lie in [0, 1]; 1 value does not, the first is p[299] = 1.5",
    ),
    "no id": (
        {"who": put(IDS, row40=None, row290=None), "p": put(P, row200=1.5)},
        "who must not contain nulls (missing values); 2 values do, the first is who[40]",
    ),
    "no prediction": (
        {"p": put(P, row40=None, row41=None, row299=None)},
        "p must not contain nulls (missing values); 3 values do, the first is p[40]",
    ),
    "words": (
        {"p": ["high"] * N},
        "p must hold numbers; it holds text such as 'high'; if these words say how likely it "
        "is, pass confidence_words={...}",
    ),
    "there already": (
        {"action": [1] * N},
        "{} has a column 'action' already: rename it, as the new one is called so",
    ),
}


@for_each("case", WRONG)
@for_each("name", ["a.csv", "a.parquet"])
def test_bad_values_leave_what_was_there(tmp_path, name, case):
    """The words are those of `rainproof assess`, counted over the whole file."""
    columns, message = WRONG[case]
    columns = {"p": P, "who": IDS, **columns}
    if name == "a.csv":
        columns = {key: ["" if v is None else v for v in values] for key, values in columns.items()}
    folder = tmp_path / f"{case} in {name}"
    folder.mkdir()
    file = write(folder / name, **columns)
    output = folder / "out.csv"
    output.write_text("old")
    expected = re.escape(message.replace("{}", str(file)))
    with pytest.raises(rainproof.InputError, match=f"^{expected}$"):
        append_columns(file, output, prob="p", ids="who", new_columns=ANSWERS)
    assert output.read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == sorted([name, "out.csv"])


def test_an_error_is_counted_on_without_a_column_of_ids(tmp_path):
    policy = rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.5), 8, rounding="hard")
    file = write_csv(tmp_path / "a.csv", p=put(P, row3=2.0, row290=3.0))
    message = r"^p must lie in \[0, 1\]; 2 values do not, the first is p\[3\] = 2\.0$"
    with pytest.raises(rainproof.InputError, match=message):
        append_columns(
            file, tmp_path / "b.csv", prob="p", ids=None, new_columns={"action": policy.decide}
        )


@for_each("column, kind", [([1.5] * N, "double"), ([True] * N, "bool"), ([b"x"] * N, "binary")])
def test_columns_that_hold_no_ids(tmp_path, column, kind):
    file = write_parquet(tmp_path / "a.parquet", p=P, who=column)
    with pytest.raises(
        rainproof.InputError,
        match=f"^who must hold integers or text; it holds values of type {kind}$",
    ):
        append_columns(file, tmp_path / "b.parquet", prob="p", ids="who", new_columns=ANSWERS)
    empty = write_parquet(tmp_path / "c.parquet", p=P, who=pa.nulls(N))
    message = (
        r"^who must not contain nulls \(missing values\); 300 values do, the first is who\[0\]$"
    )
    with pytest.raises(rainproof.InputError, match=message):
        append_columns(empty, tmp_path / "b.parquet", prob="p", ids="who", new_columns=ANSWERS)


def test_names_and_paths_that_are_wrong(tmp_path):
    file = write_csv(tmp_path / "a.csv", p=P, who=IDS)
    options = {"prob": "p", "ids": "who", "new_columns": ANSWERS}
    with pytest.raises(
        rainproof.InputError, match=r"^prob and ids must be different columns; both are p$"
    ):
        append_columns(file, tmp_path / "b.csv", **{**options, "ids": "p"})
    with pytest.raises(
        rainproof.InputError,
        match=r"has no column 'whom' \(did you mean 'who'\?\); it has 'p', 'who'$",
    ):
        append_columns(file, tmp_path / "b.csv", **{**options, "ids": "whom"})
    with pytest.raises(
        rainproof.InputError,
        match=r"^the name of the file must end in \.csv, .*; it is '.*b\.doc'$",
    ):
        append_columns(file, tmp_path / "b.doc", **options)
    with pytest.raises(
        rainproof.InputError,
        match=r"^spreadsheet files are read, but not written: .*; it is '.*b\.xlsx'$",
    ):
        append_columns(file, tmp_path / "b.xlsx", **options)
    with pytest.raises(
        rainproof.InputError, match=r"^cannot write .*no/b\.csv: No such file or directory$"
    ):
        append_columns(file, tmp_path / "no" / "b.csv", **options)
    (tmp_path / "none.csv").write_text("p,who\n")
    with pytest.raises(rainproof.InputError, match=r"none\.csv has columns but no rows$"):
        append_columns(tmp_path / "none.csv", tmp_path / "b.parquet", **options)
    with pytest.raises(
        rainproof.InputError, match=r"^cannot read .*snow\.csv: No such file or directory$"
    ):
        append_columns(tmp_path / "snow.csv", tmp_path / "b.csv.gz", **options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "none.csv"]


FULL = """
import sys, resource, rainproof
from rainproof.io.new_columns import append_columns
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
policy = rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.35), 8)
try:
    append_columns("a.csv", sys.argv[1], prob="p", ids="who", new_columns={"action": policy.decide})
except rainproof.InputError as error:
    print(error)
"""


@for_each("target", ["out.csv", "out.csv.gz", "out.parquet"])
def test_a_full_disk_is_said_of_the_file_that_is_written(tmp_path, target):
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    write_csv(tmp_path / "a.csv", p=P, who=rng.integers(0, 2**60, N))
    done = subprocess.run(
        [sys.executable, "-c", FULL, target],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == (f"cannot write {target}: File too large\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_without_pyarrow_the_command_says_what_to_install(monkeypatch, capsys, tmp_path):
    rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.3), 8, rounding="hard").save(
        tmp_path / "policy.json"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["decide", "a.csv", "--policy", "policy.json", "--prob", "p", "-o", "b.csv"]) == 2
    assert "needs PyArrow: pip install pyarrow" in capsys.readouterr().err
