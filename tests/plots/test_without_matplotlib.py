"""Without Matplotlib everything but drawing works, and drawing says what to install."""

import subprocess
import sys


def test_without_matplotlib_the_command_that_installs_it_is_named():
    """In a process of its own, where importing Matplotlib fails: nothing else may need it."""
    code = """
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
import rainproof
a = rainproof.assess([0, 1] * 100, [0.2, 0.8] * 100, measures=["soft_binned_cdl"], n_resamples=19, rng=0)
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
    code = "import sys, rainproof; rainproof.assess, rainproof.plots.overview; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
