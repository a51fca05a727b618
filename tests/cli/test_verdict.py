"""The words: short, plain, and no stronger than the result they are made from."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import brolly
from brolly.cli.verdict import verdict


def words(y, p, *, m=2**16, rounding="soft", weight=None, **options):
    """The verdict on these rows, compressed as the command compresses them."""
    sample = brolly.Sample(y, p, sample_weight=weight)
    sample = sample if m is None else sample.compress(m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", brolly.BrollyWarning)
        profile = brolly.soft_binned_profile(sample, rounding=rounding)
    return verdict("rain.csv", sample, profile, weight=None if weight is None else "amount", **options), profile


def overconfident(n=2000):
    rng = np.random.default_rng(11)
    p = rng.random(n)
    return rng.random(n) < 0.4 + p / 5, p


def test_the_whole_verdict():
    text, profile = words(*overconfident(), output=Path("out/verdict.json"))
    assert (profile.m_star, round(profile.regret_bound, 4)) == (32, 0.1431)
    assert text == (
        "rain.csv: 2,000 rows, event rate 49.7%\n"
        "SCDL 0.0403   (0 is perfect, 0.5 is the worst)\n"
        "\n"
        "Round each probability at random to a neighbouring multiple of 1/32, and act on\n"
        "the rounded value: then, on these rows, no decision, whatever its costs, loses\n"
        "more than 14.4% of what is at stake per case (best minus worst outcome),\n"
        "compared with the best change of actions in hindsight.\n"
        "Hurt most: those who act above a probability between 0.75 and 0.78.\n"
        "This describes these rows only. Part of it is chance (the fewer the rows, the\n"
        "larger the part), and new rows can differ.\n"
        "Result written to out/verdict.json\n"
    )


def test_hard_rounding_is_said_so():
    assert "Round each probability down to a multiple of 1/" in words(*overconfident(), rounding="hard")[0]


def test_weights_are_said_so():
    y, p = overconfident(200)
    text, _ = words(y, p, weight=np.r_[np.ones(100), np.full(100, 3.0)])
    assert text.startswith("rain.csv: 200 rows weighted by amount (effectively 160), event rate ")


def test_perfect_calibration():
    """0 out of 100 at 0, 1 out of 2 at 1/2: nobody is hurt most."""
    text, profile = words([0] * 100 + [0, 1] * 50, [0.0] * 100 + [0.5] * 100, m=None)
    assert profile.worst_threshold is None
    assert text.splitlines()[1:6] == [
        "SCDL 0   (0 is perfect, 0.5 is the worst)",
        "",
        "The probabilities match what happened on these rows, as closely as this can be",
        "measured: nobody who acts on them, whatever the decision and its costs, would",
        "gain by changing actions in hindsight.",
    ]
    assert "Hurt most" not in text


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.5])
def test_a_value_finer_than_the_compression_is_a_bound(p):
    """What compression cannot see is not called calibrated: it is told how small it must be."""
    text, profile = words([0, 1] * 100 if p == 0.5 else [0] * 200, [p] * 200)
    assert profile.m_star == 2**16
    assert text.splitlines()[1] == "SCDL at most 1.53e-05   (0 is perfect, 0.5 is the worst)"
    assert "multiple of 1/65536" in text
    assert "The probabilities match" not in text
    assert "Hurt most" not in text
    assert "Note: the value is below" in text


def test_a_tiny_value_on_rows_is_known():
    text, _ = words([0] * 200, [1e-9] * 200, m=None)
    assert "Round each" in text
    assert "Hurt most" in text


def test_a_bound_of_everything_is_no_promise():
    text, profile = words([0, 1] * 100, [1.0, 0.0] * 100)
    assert profile.regret_bound == 1
    assert "That is too far off to promise anything: somebody who acts on these" in text
    assert "Round each" not in text


def test_the_bound_is_rounded_up():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p = rng.random(int(10 ** rng.uniform(2, 5)))
        text, profile = words(rng.random(len(p)) < p, p)
        said = re.search(r"more than ([\d.]+)% of", text.replace("\n", " "))[1]
        assert profile.regret_bound <= float(said) / 100 <= 1.01 * profile.regret_bound


def test_it_is_short_and_narrow():
    y, p = overconfident(99)
    text, _ = words(y, p, output=Path("verdict.json"))
    assert "Note: only 99 rows" in text
    assert len(text.splitlines()) <= 13
    assert max(map(len, text.splitlines())) <= 80
    one, _ = words([1], [0.3])
    assert one.startswith("rain.csv: 1 row, event rate 100%\n")


def test_names_cannot_move_the_cursor():
    sample = brolly.Sample(*overconfident(200))
    profile = brolly.soft_binned_profile(sample)
    text = verdict("\x1b[2J\n.csv", sample, profile, weight="a\rb", output=Path("c\td"))
    assert text.startswith("\\x1b[2J\\n.csv: 200 rows weighted by a\\rb (effectively 200)")
    assert text.endswith("\nResult written to c\\td\n")
