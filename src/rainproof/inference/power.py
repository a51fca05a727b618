"""The smallest miscalibration that the test would detect on a sample."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arrays import Floats
from rainproof.core.sample.sample import Sample, as_sample
from rainproof.core.shown import Shown
from rainproof.core.text import finite
from rainproof.errors import InputError
from rainproof.inference.resampling import (
    Progress,
    Seed,
    as_seed,
    check_resamples,
    check_share,
    draw_many,
    shifted,
)
from rainproof.inference.resampling_units import as_atoms
from rainproof.inference.statistic import Measuring, as_statistic, as_test_statistic

Alternative = Literal["overconfident", "underconfident", "too_high", "too_low"]

_STEPS = 12  # halvings of the strength looked for
_STRONGEST = 0.999
_FAMILIES = ("overconfident", "underconfident", "too_high", "too_low")


def distorted(prob: Floats, alternative: str, strength: float) -> tuple[Floats, float]:
    """Return the event probabilities for the predictions `prob`, and the parameter; strength 0 is calibrated."""
    slope, shift = 1.0, 0.0
    if alternative == "overconfident":
        slope = 1 - strength
    elif alternative == "underconfident":
        slope = 1 / (1 - strength)
    else:
        shift = strength / (1 - strength) * (-1 if alternative == "too_high" else 1)
    up, down = prob**slope * math.exp(shift / 2), (1 - prob) ** slope * math.exp(-shift / 2)
    return up / (up + down), slope if shift == 0 else shift


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MinimumDetectable(Shown):
    """The smallest miscalibration that the test would detect with a given power.

    Attributes
    ----------
    value : float
        The measure in the population for which the test rejects with probability `power`; infinite if not even the
        strongest alternative is rejected so often.
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

    def to_dict(self) -> dict[str, Any]:
        """Return everything in built-in types, ready for JSON; None where a number is infinite."""
        numbers = ("value", "parameter", "mean_shift", "critical_value")
        facts = ("alternative", "statistic", "power", "alpha", "measure", "n_resamples", "n", "seed")
        return {
            "result": "minimum_detectable",
            "method": "simulated power of the exact test",
            **{name: finite(getattr(self, name)) for name in numbers},
            **{name: getattr(self, name) for name in facts},
        }

    def __repr__(self) -> str:
        return (
            f"MinimumDetectable(value={self.value:.6g}, alternative={self.alternative!r}, "
            f"parameter={self.parameter:.4g}, power={self.power:g}, measure={self.measure!r}, n={self.n})"
        )

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
    rng: Seed = None,
    progress: Progress | None = None,
) -> MinimumDetectable:
    r"""Compute the smallest miscalibration that the test detects on these predictions with a given power.

    A test that does not reject is good news only if it could have rejected. The outcomes are not used, so this can be
    computed before they are known.

    Explained in docs/inference-resampling.md.

    Parameters
    ----------
    y_true, y_prob, sample_weight, pos_label
        As for `calibration_test`; only the predictions and weights are used.
    statistic : str or callable
        The statistic of the test, as in `calibration_test`.
    measure : str or callable
        The measure that the answer is given in: a name of `list_measures()`, or a function that takes one `Sample`.
    power : float
        The probability with which the test should reject.
    alpha : float
        The level of the test.
    alternative : {"overconfident", "underconfident", "too_high", "too_low"}
        The kind of miscalibration; see Notes.
    n_resamples : int
        The number of samples drawn from each of 14 populations: fewer than for one test, and the power is still known
        to 2%.
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
    numbers, and the parameter at which it reaches `power` is found by bisection; the standard error of the power is
    about :math:`\sqrt{\text{power}(1 - \text{power})/B}`. Other kinds of miscalibration of the same size may be
    detected less often, or more.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> p = np.random.default_rng(0).random(1000)
    >>> y = np.zeros(1000)      # not used
    >>> found = rainproof.minimum_detectable(y, p, measure="cutoff_calibration_error", n_resamples=199, rng=0)
    >>> 0.01 < found.value < 0.03
    True
    """
    sample = as_sample(y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label)
    tested, shown, size = as_test_statistic(statistic), as_statistic(measure), check_resamples(n_resamples)
    power, alpha = check_share(power, "power"), check_share(alpha, "alpha")
    if alternative not in _FAMILIES:
        raise InputError(f"alternative must be one of {', '.join(_FAMILIES)}; it is {alternative!r}")
    largest = math.floor(alpha * (size + 1) * (1 + 1e-12))
    if largest < 1:
        raise InputError(f"n_resamples must be at least {math.ceil(1 / alpha) - 1} for a test at alpha = {alpha:g}")
    generator, seed = as_seed(rng)
    atoms = as_atoms(sample)
    evaluate = tested.on(atoms)
    key, done = int(generator.integers(2**63)), 0

    def draws(chance: Floats) -> Floats:
        nonlocal done
        coin, same = atoms.coin(chance), np.random.default_rng(key)
        told = None if progress is None else partial(shifted, progress, done, size * (_STEPS + 2))
        found = draw_many(lambda stream: [evaluate(atoms.redraw(stream, coin))], size, same, told)[:, 0]
        done += size
        return found

    critical = float(np.sort(draws(atoms.prob))[-largest])

    def found(strength: float) -> bool:
        return float((draws(distorted(atoms.prob, alternative, strength)[0]) > critical).mean()) >= power

    strength = _smallest(found)
    chance, parameter = distorted(atoms.prob, alternative, min(strength, _STRONGEST))
    population = atoms.expected(chance)
    weight = atoms.weight
    shift = np.abs(population.positive - weight * atoms.distinct).sum() / weight.sum()
    reached = strength <= _STRONGEST
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


def _smallest(found: Callable[[float], bool]) -> float:
    """The smallest strength that is detected often enough; infinite if none is."""
    if not found(_STRONGEST):
        return math.inf
    low, high = 0.0, _STRONGEST
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high
