"""``brolly assess`` is `brolly.assess`: the same verdict and the same numbers, from files."""

from __future__ import annotations

import json

import numpy as np
import pytest

import brolly
from brolly.cli import main

RNG = np.random.default_rng(2)
P = RNG.random(600)
Y = (RNG.random(600) < 0.4 + P / 5).astype(int)
CITY = np.where(np.arange(600) % 2, "north", "south")
COMMAND = ["assess", "rain.csv", "--prob", "p", "--outcome", "y"]


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    rows = "".join(f"{p!r},{y},{c}\n" for p, y, c in zip(P.tolist(), Y.tolist(), CITY, strict=True))
    (tmp_path / "rain.csv").write_text(f"p,y,city\n{rows}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def without_wrapping(text):
    return " ".join(text.split())


def test_it_says_and_writes_what_the_function_finds(file, capsys):
    options = ["--by", "city", "--cost-fp", "1", "--cost-fn", "3", "--confidence-level", "0.9", "--tolerance", "0.1"]
    assert main([*COMMAND, *options, "--seed", "4", "-o", "found.json"]) == 0
    task = brolly.DecisionTask.from_costs(false_positive=1, false_negative=3)
    rows = brolly.scan("rain.csv", "p", "y", by="city")
    expected = brolly.assess(rows, task=task, confidence_level=0.9, tolerance=0.1, rng=4)
    assert json.loads((file / "found.json").read_text()) == json.loads(json.dumps(expected.to_dict()))
    said = capsys.readouterr().out
    assert said.endswith("Result written to found.json\n")
    assert without_wrapping(said).startswith(without_wrapping(str(expected.verdict)))


def test_json_alone(capsys):
    assert main([*COMMAND, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"] == "assessment"


def test_quiet_is_quiet(file, capsys):
    assert main([*COMMAND, "--quiet", "-o", "found.json"]) == 0
    assert capsys.readouterr() == ("", "")
    assert json.loads((file / "found.json").read_text())["n"] == 600


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seed", "-1"], "--seed must not be negative, but is -1"),
        (["--cost-fp", "1"], "--cost-fp and --cost-fn belong together: only their ratio says when to act"),
        (["--cost-fp", "0", "--cost-fn", "1"], "argument --cost-fp: must be a positive, finite number; it is '0'"),
        (["--tolerance", "1"], "argument --tolerance: must be a number above 0 and below 1; it is '1'"),
        (["-o", "rain.csv"], "rain.csv"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(capsys, options, message):
    assert main([*COMMAND, *options]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
