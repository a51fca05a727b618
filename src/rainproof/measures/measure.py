"""A measure and its traits: all that other packages need to know about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from numpy.typing import ArrayLike

from rainproof.core.regret import Swaps
from rainproof.core.sample.sample import Sample


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """A measure: its name, its cost, and what a small value bounds.

    Attributes
    ----------
    symbol : str
        The symbol used in papers.
    function : callable
        The function that computes it.
    options : mapping
        The keyword arguments it is called with, besides the data.
    range : tuple of float
        The smallest and the largest possible value (default: 0 and 1). 0 is perfect.
    cost : str
        Running time for n rows.
    kind : {"calibration", "score"}
        "calibration" is 0 for every calibrated population; "score" also rewards discrimination.
    pools_predictions : bool
        Whether it compares each distinct prediction with the event rate of its own rows, so that it is large by
        chance where predictions hardly repeat.
    has_interval : bool
        Whether `assess` computes a confidence interval; False where every resample would take seconds.
    bounds : {"all", "monotone", "constant"} or None
        The class of swaps whose regret a small value bounds, for everyone who acts on the predictions. None where it
        bounds that of some people only, such as those who act on bin means, or of nobody.
    actionable : str
        Whose regret a small value bounds, in words: against which swaps, and at how many times the value.
    testable : str
        How far the value on T rows is from that of the population, for a calibrated forecaster.
    reference : str
        Where it was defined.
    """

    symbol: str
    function: Callable[..., float]
    options: Mapping[str, Any] = field(default_factory=dict)
    range: tuple[float, float] = (0, 1)
    cost: str
    kind: Literal["calibration", "score"] = "calibration"
    pools_predictions: bool = False
    has_interval: bool = True
    bounds: Swaps | None = None
    actionable: str
    testable: str
    reference: str

    @property
    def name(self) -> str:
        """The key in `list_measures` and `measure_all`: the function, and the options in brackets."""
        options = ", ".join(map(str, self.options.values()))
        return self.function.__name__ + (f"[{options}]" if options else "")

    def __call__(self, y_true: ArrayLike | Sample, y_prob: ArrayLike | None = None, **data: Any) -> float:
        """Compute the measure; the data as for `function`."""
        return self.function(y_true, y_prob, **data, **self.options)
