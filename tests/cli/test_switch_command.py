"""Two columns of a file, as it is typed: the bounds of `switch_guarantee`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main

SWITCH = ["switch", "rows.csv", "--old", "a", "--new", "b", "--outcome", "y"]


@pytest.fixture(autouse=True)
def frame(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    p = rng.random(2000)
    frame = pd.DataFrame(
        {"a": p, "b": p**2, "y": (rng.random(2000) < p**2).astype(int), "w": rng.random(2000)}
    )
    frame["said"] = np.where(frame.y, "yes", "no")
    frame.to_csv("rows.csv", index=False)
    return frame


def test_it_prints_the_sentences_of_the_result(capsys, frame):
    assert main(SWITCH) == 0
    said, err = capsys.readouterr()
    expected = rainproof.switch_guarantee(rainproof.scan(frame, ["a", "b"]), rng=0)
    assert said.split() == str(expected).split()
    assert max(map(len, said.splitlines())) <= 80
    assert "no decision whose thresholds are multiples of 1/1024 loses more than" in " ".join(
        said.split()
    )
    assert err == ""


@for_each("typed, meant", [("5%,20%", (0.05, 0.2)), ("0.125", 0.125), (" 12.5 % , 1", (0.125, 1))])
def test_decisions_in_a_range_of_thresholds(capsys, frame, typed, meant):
    assert main([*SWITCH, "--threshold-range", typed]) == 0
    said = capsys.readouterr().out
    expected = rainproof.switch_guarantee(rainproof.scan(frame, ["a", "b"]), threshold_range=meant)
    assert said.split() == str(expected).split()
    assert "with a threshold between" in " ".join(said.split()) or meant == 0.125


NO_RANGES = ["20%,5%", "0", "1", "nan", "5,20", "a,b", "", "5%,", "0.1,0.2,0.3", "-0.1,0.5", "5%%"]


@for_each("typed", NO_RANGES)
def test_what_is_no_range_is_an_error_of_one_line(capsys, typed):
    assert main([*SWITCH, f"--threshold-range={typed}"]) == 2
    error = capsys.readouterr().err
    assert (
        "--threshold-range: must be a number above 0 and below 1, or two from 0 to 1"
        in " ".join(error.split())
    )


def test_options_have_their_effect(capsys, frame):
    options = ["--weight", "w", "--where", "a > 0.2", "--confidence-level", "0.9", "--seed", "3"]
    assert (
        main([*SWITCH[:-1], "said", "--pos-label", "yes", *options, "--json", "-o", "found.json"])
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads(Path("found.json").read_text())
    sample = rainproof.scan(frame, ["a", "b"], weight="w", where="a > 0.2")
    expected = rainproof.switch_guarantee(sample, confidence_level=0.9, rng=3)
    assert told.pop("rainproof") == rainproof.__version__
    assert told.pop("harm_bound") == pytest.approx(expected.harm_bound)
    assert (told["n"], told["seed"], told["gain_at_least"]) == (int((frame.a > 0.2).sum()), 3, None)


@for_each("name", ["a.png", "a.svg", "a.pdf"])
def test_it_draws(capsys, name):
    assert main([*SWITCH, "--plot", name]) == 0
    assert Path(name).stat().st_size > 5000
    assert capsys.readouterr().out.endswith(f"Picture written to {name}\n")
    assert main([*SWITCH, "--plot", name, "-o", "found.json", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


@for_each(
    "arguments, error",
    [
        (
            [*SWITCH[:4], "--new", "a", "--outcome", "y"],
            "the forecasts must be different columns; they are a, a",
        ),
        (
            [*SWITCH[:4], "--new", "c", "--outcome", "y"],
            "rows.csv has no column 'c'; it has 'a', 'b', 'y', 'w', 'said'",
        ),
        (
            [*SWITCH[:4], "--new", "said", "--outcome", "y"],
            "said must hold numbers; it holds text such as 'no', 'yes'; is it the outcome?",
        ),
        ([*SWITCH, "--plot", "a.gif"], "--plot must name a .png, .svg or .pdf file; it is 'a.gif'"),
        (
            [*SWITCH, "--plot", "a.png", "-o", "./a.png"],
            "--plot and --output must be different files; both are 'a.png'",
        ),
        (
            [*SWITCH, "-o", "rows.csv"],
            "rows.csv is the file to read: the result would overwrite it",
        ),
        ([*SWITCH, "--plot", "no/a.png"], "cannot write no/a.png: No such file or directory"),
    ],
)
def test_errors_are_one_line(capsys, arguments, error):
    before = Path("rows.csv").read_bytes()
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"rainproof: error: {error}\n")
    assert Path("rows.csv").read_bytes() == before


def test_completion_knows_the_command(capsys):
    assert main(["completion", "bash"]) == 0
    assert "--old" in capsys.readouterr().out


def test_shares_of_the_event(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    p, q, y = np.random.default_rng(4).random((3, 200)).round(3)
    Path("a.csv").write_text(
        "p,q,y\n" + "".join(f"{a},{b},{c}\n" for a, b, c in zip(p, q, y, strict=True))
    )
    assert (
        main(
            [
                "switch",
                "a.csv",
                "--old",
                "p",
                "--new",
                "q",
                "--outcome",
                "y",
                "--fractional",
                "--json",
            ]
        )
        == 0
    )
    sample = rainproof.Sample(y, {"p": p, "q": q}, fractional=True)
    found = json.loads(capsys.readouterr().out)
    assert found == {
        "rainproof": rainproof.__version__,
        **rainproof.switch_guarantee(sample, rng=0).to_dict(),
    }
