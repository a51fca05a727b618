"""The assessment of a forecast for several classes: which are off and how, what it is worth, and
what a task costs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rainproof.core import VERSION
from rainproof.core.arrays import Floats, Ints
from rainproof.core.result import Interval, Result
from rainproof.core.sample import Sample
from rainproof.core.text import (
    aligned,
    at_most,
    html_rows,
    p_cell,
    p_value,
    percent,
    rows,
    short,
    these_rows,
)
from rainproof.decisions.class_tasks import ClassTask
from rainproof.decisions.swap_regrets import SwapRegret, swap_regret
from rainproof.errors import FewRowsWarning, RainproofWarning
from rainproof.inference.assumptions import INDEPENDENT, KEEPS_RANKING, what_varies
from rainproof.inference.calibration_tests import quick_test
from rainproof.inference.class_bounds import ClassGuarantee, class_guarantee
from rainproof.inference.estimates import interval_by_influence
from rainproof.inference.options import check_resamples
from rainproof.recalibration.certificate import ClassCertificate, HeldOutRates, held_out_rates
from rainproof.recalibration.division import cannot_fit, class_folds
from rainproof.recalibration.recalibrator import Recalibrator
from rainproof.recalibration.selection import cross_fitted_values
from rainproof.verdict import words
from rainproof.verdict.advice import thresholds
from rainproof.verdict.calibration import Calibration, few_clusters, grouped_test, how_calibrated
from rainproof.verdict.costs import LABELS, mean_cost, savings
from rainproof.verdict.evidence import (
    _SLIGHT,
    Rule,
    _payoffs,
    mean_over_folds,
    next_to_none,
)
from rainproof.verdict.grades import Findings, Grade, grade
from rainproof.verdict.result import Reported
from rainproof.verdict.verdict import Verdict, advised_rule
from rainproof.verdict.words import PYTHON, Statement, Voice

# classes that are tested by redrawing outcomes; so many resamples cannot tell apart p-values of
# more
_EXACT = 20
_SHOWN = 12  # classes in a table
_NAMED = 3  # classes in a sentence
NAME = 30  # characters of a class in a table


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
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
    _voice: Voice = PYTHON

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
            costs_more=self._saved is not None and self._saved.high <= 0,
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
        most = 2 * _SLIGHT * self.tolerance
        off = [
            (one.gain, one.calibration.event_rate)
            for one in self.classes
            if one.label in self.rejected
        ]
        return all(
            gain is not None and gain.high < most * min(rate, 1 - rate) for gain, rate in off
        )

    @property
    def _saved(self) -> Interval | None:
        """What recalibration saves in the task."""
        return None if self.task is None else self.task.saved.get(Rule.RECALIBRATED)

    @property
    def _rule(self) -> Rule | None:
        """The way of acting that is advised."""
        without = None if self.task is None else Rule.ALWAYS
        return advised_rule(self.findings, self.task, without)

    @property
    def verdict(self) -> Verdict:
        """The verdict in words."""
        rule = self._rule
        drawn = f" draws from the cases you will act on (rows that belong together: {self._voice.groups})"
        some = ""
        if self.groups is not None:
            some = f" in {self.groups:,} groups"
            drawn = ""
        if fixed := what_varies(self.groups, weighted=self.guarantee.weighted):
            drawn += f"; {fixed} must {INDEPENDENT}"
        kept = (
            ""
            if self._certificate is None
            else f" (*: from {rows(self._certificate.n)} the map was not fitted to)"
        )
        shown = "Log loss and skill" if self.task is None else "Costs, log loss and skill"
        return Verdict(
            grade=self.grade,
            rule=rule,
            threshold=None,
            headline=_headline(self),
            reason=_reason(self, rule),
            next_step=f"Next: {_next_step(self, rule)}",
            commands=self._voice.recalibrate if rule is Rule.RECALIBRATED else (),
            table=tuple(map(tuple, _table(self))),
            basis=f"Grade: {self.grade}. {rows(self.n)}{some}, taken as independent"
            f"{drawn}. {shown} are estimates. Losses are shares of what is at stake in any decision about one class, "
            f"proven at {percent(self.confidence_level)} confidence for all classes at once{kept}, {KEEPS_RANKING}.",
            answers=(),
            sentences=tuple(_details(self)),
        )

    @property
    def _certificate(self) -> ClassCertificate | None:
        found: ClassCertificate | None = self.recalibrator.certificate_
        return found

    def class_table(self, most: int | None = None) -> list[list[str]]:
        """A line for each class, those of the smallest p-value first: what is said, what happens,
        and how it is off.
        """
        lines = [["class", "says", "happens", "p", "off"]]
        for found in sorted(self.classes, key=lambda one: one.calibration.p_value)[:most]:
            c = found.calibration
            how = words.how_off(c) if c.rejected else "no sign"
            lines.append(
                [short(str(found.label), NAME), *words.says_and_happens(c), p_cell(c.p_value), how]
            )
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
    level, sample = (
        confidence_level,
        sample.without_segments().take(np.flatnonzero(sample.mass > 0)).in_order(),
    )
    if task is not None:
        task.check_classes(sample)
    guarantee = class_guarantee(sample, confidence_level=level)
    step()
    recalibrator = Recalibrator(confidence_level=level, rng=rng)
    recalibrator.fit_classes(sample, task)
    new, fold = None, None
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
    carrier, each = sample.top_label, np.arange(len(sample.which))
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
    units, at = sample.units, thresholds(event_rate=sample.event_rate)
    stakes, mass = np.maximum(at, 1 - at), np.stack([~units.event, units.event]) * units.share
    gains, folds = [], int(fold.max()) + 1
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
    matrix, carrier = -task.matrix, sample.top_label
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
    rate, which, units = sample.rates, sample.which, sample.top_label.units
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
        paid, best = matrix[task.best_checked(prob), which], matrix.max(axis=0)
        most = float(units.share @ best[which])
        if not most > 0:
            return None
        value = float(units.share @ paid) / most
        adds, possible = (paid - value * best[which]) / most, (matrix - value * best) / most
    ends = (float(possible.min()), float(possible.max()))
    return interval_by_influence(units, value, adds, ends, level).within(-np.inf, 1.0)


# Words.


def _off(a: ClassAssessment) -> str:
    """Which classes are off, and how the first of them is."""
    names = ", ".join(repr(str(label)) for label in a.rejected[:_NAMED])
    more = f" and {len(a.rejected) - _NAMED} more" * (len(a.rejected) > _NAMED)
    first = a[a.rejected[0]].calibration
    are = "are" if len(a.rejected) > 1 else "is"
    many = (
        f"{len(a.rejected)} of {len(a.classes)}"
        if len(a.rejected) < len(a.classes)
        else f"All {len(a.classes)}"
    )
    many = f"{many} classes {are} off ({names}{more})"
    return f"{many}. {str(a.rejected[0])!r} is {words.how_off(first)} (not chance: {p_value(first.p_value)})"


def _headline(a: ClassAssessment) -> str:
    grade = a.grade
    if a.skill is None:
        return "There is one outcome only: no verdict."
    if grade == "recalibrate" and a._saved is not None and a._saved.low <= 0:
        return f"{_off(a)}. {words.mends(a._saved)}"
    if grade == "recalibrate":
        return f"Recalibrate first. {_off(a)}."
    if grade == "avoid" and a.constant:
        return "Do without them. They say the same for every case."
    if grade == "avoid" and a.task is not None:
        return "You can do without them: in your decision they gain next to nothing."
    if grade == "avoid":
        return "Do without them. They hardly tell the classes apart, even recalibrated by the maps tried here."
    if grade == "use" and not a.rejected:
        return f"Use them. {rows(a.n)} show no clear sign of miscalibration in any of {len(a.classes)} classes."
    if grade == "use":
        rather = "does not lower your cost" if a.findings.costs_more else "gains next to nothing"
        return f"Use them. {_off(a)}, but correcting that {rather}."
    if a.rejected:
        return f"{_off(a)}, but {_drawn(a)} are too few to be sure that a correction helps."
    return f"Too few {_unit(a)} to be sure ({a.groups or a.n:,}): no class is clearly off, and no skill is shown."


def _unit(a: ClassAssessment) -> str:
    return "rows" if a.groups is None else "groups"


def _drawn(a: ClassAssessment) -> str:
    return rows(a.n) if a.groups is None else f"{a.groups:,} groups"


def _reason(a: ClassAssessment, rule: Rule | None) -> str:
    """The money, if there are costs; else the size of the effect in one number."""
    if a.skill is None:
        return f"All outcomes on {these_rows(a.n)} are the same."
    if a.task is not None and rule is not None and rule in a.task.costs:
        doing = {**words.DOING, Rule.ALWAYS: f"always {a.task.fixed_action!r}"}
        amounts = words.costs_shown(a.task.costs)

        def against(_: Rule, saved: Interval | None) -> str:
            return words.not_advised(a.grade, saved, rejected=bool(a.rejected))

        others = words.cheaper(a.task, rule, doing, amounts, against)
        return f"{words.your_cost(a.task, rule, doing)}{others}{_swaps(a, a.task, rule)}"
    if a.grade == "recalibrate":
        label, gain = max(
            ((c.label, c.gain) for c in a.classes if c.gain is not None),
            key=lambda one: one[1].value,
        )
        return f"In the decision about {str(label)!r} that gains most, {words.gains(gain)}."
    if a.grade == "use":
        if a.guarantee.bound >= 1:
            return f"{_drawn(a)} guarantee nothing: the expected loss may be all that is at stake."
        most = f"at most {at_most(a.guarantee.bound)} of what is at stake in any decision about one class"
        return f"Acting on them loses {most} ({percent(a.confidence_level)} confidence)."
    if a.grade == "avoid" and a.constant:
        return "A constant says nothing about a single case that the class frequencies do not say."
    if a.grade == "avoid":
        return words.little_skill(a.skill)
    return words.skill_found(a.skill)


def _swaps(a: ClassAssessment, task: ClassTaskResult, rule: Rule) -> str:
    """The advice of swap regret, by action, where it is worth a word."""
    found = [swap for swap in task.regret.swaps if swap.saves > _SLIGHT * a.tolerance][:_NAMED]
    if not found or rule is Rule.ALWAYS:
        return ""
    each = [f"take {swap.replacement!r} where you would take {swap.action!r}" for swap in found]
    saves = words.money(sum(swap.in_units for swap in found))
    how = "Without a map" if rule is Rule.RECALIBRATED else "By these rows"
    return f" {how}: {', '.join(each)} (would have saved {saves} per case, in hindsight)."


def _next_step(a: ClassAssessment, rule: Rule | None) -> str:
    if a.skill is None:
        return "get rows of several classes."
    act = "take the action with the lowest expected cost." if a.task is not None else "act on them."
    if rule is Rule.RECALIBRATED:
        act = f"apply the map, then {act}"
    if rule is Rule.ALWAYS and a.task is not None:
        act = f"always {a.task.fixed_action!r}."
    if a.grade == "avoid":
        return f"use another forecast.{'' if a.task is None else f' Until then always {a.task.fixed_action!r}.'}"
    return f"until there are more {_unit(a)}, {act}" if a.grade == "unknown" else act


def _table(a: ClassAssessment) -> list[list[str]]:
    """A column for each way of acting, a row for each number, as for one event."""
    rules = [Rule.AS_IS, *[Rule.RECALIBRATED] * (a.log_loss_gain is not None)]
    lines: list[tuple[str, dict[Rule, str]]] = []
    heads = dict(words.HEADS)
    if a.task is not None:
        rules = list(a.task.costs)
        heads[Rule.ALWAYS] = f"always {a.task.fixed_action!r}"
        lines.append(("cost per case", words.costs_shown(a.task.costs)))
    skills = {Rule.AS_IS: a.skill_as_is, Rule.RECALIBRATED: a.skill}
    shown = {rule: f"{round(x.value, 2) + 0.0:.2f}" for rule, x in skills.items() if x is not None}
    lines.append(("skill (1 perfect, 0 none)", shown))
    if a.log_loss is not None:
        gain = 0.0 if a.log_loss_gain is None else a.log_loss_gain.value
        both = {Rule.AS_IS: a.log_loss.value, Rule.RECALIBRATED: a.log_loss.value - gain}
        least = min(abs(gain) or 1.0, *both.values())
        lines.append(
            ("log loss", {rule: words.money(value, least) for rule, value in both.items()})
        )
    loss = {Rule.AS_IS: at_most(min(a.guarantee.bound, 1.0))}
    if a._certificate is not None:
        loss[Rule.RECALIBRATED] = f"{at_most(min(a._certificate.loss_bound, 1.0))}*"
    lines.append(("any decision about one class loses at most", loss))
    return [
        ["", *(heads[rule] for rule in rules)],
        *([name, *(row.get(r, "") for r in rules)] for name, row in lines),
    ]


def _details(a: ClassAssessment) -> Iterator[Statement]:
    """What the verdict rests on, in the order of reading."""
    how = "exactly" if a.exact else "approximately"
    yield Statement(
        "calibration",
        f"Each class is tested against the rest, {how}; p-values allow for the number of classes (Holm). "
        f"{len(a.rejected)} of {len(a.classes)} classes are off. That the others are not does not prove that their "
        "probabilities are right.",
    )
    if a.skill is not None:
        what = (
            "naming the class, where a hit counts the more the rarer its class is"
            if a.task is None
            else "your task"
        )
        span = f"{a.skill.value:.2f} ({words.skill_span(a.skill)})"
        yield Statement(
            "skill",
            f"Skill {span}, recalibrated: what acting on them gains over no forecast (the best fixed action), as a "
            f"share of what perfect foresight would gain, in {what}. Maps are judged on rows that they were not fitted "
            "to.",
        )
    if a.task is not None:
        shown = "; ".join(
            f"{LABELS[rule].lower()} {words.interval(cost)}" for rule, cost in a.task.costs.items()
        )
        shown = shown.replace(LABELS[Rule.ALWAYS].lower(), f"always {a.task.fixed_action!r}")
        yield Statement(
            "cost",
            f"Your decision, cost per case on {rows(a.n)}, with approximate intervals: {shown}.",
        )
    yield Statement("loss", str(a.guarantee).replace("\n", " "))
    if a._certificate is not None:
        yield Statement("recalibration", str(a._certificate).replace("\n", " "))
    for warning in a.warnings:
        yield Statement("note", words.note(warning))
