"""Predicted default rates by rating grade against what happened: binomial and Jeffreys tests,
traffic lights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv

from rainproof.core.alignment import check_aligned
from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats, Ints, sums_by
from rainproof.core.conversion import refuse_masked
from rainproof.core.labels import as_labels, code_labels
from rainproof.core.result import Result, result_class
from rainproof.core.text import aligned, percent, rows, short, wrapped
from rainproof.core.validation import check_probabilities, refuse_values
from rainproof.errors import InputError
from rainproof.inference.options import check_share

# Of the error that is allowed: the light is red up to this share of it, as in the traffic lights of
# the Basel Committee (2005).
_RED_SHARE = 0.1
_LONGEST_NAME = 30  # characters of a grade in the table
_LARGEST_COUNT = 2**53  # doubles tell all smaller whole numbers apart


@result_class
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


_NUMBERS = tuple(field.name for field in fields(GradeTotal) if field.name != "light")
"""The columns that a table has of each grade, and a value of all grades together."""


@result_class
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
        tests = ["binomial p", "mid-p", "Jeffreys p"]
        if self.two_sided:
            tests = ["two-sided p"]
        head = ["grade", "n", "defaults", "predicted", "observed", "interval", *tests, "light"]
        lines = [head]
        for number, name in enumerate(self.names):
            numbers = {column: getattr(self, column)[number] for column in _NUMBERS}
            lines.append([short(name, _LONGEST_NAME), *self._cells(numbers), self.lights[number]])
        if len(self.names) > 1:
            numbers = {column: getattr(self.total, column) for column in _NUMBERS}
            lines.append(["total", *self._cells(numbers), self.total.light])
        level = percent(self.confidence_level)
        lights = (
            "Lights: from the exact binomial p, one-sided. They ask whether risk is predicted too "
            "low; a grade whose risk is predicted too high is green (two_sided=True looks for "
            "both)."
        )
        if self.two_sided:
            lights = (
                "Lights: from the exact binomial p, two-sided. They ask whether risk is predicted "
                "too low or too high."
            )
        rests_on = (
            f"{rows(self.total.n)}; {level} Jeffreys intervals; each grade by itself, for defaults "
            "that are independent."
        )
        return "\n".join([*aligned(lines), rests_on, wrapped(lights)])

    def _cells(self, numbers: Mapping[str, float]) -> list[str]:
        """The cells of one line of the table, between the name and the light."""
        tests = ["p_binomial", "p_mid", "p_jeffreys"]
        if self.two_sided:
            tests = ["p_two_sided"]
        return [
            f"{numbers['n']:,}",
            f"{numbers['events']:,}",
            f"{numbers['prob']:.3%}",
            f"{numbers['event_rate']:.3%}",
            f"{numbers['low']:.3%} to {numbers['high']:.3%}",
            *[f"{numbers[test]:.3g}" for test in tests],
        ]


def _light(p_value: float, confidence_level: float) -> str:
    """The light of a p-value."""
    allowed_error = 1 - confidence_level
    if p_value <= _RED_SHARE * allowed_error:
        return "red"
    return "yellow" if p_value <= allowed_error else "green"


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
    With n obligors and d defaults at the predicted rate p, the binomial p-value is
    :math:`P(X \ge d)`, with :math:`X \sim B(n, p)`, mid-p is :math:`P(X > d) + P(X = d)/2`, and
    Jeffreys' :math:`P(q \le p)`, with :math:`q \sim \mathrm{Beta}(d + 1/2, n - d + 1/2)`. All ask
    whether risk is predicted too low. The two-sided p-value is
    :math:`\min(1, 2 \min(P(X \ge d), P(X \le d)))`. It and the first are exact: they are at most 5%
    for at most 5% of the grades that are predicted rightly. The others are at most 5% more often
    where few defaults are expected (up to 16% for Jeffreys'), so the lights do not use them. All
    hold for defaults that are independent given the grade: in a bad year they are not, and the
    tests reject too often. Each grade is tested by itself. A grade's predicted rate is the mean of
    its predictions; where these differ, the binomial p-value is not too small if
    :math:`d \ge n p + 1` (Hoeffding 1956). The total is tested in the same way, as one grade.

    References
    ----------
    Basel Committee (2005), "Studies on the validation of internal rating systems", working paper 14
    (binomial test, traffic lights). European Central Bank (2019), "Instructions for reporting the
    validation results of internal models", section 2.5.3 (Jeffreys test). Hoeffding (1956),
    doi:10.1214/aoms/1177728178.

    Examples
    --------
    >>> import rainproof
    >>> from rainproof.clinical import grade_table
    >>> events, predicted = [2, 9, 40], [0.001, 0.01, 0.03]
    >>> print(grade_table(events, predicted, by=["A", "B", "C"], trials=[1000] * 3, two_sided=True))
    grade      n  defaults  predicted  observed          interval  two-sided p  light
        A  1,000         2     0.100%    0.200%  0.042% to 0.640%        0.528  green
        B  1,000         9     1.000%    0.900%  0.446% to 1.636%        0.915  green
        C  1,000        40     3.000%    4.000%  2.915% to 5.350%       0.0875  green
    total  3,000        51     1.367%    1.700%  1.283% to 2.210%        0.143  green
    3,000 rows; 95% Jeffreys intervals; each grade by itself, for defaults that are independent.
    Lights: from the exact binomial p, two-sided. They ask whether risk is predicted
    too low or too high.
    """
    level = check_share(confidence_level, "confidence_level")
    check_aligned(("y_true", y_true), ("y_prob", y_prob), ("by", by), ("trials", trials))
    prob = np.atleast_1d(np.array(check_probabilities(y_prob, "y_prob"), np.float64))
    if trials is None:
        sample = as_sample(y_true, prob, pos_label=pos_label)
        events = np.asarray(sample.y_true, np.int64)
        n = np.ones(len(prob), np.int64)
    elif pos_label is not None:
        raise InputError(
            "pos_label names a label of rows; with trials, y_true is a number of events"
        )
    else:
        n = _counts(trials, "trials", len(prob))
        events = _counts(y_true, "y_true", len(prob))
        refuse_values(events > n, events, "y_true", "y_true must not exceed trials")
    names, grade = _grades(prob, by)
    n_of_grade = sums_by(grade, n, len(names))
    events_of_grade = sums_by(grade, events, len(names))
    expected_of_grade = sums_by(grade, n * prob, len(names))
    occupied = np.flatnonzero(n_of_grade > 0)
    if not occupied.size:
        raise InputError("trials must not be zero for every grade")
    predicted = expected_of_grade[occupied] / n_of_grade[occupied]
    order = occupied[np.argsort(predicted, kind="stable")]

    columns = _tests(
        n_of_grade[order],
        events_of_grade[order],
        expected_of_grade[order] / n_of_grade[order],
        level,
    )
    n_total = np.array([n_of_grade.sum()])
    events_total = np.array([events_of_grade.sum()])
    columns_of_total = _tests(n_total, events_total, expected_of_grade.sum() / n_total, level)
    total = {name: column[0].item() for name, column in columns_of_total.items()}
    tested = total["p_two_sided"] if two_sided else total["p_binomial"]
    return GradeTable(
        names=tuple(names[number] for number in order),
        **columns,
        total=GradeTotal(**total, light=_light(tested, level)),
        two_sided=bool(two_sided),
        confidence_level=level,
    )


