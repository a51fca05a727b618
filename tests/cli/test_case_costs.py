"""Columns of costs and capacities on the command line, against the same in Python."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each
from pyarrow import csv as arrow_csv

from rainproof import DecisionTask, Sample, assess, assess_many
from rainproof.cli import main
from rainproof.decisions import decide

N = 500
ROWS = ["--prob", "p", "--outcome", "fraud"]
COSTS = ["--cost-fp", "5", "--cost-fn", "amount"]


@pytest.fixture
def payments(tmp_path, monkeypatch):
    """A folder with payments.csv and payments.parquet, where the commands run."""
    rng = np.random.default_rng(5)
    p = rng.beta(1, 5, N).round(3)
    y = (rng.random(N) < p).astype(int)
    amount = np.exp(rng.normal(3, 1, N)).round(2)
    monkeypatch.chdir(tmp_path)
    write("payments.csv", p, y, amount)
    pq.write_table(arrow_csv.read_csv("payments.csv"), "payments.parquet")
    return y, p, amount


def write(name, p, y, amount, column="amount"):
    with Path(name).open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["payment", "p", "fraud", column, "q"])
        lines.writerows(zip(range(1000, 1000 + len(p)), p, y, amount, (p + 0.1) / 1.1, strict=True))


def costs_of(found):
    return {rule: cost["value"] for rule, cost in found["task"]["costs"].items()}


@for_each("file", ["payments.csv", "payments.parquet"])
def test_a_column_of_costs_is_the_same_as_an_array(payments, capsys, file):
    y, p, amount = payments
    assert main(["assess", file, *ROWS, *COSTS, "--capacity", "4%", "--json"]) == 0
    task = DecisionTask.from_costs(false_positive=5, false_negative=amount)
    assert costs_of(json.loads(capsys.readouterr().out)) == costs_of(
        assess(y, p, task=task, capacity=0.04).to_dict()
    )


def test_costs_beside_groups_segments_conditions_and_shares(payments, capsys):
    y, p, amount = payments
    options = [
        "--groups",
        "payment",
        "--where",
        "payment < 1400",
        "--drop-missing",
        "--weight",
        "amount",
    ]
    task = DecisionTask.from_costs(false_positive=5, false_negative=amount[:400])
    found = assess(y[:400], p[:400], task=task, sample_weight=amount[:400]).to_dict()
    assert main(["assess", "payments.csv", *ROWS, *COSTS, *options, "--json"]) == 0
    assert costs_of(json.loads(capsys.readouterr().out)) == pytest.approx(costs_of(found))
    write("shares.csv", p, y / 2, amount)
    task = DecisionTask.from_costs(false_positive=5, false_negative=amount)
    found = assess(Sample(y / 2, p, fractional=True), task=task).to_dict()
    assert main(["assess", "shares.csv", *ROWS, *COSTS, "--fractional", "--json"]) == 0
    assert costs_of(json.loads(capsys.readouterr().out)) == costs_of(found)


def test_costs_of_each_case_at_another_base_rate(payments, capsys):
    y, p, amount = payments
    task = DecisionTask.from_costs(false_positive=5, false_negative=amount)
    found = assess(y, p, task=task, base_rate=0.02).to_dict()
    weight = np.where(y, 0.02 / y.sum(), 0.98 / (1 - y).sum())
    paid = np.where(p >= 5 / (5 + amount), 5 * (1 - y), amount * y)
    assert costs_of(found)["as is"] == pytest.approx(weight @ paid)
    assert main(["assess", "payments.csv", *ROWS, *COSTS, "--base-rate", "2%", "--json"]) == 0
    assert costs_of(json.loads(capsys.readouterr().out)) == costs_of(found)


def test_several_forecasts_with_a_column_of_costs(payments, capsys):
    y, p, amount = payments
    many = [
        "assess-many",
        "payments.csv",
        "--prob",
        "p",
        "q",
        "--outcome",
        "fraud",
        *COSTS,
        "--json",
    ]
    assert main(many) == 0
    task = DecisionTask.from_costs(false_positive=5, false_negative=amount)
    forecasts = {"p": p, "q": (p + 0.1) / 1.1}
    expected = [
        one.cost.value for one in assess_many(y, forecasts, task=task, measures=[]).standings
    ]
    assert [
        one["cost"]["value"] for one in json.loads(capsys.readouterr().out)["standings"]
    ] == expected


def test_a_report_with_a_column_of_costs(payments):
    assert (
        main(
            [
                "report",
                "payments.csv",
                *ROWS,
                *COSTS,
                "--capacity",
                "0.03",
                "-o",
                "report.html",
                "--quiet",
            ]
        )
        == 0
    )
    text = Path("report.html").read_text()
    assert "costs of 500 cases" in text
    assert "one more case gains" in text


def decided(name="out.csv"):
    with Path(name).open(newline="") as file:
        return [row["action"] for row in csv.DictReader(file)]


def test_decide_compares_each_row_with_its_own_threshold(payments, capsys):
    _, p, amount = payments
    assert main(["decide", "payments.csv", "--prob", "p", *COSTS, "-o", "out.csv"]) == 0
    expected = ["act" if x >= 5 / (5 + a) else "wait" for x, a in zip(p, amount, strict=True)]
    assert decided() == expected
    assert f"'act' {expected.count('act')} times" in capsys.readouterr().out


@for_each(
    "costs, most",
    [(COSTS, "7"), (["--cost-fp", "5", "--cost-fn", "30"], "7"), (COSTS, f"{700 / N}%")],
)
def test_decide_within_a_capacity(payments, capsys, costs, most):
    _, p, amount = payments
    assert (
        main(
            [
                "decide",
                "payments.csv",
                "--prob",
                "p",
                *costs,
                "--capacity",
                most,
                "--id",
                "payment",
                "-o",
                "out.csv",
                "--force",
            ]
        )
        == 0
    )
    task = DecisionTask.from_costs(
        false_positive=5, false_negative=amount if "amount" in costs else 30
    )
    found = decide(p, task, np.arange(1000, 1000 + N), capacity=7)
    assert decided() == found.action.tolist()
    assert decided().count("act") == 7
    out = capsys.readouterr().out.replace("\n", " ")
    assert (
        f"Acting pays on {found.wanted} rows, if the probabilities are right; the capacity is 7."
        in out
    )
    assert f"One more would gain {found.one_more:.4g}." in out


def test_the_next_command_within_a_capacity_runs(payments, capsys):
    _, p, _ = payments
    assert (
        main(
            [
                "assess",
                "payments.csv",
                *ROWS,
                "--cost-fp",
                "5",
                "--cost-fn",
                "30",
                "--capacity",
                "2.5%",
            ]
        )
        == 0
    )
    lines = [
        line.split()
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("    rainproof decide")
    ]
    expected = (
        "rainproof decide new.csv --prob p --cost-fp 5 --cost-fn 30 --capacity 0.025 --id ID -o "
        "new-decided.csv"
    )
    assert lines == [expected.split()]
    Path("new.csv").write_text(Path("payments.csv").read_text().replace("payment,", "ID,", 1))
    assert main(lines[0][1:]) == 0
    with Path("new-decided.csv").open() as file:
        assert [row["action"] for row in csv.DictReader(file)].count("act") == int(0.025 * len(p))


def test_a_policy_rounds_and_the_costs_of_each_row_decide(payments, capsys):
    from rainproof import RoundingPolicy, load

    _, p, amount = payments
    assert (
        main(
            [
                "policy",
                "payments.csv",
                *ROWS,
                "--cost-fp",
                "5",
                "--cost-fn",
                "30",
                "-o",
                "policy.json",
                "--quiet",
            ]
        )
        == 0
    )
    made, ids = load("policy.json"), np.arange(1000, 1000 + N)
    by_policy = [
        "decide",
        "payments.csv",
        "--policy",
        "policy.json",
        "--prob",
        "p",
        "--id",
        "payment",
        "--force",
        "-o",
        "out.csv",
    ]
    own = RoundingPolicy(
        DecisionTask.from_costs(false_positive=5, false_negative=amount), made.grid
    )
    for options, expected in [
        (["--capacity", "9"], made.decide(p, ids, capacity=9)),
        (COSTS, own.decide(p, ids)),
        ([*COSTS, "--capacity", "9"], own.decide(p, ids, capacity=9)),
    ]:
        assert main([*by_policy, *options]) == 0
        assert decided() == expected.tolist()
        assert f"multiple of 1/{made.grid}" in capsys.readouterr().out


def test_rows_without_a_cost_are_copied_if_they_may_be(payments, capsys):
    y, p, amount = payments
    write("gaps.csv", p, y, ["" if i == 3 else a for i, a in enumerate(amount)])
    gaps = ["decide", "gaps.csv", "--prob", "p", *COSTS, "-o", "out.csv"]
    assert main(gaps) == 2
    assert "amount must not contain nulls" in capsys.readouterr().err
    assert main([*gaps, "--keep-missing"]) == 0
    assert decided()[3] == ""
    assert decided().count("") == 1
    assert "1 row without a probability or a cost: copied" in capsys.readouterr().out


@for_each(
    "arguments, message",
    [
        (
            ["assess", *ROWS, "--cost-fp", "5", "--cost-fn", "amuont"],
            "has no column 'amuont' (did you mean 'amount'?)",
        ),
        (
            ["assess", *ROWS, "--cost-fn", "amount"],
            "--cost-fp and --cost-fn must be given together",
        ),
        (
            ["assess", *ROWS, "--cost-fp", "-1", "--cost-fn", "amount"],
            "a positive, finite number, or the name of a column",
        ),
        (
            ["assess", *ROWS, "--cost-fp", "inf", "--cost-fn", "amount"],
            "a positive, finite number, or the name of a column",
        ),
        (["assess", *ROWS, "--capacity", "2%"], "--capacity needs --cost-fp and --cost-fn"),
        (
            ["assess", *ROWS, *COSTS, "--capacity", "150%"],
            "must be a share of the cases below 1, such as 2% or 0.02",
        ),
        (
            ["assess", *ROWS, *COSTS, "--capacity", "100%"],
            "must be a share of the cases below 1, such as 2% or 0.02",
        ),
        (
            ["assess", *ROWS, *COSTS, "--capacity", "0"],
            "or a whole number of them, such as 200; it is '0'",
        ),
        (["assess", *ROWS, *COSTS, "--capacity", "1,2"], "must be a share of the cases below 1"),
        (["policy", *ROWS, *COSTS, "-o", "policy.json"], "a policy stores one threshold"),
        (
            ["monitor", *ROWS, *COSTS, "--by", "payment"],
            "periods are compressed, and keep no costs of single cases",
        ),
        (
            ["decide", "--prob", "p", "-o", "out.csv"],
            "state the decision: --policy, or --cost-fp and --cost-fn",
        ),
        (
            ["decide", "--prob", "p", *COSTS, "--capacity", "7", "-o", "out.csv"],
            "--id is missing: with --capacity",
        ),
        (
            ["decide", "--prob", "p", *COSTS, "--capacity", "2.5", "-o", "out.csv"],
            "must be a share of the cases below 1",
        ),
        (
            ["decide", "--prob", "p", *COSTS, "--rounded", "-o", "out.csv"],
            "--rounded needs --policy",
        ),
        (
            ["decide", "--prob", "p", "--cost-fp", "fraud", "--cost-fn", "fraud", "-o", "out.csv"],
            "must not both be 0",
        ),
        (
            ["decide", "--prob", "p", "--cost-fp", "p", "--cost-fn", "3", "-o", "out.csv"],
            "prob and costs must be different",
        ),
    ],
)
def test_what_cannot_be_done_is_said(payments, capsys, arguments, message):
    command, *options = arguments
    try:
        code = main([command, "payments.csv", *options])
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert message in capsys.readouterr().err.replace("\n", " ")


@for_each("command", [["assess", *ROWS], ["decide", "--prob", "p", "-o", "out.csv"]])
def test_a_number_that_is_also_a_column_is_refused(payments, capsys, command):
    write("odd.csv", payments[1], payments[0], payments[2], "5.0")
    first, *options = command
    assert main([first, "odd.csv", *options, "--cost-fp", "5", "--cost-fn", "9"]) == 2
    assert "--cost-fp is a number, and there is a column '5.0'" in capsys.readouterr().err


def test_a_bad_amount_has_its_line(payments, capsys):
    y, p, amount = payments
    write("bad.csv", p, y, np.where(np.arange(N) % 250 == 7, -amount, amount))
    for command in (
        ["assess", "bad.csv", *ROWS],
        ["decide", "bad.csv", "--prob", "p", "-o", "out.csv"],
    ):
        assert main([*command, *COSTS]) == 2
        assert (
            "amount must be finite and not negative; 2 values do not, the first is amount[7]"
            in capsys.readouterr().err
        )
