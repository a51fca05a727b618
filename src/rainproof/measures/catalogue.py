"""The catalogue of measures: each with its traits, which are all that other packages need to know.

A new measure is an entry at the end of this module; what reads the catalogue then tests, estimates
and prints it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from numpy.typing import ArrayLike

from rainproof.core.arguments import as_sample
from rainproof.core.curve import Swaps
from rainproof.core.result import Result, plain
from rainproof.core.sample import Sample
from rainproof.core.text import aligned, html_rows, rows
from rainproof.measures import binned
from rainproof.measures.decision_loss import calibration_decision_loss, u_calibration_error
from rainproof.measures.distance import lower_distance_to_calibration
from rainproof.measures.scdl import soft_binned_cdl
from rainproof.measures.scores import brier_score, log_score
from rainproof.measures.smooth import smooth_calibration_error, smooth_ece

_PAPER = "arXiv:2605.17749"
_INFINITE_SCORE = "(infinite: an outcome happened that was predicted with probability 0)"
_CATALOGUE_HEAD = (
    "name",
    "symbol",
    "range",
    "cost",
    "bounds the regret of",
    "error on T rows",
    "reference",
)
_VALUES_HEAD = ("measure", "symbol", "value", "a small value bounds the regret of")


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
        Running time for n rows (default: that of sorting them).
    kind : {"calibration", "score"}
        "calibration" is 0 for every calibrated population; "score" also rewards discrimination.
    pools_predictions : bool
        Whether it compares each distinct prediction with the event rate of its own rows, so that it
        is large by chance where predictions hardly repeat.
    bounds : {"all", "monotone", "constant"} or None
        The class of swaps whose regret a small value bounds, for every decision that acts on the
        predictions. None where it bounds that of some decisions only, such as those on bin means,
        or of none.
    actionable : str
        The decisions whose regret a small value bounds: against which swaps, and at how many times
        the value.
    testable : str
        How far the value on T rows is from that of the population, for a calibrated forecaster
        (default: T^-1/2).
    reference : str
        Where it was defined.
    """

    symbol: str
    function: Callable[..., float]
    options: Mapping[str, Any] = field(default_factory=dict)
    range: tuple[float, float] = (0, 1)
    cost: str = "O(n log n)"
    kind: Literal["calibration", "score"] = "calibration"
    pools_predictions: bool = False
    bounds: Swaps | None = None
    actionable: str
    testable: str = "T^-1/2"
    reference: str

    @property
    def name(self) -> str:
        """The key in `list_measures` and `measure_all`: the function, with options in brackets."""
        name = self.function.__name__
        if not self.options:
            return name
        options = ", ".join(map(str, self.options.values()))
        return f"{name}[{options}]"

    def __call__(
        self, y_true: ArrayLike | Sample, y_prob: ArrayLike | None = None, **data: Any
    ) -> float:
        """Compute the measure; the data as for `function`."""
        return self.function(y_true, y_prob, **data, **self.options)


