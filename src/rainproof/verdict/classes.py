"""The assessment of a forecast for several classes: which are off and how, what it is worth, and
what a task costs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from rainproof.core import VERSION
from rainproof.core.arrays import Floats, Ints
from rainproof.core.result import Interval, Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.text import aligned, html_rows, p_cell, short
from rainproof.decisions.class_tasks import ClassTask
from rainproof.decisions.swap_regrets import SwapRegret, swap_regret
from rainproof.errors import FewRowsWarning, RainproofWarning
from rainproof.inference.calibration_tests import quick_test
from rainproof.inference.class_bounds import ClassGuarantee, class_guarantee
from rainproof.inference.estimates import interval_by_influence
from rainproof.inference.options import check_resamples
from rainproof.recalibration.certificate import HeldOutRates, held_out_rates
from rainproof.recalibration.division import cannot_fit, class_folds
from rainproof.recalibration.recalibrator import Recalibrator
from rainproof.recalibration.selection import cross_fitted_values
from rainproof.verdict.advice import thresholds
from rainproof.verdict.calibration import Calibration, few_clusters, grouped_test, how_calibrated
from rainproof.verdict.class_statements import judge_classes
from rainproof.verdict.costs import mean_cost, savings
from rainproof.verdict.evidence import (
    SLIGHT,
    Rule,
    _payoffs,
    mean_over_folds,
    next_to_none,
)
from rainproof.verdict.facts import averages, mismatch
from rainproof.verdict.grades import Findings, Grade, grade
from rainproof.verdict.renderer import PYTHON
from rainproof.verdict.result import Reported
from rainproof.verdict.verdict import Verdict

# classes that are tested by redrawing outcomes; so many resamples cannot tell apart p-values of
# more
_EXACT = 20
_SHOWN = 12  # classes in a table
NAME = 30  # characters of a class in a table


@result_class
class ClassCalibration(Result):
    """What is said of one class, and how often it happens.

    Attributes
    ----------
    label
        The class.
    calibration : Calibration
        Of its probabilities. Its `p_value` allows for the number of classes (Holm): with the stated
        confidence no class of a calibrated forecast is rejected.
    reliability : HeldOutRates or None
        The mean prediction and the event rate in bins of equal weight.
    gain : Interval or None
        What recalibration gains in the decision about this class that gains most: a share of what
        is at stake, by maps that were fitted to other rows. None where the class is not off, or no
        map can be fitted.
    """

    _shown: ClassVar = ("label", "calibration")
    label: Any
    calibration: Calibration
    reliability: HeldOutRates | None
    gain: Interval | None


@result_class
class ClassTaskResult(Result):
    """The user's own decision about several classes: what it costs by each way of acting.

    Attributes
    ----------
    task : ClassTask
    costs : dict of Rule to Interval
        The cost per case in the units of the task, with an approximate interval: acting on the
        forecast "as is", on the "recalibrated" one (by maps that were fitted to other rows),
        "always" by the same action, `fixed_action`, and with "perfect" foresight.
    saved : dict of Rule to Interval
        What "recalibrated" and "always" save per case over acting on the forecast as it is; below 0
        they cost more.
    saved_recalibrated : dict of Rule to Interval
        What "always" saves per case over acting on the recalibrated forecast. Empty without that.
    fixed_action : str
        The action that costs least if it is always taken.
    acted : dict of str to float
        The share of cases that gets each action, acting on the forecast as it is.
    regret : SwapRegret
        By action, with the advice it gives, on these rows.
    """

    _shown: ClassVar = ("costs", "saved", "fixed_action")
    capacity: ClassVar[None] = None
    task: ClassTask
    costs: Mapping[Rule, Interval]
    saved: Mapping[Rule, Interval]
    saved_recalibrated: Mapping[Rule, Interval]
    fixed_action: str
    acted: Mapping[str, float]
    regret: SwapRegret

    @property
    def simplest(self) -> Rule:
        """The rule without a forecast."""
        return Rule.ALWAYS


@result_class
class ClassAssessment(Reported):
    """What `assess` returns for several classes: print it for the verdict, draw it with ``plot()``.

    Attributes
    ----------
    classes : tuple of ClassCalibration
        Is each class honest: what is said and what happens; ``a["dog"]`` is one by its label.
    rejected : tuple
        The labels of the classes that are off (not by chance), the smallest p-value first.
    exact : bool
        Whether the tests are exact; with more than 20 classes, or groups, they are approximate.
    n : int
        The number of rows.
    groups : int or None
        The number of groups, if rows depend on each other.
    accuracy : Interval
        How often the most likely class occurred.
    log_loss : Interval
        Minus the logarithm of the probability of the class that occurred, on average (at least 1e-9
        counts).
    log_loss_gain : Interval or None
        By how much recalibration lowers it, by maps that were fitted to other rows; below 0 it is
        worse. None where no map can be fitted.
    skill, skill_as_is : Interval or None
        What acting on the recalibrated forecast, and on the forecast as it is, gains over the best
        fixed action, as a share of what perfect foresight would gain: in the `task`, else in naming
        the class where a hit counts the more the rarer its class is (the mean recall of all
        classes; 0 is chance). None if one class alone occurs.
    guarantee : ClassGuarantee
        A proven upper bound of the loss of every decision about any one class, for all classes at
        once.
    recalibrator : Recalibrator
        The map to recalibrate with, and its certificate.
    constant : bool
        Whether all rows of predictions are equal.
    task : ClassTaskResult or None
        What the user's own decision costs.
    confidence_level, tolerance : float
        As for `assess`.
    seed : int or None
        The seed of the random numbers, if one was given.
    warnings : tuple of str
        Reasons to read the result with care.
    """

    _kind = "class_assessment"
    _also: ClassVar = ("rainproof", "verdict")
    rainproof: ClassVar = VERSION
    classes: tuple[ClassCalibration, ...]
    rejected: tuple[Any, ...]
    exact: bool
    n: int
    groups: int | None
    accuracy: Interval | None
    log_loss: Interval | None
    log_loss_gain: Interval | None
    skill: Interval | None
    skill_as_is: Interval | None
    guarantee: ClassGuarantee
    recalibrator: Recalibrator
    constant: bool
    task: ClassTaskResult | None
    confidence_level: float
    tolerance: float
    seed: int | None
    warnings: tuple[str, ...]

    def __getitem__(self, label: Any) -> ClassCalibration:
        return {found.label: found for found in self.classes}[label]

    @property
    def findings(self) -> Findings:
        """What the grade rests on."""
        gain = self.log_loss_gain
        useful = self.skill is not None and self.skill.low > 0
        # Without a map there is no telling.
        none = gain is not None and not useful and next_to_none(self.skill, self.skill_as_is)
        gains_nothing = self.task is None or (self.skill is not None and self.skill.value <= 0)
        return Findings(
            decidable=self.skill is not None,
            useless=self.constant or (none and gains_nothing),
            useful=useful,
            rejected=bool(self.rejected),
            better=gain is not None and gain.value > 0,
            negligible=self.negligible,
            costs_more=self.saved is not None and self.saved.high <= 0,
            harmless=self.negligible and self.guarantee.bound <= self.tolerance,
        )

    @property
    def grade(self) -> Grade:
        """The verdict in a word: the first that applies of avoid, recalibrate, use, unknown."""
        return grade(self.findings)

    @property
    def negligible(self) -> bool:
        """Whether recalibration surely gains next to nothing in any decision about any class that
        is off.
        """
        # less where the class is rare: see `Evidence.negligible`
        most = 2 * SLIGHT * self.tolerance
        off = [
            (one.gain, one.calibration.event_rate)
            for one in self.classes
            if one.label in self.rejected
        ]
        return all(
            gain is not None and gain.high < most * min(rate, 1 - rate) for gain, rate in off
        )

    @property
    def saved(self) -> Interval | None:
        """What recalibration saves in the task."""
        return None if self.task is None else self.task.saved.get(Rule.RECALIBRATED)

    @property
    def verdict(self) -> Verdict:
        """The verdict."""
        return judge_classes(self)

    def class_table(self, most: int | None = None) -> list[list[str]]:
        """A line for each class, those of the smallest p-value first: what is said, what happens,
        and how it is off.
        """
        lines = [["class", "says", "happens", "p", "off"]]
        for found in sorted(self.classes, key=lambda one: one.calibration.p_value)[:most]:
            c = found.calibration
            how = PYTHON.text(mismatch(c)) if c.rejected else "no sign"
            said = map(str, averages(c))
            lines.append([short(str(found.label), NAME), *said, p_cell(c.p_value), how])
        return lines

    def __repr__(self) -> str:
        about = f"bound={self.guarantee.bound:.6g}, classes={len(self.classes)}, n={self.n}"
        return f"ClassAssessment({self.grade!r}, {about})"

    @property
    def by_class(self) -> str:
        """The table of the classes as text, as far as a screen shows it."""
        more = len(self.classes) - _SHOWN
        rest = [f"and {more:,} more classes"] if more > 0 else []
        return "\n".join([*aligned(self.class_table(_SHOWN), left=(0, 4)), *rest])

    def __str__(self) -> str:
        return f"{self.verdict}\n\n{self.by_class}"

    def _repr_html_(self) -> str:
        head, *body = self.class_table()
        return f"<div>{self.verdict._repr_html_()}<table>{html_rows(head, body)}</table></div>"


def compute_classes(
    sample: Sample,
    rng: np.random.Generator,
    step: Callable[[], None],
    *,
    task: ClassTask | None,
    confidence_level: float,
    tolerance: float,
    n_resamples: int,
    seed: int | None,
) -> ClassAssessment:
    """Compute an assessment of several classes, calling `step` after each of `STEPS` parts."""
    level = confidence_level
    sample = sample.without_segments().take(np.flatnonzero(sample.mass > 0)).in_order()
    if task is not None:
        task.check_classes(sample)
    guarantee = class_guarantee(sample, confidence_level=level)
    step()
    recalibrator = Recalibrator(confidence_level=level, rng=rng)
    recalibrator.fit_classes(sample, task)
    new = None
    fold = None
    if cannot_fit(sample) is None:
        fold = sample.deal(folds=class_folds(sample), rng=rng).part
        assert fold is not None  # rows of classes are never compressed
        new = cross_fitted_values(sample, fold)
    step()
    # Enough resamples for p-values that Holm's method can reject.
    enough = (check_resamples(n_resamples) + 1) * (1 - level) >= len(sample.classes) * (1 - 1e-9)
    exact = sample.groups is None and len(sample.classes) <= _EXACT and enough
    classes, rejected = _calibrations(sample, new, fold, level, n_resamples, rng, exact=exact)
    rare = [number for number, found in enumerate(classes) if found.calibration.by_bets]
    few = [
        f"class {sample.classes[number]}: {note}"
        for number in rare
        if (note := few_clusters(sample.one_class(number)))
    ]
    if few:
        others = len(few) - 1
        also = (
            f" (so for {others:,} more {'class' if others == 1 else 'classes'})" if others else ""
        )
        warnings.warn(FewRowsWarning(f"{few[0]}{also}"), stacklevel=2)
    step()
    carrier = sample.top_label
    each = np.arange(len(sample.which))
    gain = None
    if new is not None:
        logs = np.log(
            np.maximum(np.stack([sample.prob[each, sample.which], new[each, sample.which]]), 1e-9)
        )
        gain = _mean(logs[1] - logs[0], carrier, level)
    own = None if task is None else _task_result(sample, task, new, level)
    as_is, better = (
        None if p is None else _skill(sample, p, task, level) for p in (sample.prob, new)
    )
    found = ClassAssessment(
        classes=classes,
        rejected=rejected,
        exact=exact,
        n=sample.n,
        groups=sample.groups,
        accuracy=mean_cost(
            carrier.event.astype(np.float64), np.array([[0.0], [1.0]]), carrier, level
        ),
        log_loss=_mean(
            -np.log(np.maximum(sample.prob[each, sample.which], 1e-9, dtype=np.float64)),
            carrier,
            level,
        ),
        log_loss_gain=gain,
        skill=as_is if new is None else better,
        skill_as_is=as_is,
        guarantee=guarantee,
        recalibrator=recalibrator,
        constant=not np.ptp(sample.prob, axis=0).any(),
        task=own,
        confidence_level=level,
        tolerance=tolerance,
        seed=seed,
        warnings=(),
    )
    step()
    return found


STEPS = 4
"""How often `compute_classes` calls `step`."""


def _mean(column: Floats, carrier: Any, level: float) -> Interval | None:
    """The mean of a column without limits that are known: those of these rows."""
    return mean_cost(column, np.array([[column.min()], [column.max()]]), carrier, level)


def _calibrations(
    sample: Sample,
    new: Floats | None,
    fold: Ints | None,
    level: float,
    n_resamples: int,
    rng: np.random.Generator,
    *,
    exact: bool,
) -> tuple[tuple[ClassCalibration, ...], tuple[Any, ...]]:
    """Test each class; p-values allow for all of them, by Holm's method."""
    alone = [sample.one_class(number) for number in range(len(sample.classes))]
    with warnings.catch_warnings(action="ignore", category=RainproofWarning):
        raw = np.array(
            [
                quick_test(one, n_resamples, rng).p_value if exact else grouped_test(one)
                for one in alone
            ]
        )
    order = np.argsort(raw, kind="stable")
    adjusted = np.empty(len(raw))
    adjusted[order] = np.minimum(
        np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1)), 1.0
    )
    found = []
    for number, one in enumerate(alone):
        calibration = how_calibrated(one, float(adjusted[number]), level)
        gain = None
        if calibration.rejected and new is not None and fold is not None:
            gain = _gain(one, np.ascontiguousarray(new[:, number]), fold, level)
        rates = held_out_rates(one, level)
        label = sample.classes[number]
        found.append(
            ClassCalibration(label=label, calibration=calibration, reliability=rates, gain=gain)
        )
    return tuple(found), tuple(found[k].label for k in order if found[k].calibration.rejected)


