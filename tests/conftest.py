"""Every run draws the same random inputs."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "brolly",
    derandomize=True,
    deadline=None,
    max_examples=100,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no fault of the code
)
settings.load_profile("brolly")
