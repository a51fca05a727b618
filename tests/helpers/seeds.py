"""One test of many random inputs."""

from __future__ import annotations

import functools
import inspect


def for_seeds(count):
    """Call a test with each `seed` from 0 to `count` - 1; a failure names the seed.

    For inputs that are alike, of which each takes less time than pytest needs to report on a test
    of its own.
    """

    def decorate(test):
        @functools.wraps(test)
        def all_of_them(*arguments, **options):
            for seed in range(count):
                try:
                    test(*arguments, seed=seed, **options)
                except Exception as error:
                    error.add_note(f"seed={seed}")
                    raise

        signature = inspect.signature(test)
        others = [parameter for name, parameter in signature.parameters.items() if name != "seed"]
        all_of_them.__signature__ = signature.replace(parameters=others)
        return all_of_them

    return decorate
