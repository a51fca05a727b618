"""``rainproof threshold``: targets as they are typed, what is printed, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main

FIND = ["threshold", "rows.csv", "--prob", "p", "--outcome", "y"]


@pytest.fixture(autouse=True)
def frame(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    p = rng.random(3000)
    frame = pd.DataFrame(
        {"p": p, "y": (rng.random(3000) < p).astype(int), "day": np.arange(3000) // 3}
    )
    frame.to_csv("rows.csv", index=False)
    return frame


@for_each("share", ["80%", "0.8", " 80 %", "8e-1"])
def test_it_prints_what_is_proven(capsys, frame, share):
    assert main([*FIND, "--precision", share]) == 0
    said = capsys.readouterr().out
    expected = rainproof.find_threshold(frame.y, frame.p, precision=0.8)
    assert said.split() == str(expected).split()
    assert max(map(len, said.splitlines())) <= 80


def test_options_have_their_effect(capsys, frame):
    options = [
        "--recall",
        "70%",
        "--false-positive-rate",
        "60%",
        "--groups",
        "day",
        "--confidence-level",
        "0.9",
    ]
    assert (
        main([*FIND, *options, "--seed", "4", "--json", "-o", "found.json", "--plot", "found.svg"])
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads(Path("found.json").read_text())
    expected = rainproof.find_threshold(
        frame.y,
        frame.p,
        recall=0.7,
        false_positive_rate=0.6,
        groups=frame.day,
        confidence_level=0.9,
        rng=4,
    )
    assert told == {"rainproof": rainproof.__version__, **expected.to_dict()}
    assert Path("found.svg").stat().st_size > 5000


def test_the_exit_code_is_1_where_none_is_proven(capsys):
    assert main([*FIND, "--precision", "99.9%"]) == 1
    said, err = capsys.readouterr()
    assert said.startswith("No threshold is proven to have a precision of at least 99.9%")
    assert "like these would" in said
    assert err == ""


@for_each(
    "options, message",
    [
        ([], "state a target: --precision, --recall, --false-positive-rate, or several of them"),
        (
            ["--precision", "90"],
            "argument --precision: must be a share such as 0.9 or 90%; it is '90'",
        ),
        (
            ["--recall", "nan%"],
            "argument --recall: must be a share such as 0.9 or 90%; it is 'nan%'",
        ),
        (
            ["--recall", "100%"],
            "argument --recall: must be a share such as 0.9 or 90%; it is '100%'",
        ),
        (
            ["--recall", "90%", "--where", "y = 0"],
            "must have both outcomes; all rows with weight have 0",
        ),
    ],
)
def test_it_refuses(capsys, options, message):
    assert main([*FIND, *options]) == 2
    assert message in capsys.readouterr().err


def test_weights_need_the_largest_one(capsys, frame):
    command = ["threshold", "weighted.csv", *FIND[2:], "--recall", "0.5", "--weight", "w"]
    for weight in (1 + frame.p, 1):
        frame.assign(w=weight).to_csv("weighted.csv", index=False)
        assert main(command) == 2
        said = capsys.readouterr().err.rstrip()
        assert said.endswith("so that the proof would be false; add --max-weight W")
    frame.assign(w=1 + frame.p).to_csv("weighted.csv", index=False)
    assert main([*command, "--max-weight", "2"]) == 0
    assert "no row can weigh more than 2." in " ".join(capsys.readouterr().out.split())
    assert main([*command, "--max-weight", "1"]) == 2
    assert "--max-weight must be finite, and at least the largest weight" in capsys.readouterr().err
