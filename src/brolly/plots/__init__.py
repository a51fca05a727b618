"""Pictures of an assessment or a timeline, with Matplotlib; nothing is computed here.

``reliability``, ``regret``, ``profile``, ``measures`` and ``segments`` each draw one panel of an assessment, into
your own axes or new ones; ``overview`` draws the first four in one figure; ``timeline`` draws what
`brolly.monitor` found. Matplotlib's settings are followed and not changed.
"""

from brolly.plots.bars import measures, segments
from brolly.plots.overview import overview
from brolly.plots.profile import profile
from brolly.plots.regret import regret
from brolly.plots.reliability import reliability
from brolly.plots.timeline import timeline

__all__ = ["measures", "overview", "profile", "regret", "reliability", "segments", "timeline"]
