"""`rainproof assess-many` is `rainproof.assess_many` on the columns of files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main

FORECASTS = ["rain.csv", "--prob", "p", "q", "--outcome", "y"]


@pytest.fixture
def rain(tmp_path, monkeypatch):
    """A folder with rain.csv, where the command runs; gives its rows."""
    rng = np.random.default_rng(3)
    p, q = rng.random(400).round(4), rng.random(400).round(4)
    y = (rng.random(400) < p).astype(int)
    w = rng.integers(1, 4, 400)
    lines = [
        f"{a},{b},{c},{d},{i // 4}\n" for i, (a, b, c, d) in enumerate(zip(p, q, y, w, strict=True))
    ]
    (tmp_path / "rain.csv").write_text("p,q,y,w,day\n" + "".join(lines))
    monkeypatch.chdir(tmp_path)
    return y, p, q, w


def test_the_command_is_the_function(rain, capsys):
    options = [
        "--weight",
        "w",
        "--groups",
        "day",
        "--cost-fp",
        "1",
        "--cost-fn",
        "4",
        "--seed",
        "7",
    ]
    assert (
        main(
            [
                "assess-many",
                *FORECASTS,
                *options,
                "--confidence-level",
                "0.9",
                "--json",
                "-o",
                "c.json",
            ]
        )
        == 0
    )
    out, err = capsys.readouterr()
    assert err == ""
    assert out == Path("c.json").read_text()
    y, p, q, w = rain
    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=4)
    expected = rainproof.assess_many(
        {"p": (y, p), "q": (y, q)},
        task=task,
        sample_weight=w,
        groups=np.arange(400) // 4,
        rng=7,
        confidence_level=0.9,
    )
    told, wanted = json.loads(out.replace("--max-weight", "max_weight=")), expected.to_dict()
    for document in (told, wanted):
        for one in document["assessments"]:
            del one["verdict"]  # one names commands, the other functions
    assert told == wanted


def test_the_next_step_is_a_command(rain, capsys):
    y, p, _, _ = rain
    odds = (p + 1e-4) / (1 - p + 1e-4)
    lines = [
        f"{a},{b},{c}\n"
        for a, b, c in zip(odds**5 / (1 + odds**5), odds**6 / (1 + odds**6), y, strict=True)
    ]
    Path("rain.csv").write_text("p,q,y\n" + "".join(lines))  # both are overconfident
    assert main(["assess-many", *FORECASTS, "--seed", "3", "--json"]) == 0
    verdicts = [one["verdict"] for one in json.loads(capsys.readouterr().out)["assessments"]]
    for name, verdict in zip("pq", verdicts, strict=True):
        line = (
            f"rainproof recalibrate rain.csv --prob {name} --outcome y --seed 3 -o "
            f"rain-{name}-map.json"
        )
        assert line in json.dumps(verdict)


def test_the_ranking_is_printed(rain, capsys):
    assert (
        main(["assess-many", *FORECASTS, "--cost-fp", "1", "--cost-fn", "4", "-o", "c.json"]) == 0
    )
    out, err = capsys.readouterr()
    assert err == ""
    y, p, q, _ = rain
    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=4)
    expected = rainproof.assess_many({"p": (y, p), "q": (y, q)}, task=task, rng=0)
    assert out == f"{expected}\nResult written to c.json\n"
    assert out.startswith("For your costs, take p: ")
    assert main(["assess-many", *FORECASTS, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_the_outcome_is_guessed(rain, capsys):
    assert main(["assess-many", "rain.csv", "--prob", "p", "q", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == "rainproof: note: taking --prob p q --outcome y\n"
    assert json.loads(out)["names"] == ["p", "q"]


TWO = "--prob must name two or more different columns; it is "


@for_each(
    "options, error",
    [
        (["--prob", "p"], f"{TWO}p: put the forecasts in one file, one column each\n"),
        (["more.csv", "--prob", "p"], f"{TWO}p: put the forecasts in one file, one column each\n"),
        (
            ["more.csv", "--prob", "p", "p"],
            f"{TWO}p p: put the forecasts in one file, one column each\n",
        ),
        (["--prob", "p", "p"], f"{TWO}p p\n"),
        (
            ["--prob", "p", "day"],
            "day must lie in [0, 1]; 392 values do not, the first is day[8] = 2.0",
        ),
        (["--prob", "p", "q", "--cost-fp", "1"], "--cost-fp and --cost-fn must be given together"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(rain, capsys, options, error):
    Path("more.csv").write_bytes(Path("rain.csv").read_bytes())
    assert main(["assess-many", "--outcome", "y", "rain.csv", *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"rainproof: error: {error}")
    assert err.count("\n") == 1
