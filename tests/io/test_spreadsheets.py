"""Spreadsheets: the first sheet, with the types of its cells."""

from __future__ import annotations

import datetime
import sys

import numpy as np
import openpyxl
import pytest
from helpers.cases import for_each
from helpers.samples import assert_same

import rainproof
from rainproof.cli import main
from rainproof.io import spreadsheets
from rainproof.io.new_columns import append_columns

rng = np.random.default_rng(15)
N = 400
P = rng.random(N).round(4)
P[:3] = 0, 1, 0.5
Y = (rng.random(N) < P).astype(int)
EXPECTED = rainproof.Sample(Y, P).compress()


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
    assert_same(rainproof.scan(tmp_path / "a.xlsx"), EXPECTED)
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


def test_names_of_columns_that_are_numbers_and_dates_are_as_they_are_shown(tmp_path):
    names = [2026, 0.5, datetime.date(2026, 3, 2)]
    spreadsheet(tmp_path / "a.xlsx", [names, [0.5, 1, 1], [0.2, 0, 0]])
    assert rainproof.scan(tmp_path / "a.xlsx", prob="2026", outcome="2026-03-02").n == 2
    with pytest.raises(rainproof.InputError, match=r"it has '2026', '0\.5', '2026-03-02'"):
        rainproof.scan(tmp_path / "a.xlsx")
