import collections.abc
import typing

from rainproof.plots.curves import forecast_value as forecast_value
from rainproof.plots.curves import profile as profile
from rainproof.plots.curves import regret as regret
from rainproof.plots.curves import risk_coverage as risk_coverage
from rainproof.plots.curves import switch as switch
from rainproof.plots.curves import threshold as threshold
from rainproof.plots.diagrams import classes as classes
from rainproof.plots.diagrams import clinical as clinical
from rainproof.plots.diagrams import net_benefit as net_benefit
from rainproof.plots.diagrams import overview as overview
from rainproof.plots.diagrams import recalibration as recalibration
from rainproof.plots.diagrams import reliability as reliability
from rainproof.plots.diagrams import risk_distribution as risk_distribution
from rainproof.plots.intervals import calibration_test as calibration_test
from rainproof.plots.intervals import comparison as comparison
from rainproof.plots.intervals import costs as costs
from rainproof.plots.intervals import grades as grades
from rainproof.plots.intervals import measures as measures
from rainproof.plots.intervals import segments as segments
from rainproof.plots.intervals import timeline as timeline

__all__: list[str]

def panel(kind: type) -> collections.abc.Callable[..., typing.Any]: ...
