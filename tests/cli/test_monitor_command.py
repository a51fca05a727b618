"""From files to stored days, and from days to a timeline, as it is typed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rainproof
from rainproof.cli import main

STORE = ["store", "today.parquet", "--prob", "p", "--outcome", "y", "-o", "day.parquet"]


@pytest.fixture(autouse=True)
def days(tmp_path, monkeypatch):
    """A folder with sixteen days of which the last eight are worse, and a file of rows."""
    monkeypatch.chdir(tmp_path)
    Path("days").mkdir()
    rng = np.random.default_rng(1)
    for day in range(1, 17):
        p = rng.random(200)
        q = p if day < 9 else p**3
        rainproof.Sample(rng.random(200) < q, p).save(f"days/2026-03-{day:02}.parquet", grid=1024)
    pq.write_table(pa.table({"p": [0.1, 0.8, 0.6], "y": [0, 1, 1]}), "today.parquet")


def test_store_writes_a_sample(capsys):
    assert main(STORE) == 0
    assert capsys.readouterr().out == "3 rows, compressed to 3, written to day.parquet\n"
    assert repr(rainproof.load("day.parquet")) == "Sample(n=3, events=2, grid=65536)"
    assert main([*STORE, "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_store_of_one_row(capsys):
    pq.write_table(pa.table({"p": [0.1], "y": [0]}), "today.parquet")
    assert main(STORE) == 0
    assert capsys.readouterr().out.startswith("1 row, ")


def test_store_does_not_overwrite_what_it_reads(capsys):
    before = Path("today.parquet").read_bytes()
    assert main([*STORE[:-1], "today.parquet"]) == 2
    assert capsys.readouterr().err == (
        "rainproof: error: today.parquet is the file to read: the result would overwrite it\n"
    )
    assert Path("today.parquet").read_bytes() == before


def test_store_makes_the_folder(capsys):
    target = Path("more/days/2026-03-02.parquet")
    assert main([*STORE[:3], "q", *STORE[4:-1], str(target)]) == 2  # no such column: nothing is made
    assert not Path("more").exists()
    assert main([*STORE[:-1], str(target)]) == 0
    assert rainproof.load(target).n == 3
    capsys.readouterr()
    assert main([*STORE[:-1], "today.parquet/day.parquet"]) == 2
    assert capsys.readouterr().err == "rainproof: error: cannot write today.parquet/day.parquet: Not a directory\n"


MONITOR = ["monitor", "rows.csv", "--by", "day", "--json"]


@pytest.mark.parametrize(
    "labels",
    [[f"2026-03-{day:02}" for day in range(1, 17)], [str(day) for day in range(1, 17)]],
    ids=["dates", "numbers"],
)
def test_monitor_rows_by_period(capsys, labels):
    rng = np.random.default_rng(2)
    p = rng.random((16, 100)).round(4)
    y = rng.random((16, 100)) < np.where(np.arange(16)[:, None] < 8, p, p**3)
    lines = [f"{labels[k]},{p[k, i]},{y[k, i]:d}\n" for k in range(16) for i in range(100)]
    Path("rows.csv").write_text("day,p,y\n" + "".join(rng.permutation(lines)))
    assert main([*MONITOR, "--prob", "p", "--outcome", "y", "--window", "3"]) == 0
    told = json.loads(capsys.readouterr().out)
    samples = {labels[k]: rainproof.Sample(y[k], p[k]).compress() for k in range(16)}
    expected = rainproof.monitor(samples, window=3).to_dict()
    assert told.pop("rainproof") == rainproof.__version__
    assert told == json.loads(json.dumps(expected))
    assert main([*MONITOR, "--independent-rows", "--where", f"day <> '{labels[0]}'"]) == 0  # columns are guessed
    out, err = capsys.readouterr()
    assert err == "rainproof: note: taking --prob p --outcome y\n"
    assert [window["label"] for window in json.loads(out)["windows"]] == labels[1:]


def test_monitor_periods_of_other_types(capsys):
    days = np.arange("2026-03-01", "2026-03-05", dtype="M8[D]")
    table = pa.table({"day": np.repeat(days, 2), "p": [0.25, 0.5] * 4, "y": [0, 1] * 4})
    pq.write_table(table, "rows.parquet")
    assert main(["monitor", "rows.parquet", *MONITOR[2:], "--quiet"]) == 0
    windows = json.loads(capsys.readouterr().out)["windows"]
    assert [window["label"] for window in windows] == days.astype(str).tolist()


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (
            ["2026-03-01,0.1,0", ",0.5,1"],
            "--by day must not be missing; it is in 1 row: leave them out with --drop-missing",
        ),
        (["3/2/2026,0.1,0", "12/1/2025,0.5,1"], "--by day must be in order as text, such as 2026-03-02; it has '12/1"),
        (["2026-03-01,1.5,0"], "p must lie in [0, 1]; 1 value does not, the first is p[0] = 1.5 (line 2)"),
    ],
)
def test_monitor_rows_that_cannot_be_ordered_or_read(capsys, rows, error):
    Path("rows.csv").write_text("day,p,y\n" + "\n".join(rows) + "\n")
    assert main([*MONITOR, "--prob", "p", "--outcome", "y"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"rainproof: error: {error}")
    assert err.count("\n") == 1


def test_monitor_without_the_rows_of_no_period(capsys):
    Path("rows.csv").write_text('"the ""day""",p,y\n1,0.25,0\n,0.5,1\n2,0.75,1\n')
    arguments = ["monitor", "rows.csv", "--by", 'the "day"', "--prob", "p", "--outcome", "y", "--json"]
    assert main(arguments) == 2
    condition = shlex.split(capsys.readouterr().err.partition(" leave them out with ")[2])
    assert main([*arguments, *condition]) == 0
    assert [window["label"] for window in json.loads(capsys.readouterr().out)["windows"]] == ["1", "2"]


