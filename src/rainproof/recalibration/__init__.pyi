from rainproof.core.piecewise import PiecewiseMap as PiecewiseMap
from rainproof.recalibration.classes import ClassMap as ClassMap

__all__: list[str]
