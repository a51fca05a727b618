"""Benchmarks of rainproof and other packages: run ``python -m benchmarks`` from the root of the
repository.
"""
