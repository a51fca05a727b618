"""How many rows: the smallest miscalibration that a test would detect, and the rows that a
guarantee needs.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Floats
from rainproof.core.result import Result
from rainproof.core.sample import REFUSED, Sample, as_sample, with_rate
from rainproof.core.text import percent
from rainproof.errors import InputError
from rainproof.inference import options
from rainproof.inference.bounds import BoundInputs, extremes, hoeffding, loss_at_most
from rainproof.inference.guarantees import default_grids
from rainproof.inference.resampling import as_resampler, draw_batches, each_time
from rainproof.inference.statistics import Measuring, as_statistic, as_test_statistic

Alternative = Literal["overconfident", "underconfident", "too_high", "too_low"]

_STEPS = 12  # halvings of the strength looked for
_STRONGEST = 0.999


def distorted(prob: Floats, alternative: str, strength: float) -> tuple[Floats, float]:
    """Return the event probabilities for the predictions `prob`, and the parameter; strength 0 is
    calibrated.
    """
    slope, shift = 1.0, 0.0
    if alternative == "overconfident":
        slope = 1 - strength
    elif alternative == "underconfident":
        slope = 1 / (1 - strength)
    else:
        shift = strength / (1 - strength) * (-1 if alternative == "too_high" else 1)
    up, down = prob**slope * math.exp(shift / 2), (1 - prob) ** slope * math.exp(-shift / 2)
    return up / (up + down), slope if shift == 0 else shift


class MinimumDetectable(Result):
    """The smallest miscalibration that the test would detect with a given power.

    Attributes
    ----------
    value : float
        The measure in the population for which the test rejects with probability `power`; infinite
        if not even the strongest alternative is rejected so often.
    parameter : float
        The alternative with that value: the slope of the log odds, or their shift.
    mean_shift : float
        The mean distance of predictions and event probabilities there, ``E|q - p|``.
    alternative : str
        The kind of miscalibration.
    critical_value : float
        The value that the statistic of a sample must exceed for the test to reject.
    power, alpha, statistic, measure, n_resamples, n, seed
        As asked for; the number of rows.
    """

    _kind = "minimum_detectable"
    _also = ("method",)
    _shown = ("value", "alternative", "parameter", "power", "measure", "n")
    method: ClassVar[str] = "simulated power of the exact test"
    value: float
    parameter: float
    mean_shift: float
    alternative: str
    statistic: str
    critical_value: float
    power: float
    alpha: float
    measure: str
    n_resamples: int
    n: int
    seed: int | None

    def __str__(self) -> str:
        family = self.alternative.replace("_", " ")
        if math.isinf(self.value):
            rows = "1 row is" if self.n == 1 else f"{self.n:,} rows are"
            return f"{rows} too few to detect that predictions are {family}, however strongly."
        return (
            f"A test on these {self.n:,} rows detects that predictions are {family} with probability {self.power:.0%} "
            f"if {self.measure} is {self.value:.4g} in the population (event probabilities and predictions then differ "
            f"by {self.mean_shift:.4g} on average)."
        )


def minimum_detectable(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    statistic: str | Measuring = "combined",
    measure: str | Measuring = "soft_binned_cdl",
    power: float = 0.8,
    alpha: float = 0.05,
    alternative: Alternative = "overconfident",
    n_resamples: int = 499,
    rng: options.Seed = None,
    progress: options.Progress | None = None,
) -> MinimumDetectable:
    r"""Compute the smallest miscalibration that the test detects on these predictions with a given
    power.

    A test that does not reject is good news only if it could have rejected. The outcomes are not
    used, so this can be computed before they are known.

    Explained in docs/guide/inference.md.

    Parameters
    ----------
    y_true, y_prob, sample_weight, pos_label
        As for `calibration_test`; only the predictions and weights are used.
    statistic : str or callable
        The statistic of the test, as in `calibration_test`.
    measure : str or callable
        The measure that the answer is given in: a name of `list_measures()`, or a function that
        takes one `Sample`.
    power : float
        The probability with which the test should reject.
    alpha : float
        The level of the test.
    alternative : {"overconfident", "underconfident", "too_high", "too_low"}
        The kind of miscalibration; see Notes.
    n_resamples : int
        The number of samples drawn from each of 14 populations. With 499 the power at `value` is
        `power` to about 5 percentage points (two standard errors: 2.5 points were measured for
        each).
    rng : None, int or numpy.random.Generator
        The source of randomness; the same seed gives the same result.
    progress : callable, optional
        Called now and then with the number of samples drawn so far and in total.

    Returns
    -------
    MinimumDetectable

    Notes
    -----
    The populations have the predictions of the sample, and at prediction p the event has the log odds
    :math:`a \operatorname{logit} p + c`: "overconfident" is a < 1, "underconfident" a > 1,
    "too_high" c < 0 and "too_low" c > 0, each with the other parameter as for calibrated predictions. The test is the
    exact one, with the predictions kept. Its power is simulated along the family, all populations with the same random
    numbers, and the parameter at which it reaches `power` is found by bisection. The standard error of the power is
    :math:`\sqrt{\text{power}(1 - \text{power})/B}`, and a third or so more, as the critical value is
    simulated too. Other kinds of miscalibration of the same size may be detected less often, or more.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> p = np.random.default_rng(0).random(1000)
    >>> y = np.zeros(1000)      # not used
    >>> found = rainproof.inference.minimum_detectable(y, p, measure="cutoff_calibration_error", n_resamples=199, rng=0)
    >>> 0.01 < found.value < 0.03
    True
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    sample._refuse_draws("minimum_detectable")
    tested, shown, size = (
        as_test_statistic(statistic),
        as_statistic(measure),
        options.check_resamples(n_resamples),
    )
    power, alpha = options.check_share(power, "power"), options.check_share(alpha, "alpha")
    if alternative not in (families := get_args(Alternative)):
        raise InputError(f"alternative must be one of {', '.join(families)}; it is {alternative!r}")
    largest = math.floor(alpha * (size + 1) * (1 + 1e-12))
    if largest < 1:
        raise InputError(
            f"n_resamples must be at least {math.ceil(1 / alpha) - 1} for a test at alpha = {alpha:g}"
        )
    generator, seed = options.as_seed(rng, sample._before_outcomes())
    atoms = as_resampler(sample)
    evaluate = tested.on(atoms)
    key, done = int(generator.integers(2**63)), 0

    def draws(chance: Floats) -> Floats:
        nonlocal done
        coin, same = atoms.coin(chance), np.random.default_rng(key)
        told = (
            None
            if progress is None
            else partial(options.shifted, progress, done, size * (_STEPS + 2))
        )
        one = each_time(lambda stream: [evaluate(atoms.redraw(stream, coin))])
        found = draw_batches(one, size, same, told)[:, 0]
        done += size
        return found

    critical = float(np.sort(draws(atoms.prob))[-largest])

    def found(strength: float) -> bool:
        return (
            float((draws(distorted(atoms.prob, alternative, strength)[0]) > critical).mean())
            >= power
        )

    reached = found(_STRONGEST)
    strength = options.bisected(found, 0.0, _STRONGEST, _STEPS if reached else 0)
    chance, parameter = distorted(atoms.prob, alternative, strength)
    population = atoms.expected(chance)
    weight = atoms.weight
    shift = np.abs(population.positive - weight * atoms.distinct).sum() / weight.sum()
    return MinimumDetectable(
        value=shown.on(atoms)(population) if reached else math.inf,
        parameter=parameter if reached else math.inf,
        mean_shift=float(shift) if reached else math.inf,
        alternative=alternative,
        critical_value=critical,
        power=power,
        alpha=alpha,
        statistic=tested.name,
        measure=shown.name,
        n_resamples=size,
        n=sample.n,
        seed=seed,
    )


