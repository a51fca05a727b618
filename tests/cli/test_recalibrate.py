"""`rainproof recalibrate` and `rainproof apply` as a user meets them."""

from __future__ import annotations

import csv
import json
import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each
from helpers.processes import end_of, rainproof_process

import rainproof
from rainproof.cli import main
from rainproof.recalibration.method_names import EVENT_METHODS

N = 3000
RECALIBRATE = ["recalibrate", "rain.csv", "--prob", "p", "--outcome", "y", "-o", "map.json"]
APPLY = ["apply", "rain.csv", "--map", "map.json", "--prob", "p", "-o", "out.csv", "--force"]


@pytest.fixture
def rain(tmp_path, monkeypatch):
    """A folder with rain.csv, where the commands run."""
    rng = np.random.default_rng(3)
    p = rng.random(N).round(6)
    side = np.array(["north", "south", ""])[np.arange(N) % 3]
    y = (rng.random(N) < np.where(side == "north", 1 - p, p**2)).astype(int)
    rows = zip(p, y, side, np.arange(N) % 3 + 1, strict=True)
    Path(tmp_path / "rain.csv").write_text(
        "p,y,side,w\n" + "".join(f"{a},{b},{c},{d}\n" for a, b, c, d in rows)
    )
    monkeypatch.chdir(tmp_path)
    return y, p, side


def column(path, name):
    with Path(path).open() as file:
        return np.array([float(row[name]) for row in csv.DictReader(file)])


