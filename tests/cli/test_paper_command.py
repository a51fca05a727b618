"""`rainproof paper` as a user meets it."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from rainproof.cli import main
from rainproof.paper import claims
from rainproof.paper.run import PARTS


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_several_parts_with_one_page(home, capsys):
    assert main(["paper", "figure1", "claims", "--only", "Example 1", "--repeats", "20", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert "0.005" not in out  # no points of the figure
    page = (home / "paper" / "index.html").read_text()
    assert page.index('<h2 id="figure1">') < page.index('<h2 id="claims">')


def test_one_statement(home, capsys):
    assert main(["paper", "--only", "Lemma 4.3", "--repeats", "20", "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("Claims: every numbered statement, checked\n\n2 of 2 quantities stayed within what the paper")
    assert out.endswith("Everything is on one page: paper/index.html\n")
    assert "Lemma 4.3" in (home / "paper" / "claims.csv").read_text()
    assert '<h2 id="claims">' in (home / "paper" / "index.html").read_text()


def test_one_figure_quietly_into_a_folder(home, capsys):
    assert main(["paper", "figure1", "-o", "there", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert {"figure1.csv", "figure1.png", "figure1.svg", "index.html"} <= {p.name for p in (home / "there").iterdir()}


def test_the_known_slip_is_no_failure():
    assert main(["paper", "--only", "Lemma 8.2", "--repeats", "20", "--jobs", "1", "--quiet"]) == 0


def test_a_statement_that_fails_changes_the_exit_code(monkeypatch):
    monkeypatch.setattr(claims, "KNOWN_SLIPS", ())
    assert main(["paper", "--only", "Lemma 8.2", "--repeats", "20", "--jobs", "1", "--quiet"]) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "Lemma 9"], "there is no statement 'Lemma 9'; there are: Example 1"),
        (["table2", "--repeats", "0"], "repeats must be at least 1; it is 0"),
        (["--jobs", "0"], "jobs must be at least 1; it is 0"),
        (["table7"], f"there is no part 'table7'; there are: {', '.join(PARTS)}"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(arguments, words, capsys):
    assert main(["paper", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"rainproof: error: {words}")
    assert err.count("\n") == 1


def test_a_file_where_the_folder_should_be(home, capsys):
    (home / "taken").write_text("")
    assert main(["paper", "figure1", "-o", "taken"]) == 2
    assert capsys.readouterr().err.startswith("rainproof: error: cannot write taken: ")


def test_importing_the_main_module_runs_nothing():
    assert importlib.import_module("rainproof.__main__").main is main


def test_processes_do_not_start_the_command_again(home):
    """Each new process imports the module that was run: it must not run the command."""
    command = [sys.executable, "-m", "rainproof", "paper", "claims", "--repeats", "20", "--jobs", "2", "-o", "two"]
    command += ["--only", "Example 1", "--only", "Lemma 4.1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Everything is on one page") == 1
