"""How many rows a guarantee needs, for planning before data are collected."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise

from rainproof.core.arguments import REFUSED, with_rate
from rainproof.core.result import Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.text import percent
from rainproof.errors import InputError
from rainproof.inference import options
from rainproof.inference.bound_inputs import BoundInputs, loss_at_most
from rainproof.inference.bounds import extremes, hoeffding
from rainproof.inference.guarantees import default_grids

# Powers of 4: beyond each such number of rows `default_grids` has one grid more.
_FIRST_POWER = 3
_LAST_POWER = 20
_MOST_ROWS = 4**_LAST_POWER  # that are planned for: 1.1e12


@result_class
class SampleSize(Result):
    """The number of rows that `guarantee` needs for a bound of at most `target`; ``int()`` of it is
    `n`.

    Attributes
    ----------
    n : int
        From this number of rows on the bound is at most `target` with the default grids, whatever
        the distribution, if the loss on the rows is at most `loss`. With `like`, it is an estimate:
        about half of the samples of so many rows from the population of `like` reach the target;
        not fewer rows than `like` has.
    minimum : int
        With fewer rows the bound exceeds `target` for every choice of grids, even for perfect
        predictions of 0 and 1.
    hoeffding : int
        The number that Hoeffding's inequality needs in place of `n`.
    target, confidence_level, loss : float
        As asked for, and the assumed loss on the rows.
    like : int or None
        The number of rows of `like`.
    """

    _kind = "sample_size"
    n: int
    minimum: int
    hoeffding: int
    target: float
    confidence_level: float
    loss: float
    like: int | None

    def __int__(self) -> int:
        return self.n

    def __index__(self) -> int:
        return self.n

    def __str__(self) -> str:
        enough = "are enough"
        given = f"if the loss on the rows is at most {self.loss:.2%}, whatever the predictions"
        if self.like is not None:
            enough = "are enough in about half of the samples"
            given = (
                f"if they are like the {self.like:,} rows given, whose loss is {self.loss:.2%} "
                "(an estimate)"
            )
        return (
            f"{self.n:,} rows {enough} to guarantee an expected loss of at most {self.target:.2%} "
            f"with {percent(self.confidence_level)} confidence and the default grids, {given}. "
            f"With fewer than {self.minimum:,} rows no choice of grids can guarantee it, however "
            "good the forecast."
        )


def sample_size(
    target: float = 0.02,
    *,
    confidence_level: float = 0.95,
    loss: float = 0.0,
    like: Sample | None = None,
) -> SampleSize:
    r"""Compute the number of rows that `guarantee` needs for a bound of at most `target`.

    For planning, before data are collected. Without `like` the answer holds for every forecast, so
    it is that of the hardest one, all of whose predictions are close to a threshold. If some rows
    exist already, pass them as `like`: the answer for a forecast like theirs is usually far
    smaller.

    Explained in docs/guide/inference.md.

    Parameters
    ----------
    target : float
        The bound on the expected loss, as a share of the range of the payoffs. Above `loss`, below
        1.
    confidence_level : float
        As for `guarantee`.
    loss : float
        The loss expected on the rows: CDL(S_m) on one of the grids. By chance alone it is about
        :math:`0.25 / \sqrt n` for a calibrated forecaster.
    like : Sample, optional
        Rows of the forecast, or of a similar one. Replaces `loss`.

    Returns
    -------
    SampleSize

    Notes
    -----
    `n` and `minimum` come from the formulas of `guarantee` for rows of equal weight: the largest
    bound that rows with that loss can have, with the default grids, and the smallest bound of all,
    with a single grid. Weights and groups only make the bound larger. With weights,
    `Sample.effective_n` has to reach `n`, and a little more.

    With `like` the shares of rows in all cells, and so the loss, are held fixed as n grows. This is
    a plan, not a guarantee: the rows to come will differ. Where miscalibration outweighs chance,
    their loss is above that of `like` in about half of the samples; a small sample overstates the
    loss of a calibrated forecast, and more than half of the samples reach the target. Fewer rows
    than `like` has would have more loss by chance, so that is the least answer.

    Examples
    --------
    >>> import rainproof
    >>> print(rainproof.sample_size(target=0.05))
    4,379 rows are enough to guarantee an expected loss of at most 5.00% with 95% confidence and
    the default grids, if the loss on the rows is at most 0.00%, whatever the predictions. With
    fewer than 77 rows no choice of grids can guarantee it, however good the forecast.
    """
    options.check_share(confidence_level, "confidence_level")
    if not 0 <= loss < 1:
        raise InputError(f"loss must lie in [0, 1); it is {loss!r}")
    if like is not None:
        like.require_one_forecast()
        with_rate(like, REFUSED)
        loss = min(like.on_grid(m).loss for m in _grids(like))
    if not options.is_share(target) or not loss < target:
        raise InputError(
            f"target must lie above the loss of the rows, {loss:.6g}, and below 1; it is {target!r}"
        )
    delta = 1 - confidence_level

    def smallest_bound(n: int) -> float:
        smallest, _ = extremes(n, 0.0, delta)  # one grid has the whole delta
        return smallest

    def largest_bound(n: int) -> float:
        _, largest = extremes(n, loss, delta / len(default_grids(n)))
        return largest

    def hoeffding_bound(n: int) -> float:
        return hoeffding(loss, n, delta / len(default_grids(n)))

    if like is None:
        enough = _from_which_on(largest_bound, target)
    else:
        enough = max(_smallest(_projection(like, delta), target), like.n)
    return SampleSize(
        n=enough,
        minimum=_smallest(smallest_bound, target),
        hoeffding=_from_which_on(hoeffding_bound, target),
        target=float(target),
        confidence_level=float(confidence_level),
        loss=float(loss),
        like=None if like is None else like.n,
    )


def _projection(sample: Sample, delta: float) -> Callable[[int], float]:
    """The bound on n rows like these, as a function of n."""
    inputs_on_grid = cache(partial(BoundInputs.rounded, sample))
    finest = _grids(sample)[-1]

    def bound(n: int) -> float:
        grids = default_grids(n)
        bounds = []
        for grid in grids:
            if grid <= finest:
                inputs = replace(inputs_on_grid(grid), n=n, effective_n=float(n))
                bounds.append(loss_at_most(inputs, delta / len(grids)))
        return min(bounds)

    return bound


def _grids(sample: Sample) -> list[int]:
    """The grids tried on these rows; finer ones would show single rows, which more rows will not
    repeat.
    """
    return default_grids(sample.effective_n, sample.grid or _MOST_ROWS)


def _ranges() -> list[tuple[int, int]]:
    """Ranges of n with the same grids: within each the bound falls; from one to the next it may
    rise a little.
    """
    ends = [4**power for power in range(_FIRST_POWER, _LAST_POWER + 1)]
    return [(before + 1, end) for before, end in pairwise([0, *ends])]


def _smallest(bound: Callable[[int], float], target: float) -> int:
    """The smallest n whose bound is at most the target."""
    for low, high in _ranges():
        if bound(high) <= target:
            return _within(bound, target, low, high)
    raise _too_small(target)


def _from_which_on(bound: Callable[[int], float], target: float) -> int:
    """The smallest n from which on the bound is at most the target."""
    if bound(_MOST_ROWS) > target:
        raise _too_small(target)
    for low, high in reversed(_ranges()):
        if bound(low) > target:
            if bound(high) > target:
                return high + 1
            return _within(bound, target, low, high)
    return 1


def _too_small(target: float) -> InputError:
    """The error of a target that no number of rows reaches."""
    return InputError(
        f"target must be larger: {_MOST_ROWS:,} rows would not be enough; it is {target!r}"
    )


def _within(bound: Callable[[int], float], target: float, low: int, high: int) -> int:
    """The smallest n from low to high whose bound, falling with n, is at most the target; it is at
    `high`.
    """
    return low + bisect_left(range(low, high), True, key=lambda n: bound(n) <= target)
