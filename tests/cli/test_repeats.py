"""Ids that repeat are noticed where groups were not given, and switch takes groups."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main

COLUMNS = ["--prob", "p", "--outcome", "y"]
SWITCH = ["switch", "visits.csv", "--old", "p", "--new", "q", "--outcome", "y"]
NOTE = (
    "'patient_id' has 100 values in 400 rows: if rows with the same value depend on each other, "
    "bounds and intervals can be too narrow; --groups patient_id allows for that"
)


@pytest.fixture
def visits(tmp_path, monkeypatch):
    """Four visits of each of 100 patients; gives outcomes and two forecasts."""
    rng = np.random.default_rng(2)
    p, q = rng.random(400).round(4), rng.random(400).round(4)
    y = (rng.random(400) < p).astype(int)
    monkeypatch.chdir(tmp_path)
    write("patient_id", p, q, y, np.arange(400) // 4)
    return y, p, q


def write(name, p, q, y, ids):
    lines = [f"{a},{b},{c},{d}\n" for a, b, c, d in zip(p, q, y, ids, strict=True)]
    Path("visits.csv").write_text(f"p,q,y,{name}\n" + "".join(lines))


def test_the_verdict_has_the_note(visits, capsys):
    assert main(["assess", "visits.csv", *COLUMNS, "-o", "a.json"]) == 0
    assert " ".join(capsys.readouterr().out.split()).count(f"Note: {NOTE}.") == 1
    found = json.loads(Path("a.json").read_text())
    assert found["warnings"] == [NOTE]
    assert found["verdict"]["sentences"][-1] == {"about": "note", "text": f"Note: {NOTE}."}
    assert main(["assess", "visits.csv", *COLUMNS, "--groups", "patient_id", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []


@for_each("groups", ["", " --groups patient_id"])
def test_the_commands_of_the_verdict_have_the_groups_that_it_was_made_with(visits, capsys, groups):
    """And no others: a map of groups that the verdict knows nothing of is another map."""
    y, p, q = visits
    write("patient_id", np.clip(p**3, 0, 1), q, y, np.arange(400) // 4)
    assert main(["assess", "visits.csv", *COLUMNS, *groups.split(), "--json"]) == 0
    fit, _ = json.loads(capsys.readouterr().out)["verdict"]["commands"]
    assert (
        fit == f"rainproof recalibrate visits.csv --prob p --outcome y{groups} -o visits-map.json"
    )


@for_each(
    "command",
    [
        ["assess-many", "visits.csv", "--prob", "p", "q", "--outcome", "y"],
        ["recalibrate", "visits.csv", *COLUMNS, "-o", "map.json"],
        SWITCH,
    ],
)
def test_other_commands_say_it_on_stderr(visits, capsys, command):
    assert main(command) == 0
    assert capsys.readouterr().err == f"rainproof: note: {NOTE}\n"
    assert main([*command, "--quiet"]) == 0
    assert main([*command, "--groups", "patient_id"]) == 0
    assert capsys.readouterr().err == ""


@for_each(
    "name, ids, noticed",
    [
        ("gameId", np.arange(400) // 2, True),
        ("id", np.arange(400) // 2, True),
        ("customer id", np.arange(400) // 2, True),
        ("user", np.arange(400) % 7, True),
        ("id_of_case", np.arange(400) // 2, True),
        ("id", np.arange(400), False),  # each row has its own
        ("id", np.zeros(400), False),  # a constant divides nothing
        ("humid", np.arange(400) // 2, False),
        ("city", np.arange(400) // 2, False),
    ],
)
def test_which_columns_look_like_ids(visits, capsys, name, ids, noticed):
    y, p, q = visits
    write(name, p, q, y, ids)
    assert main(SWITCH) == 0
    assert (f"--groups {shlex.quote(name)} " in capsys.readouterr().err) == noticed


def test_switch_takes_groups(visits, capsys):
    options = ["--groups", "patient_id", "--confidence-level", "0.9", "--seed", "3"]
    assert main([*SWITCH, *options, "--json"]) == 0
    y, p, q = visits
    expected = rainproof.switch_guarantee(
        y, p, q, groups=np.arange(400) // 4, confidence_level=0.9, rng=3
    )
    assert json.loads(capsys.readouterr().out) == {
        "rainproof": rainproof.__version__,
        **expected.to_dict(),
    }
    assert expected.groups == 100
