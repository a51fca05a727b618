"""For clinical prediction models: performance with intervals, net benefit, reliability."""

from rainproof.core import lazy

__getattr__, __dir__ = lazy(__name__)
