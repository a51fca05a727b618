"""Every command that is printed, run as it is printed, gives the numbers of the screen that it
stands on.
"""

from __future__ import annotations

import csv
import html
import json
import re
import sqlite3
import subprocess
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main
from rainproof.cli.output import shell_line

pytestmark = pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")

# a name that a shell, a terminal and a condition could take for something else
ODD = 'two\nlines $HOME\'s "x"'
N = 2100  # rows: enough for a certificate


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder of files whose forecasts are too high."""
    folder = tmp_path_factory.mktemp("written")
    rng = np.random.default_rng(5)
    p = rng.random(N).round(3)
    event = rng.random(N) < p**2
    k = np.arange(N)
    columns = {
        "p": p,
        "q": np.where(k % 90 == 0, "", (p**1.2).round(3)),
        "y": event * 1,
        "lab": np.where(event, "-yes", "no"),
        "city": np.where(k % 50 == 0, "", np.array(["Bonn", 'Bad "Ems"', "Köln"])[k % 3]),
        "patient": k // 3,
        "case_id": k,
        "w": 1 + k % 2,
        "amount": np.where(k % 70 == 0, np.where(k % 140 == 0, "", "nan"), 1 + k % 7),
        "percent": 100 * p,
        "share": event / 2,
        "hits": event * 3,
        "n": 3,
        "words": np.where(p > 0.5, "likely", "no"),
        "day": k // 100,
        ODD: p,
        "-p": p,
        "or": np.array(["a", "b", ""])[k % 3],
    }
    rows = list(
        zip(
            *(column if np.ndim(column) else [column] * N for column in columns.values()),
            strict=True,
        )
    )
    for name, separator in (("d.csv", ","), ("my rain.csv", ","), ("tabs.txt.csv", "\t")):
        with (folder / name).open("w", newline="") as file:
            csv.writer(file, delimiter=separator).writerows([list(columns), *rows])
    with (folder / "part-1.csv").open("w", newline="") as file:
        csv.writer(file).writerows([list(columns), *rows[:900]])
    with (folder / "part-2.csv").open("w", newline="") as file:
        csv.writer(file).writerows([list(columns), *rows[900:]])
    (folder / "words.json").write_text('{"likely": 0.8, "no": 0.3}')
    with sqlite3.connect(folder / "base.db") as base:
        base.execute("create table rain (p real, y integer)")
        base.executemany(
            "insert into rain values (?, ?)",
            [(float(a), int(b)) for a, b in zip(p, event, strict=True)],
        )
    base.close()
    (folder / "guess.csv").write_text(
        "".join(f"{a},{b}\n" for a, b in [("chance", "rained"), *zip(p, event * 1, strict=True)])
    )
    three = rng.dirichlet([1, 1, 1], 600)
    chosen = [int(rng.choice(3, p=(row**2 / (row**2).sum()))) for row in three]
    names = ["cat", "dog", "an eel"]
    with (folder / "photos.csv").open("w", newline="") as file:
        rows = [
            [*map(str, row), names[at], i // 2]
            for i, (row, at) in enumerate(zip(three, chosen, strict=True))
        ]
        csv.writer(file).writerows([[*names, "animal", "album"], *rows])
    (folder / "costs.json").write_text(
        '{"costs": [[0, 9, 4], [1, 0, 2]], "actions": ["wait", "act"]}'
    )
    (folder / "days").mkdir()
    for day in range(1, 17):
        some = rng.random(200)
        sample = rainproof.Sample(rng.random(200) < (some if day < 9 else some**3), some)
        sample.save(folder / f"days/2026-03-{day:02}.parquet", grid=1024)
    return folder


@pytest.fixture
def here(written, monkeypatch, tmp_path):
    """An empty folder with links to those files, where a command runs."""
    for path in written.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)


def read_by_a_shell(line):
    """The words of a line as Bash reads them."""
    shown = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True
    )
    return shown.stdout.decode().split("\0")[:-1]


def run(line):
    """Run a line as it is printed; what it wrote, if it is a map."""
    command, *words = read_by_a_shell(line)
    assert command == "rainproof"
    assert main([*words, "--quiet", *["--force"] * ("-o" in words)]) == 0, line
    return Path(words[words.index("-o") + 1])


def printed(out):
    """The lines of a screen that are commands."""
    return [line.strip() for line in out.splitlines() if re.match("    (rainproof|python) ", line)]


def on_page(path):
    """The lines of a page that are commands."""
    blocks = re.findall("<pre>(rainproof .*?)</pre>", path.read_text(), re.DOTALL)
    return [line for block in blocks for line in html.unescape(block).split("\n")]


OF = ["--prob", "p", "--outcome", "y"]
COSTS = ["--cost-fp", "1", "--cost-fn", "0.30000000000000004"]
CASES = {
    "plain": ["d.csv", *OF],
    "guessed": ["guess.csv"],
    "segments": ["d.csv", *OF, "--by", "city", "--drop-missing"],
    "segments with odd names": [
        "d.csv",
        *OF,
        "--by",
        "or",
        ODD,
        "--drop-missing",
        "--where",
        "p > 0.1 or p < 0.05",
    ],
    "clusters": ["d.csv", *OF, "--groups", "patient", "day", "--max-weight", "50"],
    "event": ["d.csv", "--prob", "p", "--outcome", "lab", "--pos-label=-yes"],
    "weights": ["d.csv", *OF, "--weight", "w"],
    "trials": ["d.csv", "--prob", "p", "--outcome", "hits", "--trials", "n"],
    "percent": ["d.csv", "--prob", "percent", "--outcome", "y", "--percent"],
    "base rate": ["d.csv", *OF, "--base-rate", "5%"],
    "base rates": ["d.csv", *OF, "--base-rate", "10%,30%"],
    "rows": ["d.csv", *OF, "--where", "city = 'Köln' or w = 2"],
    "shares": ["d.csv", "--prob", "p", "--outcome", "share", "--fractional"],
    "tabs": ["tabs.txt.csv", *OF, "--sep", "tab"],
    "words": ["d.csv", "--prob", "words", "--outcome", "y", "--confidence-words", "words.json"],
    "options": [
        "d.csv",
        *OF,
        "--threshold-range",
        "5%,70%",
        "--confidence-level",
        "0.9",
        "--seed",
        "7",
    ],
    "costs": ["d.csv", *OF, *COSTS],
    "costs of each case": ["d.csv", *OF, "--cost-fp", "2", "--cost-fn", "amount", "--drop-missing"],
    "capacity": ["d.csv", *OF, *COSTS, "--capacity", "10%"],
    "capacity and costs of each case": [
        *("d.csv", "--prob", "percent", "--outcome", "y", "--percent", "--capacity", "200"),
        *("--cost-fp", "2", "--cost-fn", "amount", "--drop-missing"),
    ],
    "odd name": ["d.csv", "--prob", ODD, "--outcome", "y"],
    "name like an option": ["d.csv", "--prob=-p", "--outcome", "y"],
    "file with a space": ["my rain.csv", *OF],
    "several files": ["part-1.csv", "part-2.csv", *OF],
    "pattern": ["part-*.csv", *OF],
    "database": ["sqlite:///base.db#rain", *OF],
    "classes": [
        "photos.csv",
        "--classes",
        "cat",
        "dog",
        "an eel",
        "--outcome",
        "animal",
        "--groups",
        "album",
    ],
    "cost matrix": [
        *(
            "photos.csv",
            "--classes",
            "cat",
            "dog",
            "an eel",
            "--outcome",
            "animal",
            "--cost-matrix",
            "costs.json",
        )
    ],
}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_the_commands_of_a_verdict(here, capsys, options):
    assert main(["report", *options, "-o", "page.html", "--json"]) == 0
    screen = json.loads(capsys.readouterr().out)
    lines = screen["verdict"]["commands"]
    assert lines
    *shown, again = on_page(Path("page.html"))
    assert shown == lines
    assert main(read_by_a_shell(again)[1:]) == 0
    out = capsys.readouterr().out
    assert printed(out) == lines
    assert out.startswith(screen["verdict"]["text"])
    for suffix in {".csv"} | {Path(options[0]).suffix}:
        if "://" not in options[0] and "*" not in options[0]:
            Path(f"new{suffix}").write_bytes(Path(options[0]).read_bytes())
    for line in lines:
        made = run(line)
        if " recalibrate " in line:
            fitted = json.loads(made.read_text())
            found = screen["recalibrator" if "--classes" in options else "recalibration"]
            assert [fitted[name] for name in ("map", "certificate")] == [
                found[name] for name in ("map", "certificate")
            ]
        elif " decide " in line:
            with made.open(newline="") as file:
                actions = [row["action"] for row in csv.DictReader(file)]
            decided = sum(action != "" for action in actions)
            assert actions.count("act") == (
                200 if "--capacity 200" in line else round(0.1 * decided)
            )


@for_each("options", [[], ["--groups", "patient"], ["--drop-missing"]])
def test_the_commands_of_several_forecasts(here, capsys, options):
    forecasts = ["p", "w_p"] if "--drop-missing" not in options else ["p", "q"]
    if forecasts[1] == "w_p":
        with Path("d.csv").open(newline="") as file:
            rows = [{**row, "w_p": f"{float(row['p']) ** 0.5:.3f}"} for row in csv.DictReader(file)]
        Path("d.csv").unlink()
        with Path("d.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    assert (
        main(
            [
                "assess-many",
                "d.csv",
                "--prob",
                *forecasts,
                "--outcome",
                "y",
                *options,
                "-o",
                "s.json",
            ]
        )
        == 0
    )
    lines = printed(capsys.readouterr().out)
    assert " recalibrate " in lines[0]
    screen = json.loads(Path("s.json").read_text())
    for found in screen["assessments"]:
        for line in found["verdict"]["commands"]:
            if " recalibrate " in line:
                fitted = json.loads(run(line).read_text())
                assert fitted["map"] == found["recalibration"]["map"]
                assert fitted["certificate"] == found["recalibration"]["certificate"]


def test_the_commands_of_the_demo(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    lines = printed(capsys.readouterr().out)
    again = on_page(Path("rainproof-demo/report.html"))
    assert again[:-1] == lines
    assert " --by city " in again[-1]
    assert main(["demo", "--json", "--force"]) == 0
    screen = json.loads(capsys.readouterr().out)
    assert json.loads(run(lines[0]).read_text())["map"] == screen["recalibration"]["map"]
    assert main([*read_by_a_shell(again[-1])[1:], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for name in ("n", "event_rate", "skill", "recalibration", "guarantee"):
        assert found[name] == screen[name]
    assert found["task"]["costs"] == screen["task"]["costs"]


def test_the_command_of_an_alarm(here, capsys):
    """It recalibrates on the rows since the change that the screen names."""
    options = [
        "--prob",
        "p",
        "--outcome",
        "y",
        "--by",
        "day",
        "--segments",
        "city",
        "--drop-missing",
    ]
    assert main(["monitor", "d.csv", *options]) == 0
    (line,) = printed(capsys.readouterr().out)[:1]
    fitted = json.loads(run(line).read_text())
    with Path("d.csv").open(newline="") as file:
        rows = [(float(row["p"]), int(row["y"])) for row in csv.DictReader(file) if row["city"]]
    p, y = np.array(rows).T
    expected = rainproof.Recalibrator().fit(p, y)
    assert fitted["map"] == json.loads(json.dumps(expected.to_dict()))["map"]


def test_the_command_of_an_alarm_of_stored_days(here, capsys):
    assert main(["monitor", "days"]) == 0
    (line,) = printed(capsys.readouterr().out)
    command, option, program = read_by_a_shell(line)
    assert (command, option) == ("python", "-c")
    exec(program)  # as Python would
    days = rainproof.load("days")
    since = re.search("day >= '(.*?)'", program)[1]
    together = sum(sample for day, sample in days.items() if day >= since)
    fitted = json.loads(Path("map.json").read_text())
    assert (
        fitted["map"]
        == json.loads(json.dumps(rainproof.Recalibrator().fit(together).to_dict()))["map"]
    )


@for_each(
    "word", [ODD, "", "a b", "tab\t", "\x1b[31m", "\x9b", "‮x", "\U000e0001", "it's\n\\n", "$(ls)"]
)
def test_a_word_is_what_a_shell_reads(word):
    line = shell_line(["x", word])
    assert line.isprintable()
    assert read_by_a_shell(line) == ["x", word]
