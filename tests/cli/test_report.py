"""`rainproof report` and `rainproof demo`, from the file to the page."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import main
from rainproof.cli.demo import as_csv, forecasts

COLUMNS = ["--prob", "p", "--outcome", "y"]


@pytest.fixture
def rain(tmp_path, monkeypatch):
    """A folder with rain.csv, where the command runs."""
    rng = np.random.default_rng(3)
    p = rng.random(400).round(4)
    y = (rng.random(400) < p**2).astype(int)
    lines = [
        f"{a},{b},{i % 3},{'wet' if b else 'dry'},{b + 1}\n"
        for i, (a, b) in enumerate(zip(p, y, strict=True))
    ]
    (tmp_path / "rain.csv").write_text("p,y,city,sky,w\n" + "".join(lines))
    monkeypatch.chdir(tmp_path)
    return y, p


def data_of(page):
    """The numbers in a page."""
    text = Path(page).read_text(encoding="utf-8")
    return json.loads(text.split('id="data">')[1].split("</script>")[0])


def test_the_page_and_the_verdict(rain, capsys):
    assert main(["report", "rain.csv", *COLUMNS, "-o", "report.html"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    data = data_of("report.html")
    assert " ".join(out.split()).startswith(data["verdict"]["headline"])
    assert out.endswith("\nReport written to report.html\n")
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert data["n"] == 400
    assert data["task"] is None
    assert data["segments"] is None
    assert "<h1>rain.csv: p</h1>" in Path("report.html").read_text()


def test_every_option_has_its_effect(rain, capsys):
    options = [
        "--by",
        "city",
        "--cost-fp",
        "35",
        "--cost-fn",
        "65",
        "--seed",
        "5",
    ]
    options += ["--confidence-level", "0.9"]
    options += ["--weight", "w", "--where", "p < 0.9"]
    command = [
        "report",
        "rain.csv",
        "--prob",
        "p",
        "--outcome",
        "sky",
        "--pos-label",
        "wet",
        *options,
    ]
    assert main([*command, "-o", "report.html", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    data = data_of("report.html")
    assert json.loads(out) == data
    assert data["seed"] == 5
    assert data["confidence_level"] == data["guarantee"]["confidence_level"] == 0.9
    assert data["task"]["task"]["thresholds"] == [0.35]
    assert [row["label"] for row in data["segments"]["rows"]] == ["0", "1", "2"]
    assert data["weighted"]
    y, p = rain
    assert data["n"] == (p < 0.9).sum()
    assert data["event_rate"] == pytest.approx(np.average(y[p < 0.9], weights=y[p < 0.9] + 1))


def test_the_same_page_every_time(rain, capsys):
    pages = set()
    for _ in range(2):
        assert main(["report", "rain.csv", *COLUMNS, "-o", "report.html", "--quiet"]) == 0
        pages.add(Path("report.html").read_text())
    assert len(pages) == 1
    assert capsys.readouterr() == ("", "")


@for_each(
    "options, error",
    [
        (
            ["--cost-fp", "3"],
            "--cost-fp and --cost-fn must be given together: their ratio sets the threshold",
        ),
        (
            ["--cost-fn", "3"],
            "--cost-fp and --cost-fn must be given together: their ratio sets the threshold",
        ),
        (
            ["--seed", "-1"],
            "argument --seed: must be an integer from 0 to 2**64 - 1; it is '-1' (see "
            "'rainproof report --help')",
        ),
        (
            ["--confidence-level", "9"],
            "argument --confidence-level: must be a number above 0 and below 1; it is '9' "
            "(see 'rainproof report --help')",
        ),
        (["-o", "rain.csv"], "rain.csv is the file to read: the result would overwrite it"),
        (["-o", "no/where.html"], "cannot write no/where.html: No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(rain, capsys, options, error):
    before = Path("rain.csv").read_text()
    assert main(["report", "rain.csv", *COLUMNS, "-o", "report.html", *options]) == 2
    assert capsys.readouterr() == ("", f"rainproof: error: {error}\n")
    assert not Path("report.html").exists()
    assert Path("rain.csv").read_text() == before


def test_colours_on_a_terminal(rain, capsys, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(["report", "rain.csv", *COLUMNS, "-o", "report.html"]) == 0
    assert capsys.readouterr().out.startswith("\x1b[1")


@pytest.fixture
def browser(tmp_path, monkeypatch):
    """A browser that writes down what it is asked to show; gives the file it writes to."""
    program, shown = tmp_path / "browser", tmp_path / "shown"
    program.write_text(f'#!/bin/sh\nprintf "%s" "$1" > "{shown}"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr("webbrowser._tryorder", None)
    monkeypatch.setattr("webbrowser._browsers", {})
    monkeypatch.setenv("BROWSER", f"{program} %s")
    return shown


def test_open_shows_the_page(rain, browser, capsys):
    assert main(["report", "rain.csv", *COLUMNS, "-o", "report.html", "--open", "--quiet"]) == 0
    assert browser.read_text() == Path("report.html").resolve().as_uri()
    assert capsys.readouterr().err == ""


def test_without_a_browser_the_page_is_there_all_the_same(rain, capsys, monkeypatch):
    monkeypatch.setattr("webbrowser._tryorder", [])
    demo = Path("demo/report.html")
    for command, page in (
        (["report", "rain.csv", *COLUMNS, "-o", "r.html"], Path("r.html")),
        (["demo", "demo"], demo),
    ):
        assert main([*command, "--open"]) == 0
        assert capsys.readouterr().err == f"rainproof: note: no browser was found to open {page}\n"
        assert page.exists()


def test_ctrl_c_while_it_is_worked_out(rain, capsys, monkeypatch):
    def interrupted(*_values, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("rainproof.cli.assessing.assess", interrupted)
    assert main(["report", "rain.csv", *COLUMNS, "-o", "report.html"]) == 130
    assert capsys.readouterr() == ("", "")
    assert [path.name for path in Path().iterdir()] == ["rain.csv"]


def test_the_demo_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("rainproof-demo/rain.csv: 2,000 rain forecasts in four cities\n\n")
    assert out.endswith("\nReport written to rainproof-demo/report.html\n")
    data = data_of("rainproof-demo/report.html")
    assert data["verdict"]["grade"] == "recalibrate"  # the forecaster is overconfident on purpose
    assert data["recalibration"]["certificate"]["gain_at_least"] > 0
    assert data["task"]["task"]["thresholds"] == [0.35]
    assert {row["label"] for row in data["segments"]["rows"]} == {
        "Bergen",
        "Hamburg",
        "Lisbon",
        "Porto",
    }
    assert Path("rainproof-demo/rain.csv").read_text() == as_csv(forecasts())


def test_the_demo_is_what_the_report_says_it_is(tmp_path, capsys, monkeypatch):
    """The help text gives a command that does the same: it does."""
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "x", "--json"]) == 0
    demo = json.loads(capsys.readouterr().out)
    options = [
        "--prob",
        "probability",
        "--outcome",
        "rained",
        "--by",
        "city",
        "--cost-fp",
        "35",
        "--cost-fn",
        "65",
    ]
    assert main(["report", "x/rain.csv", *options, "-o", "x/again.html", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["verdict"] == demo["verdict"]
    assert again["profile"] == demo["profile"]
    values = [[row["value"] for row in document["segments"]["rows"]] for document in (again, demo)]
    assert values[0] == pytest.approx(values[1])


def test_the_demo_says_where_it_cannot_write(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert main(["demo", "file"]) == 2
    assert capsys.readouterr().err == "rainproof: error: cannot write file: File exists\n"
    assert main(["demo", "quiet", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_forecasts_of_the_demo():
    rows = forecasts()
    assert as_csv(rows).startswith("date,city,probability,rained\n2024-01-01,Bergen,0.686,0\n")
    _, _, said, rained = zip(*rows, strict=True)
    assert rainproof.soft_binned_cdl(rained, said) == pytest.approx(0.0248, abs=5e-5)
