"""NA is a country: text that means a missing number is a label in a column of labels, where only
nothing is missing.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main
from rainproof.io.kept_rows import keep_rows
from rainproof.io.new_columns import append_columns


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


WORDS = ["NA", "null", "nan", "N/A", "NULL"]


def countries(*names):
    Path("c.csv").write_text(
        "p,y,c\n" + "".join(f"0.{at + 1},{at % 2},{name}\n" for at, name in enumerate(names))
    )
    return "c.csv"


def test_na_is_a_segment_and_a_group_and_nothing_is_missing():
    path = countries("NA", "DE", '"NA"', "null", "", '""')
    assert rainproof.scan(path, by="c").counts == {"DE": 1, "NA": 2, "null": 1, None: 2}
    with pytest.raises(
        rainproof.InputError, match=r"c must not contain nulls .*; 2 values do, the first is c\[4\]"
    ):
        keep_rows(path, "p", "y", groups="c")
    with pytest.warns(rainproof.RainproofWarning, match="2 of 6 rows have a missing value"):
        assert rainproof.scan(path, by="c", drop_missing=True).counts == {
            "DE": 1,
            "NA": 2,
            "null": 1,
        }


def test_na_is_the_event_or_a_class_where_it_is_called_so():
    path = countries("NA", "DE", "NA", "")
    some = {"outcome": "c", "where": "c is not null"}
    assert rainproof.scan(path, pos_label="NA", **some).event_rate == pytest.approx(2 / 3)
    for event, missing in (("NA", "1 value does"), ("DE", "3 values do")):
        with pytest.raises(rainproof.InputError, match=f"c must not contain nulls .*; {missing}"):
            rainproof.scan(path, outcome="c", pos_label=event)
    Path("classes.csv").write_text("NA,DE,FR,y\n0.5,0.3,0.2,NA\n0.2,0.6,0.2,DE\n")
    assert rainproof.scan("classes.csv", classes=["NA", "DE", "FR"]).which.tolist() == [0, 1]
    Path("named.csv").write_text("a,b,c,y\n0.5,0.3,0.2,NA\n0.2,0.6,0.2,DE\n")
    sample = rainproof.scan("named.csv", classes=["a", "b", "c"], labels=["NA", "DE", "FR"])
    assert sample.which.tolist() == [0, 1]


def test_na_in_a_condition_is_a_label_and_no_number():
    path = countries("NA", "DE", "", "NA")
    assert [
        rainproof.scan(path, where=where).n for where in ("c = 'NA'", "c is not null", "c != 'NA'")
    ] == [2, 3, 1]
    path = countries("NA", "3", "", "1")
    assert rainproof.scan(path, where="c > 2").n == 1


@for_each("word", [*WORDS, ""])
@for_each("column", ["p", "y", "w"])
def test_such_a_word_in_a_column_of_numbers_is_missing(word, column):
    row = {"p": "0.5", "y": "1", "w": "2", column: word}
    Path("n.csv").write_text("p,y,w\n0.5,0,1\n" + ",".join(row.values()) + "\n")
    with pytest.raises(
        rainproof.InputError, match=rf"{column} must not contain nulls .* is {column}\[1\]"
    ):
        rainproof.scan("n.csv", weight="w")
    with pytest.warns(rainproof.RainproofWarning, match="1 of 2 rows has a missing value"):
        assert rainproof.scan("n.csv", weight="w", drop_missing=True).n == 1
    assert rainproof.scan("n.csv", weight="w", where=f"{column} is not null").n == 1


def fitted():
    map_ = rainproof.Recalibrator("logistic", rng=0).fit(
        [0.1, 0.9, 0.4, 0.6] * 50, [0, 1, 1, 0] * 50
    )
    map_.save("map.json", overwrite=True)
    return ["--map", "map.json", "--prob", "p", "--quiet"]


@for_each("text", ["p\n0.5\n\n0.7\n", "\n\np\r\n0.5\r\n\r\n0.7\r\n"])
def test_an_empty_line_of_a_file_of_one_column_is_a_row_that_is_kept(text):
    Path("one.csv").write_text(text, newline="")
    assert main(["apply", "one.csv", *fitted(), "-o", "two.csv", "--keep-missing", "--force"]) == 0
    lines = Path("two.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["p", "0.5", "", "0.7"]
    assert lines[2] == ","


def test_a_line_is_counted_with_the_empty_ones_that_are_kept(capsys):
    Path("one.csv").write_text("p\n0.5\n\n1.5\n")
    assert main(["apply", "one.csv", *fitted(), "-o", "two.csv", "--keep-missing"]) == 2
    assert "p[2] = 1.5 (line 4)" in capsys.readouterr().err


def test_na_is_an_id_and_a_segment_of_rows_that_are_copied():
    seen = []

    def note(p, others):
        seen.append(others)
        return p

    append_columns(countries("NA", "DE"), "o.csv", prob="p", ids="c", new_columns={"q": note})
    append_columns(countries("NA", "DE"), "o.csv", prob="p", by=["c"], new_columns={"q": note})
    assert seen[0].tolist() == ["NA", "DE"]
    assert {label: rows.tolist() for label, rows in seen[1].items()} == {"NA": [0], "DE": [1]}
    with pytest.raises(rainproof.InputError, match="c must not contain nulls"):
        append_columns(countries("NA", ""), "o.csv", prob="p", ids="c", new_columns={"q": note})
