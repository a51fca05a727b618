"""Every run draws the same random inputs, and takes no more of the processor than the tests
need.
"""

import gc
import os
import sys

import pytest
from hypothesis import HealthCheck, settings

# The suite runs a worker on each core. Threads for linear algebra would take the cores from one
# another, and small matrices gain nothing by them. It is set before NumPy is imported, and for the
# processes that tests start.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

settings.register_profile(
    "rainproof",
    derandomize=True,
    deadline=None,
    max_examples=30,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no fault of the code
)
# Others in every run, and many more of them: what `make fuzz` draws.
settings.register_profile(
    "search", settings.get_profile("rainproof"), derandomize=False, max_examples=1000
)
settings.load_profile("rainproof")


# Folders and files that run again and again through lines that other tests reach: the whole package
# at once, or simulations.
UNMEASURED = {
    "tests",
    "fuzz",
    "reference",
    "test_advice.py",
    "test_decoded_once.py",
    "test_evidence.py",
    "test_in_browser.py",
    "test_mutants.py",
    "test_resampling_studies.py",
    "test_schema.py",
    "test_signals.py",
    "test_studies.py",
    "test_study.py",
    "test_verdict_studies.py",
}
# folders whose tests share Spark, PostgreSQL or a browser: to start them takes long
ENGINES = {"io", "report"}
# to import it takes as long
TORCH = {"test_class_study.py", "test_package.py", "test_torchmetrics.py"}
LONG = {"tests", "paper", *ENGINES}  # folders whose files take long for the number of their tests


def pytest_configure(config):
    """Let workers take the files in the order below, not those of few tests last."""
    if hasattr(config.option, "loadscopereorder"):  # an option of pytest-xdist
        config.option.loadscopereorder = False


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_auto_num_workers():
    """Run one worker more than there are cores: tests often wait for a browser, a database or
    another process.
    """
    return os.cpu_count() + 1


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config, log):
    """Give whole files to workers, and all files that need the same engine to one of them."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            folder, name = file.split("/")[-2:]
            return "torch" if name in TORCH else folder if folder in ENGINES else file

    return Scheduling(config, log) if config.option.dist == "loadfile" else None


@pytest.hookimpl(trylast=True)  # after hypothesis has marked its tests
def pytest_collection_modifyitems(config, items):
    """Start with what takes long, so that no worker waits for it at the end.

    Measure no coverage where others reach the same lines: it takes half as long again.
    """
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.path.parent.name not in LONG)
    if config.pluginmanager.hasplugin("_cov"):
        for item in items:
            if item.get_closest_marker("hypothesis") or UNMEASURED & {
                item.path.name,
                item.path.parent.name,
            }:
                item.add_marker("no_cover")


def pytest_collection_finish():
    """Search for garbage among what tests make, not among the thousands of tests and the modules
    that they import.
    """
    gc.collect()
    gc.freeze()


def pytest_runtest_teardown():
    """Close what the test drew: Matplotlib warns where many figures are open, whichever tests
    opened them.
    """
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
