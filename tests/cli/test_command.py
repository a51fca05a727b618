"""The command line as a user meets it: exit codes, streams, one line of error."""

from __future__ import annotations

import io
import json
import os
import runpy
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.cli import app, main, options

ROOT = Path(__file__).parent.parent.parent
N = 400


@pytest.fixture
def rain(tmp_path, monkeypatch):
    """A folder with rain.csv, where the command runs."""
    rng = np.random.default_rng(3)
    p = rng.random(N).round(4)
    y = (rng.random(N) < p**2).astype(int)
    w = rng.integers(1, 4, N)
    lines = [f"{a},{b},{c},{'wet' if b else 'dry'}\n" for a, b, c in zip(p, y, w, strict=True)]
    (tmp_path / "rain.csv").write_text("p,y,w,sky\n" + "".join(lines))
    monkeypatch.chdir(tmp_path)
    return y, p, w


MEASURE = ["measure", "rain.csv", "--prob", "p", "--outcome", "y"]


DEMO = ["--prob", "probability", "--outcome", "rained"]


def python_m_rainproof(*arguments, **options):
    command = [sys.executable, "-m", "rainproof", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_the_result_goes_to_stdout_and_nothing_to_stderr(rain, capsys):
    y, p, _ = rain
    assert main(MEASURE) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(f"rain.csv: 400 rows, event rate {100 * y.mean():.3g}%\n")
    assert f"SCDL {rainproof.soft_binned_cdl(y, p):.3g}   (0 is perfect, 0.5 is the worst)\n" in out


@for_each(
    "options, arguments",
    [
        ([], {}),
        (["--rounding", "hard"], {"rounding": "hard"}),
        (["--weight", "w"], {"sample_weight": True}),
        (["--outcome", "sky", "--pos-label", "wet"], {}),
    ],
)
def test_json_is_the_profile_and_what_was_read(rain, capsys, options, arguments):
    y, p, w = rain
    arguments = {name: w if value is True else value for name, value in arguments.items()}
    assert main([*MEASURE, "--json", *options]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    sample = rainproof.Sample(y, p, sample_weight=arguments.pop("sample_weight", None)).compress()
    expected = rainproof.measures.soft_binned_profile(sample, **arguments).to_dict()
    assert err == ""
    assert {key: found[key] for key in expected} == expected
    assert found["rainproof"] == rainproof.__version__
    assert (found["file"], found["prob"]) == ("rain.csv", "p")
    assert found["outcome"] == ("sky" if "sky" in options else "y")
    assert found["pos_label"] == ("wet" if "wet" in options else None)
    assert found["weight"] == ("w" if "w" in options else None)
    assert (found["event_rate"], found["effective_n"]) == (sample.event_rate, sample.effective_n)


def test_output_is_the_json_and_the_last_line_says_where(rain, capsys):
    assert main([*MEASURE, "-o", "values.json"]) == 0
    words = capsys.readouterr().out
    assert words.splitlines()[-1] == "Result written to values.json"
    assert main([*MEASURE, "--json", "--output", "again.json"]) == 0
    out = capsys.readouterr().out
    assert Path("values.json").read_text() == Path("again.json").read_text() == out
    assert sorted(path.name for path in Path().iterdir()) == [
        "again.json",
        "rain.csv",
        "values.json",
    ]


def test_quiet_says_nothing_but_what_was_asked_for(rain, capsys):
    assert main([*MEASURE, "--quiet", "-o", "values.json"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main([*MEASURE, "--quiet", "--json"]) == 0
    assert capsys.readouterr() == (Path("values.json").read_text(), "")


def test_doubts_are_part_of_the_answer(tmp_path, capsys):
    """Warnings are errors in these tests: none may be raised, yet both must be told."""
    (tmp_path / "a.csv").write_text("p,y\n0.5,1\n0.75,1\n")
    assert main(["measure", str(tmp_path / "a.csv"), "--prob", "p", "--outcome", "y"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.count("Note: ") == 2
    assert "Note: every outcome is 1: nothing is known about the other outcome.\n" in out
    assert (
        main(["measure", str(tmp_path / "a.csv"), "--prob", "p", "--outcome", "y", "--json"]) == 0
    )
    assert len(json.loads(capsys.readouterr().out)["warnings"]) == 2


HELP = "(see 'rainproof measure --help')"
WRONG = {
    "nothing given": (["measure"], f"the following arguments are required: FILE {HELP}"),
    "unknown option": ([*MEASURE, "--zzzz"], f"there is no option --zzzz {HELP}"),
    "misspelt, first": (
        ["--versoin"],
        "there is no option --versoin; did you mean --version? (see 'rainproof --help')",
    ),
    "no command": (
        ["--prob", "p"],
        "there is no option --prob before the command (see 'rainproof --help')",
    ),
    "no abbreviations": (
        [*MEASURE, "--out", "x"],
        f"there is no option --out; did you mean --output? {HELP}",
    ),
    "no file": (
        ["measure", "snow.csv", *MEASURE[2:]],
        "cannot read snow.csv: No such file or directory",
    ),
    "no column": (
        [*MEASURE, "--weight", "W"],
        "rain.csv has no column 'W' (did you mean 'w'?); it has 'p', 'y', 'w', 'sky'",
    ),
    "terminal codes": (
        [*MEASURE, "--weight", "\x1b[31m\n"],
        "rain.csv has no column '\\x1b[31m\\n'; it has 'p', 'y', 'w', 'sky'",
    ),
    "control characters in a path": (
        ["measure", "\x1b[2J\n.csv", *MEASURE[2:]],
        "cannot read \\x1b[2J\\n.csv: No such file or directory",
    ),
    "text outcome": (
        [*MEASURE, "--outcome", "sky", "--quiet"],
        "sky must be 0 or 1; it holds text such as 'dry', 'wet': name the event with --pos-label",
    ),
    "over the source": (
        [*MEASURE, "-o", "rain.csv"],
        "rain.csv is the file to read: the result would overwrite it",
    ),
    "into a folder": ([*MEASURE, "-o", "."], "cannot write .: it is not a regular file"),
    "no such folder": (
        [*MEASURE, "-o", "no/a.json"],
        "cannot write no/a.json: No such file or directory",
    ),
    "endless name": ([*MEASURE, "-o", "x" * 999], f"cannot write {'x' * 999}: File name too long"),
    "no such source": (
        ["measure", "no.csv", *MEASURE[2:], "-o", "values.json"],
        "cannot read no.csv: No such file or directory",
    ),
}


@for_each("case", WRONG)
def test_what_is_wrong_is_said_in_one_line(rain, capsys, case):
    arguments, message = WRONG[case]
    before = Path("rain.csv").read_bytes()
    assert main(arguments) == 2
    assert capsys.readouterr() == ("", f"rainproof: error: {message}\n")
    assert Path("rain.csv").read_bytes() == before
    assert list(Path().iterdir()) == [Path("rain.csv")]


def test_a_result_does_not_replace_a_pipe(rain, capsys):
    os.mkfifo("pipe")
    assert main([*MEASURE, "-o", "pipe"]) == 2
    assert capsys.readouterr() == (
        "",
        "rainproof: error: cannot write pipe: it is not a regular file\n",
    )
    assert Path("pipe").is_fifo()


def test_words_that_are_no_command(rain, capsys):
    for word, meant in {
        "mesure": "did you mean 'measure'?",
        "frob": "commands are assess, assess-many, ",
    }.items():
        assert main([word]) == 2
        err = capsys.readouterr().err
        assert err.startswith(
            f"rainproof: error: {word!r} is neither a command nor a file; {meant}"
        )
        assert err.endswith("(see 'rainproof --help')\n")
    for file in ("pats.csv", "data/pats"):
        assert main([file, "--prob", "p", "--outcome", "y"]) == 2
    reason = "cannot read pats.csv: No such file or directory"
    assert capsys.readouterr().err.startswith(
        f"rainproof: error: {reason}\nrainproof: error: the name of the file must end"
    )


def test_choices_that_do_not_exist(rain, capsys):
    """The words are argparse's, which change from one Python to the next."""
    arguments = [*MEASURE, "--rounding", "middle"]
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("rainproof: error: argument ")
    assert f"invalid choice: '{arguments[-1]}'" in err
    assert err.count("\n") == 1


def test_help_and_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"rainproof {rainproof.__version__}\n", "")
    for arguments in (["--help"], ["measure", "-h"]):
        assert main(arguments) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert "  rainproof measure rain.csv --prob probability --outcome rained\n" in out
        assert max(map(len, out.splitlines())) <= 82
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("usage: rainproof")


def test_python_m_rainproof(rain):
    done = python_m_rainproof(*MEASURE, "-o", "values.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("\nResult written to values.json\n")
    failed = python_m_rainproof(*MEASURE, "--weight", "x")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert (
        failed.stderr
        == "rainproof: error: rain.csv has no column 'x'; it has 'p', 'y', 'w', 'sky'\n"
    )


def test_python_m_rainproof_in_this_process(rain, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["rainproof", "--version"])
    monkeypatch.setattr(
        "rainproof.cli.stopping.stoppable", lambda process: nullcontext(lambda: None)
    )  # signals are left to pytest
    with pytest.raises(SystemExit, match=r"^0$"):
        runpy.run_module("rainproof", run_name="__main__")
    assert capsys.readouterr().out == f"rainproof {rainproof.__version__}\n"


def test_characters_that_the_terminal_has_not(rain):
    Path("rain.csv").rename("Þurrt.csv")
    done = python_m_rainproof(
        "measure", "Þurrt.csv", *MEASURE[2:], env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 0
    assert done.stdout.startswith("\\xdeurrt.csv: 400 rows")


def test_a_reader_that_left_is_no_error(rain, capsys, monkeypatch):
    """As in `rainproof measure ... | head -1`."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert main([*MEASURE, "-o", "values.json"]) == 141
    assert capsys.readouterr().err == ""
    assert Path("values.json").exists()


def test_a_full_disk_is_an_error(rain, capsys, monkeypatch):
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(MEASURE) == 2
    assert capsys.readouterr().err == "rainproof: error: cannot write: No space left on device\n"


def test_when_nothing_can_be_said_the_exit_code_says_it(rain, monkeypatch):
    with io.TextIOWrapper(Path("/dev/full").open("wb", buffering=0), write_through=True) as full:
        monkeypatch.setattr(sys, "stderr", full)
        assert main([*MEASURE, "--weight", "x"]) == 2
        monkeypatch.setattr(sys, "stdout", None)
        assert main([]) == 2


def test_streams_that_were_closed(rain, monkeypatch):
    """Python has no stdout after `>&-`, and no stderr after `2>&-`."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(MEASURE) == 0
    assert main([*MEASURE, "--weight", "x"]) == 2


def test_the_demo(tmp_path, monkeypatch, capsys):
    """What `make demo` runs: the data set is the same every time, and its forecaster
    overconfident.
    """
    script, file = str(ROOT / "examples" / "make_rain_data.py"), tmp_path / "demo" / "rain.csv"
    monkeypatch.setattr(sys, "argv", [script, str(file)])
    texts = set()
    for _ in range(2):
        runpy.run_path(script, run_name="__main__")
        texts.add(file.read_text())
    (text,) = texts
    assert text.startswith("date,city,probability,rained\n2024-01-01,Bergen,0.686,0\n")
    assert text.count("\n") == 2001
    monkeypatch.chdir(file.parent)
    assert main(["measure", "rain.csv", *DEMO]) == 0
    out = capsys.readouterr().out
    assert out.startswith("rain.csv: 2,000 rows, event rate 48.4%\nSCDL 0.0248   ")
    assert max(map(len, out.splitlines())) <= 80
    assert len(out.splitlines()) <= 30
    monkeypatch.setattr(sys, "argv", [script])
    with pytest.raises(SystemExit, match=r"^usage: python examples/make_rain_data\.py FILE$"):
        runpy.run_path(script, run_name="__main__")


def test_a_reading_option_is_offered_wherever_rows_are_read():
    """All commands that take --outcome read rows alike."""
    reading = [
        parser
        for parser in app.make_parsers("")[1].values()
        if "--outcome" in parser.option_names()
    ]
    assert len(reading) == 10
    for parser in reading:
        assert set(options.ROWS_AS_THEY_ARE) <= parser.option_names()
    # What is about the rows as they are, at their own event rate, takes no other.
    without = {
        parser.prog.split()[-1] for parser in reading if "--base-rate" not in parser.option_names()
    }
    assert without == {"store", "monitor"}
