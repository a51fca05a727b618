"""Design: how the cases came into the sample, in the sense of survey statistics.

A design is a few scalars: clusters, strata of the outcome, the largest possible weight. Columns are
in `rainproof.core.rows`, what the cases add up to in `rainproof.core.units`. A method states what
it needs of a design, and a design that lacks it refuses (`Design.require`). A method that has
another formula for cases chosen by outcome looks at the strata.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from rainproof.core.cells import CellTable
from rainproof.core.rows import Rows
from rainproof.errors import InputError

Store = Rows | CellTable
"""What a sample holds: its rows, or the sums of compressed ones."""

Clusters = Literal["none", "single cases", "cases"]
"""What the clusters hold that the caller named, if any. Clusters of single cases are independent
cases; but they are still counted, as another sample of the population may have larger ones.
"""


@dataclass(frozen=True, slots=True)
class OutcomeStrata:
    """Cases were chosen by outcome; in the population the event has a rate between two ends.

    Given the outcomes, the cases are independent: what is proven of such a sample rests on that
    alone. A single rate is both ends.
    """

    low: float
    high: float

    @property
    def is_range(self) -> bool:
        """Whether the rate is not known exactly."""
        return self.low < self.high

    @property
    def rate(self) -> float:
        """The event rate: of a range, the middle in log odds."""
        if not self.is_range:
            return self.low
        # each root by itself: the product of two odds can overflow
        odds = math.sqrt(self.low / (1 - self.low)) * math.sqrt(self.high / (1 - self.high))
        return odds / (1 + odds)

    @property
    def base_rate(self) -> float | tuple[float, float]:
        """The rate, or both ends of the range, as the caller stated them."""
        return (self.low, self.high) if self.is_range else self.low


@dataclass(frozen=True, slots=True)
class Design:
    """How the cases came into the sample.

    Attributes
    ----------
    clusters : {"none", "single cases", "cases"}
        Whether cases were drawn in clusters, and whether a cluster has several of them here.
    shares : bool
        Whether outcomes are shares of the event: a case can then be two entries of one unit.
    strata : OutcomeStrata or None
        The event rate of the population, where cases were chosen by outcome.
    max_weight : float or None
        The largest weight that a unit of the population can have, if it is stated.
    """

    clusters: Clusters = "none"
    shares: bool = False
    strata: OutcomeStrata | None = None
    max_weight: float | None = None

    @property
    def clustered(self) -> bool:
        """Whether the caller named clusters, of whatever size."""
        return self.clusters != "none"

    def scenarios(self) -> tuple[Design, ...]:
        """Return the designs at both ends of a range of base rates; else this one alone."""
        if self.strata is None or not self.strata.is_range:
            return (self,)
        return tuple(self.at_rate(rate) for rate in (self.strata.low, self.strata.high))

    def middle(self) -> Design:
        """Return the design at one base rate, the middle of a range."""
        if self.strata is None or not self.strata.is_range:
            return self
        return self.at_rate(self.strata.rate)

    def at_rate(self, rate: float) -> Design:
        """Return this design at one base rate."""
        return replace(self, strata=OutcomeStrata(rate, rate))

    def as_drawn(self) -> Design:
        """Return the design without strata: the cases as they were drawn."""
        return replace(self, strata=None)

    def of_cells(self) -> Design:
        """Return the design of the same cases after compression, which keeps no units."""
        clusters: Clusters = "single cases" if self.clustered else "none"
        return replace(self, clusters=clusters, shares=False)

    def settle(self, store: Store) -> Store:
        """Return the same cases with the weights that the strata set, if there are any.

        The weights depend on the outcomes of all cases, so they are set anew for each part of a
        sample. With the base rate r, each of the n1 cases with the event weighs ``r n / n1``, and
        each of the n0 others ``(1 - r) n / n0``.
        """
        if self.strata is None:
            return store
        n, events = store.count_events()
        others = n - events
        if not events or not others:
            raise InputError(
                f"base_rate needs rows of both outcomes; all {n:,} have {int(events > 0)}"
            )
        rate = self.strata.rate
        # weights that add up to n, so that sums stay near those of the rows as they are
        return store.weighed_by_outcome(n * (1 - rate) / others, n * rate / events)

    def require(
        self,
        what: str,
        *,
        independent: bool = False,
        unstratified: bool = False,
        one_rate: bool = False,
    ) -> None:
        """Refuse a design that cannot do what a method needs.

        Parameters
        ----------
        what : str
            The method, as the message names it.
        independent : bool
            Whether it needs each case to be one independent entry.
        unstratified : bool
            Whether it is about the cases as they were drawn.
        one_rate : bool
            Whether it needs one base rate, and no range.
        """
        # clusters of single cases are independent cases
        if independent and self.clusters == "cases":
            raise InputError(
                f"{what} takes no groups: it needs independent rows",
                hint="; ",
                remedy="assess(..., groups=...) and confidence_interval(..., groups=...) "
                "allow for groups",
            )
        if independent and self.shares:
            raise InputError(
                f"{what} cannot take outcomes that are shares of the event: it redraws each as 0 "
                "or 1"
            )
        if self.strata is None:
            return
        if unstratified:
            raise InputError(
                f"{what} takes no base_rate: it is about the rows as they are, at the event rate "
                "that they have"
            )
        if one_rate and self.strata.is_range:
            raise InputError(
                f"base_rate must be one number here; it is a range, {self.strata.base_rate}"
            )


INDEPENDENT_CASES = Design()
"""Every case is a unit, and what it weighs is in its row."""
