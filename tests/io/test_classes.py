"""Rows of several classes from files and frames, as `scan` and the command read them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main
from rainproof.io import containers
from rainproof.io.kept_rows import keep_classes

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


@for_each("outcome", ["what", "number"])
def test_rows_are_those_of_the_frame(outcome, tmp_path):
    frame = table()
    frame.to_csv(tmp_path / "a.csv", index=False)
    expected = rainproof.Sample(
        frame["number"].to_numpy(), frame[ANIMALS], sample_weight=frame["w"].to_numpy()
    )
    for source in (frame, tmp_path / "a.csv"):
        found = rainproof.scan(source, classes=ANIMALS, outcome=outcome, weight="w")
        assert found.classes == tuple(ANIMALS)
        for column in ("which", "prob", "sample_weight"):
            np.testing.assert_array_equal(getattr(found, column), getattr(expected, column))
    some = rainproof.scan(frame, classes=ANIMALS, outcome=outcome, where="w > 1")
    assert some.n == (frame["w"] > 1).sum()
    assert some.sample_weight is None
    numbered = rainproof.scan(
        frame.assign(number=frame["number"] + 5),
        classes=ANIMALS,
        outcome="number",
        labels=[5, 6, 7],
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
    with pytest.raises(
        rainproof.InputError, match=r"must sum to 1 in each row .*; \d+ values do not, the first is"
    ):
        rainproof.scan(wrong, classes=ANIMALS, outcome="what")
    with pytest.raises(
        rainproof.InputError,
        match="what must be one of the 3 labels; 1 value does not, the first is",
    ):
        rainproof.scan(
            frame.assign(what=["fox", *frame["what"][1:]]), classes=ANIMALS, outcome="what"
        )


def test_the_command(tmp_path, capsys):
    frame = table(900)
    path, costs = tmp_path / "a.csv", tmp_path / "costs.json"
    frame.to_csv(path, index=False)
    costs.write_text(
        json.dumps({"costs": [[0, 9, 9], [2, 0, 4], [2, 4, 0]], "actions": ANIMALS, "abstain": 1.5})
    )
    line = ["assess", str(path), "--classes", *ANIMALS, "--outcome", "what"]
    task = rainproof.DecisionTask.from_cost_matrix(**json.loads(costs.read_text()))
    expected = rainproof.assess(frame["what"].to_numpy(), frame[ANIMALS], task=task)
    assert main([*line, "--cost-matrix", str(costs)]) == 0
    shown = capsys.readouterr().out
    assert shown.split("\n\n")[0].replace("\n", " ").startswith(expected.verdict.headline)
    assert "a.recalibrator" not in shown
    line_two = (
        f"rainproof recalibrate {path} --classes cat dog eel --outcome what --cost-matrix "
        f"{costs} -o a-map.json"
    )
    assert line_two in shown
    assert (
        "rainproof apply new.csv --map a-map.json --classes cat dog eel -o new-recalibrated.csv"
        in shown
    )
    assert shown.split("\n\n")[-1].split()[:3] == ["class", "says", "happens"]
    assert main([*line, "--json", "--groups", "site", "--fail-on", "recalibrate"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["result"], told["groups"], told["task"]) == ("class_assessment", 225, None)
    for more, message in (
        (["--prob", "cat"], "argument --prob: not allowed with argument --classes"),
        (["--by", "site"], "--by is for one event"),
        (["--cost-fp", "1", "--cost-fn", "2"], "--cost-fp is for one event"),
        (["--cost-matrix", str(path)], "a.csv is not JSON"),
    ):
        assert main([*line, *more]) == 2
        assert message in capsys.readouterr().err
    for short, message in (
        (
            ["--classes", "cat", "dog", "--outcome", "what"],
            "--classes must name three different columns or more",
        ),
        (
            ["--classes", "cat", "dog", "cat", "--outcome", "what"],
            "--classes must name three different columns",
        ),
        (
            ["--prob", "cat", "--outcome", "w", "--cost-matrix", str(costs)],
            "--cost-matrix needs --classes",
        ),
        (["--classes", *ANIMALS], "--outcome must name the column of the class that occurred"),
    ):
        assert main(["assess", str(path), *short]) == 2
        assert message in capsys.readouterr().err
    costs.write_text('{"costs": [[0, 1], [1, 0]]}')
    assert main([*line, "--cost-matrix", str(costs)]) == 2
    assert "it must have a cost for each of the 3 columns of --classes" in capsys.readouterr().err
    costs.write_text('{"cost": 1}')
    assert main([*line, "--cost-matrix", str(costs)]) == 2
    assert "it must be one object with 'costs'" in capsys.readouterr().err


@pytest.fixture
def photos(tmp_path, monkeypatch):
    frame = table(500)
    monkeypatch.chdir(tmp_path)
    frame.to_csv("a.csv", index=False)
    Path("costs.json").write_text(
        json.dumps({"costs": (9 - 9 * np.eye(3)).tolist(), "actions": ANIMALS, "abstain": 2})
    )
    return frame


CLASSES = ["--classes", *ANIMALS]
TASK = rainproof.DecisionTask.from_cost_matrix(9 - 9 * np.eye(3), actions=ANIMALS, abstain=2)


@for_each(
    "content, why",
    [
        ("cat,dog,eel\n0,1,2\n", "is not JSON: "),
        (
            '{"costs": [[0, 1], [1, 0]]}',
            "holds no cost matrix: it must have a cost for each of the 3 columns of --classes",
        ),
        (
            '{"costs": [0, 1, 2]}',
            "holds no cost matrix: costs must have shape (actions, classes): ",
        ),
    ],
)
@pytest.mark.usefixtures("photos")
def test_what_is_no_cost_matrix_is_shown_one(capsys, content, why):
    Path("costs.csv").write_text(content)
    assert (
        main(["assess", "a.csv", *CLASSES, "--outcome", "what", "--cost-matrix", "costs.csv"]) == 2
    )
    said = capsys.readouterr().err
    assert f"costs.csv {why}" in said
    assert said.endswith(
        '(a file for three classes: {"costs": [[0, 9, 4], [1, 0, 2]], "actions": ["wait", '
        '"act"]})\n'
    )


def test_recalibrate_and_apply(photos, capsys):
    line = ["a.csv", *CLASSES, "--outcome", "what", "--weight", "w", "--cost-matrix", "costs.json"]
    assert main(["recalibrate", *line, "-o", "map.json"]) == 0
    out = capsys.readouterr().out
    assert "a.csv: 500 rows weighted by w" in out
    assert "3 classes" in out
    found = rainproof.load("map.json")
    expected = rainproof.Recalibrator().fit(
        photos[ANIMALS], photos["what"].to_numpy(), sample_weight=photos["w"]
    )
    np.testing.assert_array_equal(found.predict(photos[ANIMALS]), expected.predict(photos[ANIMALS]))
    assert main(["apply", "a.csv", "--map", "map.json", *CLASSES, "-o", "b.csv"]) == 0
    assert "500 rows recalibrated in 3 classes" in capsys.readouterr().out
    new = pd.read_csv("b.csv")
    np.testing.assert_allclose(
        new[[f"{c}_recalibrated" for c in ANIMALS]], found.predict(photos[ANIMALS]), atol=1e-15
    )
    assert (
        main(
            ["apply", "a.csv", "--map", "map.json", "--classes", "eel", "cat", "dog", "-o", "c.csv"]
        )
        == 0
    )
    pd.testing.assert_frame_equal(pd.read_csv("c.csv"), new)  # by the names of the classes
    renamed = photos.rename(columns=dict(zip(ANIMALS, "zyx", strict=True)))
    renamed.to_csv("z.csv", index=False)
    # as they are given
    assert main(["apply", "z.csv", "--map", "map.json", "--classes", *"zyx", "-o", "d.csv"]) == 0
    np.testing.assert_array_equal(pd.read_csv("d.csv")["y_recalibrated"], new["dog_recalibrated"])
    capsys.readouterr()
    rainproof.Recalibrator().fit(photos["cat"], photos["number"] == 0).save("one.json")
    for line, message in (
        (
            ["a.csv", "--map", "map.json", "--prob", "cat"],
            "--map has 3 classes: name a column for each with --classes",
        ),
        (
            ["a.csv", "--map", "map.json", "--classes", *ANIMALS, "w"],
            "--map has 3 classes: name a column for each",
        ),
        (
            ["a.csv", "--map", "one.json", *CLASSES],
            "--map is of one event: name its column with --prob",
        ),
        (["a.csv", "--map", "map.json"], "one of the arguments --prob --classes is required"),
    ):
        assert main(["apply", *line, "-o", "never.csv"]) == 2
        assert message in capsys.readouterr().err
    assert not Path("never.csv").exists()
    lines = [
        "policy",
        "a.csv",
        "--prob",
        "cat",
        "--outcome",
        "number",
        "--pos-label",
        "0",
        "--threshold",
        "0.5",
    ]
    assert main([*lines, "--map", "map.json", "-o", "never.json"]) == 2
    assert "--map is for one event, and the map has 3 classes" in capsys.readouterr().err


def test_rows_without_a_probability_and_wrong_rows(photos, capsys):
    rainproof.Recalibrator("temperature").fit(photos[ANIMALS], photos["what"].to_numpy()).save(
        "map.json"
    )
    some = photos.astype({"dog": object})
    some.loc[[3, 40], "dog"] = ""
    some.to_csv("gaps.csv", index=False)
    line = ["apply", "gaps.csv", "--map", "map.json", *CLASSES, "-o", "b.csv"]
    assert main(line) == 2
    assert (
        "dog must not contain nulls (missing values); 2 values do, the first is dog[3] (line 5)"
        in capsys.readouterr().err
    )
    assert main([*line, "--keep-missing"]) == 0
    assert "2 rows without a probability" in capsys.readouterr().out
    new = pd.read_csv("b.csv")
    assert new["cat_recalibrated"].isna().to_numpy().nonzero()[0].tolist() == [3, 40]
    photos.loc[[7, 8], "eel"] = 0.9
    photos.to_csv("wrong.csv", index=False)
    assert (
        main(["decide", "wrong.csv", *CLASSES, "--cost-matrix", "costs.json", "-o", "d.csv"]) == 2
    )
    assert "cat, dog, eel must sum to 1 in each row (within 0.0001); 2 values do not" in (
        said := capsys.readouterr().err
    )
    assert "(line 9)" in said


def test_decide(photos, capsys):
    assert main(["decide", "a.csv", *CLASSES, "--cost-matrix", "costs.json", "-o", "d.csv"]) == 0
    taken = pd.read_csv("d.csv")["action"]
    np.testing.assert_array_equal(taken, TASK.best_response(photos[ANIMALS]))
    out = capsys.readouterr().out.replace("\n", " ")
    assert f"500 rows decided: 'cat' {(taken == 'cat').sum()} times" in out
    assert f"'abstain' {(taken == 'abstain').sum()} times" in out
    for more, message in (
        ([], "state the decision: --cost-matrix"),
        (["--policy", "p.json"], "--policy is for one event"),
        (["--capacity", "3"], "--capacity is for one event"),
        (["--cost-matrix", "costs.json", "--rounded"], "--rounded is for one event"),
    ):
        assert main(["decide", "a.csv", *CLASSES, *more, "-o", "never.csv"]) == 2
        assert message in capsys.readouterr().err


def test_measure_and_report(photos, capsys):
    line = ["a.csv", *CLASSES, "--outcome", "number", "--weight", "w"]
    assert main(["measure", *line, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    sample = rainproof.Sample(
        photos["number"].to_numpy(), photos[ANIMALS], sample_weight=photos["w"]
    )
    expected = rainproof.measures.measure_classes(sample)
    assert told == {"rainproof": rainproof.__version__, **expected.to_dict()}
    assert main(["measure", *line]) == 0
    assert capsys.readouterr().out.startswith("a.csv: 500 rows, 3 classes\n\nmeasure ")
    assert main(["report", *line, "-o", "r.html", "--cost-matrix", "costs.json"]) == 0
    assert "Report written to r.html" in capsys.readouterr().out
    assert Path("r.html").read_text().count("<figcaption") == 3
    for command, more, message in (
        ("measure", ["--fail-above", "0.1"], "--fail-above is for one event"),
        ("measure", ["--rounding", "hard"], "--rounding is for one event"),
        ("report", ["--preset", "clinical", "-o", "x.html"], "--preset is for one event"),
        ("recalibrate", ["--plot", "x.png", "-o", "x.json"], "--plot is for one event"),
        ("recalibrate", ["--methods", "platt", "-o", "x.json"], "invalid choice: 'platt'"),
        (
            "threshold",
            ["--recall", "90%"],
            "there is no option --classes: threshold is about one event; in Python",
        ),
        ("store", ["-o", "x.parquet"], "there is no option --classes: store is about one event"),
    ):
        assert main([command, *line, *more]) == 2
        assert message in capsys.readouterr().err


def test_missing_groups_are_counted_over_all_batches(monkeypatch):
    monkeypatch.setattr(containers, "ROWS_PER_BATCH", 4)
    rows = {"a": [0.5] * 12, "b": [0.3] * 12, "c": [0.2] * 12, "y": ["a", "b", "c"] * 4}
    rows["g"] = ["x", None, "x", "y", "y", None, "x", "x", None, "x", "y", "y"]
    with pytest.raises(
        rainproof.InputError,
        match=r"^g must not contain nulls .*; 3 values do, the first is g\[1\]$",
    ):
        keep_classes(rows, ["a", "b", "c"], "y", groups=["g"])
    rows["g"] = ["x", "y", "z"] * 4
    assert keep_classes(rows, ["a", "b", "c"], "y", groups=["g"]).groups == 3
