"""Bounds for several classes at once: the worst class, like the worst task, is one fixed function
of a row.

Here is what joins the classes in one bound; the formulas are in `rainproof.inference.bounds` and
`rainproof.inference.lower_bounds`. The proof is in docs/theory/bounds.md, "Several classes at
once".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arguments import as_classes
from rainproof.core.arrays import Floats
from rainproof.core.result import Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.switch_curve import SwitchCurve
from rainproof.core.text import at_most, percent
from rainproof.errors import InputError
from rainproof.inference import bounds
from rainproof.inference.assumptions import KEEPS_RANKING, if_drawn
from rainproof.inference.bound_inputs import BoundInputs
from rainproof.inference.lower_bounds import Wager, bets_on, lower_bound
from rainproof.inference.options import check_share


@result_class
class ClassGuarantee(Result):
    """An upper bound on the expected loss of every decision about any one class, for all classes at
    once.

    Attributes
    ----------
    bound : float
        In the population no decision about a class ("is it a dog or not") that acts on its
        probability as it is loses more than this share of what is at stake, in expectation,
        compared with any monotone recalibration of it. It holds for every class and every decision
        at once.
    plug_in : float
        The largest such loss on these rows, in hindsight.
    worst_class : label
        The class that has it.
    confidence_level : float
        The probability, at least, that the bound holds for a sample drawn as stated.
    n : int
        The number of rows.
    groups : int or None
        The number of groups, if rows of a group depend on each other.
    weighted : bool
        Whether rows have weights, equal ones too: other cases may have others.
    """

    _kind = "class_guarantee"
    _shown: ClassVar = ("bound", "plug_in", "worst_class", "confidence_level", "n")
    bound: float
    plug_in: float
    worst_class: Any
    confidence_level: float
    n: int
    groups: int | None
    weighted: bool = False

    def __str__(self) -> str:
        return (
            f"With {percent(self.confidence_level)} confidence, every decision about any one class "
            f"that acts on its probability as it is loses at most {at_most(self.bound)} of what is "
            f"at stake, in expectation, {KEEPS_RANKING}. This holds for every class and every "
            f"decision about it at once. On the {self.n:,} rows the largest loss is "
            f"{self.plug_in:.2%}, for {str(self.worst_class)!r}.\n"
            f"It assumes that {if_drawn(self.groups, 'the predictions', weighted=self.weighted)}. "
            "It is not about decisions that weigh several classes against each other."
        )


def class_guarantee(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    labels: Sequence[Any] | None = None,
    confidence_level: float = 0.95,
) -> ClassGuarantee:
    r"""Bound the expected loss of every decision about any one class, for all classes at once, in
    the population.

    Explained in docs/guide/classes.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The class of each row: one of `labels`, or the number of its column.
    y_prob : array_like of shape (n, k)
        The predicted probability of each of k > 2 classes; every row sums to 1.
    sample_weight, groups : array_like of shape (n,), optional
        As for `guarantee`: weights, and sizes of groups, must not depend on predictions or
        outcomes.
    labels : sequence of length k, optional
        The labels of the classes. Default: the names of a frame's columns, or 0, 1, ...
    confidence_level : float
        The probability, at least, that the bound holds for a sample drawn as stated.

    Returns
    -------
    ClassGuarantee

    Notes
    -----
    It is the bound of ``guarantee(..., response="as_is")`` with the largest charged loss over the
    classes in place of that of one class. The population's worst class, with its worst task and
    recalibration, is one function g of a row with values in [-1, 1], and the largest charged loss
    is not below that of g. So all of the error probability goes to one bound: no allowance is made
    for the number of classes. Proofs: docs/theory/bounds.md.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 2], 5000)
    >>> y = (rng.random((5000, 1)) > p.cumsum(axis=1)).sum(axis=1)
    >>> rainproof.inference.class_guarantee(y, p).bound < 0.03
    True
    """
    level = check_share(confidence_level, "confidence_level")
    sample = as_classes(y_true, y_prob, sample_weight=sample_weight, groups=groups, labels=labels)
    if sample is None:
        raise InputError(
            "y_prob must have a column for each of more than two classes: two are one event"
        )
    found = loss_bound(sample, 1 - level)
    return ClassGuarantee(
        bound=found.bound,
        plug_in=found.plug_in,
        worst_class=sample.classes[found.worst],
        confidence_level=level,
        n=sample.n,
        groups=sample.groups,
        weighted=sample.top_label.units.has_weights,
    )


class LossBound(NamedTuple):
    """A bound on the loss of decisions about any class, and the loss on the rows."""

    bound: float
    plug_in: float  # the largest over the classes
    worst: int  # the number of the class that has it


class _ClassLoss(NamedTuple):
    """The loss of decisions about one class."""

    on_rows: float
    charged: Callable[[float], float]  # with the charge for chance, by tilt


def loss_bound(sample: Sample, delta: float) -> LossBound:
    """Bound the loss of decisions that act on the probability of any class as it is."""

    def losses() -> Iterator[_ClassLoss]:
        for number in range(len(sample.classes)):
            inputs = BoundInputs.as_is(sample.one_class(number))
            yield _ClassLoss(inputs.plug_in, inputs.charged_loss)

    return _bound_of_largest(losses(), sample, delta)


def switch_curves(sample: Sample, new: Floats) -> Iterator[SwitchCurve]:
    """What acting on other predictions, `new`, loses at each threshold: for one class after the
    other.
    """
    for number in range(len(sample.classes)):
        binary = sample.one_class(number)
        pair = binary.with_forecasts(old=binary.prob, new=np.ascontiguousarray(new[:, number]))
        yield pair.curve("old", "new")


def harm_bound(sample: Sample, new: Floats, delta: float) -> tuple[float, float]:
    """The bound on the loss of any decision about any class that acts on `new` predictions; and
    that on the rows.
    """
    draws = sample.n_draws
    effective_n = min(sample.effective_n, float(draws))

    def losses() -> Iterator[_ClassLoss]:
        for curve in switch_curves(sample, new):
            charged = partial(bounds.charged_switch, curve, draws, effective_n)
            yield _ClassLoss(curve.chord().loss, charged)

    found = _bound_of_largest(losses(), sample, delta)
    return found.bound, found.plug_in


def _bound_of_largest(losses: Iterable[_ClassLoss], sample: Sample, delta: float) -> LossBound:
    """The bound at the largest charged loss of the classes, which are made one after the other to
    save memory.
    """
    draws = sample.n_draws
    effective_n = min(sample.effective_n, float(draws))
    tilts = bounds.tilts(effective_n, delta).tolist()
    # The class with the largest loss in the population is fixed, so no union is paid for.
    largest = np.full(len(tilts), -np.inf)
    plug_ins = []
    for loss in losses:
        plug_ins.append(loss.on_rows)
        largest = np.maximum(largest, [loss.charged(tilt) for tilt in tilts])
    largest_at = dict(zip(tilts, largest.tolist(), strict=True))
    bound = bounds.upper_bound(largest_at.__getitem__, draws, effective_n, delta)
    plug_in = max(plug_ins)
    return LossBound(bound, plug_in, worst=plug_ins.index(plug_in))


def mean_at_least(gain: Floats, sample: Sample, delta: float) -> float:
    """Bound the mean of a column with values in [-1, 1] from below, by bets; 0 where nothing above
    0 is proven.
    """
    units = sample.top_label.units
    mass = sample.mass
    if units.unit is not None:  # a unit bets once, with its mean gain
        mass = units.sums(sample.mass)
        gain = units.sums(sample.mass * gain) / np.maximum(mass, np.finfo(float).tiny)
    counted = mass > 0
    gain = gain[counted]
    wager = Wager(
        stake=mass[counted] / mass.max(),
        count=np.ones(len(gain)),
        gain=gain[None],
        scale=np.ones((1, len(gain))),
        threshold=0.0,  # of the only alternative
    )
    return lower_bound([[wager]], delta, bets_on(len(gain), delta))
