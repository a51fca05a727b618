from rainproof.core.piecewise import PiecewiseMap as PiecewiseMap
from rainproof.recalibration.classes import ClassMap as ClassMap
from rainproof.recalibration.online import OnlineRecalibrator as OnlineRecalibrator
from rainproof.recalibration.recalibrator import Recalibrator as Recalibrator

__all__: list[str]
