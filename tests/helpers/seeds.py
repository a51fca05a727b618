"""One test of many random inputs."""

from __future__ import annotations

from helpers.cases import for_each


def for_seeds(count):
    """Call a test with each `seed` from 0 to `count` - 1; a failure names the seed."""
    return for_each("seed", range(count))