def _gain(sample: Sample, new: Floats, fold: Ints, level: float) -> Interval:
    """What `new` predictions gain in the decision that gains most, chosen for each fold on the
    others.
    """
    units = sample.units
    at = thresholds(event_rate=sample.event_rate)
    stakes = np.maximum(at, 1 - at)
    mass = np.stack([~units.event, units.event]) * units.share
    gains = []
    folds = int(fold.max()) + 1
    for f in range(folds):
        own = fold == f
        gains.append(
            _payoffs(new[own], mass[:, own], at) - _payoffs(sample.prob[own], mass[:, own], at)
        )
    mu = at[((np.sum(gains, axis=0) - np.array(gains)) / stakes).argmax(axis=1)][fold]
    gained = (units.event - mu) * ((new >= mu) * 1.0 - (sample.prob >= mu))
    gained = gained / np.maximum(mu, 1 - mu)
    return mean_over_folds(units, gained, folds, level)


def _task_result(
    sample: Sample, task: ClassTask, new: Floats | None, level: float
) -> ClassTaskResult:
    matrix = -task.matrix
    carrier = sample.top_label
    fixed = int((matrix @ sample.rates).argmin())
    best = task.best_checked(sample.prob)
    cost = {Rule.AS_IS: matrix[best, sample.which]}
    if new is not None:
        cost[Rule.RECALIBRATED] = matrix[task.best_checked(new), sample.which]
    cost |= {
        Rule.ALWAYS: matrix[fixed, sample.which],
        Rule.PERFECT: matrix.min(axis=0)[sample.which],
    }
    possible = {Rule.ALWAYS: matrix[fixed], Rule.PERFECT: matrix.min(axis=0)}
    costs = {
        rule: mean_cost(column, possible.get(rule, matrix).reshape(-1, 1), carrier, level)
        for rule, column in cost.items()
    }
    most = np.array([[-task.scale], [task.scale]])
    share = np.bincount(best, sample.mass, len(task.actions)) / sample.total_weight
    return ClassTaskResult(
        task=task,
        costs={rule: found for rule, found in costs.items() if found is not None},
        saved=savings(cost, Rule.AS_IS, most, carrier, level),
        saved_recalibrated=savings(cost, Rule.RECALIBRATED, most, carrier, level),
        fixed_action=task.actions[fixed],
        acted=dict(zip(task.actions, share.tolist(), strict=True)),
        regret=swap_regret(sample, task=task),
    )


