"""`python -m paper` as a user meets it."""

from __future__ import annotations

import importlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.cases import for_each
from helpers.processes import RESET

from paper import claims
from paper.run import PARTS, _Bar, main

ROOT = Path(__file__).parent.parent.parent
COMMAND = [sys.executable, "-m", "paper"]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(claims, "_MUTANT_EFFORT", 2)  # test_mutants.py says which are noticed
    return tmp_path


def test_several_parts_with_one_page(home, capsys):
    assert main(["figure1", "claims", "--only", "Example 1", "--repeats", "2", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert "0.005" not in out  # no points of the figure
    page = (home / "build" / "paper" / "index.html").read_text()
    assert page.index('<h2 id="figure1">') < page.index('<h2 id="claims">')


def test_one_statement(home, capsys):
    assert main(["--only", "Lemma 4.3", "--repeats", "2", "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(
        "Claims: every numbered statement, checked\n\n2 of 2 quantities stayed within what the "
        "paper"
    )
    assert out.endswith(f"Everything is on one page: {Path('build', 'paper', 'index.html')}\n")
    assert "Lemma 4.3" in (home / "build" / "paper" / "claims.csv").read_text()
    assert '<h2 id="claims">' in (home / "build" / "paper" / "index.html").read_text()


def test_one_figure_quietly_into_a_folder(home, capsys):
    assert main(["figure1", "-o", "there", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert {"figure1.csv", "figure1.png", "figure1.svg", "index.html"} <= {
        p.name for p in (home / "there").iterdir()
    }


def test_the_known_slip_is_no_failure():
    assert main(["--only", "Lemma 8.2", "--repeats", "20", "--jobs", "1", "--quiet"]) == 0


def test_a_statement_that_fails_changes_the_exit_code(monkeypatch):
    monkeypatch.setattr(claims, "KNOWN_SLIPS", ())
    assert main(["--only", "Lemma 8.2", "--repeats", "20", "--jobs", "1", "--quiet"]) == 1


def test_help_is_printed(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: python -m paper ")
    assert all(part in out for part in PARTS)


@for_each(
    "arguments, words",
    [
        (["--only", "Lemma 9"], "there is no statement 'Lemma 9'; there are: Example 1"),
        (["table2", "--repeats", "0"], "repeats must be at least 1; it is 0"),
        (["--jobs", "0"], "jobs must be at least 1; it is 0"),
        (["--seed", "x"], "argument --seed: invalid int value: 'x' (see 'python -m paper --help')"),
        (["table7"], f"there is no part 'table7'; there are: {', '.join(PARTS)}"),
        (["a\x1b\nb"], "there is no part 'a\\x1b\\nb'; there are: "),
    ],
)
def test_what_cannot_be_is_said_in_one_line(arguments, words, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"paper: error: {words}")
    assert err.count("\n") == 1


def test_a_file_where_the_folder_should_be(home, capsys):
    (home / "taken").write_text("")
    assert main(["figure1", "-o", "taken"]) == 2
    assert capsys.readouterr().err.startswith("paper: error: cannot write taken: ")


def test_progress_is_a_line_that_goes_away(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    bar = _Bar()
    bar("table2", 1, 4)  # too early to need an explanation
    assert sys.stderr.getvalue() == ""
    bar._next = 0.0
    bar("table2", 2, 4)
    bar.clear()
    shown = f"table2         [{'#' * 15:30}]  50%  2/4"
    assert sys.stderr.getvalue() == f"\r\r{shown}\r{' ' * len(shown)}\r"


def test_importing_the_main_module_runs_nothing():
    assert importlib.import_module("paper.__main__").main is main


def test_processes_do_not_start_the_command_again(home):
    """Each new process imports the module that was run: it must not run the command."""
    command = [*COMMAND, "claims", "--repeats", "2", "--jobs", "2", "-o", str(home / "two")]
    command += ["--only", "Example 1", "--only", "Lemma 4.1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Everything is on one page") == 1


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_reader_that_is_gone_is_no_error(home):
    command = [*COMMAND, "figure1", "-o", str(home / "out")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGINT, "1"), (signal.SIGTERM, "2")])
def test_a_run_can_be_stopped(home, number, jobs):
    """Without a traceback, with the exit code of the signal, and with what is done stored for the
    next run.
    """
    command = [*COMMAND, "table2", "--repeats", "20000", "--jobs", jobs, "-o", str(home / "out")]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": ROOT}
    code = f"{RESET}\nimport sys\nfrom paper.run import main\nsys.exit(main())"
    with subprocess.Popen([sys.executable, "-c", code, *command[3:]], **options) as process:
        while process.poll() is None and not list((home / "out").rglob("*.json")):
            time.sleep(0.05)
        process.send_signal(number)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()  # which does nothing once it has ended
    assert (process.returncode, out, err) == (128 + number, "", "")
    assert not list((home / "out").rglob("*.tmp"))