def _grades(prob: Floats, by: ArrayLike | None) -> tuple[list[str], Ints]:
    """The names of the grades, and the number of the grade of each entry."""
    if by is None:
        values, grade = np.unique(prob, return_inverse=True)
        return [f"{value:.4g}" for value in values.tolist()], grade
    grade, labels = code_labels(as_labels(by, "by", len(prob)))
    return [str(label) for label in labels], grade


def _tests(n: Floats, events: Floats, predicted: Floats, level: float) -> dict[str, Any]:
    """The columns of the table: counts, rates, intervals and p-values.

    Tails of the binomial distribution are incomplete beta functions.
    """
    no_default = events == 0
    all_default = events == n
    at_least = np.where(no_default, 1.0, betainc(np.maximum(events, 1), n - events + 1, predicted))
    more = np.where(all_default, 0.0, betainc(events + 1, np.maximum(n - events, 1), predicted))
    at_most = np.where(
        all_default, 1.0, betainc(np.maximum(n - events, 1), events + 1, 1 - predicted)
    )
    # Jeffreys' posterior
    alpha = events + 0.5
    beta = n - events + 0.5
    tail = (1 - level) / 2
    return {
        "n": n.astype(np.int64),
        "events": events.astype(np.int64),
        "prob": predicted,
        "event_rate": events / n,
        "low": np.where(no_default, 0.0, betaincinv(alpha, beta, tail)),
        "high": np.where(all_default, 1.0, betaincinv(alpha, beta, 1 - tail)),
        "p_binomial": at_least,
        "p_mid": (at_least + more) / 2,
        "p_jeffreys": betainc(alpha, beta, predicted),
        "p_two_sided": np.minimum(1.0, 2 * np.minimum(at_least, at_most)),
    }


def _counts(values: ArrayLike, name: str, n: int) -> Ints:
    """Return counts, one for each of n entries, that were checked."""
    refuse_masked(values, name)
    array = np.asarray(values)
    if array.shape != (n,):
        raise InputError(
            f"{name} must have one entry for each of the {n:,} predictions; its shape is "
            f"{array.shape}"
        )
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise InputError(
            f"{name} must hold whole numbers; it holds {array.dtype} that are not finite numbers"
        )
    is_bad = (array < 0) | (array != np.floor(array)) | (array > _LARGEST_COUNT)
    refuse_values(is_bad, array, name, f"{name} must hold whole numbers that are not negative")
    return array.astype(np.int64)