_MOST = 4**20  # rows


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
        enough, given = (
            (
                "are enough",
                f"if the loss on the rows is at most {self.loss:.2%}, whatever the predictions",
            )
            if self.like is None
            else (
                "are enough in about half of the samples",
                f"if they are like the {self.like:,} rows given, whose loss is {self.loss:.2%} (an estimate)",
            )
        )
        return (
            f"{self.n:,} rows {enough} to guarantee an expected loss of at most {self.target:.2%} with "
            f"{percent(self.confidence_level)} confidence and the default grids, {given}. With fewer than "
            f"{self.minimum:,} rows no choice of grids can guarantee it, however good the forecast."
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
    `n` and `minimum` come from the formulas of `guarantee` for rows of equal weight: the largest bound that rows with
    that loss can have, with the default grids, and the smallest bound of all, with a single grid. Weights and groups
    only make the bound larger. With weights, `Sample.effective_n` has to reach `n`, and a little more.

    With `like` the shares of rows in all cells, and so the loss, are held fixed as n grows. This is
    a plan, not a guarantee: the rows to come will differ. Where miscalibration outweighs chance,
    their loss is above that of `like` in about half of the samples; a small sample overstates the
    loss of a calibrated forecast, and more than half of the samples reach the target. Fewer rows
    than `like` has would have more loss by chance, so that is the least answer.

    Examples
    --------
    >>> import rainproof
    >>> print(rainproof.sample_size(target=0.05))
    4,379 rows are enough to guarantee an expected loss of at most 5.00% with 95% confidence and the default grids,
    if the loss on the rows is at most 0.00%, whatever the predictions. With fewer than 77 rows no choice of grids can
    guarantee it, however good the forecast.
    """
    options.check_share(confidence_level, "confidence_level")
    if not 0 <= loss < 1:
        raise InputError(f"loss must lie in [0, 1); it is {loss!r}")
    if like is not None:
        like._refuse_several()
        with_rate(like, REFUSED)
        loss = min(like.on_grid(m).loss for m in _grids(like))
    if not options.is_share(target) or not loss < target:
        raise InputError(
            f"target must lie above the loss of the rows, {loss:.6g}, and below 1; it is {target!r}"
        )
    delta = 1 - confidence_level

    def best(n: int) -> float:
        return extremes(n, 0.0, delta)[0]  # one grid has the whole delta

    def worst(n: int) -> float:
        return extremes(n, loss, delta / len(default_grids(n)))[1]

    return SampleSize(
        n=_always(worst, target)
        if like is None
        else max(_first(_projection(like, delta), target), like.n),
        minimum=_first(best, target),
        hoeffding=_always(lambda n: hoeffding(loss, n, delta / len(default_grids(n))), target),
        target=float(target),
        confidence_level=float(confidence_level),
        loss=float(loss),
        like=None if like is None else like.n,
    )


def _projection(sample: Sample, delta: float) -> Callable[[int], float]:
    """The bound on n rows like these, as a function of n."""
    inputs, finest = cache(partial(BoundInputs.rounded, sample)), _grids(sample)[-1]

    def bound(n: int) -> float:
        grids = default_grids(n)
        found = (replace(inputs(m), n=n, effective_n=float(n)) for m in grids if m <= finest)
        return min(loss_at_most(evidence, delta / len(grids)) for evidence in found)

    return bound


def _grids(sample: Sample) -> list[int]:
    """The grids tried on these rows; finer ones would show single rows, which more rows will not
    repeat.
    """
    return default_grids(sample.effective_n, sample.grid or _MOST)


def _segments() -> list[tuple[int, int]]:
    """Ranges of n with the same grids: within each the bound falls; from one to the next it may
    rise a little.
    """
    ends = [64, *(4**k for k in range(4, 21))]
    return list(zip([1, *(end + 1 for end in ends)], ends, strict=False))


def _first(bound: Callable[[int], float], target: float) -> int:
    """The smallest n whose bound is at most the target."""
    for low, high in _segments():
        if bound(high) <= target:
            return _within(bound, target, low, high)
    raise _too_small(target)


def _always(bound: Callable[[int], float], target: float) -> int:
    """The smallest n from which on the bound is at most the target."""
    if bound(_MOST) > target:
        raise _too_small(target)
    for low, high in reversed(_segments()):
        if bound(low) > target:
            return _within(bound, target, low, high) if bound(high) <= target else high + 1
    return 1


def _too_small(target: float) -> InputError:
    return InputError(
        f"target must be larger: {_MOST:,} rows would not be enough; it is {target!r}"
    )


def _within(bound: Callable[[int], float], target: float, low: int, high: int) -> int:
    """The smallest n from low to high whose bound, falling with n, is at most the target; it is at
    `high`.
    """
    return low + bisect_left(range(low, high), True, key=lambda n: bound(n) <= target)
