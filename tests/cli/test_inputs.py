"""Standard input, columns that are guessed, missing values, and the way out of errors."""

from __future__ import annotations

import dataclasses
import gzip
import inspect
import io
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from helpers.cases import for_each
from pyarrow import feather, parquet

import rainproof
from rainproof.cli import main
from rainproof.cli.options import SELECTION, TEXT, VALUES, dest
from rainproof.io.kept_rows import keep_rows
from rainproof.io.new_columns import append_columns
from rainproof.io.opening import ReadOptions
from rainproof.io.sources import NamedSource

ROWS = {"p": [0.1, 0.8, 0.4, 0.6], "y": [0, 1, 0, 1]}
CSV = b"p,y\n0.1,0\n0.8,1\n0.4,0\n0.6,1\n"
QUIET = ["--prob", "p", "--outcome", "y", "--json"]


class Piped(io.TextIOWrapper):
    """Standard input with bytes in it."""

    def __init__(self, data):
        super().__init__(io.BytesIO(data))


def piped(monkeypatch, data):
    monkeypatch.setattr("sys.stdin", Piped(data))


def as_bytes(write):
    buffer = io.BytesIO()
    write(pa.table(ROWS), buffer)
    return buffer.getvalue()


@for_each(
    "data",
    [CSV, gzip.compress(CSV), as_bytes(parquet.write_table), as_bytes(feather.write_feather)],
)
def test_standard_input(tmp_path, monkeypatch, capsys, data):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    Path("rain.csv").write_bytes(CSV)
    assert main(["measure", "rain.csv", *QUIET]) == 0
    expected = json.loads(capsys.readouterr().out)
    piped(monkeypatch, data)
    assert main(["measure", "-", *QUIET]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out) == {**expected, "file": "-"}
    assert [path.name for path in tmp_path.iterdir()] == ["rain.csv"]  # the copy is gone


