"""A signal at a random moment of any command: it ends with the signal's exit code, silent, and has
written nothing.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from helpers.processes import PATIENCE, RESET

from rainproof.cli import main
from rainproof.cli.app import COMMANDS

# More of them: RAINPROOF_SIGNALS=100 python -m pytest tests/cli/test_signals.py
TIMES = int(os.environ.get("RAINPROOF_SIGNALS", "1"))
ROWS = 3_000
# The moments begin where the command begins: those of the start of Python are not in its hands.
SCRIPT = (
    f"{RESET}\nimport os, sys\nfrom rainproof.cli import main\nos.write(2, "
    "b'!')\nsys.exit(main())\n"
)
COLUMNS = ["--prob", "p", "--outcome", "y"]
LINES = {
    "assess": ["a.csv", *COLUMNS, "--cost-fp", "1", "--cost-fn", "4", "-o", "new.json"],
    "assess-many": ["a.csv", "--prob", "p", "q", "--outcome", "y", "-o", "new.json"],
    "measure": ["a.csv", *COLUMNS, "-o", "new.json"],
    "report": ["a.csv", *COLUMNS, "-o", "new.html"],
    "recalibrate": ["a.csv", *COLUMNS, "--by", "s", "-o", "new.json", "--plot", "new.png"],
    "apply": ["a.csv", "--map", "map.json", "--prob", "p", "-o", "new.parquet"],
    "policy": ["a.csv", *COLUMNS, "--threshold", "0.3", "-o", "new.json"],
    "decide": ["a.csv", "--policy", "policy.json", "--prob", "p", "--id", "id", "-o", "new.csv"],
    "switch": ["a.csv", "--old", "p", "--new", "q", "--outcome", "y", "-o", "new.json"],
    "threshold": ["a.csv", *COLUMNS, "--precision", "50%", "-o", "new.json", "--plot", "new.svg"],
    "store": ["-", *COLUMNS, "-o", "new/day.parquet"],
    "monitor": ["a.csv", *COLUMNS, "--by", "s", "-o", "new.json"],
    "stream": ["state.json"],
    "demo": ["new/demo"],
    "completion": ["bash"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that commands read."""
    folder = tmp_path_factory.mktemp("read")
    rng = random.Random(5)
    rows = [(rng.random(), rng.random(), rng.choice("abc")) for _ in range(ROWS)]
    lines = [
        f"{k},{p:.3f},{q:.3f},{int(rng.random() < p**2)},{s}" for k, (p, q, s) in enumerate(rows)
    ]
    (folder / "a.csv").write_text("\n".join(["id,p,q,y,s", *lines, ""]))
    (folder / "stream.jsonl").write_text("".join(f'{{"id": {k}, "p": 0.3}}\n' for k in range(ROWS)))
    data = str(folder / "a.csv")
    for command, output in (("recalibrate", "map"), ("policy", "policy")):
        more = ["--threshold", "0.3"] if command == "policy" else []
        assert (
            main([command, data, *COLUMNS, *more, "-o", str(folder / f"{output}.json"), "--quiet"])
            == 0
        )
    return folder


@pytest.fixture(scope="module")
def loading():
    """Return how many seconds a new process takes to load what nearly every command needs."""
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", "import rainproof.verdict.assessing"], check=True)
    return time.monotonic() - start


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def stdin_of(command, folder):
    return (folder / {"store": "a.csv", "stream": "stream.jsonl"}.get(command, os.devnull)).open()


def run(command, folder, number, moment):
    """Run a command in a process of its own, with a signal after so many seconds; return its exit
    code and errors.
    """
    with stdin_of(command, folder) as stdin:
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, command, *LINES[command]],
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=folder,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        try:
            assert process.stderr.read(1) == b"!"
            time.sleep(moment)
            process.send_signal(number)
            errors = process.communicate(timeout=PATIENCE)[1].decode()
        finally:
            process.kill()
            process.wait()
    return process.returncode, errors


def test_every_command_is_here():
    assert set(LINES) == set(COMMANDS)


@pytest.mark.parametrize("command", LINES)
def test_a_signal_at_a_random_moment(command, folder, loading, tmp_path, monkeypatch):
    rng = random.Random(f"{command} {os.environ.get('RAINPROOF_SIGNALS', '')}")
    whole = tmp_path / "undisturbed"
    shutil.copytree(folder, whole)
    before = names(folder)
    start = time.monotonic()
    with monkeypatch.context() as patch, stdin_of(command, whole) as stdin:
        patch.chdir(whole)
        patch.setattr(sys, "stdin", stdin)
        assert main([command, *LINES[command]]) == 0
    seconds = loading + time.monotonic() - start
    for k in range(TIMES):
        number = rng.choice([signal.SIGINT, signal.SIGTERM])
        moment = rng.uniform(0, seconds)
        stopped = tmp_path / str(k)
        shutil.copytree(folder, stopped)
        code, errors = run(command, stopped, number, moment)
        at = (
            f"{number.name} after {moment:.4f} s: {code}, {errors!r}, "
            f"{set(names(stopped)) - set(before)}"
        )
        assert not re.search("Traceback|Exception", errors), at
        if code == 0:  # it was done already
            assert names(stopped) == names(whole), at
        else:
            assert code == 128 + number, at
            left = before + [
                name
                for name in names(stopped)
                if command == "stream" and name.startswith("state.json")
            ]
            assert names(stopped) == sorted(left), at
        shutil.rmtree(stopped)