def test_from_past_outcomes_to_better_numbers(rain, capsys):
    y, p, _ = rain
    assert main([*RECALIBRATE, "--plot", "map.png"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("rain.csv: 3,000 rows, event rate ")
    for part in (
        f"\nThe map is the weighted mean of the maps of {len(EVENT_METHODS)} methods.",
        "  Brier score\n",
        "\nNo decision loses more than ",
        "\nEach statement holds with 95%",
    ):
        assert part in out
    assert out.endswith("Map written to map.json\nPicture written to map.png\n")
    assert max(map(len, out.splitlines())) <= 80
    r = rainproof.Recalibrator(rng=0).fit(p, y)
    again = rainproof.load("map.json")
    assert again.to_dict() == r.to_dict()
    assert main(APPLY) == 0
    value = column("out.csv", "p_recalibrated")
    np.testing.assert_array_equal(value, r.predict(p), strict=True)
    assert capsys.readouterr().out == (
        f"rain.csv: 3,000 rows recalibrated; they said {p.mean():.0%} on average and now say "
        f"{value.mean():.0%}\n"
        "Result written to out.csv\n"
    )
    assert {path.name for path in Path().iterdir()} == {
        "rain.csv",
        "map.json",
        "map.png",
        "out.csv",
    }


def test_options_have_their_effect(rain, capsys):
    options = [
        "--methods",
        "isotonic",
        "none",
        "--confidence-level",
        "0.9",
        "--seed",
        "4",
        "--where",
        "p < 0.8",
    ]
    assert main([*RECALIBRATE, *options, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(Path("map.json").read_text())
    assert [c["method"] for c in document["candidates"]] == ["none", "isotonic"]
    assert document["certificate"]["confidence_level"] == 0.9
    y, p, _ = rain
    r = rainproof.Recalibrator(["isotonic", "none"], confidence_level=0.9, rng=4).fit(
        p[p < 0.8], y[p < 0.8]
    )
    assert document["map"] == r.to_dict()["map"]
    assert main([*RECALIBRATE, "--groups", "w", "--json"]) == 0  # three groups are too few
    assert json.loads(capsys.readouterr().out)["certificate"]["groups"] == 3
    assert main([*RECALIBRATE, "--quiet"]) == 0
    assert main([*APPLY, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert Path("out.csv").read_text().startswith("p,y,side,w,p_recalibrated\n")
    assert (
        main(
            ["apply", "out.csv", "--map", "map.json", "--prob", "p_recalibrated", "-o", "twice.csv"]
        )
        == 0
    )
    assert capsys.readouterr().err == "rainproof: note: 'p_recalibrated' is recalibrated already\n"


@for_each("suffix", ["csv", "parquet", "feather"])
def test_segments(rain, capsys, suffix, monkeypatch):
    _, p, side = rain
    monkeypatch.setattr("rainproof.io.text_files.BLOCK_BYTES", 4096)
    labels = [s or None for s in side.tolist()]  # in a text file, an empty field is missing
    assert main([*RECALIBRATE, "--by", "side", "--methods", "logistic"]) == 0
    out = capsys.readouterr().out
    assert "\nside " in out
    assert "(none)" in out
    table = pa.table({"p": p, "where": labels})
    if suffix == "parquet":
        pq.write_table(table, "today.parquet", row_group_size=500)
    elif suffix == "feather":
        pa.feather.write_feather(table, "today.feather")
    else:
        Path("today.csv").write_text(
            "p,where\n" + "".join(f"{a},{b}\n" for a, b in zip(p, side, strict=True))
        )
    arguments = [
        "apply",
        f"today.{suffix}",
        "--map",
        "map.json",
        "--prob",
        "p",
        "-o",
        "out.csv",
        "--force",
    ]
    assert main([*arguments, "--by", "where"]) == 0
    assert "segments that the map has not seen" not in capsys.readouterr().out
    r = rainproof.load("map.json")
    assert any(segment.corrected for segment in r.segments_)
    expected = r.predict(p, by={"side": np.array(labels, object)})
    np.testing.assert_array_equal(column("out.csv", "p_recalibrated"), expected, strict=True)
    assert main(arguments) == 2
    assert "has no column 'side'" in capsys.readouterr().err
    for quiet in ([], ["--quiet"]):
        assert main([*APPLY, "--by", "w", *quiet]) == 2
        assert capsys.readouterr().err.startswith("rainproof: error: by has ")
    assert main([*APPLY, "--by", "w", "--unseen", "pooled"]) == 0
    assert (
        "3,000 rows of segments that the map has not seen: the map of all rows is used"
        in capsys.readouterr().out
    )
    np.testing.assert_array_equal(column("out.csv", "p_recalibrated"), r.map_(p), strict=True)


def test_several_columns(rain, capsys):
    _, p, side = rain
    assert main([*RECALIBRATE, "--by", "w", "side", "--methods", "logistic", "--quiet"]) == 0
    assert main([*APPLY, "--quiet"]) == 0
    by = {
        "w": (np.arange(N) % 3 + 1).astype(str),
        "side": np.array([s or None for s in side.tolist()], object),
    }
    expected = rainproof.load("map.json").predict(p, by=by)
    np.testing.assert_array_equal(column("out.csv", "p_recalibrated"), expected, strict=True)


@for_each("by", [["side"], ["w", "side"], ["id"]])
def test_segments_of_dependent_rows(rain, capsys, by, monkeypatch):
    y, p, side = rain
    # groups and segments go on in the next batch
    monkeypatch.setattr("rainproof.io.text_files.BLOCK_BYTES", 4096)
    group, weight = np.arange(N) % 40, 0.5 + np.arange(N) % 3
    rows = zip(p, y, side, weight, group, strict=True)
    Path("rain.csv").write_text(
        "p,y,side,w,id\n" + "".join(f"{a},{b},{c},{d},{e}\n" for a, b, c, d, e in rows)
    )
    assert main([*RECALIBRATE, "--by", *by, "--groups", "id", "--methods", "logistic"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "fitted to all 40 groups of rows. With fewer than 2,000 groups" in out.replace("\n", " ")
    columns = {
        "side": np.array([s or None for s in side.tolist()], object),
        "w": weight.astype(str),
        "id": group.astype(str),
    }
    named = {name: columns[name] for name in by}
    r = rainproof.Recalibrator("logistic", rng=0).fit(p, y, groups=group, by=named)
    assert rainproof.load("map.json").to_dict() == r.to_dict()
    assert main([*APPLY, "--quiet"]) == 0
    np.testing.assert_array_equal(
        column("out.csv", "p_recalibrated"), r.predict(p, by=named), strict=True
    )


def test_segments_of_dependent_rows_refuse_what_others_do(rain, capsys):
    options = ["--by", "side", "--groups", "id"]
    Path("rain.csv").write_text("p,y,side,id\n0.1,0,north,1\n0.2,1,north,\n")
    assert main([*RECALIBRATE, *options]) == 2
    assert "id must not contain nulls" in capsys.readouterr().err
    assert not Path("map.json").exists()


def test_shares_and_segments_together(tmp_path, monkeypatch):
    """As in Python."""
    monkeypatch.chdir(tmp_path)
    p, y = np.random.default_rng(2).random((2, 300)).round(3)
    season = np.arange(300) % 2
    lines = [f"{a},{b},{c}\n" for a, b, c in zip(p, y, season, strict=True)]
    Path("a.csv").write_text("p,y,season\n" + "".join(lines))
    columns = ["a.csv", "--prob", "p", "--outcome", "y", "--fractional", "--by", "season"]
    assert main(["recalibrate", *columns, "-o", "map.json", "--quiet"]) == 0
    sample = rainproof.Sample(y, p, by={"season": season.astype(str)}, fractional=True)
    fitted = rainproof.Recalibrator(rng=0).fit(sample)
    assert json.loads(Path("map.json").read_text()) == json.loads(json.dumps(fitted.to_dict()))


POLICY = [
    "policy",
    "rain.csv",
    "--prob",
    "p",
    "--outcome",
    "y",
    "--threshold",
    "0.3",
    "-o",
    "policy.json",
]


def test_a_policy_that_recalibrates_first(rain, capsys):
    y, p, _ = rain
    assert main([*RECALIBRATE, "--quiet"]) == 0
    assert main([*POLICY, "--map", "map.json"]) == 0
    out = capsys.readouterr().out
    said = " ".join(out.split())
    assert (
        "on these rows no decision that rests on the recalibrated probabilities rounded to it"
        in said
    )
    assert "The rounding is random: a row with a recalibrated probability between " in said
    assert "'rainproof assess' grades" not in said
    r = rainproof.load("map.json")
    task = rainproof.DecisionTask.threshold(0.3)
    policy = rainproof.RoundingPolicy(task, sample=rainproof.Sample(y, p), recalibration=r.map_)
    assert rainproof.load("policy.json") == policy
    decide = [
        "decide",
        "rain.csv",
        "--policy",
        "policy.json",
        "--prob",
        "p",
        "--id",
        "p",
        "-o",
        "out.csv",
    ]
    Path("today.csv").write_text("id,p\n" + "".join(f"{i},{a}\n" for i, a in enumerate(p)))
    decide[1], decide[7] = "today.csv", "id"
    assert main([*decide, "--rounded", "--quiet"]) == 0
    plain = rainproof.RoundingPolicy(task, policy.grid)
    np.testing.assert_array_equal(
        column("out.csv", "rounded"), plain.round(r.predict(p), np.arange(N))
    )


def test_a_policy_needs_a_map_without_segments(rain, capsys):
    assert main([*RECALIBRATE, "--by", "side", "--quiet"]) == 0
    assert main([*POLICY, "--map", "map.json"]) == 2
    assert "--map must be a map without segments" in capsys.readouterr().err
    assert main([*POLICY[:-1], "map.json", "--map", "map.json"]) == 2
    assert "map.json is the file to read" in capsys.readouterr().err
    assert not Path("policy.json").exists()


def test_rows_that_nothing_can_be_fitted_to(rain, capsys):
    Path("few.csv").write_text("p,y\n0.5,1\n0.25,0\n")
    assert main(["recalibrate", "few.csv", *RECALIBRATE[2:]]) == 0
    out, err = capsys.readouterr()
    assert err.startswith(
        "rainproof: warning: the map changes nothing: p has 2 rows: nothing is fitted to\nfewer "
        "than 20"
    )
    assert "Note" not in out  # once is enough
    assert "\nMethod 'none': nothing could be fitted" in out


@for_each(
    "options, drawn",
    [
        ([], None),
        (["--by", "g"], None),
        (["--groups", "g"], None),
        (["--where", "k < 60"], "60 rows"),
    ],
)
def test_warnings_about_reversed_labels_and_few_rows(tmp_path, monkeypatch, capsys, options, drawn):
    monkeypatch.chdir(tmp_path)
    p = np.random.default_rng(0).random(400)
    for name, outcome in (("good", p), ("reversed", 1 - p)):
        y = np.random.default_rng(1).random(400) < outcome
        rows = (f"{a},{b:d},{k % 50},{k}\n" for k, (a, b) in enumerate(zip(p, y, strict=True)))
        Path(f"{name}.csv").write_text("p,y,g,k\n" + "".join(rows))
    few = (
        ""
        if drawn is None
        else f"rainproof: warning: only {drawn}: much of the map can be due to chance, and "
    )
    for name in ("good", "reversed"):
        assert main(["recalibrate", f"{name}.csv", *RECALIBRATE[2:], *options, "--json"]) == 0
        out, err = capsys.readouterr()
        json.loads(out)
        text = " ".join(err.split())
        assert max(map(len, err.splitlines()), default=0) <= 80
        assert text.startswith("rainproof: warning: check which outcome is the event: ") == (
            name == "reversed"
        )
        assert ("Did you mean 1 - p, or the other outcome as the event (--pos-label)?" in text) == (
            name == "reversed"
        )
        assert few in text
        assert ("only" in text) == bool(few)
        assert main(["recalibrate", f"{name}.csv", *RECALIBRATE[2:], *options, "--quiet"]) == 0
        assert capsys.readouterr() == ("", "")


WRONG = {
    "no column": (
        [*RECALIBRATE, "--prob", "q"],
        "rain.csv has no column 'q'; it has 'p', 'y', 'side', 'w'",
    ),
    "over the source": (
        [*RECALIBRATE, "-o", "rain.csv"],
        "rain.csv is the file to read: the result would overwrite it",
    ),
    "one file for both": (
        [*RECALIBRATE, "-o", "a.png", "--plot", "a.png"],
        "--plot and --output must be different files; both are 'a.png'",
    ),
    "no map": (
        [*APPLY[:3], "no.json", *APPLY[4:]],
        "cannot read no.json: No such file or directory",
    ),
    "damaged": (
        [*APPLY[:3], "damaged.json", *APPLY[4:]],
        "damaged.json holds no recalibrator: it is damaged: its digest does not fit its content",
    ),
    "segments that it has not": (
        [*APPLY, "--by", "side"],
        "by must name nothing, as the map was fitted without segments; it names side",
    ),
    "no such column": (
        [*APPLY, "--prob", "q"],
        "rain.csv has no column 'q'; it has 'p', 'y', 'side', 'w'",
    ),
    "no probabilities": (
        [*APPLY, "--prob", "w"],
        "w must lie in [0, 1]; 2,000 values do not, the first is w[1] = 2.0 (line 3)",
    ),
    "a name that is taken": (
        ["apply", "taken.csv", *APPLY[2:]],
        "taken.csv has a column 'p_recalibrated' already: rename it, as the new one is called so",
    ),
    "over the map": (
        [*APPLY, "-o", "map.json"],
        "map.json is the file to read: the result would overwrite it",
    ),
}


@for_each("case", WRONG)
def test_what_is_wrong_is_said_in_one_line(rain, capsys, case):
    arguments, message = WRONG[case]
    rainproof.Recalibrator("logistic", rng=0).fit(rain[1], rain[0]).save("map.json")
    Path("damaged.json").write_text(
        Path("map.json").read_text().replace('"method": "logistic"', '"method": "none"')
    )
    Path("taken.csv").write_text("p,p_recalibrated\n0.5,0.4\n")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    assert main(arguments) == 2
    assert capsys.readouterr() == ("", f"rainproof: error: {message}\n")
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


KILLED = """
import contextlib, os, signal
from rainproof.cli import output
from rainproof.io import text_files
text_files.BLOCK_BYTES = 4096
progress = lambda rows, total=0: rows > 500 and os.kill(os.getpid(), signal.SIGINT)
output.shown_progress = lambda *_, **options: contextlib.nullcontext(progress)
"""


@pytest.mark.parametrize("arguments", [APPLY, RECALIBRATE])
def test_stopped_halfway(rain, arguments):
    rainproof.Recalibrator("logistic", rng=0).fit(rain[1], rain[0]).save("map.json")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    with rainproof_process(*arguments, first=KILLED) as process:
        assert end_of(process) == (128 + signal.SIGINT, b"", b"")
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_help_is_readable(capsys):
    for command in ("recalibrate", "apply"):
        assert main([command, "--help"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert f"  rainproof {command} " in out
        assert max(map(len, out.splitlines())) <= 82


def test_unequal_weights_are_refused_where_rows_are_pooled(rain, capsys, monkeypatch):
    _, p, side = rain
    rows = (f"{a},{k % 2},{s},{k % 4 + 1}\n" for k, (a, s) in enumerate(zip(p, side, strict=True)))
    Path("rain.csv").write_text("p,y,side,w\n" + "".join(rows))
    for by in ([], ["--by", "side"]):
        assert main([*RECALIBRATE, "--weight", "w", "--quiet", *by]) == 0
    monkeypatch.setattr("rainproof.verdict.assessing.MANY_ROWS", 100)
    assert main([*RECALIBRATE, "--weight", "w", "--by", "side"]) == 2
    assert capsys.readouterr().err == (
        "rainproof: error: --weight must have the same value in every row here, as rows of "
        "files are pooled before they are divided: for unequal weights use Python, "
        "rainproof.Recalibrator().fit(p, y, sample_weight=w)\n"
    )


def test_a_constant_is_said_to_be_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("rain.csv").write_text("p,y\n" + "".join(f"0.2,{k % 4 == 0:d}\n" for k in range(400)))
    assert main(RECALIBRATE) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "Every probability is 20%, so the map has one value, 25%. That tells no case from another"
        in out
    )
    assert "isotonic" not in out
    assert rainproof.load("map.json").predict([0.2])[0] == pytest.approx(0.25, abs=0.005)
