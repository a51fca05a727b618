"""The race runs, with rainproof and scikit-learn alone; its pages say what its tables do."""

from __future__ import annotations

import dataclasses
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.cases import for_each

from benchmarks.race import bad_input, calls, coverage, pages, parts, power, recalibration, speed
from benchmarks.race.contestants import BY_NAME, CONTESTANTS, OURS
from benchmarks.studies.recalibration_data import MADE, _made

ROOT = Path(__file__).parent.parent
FEW = [BY_NAME[name] for name in (OURS, "no package", "scikit-learn")]


@pytest.fixture
def small(monkeypatch):
    """Two packages, one data set, few samples."""
    for module in (parts, speed):
        monkeypatch.setattr(module, "present" if module is parts else "contestants", lambda: FEW)
    monkeypatch.setattr(
        recalibration,
        "sets",
        lambda: {name: _made(name, *MADE[name]) for name in ("shifted", "a jump")},
    )
    monkeypatch.setattr(power, "REPLICATES", 3)
    monkeypatch.setattr(coverage, "REPLICATES", 2)
    monkeypatch.setattr(speed, "IMPORTS", 1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", pages.PARTS)
def test_a_part_is_measured_once_and_has_a_page(name, small, tmp_path, monkeypatch):
    part = pages.PARTS[name].part
    some = {
        "power": lambda c: c[1] == 100,
        "classes": lambda c: "bent" in c[0] or "high" in c[0],
        "coverage": lambda c: c[1] == "calibrated" and "ECE" not in c[0],
        "speed": lambda c: c[3] in (0, 1000) and c[0] not in ("tests", "maps") and c[1] == OURS,
        "advice": lambda c: c[0] == 200 and c[1] < 2,
    }
    all_ = [c for c in part.cells(0, True) if some.get(name, lambda _: True)(c)]
    part = dataclasses.replace(part, cells=lambda block, _: iter(all_ if block == 0 else []))
    first = len(all_) // 2
    clock = iter([*[0] * first, *[2] * (1 + len(all_))])
    monkeypatch.setattr(parts, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert not part.measure(tmp_path, blocks=1, quick=True, until=1.0)
    assert len(part.lines(tmp_path)) == first
    assert part.measure(tmp_path, blocks=1, quick=True, until=math.inf)
    before = part.file(tmp_path).read_bytes()
    assert part.measure(tmp_path, blocks=2, quick=True, until=math.inf)
    assert part.file(tmp_path).read_bytes() == before
    assert len(part.lines(tmp_path)) == len(all_)
    assert not [line for line in part.lines(tmp_path) if line.get("note")]
    assert f"**{OURS}" in part.page(part.lines(tmp_path), tmp_path)


def test_power_at_equal_size_is_the_level_for_calibrated_samples():
    null = np.array([0.01, 0.02, 0.02, 0.02, *np.linspace(0.1, 1, 36)])
    assert power.share_below(null, null) == pytest.approx(0.05)
    assert power.share_below(null, np.array([0.005, 0.02, 0.5])) == pytest.approx((1 + 1 / 3) / 3)


def test_another_python_answers_what_this_one_would():
    y, p = np.array([0, 1, 1, 0]), np.array([0.2, 0.6, 0.9, 0.4])
    with calls.Server(sys.executable, {}) as server:
        value, seconds = server.ask("one", "scikit-learn", "numbers", "brier_score_loss", y, p)
        assert value == pytest.approx(((y - p) ** 2).mean())
        assert seconds >= 0
        with pytest.raises(
            calls.CallError, match="ValueError: Found input variables with inconsistent numbers"
        ):
            server.ask("one", "scikit-learn", "numbers", "brier_score_loss", y, p[1:])


@pytest.mark.filterwarnings("ignore")
@for_each("case", bad_input.CASES)
def test_rainproof_is_right_about_bad_input(case):
    assert bad_input.outcome(OURS, "soft_binned_cdl", case)[0] in (
        bad_input.RIGHT,
        bad_input.UNTRIED,
    )


def test_every_contestant_is_in_a_part_and_locked():
    locked = {
        speed._normal(line.split("==")[0])
        for file in (ROOT / "benchmarks" / "race").glob("requirements*.txt")
        for line in file.read_text().splitlines()
        if "==" in line
    }
    for one in CONTESTANTS:
        assert any(
            one.of(kind)
            for kind in ("tests", "maps", "class_maps", "intervals", "bands", "advice", "numbers")
        )
        assert one.name in (OURS, "no package") or speed._normal(one.name) in locked


@pytest.mark.filterwarnings("ignore")
def test_the_pages_are_made_from_the_tables(tmp_path):
    results = ROOT / "docs" / "data" / "race"
    (tmp_path / "README.md").write_text(f"{pages.START}\n{pages.END}\n")
    pages.write(results, tmp_path / "docs")
    for name, one in pages.PARTS.items():
        page = Path("docs") / "benchmarks" / pages.link(name)
        assert (ROOT / page).exists() == bool(one.part.lines(results))
        if (ROOT / page).exists():
            assert (tmp_path / page).read_text() == (ROOT / page).read_text(), name
    assert (tmp_path / "README.md").read_text().strip() in (ROOT / "README.md").read_text()
