"""The settings of the suite itself: a test that hangs fails, and says where it hung."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
HANGING = """
import threading

def test_before(): pass

def test_hangs():
    threading.Event().wait()

def test_after(): pass
"""


def test_stacks_are_printed_before_the_limit():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert 0 < options["faulthandler_timeout"] < options["timeout"] <= 300


def test_a_test_that_hangs_fails_in_a_worker(tmp_path):
    """With the settings of this suite, but for shorter limits; the other tests still run."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(HANGING)
    limits = ["--timeout=4", "--override-ini=faulthandler_timeout=2"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "xdist",
        "-p",
        "pytest_timeout",
        "--numprocesses=1",
        *limits,
    ]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "crashed while running 'tests/test_it.py::test_hangs'" in done.stdout
    assert "1 failed, 2 passed" in done.stdout
    assert "in test_hangs" in done.stderr  # the stack
