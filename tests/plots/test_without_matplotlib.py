"""Without Matplotlib everything but drawing works, and drawing says what to install."""

import os
import subprocess
import sys


def test_without_matplotlib_the_command_that_installs_it_is_named():
    """In a process of its own, where importing Matplotlib fails: nothing else may need it."""
    code = """
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
import rainproof
y, p = [0, 1] * 100, [0.2, 0.8] * 100
a = rainproof.assess(y, p, measures=["soft_binned_cdl"], n_resamples=19, rng=0)
try:
    a.plot()
except rainproof.MissingExtraError as error:
    print(error)
try:
    a.reliability.plot()
except rainproof.MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == 2 * "drawing needs Matplotlib: pip install matplotlib\n", done.stderr


def test_assessing_does_not_load_matplotlib():
    code = """
import sys, rainproof
rainproof.assess, rainproof.plots.overview
print('matplotlib' in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_backend_that_does_not_exist_is_named(tmp_path):
    """Matplotlib refuses it when it is imported; a picture that goes to a file needs no other
    backend.
    """
    (tmp_path / "a.csv").write_text(
        "p,y\n" + "".join(f"0.{k % 9 + 1},{k % 2}\n" for k in range(60))
    )
    recalibrate = [
        "recalibrate",
        "a.csv",
        "--prob",
        "p",
        "--outcome",
        "y",
        "-o",
        "m.json",
        "--plot",
        "m.png",
        "--quiet",
    ]
    command = [sys.executable, "-m", "rainproof", *recalibrate]
    for backend, code, said in (
        (
            "nope",
            2,
            "rainproof: error: MPLBACKEND must name a backend of Matplotlib, such as agg; "
            "it is 'nope'\n",
        ),
        ("module://nope", 0, ""),
    ):
        environment = {**os.environ, "MPLBACKEND": backend}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (code, said)
    assert (tmp_path / "m.png").exists()