@dataclass(frozen=True, slots=True, repr=False)
class Catalogue(Mapping[str, Measure]):
    """All measures by name; prints as a table."""

    entries: tuple[Measure, ...]

    def __getitem__(self, name: str) -> Measure:
        return {measure.name: measure for measure in self.entries}[name]

    def __iter__(self) -> Iterator[str]:
        return (measure.name for measure in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def of(self, function: Any) -> Measure | None:
        """Return the measure that a function computes by default; None for functions not in the
        catalogue.
        """
        for measure in self.entries:
            if measure.function is function and not measure.options:
                return measure
        return None

    def __repr__(self) -> str:
        return _ruled(_CATALOGUE_HEAD, self._rows())

    def _repr_html_(self) -> str:
        return f"<table>{html_rows(_CATALOGUE_HEAD, self._rows())}</table>"

    def _rows(self) -> list[tuple[str, ...]]:
        """Return a row of the table for each measure."""
        table: list[tuple[str, ...]] = []
        for measure in self.entries:
            low, high = measure.range
            row = (
                measure.name,
                measure.symbol,
                f"[{low:g}, {high:g}]",
                measure.cost,
                measure.actionable,
                measure.testable,
                measure.reference,
            )
            table.append(row)
        return table


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class Measurements(Result, Mapping[str, float]):
    """The value of every measure by name; prints as a table.

    Attributes
    ----------
    values_by_name : dict
        The values.
    n : int
        The number of rows.
    """

    values_by_name: Mapping[str, float]
    n: int

    def __getitem__(self, name: str) -> float:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def to_dict(self) -> dict[str, Any]:
        """Return built-in types, ready for JSON (an infinite log score becomes None)."""
        return {"result": "measure_all", "n": self.n, "values": plain(self.values_by_name)}

    def _rows(self) -> list[tuple[str, ...]]:
        """Return a row of the table for each measure."""
        table: list[tuple[str, ...]] = []
        for measure in CATALOGUE.entries:
            value = self[measure.name]
            bounds = measure.actionable if value < math.inf else _INFINITE_SCORE
            table.append((measure.name, measure.symbol, f"{value:.6f}", bounds))
        return table

    def __repr__(self) -> str:
        return f"{_ruled(_VALUES_HEAD, self._rows())}\n{rows(self.n)}"

    def _repr_html_(self) -> str:
        return f"<table>{html_rows(_VALUES_HEAD, self._rows())}</table>"


def list_measures() -> Catalogue:
    """List every measure: name, symbol, range, cost, what a small value bounds, reference.

    Explained in docs/guide/which-measure.md.

    Returns
    -------
    Catalogue
        A mapping from name to `Measure`; a measure can be called with the data.

    Examples
    --------
    >>> import rainproof
    >>> rainproof.list_measures()["soft_binned_cdl"].actionable
    'every decision that rounds (all swaps; factor 4)'
    >>> rainproof.list_measures()["brier_score"]([0, 1, 1], [0.5, 0.5, 1.0])
    0.16666666666666666
    """
    return CATALOGUE


def measure_all(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    base_rate: float | None = None,
) -> Measurements:
    """Compute every measure of the catalogue; the rows are checked and sorted only once.

    Explained in docs/guide/which-measure.md.

    Parameters
    ----------
    y_true, y_prob, sample_weight, pos_label, base_rate
        As for `soft_binned_cdl`.

    Returns
    -------
    Measurements
        A mapping from name to value that prints as a table.

    Examples
    --------
    >>> import rainproof
    >>> y, p = [0, 0, 1, 0, 1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    >>> values = rainproof.measure_all(y, p)
    >>> values["soft_binned_cdl"]
    0.125
    """
    sample = as_sample(
        y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, base_rate=base_rate
    )
    values = {name: measure(sample) for name, measure in CATALOGUE.items()}
    return Measurements(values_by_name=values, n=sample.n)


def _ruled(head: tuple[str, ...], body: list[tuple[str, ...]]) -> str:
    """Write a table with a line under its head."""
    lines = aligned([head, *body], left=len(head))
    rule = "-" * max(len(line) for line in lines)
    return "\n".join([lines[0], rule, *lines[1:]])


_SCDL = Measure(
    symbol="SCDL",
    function=soft_binned_cdl,
    range=(0, 0.5),
    cost="O(n)",
    bounds="all",
    actionable="every decision that rounds (all swaps; factor 4)",
    testable="T^-1/2 log T",
    reference=f"{_PAPER}, Definition 1.1",
)
_BINNED = Measure(
    symbol="binned ECE",
    function=binned.binned_calibration_error,
    cost="O(n)",
    actionable="decisions on bin means (all swaps; factor 2)",
    testable="(m/T)^1/2 with m bins",
    reference="doi:10.1609/aaai.v29i1.9602",
)

CATALOGUE = Catalogue(
    (
        _SCDL,
        replace(
            _SCDL,
            symbol="SCDL (hard-binned)",
            options={"rounding": "hard"},
            reference=f"{_PAPER}, section 1.5",
        ),
        # Losses in hindsight, against fewer and fewer swaps.
        Measure(
            symbol="CDL",
            function=calibration_decision_loss,
            bounds="all",
            pools_predictions=True,
            actionable="every decision (all swaps)",
            testable="does not vanish",
            reference=f"{_PAPER}, Definition 2.2; arXiv:2404.13503",
        ),
        Measure(
            symbol="CDL, monotone swaps",
            function=calibration_decision_loss,
            options={"swaps": "monotone"},
            bounds="monotone",
            actionable="every decision (monotone swaps)",
            reference="arXiv:2502.19851",
        ),
        Measure(
            symbol="U-cal",
            function=u_calibration_error,
            bounds="constant",
            actionable="every decision (one fixed action)",
            reference="arXiv:2307.00168",
        ),
        # Distances from calibration.
        Measure(
            symbol="smCE",
            function=smooth_calibration_error,
            actionable="no decision (its root: decisions with noise)",
            reference="doi:10.1016/j.jcss.2007.04.017; arXiv:2211.16886",
        ),
        Measure(
            symbol="distCal",
            function=lower_distance_to_calibration,
            cost="O(n) + a linear program",
            actionable="no decision (its root: decisions with noise)",
            reference="arXiv:2211.16886",
        ),
        # Errors of event rates.
        Measure(
            symbol="ECE",
            function=binned.expected_calibration_error,
            bounds="all",
            pools_predictions=True,
            actionable="every decision (all swaps; factor 2)",
            testable="does not vanish",
            reference=f"{_PAPER}, Definition 2.1; Foster and Vohra (1997)",
        ),
        _BINNED,
        replace(
            _BINNED,
            symbol="binned ECE (equal mass)",
            options={"strategy": "quantile"},
            cost="O(n log n)",
        ),
        Measure(
            symbol="bECE",
            function=binned.binned_calibration_error,
            options={"form": "rounded"},
            range=(0, 2),
            cost="O(n)",
            actionable="decisions that round down (all swaps)",
            testable="T^-1/3 with T^1/3 bins",
            reference=f"{_PAPER}, section 1",
        ),
        Measure(
            symbol="smECE",
            function=smooth_ece,
            cost="O(n + g log g)",
            actionable="decisions with noise (all swaps; factor 2.68)",
            testable="T^-1/3",
            reference="arXiv:2309.12236",
        ),
        Measure(
            symbol="Cutoff",
            function=binned.cutoff_calibration_error,
            bounds="monotone",
            actionable="every decision (monotone swaps; factor 2)",
            reference=f"arXiv:2502.19851; {_PAPER}, Definition 2.5",
        ),
        Measure(
            symbol="ATB",
            function=binned.two_bin_calibration_error,
            actionable="no decision (truthful: lies do not lower it)",
            testable="T^-1",
            reference="arXiv:2508.13100",
        ),
        # Scores.
        Measure(
            symbol="Brier",
            function=brier_score,
            cost="O(n)",
            kind="score",
            actionable="(a score: calibration and discrimination)",
            reference="doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2",
        ),
        Measure(
            symbol="log score",
            function=log_score,
            range=(0, math.inf),
            cost="O(n)",
            kind="score",
            actionable="(a score: calibration and discrimination)",
            testable="none (unbounded)",
            reference="doi:10.1111/j.2517-6161.1952.tb00104.x",
        ),
    )
)
