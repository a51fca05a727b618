"""Every run draws the same random inputs."""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "rainproof",
    derandomize=True,
    deadline=None,
    max_examples=100,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no fault of the code
)
settings.load_profile("rainproof")


@pytest.hookimpl(trylast=True)  # after hypothesis has marked its tests
def pytest_collection_modifyitems(config, items):
    """Measure no coverage while hypothesis draws: it takes as long again, and other tests reach every line."""
    if config.pluginmanager.hasplugin("_cov"):
        for item in items:
            if item.get_closest_marker("hypothesis"):
                item.add_marker("no_cover")
