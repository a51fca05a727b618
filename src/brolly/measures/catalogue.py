"""The catalogue: every exported measure is registered here once, and tested by one shared suite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from brolly.measures.soft_binned import soft_binned_cdl


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """A calibration measure: what it is called, what it is written as, and how to compute it."""

    name: str
    symbol: str
    function: Callable[..., float]
    reference: str


CATALOGUE: tuple[Measure, ...] = (
    Measure(
        name="soft_binned_cdl",
        symbol="SCDL",
        function=soft_binned_cdl,
        reference="arXiv:2605.17749, Definition 1.1",
    ),
    Measure(
        name="soft_binned_cdl[hard]",
        symbol="SCDL (hard-binned)",
        function=partial(soft_binned_cdl, rounding="hard"),
        reference="arXiv:2605.17749, section 1.5",
    ),
)
