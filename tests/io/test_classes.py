"""Rows of several classes from files and frames, as `scan` and the command read them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import rainproof
from rainproof.cli import main

ANIMALS = ["cat", "dog", "eel"]


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1.5, 1, 0.7], n).round(4)
    p[:, 0] = (1 - p[:, 1] - p[:, 2]).round(4).clip(0)
    true = p**0.5 / (p**0.5).sum(axis=1, keepdims=True)
    y = (rng.random((n, 1)) > true.cumsum(axis=1)).sum(axis=1).clip(max=2)
    frame = pd.DataFrame(p, columns=ANIMALS)
    frame["what"], frame["number"], frame["w"] = np.array(ANIMALS)[y], y, rng.integers(1, 4, n)
    frame["site"] = np.arange(n) // 4
    return frame


@pytest.mark.parametrize("outcome", ["what", "number"])
def test_rows_are_those_of_the_frame(outcome, tmp_path):
    frame = table()
    frame.to_csv(tmp_path / "a.csv", index=False)
    expected = rainproof.Sample(frame["number"].to_numpy(), frame[ANIMALS], sample_weight=frame["w"].to_numpy())
    for source in (frame, tmp_path / "a.csv"):
        found = rainproof.scan(source, classes=ANIMALS, outcome=outcome, weight="w")
        assert found.classes == tuple(ANIMALS)
        for column in ("which", "prob", "sample_weight"):
            np.testing.assert_array_equal(getattr(found, column), getattr(expected, column))
    some = rainproof.scan(frame, classes=ANIMALS, outcome=outcome, where="w > 1")
    assert some.n == (frame["w"] > 1).sum()
    assert some.sample_weight is None
    numbered = rainproof.scan(
        frame.assign(number=frame["number"] + 5), classes=ANIMALS, outcome="number", labels=[5, 6, 7]
    )
    assert numbered.classes == (5, 6, 7)
    np.testing.assert_array_equal(numbered.which, expected.which)
    two = frame.assign(rest=1 - frame["dog"], is_dog=(frame["what"] == "dog").astype(int))
    one = rainproof.scan(two, classes=["rest", "dog"], outcome="is_dog")
    np.testing.assert_array_equal(one.y_prob, frame["dog"])


def test_what_is_refused():
    frame = table(30)
    for options, message in (
        ({"by": "site"}, "classes keep rows of this process: they go without view, by and grid"),
        ({"grid": 8}, "they go without view, by and grid"),
        ({"pos_label": 1}, "pos_label is for two classes; give the labels"),
        ({"base_rate": 0.1}, "base_rate is for one event, not for several classes"),
        ({"trials": "w"}, "trials are for one event, not for several classes"),
        ({"labels": ["cat", "dog"]}, "labels must name each of the 3 classes once"),
    ):
        with pytest.raises(rainproof.InputError, match=message):
            rainproof.scan(frame, classes=ANIMALS, outcome="what", **options)
    wrong = frame.assign(eel=0.9)
    with pytest.raises(rainproof.InputError, match=r"must sum to 1 in each row .*; \d+ values do not, the first is"):
        rainproof.scan(wrong, classes=ANIMALS, outcome="what")
    with pytest.raises(rainproof.InputError, match="what must be one of the 3 labels; 1 value does not, the first is"):
        rainproof.scan(frame.assign(what=["fox", *frame["what"][1:]]), classes=ANIMALS, outcome="what")


def test_the_command(tmp_path, capsys):
    frame = table(900)
    path, costs = tmp_path / "a.csv", tmp_path / "costs.json"
    frame.to_csv(path, index=False)
    costs.write_text(json.dumps({"costs": [[0, 9, 9], [2, 0, 4], [2, 4, 0]], "actions": ANIMALS, "abstain": 1.5}))
    line = ["assess", str(path), "--classes", *ANIMALS, "--outcome", "what"]
    task = rainproof.DecisionTask.from_cost_matrix(**json.loads(costs.read_text()))
    expected = rainproof.assess(frame["what"].to_numpy(), frame[ANIMALS], task=task)
    assert main([*line, "--cost-matrix", str(costs)]) == 0
    shown = capsys.readouterr().out
    assert shown.split("\n\n")[0].replace("\n", " ").startswith(expected.verdict.headline)
    assert "a.recalibrator" not in shown
    assert shown.split("\n\n")[-1].split()[:3] == ["class", "says", "happens"]
    assert main([*line, "--json", "--groups", "site", "--fail-on", "recalibrate"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["result"], told["groups"], told["task"]) == ("class_assessment", 225, None)
    for more, message in (
        (["--prob", "cat"], "--prob is for one event: it cannot be combined with --classes"),
        (["--by", "site"], "--by is for one event"),
        (["--cost-fp", "1", "--cost-fn", "2"], "--cost-fp is for one event"),
        (["--cost-matrix", str(path)], "a.csv is not JSON"),
    ):
        assert main([*line, *more]) == 2
        assert message in capsys.readouterr().err
    for short, message in (
        (["--classes", "cat", "dog", "--outcome", "what"], "--classes must name three columns or more"),
        (["--prob", "cat", "--outcome", "w", "--cost-matrix", str(costs)], "--classes must name three columns or more"),
        (["--classes", *ANIMALS], "--outcome must name the column of the class that occurred"),
    ):
        assert main(["assess", str(path), *short]) == 2
        assert message in capsys.readouterr().err
    costs.write_text('{"cost": 1}')
    assert main([*line, "--cost-matrix", str(costs)]) == 2
    assert "it must be one object with 'costs'" in capsys.readouterr().err
