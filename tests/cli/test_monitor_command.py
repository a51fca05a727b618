"""From files to stored days, and from days to a timeline, as it is typed."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main

STORE = ["store", "today.parquet", "--prob", "p", "--outcome", "y", "-o", "day.parquet"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with sixteen days of which the last eight are worse, and a file of rows."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "days").mkdir()
    rng = np.random.default_rng(1)
    for day in range(1, 17):
        p = rng.random(200)
        q = p if day < 9 else p**3
        rainproof.Sample(rng.random(200) < q, p).save(
            folder / f"days/2026-03-{day:02}.parquet", grid=1024
        )
    pq.write_table(pa.table({"p": [0.1, 0.8, 0.6], "y": [0, 1, 1]}), folder / "today.parquet")
    return folder


@pytest.fixture(autouse=True)
def days(written, tmp_path, monkeypatch):
    """A copy of that folder, in which a command runs."""
    monkeypatch.chdir(shutil.copytree(written, tmp_path / "here"))


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
    # no such column: nothing is made
    assert main([*STORE[:3], "q", *STORE[4:-1], str(target)]) == 2
    assert not Path("more").exists()
    assert main([*STORE[:-1], str(target)]) == 0
    assert rainproof.load(target).n == 3
    capsys.readouterr()
    assert main([*STORE[:-1], "today.parquet/day.parquet"]) == 2
    assert (
        capsys.readouterr().err
        == "rainproof: error: cannot write today.parquet/day.parquet: Not a directory\n"
    )


MONITOR = ["monitor", "rows.csv", "--by", "day", "--json"]


@for_each(
    "labels", [[f"2026-03-{day:02}" for day in range(1, 17)], [str(day) for day in range(1, 17)]]
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
    # columns are guessed
    assert main([*MONITOR, "--dependent-rows", "--where", f"day <> '{labels[0]}'"]) == 0
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


@for_each(
    "rows, error",
    [
        (
            ["2026-03-01,0.1,0", ",0.5,1"],
            "day must not be missing; it is in 1 row; --drop-missing leaves such rows out",
        ),
        (
            ["3/2/2026,0.1,0", "12/1/2025,0.5,1"],
            "day must be in order as text, such as 2026-03-02; it has '12/1",
        ),
        (
            ["2026-03-01,1.5,0"],
            "p must lie in [0, 1]; 1 value does not, the first is p[0] = 1.5 (line 2)",
        ),
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
    arguments = [
        "monitor",
        "rows.csv",
        "--by",
        'the "day"',
        "--prob",
        "p",
        "--outcome",
        "y",
        "--json",
    ]
    assert main(arguments) == 2
    assert "; --drop-missing leaves such rows out" in capsys.readouterr().err
    assert main([*arguments, "--drop-missing"]) == 0
    assert [window["label"] for window in json.loads(capsys.readouterr().out)["windows"]] == [
        "1",
        "2",
    ]


def test_monitor_does_not_overwrite_what_it_reads(capsys):
    Path("rows.csv").write_text("day,p,y\n1,0.1,0\n1,0.2,1\n")
    assert main([*MONITOR, "-o", "rows.csv", "--quiet"]) == 2
    assert "rows.csv is the file to read" in capsys.readouterr().err


def keep_days(last):
    """Leave the first days only."""
    for path in sorted(Path("days").iterdir())[last:]:
        path.unlink()


def test_monitor_of_dependent_rows_says_what_could_be_found(capsys):
    assert main(["monitor", "days", "--dependent-rows"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    expected = rainproof.monitor(rainproof.load("days"), dependent=True).detectable
    assert f"What could be found: {expected}." in out


def test_monitor_prints_the_table_the_state_and_the_next_step(capsys):
    assert main(["monitor", "days"]) == 0
    out = capsys.readouterr().out.splitlines()
    line = rainproof.monitor(rainproof.load("days"))
    table = line.table().splitlines()
    assert out[: len(table)] == table
    said = " ".join(out[len(table) :])
    assert f"In alarm: {line.changes[0]}. The alarm was raised at 2026-03-09; " in " ".join(
        said.split()
    )
    assert "--dependent-rows takes a period as one observation" in said
    (command,) = (text for text in out if text.startswith("    "))
    assert max(len(text) for text in out if text != command) < 81
    fitted = shlex.split(command)
    assert fitted[:2] == ["python", "-c"]
    exec(fitted[2])  # what is printed works
    assert rainproof.load("map.json").predict([0.9])[0] < 0.85


def write_rows(shifted=range(8, 16), day=lambda k: f"2026-03-{k + 1:02}"):
    """Sixteen days, some of them worse, in two regions of which one is always right."""
    rng = np.random.default_rng(2)
    lines = ["time,day,region,p,y"]
    for k in range(16):
        for i, p in enumerate(rng.random(240).round(4)):
            q = p**6 if k in shifted and i % 2 else p
            label = day(k)
            lines.append(
                f"{label} {i % 24:02}:00,{label},{'ns'[i % 2]},{p},{int(rng.random() < q)}"
            )
    Path("rows.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("day", "where"),
    [(lambda k: f"2026-03-{k + 1:02}", "day >= '2026-03-09'"), (lambda k: str(k + 1), "day >= 9")],
)
def test_the_next_step_reads_the_rows_since_the_change(capsys, day, where):
    write_rows(day=day)
    assert (
        main(
            [
                "monitor",
                "rows.csv",
                "--by",
                "day",
                "--prob",
                "p",
                "--outcome",
                "y",
                "--where",
                "p > 0.01",
            ]
        )
        == 0
    )
    commands = [
        shlex.split(text)
        for text in capsys.readouterr().out.splitlines()
        if text.startswith("    ")
    ]
    assert [command[1] for command in commands] == ["recalibrate", "apply"]
    assert f"(p > 0.01) and {where}" in commands[0]
    assert main([*commands[0][1:]]) == 0
    whole = rainproof.scan("rows.csv", "p", "y", where=f"p > 0.01 and {where}")
    assert f"{whole.n:,} rows" in capsys.readouterr().out
    assert commands[1][2] == "new.csv"  # tomorrow's rows
    Path("new.csv").write_text("p\n0.3\n0.6\n")
    assert main(commands[1][1:]) == 0


def test_monitor_by_segment_and_by_time(capsys):
    write_rows()
    columns = ["--prob", "p", "--outcome", "y"]
    assert (
        main(
            [
                "monitor",
                "rows.csv",
                "--by",
                "time",
                "--every",
                "day",
                "--segments",
                "region",
                *columns,
                "--json",
            ]
        )
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    by_day = rainproof.monitor(rainproof.scan("rows.csv", "p", "y", by=["day", "region"])).to_dict()
    told.pop("rainproof")
    assert told == json.loads(json.dumps(by_day))
    assert [name for name, changes in told["segments"].items() if changes] == ["s"]


def test_monitor_counts_the_costs(capsys):
    assert main(["monitor", "days", "--cost-fp", "1", "--cost-fn", "4", "--json"]) == 0
    task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=4)
    expected = [w.cost for w in rainproof.monitor(rainproof.load("days"), task=task).windows]
    assert [w["cost"] for w in json.loads(capsys.readouterr().out)["windows"]] == expected


STATES = {
    "was never in alarm": (),
    "raises an alarm": range(15, 16),
    "is in an alarm that was raised before": range(8, 16),
    "is after the end of an alarm": range(4, 8),
}


def codes_of_the_guide():
    """The table in docs/guide/production.md: a state, options and the code."""
    page = (Path(__file__).parents[2] / "docs" / "guide" / "production.md").read_text(
        encoding="utf-8"
    )
    table = page[page.index("| the newest period |") :].partition("\n\n")[0].splitlines()
    head, _, *lines = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in table
    ]
    for state, *codes in lines:
        for option, code in zip(head[1:], codes, strict=True):
            yield state, [] if option == "no option" else option.split(), int(code)


CODES = [
    *codes_of_the_guide(),
    ("is in an alarm that was raised before", ["--fail-on", "change"], 1),
    ("is in an alarm that was raised before", ["--fail-on", "change", "--segments", "region"], 1),
    ("is in an alarm that was raised before", ["--fail-on", "always"], 2),
    ("was never in alarm", ["--alpha", "2"], 2),
]


@for_each("state, options, code", CODES)
def test_exit_codes(capsys, state, options, code):
    write_rows(shifted=STATES[state])
    try:
        found = main(
            [
                "monitor",
                "rows.csv",
                "--by",
                "day",
                "--prob",
                "p",
                "--outcome",
                "y",
                "--quiet",
                *options,
            ]
        )
    except SystemExit as stopped:  # argparse
        found = stopped.code
    assert found == code
    assert capsys.readouterr().out == ""


def test_the_guide_has_a_code_for_every_state():
    assert {state for state, _, _ in codes_of_the_guide()} == set(STATES)
    assert len(list(codes_of_the_guide())) == 12


def test_a_state_file_makes_it_safe_to_run_twice(capsys):
    run = ["monitor", "days", "--fail-on", "new", "--state", "told.json", "--quiet"]
    days = {path: path.read_bytes() for path in sorted(Path("days").iterdir())}
    codes = []
    for stop in (8, 9, 9, 10):
        keep_days(0)
        for path, content in list(days.items())[:stop]:
            path.write_bytes(content)
        codes.append(main(run))
    assert codes == [0, 1, 0, 0]  # told once, on the 9th
    Path("told.json").unlink()
    assert main(run) == 1  # an alarm that no run has told is new, however old
    text = Path("told.json").read_text()
    Path("told.json").write_text(text.replace("2026", "2027"))
    assert main(run) == 2
    assert "told.json holds no monitor state: it is damaged" in capsys.readouterr().err
    Path("told.json").write_text("my notes")
    assert main(run) == 2
    assert Path("told.json").read_text() == "my notes"


def test_an_alarm_that_comes_back_is_told_again():
    keep_days(0)
    rng = np.random.default_rng(0)
    codes = []
    for day in range(1, 13):
        p = rng.random(400)
        worse = 4 <= day < 7 or day >= 10
        rainproof.Sample(rng.random(400) < (p**3 if worse else p), p).save(
            f"days/2026-03-{day:02}.parquet", grid=1024
        )
        codes.append(
            main(["monitor", "days", "--fail-on", "new", "--state", "told.json", "--quiet"])
        )
    assert [day for day, code in enumerate(codes, 1) if code] == [4, 10]


def test_monitor_options_have_their_effect(capsys):
    options = ["--confidence-level", "0.9", "--alpha", "0.2", "--dependent-rows"]
    assert main(["monitor", "days", *options, "--json", "-o", "line.json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads(Path("line.json").read_text())
    samples = rainproof.load("days")
    expected = rainproof.monitor(samples, confidence_level=0.9, alpha=0.2, dependent=True)
    assert told.pop("rainproof") == rainproof.__version__
    assert told == json.loads(json.dumps(expected.to_dict()))


@for_each("name", ["line.png", "line.svg", "line.pdf"])
def test_monitor_draws(capsys, name):
    assert main(["monitor", "days", "--plot", name, "--quiet"]) == 0
    assert Path(name).stat().st_size > 5000


@for_each(
    "arguments, error",
    [
        (["gone"], "cannot read gone: No such file or directory"),
        (
            ["today.parquet"],
            "today.parquet is not a folder of stored samples: for files of rows name the column "
            "of periods, such as 'rainproof monitor today.parquet --by day'",
        ),
        (
            ["days", "my days"],
            "days is not a folder of stored samples: for files of rows name the column of "
            "periods, such as 'rainproof monitor days 'my days' --by day'",
        ),
        (
            ["days", "--pos-label", "x"],
            "--pos-label is for files of rows, with --by; days is a folder",
        ),
        (
            ["days", "--drop-missing"],
            "--drop-missing is for files of rows, with --by; days is a folder",
        ),
        (
            ["."],
            "today.parquet is not a stored sample: it is a Parquet file of other columns, which "
            "rainproof.scan reads; 'rainproof store' and Sample.save write samples",
        ),
        (
            ["days", "--window", "0"],
            "window must be a whole number of periods, at least 1; it is 0",
        ),
        (
            ["days", "--plot", "line.gif"],
            "--plot must name a .png, .svg or .pdf file; it is 'line.gif'",
        ),
        (["days", "-o", "no/line.json"], "cannot write no/line.json: No such file or directory"),
    ],
)
def test_monitor_says_what_is_wrong_in_a_line(capsys, arguments, error):
    assert main(["monitor", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.removeprefix("rainproof: error: ").removeprefix(
        "./"
    ) == f"{error}\n".removeprefix("./")
