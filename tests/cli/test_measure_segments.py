"""Many files, segments side by side, and exit codes that a pipeline can act on."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each
from helpers.processes import end_of, held_up, rainproof_process

import rainproof
from rainproof.cli import main

rng = np.random.default_rng(5)
N = 1200
P = rng.random(N).round(4)
REGION = rng.choice(["east", "west"], N)
REGION[:40] = "tiny"
Y = (rng.random(N) < np.where(REGION == "west", P**3, P)).astype(int)
MEASURE = ["measure", "data/*.parquet", "--prob", "p", "--outcome", "y"]


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    """A folder with three files of predictions, where the command runs."""
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    table = pa.table(
        {
            "p": P,
            "y": Y,
            "region": REGION.tolist(),
            "day": pa.array((np.arange(N) // 600).astype("i4")).cast(pa.date32()),
        }
    )
    for start in (0, 400, 800):
        pq.write_table(table.slice(start, 400), f"data/{start}.parquet")


def profile_of(of):
    return rainproof.measures.soft_binned_profile(rainproof.Sample(Y[of], P[of]).compress())


def test_a_table_with_a_line_for_each_segment(capsys):
    assert main([*MEASURE, "--by", "region"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(f"data/*.parquet: 1,200 rows, event rate {100 * Y.mean():.3g}%\n")
    lines = out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("region"))
    assert lines[head].split() == [
        "region",
        "rows",
        "event",
        "rate",
        "SCDL",
        "grid",
        "loss",
        "at",
        "most",
    ]
    for line, region in zip(lines[head + 1 :], ["east", "tiny", "west"], strict=False):
        of = region == REGION
        few = ["few", "rows"] if region == "tiny" else []
        profile = None if few else profile_of(of)
        cells = line.split()
        assert cells[:3] == [region, f"{of.sum()}", f"{100 * Y[of].mean():.3g}%"]
        assert cells[6:] == few
        if profile is not None:
            assert cells[3:5] == [f"{profile.value:.3g}", f"1/{profile.m_star}"]


def test_json_has_the_segments(capsys):
    arguments = [
        *MEASURE,
        "--by",
        "region",
        "day",
        "--where",
        "region != 'tiny'",
        "--json",
        "--fail-above",
        "0.1",
    ]
    status = main(arguments)
    found = json.loads(capsys.readouterr().out)
    keys = [part["segment"] for part in found["segments"]]
    assert keys == [
        {"region": r, "day": d} for r in ("east", "west") for d in ("1970-01-01", "1970-01-02")
    ]
    assert found["by"] == ["region", "day"]
    assert found["where"] == "region != 'tiny'"
    assert found["n"] == (REGION != "tiny").sum() == sum(part["n"] for part in found["segments"])
    assert not any(part["small"] for part in found["segments"])
    assert (found["fail_above"], found["above"]) == (0.1, status == 1)
    of = (REGION == "west") & (np.arange(N) >= 600)
    expected = profile_of(of).to_dict()
    last = found["segments"][-1]
    assert {key: last[key] for key in expected} == expected
    assert last["event_rate"] == Y[of].mean()


def test_the_limit(capsys):
    whole, west = profile_of(np.ones(N, bool)).value, profile_of(REGION == "west").value
    assert whole < west
    for limit, by, status, words in (
        (west, True, 0, f"Passed: SCDL is not above {west:g}.\n"),
        ((whole + west) / 2, False, 0, "Passed: SCDL is not above"),
        ((whole + west) / 2, True, 1, "for 1 of 3 segments.\n"),
        (whole, False, 0, "Passed: "),
        (whole / 2, False, 1, f"FAILED: SCDL is above {whole / 2:g} for all rows.\n"),
        (0, True, 1, "FAILED: SCDL is above 0 for all rows and 2 of 3 segments.\n"),
    ):
        arguments = [
            *MEASURE,
            "--fail-above",
            repr(float(limit)),
            *(["--by", "region"] if by else []),
        ]
        assert main(arguments) == status
        assert words in capsys.readouterr().out
        assert main([*arguments, "--quiet"]) == status
        assert capsys.readouterr() == ("", "")


def test_a_calibrated_segment_and_one_without_a_name(capsys):
    pq.write_table(
        pa.table({"p": [0.5] * 200, "y": [0, 1] * 100, "g": [None] * 200}), "even.parquet"
    )
    assert (
        main(
            [
                "measure",
                "even.parquet",
                "--prob",
                "p",
                "--outcome",
                "y",
                "--by",
                "g",
                "-o",
                "out.json",
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    # as finely as the grid can tell
    assert "(none)   200         50%  1.53e-05  1/65536      0.00306%\n" in out
    assert out.endswith("\nResult written to out.json\n")
    assert json.loads(Path("out.json").read_text())["segments"][0]["segment"] == {"g": None}


def test_infinite_segments_are_words_in_json(capsys):
    columns = {"p": [0.5] * 200, "y": [0, 1] * 100, "g": [math.inf, -math.inf] * 100}
    pq.write_table(pa.table(columns), "inf.parquet")
    assert (
        main(["measure", "inf.parquet", "--prob", "p", "--outcome", "y", "--by", "g", "--json"])
        == 0
    )
    found = json.loads(capsys.readouterr().out)["segments"]
    assert [part["segment"] for part in found] == [{"g": "-inf"}, {"g": "inf"}]


def test_long_names_and_lines_in_names_keep_the_table_in_shape(capsys):
    columns = {"p": [0.5] * 200, "y": [0, 1] * 100, "a\nb": ["x" * 300] * 200}
    pq.write_table(pa.table(columns), "long.parquet")
    assert main(["measure", "long.parquet", "--prob", "p", "--outcome", "y", "--by", "a\nb"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith(r"a\nb  ") and line.endswith("loss at most") for line in lines)
    assert any(line.startswith("x" * 37 + "...   200") for line in lines)
    assert max(map(len, lines)) <= 100


def test_several_files(capsys):
    files = ["data/0.parquet", "data/400.parquet", "data/800.parquet"]
    assert main(["measure", *files, *MEASURE[2:]]) == 0
    assert capsys.readouterr().out.startswith("data/0.parquet and 2 more: 1,200 rows, ")
    assert main(["measure", *files, *MEASURE[2:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == files
    assert main(["policy", *files, *MEASURE[2:], "--threshold", "0.3", "-o", "policy.json"]) == 0
    assert capsys.readouterr().out.startswith("data/0.parquet and 2 more: 1,200 rows, ")


def truncated():
    path = Path("data/400.parquet")
    path.write_bytes(path.read_bytes()[:-100])


def something_else():
    Path("data/400.parquet").write_text("p,y\n0.5,1\n" * 99)


def other_columns():
    pq.write_table(pa.table({"P": P, "y": Y}), "data/400.parquet")


@for_each(
    "spoil, options, message",
    [
        (truncated, [], "cannot read data/400.parquet: "),
        (
            something_else,
            [],
            "cannot read data/400.parquet: Parquet magic bytes not found in footer",
        ),
        (
            other_columns,
            [],
            "data/400.parquet has no column 'p' (did you mean 'P'?); it has 'P', 'y'\n",
        ),
        (None, ["--by", "nation"], "data/0.parquet has no column 'nation'"),
        (None, ["--where", "region ="], "where must be a condition such as "),
        (
            None,
            ["--where", "region > 3"],
            "where cannot compare region, which holds values of type string, with 3\n",
        ),
        (
            None,
            ["--fail-above", "-1"],
            "--fail-above must be a number that is not negative; it is -1.0\n",
        ),
        (
            None,
            ["--fail-above", "nan"],
            "--fail-above must be a number that is not negative; it is nan\n",
        ),
        (
            None,
            ["-o", "data/400.parquet"],
            "data/400.parquet is the file to read: the result would overwrite it\n",
        ),
    ],
)
def test_errors_are_one_line_and_exit_code_2(capsys, spoil, options, message):
    if spoil is not None:
        spoil()
    before = sorted(Path().rglob("*"))
    status = main([*MEASURE, *options])
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith(f"rainproof: error: {message}")
    assert err.count("\n") == 1
    assert sorted(Path().rglob("*")) == before


def test_a_killed_scan_leaves_nothing_behind():
    """Killed outright while it reads: no output, and nothing half-written."""
    os.mkfifo("slow.csv")
    command = ["measure", "slow.csv", "--prob", "p", "--outcome", "y", "-o", "out.json"]
    with rainproof_process(*command) as process, held_up(process, "slow.csv"):
        process.kill()
        assert end_of(process)[0] == -signal.SIGKILL
    assert sorted(path.name for path in Path().iterdir()) == ["data", "slow.csv"]


def test_names_that_are_no_utf8(capsys):
    shutil.copy("data/0.parquet", os.fsdecode(b"\xff.parquet"))
    assert main(["measure", os.fsdecode(b"\xff.parquet"), *MEASURE[2:]]) == 0
    assert capsys.readouterr().out.startswith("\\udcff.parquet: 400 rows")
    assert main(["measure", os.fsdecode(b"\xfe.parquet"), *MEASURE[2:]]) == 2
    assert (
        capsys.readouterr().err
        == "rainproof: error: cannot read \\udcfe.parquet: No such file or directory\n"
    )
