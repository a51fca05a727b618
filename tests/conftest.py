"""Every run draws the same random inputs."""

from hypothesis import settings

settings.register_profile("brolly", derandomize=True, deadline=None, max_examples=150, print_blob=True)
settings.load_profile("brolly")
