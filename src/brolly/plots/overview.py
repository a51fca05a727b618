"""One figure with four panels: what ``a.plot()`` draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brolly.assessment.result import Assessment
from brolly.plots.bars import measures
from brolly.plots.profile import profile
from brolly.plots.regret import regret
from brolly.plots.reliability import reliability
from brolly.plots.style import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIZE = (11.0, 8.5)


def overview(a: Assessment, **options: Any) -> Figure:
    """The four panels in one figure: reliability, regret, profile, measures.

    Parameters
    ----------
    a : Assessment
    **options
        For Matplotlib's ``figure``, such as ``figsize`` (11 by 8.5 inches if not said) or ``dpi``.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import brolly
    >>> a = brolly.assess([0, 1, 1, 0] * 50, [0.2, 0.9, 0.6, 0.4] * 50)
    >>> figure = brolly.plots.overview(a)
    >>> [ax.get_title() for ax in figure.axes]
    ['Reliability, in steps of 1/8', 'Regret, rounded to 1/8', 'Balance', 'Measures']
    """
    figure = new_figure(**{"figsize": _SIZE, **options})
    panels = figure.subplots(2, 2)
    for ax, draw in zip(panels.flat, (reliability, regret, profile, measures), strict=True):
        draw(a, ax)
    figure.suptitle(a.verdict.headline)
    return figure
