"""The benchmarks run: every call of brolly that they time, on few rows."""

from __future__ import annotations

import pytest

from benchmarks import assess, clinical, measures, recalibration, resampling, scan
from benchmarks.contestants import CONTESTANTS
from benchmarks.data import make_data

RESAMPLED = [one.contestant for one in (resampling.TEST, resampling.BOOTSTRAP, resampling.COMPRESSED)]
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


@pytest.mark.parametrize("contestant", [one for one in CALLS if one.peer is None], ids=lambda one: one.name)
def test_a_call_that_is_timed(contestant):
    contestant.call(make_data(300))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    scan.make_file(path, ROWS)
    return str(path)


@pytest.mark.parametrize("task", scan.TASKS)
def test_a_scan_that_is_timed(task, file):
    scan.TASKS[task](file, ROWS)


@pytest.mark.filterwarnings("ignore::brolly.BrollyWarning")
@pytest.mark.parametrize(
    "name", [name for name in assess.jobs(300, 400, 3000) if "look" not in name and "scikit" not in name]
)
def test_a_job_that_is_timed(name):
    assess.jobs(300, 400, 3000)[name]()


def test_the_profile_of_an_assessment_names_its_parts():
    found = {row[0] for row in assess.profile(make_data(300)).rows if row[1] != "0.000"}
    assert {"guarantee", "fit", "quick_test", "null_band", "rate_intervals"} <= found
