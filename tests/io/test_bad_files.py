"""Each kind of bad file, with its exact message: one line, counts over the whole file."""

from __future__ import annotations

import datetime
import gzip
import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each
from helpers.file_writing import write_csv, write_parquet

import rainproof
from rainproof.io import arrow_files, text_files
from rainproof.io.scanning import scan

NAN = float("nan")
N = 100
P = [0.25, 0.75] * (N // 2)
Y = [0, 1] * (N // 2)
W = [1.0] * N
LABEL = "must be 0 or 1 (pos_label names the event among other labels)"
ASK = "pass pos_label to say which label is the event"
TWO = "'yes', 'no': " + ASK


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 64)
    monkeypatch.setattr(arrow_files, "PARQUET_ROWS_PER_BATCH", 7)


def refuse(file, message, **options):
    """Reading must fail with exactly this message, in which {} stands for the path."""
    expected = re.escape(message.replace("{}", str(file)))
    with pytest.raises(rainproof.InputError, match=f"^{expected}$") as caught:
        scan(file, **{"prob": "p", "outcome": "y", **options})
    assert "\n" not in str(caught.value)
    return caught.value


def put(values, **at):
    """The values with some of them replaced: put(P, row17=1.2)."""
    values = list(values)
    for row, value in at.items():
        values[int(row.removeprefix("row"))] = value
    return values


# Values that break a rule: the same words for both formats.
RULES = {
    "above one": (
        {"p": put(P, row17=1.2, row18=3.0, row90=-1.0)},
        "p must lie in [0, 1]; 3 values do not, the first is p[17] = 1.2",
    ),
    "one alone": (
        {"p": put(P, row99=1.2)},
        "p must lie in [0, 1]; 1 value does not, the first is p[99] = 1.2",
    ),
    "label 2": (
        {"y": put(Y, row20=2, row70=3)},
        f"y {LABEL}; 2 values do not, the first is y[20] = ",
    ),
    "weight": (
        {"w": put(W, row3=-1.0, row66=-2.0)},
        "w must be finite and not negative; 2 values do not, the first is w[3] = -1.0",
    ),
    "swapped": (
        {"p": [float(y) for y in Y], "y": P},
        f"y {LABEL}; 100 values do not, the first is y[0] = 0.25; were y and p swapped?",
    ),
    "weights all zero": (
        {"w": [0.0] * N},
        "w must not be zero for every row",
    ),
    "weights too heavy": (
        {"w": [1e200] * N},
        "w must have a sum between 1e-150 and 1e+150; it is 1e+202: only the ratios of weights "
        "matter, so rescale them",
    ),
}


@for_each("columns, message", RULES.values())
@for_each("write", [write_csv, write_parquet])
def test_values_that_break_a_rule(tmp_path, write, columns, message):
    file = write(
        tmp_path / {write_csv: "a.csv", write_parquet: "a.parquet"}[write],
        **{"p": P, "y": Y, "w": W, **columns},
    )
    if message.endswith("= "):  # text files know one kind of number
        message += "2.0" if write is write_csv else "2"
    refuse(file, message, weight="w")


def test_all_batches_are_counted_whatever_else_they_break(tmp_path):
    """The rule that is broken first is the one that is counted, also where a later batch breaks
    others.
    """
    p = put(P, row2=1.5, row30=NAN, row31=1.5, row60=None, row61=1.5, row80=1.5)
    y = put(Y, row33=7, row62=None, row81=7)
    w = put(W, row34=-1.0, row63=None, row82=NAN)
    file = write_parquet(tmp_path / "a.parquet", p=pa.array(p), y=pa.array(y), w=pa.array(w))
    refuse(file, "p must lie in [0, 1]; 4 values do not, the first is p[2] = 1.5", weight="w")
    file = write_parquet(
        tmp_path / "b.parquet", p=pa.array(put(p, row2=NAN)), y=pa.array(y), w=pa.array(w)
    )
    refuse(file, "p must not contain NaN; 2 values do, the first is p[2]", weight="w")
    file = write_parquet(
        tmp_path / "c.parquet",
        p=pa.array(put(p, row2=0.5)),
        y=pa.array(put(y, row2=7)),
        w=pa.array(w),
    )
    error = refuse(file, f"y {LABEL}; 3 values do not, the first is y[2] = 7", weight="w")
    assert (error.rule, error.count, error.first) == (f"y {LABEL}", 3, "y[2] = 7")
    file = write_parquet(
        tmp_path / "d.parquet",
        p=pa.array(put(p, row2=0.5)),
        y=pa.array(y),
        w=pa.array(put(w, row2=-3.0)),
    )
    refuse(
        file,
        "w must be finite and not negative; 3 values do not, the first is w[2] = -3.0",
        weight="w",
    )
    file = write_parquet(
        tmp_path / "e.parquet", p=pa.array(put(p, row2=None)), y=pa.array(y), w=pa.array(w)
    )
    refuse(
        file,
        "p must not contain nulls (missing values); 2 values do, the first is p[2]",
        weight="w",
    )


@for_each("column", ["p", "y", "w"])
def test_missing_values(tmp_path, column):
    message = (
        f"{column} must not contain nulls (missing values); 3 values do, the first is {column}[12]"
    )
    whole = {"p": P, "y": Y, "w": W}
    file = write_csv(
        tmp_path / "a.csv",
        **{**whole, column: put(whole[column], row12="", row40="NaN", row77="NA")},
    )
    refuse(file, message, weight="w")
    holes = pa.array(put(whole[column], row12=None, row40=None, row77=None))
    refuse(write_parquet(tmp_path / "a.parquet", **{**whole, column: holes}), message, weight="w")


def test_a_column_without_a_single_value(tmp_path):
    message = "p must not contain nulls (missing values); 100 values do, the first is p[0]"
    refuse(write_parquet(tmp_path / "a.parquet", p=pa.nulls(N), y=Y), message)
    refuse(write_csv(tmp_path / "a.csv", p=[""] * N, y=Y), message)


def test_a_null_that_hides_in_a_dictionary():
    """Parquet cannot hold one; other sources of Arrow batches can."""
    hidden = pa.DictionaryArray.from_arrays(pa.array(Y, pa.int8()), pa.array(["yes", None]))
    table = pa.table({"p": P, "y": hidden})
    message = r"^y must not contain nulls \(missing values\); 50 values do, the first is y\[1\]$"
    with pytest.raises(rainproof.InputError, match=message):
        scan(table, pos_label="yes")


def test_text_among_numbers(tmp_path):
    p = put(P, row30="12!", row31=" 0,5,1", row95="?")
    message = "p must hold numbers; {} not, the first is p[30] = '12!'"
    quoted = [f'"{value}"' for value in p]
    refuse(write_csv(tmp_path / "a.csv", p=quoted, y=Y), message.replace("{}", "3 values do"))
    y = put(Y, row30="maybe", row31=2, row80="maybe")
    refuse(
        write_csv(tmp_path / "b.csv", p=P, y=y),
        "y must hold numbers; 2 values do not, the first is y[30] = 'maybe'",
    )
    last = write_csv(tmp_path / "c.csv", p=put(P, row99="x"), y=Y)
    refuse(last, "p must hold numbers; 1 value does not, the first is p[99] = 'x'")


def test_a_column_of_text(tmp_path):
    text = ["yes", "no"] * (N // 2)
    for file in (
        write_csv(tmp_path / "a.csv", p=text, y=Y),
        write_parquet(tmp_path / "a.parquet", p=text, y=Y),
    ):
        refuse(file, "p must hold numbers; it holds text such as 'yes', 'no'; is it the outcome?")
    for file in (
        write_csv(tmp_path / "b.csv", p=P, y=text),
        write_parquet(tmp_path / "b.parquet", p=P, y=text),
    ):
        refuse(file, f"y must be 0 or 1; it holds text such as {TWO}")
    ones = write_parquet(
        tmp_path / "c.parquet", p=P, y=pa.array(["1", "0"] * (N // 2)).dictionary_encode()
    )
    refuse(ones, f"y must be 0 or 1; it holds text such as '1', '0': {ASK}")


def test_labels_beyond_two(tmp_path):
    """One other label in the whole file, not one in each batch."""
    y = put(["yes", "no"] * (N // 2), row40="maybe", row41="perhaps", row90="maybe")
    message = (
        "y must hold 'yes' and one other label ('no'); 3 values do not, the first "
        "is y[40] = 'maybe'"
    )
    refuse(write_csv(tmp_path / "a.csv", p=P, y=y), message, pos_label="yes")
    refuse(write_parquet(tmp_path / "a.parquet", p=P, y=y), message, pos_label="yes")
    message = (
        "y must hold 'no' and one other label ('yes'); 1 value does not, the first is y[99] = 'on'"
    )
    late = ["yes"] * (N - 1) + ["on"]
    refuse(write_csv(tmp_path / "b.csv", p=P, y=late), message, pos_label="no")


@for_each(
    "column, pos_label, kind",
    [
        (Y, "yes", "int64"),
        (Y, "1.5", "int64"),
        ([bool(y) for y in Y], "yes", "bool"),
        (P, "high", "double"),
        ([datetime.date(2026, 5, 17)] * N, "today", "date32[day]"),
        ([[1]] * N, "1", "list<element: int64>"),
    ],
)
def test_an_event_that_the_column_cannot_hold(tmp_path, column, pos_label, kind):
    file = write_parquet(tmp_path / "a.parquet", p=[0.5] * N, y=column)
    message = (
        f"pos_label must be a label of y, which holds values of type {kind}; it is {pos_label!r}"
    )
    refuse(file, message, pos_label=pos_label)


@for_each(
    "column, kind",
    [
        ([datetime.date(2026, 5, 17)] * N, "date32[day]"),
        ([[0.5]] * N, "list<element: double>"),
        ([b"1"] * N, "binary"),
    ],
)
@for_each("name", ["p", "y"])
def test_columns_that_hold_no_numbers(tmp_path, name, column, kind):
    file = write_parquet(tmp_path / "a.parquet", **{"p": P, "y": Y, name: column})
    refuse(file, f"{name} must hold numbers; it holds values of type {kind}")


def test_columns_that_are_not_there(tmp_path, monkeypatch):
    columns = {"Probability": P, "rained": Y, **{f"c{i}": Y for i in range(12)}}
    listed = (
        "it has 'Probability', 'rained', 'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7' and 4 more"
    )
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 1 << 10)  # the header must fit
    for file in (
        write_csv(tmp_path / "a.csv", **columns),
        write_parquet(tmp_path / "a.parquet", **columns),
    ):
        refuse(
            file,
            "{} has no column 'probabilty' (did you mean 'Probability'?); " + listed,
            prob="probabilty",
        )
        refuse(file, "{} has no column 'xyz'; " + listed, prob="Probability", outcome="xyz")
        refuse(
            file,
            "{} has no column 'weight'; " + listed,
            prob="Probability",
            outcome="rained",
            weight="weight",
        )
    refuse(write_csv(tmp_path / "b.csv", sep="^", p=P, y=Y), "{} has no column 'p'; it has 'p^y'")


def test_columns_that_are_one_or_two(tmp_path):
    file = write_csv(tmp_path / "a.csv", p=P, y=Y)
    refuse(file, "prob, outcome and weight must be different columns; they are p, p", outcome="p")
    refuse(file, "prob, outcome and weight must be different columns; they are p, y, p", weight="p")
    (tmp_path / "b.csv").write_text("p,y,p\n0.5,1,0.5\n")
    pq.write_table(pa.table([P, Y, P], names=["p", "y", "p"]), tmp_path / "b.parquet")
    for name in ("b.csv", "b.parquet"):
        refuse(tmp_path / name, "{} has 2 columns called 'p'; it must have one")


# What the bytes of a file may be instead of what its name says.
TABLE = b"p,y\n0.5,1\n0.25,0\n"
BINARY = (
    "{} does not hold text, though its name says so: is it Parquet, compressed, a spreadsheet or "
    "UTF-16?"
)
FOOTER = (
    "Parquet magic bytes not found in footer. Either the file is corrupted or this is not a "
    "parquet file."
)
BYTES = {
    "empty.csv": (b"", "{} is empty"),
    "empty.parquet": (b"", "{} is empty"),
    "empty.csv.gz": (gzip.compress(b""), "cannot read {}: Empty CSV file"),
    "header.csv": (b"p,y\n", "{} has columns but no rows"),
    "ragged.csv": (
        TABLE + b"0.5\n",
        "cannot read {}: CSV parse error: Row #4: Expected 2 columns, got 1: 0.5",
    ),
    "names.csv": (
        "p,é\n0.5,1\n".encode("latin-1"),
        "cannot read {}: 'utf-8' codec can't decode byte 0xe9 in position 0: unexpected end of "
        "data",
    ),
    "values.csv": (
        "p,y\n0.5,é\n".encode("latin-1"),
        "cannot read {}: In CSV column #1: Row #2: CSV conversion error to string: invalid UTF8 "
        "data",
    ),
    "utf16.csv": (TABLE.decode().encode("utf-16"), BINARY),
    "gzipped.csv": (gzip.compress(TABLE), BINARY),
    "text.csv.gz": (TABLE, "cannot read {}: zlib inflate failed: incorrect header check"),
    "cut.csv.gz": (
        gzip.compress(TABLE * 1000)[:-30],
        "cannot read {}: Truncated compressed stream",
    ),
    "text.parquet": (TABLE, f"cannot read {{}}: {FOOTER}"),
}


@for_each("name", BYTES)
def test_files_that_are_not_what_they_seem(tmp_path, name):
    content, message = BYTES[name]
    (tmp_path / name).write_bytes(content)
    refuse(tmp_path / name, message)


def test_damaged_parquet(tmp_path):
    whole = write_parquet(
        tmp_path / "whole.parquet", p=np.random.default_rng(0).random(N), y=Y
    ).read_bytes()
    (tmp_path / "p.csv").write_bytes(whole)
    refuse(tmp_path / "p.csv", BINARY)
    (tmp_path / "cut.parquet").write_bytes(whole[:-9])
    refuse(tmp_path / "cut.parquet", f"cannot read {{}}: {FOOTER}")
    (tmp_path / "hole.parquet").write_bytes(whole[:20] + b"\xff" * 200 + whole[220:])
    with pytest.raises(rainproof.InputError, match=f"^cannot read {tmp_path}/hole.parquet: .+$"):
        scan(tmp_path / "hole.parquet", prob="p", outcome="y")
    pq.write_table(
        pa.table({"p": pa.array([], pa.float64()), "y": pa.array([], pa.int8())}),
        tmp_path / "none.pq",
    )
    refuse(tmp_path / "none.pq", "{} has columns but no rows")


def test_paths_that_lead_nowhere(tmp_path):
    refuse(tmp_path / "nowhere.csv", "cannot read {}: No such file or directory")
    refuse(tmp_path / "nowhere.parquet", "cannot read {}: No such file or directory")
    (tmp_path / "folder.csv").mkdir()
    refuse(tmp_path / "folder.csv", "cannot read {}: Is a directory")
    refuse(
        tmp_path / "a.doc",
        "the name of the file must end in .csv, .csv.gz, .tsv, .tsv.gz, .txt, .txt.gz, "
        ".parquet, .pq, .feather, .arrow, .jsonl, .jsonl.gz, .ndjson, .ndjson.gz, .json, "
        ".json.gz, .xlsx, .xlsb, .xls or .ods; it is '{}'",
    )
    refuse(
        tmp_path / "a.csv", "grid must be a power of two from 2 to 1,048,576; it is 1000", grid=1000
    )


@for_each(
    "written, read", [("1.0000000000000000001", "1.0000000000000002"), ("-1e-400", "-5e-324")]
)
def test_what_a_double_would_round_into_the_interval_stays_outside(tmp_path, written, read):
    """As with arrays: nothing is clipped, in text and in decimals."""
    file = tmp_path / "a.csv"
    file.write_text(f"p,y\n{written},1\n0.5,0\n1,1\n1.000000000000000000000,1\n-0.0,0\n")
    refuse(str(file), f"p must lie in [0, 1]; 1 value does not, the first is p[0] = {read}")
    decimals = pa.array([Decimal("1.0000000000000000001"), Decimal(1), Decimal(0)])
    refuse(
        pa.table({"p": decimals, "y": [1, 0, 1]}),
        "p must lie in [0, 1]; 1 value does not, the first is p[0] = 1.0000000000000002",
    )


def test_labels_that_only_look_alike_are_different_labels(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("p,y\n0.2,01\n0.7,1\n0.3,2\n")
    refuse(
        str(file),
        "y must hold '1' and one other label ('01'); 1 value does not, the first is y[2] = '2'",
        pos_label="1",
    )


def test_a_header_past_all_measure_is_not_called_empty(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 1 << 20)
    file = tmp_path / "a.csv"
    file.write_text(f"p,y,{'x' * 1_100_000}\n0.5,1,2\n")
    refuse(str(file), "cannot read {}: its first line is longer than 1,048,576 bytes")
