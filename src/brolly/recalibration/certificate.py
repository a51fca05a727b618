"""What is proven of a recalibration, from rows that no map was fitted to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from brolly.core.arrays import Floats
from brolly.core.grid.cells import CellTable
from brolly.core.sample.sample import Sample
from brolly.core.text import at_least, at_most, percent, rows
from brolly.inference.guarantee import guarantee
from brolly.inference.switching import SwitchGuarantee, switch_guarantee
from brolly.recalibration.training import HeldOut


@dataclass(frozen=True, kw_only=True, slots=True)
class Certificate:
    """What is proven of acting on the recalibrated probabilities, from rows that no map was fitted to.

    All losses and gains are shares of the range of a task's payoffs, for every decision task at once.

    Attributes
    ----------
    harm_bound : float
        In the population nobody loses more than this by acting on the recalibrated probabilities in place of the
        original ones, in expectation.
    gain_at_least : float
        In the population somebody gains at least this, in expectation; 0 if the rows prove no gain.
    harm, gain : float
        On these rows, exactly: the most that anybody loses, and gains.
    loss_bound : float
        In the population nobody who acts on the recalibrated probabilities as they are loses more than this, in
        expectation, compared with any rising correction of them (`guarantee` with ``response="as_is"``).
    confidence_level : float
        Of each of the three bounds by itself.
    n : int
        The number of rows behind the certificate.
    groups : int or None
        The number of groups, if rows depend on each other.
    """

    harm_bound: float
    gain_at_least: float
    harm: float
    gain: float
    loss_bound: float
    confidence_level: float
    n: int
    groups: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate in built-in types, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        gains = (
            f"Somebody gains at least {at_least(self.gain_at_least)}."
            if self.gain_at_least > 0
            else "These rows do not prove that anybody gains."
        )
        if self.harm_bound == 0:
            switched = "The probabilities stay as they are: nobody loses or gains."
        else:
            switched = (
                f"Nobody loses more than {at_most(self.harm_bound)} by acting on the recalibrated probabilities "
                f"instead of the original ones. {gains}"
            )
        drawn = "rows" if self.groups is None else f"{self.groups:,} groups of rows"
        return (
            f"From {rows(self.n)} that the map was not fitted to, in expectation, in shares of the range of payoffs:\n"
            f"{switched}\n"
            "Nobody who acts on the recalibrated probabilities as they are loses more than "
            f"{at_most(self.loss_bound)}, compared with any rising correction of them.\n"
            f"Each statement holds with {percent(self.confidence_level)} confidence, if the {drawn} were drawn "
            "independently from the population in which the map will be used."
        )


def certify(
    held: HeldOut, recalibrated: Floats | None, confidence_level: float, rng: np.random.Generator
) -> Certificate:
    """Prove what the recalibrated predictions of the rows held out do; None if the map changes nothing anywhere."""
    found = None if recalibrated is None else switch(held, held.prob, recalibrated, confidence_level, rng)
    recalibrated = held.prob if recalibrated is None else recalibrated
    group = held.group if held.counts is None else None
    sample = _sample(held, recalibrated)
    promise = guarantee(sample, response="as_is", confidence_level=confidence_level, groups=group)
    return Certificate(
        harm_bound=found.harm_bound if found else 0.0,
        gain_at_least=found.gain_at_least if found else 0.0,
        harm=found.harm if found else 0.0,
        gain=found.gain if found else 0.0,
        loss_bound=promise.bound,
        confidence_level=confidence_level,
        n=promise.n,
        groups=promise.groups,
    )


def switch(
    held: HeldOut, old: Floats, new: Floats, confidence_level: float, rng: np.random.Generator
) -> SwitchGuarantee:
    """Bound what the switch between two predictions of the rows held out does."""
    each = np.arange(len(held.prob)) if held.counts is None else np.repeat(np.arange(len(held.prob)), held.counts)
    return switch_guarantee(
        held.event[each],
        old[each],
        new[each],
        sample_weight=held.weight,
        groups=held.group,
        confidence_level=confidence_level,
        rng=rng,
    )


def _sample(held: HeldOut, prob: Floats) -> Sample:
    if held.counts is None:
        return Sample(held.event, prob, sample_weight=held.weight)
    grid, weight = 1 << 16, held.counts.astype(np.float64)
    cell = np.floor(grid * prob)
    zero = np.zeros_like(weight)
    rise = np.stack([weight * (grid * prob - cell), zero])
    slot = 2 * cell.astype(np.int64) + held.event
    return Sample._from_cells(CellTable.pooled(grid, slot, held.counts, np.stack([weight, zero]), rise, weight))
