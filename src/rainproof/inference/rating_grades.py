"""Predicted default rates by rating grade against what happened: binomial and Jeffreys tests,
traffic lights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv

from rainproof.core.arrays import Floats, Ints
from rainproof.core.result import Result
from rainproof.core.sample import as_sample
from rainproof.core.text import aligned, percent, rows, short, wrapped
from rainproof.core.validation import check_aligned, check_probabilities, code_labels
from rainproof.errors import InputError
from rainproof.inference.options import check_share

_RED = 0.1  # of the error that is allowed


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class GradeTotal(Result):
    """All grades of a `GradeTable` together, tested as one grade: what was predicted on average,
    and what happened.

    Attributes
    ----------
    n, events : int
        The number of obligors and of defaults.
    prob, event_rate : float
        The mean prediction and the observed rate.
    low, high : float
        Jeffreys' interval for the rate.
    p_binomial, p_mid, p_jeffreys, p_two_sided : float
        As in `GradeTable`.
    light : {"green", "yellow", "red"}
    """

    n: int
    events: int
    prob: float
    event_rate: float
    low: float
    high: float
    p_binomial: float
    p_mid: float
    p_jeffreys: float
    p_two_sided: float
    light: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class GradeTable(Result):
    """Rating grades: predicted and observed default rates, tests, and a traffic light for each.

    Attributes
    ----------
    names : tuple of str
        The grades, by increasing predicted rate.
    n, events : ndarray of int
        The number of obligors and of defaults.
    prob, event_rate : ndarray
        The predicted rate (the mean of the predictions) and the observed one.
    low, high : ndarray
        Jeffreys' interval for the rate.
    p_binomial : ndarray
        The chance of so many defaults or more if the prediction is right: small where risk is
        predicted too low.
    p_mid : ndarray
        The same with half of the chance of exactly so many (mid-p): not exact, but closer to the
        level on average.
    p_jeffreys : ndarray
        The posterior probability, from Jeffreys' prior, that the rate is at most the predicted one.
    p_two_sided : ndarray
        Twice the smaller of the chances of so many defaults or more, and of so many or fewer: small
        where risk is predicted too low or too high.
    total : GradeTotal
        All grades together.
    two_sided : bool
        Whether the lights are from `p_two_sided`.
    confidence_level : float
    """

    _kind = "grade_table"
    _also = ("lights",)
    _shown = ("names", "confidence_level")
    names: tuple[str, ...]
    n: Ints
    events: Ints
    prob: Floats
    event_rate: Floats
    low: Floats
    high: Floats
    p_binomial: Floats
    p_mid: Floats
    p_jeffreys: Floats
    p_two_sided: Floats
    total: GradeTotal
    two_sided: bool
    confidence_level: float

    @property
    def lights(self) -> tuple[str, ...]:
        """The light of each grade, from the exact binomial test: "yellow" up to 1 - level, "red" up
        to a tenth of it.

        Where the prediction is right, at most a share 1 - level of such grades are not green.
        """
        tested = self.p_two_sided if self.two_sided else self.p_binomial
        return tuple(_light(p, self.confidence_level) for p in tested)

    def __str__(self) -> str:
        heads = [
            "grade",
            "n",
            "defaults",
            "predicted",
            "observed",
            "interval",
            "binomial p",
            "mid-p",
            "Jeffreys p",
        ]
        if self.two_sided:
            heads[6:] = ["two-sided p"]
        table = [[*heads, "light"]]
        for k, name in enumerate(self.names):
            numbers = [self.n, self.events, self.prob, self.event_rate, self.low, self.high]
            tests = (
                [self.p_two_sided]
                if self.two_sided
                else [self.p_binomial, self.p_mid, self.p_jeffreys]
            )
            table.append(
                [
                    short(name, 30),
                    *_cells(*(column[k] for column in [*numbers, *tests])),
                    self.lights[k],
                ]
            )
        one = self.total
        if len(self.names) > 1:
            tested = (
                [one.p_two_sided] if self.two_sided else [one.p_binomial, one.p_mid, one.p_jeffreys]
            )
            cells = _cells(one.n, one.events, one.prob, one.event_rate, one.low, one.high, *tested)
            table.append(["total", *cells, one.light])
        level = percent(self.confidence_level)
        lights = (
            "Lights: from the exact binomial p, one-sided. They ask whether risk is predicted too low; a grade whose "
            "risk is predicted too high is green (two_sided=True looks for both)."
        )
        if self.two_sided:
            lights = "Lights: from the exact binomial p, two-sided. They ask whether risk is predicted too low or too high."
        notes = [
            f"{rows(one.n)}; {level} Jeffreys intervals; each grade by itself, for defaults that are independent.",
            wrapped(lights),
        ]
        return "\n".join([*aligned(table), *notes])


def _light(p_value: float, confidence_level: float) -> str:
    """The light of a p-value."""
    error = 1 - confidence_level
    if p_value <= _RED * error:
        return "red"
    return "yellow" if p_value <= error else "green"


def _cells(
    n: int, events: int, prob: float, rate: float, low: float, high: float, *p_values: float
) -> list[str]:
    """The cells of one line of the table."""
    interval = f"{low:.3%} to {high:.3%}"
    return [
        f"{n:,}",
        f"{events:,}",
        f"{prob:.3%}",
        f"{rate:.3%}",
        interval,
        *(f"{p:.3g}" for p in p_values),
    ]


def grade_table(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    by: ArrayLike | None = None,
    trials: ArrayLike | None = None,
    pos_label: Any = None,
    two_sided: bool = False,
    confidence_level: float = 0.95,
) -> GradeTable:
    r"""Compare predicted and observed default rates by rating grade.

    Explained in docs/guide/credit.md.

    Parameters
    ----------
    y_true : array_like of shape (n,)
        The outcome of each obligor, 0 or 1 (or any two labels with `pos_label`); with `trials`, the
        number of defaults of each entry.
    y_prob : array_like of shape (n,)
        The predicted probability of default.
    by : array_like of shape (n,), optional
        The grade of each entry. Default: entries with one prediction are a grade.
    trials : array_like of int of shape (n,), optional
        The number of obligors of each entry, if they are counted already.
    pos_label : object, optional
        The label of a default, if labels are not 0 and 1.
    two_sided : bool
        Whether the lights look for risk that is predicted too high, too. Default: for risk
        predicted too low alone, as supervisors ask; a grade with a predicted rate of 9.2% and 2.2%
        observed is green then.
    confidence_level : float
        The level of the intervals and of the traffic lights.

    Returns
    -------
    GradeTable
        Prints the table; `plot()` draws it on logit axes.

    Notes
    -----
    With n obligors and d defaults at the predicted rate p, the binomial p-value is :math:`P(X \ge d)`, with
    :math:`X \sim B(n, p)`, mid-p is :math:`P(X > d) + P(X = d)/2`, and Jeffreys'
    :math:`P(q \le p)`, with :math:`q \sim \mathrm{Beta}(d + 1/2, n - d + 1/2)`. All ask whether risk is predicted too
    low. The two-sided p-value is :math:`\min(1, 2 \min(P(X \ge d), P(X \le d)))`. It and the first are exact: they are
    at most 5% for at most 5% of the grades that are predicted rightly. The others are at most 5% more often where few
    defaults are expected (up to 16% for Jeffreys'), so the lights do not use them. All hold for defaults that are
    independent given the grade: in a bad year they are not, and the tests reject too often.
    Each grade is tested by itself. A grade's predicted rate is the mean of its predictions; where these differ, the
    binomial p-value is not too small if :math:`d \ge n p + 1` (Hoeffding 1956). The total is tested in the same way,
    as one grade.

    References
    ----------
    Basel Committee (2005), "Studies on the validation of internal rating systems", working paper 14 (binomial test,
    traffic lights). European Central Bank (2019), "Instructions for reporting the validation results of internal
    models", section 2.5.3 (Jeffreys test). Hoeffding (1956), doi:10.1214/aoms/1177728178.

    Examples
    --------
    >>> import rainproof
    >>> from rainproof.clinical import grade_table
    >>> print(grade_table([2, 9, 40], [0.001, 0.01, 0.03], by=["A", "B", "C"], trials=[1000, 1000, 1000]))
    grade      n  defaults  predicted  observed          interval  binomial p   mid-p  Jeffreys p   light
        A  1,000         2     0.100%    0.200%  0.042% to 0.640%       0.264   0.172       0.151   green
        B  1,000         9     1.000%    0.900%  0.446% to 1.636%       0.668   0.606       0.606   green
        C  1,000        40     3.000%    4.000%  2.915% to 5.350%      0.0437   0.037      0.0365  yellow
    total  3,000        51     1.367%    1.700%  1.283% to 2.210%      0.0713  0.0623      0.0618   green
    3,000 rows; 95% Jeffreys intervals; each grade by itself, for defaults that are independent.
    Lights: from the exact binomial p, one-sided. They ask whether risk is predicted
    too low; a grade whose risk is predicted too high is green (two_sided=True looks
    for both).
    """
    level = check_share(confidence_level, "confidence_level")
    check_aligned(("y_true", y_true), ("y_prob", y_prob), ("by", by), ("trials", trials))
    prob = np.atleast_1d(np.array(check_probabilities(y_prob, "y_prob"), np.float64))
    if trials is None:
        sample = as_sample(y_true, prob, pos_label=pos_label)
        events, n = np.asarray(sample.y_true, np.int64), np.ones(len(prob), np.int64)
    elif pos_label is not None:
        raise InputError(
            "pos_label names a label of rows; with trials, y_true is a number of events"
        )
    else:
        n = _counts(trials, "trials", len(prob))
        events = _counts(y_true, "y_true", len(prob))
        if (events > n).any():
            k = int((events > n).argmax())
            rule = "y_true must not exceed trials"
            raise InputError.from_offenders(
                rule, int((events > n).sum()), f"y_true[{k}]", events[k]
            )
    if by is None:
        values, grade = np.unique(prob, return_inverse=True)
        names = [f"{value:.4g}" for value in values.tolist()]
    else:
        grade, labels = code_labels(np.asarray(by))
        if grade.shape != prob.shape:
            raise InputError(
                f"by must have one entry for each of the {len(prob):,} entries; its shape is {grade.shape}"
            )
        names = [str(label) for label in labels]
    return _tabulate(names, grade, events, n, prob, level, two_sided=two_sided)


def _tabulate(
    names: list[str],
    grade: Ints,
    events: Ints,
    n: Ints,
    prob: Floats,
    level: float,
    *,
    two_sided: bool,
) -> GradeTable:
    size, hits, mass = (
        np.bincount(grade, x, len(names)).astype(np.float64) for x in (n, events, n * prob)
    )
    some = np.flatnonzero(size > 0)
    if not some.size:
        raise InputError("trials must not be zero for every grade")
    order = some[np.argsort(mass[some] / size[some], kind="stable")]
    found = _tested(size[order], hits[order], mass[order] / size[order], level)
    n_total = np.array([size.sum()])
    whole = _tested(n_total, np.array([hits.sum()]), mass.sum() / n_total, level)
    of_total = {name: column[0].item() for name, column in whole.items()}
    light = _light(of_total["p_two_sided" if two_sided else "p_binomial"], level)
    return GradeTable(
        names=tuple(names[k] for k in order),
        **found,
        total=GradeTotal(**of_total, light=light),
        two_sided=bool(two_sided),
        confidence_level=level,
    )


def _tested(size: Floats, hits: Floats, rate: Floats, level: float) -> dict[str, Any]:
    """The columns of the table: counts, rates, intervals and p-values."""
    # of the binomial distribution
    tail = np.where(hits > 0, betainc(np.maximum(hits, 1), size - hits + 1, rate), 1.0)
    more = np.where(hits < size, betainc(hits + 1, np.maximum(size - hits, 1), rate), 0.0)
    # or exactly so many
    fewer = np.where(hits < size, betainc(np.maximum(size - hits, 1), hits + 1, 1 - rate), 1.0)
    a, b, half = hits + 0.5, size - hits + 0.5, (1 - level) / 2
    return {
        "n": size.astype(np.int64),
        "events": hits.astype(np.int64),
        "prob": rate,
        "event_rate": hits / size,
        "low": np.where(hits > 0, betaincinv(a, b, half), 0.0),
        "high": np.where(hits < size, betaincinv(a, b, 1 - half), 1.0),
        "p_binomial": tail,
        "p_mid": (tail + more) / 2,
        "p_jeffreys": betainc(a, b, rate),
        "p_two_sided": np.minimum(1.0, 2 * np.minimum(tail, fewer)),
    }


def _counts(values: ArrayLike, name: str, n: int) -> Ints:
    array = np.asarray(values)
    if array.shape != (n,):
        raise InputError(
            f"{name} must have one entry for each of the {n:,} predictions; its shape is {array.shape}"
        )
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise InputError(
            f"{name} must hold whole numbers; it holds {array.dtype} that are not finite numbers"
        )
    bad = (array < 0) | (array != np.floor(array)) | (array > 2**53)
    if bad.any():
        k = int(bad.argmax())
        rule = f"{name} must hold whole numbers that are not negative"
        raise InputError.from_offenders(rule, int(bad.sum()), f"{name}[{k}]", array[k])
    return array.astype(np.int64)