def _skill(sample: Sample, prob: Floats, task: ClassTask | None, level: float) -> Interval | None:
    r"""The value of acting on predictions over the best fixed action, as a share of what perfect
    foresight gains.

    Without a task a hit counts 1 over the share of its class: the value is :math:`(\sum_c r_c -
    1)/(k - 1)` with the recall r of each class that occurs; with two classes it is that of `assess`
    for one event.
    """
    rate = sample.rates
    which = sample.which
    units = sample.top_label.units
    some = np.flatnonzero(rate > 0)
    if len(some) < 2:
        return None
    if task is None:
        hit = (some[(prob[:, some] / rate[some]).argmax(axis=1)] == which) * 1.0
        recall = np.bincount(which, sample.mass * hit, len(rate)) / np.maximum(
            rate * sample.total_weight, 1e-300
        )
        value = float(recall[some].sum() - 1) / (len(some) - 1)
        adds = (hit - recall[which]) / rate[which] / (len(some) - 1)
        possible = np.stack([-recall[some], 1 - recall[some]]) / rate[some] / (len(some) - 1)
    else:
        # over the best fixed action
        matrix = task.matrix - task.matrix[int((task.matrix @ rate).argmax())]
        paid = matrix[task.best_checked(prob), which]
        best = matrix.max(axis=0)
        most = float(units.share @ best[which])
        if not most > 0:
            return None
        value = float(units.share @ paid) / most
        adds = (paid - value * best[which]) / most
        possible = (matrix - value * best) / most
    ends = (float(possible.min()), float(possible.max()))
    return interval_by_influence(units, value, adds, ends, level).within(-np.inf, 1.0)
