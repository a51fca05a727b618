"""`rainproof assess` is `rainproof.assess`: the same numbers, the same verdict."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main
from rainproof.cli.printed import Screen

COLUMNS = ["rain.csv", "--prob", "p", "--outcome", "y"]


@pytest.fixture
def rain(tmp_path, monkeypatch):
    """A folder with rain.csv, where the command runs; gives its rows as the command reads them."""
    rng = np.random.default_rng(3)
    p = rng.random(400).round(4)
    y = (rng.random(400) < p**2).astype(int)
    lines = [f"{a},{b},{i % 3}\n" for i, (a, b) in enumerate(zip(p, y, strict=True))]
    (tmp_path / "rain.csv").write_text("p,y,city\n" + "".join(lines))
    monkeypatch.chdir(tmp_path)
    return y, p


def without_code(verdict):
    """Leave out what is another way in a shell than in Python: to recalibrate, also by segment, and
    options.
    """
    del verdict["commands"], verdict["text"], verdict["basis"]
    verdict["sentences"] = [
        said for said in verdict["sentences"] if said["about"] not in ("segments", "limits")
    ]


def test_the_command_is_the_function(rain, capsys):
    options = [
        "--by",
        "city",
        "--cost-fp",
        "35",
        "--cost-fn",
        "65",
        "--confidence-level",
        "0.9",
        "--seed",
        "7",
    ]
    assert main(["assess", *COLUMNS, *options, "--json", "-o", "a.json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out == Path("a.json").read_text()
    task = rainproof.DecisionTask.from_costs(false_positive=35, false_negative=65)
    y, p = rain
    by = {"city": [str(i % 3) for i in range(400)]}
    expected = rainproof.assess(y, p, by=by, task=task, confidence_level=0.9, rng=7).to_dict()
    found = json.loads(out)
    for document in (found, expected):
        without_code(document["verdict"])
    # which are compressed
    segments = [document.pop("segments")["rows"] for document in (found, expected)]
    assert found == expected
    names = ("label", "n", "value", "p_value", "flagged")
    assert [[row[name] for name in names] for row in segments[0]] == [
        [row[name] for name in names] for row in segments[1]
    ]


def test_the_verdict_is_printed(rain, capsys):
    assert main(["assess", *COLUMNS, "-o", "a.json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    y, p = rain
    expected = rainproof.assess(y, p)
    assert out.startswith(str(expected.verdict.text.partition("    a.recal")[0]))
    assert "    rainproof recalibrate rain.csv --prob p --outcome y -o rain-map.json\n" in out
    assert out.endswith("Result written to a.json\n")
    assert len(out.splitlines()) <= 19


def write_too_high(path, separator=","):
    rng = np.random.default_rng(5)
    p = rng.random(4000).round(4)
    y = np.where(rng.random(4000) < p**3, "yes", "no")
    lines = [f"{a}{separator}{b}\n" for a, b in zip(p, y, strict=True)]
    path.write_text(f"my prob{separator}y\n" + "".join(lines))


def test_the_next_step_can_be_run_as_it_is(tmp_path, monkeypatch, capsys):
    """The lines give the map of the verdict, and better probabilities for new cases."""
    monkeypatch.chdir(tmp_path)
    write_too_high(Path("two words.csv"))
    options = ["--prob", "my prob", "--outcome", "y", "--pos-label", "yes", "--seed", "3"]
    assert main(["assess", "two words.csv", *options, "-o", "a.json"]) == 0
    out = capsys.readouterr().out
    lines = [line.strip() for line in out.splitlines() if line.startswith("    rainproof ")]
    assert lines == [
        (
            "rainproof recalibrate 'two words.csv' --prob 'my prob' --outcome y --pos-label yes "
            "--seed 3 -o 'two words-map.json'"
        ),
        "rainproof apply new.csv --map 'two words-map.json' --prob 'my prob' -o "
        "new-recalibrated.csv",
    ]
    verdict = json.loads(Path("a.json").read_text())
    assert verdict["verdict"]["commands"] == lines
    assert "a.recalibrator" not in out
    Path("new.csv").write_text("my prob\n0.25\n0.75\n")
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0
    assert (
        json.loads(Path("two words-map.json").read_text())["map"] == verdict["recalibration"]["map"]
    )
    low, high = (
        float(line.split(",")[1])
        for line in Path("new-recalibrated.csv").read_text().splitlines()[1:]
    )
    assert low < 0.1 < high < 0.6
    assert main(["report", "two words.csv", *options, "-o", "r.html"]) == 0
    assert (
        "rainproof apply new.csv --map &#x27;two words-map.json&#x27;" in Path("r.html").read_text()
    )
    Path("more.csv").write_bytes(Path("two words.csv").read_bytes())
    assert main(["assess", "two words.csv", "more.csv", *options]) == 0
    assert "rainproof apply" not in capsys.readouterr().out.rpartition("Report written")[2]


def test_the_next_step_reads_the_rows_as_the_verdict_did(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    level = rng.integers(0, 3, 4000)
    happened = (rng.random(4000) < np.array([0.3, 0.5, 0.7])[level]) / 2 + 0.25
    words = [["no", "", "yes"][at] for at in level]
    Path("w.json").write_text('{"no": 0.01, "yes": 0.99}')
    Path("a.csv").write_text(
        "p;y\n" + "".join(f"{a};{b}\n" for a, b in zip(words, happened, strict=True))
    )
    columns = ["--prob", "p", "--outcome", "y", "--confidence-words", "w.json", "--sep", ";"]
    assert main(["assess", "a.csv", *columns, "--fractional", "--drop-missing"]) == 0
    lines = [
        line.strip()
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("    rainproof ")
    ]
    # --drop-missing as it was typed, not as the condition that it stands for
    assert (
        " --drop-missing --sep ';' --confidence-words w.json --fractional -o a-map.json" in lines[0]
    )
    assert lines[1].endswith(
        "--sep ';' --confidence-words w.json --keep-missing -o new-recalibrated.csv"
    )
    Path("new.csv").write_text(Path("a.csv").read_text())
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0
    counts = "p,k,n\n0.01,300,1000\n0.99,700,1000\n"
    Path("k.csv").write_text(counts)
    assert main(["assess", "k.csv", "--prob", "p", "--outcome", "k", "--trials", "n"]) == 0
    assert (
        "rainproof recalibrate k.csv --prob p --outcome k --trials n -o k-map.json\n"
        in capsys.readouterr().out
    )


def test_a_verdict_on_recalibrated_rows_says_what_it_is_worth(rain, capsys):
    header, rows = Path("rain.csv").read_text().split("\n", 1)
    Path("rain.csv").write_text(header.replace("p,", "p_recalibrated,", 1) + "\n" + rows)
    assert main(["assess", "rain.csv", "--outcome", "y"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "if its map was fitted to these rows, this verdict is too favourable; judge it on other "
        "rows"
    ) in said


def lines_of(path, prob="p"):
    options = {"--prob": (prob,), "--outcome": ("y",)}
    return Screen(files=(str(path),), options=options, exists=path.is_file())


def test_a_compressed_file_stays_one(tmp_path):
    path = tmp_path / "x.csv.gz"
    assert lines_of(path).recalibrate() == (
        f"rainproof recalibrate {path} --prob p --outcome y -o map.json",
    )
    path.write_bytes(b"")
    assert lines_of(path).recalibrate() == (
        f"rainproof recalibrate {path} --prob p --outcome y -o x-map.json",
        "rainproof apply new.csv.gz --map x-map.json --prob p -o new-recalibrated.csv.gz",
    )
    several = replace(lines_of(path, "a/b"), several=True)
    assert several.recalibrate()[0].endswith("-o x-a_b-map.json")


def test_what_is_written_for_a_spreadsheet_is_text(tmp_path):
    path = tmp_path / "x.XLSX"
    path.write_bytes(b"")
    applied = lines_of(path).recalibrate()[1]
    assert applied == "rainproof apply new.XLSX --map x-map.json --prob p -o new-recalibrated.csv"


def test_verbose_prints_the_details(rain, capsys):
    assert main(["assess", *COLUMNS, "--verbose"]) == 0
    y, p = rain
    verdict = rainproof.assess(y, p).verdict
    assert capsys.readouterr().out.endswith(f"\n\n{verdict.details}\n")


def test_segments_are_named_without_being_asked_for(rain, capsys):
    assert main(["assess", *COLUMNS, "--by", "city"]) == 0
    out = capsys.readouterr().out
    assert "\n\nAll 3 segments (city) are off beyond chance" in out
    head = out.split("\n\n")[-1].splitlines()[0].split()
    assert head == ["city", "rows", "says", "happens", "p", "q", "q", "after"]


def test_many_rows_are_compressed(rain, capsys, monkeypatch):
    monkeypatch.setattr("rainproof.verdict.assessing.MANY_ROWS", 399)
    for options, by in (([], None), (["--by", "city"], ["city"])):
        assert main(["assess", *COLUMNS, *options, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        expected = rainproof.assess(rainproof.scan("rain.csv", "p", "y", by=by), rng=0).to_dict()
        assert found["verdict"]["commands"][0].startswith("rainproof recalibrate rain.csv ")
        without_code(found["verdict"])
        without_code(expected["verdict"])
        assert found == expected


@pytest.mark.filterwarnings("ignore::rainproof.FewRowsWarning")
def test_groups(rain, capsys, monkeypatch):
    monkeypatch.setattr("rainproof.verdict.assessing.MANY_ROWS", 10)  # not for groups
    y, p = rain
    assert main(["assess", *COLUMNS, "--groups", "city", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = rainproof.assess(y, p, groups=np.arange(400) % 3, rng=0).to_dict()
    for document in (found, expected):
        without_code(document["verdict"])
    assert found == expected


@pytest.mark.filterwarnings("ignore::rainproof.FewRowsWarning")
def test_a_largest_weight(rain, capsys):
    given = ["--groups", "city", "--max-weight", "200"]
    assert main(["assess", *COLUMNS, *given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["guarantee"]["max_weight"] == found["rounded_guarantee"]["max_weight"] == 200
    assert "no group can weigh more than 200, as stated" in found["verdict"]["basis"]
    y, p = rain
    stated = {"groups": np.arange(400) % 3, "max_weight": 200}
    assert found["worth"] == rainproof.assess(y, p, **stated).to_dict()["worth"]
    assert main(["recalibrate", *COLUMNS, *given, "-o", "map.json"]) == 0
    assert main(["assess", *COLUMNS, "--groups", "city", "--max-weight", "100"]) == 2
    assert (
        "--max-weight must be finite, and at least the largest weight 134; it is 100"
        in capsys.readouterr().err
    )


def test_shares_of_the_event_by_segment(rain, capsys):
    _, p = rain
    shares, season = np.resize([0.0, 0.5, 1.0], 400), np.resize(["old", "new"], 400)
    rows = [f"{a},{b},{c}" for a, b, c in zip(p, shares, season, strict=True)]
    Path("games.csv").write_text("\n".join(["p,y,season", *rows]))
    assert (
        main(["assess", "games.csv", *COLUMNS[1:], "--fractional", "--by", "season", "--json"]) == 0
    )
    told = json.loads(capsys.readouterr().out)
    expected = rainproof.assess(
        rainproof.Sample(shares, p, by={"season": season}, fractional=True), rng=0
    ).to_dict()
    # that of the command names options
    assert {**told, "verdict": None} == {**expected, "verdict": None}
    assert told["segments"]["by"] == ["season"]


@pytest.mark.filterwarnings("ignore::rainproof.FewRowsWarning")
def test_groups_of_several_columns(rain, capsys):
    """What is the same in all of them is one group."""
    y, p = rain
    rows = [
        f"{a},{b},{k % 4},{k % 5},{k // 200}" for k, (a, b) in enumerate(zip(p, y, strict=True))
    ]
    Path("games.csv").write_text("\n".join(["p,y,season,home,away", *rows]))
    several = ["--groups", "season", "home", "away"]
    assert main(["assess", "games.csv", *COLUMNS[1:], *several, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    k = np.arange(400)
    expected = rainproof.assess(y, p, groups=k % 4 * 10 + k % 5 * 2 + k // 200, rng=0).to_dict()
    for document in (told, expected):
        without_code(document["verdict"])
    assert told == expected
    for name, *options in (["recalibrate", "--by", "away"], ["policy", "--threshold", "0.3"]):
        output = ["-o", f"{name}.json", "--quiet"]
        assert main([name, "games.csv", *COLUMNS[1:], *several, *options, *output]) == 0
    assert (
        main(
            [
                "switch",
                "games.csv",
                "--old",
                "p",
                "--new",
                "away",
                "--outcome",
                "y",
                *several,
                "--quiet",
            ]
        )
        == 0
    )
    assert main(["assess", "games.csv", *COLUMNS[1:], "--fractional", *several, "--quiet"]) == 0
    Path("games.csv").write_text("p,y,season,home\n0.5,1,1,1\n0.5,0,1,\n")
    assert main(["assess", "games.csv", *COLUMNS[1:], "--groups", "season", "home"]) == 2
    assert "home must not contain nulls" in capsys.readouterr().err


@for_each("grades", ["avoid,recalibrate", "use", "unknown", "use, unknown"])
def test_the_grade_can_fail_a_pipeline(rain, capsys, grades):
    y, p = rain
    grade = rainproof.assess(y, p, rng=0).verdict.grade
    assert grade == "recalibrate"
    assert main(["assess", *COLUMNS, "--fail-on", grades, "--quiet"]) == int(grade in grades)
    assert capsys.readouterr() == ("", "")


def test_the_report_says_the_same(rain, capsys):
    assert main(["assess", *COLUMNS]) == 0
    assess = capsys.readouterr().out
    assert main(["report", *COLUMNS, "-o", "report.html"]) == 0
    assert capsys.readouterr().out == f"{assess}Report written to report.html\n"


def test_quiet_and_warnings(tmp_path, capsys, monkeypatch):
    """Warnings are errors in these tests: none may be raised, yet the verdict states them."""
    monkeypatch.chdir(tmp_path)
    Path("rain.csv").write_text("p,y\n0.5,1\n0.75,1\n")
    assert main(["assess", *COLUMNS, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["assess", *COLUMNS]) == 0
    assert "Note: every outcome is 1: " in capsys.readouterr().out


@for_each(
    "options, error",
    [
        (
            ["--cost-fp", "3"],
            "--cost-fp and --cost-fn must be given together: their ratio sets the threshold",
        ),
        (
            ["--cost-fp", "-3", "--cost-fn", "3"],
            "argument --cost-fp: must be a positive, finite number, or the name of a column; it "
            "is '-3' (see 'rainproof assess --help')",
        ),
        (["-o", "rain.csv"], "rain.csv is the file to read: the result would overwrite it"),
        (
            ["--fail-on", "avoid,care"],
            "argument --fail-on: must name grades (use, recalibrate, avoid, unknown), with "
            "commas; it has 'care' (see 'rainproof assess --help')",
        ),
        (
            ["--groups", "p"],
            "prob, outcome and weight and by must be different columns; they are p, y, p",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(rain, capsys, options, error):
    assert main(["assess", *COLUMNS, *options]) == 2
    assert capsys.readouterr() == ("", f"rainproof: error: {error}\n")
