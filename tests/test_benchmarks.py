"""The benchmarks run: every call of rainproof that they time, on few rows."""

from __future__ import annotations

import pytest
from helpers.cases import for_each

from benchmarks import assess, clinical, curves, measures, recalibration, resampling, scan
from benchmarks.data import make_data
from benchmarks.page import write_part
from benchmarks.timed_functions import CONTESTANTS

RESAMPLED = [
    one.contestant for one in (resampling.TEST, resampling.BOOTSTRAP, resampling.COMPRESSED)
]
CALLS = [
    *CONTESTANTS,
    *measures.BY_NAME.values(),
    measures.DECIDE,
    measures.SWITCH,
    measures.SWITCH_WEIGHTED,
    *RESAMPLED,
    *recalibration.CONTESTANTS,
    *clinical.CONTESTANTS,
]
ROWS = 200_000  # so many that each of the 10,000 segments has some


@for_each("contestant", [one for one in CALLS if one.peer is None])
def test_a_call_that_is_timed(contestant):
    contestant.call(make_data(300))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    scan.make_file(path, ROWS)
    return str(path)


@for_each("task", scan.TASKS)
def test_a_scan_that_is_timed(task, file):
    scan.TASKS[task](file, ROWS)


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
@for_each(
    "name",
    [name for name in assess.jobs(300, 400, 3000) if "look" not in name and "scikit" not in name],
)
def test_a_job_that_is_timed(name):
    assess.jobs(300, 400, 3000)[name]()


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
def test_the_segments_that_are_timed_are_tested():
    assert not assess.segments(3)().small


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
@for_each("given", [curves.Input.of(300), curves.Input.of(3000, most=1000)])
@for_each("job", curves.JOBS)
def test_a_job_whose_cost_curve_is_drawn(job, given):
    curves.JOBS[job](*given.fresh())


@pytest.mark.filterwarnings("ignore::rainproof.RainproofWarning")
def test_the_memory_of_each_job_is_measured():
    found = curves.measure_memory(300)
    assert found["whole process"] > sum(found[name] for name in curves.JOBS)


def test_the_installed_size_is_a_small_part_of_that_of_numpy_and_scipy(monkeypatch):
    monkeypatch.setattr(curves, "_import_time", lambda statement, _: float(len(statement)))
    *_, rainproof = curves._installation().rows
    assert 0 < float(rainproof[2]) < 0.1


def test_the_profile_of_an_assessment_names_its_parts():
    found = {row[0] for row in assess.profile(make_data(300)).rows if row[1] != "0.000"}
    assert {"guarantee", "_fit", "cross_fit", "quick_test"} <= found


def test_each_program_writes_its_own_part_of_the_page(tmp_path):
    page = tmp_path / "speed.md"
    for name, text in (("a", "# A\n\nold"), ("b", "# B\n\n## C"), ("a", "# A\n\nnew")):
        write_part(page, name, text)
    parts = {"a": "## A\n\nnew", "b": "## B\n\n### C"}
    written = "\n".join(
        f"<!-- part: {k} -->\n{part}\n<!-- end of {k} -->\n" for k, part in parts.items()
    )
    assert page.read_text().endswith(f"machine.\n\n{written}")
    assert list(tmp_path.iterdir()) == [page]
