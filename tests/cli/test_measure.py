"""`rainproof measure`: short, plain, and no stronger than the values it prints."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main
from rainproof.cli.measuring import description
from rainproof.core.text import wrapped


def words(y, p, *, m=2**16, rounding="soft"):
    """What is said of SCDL on these rows, compressed as the command compresses them."""
    sample = rainproof.Sample(y, p)
    sample = sample if m is None else sample.compress(m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rainproof.RainproofWarning)
        profile = rainproof.measures.soft_binned_profile(sample, rounding=rounding)
    return "".join(f"{wrapped(text)}\n" for text in description(profile)), profile


def overconfident(n=2000):
    rng = np.random.default_rng(11)
    p = rng.random(n)
    return rng.random(n) < 0.4 + p / 5, p


@pytest.fixture
def rain(tmp_path, monkeypatch):
    """A folder with rain.csv, where the command runs."""
    y, p = overconfident()
    p = p.round(4)
    lines = [f"{a},{int(b)},{i % 2 + 1}\n" for i, (a, b) in enumerate(zip(p, y, strict=True))]
    (tmp_path / "rain.csv").write_text("p,y,amount\n" + "".join(lines))
    monkeypatch.chdir(tmp_path)
    return y, p


MEASURE = ["measure", "rain.csv", "--prob", "p", "--outcome", "y"]


def test_all_that_is_printed(rain, capsys):
    y, p = rain
    assert main([*MEASURE, "-o", "values.json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    head, _, table = out.partition("differ.\n\n")
    assert f"{head}differ.\n" == (
        "rain.csv: 2,000 rows, event rate 49.7%\n"
        "SCDL 0.0403   (0 is perfect, 0.5 is the worst)\n"
        "\n"
        "Round each probability at random to a neighbouring multiple of 1/32, and act on\n"
        "the rounded value: then, on these rows, no decision, whatever its costs, loses\n"
        "more than 14.4% of what is at stake per case (best minus worst outcome),\n"
        "compared with the best change of actions in hindsight.\n"
        "Largest loss: decisions with a threshold between 0.75 and 0.78.\n"
        "This describes these rows only. Part of it is chance (the fewer the rows, the\n"
        "larger the part), and new rows can differ.\n"
    )
    values = rainproof.measure_all(rainproof.Sample(y, p).compress())
    lines = table.splitlines()
    assert [line.split() for line in lines[:-1]] == [
        [name, f"{value:.4f}"] for name, value in values.items()
    ]
    assert lines[-1] == "Result written to values.json"
    found = json.loads(Path("values.json").read_text())
    assert found["measures"] == values.to_dict()["values"]
    assert max(map(len, out.splitlines())) <= 80


def test_weights_are_said_so(rain, capsys):
    assert main([*MEASURE, "--weight", "amount"]) == 0
    assert capsys.readouterr().out.startswith(
        "rain.csv: 2,000 rows weighted by amount (1,800 effective rows), "
    )


def test_hard_rounding_is_said_so():
    assert (
        "Round each probability down to a multiple of 1/"
        in words(*overconfident(), rounding="hard")[0]
    )


def test_perfect_calibration():
    """0 out of 100 at 0, 1 out of 2 at 1/2: nobody is hurt most."""
    text, profile = words([0] * 100 + [0, 1] * 50, [0.0] * 100 + [0.5] * 100, m=None)
    assert profile.worst_threshold is None
    assert text.splitlines()[:5] == [
        "SCDL 0   (0 is perfect, 0.5 is the worst)",
        "",
        "The probabilities match the outcomes of these rows as closely as can be",
        "measured: no decision that rests on them, whatever its costs, would gain by",
        "changing actions in hindsight.",
    ]
    assert "Largest loss" not in text


@for_each("p", [0.0, 1e-9, 0.5])
def test_a_value_finer_than_the_compression_is_a_bound(p):
    """What compression cannot see is not called calibrated: it is told how small it must be."""
    text, profile = words([0, 1] * 100 if p == 0.5 else [0] * 200, [p] * 200)
    assert profile.m_star == 2**16
    assert text.splitlines()[0] == "SCDL at most 1.53e-05   (0 is perfect, 0.5 is the worst)"
    assert "multiple of 1/65536" in text
    assert "The probabilities match" not in text
    assert "Largest loss" not in text


def test_a_tiny_value_on_rows_is_known():
    text, _ = words([0] * 200, [1e-9] * 200, m=None)
    assert "Round each" in text
    assert "Largest loss" in text


def test_a_bound_of_everything_is_no_promise():
    text, profile = words([0, 1] * 100, [1.0, 0.0] * 100)
    assert profile.regret_bound == 1
    assert "That is too large to bound any loss: acting on these probabilities" in text
    assert "Round each" not in text


def test_the_bound_is_rounded_up():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p = rng.random(int(10 ** rng.uniform(2, 5)))
        text, profile = words(rng.random(len(p)) < p, p)
        said = re.search(r"more than ([\d.]+)% of", text.replace("\n", " "))[1]
        assert profile.regret_bound <= float(said) / 100 <= 1.01 * profile.regret_bound
