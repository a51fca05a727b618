"""From the sample to the population: guarantees, tests, intervals, comparisons, monitoring."""

from rainproof.core import lazy

__getattr__, __dir__ = lazy(__name__)
