"""JSON lines and arrays of objects: what is read, written and refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each
from helpers.samples import assert_same

import rainproof
from rainproof.cli import main
from rainproof.io import json_files
from rainproof.io.new_columns import append_columns

rng = np.random.default_rng(15)
N = 400
P = rng.random(N).round(4)
P[:3] = 0, 1, 0.5
Y = (rng.random(N) < P).astype(int)
EXPECTED = rainproof.Sample(Y, P).compress()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


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
    assert_same(rainproof.scan(path), EXPECTED)


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


def test_keys_that_come_late_are_in_a_copy_of_all_rows_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(json_files, "ROWS_PER_BATCH", 2)
    rows = [{"p": 0.5, "n": None}, {"p": 0.25}, {"p": 0, "n": 3, "late": "x"}]
    (tmp_path / "a.jsonl").write_text(lines(*rows))
    rank = {"rank": lambda p, _: np.argsort(np.argsort(p))}
    copy = tmp_path / "b.jsonl"
    assert append_columns(tmp_path / "a.jsonl", copy, prob="p", new_columns=rank, whole=True) == 3
    copied = [json.loads(line) for line in copy.read_text().splitlines()]
    assert copied[0] == {"p": 0.5, "n": None, "late": None, "rank": 2}
    assert copied[2] == {"p": 0.0, "n": 3, "late": "x", "rank": 0}


@for_each(
    "line",
    [
        '{"p": 0.1, "y": 1, "p": 0.9}',
        '{"p" : 0.1, "y" : 1, "p" : 0.9}',
        '{"p"\t:0.1,"y"\t:1,"p"\t:0.9}',
        '{"p": 0.1, "y": 1, "p": 0.9, "at": "12:30"}',
        '{"p": 0.1, "y": 1, "\\u0070": 0.9}',
    ],
)
def test_a_key_twice_is_refused(line):
    Path("d.jsonl").write_text(f'{{"p": 0.2, "y": 0}}\n{line}\n')
    with pytest.raises(
        rainproof.InputError, match=r"^line 2 of d.jsonl has 2 keys called 'p'; it must have one$"
    ):
        rainproof.scan("d.jsonl")
    Path("d.json").write_text(f'[{{"p": 0.2, "y": 0}},\n {line}]')
    with pytest.raises(
        rainproof.InputError, match=r"^d.json has 2 keys called 'p'; it must have one$"
    ):
        rainproof.scan("d.json")


def test_a_key_twice_in_an_object_inside_is_refused():
    Path("d.jsonl").write_text('{"p": 0.2, "y": 0, "more": {"a": 1, "a": 2}}\n')
    with pytest.raises(rainproof.InputError, match="has 2 keys called 'a'"):
        rainproof.scan("d.jsonl")


def test_colons_and_quotes_in_text_are_no_keys():
    lines = [
        '{"p": 0.2, "y": 0, "note": "a \\"quoted\\": word"}',
        '{"p" : 0.3, "y" : 1, "note" : "12:30 : noon"}',
        '{"p": 0.3, "y": 1, "note": {"p": {"p": 1}}}',
    ]
    Path("d.jsonl").write_text("\n".join(lines))
    assert rainproof.scan("d.jsonl").n == 3


def apply(source, output):
    fitted = rainproof.Recalibrator("logistic", rng=0).fit(
        [0.1, 0.9, 0.4, 0.6] * 50, [0, 1, 1, 0] * 50
    )
    fitted.save("map.json", overwrite=True)
    return main(["apply", source, "--map", "map.json", "--prob", "p", "-o", output, "--quiet"])


@for_each("output", ["o.json", "o.jsonl"])
def test_nan_and_infinity_are_null(output):
    values = [float("nan"), float("inf"), 1.5]
    table = pa.table({"p": [0.1, 0.2, 0.3], "f": values, "more": [[value] for value in values]})
    pq.write_table(table, "n.parquet")
    assert apply("n.parquet", output) == 0

    def refuse(name):
        pytest.fail(f"{name} is not JSON")

    text = Path(output).read_text()
    parts = [text] if output == "o.json" else text.splitlines()
    found = [json.loads(part, parse_constant=refuse) for part in parts]
    rows = found[0] if output == "o.json" else found
    assert [row["f"] for row in rows] == [None, None, 1.5]
    assert [row["more"] for row in rows] == [[None], [None], [1.5]]


@for_each("kind", [pa.binary(), pa.large_binary(), pa.binary(1), pa.list_(pa.binary())])
def test_bytes_are_refused(kind, capsys):
    values = [[b"a"]] if pa.types.is_nested(kind) else [b"a"]
    pq.write_table(pa.table({"p": [0.1], "b": pa.array(values, kind)}), "b.parquet")
    assert apply("b.parquet", "o.jsonl") == 2
    assert "b cannot be written as JSON: it holds values of type" in capsys.readouterr().err
    assert not Path("o.jsonl").exists()


def test_a_name_twice_is_refused(capsys):
    Path("dup.csv").write_text("p,z,z\n0.1,1,2\n")
    assert apply("dup.csv", "o.jsonl") == 2
    assert "JSON has each key once: 'z' is the name of 2 columns" in capsys.readouterr().err
    assert apply("dup.csv", "o.csv") == 0


def test_every_line_of_a_long_file_is_read():
    """Also where a line ends with a block of bytes: lines of 1,024 bytes end with every block."""
    line = '{"p": 0.25, "y": 1}'.ljust(1023) + "\n"
    rows = 3 << 10  # three blocks of a mebibyte
    Path("d.jsonl").write_text(line * rows)
    assert rainproof.scan("d.jsonl").n == rows
