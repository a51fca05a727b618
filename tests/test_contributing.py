"""CONTRIBUTING.md's table of changes: its files exist and have the names that it tells, and its
change "a measure" is made here exactly as it says.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
NEW, FUNCTION = "bias", "mean_bias"  # no module has the name of a function
# Tests that run over the catalogue, and that of the new measure.
READERS = [
    "tests/contract",
    "tests/measures/test_catalogue.py",
    f"tests/measures/test_{NEW}.py",
    "tests/test_package.py",
]
READERS += ["tests/inference/test_calibration_test.py", "tests/inference/test_statistic.py"]
READERS += ["tests/inference/test_resampling_studies.py"]
CHOSEN = f"{FUNCTION} or test_measures or test_catalogue or exported or committed"

MODULE = '''"""Mean bias, also called calibration in the large."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arguments import as_sample
from rainproof.core.sample import Sample


def mean_bias(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Compute the absolute difference of mean prediction and event rate.

    Explained in docs/guide/which-measure.md.

    Examples
    --------
    >>> import rainproof
    >>> rainproof.measures.mean_bias([0, 1], [0.5, 1.0])
    0.25
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    weight = np.ones(len(sample.y_prob)) if sample.sample_weight is None else sample.sample_weight
    return abs(float(weight @ (np.asarray(sample.y_true, np.float64) - sample.y_prob))) / sample.total_weight
'''
RECORD = """        Measure(
            symbol="bias",
            function=mean_bias,
            cost="O(n)",
            actionable="(no decision: biases of opposite sign cancel)",
            reference="doi:10.1186/s12916-019-1466-7",
        ),
"""
TEST = '''"""Mean bias by hand, and through what reads the catalogue."""

from pathlib import Path

import numpy as np
import pytest

import rainproof


def test_mean_bias_by_hand():
    assert Path(rainproof.__file__).is_relative_to(Path(__file__).parent.parent.parent)
    assert rainproof.measures.mean_bias([0, 1, 1], [0.5, 0.5, 0.5], sample_weight=[1, 1, 2]) == 0.25


def test_mean_bias_is_tested_estimated_and_assessed():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y = rng.random(500) < p / 2
    assert rainproof.calibration_test(y, p, statistic="mean_bias", n_resamples=99, rng=0).p_value == 0.01
    estimate = rainproof.assess(y, p, measures=["mean_bias"], n_resamples=99, rng=0)["mean_bias"]
    assert estimate.value > 0
    assert rainproof.measure_all(y, p)["mean_bias"] == pytest.approx(estimate.value, rel=1e-12)  # rows in order
'''


NAME = r"`([^`]+)`"


def rows():
    """Return the files of each change, as the page writes them."""
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("| change |")[2].partition("\n\n")[0]
    # groups of changes are in bold letters
    return dict(re.findall(r"^\| ([^*|-][^|]*?) \| (.*) \|$", table, re.MULTILINE))


def whole_path(path):
    """Return a path of the page as it is in the repository: most are below src/rainproof."""
    first, slash, _ = path.partition("/")
    if not slash or first in ("docs", "tests", "benchmarks"):
        return path
    return f"src/rainproof/{path}"


def is_file(name):
    return "/" in name or name.endswith((".md", ".toml", ".yml"))


def files_of(change):
    """Return the paths in the row of a change."""
    names = re.findall(NAME, rows()[change])
    return [whole_path(name) for name in names if is_file(name)]


def test_every_file_in_the_table_of_changes_exists():
    assert len(rows()) >= 25
    for change in rows():
        assert files_of(change), change
        for path in files_of(change):
            # a new file has a name like others in its folder
            assert list(ROOT.glob(path.replace("NEW", "*"))), f"{change}: {path}"


def test_every_file_has_the_names_in_parentheses_after_it():
    checked = 0
    for change, text in rows().items():
        for path, inside in re.findall(rf"{NAME} \(([^)]*)\)", text):
            names = re.findall(NAME, inside)
            content = (ROOT / whole_path(path)).read_text() if names else ""
            for name in names:
                assert re.search(rf"\b{name}\b", content), f"{change}: {name} in {path}"
                checked += 1
    assert checked >= 40


def test_the_page_is_short():
    assert len((ROOT / "CONTRIBUTING.md").read_text().split()) <= 1500


def copied(folder):
    """Copy the repository, with the compiled kernels beside their sources."""
    left_out = shutil.ignore_patterns(
        ".*", "build", "__pycache__", "*.png", "*.egg-info", "node_modules"
    )
    shutil.copytree(ROOT, folder, ignore=left_out)
    shutil.copy(
        importlib.import_module("rainproof._cyutility").__file__, folder / "src" / "rainproof"
    )  # what they share
    for kernel in (ROOT / "src").rglob("*.pyx"):
        name = ".".join(kernel.relative_to(ROOT / "src").with_suffix("").parts)
        shutil.copy(
            importlib.import_module(name).__file__, folder / kernel.relative_to(ROOT).parent
        )
    return folder


def contents(folder):
    files = (
        file
        for file in folder.rglob("*")
        if file.is_file() and file.suffix not in (".so", ".pyd", ".pyc")
    )
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def insert(file, before, text):
    old = file.read_text()
    assert old.count(before) == 1, f"{before!r} in {file.name}"
    file.write_text(old.replace(before, text + before))


def add_measure(folder):
    """Do what the table says for a new measure."""
    package = folder / "src" / "rainproof"
    (package / "measures" / f"{NEW}.py").write_text(MODULE)
    line = f"from rainproof.measures.{NEW} import {FUNCTION}\n"
    insert(package / "measures" / "catalogue.py", "from rainproof.measures.scdl import", line)
    insert(
        package / "measures" / "catalogue.py",
        '        Measure(\n            symbol="Brier"',
        RECORD,
    )
    exported = f"from rainproof.measures.{NEW} import {FUNCTION} as {FUNCTION}\n"
    insert(
        package / "measures" / "__init__.pyi",
        "from rainproof.measures.catalogue import Measure as Measure",
        exported,
    )
    reference = folder / "docs" / "reference" / "measures.md"
    insert(
        reference, "| `brier_score` |", f"| `{FUNCTION}` | mean prediction against event rate |\n"
    )
    insert(reference, "::: rainproof.measure_all", f"::: rainproof.measures.{FUNCTION}\n")
    guide = folder / "docs" / "guide" / "which-measure.md"
    insert(guide, "## Computing time", f"`{FUNCTION}` lets opposite biases cancel.\n\n")
    (folder / "tests" / "measures" / f"test_{NEW}.py").write_text(TEST)


def test_a_measure_touches_the_listed_files_alone(tmp_path):
    """The copy passes the tests that every measure must pass, and nothing but the listed files was
    changed.
    """
    folder = copied(tmp_path / "copy")
    before = contents(folder)
    add_measure(folder)
    after = contents(folder)
    changed = {path for path in after if before.get(path) != after[path]}
    assert changed == {path.replace("NEW", NEW) for path in files_of("a measure")}
    # -S: without what installs the package under test, so that the copy is imported.
    command = [
        sys.executable,
        "-S",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--assert=plain",
        *READERS,
    ]
    command += ["-k", CHOSEN]
    path = os.pathsep.join([str(folder / "src"), *filter(None, sys.path)])
    options = {
        "cwd": folder,
        "env": {**os.environ, "PYTHONPATH": path},
        "capture_output": True,
        "text": True,
    }
    done = subprocess.run(command, check=False, **options)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 20