@for_each("before", [b"\xef\xbb\xbf", b" \n\t", b"\xef\xbb\xbf\r\n "])
@for_each("data", [b'{"p":0.5,"y":1}\n{"p":0.2,"y":0}\n', b'[{"p":0.5,"y":1},{"p":0.2,"y":0}]'])
def test_json_on_standard_input_after_blanks_and_a_byte_order_mark(
    monkeypatch, capsys, before, data
):
    piped(monkeypatch, before + data)
    assert main(["measure", "-", *QUIET]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 2


def test_standard_input_is_named_in_texts(monkeypatch, capsys):
    piped(monkeypatch, CSV)
    assert main(["measure", "-", "--prob", "p", "--outcome", "y"]) == 0
    assert capsys.readouterr().out.startswith("standard input: 4 rows")
    piped(monkeypatch, CSV)
    assert main(["measure", "-", "--prob", "x", "--outcome", "y"]) == 2
    assert (
        capsys.readouterr().err
        == "rainproof: error: standard input has no column 'x'; it has 'p', 'y'\n"
    )
    piped(monkeypatch, b"")
    assert main(["measure", "-", *QUIET]) == 2
    assert capsys.readouterr().err == "rainproof: error: standard input is empty\n"


def test_standard_input_once(monkeypatch, capsys):
    assert main(["measure", "-", "-", *QUIET]) == 2
    assert capsys.readouterr().err == "rainproof: error: - (standard input) can be read once only\n"
    monkeypatch.setattr("sys.stdin", None)
    assert main(["measure", "-", *QUIET]) == 2
    assert (
        capsys.readouterr().err
        == "rainproof: error: - reads standard input, but nothing is piped into it\n"
    )


GUESSES = {
    "p,y\n0.1,0\n0.8,1\n": ("p", "y"),
    "city,risk,died\nx,0.1,0\nx,1,1\n": ("risk", "died"),
    "a,b\n1,0.5\n0,1.0\n": ("b", "a"),  # by their values alone
    # the usual name
    "share,prob,y\n0.2,0.1,0\n0.3,0.8,1\n": ("prob", "y", "'share' could be --prob too"),
    "p,y,sunday\n0.1,0,1\n0.8,1,0\n": ("p", "y", "'sunday' could be --outcome too"),
    "risk,y,risk_recalibrated\n0.1,0,0.2\n0.8,1,0.7\n": (
        "risk_recalibrated",
        "y",
        "'risk' could be --prob too",
    ),
    "p;y\n0,1;0\n0,8;1\n": ("p", "y"),
    "p\ty\n12.5%\t0\n80%\t1\n": ("p", "y"),
    "p,y\n0.1,false\n,true\n0.8,TRUE\n": ("p", "y"),
}


@for_each("text, columns", GUESSES.items())
def test_columns_are_guessed_and_said(monkeypatch, capsys, text, columns):
    piped(monkeypatch, text.encode())
    assert main(["measure", "-", "--json", "--drop-missing"]) == 0
    out, err = capsys.readouterr()
    prob, outcome, *others = columns
    also = f" ({others[0]})" if others else ""
    assert err.splitlines()[0] == f"rainproof: note: taking --prob {prob} --outcome {outcome}{also}"
    found = json.loads(out)
    assert (found["prob"], found["outcome"]) == (prob, outcome)


def test_typed_columns_and_given_ones(tmp_path, capsys):
    path = str(tmp_path / "rows.parquet")
    day = pa.array([1, 2, 3, 4], pa.date32())
    table = pa.table(
        {**ROWS, "b": [False, True, True, True], "q": [0.5] * 4, "day": day}
    ).append_column("kind", pa.array(["u", "v", "u", "v"]).dictionary_encode())
    parquet.write_table(table, path)
    assert main(["measure", path, "--json", "--prob", "q"]) == 0
    out, err = capsys.readouterr()
    assert err == "rainproof: note: taking --prob q --outcome y ('b' could be --outcome too)\n"
    assert main(["measure", path, "--json", "--prob", "q", "--pos-label", "v", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out)["outcome"] == "kind"


WRONG = {
    "u,v,y\n0.1,0.2,1\n": (
        "--prob is missing, and standard input has 2 columns that it could be: 'u', 'v'"
    ),
    "p,u,v\n0.1,0,1\n": (
        "--outcome is missing, and standard input has 2 columns that it could be: 'u', 'v'"
    ),
    "p,y\n10,0\n80,1\n": (
        "--prob is missing, and no column of standard input looks like it (probabilities lie in "
        "[0, 1]; if 'p' is in percent, add --percent)"
    ),
    "p,y\n1,0\n0,1\n": (
        "--prob is missing, and no column of standard input looks like it (numbers from 0 to 1; "
        "'p' holds 0 and 1 alone: classes, not probabilities)"
    ),
    "p,y\n0.1,1\n0.2,2\n": (
        "--outcome is missing, and no column of standard input looks like it (0 and 1; for 'y' "
        "name the event: --outcome y --pos-label 1 or 2)"
    ),
    "x,y\n7,0\n": (
        "--prob is missing, and no column of standard input looks like it (numbers from 0 to 1)"
    ),
    "p,s\n0.1,no\n0.2,yes\n": (
        "--outcome is missing, and no column of standard input looks like it (0 and 1; for 's' "
        "name the event: --outcome s --pos-label no or yes)"
    ),
    "p,y\n-1.5,0\n2,1\n": (
        "--prob is missing, and no column of standard input looks like it (numbers from 0 to 1; if "
        "'p' holds log-odds, make them 1 / (1 + exp(-x)) first)"
    ),
    "p,y\nlikely,1\nnever,0\n": (
        "--prob is missing, and no column of standard input looks like it (numbers from 0 to 1; "
        "for words in 'p': --prob p --confidence-words FILE)"
    ),
    "p,y\n0.1,0\n0.2,0.5\n0.3,1\n": (
        "--outcome is missing, and no column of standard input looks like it (0 and 1; for shares "
        "of the event: --outcome y --fractional)"
    ),
    "p\n0.1\n": (
        "--outcome is missing, and no column of standard input looks like it (0 and 1, or true and "
        "false)"
    ),
    "p,y\n": "standard input has columns but no rows",
}


@for_each("text, error", WRONG.items())
def test_what_cannot_be_guessed(monkeypatch, capsys, text, error):
    piped(monkeypatch, text.encode())
    assert main(["measure", "-"]) == 2
    assert capsys.readouterr() == ("", f"rainproof: error: {error}\n")


def test_a_label_that_no_column_has(monkeypatch, capsys):
    piped(monkeypatch, b"p,s\n0.1,no\n0.2,yes\n")
    assert main(["measure", "-", "--pos-label", "maybe"]) == 2
    assert capsys.readouterr().err.endswith("looks like it (two labels, one of them 'maybe')\n")


@for_each(
    "labels, pos_label, meant",
    [
        ("no no yes", "Yes", "; did you mean 'yes'?"),
        # the first label is taken for the other one
        ("yes no yes", "Yes", "; did you mean 'yes'?"),
        ("paid default", "defualt", "; did you mean 'default'?"),
        ("it's its", "It's", '; did you mean "it\'s"?'),
        ("no yes", "maybe", ""),
    ],
)
def test_a_label_that_is_almost_there(tmp_path, monkeypatch, capsys, labels, pos_label, meant):
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(
        "p,s\n" + "".join(f"0.{k + 1},{s}\n" for k, s in enumerate(labels.split()))
    )
    arguments = ["measure", "rows.csv", "--pos-label", pos_label]
    assert main(arguments) == 2
    assert capsys.readouterr().err.endswith(f"one of them {pos_label!r}{meant})\n")
    assert main([*arguments, "--prob", "p", "--outcome", "s"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"rainproof: error: s must hold {pos_label!r} and one other label (")
    assert said.endswith(f"{meant}\n")
    assert meant or "did you mean" not in said


@for_each("option", ["--prob", "--outcome"])
def test_nothing_is_taken_if_a_named_column_is_missing(monkeypatch, capsys, option):
    piped(monkeypatch, CSV)
    assert main(["measure", "-", option, "nope"]) == 2
    assert capsys.readouterr().err.startswith(
        "rainproof: error: standard input has no column 'nope'; it has "
    )


def test_what_to_type_is_quoted(monkeypatch, capsys):
    piped(monkeypatch, b"the risk,did it\n0.1,0\n0.8,1\n")
    assert main(["measure", "-"]) == 0
    assert capsys.readouterr().err.startswith(
        "rainproof: note: taking --prob 'the risk' --outcome 'did it'\n"
    )
    piped(monkeypatch, b"p,did it\n0.1,no rain\n0.8,rain\n")
    assert main(["measure", "-"]) == 2
    assert capsys.readouterr().err.endswith(" --outcome 'did it' --pos-label 'no rain' or rain)\n")
    piped(monkeypatch, b"the prob,y\nlikely,1\nnever,0\n")
    assert main(["measure", "-", "--outcome", "y"]) == 2
    assert "--prob 'the prob' --confidence-words FILE" in capsys.readouterr().err
    piped(monkeypatch, b"p,the outcome\n0.1,0\n0.2,0.5\n0.3,1\n")
    assert main(["measure", "-"]) == 2
    assert "--outcome 'the outcome' --fractional" in capsys.readouterr().err


def test_a_file_without_a_command_is_assessed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("rain.csv").write_bytes(CSV)
    assert main(["assess", "rain.csv", "--prob", "p", "--outcome", "y"]) == 0
    expected = capsys.readouterr().out
    assert main(["rain.csv"]) == 0
    assert capsys.readouterr() == (expected, "rainproof: note: taking --prob p --outcome y\n")
    piped(monkeypatch, CSV)
    assert main(["-", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["no.csv"]) == 2
    assert (
        capsys.readouterr().err
        == "rainproof: error: cannot read no.csv: No such file or directory\n"
    )


HOLES = "p,y,w\n0.1,0,1\n,1,1\n0.4,,1\n0.6,1,\nnan,1,1\n0.5,1,1\n"


def test_missing_values_are_left_out_and_counted(monkeypatch, capsys):
    for options, kept, note in (
        ([], 3, "3 of 6 rows have a missing value and are left out"),
        (["--weight", "w"], 2, "4 of 6 rows have a missing value and are left out"),
        (["--where", "y is not null and p > 0.4"], 2, ""),
        (["--where", "y is null"], 0, "1 of 1 row has a missing value and is left out"),
    ):
        piped(monkeypatch, HOLES.encode())
        code = main(["measure", "-", *QUIET, "--drop-missing", *options])
        out, err = capsys.readouterr()
        assert err.startswith(f"rainproof: note: {note}\n" if note else "")
        assert code == (0 if kept else 2)
        if kept:
            assert json.loads(out)["n"] == kept


def test_errors_name_the_way_out_and_the_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text('p,y,note\n0.1,0,"two\nlines"\n\n,1,\n')
    Path("b.tsv").write_text("p\ty\n0.1\t0\n0.5\t2\n")
    Path("c.csv").write_text("p,y\n0.5,0\n2,1\n")
    Path("d.csv").write_text("p,y\n50,0\n20,1\n")
    Path("f.csv").write_text("p,y\n-1.5,0\n2.5,1\n")
    Path("g.jsonl").write_text('\n{"p": -0.5, "y": 1}\n')
    for file, message in {
        "a.csv": (
            "p must not contain nulls (missing values); 1 value does, the first is p[1] (line 5); "
            "--drop-missing leaves such rows out"
        ),
        "b.tsv": (
            "y must be 0 or 1 (--pos-label names the event among other labels); 1 value does not, "
            "the first is y[1] = 2.0 (line 3); the labels are 0 and 2: if 2 is the event, add "
            "--pos-label 2"
        ),
        "c.csv": "p must lie in [0, 1]; 1 value does not, the first is p[1] = 2.0 (line 3)",
        "d.csv": (
            "p must lie in [0, 1]; 2 values do not, the first is p[0] = 50.0 (line 2); if it is in "
            "percent, add --percent"
        ),
        "f.csv": (
            "p must lie in [0, 1]; 2 values do not, the first is p[0] = -1.5 (line 2); if these "
            "are log-odds, apply the logistic function first: 1 / (1 + exp(-x))"
        ),
        "g.jsonl": (
            "p must lie in [0, 1]; 1 value does not, the first is p[0] = -0.5 (line 2); if these "
            "are logarithms of probabilities, apply exp first"
        ),
    }.items():
        assert main(["measure", file, *QUIET]) == 2
        assert capsys.readouterr().err == f"rainproof: error: {message}\n"
    assert main(["measure", "c.csv", *QUIET, "--where", "y = 1"]) == 2
    assert capsys.readouterr().err.endswith("the first is p[0] = 2.0\n")  # the line is not known
    table = pa.table({"p": [0.5, None], "y": [0, 1]})
    parquet.write_table(table, "e.parquet")
    assert main(["measure", "e.parquet", *QUIET]) == 2
    assert capsys.readouterr().err.endswith(
        "the first is p[1]; --drop-missing leaves such rows out\n"
    )


def test_percent_and_separators(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_bytes(CSV)
    assert main(["measure", "a.csv", *QUIET]) == 0
    expected = json.loads(capsys.readouterr().out)
    texts = {
        "percent.csv": "p,y\n10,0\n80,1\n40%,0\n60.0,1\n",
        "comma.csv": "y;p\n0;0,1\n1;0,8\n0;0,4\n1;,6\n",
        "signs.tsv": 'p\ty\n10 %\t0\n"80,0%"\t1\n40%\t0\n60%\t1\n',
        "pipe.txt": "p|y\n0.1|0\n0.8|1\n0.4|0\n0.6|1\n",
        "spaces.txt.gz": "p y\n0.1 0\n0.8 1\n0.4 0\n0.6 1\n",
        "hats.csv": "p^y\n0.1^0\n0.8^1\n0.4^0\n0.6^1\n",
        "quoted.csv": '"p;x",y\n0.1,0\n0.8,1\n0.4,0\n0.6,1\n',
    }
    for name, text in texts.items():
        data = text.encode()
        Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        options = {"percent.csv": ["--percent"], "hats.csv": ["--sep", "^"]}.get(name, [])
        columns = ["--prob", "p;x", "--outcome", "y", "--json"] if name == "quoted.csv" else QUIET
        assert main(["measure", name, *columns, *options]) == 0, name
        found = json.loads(capsys.readouterr().out)
        assert {**found, "file": "a.csv", "prob": "p"} == expected, name
    assert main(["measure", "a.csv", *QUIET, "--sep", "::"]) == 2
    assert "--sep: must be one character, such as ';' or tab; it is '::'" in capsys.readouterr().err
    assert main(["measure", "signs.tsv", *QUIET, "--sep", "tab"]) == 0
    Path("w.csv").write_text("p;y;w\n0,5;0;1,234\n0,5;1;2\n")
    assert main(["measure", "w.csv", *QUIET, "--weight", "w"]) == 2
    assert (
        "w must hold numbers; 1 value does not, the first is w[0] = '1,234' (line 2)"
        in capsys.readouterr().err
    )


def test_numbers_that_hardly_are_in_percent(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_bytes(CSV)
    rainproof.Recalibrator(rng=0).fit([0.2, 0.8] * 50, [0, 1] * 50).save("map.json")
    apply = ["apply", "a.csv", "--map", "map.json", "--prob", "p", "-o", "out.csv"]
    said = (
        "p is read in percent, and its largest value is 0.8: if that means 80%, "
        "it is not in percent"
    )
    for command in (["measure", "a.csv", *QUIET], apply):
        assert main([*command, "--percent"]) == 0
        out, err = capsys.readouterr()
        assert err.startswith(f"rainproof: note: {said}\n"), command
        outside = (
            "4 rows (100%) have predictions outside of those that the map was "
            "fitted to (0.2 to 0.8)"
        )
        assert err.splitlines()[1:] == [f"rainproof: note: {outside}"] * (command is apply)
        assert ("The new column is not in percent: it is from 0 to 1\n" in out) == (
            command is apply
        )
    with pytest.warns(rainproof.RainproofWarning, match=f"^{said}$"):
        rainproof.scan("a.csv", "p", "y", percent=True)
    Path("none.csv").write_text("p,y\n0,0\n0,1\n")
    Path("both.csv").write_text("p,q,y\n0.5,20,0\n1.5,0.2,1\n")
    for command in (["none.csv", *QUIET], ["both.csv", "--prob", "p", "--outcome", "y", "--json"]):
        assert main(["measure", *command, "--percent"]) == 0
        assert capsys.readouterr().err == "", command


def test_classes_are_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("p,y\n" + "1,1\n0,0\n0,1\n" * 20)
    for command in ("measure", "assess"):
        assert main([command, "a.csv", "--prob", "p", "--outcome", "y"]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert "every prediction is 0 or 1: these are classes, not probabilities" in out
    assert main(["a.csv", "--outcome", "y"]) == 2
    assert "'p' holds 0 and 1 alone: classes, not probabilities)" in capsys.readouterr().err


def test_missing_segments_are_left_out_too(tmp_path, monkeypatch, capsys):
    """Without --drop-missing they are a segment of their own."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("p,y,city\n0.1,0,Rome\n0.8,1,\n0.4,0,Oslo\n0.6,1,Rome\n")
    for drop, cities in (([], ["Oslo", "Rome", None]), (["--drop-missing"], ["Oslo", "Rome"])):
        assert main(["measure", "a.csv", *QUIET, "--by", "city", *drop]) == 0
        out, err = capsys.readouterr()
        found = json.loads(out)
        assert [one["segment"]["city"] for one in found["segments"]] == cities
        assert found["drop_missing"] == bool(drop)
        assert err.count("1 of 4 rows has a missing value and is left out") == bool(drop)


def test_a_column_that_is_there_twice(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("p,y,p\n0.1,0,0.2\n0.8,1,0.7\n")
    assert main(["a.csv"]) == 2
    assert (
        capsys.readouterr().err
        == "rainproof: error: a.csv has 2 columns called 'p'; it must have one\n"
    )
    Path("b.csv").write_text("id,p,y,id\n1,0.1,0,1\n1,0.8,1,1\n")  # which matters to no one
    assert main(["b.csv", "--quiet"]) == 0


def test_json_of_any_layout(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [{"p": 0.1, "y": 0}, {"p": 0.8, "y": 1}, {"p": 0.4, "y": 0}, {"p": 0.6, "y": 1}]
    Path("array.json").write_text(json.dumps(rows, indent=2))
    Path("lines.json").write_text("\n".join(map(json.dumps, rows)))
    Path("rows.csv").write_bytes(CSV)
    found = []
    for name in ("rows.csv", "array.json", "lines.json"):
        assert main(["measure", name, *QUIET]) == 0
        found.append({**json.loads(capsys.readouterr().out), "file": ""})
    assert found[0] == found[1] == found[2]
    piped(monkeypatch, Path("array.json").read_bytes())
    assert main(["measure", "-", *QUIET]) == 0
    assert {**json.loads(capsys.readouterr().out), "file": ""} == found[0]
    assert (
        main(
            [
                "recalibrate",
                "array.json",
                "--prob",
                "p",
                "--outcome",
                "y",
                "-o",
                "map.json",
                "--quiet",
            ]
        )
        == 0
    )
    assert (
        main(
            [
                "apply",
                "array.json",
                "--map",
                "map.json",
                "--prob",
                "p",
                "-o",
                "better.json",
                "--quiet",
            ]
        )
        == 0
    )
    better = json.loads(Path("better.json").read_text())
    assert [{name: one[name] for name in ("p", "y")} for one in better] == rows
    assert all("p_recalibrated" in one for one in better)


READING = {
    "weight": "w",
    "trials": "t",
    "pos_label": "1",
    "where": "p > 0.2",
    "sep": ";",
    "percent": True,
    "confidence_words": {"likely": 0.8},
    "drop_missing": True,
    "base_rate": 0.02,
}


@for_each("option", list(map(dest, (*SELECTION, *TEXT, *VALUES))))
def test_what_reads_rows_takes_every_reading_option(option, tmp_path):
    rows = tmp_path / "rows.csv"
    large = 10 if option == "percent" else 0.8
    rows.write_text(f"p;y;w;t\n0.1;0;1;1\n{large};1;2;1\n0.6;1;1;1\n")
    reading = {option: READING[option]}
    text = {"sep": ";"}
    if option in map(dest, TEXT):
        text |= reading
        reading = {}

    def source():
        return NamedSource([str(rows)], ReadOptions(**text))

    found = [read(source(), "p", "y", **reading) for read in (rainproof.scan, keep_rows)]
    if text.keys() <= inspect.signature(rainproof.scan).parameters.keys():
        found.append(rainproof.scan(str(rows), "p", "y", **text, **reading))
    rates = {"weight": 0.75, "where": 1, "base_rate": 0.02}
    for sample in found:
        assert sample.n == (2 if option == "where" else 3)
        assert sample.event_rate == rates.get(option, 2 / 3)
    if option in map(dest, (*TEXT, *VALUES)):
        copy = tmp_path / "copy.csv"
        twice = {"twice": lambda p, _: 2 * p}
        assert append_columns(source(), copy, prob="p", new_columns=twice, **reading) == 3
        assert copy.read_text().splitlines()[2].endswith(",0.2" if option == "percent" else ",1.6")


def test_every_field_of_the_options_of_text_is_an_option():
    """What the command line reads is what `ReadOptions` has; --keep-missing is for copies alone."""
    fields = {field.name for field in dataclasses.fields(ReadOptions)}
    assert fields == {*map(dest, TEXT), "keep_missing"}


def test_words_that_say_how_likely_it_is_are_told_of_their_option(tmp_path, capsys):
    path = tmp_path / "answers.csv"
    path.write_text("said,y\nlikely,1\nunlikely,0\nsure,1\n")
    assert main(["assess", str(path), "--prob", "said", "--outcome", "y"]) == 2
    assert capsys.readouterr().err.endswith(
        "if these words say how likely it is, add --confidence-words FILE\n"
    )
