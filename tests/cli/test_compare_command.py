"""`rainproof compare` is `rainproof.compare` on two columns of files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rainproof
from rainproof.cli import main

TWO = ["rain.csv", "--prob", "p", "q", "--outcome", "y"]


@pytest.fixture
def rain(tmp_path, monkeypatch):
    """A folder with rain.csv, where the command runs; gives its rows."""
    rng = np.random.default_rng(3)
    p, q = rng.random(400).round(4), rng.random(400).round(4)
    y = (rng.random(400) < p).astype(int)
    lines = [f"{a},{b},{c},{i // 4}\n" for i, (a, b, c) in enumerate(zip(p, q, y, strict=True))]
    (tmp_path / "rain.csv").write_text("p,q,y,day\n" + "".join(lines))
    monkeypatch.chdir(tmp_path)
    return y, p, q


@pytest.mark.parametrize("measure", [None, "brier_score"])
def test_the_command_is_the_function(rain, capsys, measure):
    options = (
        []
        if measure is None
        else ["--measure", measure, "--groups", "day", "--confidence-level", "0.9"]
    )
    assert main(["compare", *TWO, *options, "--seed", "7", "--json", "-o", "c.json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out == Path("c.json").read_text()
    grouped = {"groups": np.arange(400) // 4, "confidence_level": 0.9, "measure": measure}
    expected = rainproof.compare(*rain, rng=7, **({} if measure is None else grouped))
    stated = {"rainproof": rainproof.__version__, "prob": ["p", "q"]}
    assert json.loads(out) == {**stated, **expected.to_dict()}


def test_the_difference_is_printed(rain, capsys):
    assert main(["compare", *TWO, "--measure", "brier_score", "--plot", "c.png"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    expected = rainproof.compare(*rain, measure="brier_score", rng=0)
    text = f"{expected}\nHere a is p and b is q.\nPicture written to c.png\n"
    assert " ".join(out.split()) == " ".join(text.split())
    assert Path("c.png").stat().st_size
    assert main(["compare", *TWO, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_shares_of_the_event(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    p, q, y = np.random.default_rng(5).random((3, 200)).round(3)
    Path("a.csv").write_text(
        "p,q,y\n" + "".join(f"{a},{b},{c}\n" for a, b, c in zip(p, q, y, strict=True))
    )
    columns = [
        "a.csv",
        "--prob",
        "p",
        "q",
        "--outcome",
        "y",
        "--fractional",
        "--measure",
        "brier_score",
    ]
    assert main(["compare", *columns, "--json"]) == 0
    sample = rainproof.Sample(y, {"p": p, "q": q}, fractional=True)
    found = json.loads(capsys.readouterr().out)
    assert found["difference"] == rainproof.compare(sample, measure="brier_score", rng=0).difference


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--measure", "nope"], "measure must be"),
        (["--prob", "p"], "argument --prob: expected 2 arguments (see 'rainproof compare --help')"),
        (["--prob", "p", "p"], "the forecasts must be different columns; they are p, p"),
        (
            ["-o", "c.html"],
            "--output must name a .json file, as that is what is written; it is 'c.html'",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(rain, capsys, options, error):
    assert main(["compare", *TWO, *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"rainproof: error: {error}")
    assert err.count("\n") == 1