def test_monitor_does_not_overwrite_what_it_reads(capsys):
    Path("rows.csv").write_text("day,p,y\n1,0.1,0\n1,0.2,1\n")
    assert main([*MONITOR, "-o", "rows.csv", "--quiet"]) == 2
    assert "rows.csv is the file to read" in capsys.readouterr().err


def test_monitor_names_the_only_alarm(capsys):
    for day in range(10, 17):
        Path(f"days/2026-03-{day:02}.parquet").unlink()
    assert main(["monitor", "days", "--independent-rows"]) == 0
    assert "\n\nNot calibrated since about 2026-03-09 (1 alarm, at 2026-03-09): " in capsys.readouterr().out


def test_monitor_prints_the_table_and_the_change(capsys):
    assert main(["monitor", "days", "--window", "2", "--independent-rows"]) == 0
    out = capsys.readouterr().out.splitlines()
    line = rainproof.monitor(rainproof.load("days"), window=2, independent_rows=True)
    table = str(line).splitlines()
    assert out[: len(table)] == table
    assert table[0].split() == ["period", "rows", "SCDL", "loss", "at", "most", "evidence"]
    assert [text.split()[0] for text in table if text.endswith(" alarm")] == [
        window.label for window in line.windows if window.evidence >= 100
    ]
    assert table[10].split()[:4] == ["since", "about", "2026-03-09:", "predictions"]
    said = " ".join(out[len(table) :])
    alarms = "8 alarms, the first at 2026-03-09, the last at 2026-03-16"
    assert said.startswith(f" Not calibrated since about 2026-03-09 ({alarms}): predictions")
    assert " Next: assess the rows since then ('rainproof assess') and recalibrate ('rainproof recalibrate'). " in said
    assert "calibrated, 100 periods or more pass to a false alarm, on average. Loss at most: " in said
    assert said.endswith(" It holds at all periods at once with 95% confidence.")
    assert max(map(len, out)) < 81


def test_monitor_without_a_change(capsys):
    for day in range(9, 17):
        Path(f"days/2026-03-{day:02}.parquet").unlink()
    assert main(["monitor", "days", "--fail-on-change"]) == 0
    assert "\n\nNo alarm: the evidence against calibration stays below 100.\n\nAlarm: " in capsys.readouterr().out


def test_monitor_options_have_their_effect(capsys):
    options = ["--confidence-level", "0.9", "--alpha", "0.2", "--independent-rows"]
    assert main(["monitor", "days", *options, "--json", "-o", "line.json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads(Path("line.json").read_text())
    samples = rainproof.load("days")
    expected = rainproof.monitor(samples, confidence_level=0.9, alpha=0.2, independent_rows=True)
    assert told.pop("rainproof") == rainproof.__version__
    assert told == json.loads(json.dumps(expected.to_dict()))


def test_monitor_stops_a_pipeline_and_stays_quiet(capsys):
    assert main(["monitor", "days", "--fail-on-change", "--independent-rows", "--quiet"]) == 1
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["line.png", "line.svg", "line.pdf"])
def test_monitor_draws(capsys, name):
    assert main(["monitor", "days", "--plot", name, "--quiet"]) == 0
    assert Path(name).stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["gone"], "cannot read gone: No such file or directory"),
        (
            ["today.parquet"],
            "today.parquet is not a folder of stored samples: for files of rows name the column of periods, such as "
            "'rainproof monitor today.parquet --by day'",
        ),
        (
            ["days", "my days"],
            "days is not a folder of stored samples: for files of rows name the column of periods, such as "
            "'rainproof monitor days 'my days' --by day'",
        ),
        (["days", "--pos-label", "x"], "--pos-label is for files of rows, with --by; days is a folder"),
        (["days", "--drop-missing"], "--drop-missing is for files of rows, with --by; days is a folder"),
        (
            ["."],
            "today.parquet is not a stored sample: it is a Parquet file of other columns, which rainproof.scan reads; "
            "'rainproof store' and Sample.save write samples",
        ),
        (["days", "--window", "0"], "window must be a whole number of periods, at least 1; it is 0"),
        (["days", "--plot", "line.gif"], "--plot must name a .png, .svg or .pdf file; it is 'line.gif'"),
        (["days", "-o", "no/line.json"], "cannot write no/line.json: No such file or directory"),
    ],
)
def test_monitor_says_what_is_wrong_in_a_line(capsys, arguments, error):
    assert main(["monitor", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.removeprefix("rainproof: error: ").removeprefix("./") == f"{error}\n".removeprefix("./")
