"""`rainproof policy` and `rainproof decide` as a user meets them."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.processes import end_of, rainproof_process

import rainproof
from rainproof.cli import main

N = 400


@pytest.fixture
def rain(tmp_path, monkeypatch):
    """A folder with rain.csv, where the commands run."""
    rng = np.random.default_rng(3)
    p = rng.random(N).round(4)
    y = (rng.random(N) < p**2).astype(int)
    lines = [
        f"{i},{a},{b},{i % 3 + 1},{'wet' if b else 'dry'}\n"
        for i, (a, b) in enumerate(zip(p, y, strict=True))
    ]
    (tmp_path / "rain.csv").write_text("day,p,y,w,sky\n" + "".join(lines))
    monkeypatch.chdir(tmp_path)
    return y, p


POLICY = ["policy", "rain.csv", "--prob", "p", "--outcome", "y", "-o", "policy.json"]
COSTS = [*POLICY, "--cost-fp", "35", "--cost-fn", "65"]
DECIDE = [
    "decide",
    "rain.csv",
    "--policy",
    "policy.json",
    "--prob",
    "p",
    "--id",
    "day",
    "-o",
    "out.csv",
    "--force",
]


def test_predictions_that_the_map_has_not_seen_are_noted(rain, capsys):
    assert main(["recalibrate", *POLICY[1:6], "-o", "map.json"]) == 0
    assert main([*COSTS, "--map", "map.json"]) == 0
    Path("new.csv").write_text(
        "day,p\n" + "".join(f"{i},{p}\n" for i, p in enumerate([0.5] * 90 + [0.0] * 10))
    )
    capsys.readouterr()
    new = ["--prob", "p", "-o", "out.csv", "--force"]
    low, high = rainproof.load("map.json").map_.fitted_range
    note = (
        "rainproof: note: 10 rows (10%) have predictions outside of those that "
        "the map was fitted to"
    )
    decide = ["decide", "new.csv", "--policy", "policy.json", "--id", "day"]
    for command in (decide, ["apply", "new.csv", "--map", "map.json"]):
        assert main([*command, *new]) == 0
        assert capsys.readouterr().err == f"{note} ({low:.4g} to {high:.4g})\n"


def test_from_what_is_at_stake_to_what_to_do(rain, capsys):
    y, p = rain
    assert main(COSTS) == 0
    sample = rainproof.Sample(y, p)
    grid = rainproof.choose_grid(sample.compress())
    out, err = capsys.readouterr()
    assert err.startswith("rainproof: warning: Recalibrate first.")
    assert out.startswith(
        f"rain.csv: 400 rows, event rate {100 * y.mean():.3g}%\n"
        "2 actions, 65 at stake: 'wait' below 0.35, 'act' from 0.35.\n"
        f"Grid 1/{grid.grid}: on these rows no decision that rests on probabilities rounded to"
    )
    assert out.endswith("\nPolicy written to policy.json\n")
    assert max(map(len, out.splitlines())) <= 80
    task = rainproof.DecisionTask.from_costs(false_positive=35, false_negative=65)
    policy = rainproof.RoundingPolicy(task, sample=sample)
    assert rainproof.load("policy.json") == policy
    assert main(DECIDE) == 0
    actions = policy.decide(p, np.arange(N)).tolist()
    waits = actions.count("wait")
    out, err = capsys.readouterr()
    assert (out.splitlines()[-1], err) == ("Result written to out.csv", "")
    either = (policy.probabilities(p).max(axis=1) < 1).sum()
    other = (np.array(actions) != task.best_response(p)).sum()
    assert 0 < other < either
    assert " ".join(out.split()).startswith(
        f"rain.csv: 400 rows decided: 'wait' {waits} times, 'act' {N - waits} times "
        f"Probabilities are rounded at random to a neighbouring multiple of 1/{grid.grid} first. "
        f"{either} rows ({either / 4:.3g}%) could get either of two actions, depending on the "
        f"id; {other} got another action than without rounding. "
    )
    lines = Path("out.csv").read_text().splitlines()
    expected = Path("rain.csv").read_text().splitlines()
    assert lines == [
        "day,p,y,w,sky,action",
        *(f"{a},{b}" for a, b in zip(expected[1:], actions, strict=True)),
    ]
    assert sorted(path.name for path in Path().iterdir()) == ["out.csv", "policy.json", "rain.csv"]


def test_options_have_their_effect(rain, capsys):
    y, p = rain
    weight = np.arange(N) % 3 + 1
    options = [
        "--outcome",
        "sky",
        "--pos-label",
        "wet",
        "--weight",
        "w",
        "--threshold",
        "0.2",
        "--seed",
        "9",
    ]
    assert main([*POLICY, *options, "--actions", "go", "stay", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    task = rainproof.DecisionTask.threshold(0.2, actions=["go", "stay"])
    policy = rainproof.RoundingPolicy(
        task, sample=rainproof.Sample(y, p, sample_weight=weight), seed=9
    )
    assert rainproof.load("policy.json") == policy
    assert main([*DECIDE, "--rounded", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    rows = [line.split(",")[-2:] for line in Path("out.csv").read_text().splitlines()]
    rounded = policy.round(p, np.arange(N))
    assert rows[0] == ["action", "rounded"]
    assert [(a, float(b)) for a, b in rows[1:]] == list(
        zip(task.best_response(rounded), rounded, strict=True)
    )


def test_policies_without_names_or_without_ids(rain, capsys):
    rainproof.RoundingPolicy(rainproof.DecisionTask.quadratic(), 8, rounding="hard").save(
        "policy.json"
    )
    without = [a for a in DECIDE if a not in ("--id", "day")]
    assert main(without) == 0
    assert capsys.readouterr().out == "rain.csv: 400 rows decided\nResult written to out.csv\n"
    Path("one.csv").write_text("p,i\n0.5,a\n")
    assert main(["decide", "one.csv", *without[2:]]) == 0
    assert capsys.readouterr().out == "one.csv: 1 row decided\nResult written to out.csv\n"


def test_random_numbers_as_actions(rain, capsys):
    rainproof.RoundingPolicy(rainproof.DecisionTask.quadratic(), 8).save("policy.json")
    assert main(DECIDE) == 0
    assert capsys.readouterr().out == (
        "rain.csv: 400 rows decided\nProbabilities are rounded at random to a neighbouring "
        "multiple of 1/8 first.\n"
        "Result written to out.csv\n"
    )


HELP = "(see 'rainproof decide --help')"
STAKE = "state the decision: either --cost-fp and --cost-fn, or --threshold"
WRONG = {
    "nothing given": (
        ["decide"],
        f"the following arguments are required: FILE, -o/--output {HELP}",
    ),
    "no policy": (
        [*DECIDE[:3], "no.json", *DECIDE[4:]],
        "cannot read no.json: No such file or directory",
    ),
    "a policy that is none": (
        [*DECIDE[:3], "rain.csv", *DECIDE[4:]],
        "rain.csv holds nothing that rainproof.load reads: it is text",
    ),
    "no id": (
        [a for a in DECIDE if a not in ("--id", "day")],
        "--id is missing: the policy rounds at random, and row ids make that reproducible",
    ),
    "no column": (
        [*DECIDE, "--id", "dya"],
        "rain.csv has no column 'dya' (did you mean 'day'?); it has 'day', 'p', 'y', 'w', 'sky'",
    ),
    "one column twice": (
        [*DECIDE, "--id", "p"],
        "prob and ids must be different columns; both are p",
    ),
    "over the source": (
        [*DECIDE, "-o", "rain.csv"],
        "rain.csv is the file to read: the result would overwrite it",
    ),
    "over the policy": (
        [*DECIDE, "-o", "policy.json"],
        "policy.json is the file to read: the result would overwrite it",
    ),
    "no such kind": (
        [*DECIDE, "-o", "out.doc"],
        "the name of the file must end in .csv, .csv.gz, .tsv, .tsv.gz, .txt, .txt.gz, "
        ".parquet, .pq, .feather, .arrow, .jsonl, .jsonl.gz, .ndjson, .ndjson.gz, .json, "
        ".json.gz, .xlsx, .xlsb, .xls or .ods; it is 'out.doc'",
    ),
    "into a folder": ([*DECIDE, "-o", "."], "cannot write .: it is not a regular file"),
    "no such folder": (
        [*DECIDE, "-o", "no/a.csv"],
        "cannot write no/a.csv: No such file or directory",
    ),
    "text for probabilities": (
        [*DECIDE, "--prob", "sky"],
        "sky must hold numbers; it holds text such as 'dry', 'wet'; is it the outcome?",
    ),
    "no probabilities": (
        [*DECIDE, "--prob", "w"],
        "w must lie in [0, 1]; 266 values do not, the first is w[1] = 2.0 (line 3)",
    ),
    "nothing at stake": ([*POLICY], STAKE),
    "half a stake": ([*POLICY, "--cost-fp", "3"], STAKE),
    "two stakes": ([*COSTS, "--threshold", "0.5"], STAKE),
    "a stake and a half": ([*POLICY, "--threshold", "0.5", "--cost-fn", "3"], STAKE),
    "a negative cost": (
        [*POLICY, "--cost-fp", "-3", "--cost-fn", "3"],
        "argument --cost-fp: must be a positive, finite number, or the name of a column; it is "
        "'-3' (see 'rainproof policy --help')",
    ),
    "a threshold of 2": (
        [*POLICY, "--threshold", "2"],
        "argument --threshold: must be a number above 0 and below 1; it is '2' (see 'rainproof "
        "policy --help')",
    ),
    "a threshold in percent": (
        [*POLICY, "--threshold", "35%"],
        "argument --threshold: must be a number above 0 and below 1; it is '35%' (see "
        "'rainproof policy --help')",
    ),
    "a negative seed": (
        [*COSTS, "--seed", "-1"],
        "argument --seed: must be an integer from 0 to 2**64 - 1; it is '-1' (see 'rainproof "
        "policy --help')",
    ),
    "a grid that is none": (
        [*COSTS, "--grid", "48"],
        "argument --grid: must be a power of two from 2 to 65,536; it is '48' (see 'rainproof "
        "policy --help')",
    ),
    "a policy over the source": (
        [*COSTS, "-o", "rain.csv"],
        "rain.csv is the file to read: the result would overwrite it",
    ),
}


@for_each("case", WRONG)
def test_what_is_wrong_is_said_in_one_line(rain, capsys, case):
    arguments, message = WRONG[case]
    rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.35), 8).save("policy.json")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    assert main(arguments) == 2
    assert capsys.readouterr() == ("", f"rainproof: error: {message}\n")
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_help_is_readable(capsys):
    for command in ("policy", "decide"):
        assert main([command, "--help"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert f"  rainproof {command} " in out
        assert max(map(len, out.splitlines())) <= 82


def test_names_from_a_file_cannot_move_the_cursor(rain, capsys):
    task = rainproof.DecisionTask.threshold(0.35, actions=["\x1b[2J", "act"])
    rainproof.RoundingPolicy(task, 8).save("policy.json")
    assert main(DECIDE) == 0
    assert "\x1b" not in capsys.readouterr().out


KILLED = """
import contextlib, os, signal
from rainproof.cli import output
from rainproof.io import text_files
text_files.BLOCK_BYTES = 256
progress = lambda rows, total=0: rows > 200 and os.kill(os.getpid(), signal.{})
output.shown_progress = lambda *_, **options: contextlib.nullcontext(progress)
"""


@pytest.mark.parametrize(
    ("name", "code", "left"), [("SIGKILL", -signal.SIGKILL, 1), ("SIGINT", 130, 0)]
)
def test_killed_halfway(rain, name, code, left):
    """The file is what it was; of a run that had no time to clean up a hidden file stays, in
    nobody's way.
    """
    rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.35), 8).save("policy.json")
    Path("out.csv").write_text("old")
    with rainproof_process(*DECIDE, first=KILLED.format(name)) as process:
        assert end_of(process) == (code, b"", b"")
    assert Path("out.csv").read_text() == "old"
    assert len(list(Path().glob(".rainproof-*.tmp"))) == left
    assert main([*DECIDE, "--quiet"]) == 0
    assert Path("out.csv").read_text().count("\n") == N + 1


def test_the_policy_is_json(rain, capsys):
    assert main(COSTS) == 0
    assert json.loads(Path("policy.json").read_text())["format"] == "rainproof policy"
