"""From the sample to the population: guarantees, tests, intervals, comparisons, monitoring.

What most users need of it is in `rainproof` itself: `guarantee`, `calibration_test`,
`confidence_interval`, `compare`, `monitor` and others.
"""

from rainproof.core import lazy

__getattr__, __dir__ = lazy(__name__)
