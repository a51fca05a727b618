from rainproof.core.piecewise import PiecewiseMap as PiecewiseMap
from rainproof.recalibration.maps import ClassMap as ClassMap

__all__: list[str]
