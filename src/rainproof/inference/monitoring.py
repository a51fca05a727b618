"""A forecast over time: what it says, what happens, when it stopped being right, and whether it is
right now.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, Literal

import numpy as np

from rainproof.core.result import PredictionRange, Result
from rainproof.core.sample import REFUSED, Sample, with_rate
from rainproof.core.segments import Segments
from rainproof.core.text import aligned, at_most, one_line, percent, rows
from rainproof.decisions.tasks import DecisionTask, FiniteTask, as_finite
from rainproof.errors import InputError, MissingOutcomesWarning, RainproofWarning
from rainproof.inference.guarantees import Guarantee, guarantee
from rainproof.inference.missing_outcomes import late_periods
from rainproof.inference.options import Progress, bisected, check_share, counter
from rainproof.inference.period_order import are_numbers, check_text_order
from rainproof.inference.sequential import Bet, Detector, RangeSums, bet, periods_to_alarm

Every = Literal["hour", "day", "week", "month"]
_State = dict[str, Any]  # of a detector after a period: the fields of a line that it fills
Periods = (
    Sample | Segments | Mapping[str, Sample | Segments] | Sequence[tuple[str, Sample | Segments]]
)
_LENGTHS = {"hour": 13, "day": 10, "week": 10, "month": 7}  # characters of 2026-03-02 14:05
_MOST_PERIODS = 1_000_000  # that a delay is computed for
# of log odds that are searched for what is found: from 50% to 6e-6
_LARGEST_SHIFT, _HALVINGS = 12.0, 20
_NAMED = 5  # periods that a warning names
_FEW = 0.05  # of the rows: such a side of a map says nothing, and the other side all
_TIME = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d.*)?", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class MonitoringWindow(Result):
    """One line of a `MonitoringResult`: the rows of the periods up to `label`.

    Attributes
    ----------
    label : str
        The last period of the window.
    n : int
        The number of rows of the window.
    mean_prediction, event_rate : float
        What the forecast says on average, and the share of rows with the event.
    value : float
        The loss on these rows, in hindsight: what the decision with the largest loss loses by
        acting on predictions rounded at random to multiples of ``1/grid``, compared with the best
        fixed change of its actions.
    bound : float or None
        The bound of the same loss in the population of these rows, for each line by itself. None if
        rows of a period may depend on each other.
    grid : int
        The grid of both.
    cost : float or None
        The cost per case of acting on the forecast on these rows, in the units of the task; None
        without a task.
    evidence : float
        The detector: an alarm begins where it reaches ``1/alpha``.
    e_value : float
        The evidence against calibration from all periods so far, as in `SequentialTest`.
    in_alarm : bool
        Whether the period is in an alarm, from the one that raises it to the one before its end.
    missing_outcomes : int
        How many rows of the period were left out as they have no outcome.
    judged : bool
        Whether the period is judged. Not where outcomes are missing more often than in the others:
        the line is about its own known outcomes then, the evidence is that before it, and no other
        line merges it.
    """

    label: str
    n: int
    mean_prediction: float
    event_rate: float
    value: float
    bound: float | None
    grid: int
    cost: float | None
    evidence: float
    e_value: float
    in_alarm: bool
    missing_outcomes: int = 0
    judged: bool = True


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class DetectedChange(Result):
    """A time in which the forecast was not calibrated.

    Attributes
    ----------
    label, index : str, int
        The period in which it seems to have begun (an estimate), and its position.
    alarm, alarm_index : str, int
        The period of the alarm, and its position.
    ended, ended_index : str or None, int or None
        The last period in which it seems to have lasted (an estimate); None while it lasts.
    recovered, recovered_index : str or None, int or None
        The period by which rows since the alarm favour the forecast over the recalibration that
        fitted the change by a factor ``1/alpha``, and over all other bets too, and its position;
        None while it lasts.
    evidence : float
        The detector at the alarm: at least ``1/alpha``.
    bet : Bet
        Of all bets the one whose recalibration fits the rows from the beginning to the alarm best:
        what it says is wrong with the forecast.
    rates : tuple of PredictionRange
        What the forecast said and what happened from the beginning to the end: for all predictions,
        and where the bet says that they are too low or too high, if those are ranges.
    """

    label: str
    index: int
    alarm: str
    alarm_index: int
    ended: str | None = None
    ended_index: int | None = None
    recovered: str | None = None
    recovered_index: int | None = None
    evidence: float
    bet: Bet
    rates: tuple[PredictionRange, ...] = ()

    def __str__(self) -> str:
        now = self.recovered is None
        says, happen = ("says", "happens") if now else ("said", "happened")
        parts = []
        for part in self.rates:
            where = (
                ""
                if (part.low, part.high) == (0, 1)
                else f"between {part.low:.3g} and {part.high:.3g} "
            )
            said, rate = (
                f"{100 * share:.3g}%" for share in (part.mean_prediction, part.event_rate)
            )
            parts.append(f"{where}it {says} {said} and it {happen} {rate} ({rows(round(part.n))})")
        when = f"since about {self.label}" if now else f"from about {self.label} to {self.ended}"
        return one_line(f"{when} {'; '.join(parts)}")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class DetectableChange(Result):
    """What `monitor` with ``dependent=True`` could find, and how soon, computed for periods like
    those of this run.

    A period is one observation, so that many are needed. The numbers are for rows that are
    independent given the predictions, and are computed, not drawn: where rows of a period move
    together, it takes longer.

    Attributes
    ----------
    mean_prediction : float
        What the forecast says on average.
    periods : int
        The number of periods of this run.
    low, high : float or None
        Within so many periods an alarm is raised if the event rate is at most `low`, or at least
        `high`; None if no rate would raise one.
    rate_halved, rate_doubled : float
        The event rates where the odds of the event are half, or twice, the predicted ones.
    periods_halved, periods_doubled : int or None
        After about how many periods an alarm is raised then; None where it cannot be told: beyond
        a million, or where a period has so few events that no bet on it gains on average.
    """

    mean_prediction: float
    periods: int
    low: float | None
    high: float | None
    rate_halved: float
    rate_doubled: float
    periods_halved: int | None
    periods_doubled: int | None

    @classmethod
    def of(cls, samples: Sequence[Sample], alpha: float) -> DetectableChange:
        """Compute it for the periods of a run."""
        period = RangeSums.pooled([RangeSums.of(sample) for sample in samples])

        def rate(shift: float) -> float:
            return float(period.weight @ period.shifted(shift))

        def found_at(sign: float) -> float | None:
            """The event rate nearest to the predicted one that is found within the run, on one side
            of it.
            """

            def is_found(size: float) -> bool:
                return periods_to_alarm(period, sign * size, alpha, len(samples)) is not None

            if not is_found(_LARGEST_SHIFT):
                return None
            return rate(sign * bisected(is_found, 0.0, _LARGEST_SHIFT, _HALVINGS))

        return cls(
            mean_prediction=rate(0.0),
            periods=len(samples),
            low=found_at(-1.0),
            high=found_at(1.0),
            rate_halved=rate(-math.log(2)),
            rate_doubled=rate(math.log(2)),
            periods_halved=periods_to_alarm(period, -math.log(2), alpha, _MOST_PERIODS),
            periods_doubled=periods_to_alarm(period, math.log(2), alpha, _MOST_PERIODS),
        )

    def __str__(self) -> str:
        edges = [("above", self.high), ("below", self.low)]
        seen = " or ".join(f"{side} {_percent(rate)}" for side, rate in edges if rate is not None)
        where = f"where {_percent(self.mean_prediction)} is predicted"
        within = f"within the {self.periods:,} period{'s' * (self.periods != 1)} of this run"
        first = (
            f"{within}, an event rate {seen} {where}"
            if seen
            else f"no event rate {within}, {where}"
        )
        halved, doubled = (
            "a number of periods that cannot be told"
            if periods is None
            else f"about {periods:,} periods"
            for periods in (self.periods_halved, self.periods_doubled)
        )
        return (
            f"{first}. Where the event has half the predicted odds (event rate {_percent(self.rate_halved)}), an "
            f"alarm takes {halved}; where it has twice the odds ({_percent(self.rate_doubled)}), {doubled}. "
            "It takes longer where rows of a period move together"
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class MonitoringResult(Result):
    """The result of `monitor`; prints as a table, and what it means.

    Attributes
    ----------
    windows : tuple of MonitoringWindow
        One for each period, in order of time.
    changes : tuple of DetectedChange
        The times in which the forecast was not calibrated, in order; empty if no alarm was raised.
    segments : dict of str to tuple of DetectedChange
        The same for each segment; the alarms of all of them together have the rate ``alpha``.
    guarantee : Guarantee or None
        The guarantee from all rows since the last alarm began or ended, valid however often one
        looks. None if rows of a period may depend on each other, or if there are no such rows yet.
    length : int
        The number of periods in a window (fewer at the start).
    detectable : DetectableChange or None
        What could be found, and how soon, if a period is one observation; None if rows are taken
        one after the other.
    not_judged : tuple of str
        The periods in which outcomes are missing more often than in the others, also those of which
        none is known.
    warnings : tuple of str
        Reasons to read the result with care.
    confidence_level, alpha, dependent
        As asked for.
    in_alarm : bool
        The state now: whether the newest period is in an alarm.
    is_new : bool
        Whether the newest period that is judged is the one that raised it.
    since : str or None
        The period in which the change seems to have begun that the alarm now is about; None if
        there is no alarm now.
    recovered : str or None
        The period in which the last alarm ended; None if there was none, or if there is one now.
    """

    _kind = "monitor"
    _also = ("in_alarm", "is_new", "since", "recovered")
    _shown = ("in_alarm", "since", "recovered", "length", "confidence_level", "alpha", "dependent")
    windows: tuple[MonitoringWindow, ...]
    changes: tuple[DetectedChange, ...]
    segments: dict[str, tuple[DetectedChange, ...]]
    guarantee: Guarantee | None
    detectable: DetectableChange | None = None
    length: int
    confidence_level: float
    alpha: float
    dependent: bool
    not_judged: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def in_alarm(self) -> bool:
        """Whether the newest period is in an alarm."""
        return _open(self.changes) is not None

    @property
    def is_new(self) -> bool:
        """Whether the newest period that is judged is the one that raised it."""
        return self.in_alarm and self.changes[-1].alarm_index == self.newest_judged

    @property
    def newest_judged(self) -> int:
        """The position of the newest period that is judged."""
        return max(
            (at for at, window in enumerate(self.windows) if window.judged),
            default=len(self.windows) - 1,
        )

    @property
    def since(self) -> str | None:
        """The period in which the change seems to have begun that the alarm now is about."""
        return self.changes[-1].label if self.in_alarm else None

    @property
    def recovered(self) -> str | None:
        """The period in which the last alarm ended, if there is none now."""
        return self.changes[-1].recovered if self.changes else None

    @property
    def segments_in_alarm(self) -> dict[str, DetectedChange]:
        """The segments whose newest period is in an alarm, and since when."""
        found = {name: _open(changes) for name, changes in self.segments.items()}
        return {name: change for name, change in found.items() if change is not None}

    def __str__(self) -> str:
        return "\n".join([self.table(), "", *self.sentences()])

    def table(self) -> str:
        """Return the table of the periods."""
        priced = self.windows[0].cost is not None
        table = [
            [
                "period",
                "rows",
                "says",
                "happens",
                "loss",
                "at most",
                *["cost"] * priced,
                "evidence",
                "",
            ]
        ]
        marks = {c.recovered_index: "recovered" for c in self.changes}
        marks |= {c.alarm_index: "alarm" for c in self.changes}
        marks |= {at: "not judged" for at, w in enumerate(self.windows) if not w.judged}
        for at, w in enumerate(self.windows):
            says, happens = (f"{100 * share:.3g}%" for share in (w.mean_prediction, w.event_rate))
            bound = "-" if w.bound is None else at_most(w.bound)
            cost = [] if w.cost is None else [f"{w.cost:.4g}"]
            numbers = [
                f"{w.n:,}",
                says,
                happens,
                f"{100 * w.value:.2f}%",
                bound,
                *cost,
                f"{w.evidence:.3g}",
            ]
            table.append([w.label, *numbers, marks.get(at, "in alarm" if w.in_alarm else "")])
        return "\n".join(aligned(table, left={0, len(table[0]) - 1}))

    def sentences(
        self, *, dependent: str = "dependent=True", commands: Sequence[str] = ()
    ) -> list[str]:
        """Return what it means, in sentences: the state now, the next step, what was assumed, what
        the columns say.

        Parameters
        ----------
        dependent : str
            What the reader types to say that rows of a period depend on each other.
        commands : sequence of str
            The command lines that recalibrate on the rows since the change.
        """
        limit = f"{1 / self.alpha:,.4g}"
        said = [f"No alarm: the evidence against calibration stays below {limit}."]
        if self.in_alarm:
            last = self.changes[-1]
            said = [
                f"In alarm: {last}. The alarm was raised at {last.alarm}; what fitted best by then: {last.bet}.",
                "Next: recalibrate on the rows since then, and monitor the result"
                + (":" if commands else " (rainproof.Recalibrator)."),
                *(f"    {command}" for command in commands),
            ]
        elif self.changes:
            last = self.changes[-1]
            said = [
                f"No alarm now, since {last.recovered}: {last}. The alarm had been raised at {last.alarm}."
            ]
        if len(self.changes) > 1:
            said += [f"Before: {change}." for change in self.changes[:-1]]
        if self.segments:
            now = self.segments_in_alarm
            said += [f"Segment {name}: {change}." for name, change in now.items()]
            said.append(
                f"{len(now)} of {len(self.segments)} segments are in alarm. While all are calibrated, {limit} periods "
                "or more pass to a false alarm in any of them, on average."
            )
        if self.guarantee is not None:
            turn = max(_turns(self.changes), default=-1)
            first = next(w.label for w in self.windows[turn + 1 :] if w.judged)
            said.append(
                f"From {first} on ({rows(self.guarantee.n)}) every decision loses at most "
                f"{at_most(self.guarantee.bound)} of what is at stake by acting on probabilities rounded at random to "
                f"multiples of 1/{self.guarantee.grid} ({percent(self.confidence_level)} confidence, however often "
                "one looks, if these rows are from one population)."
            )
        if self.detectable is not None:
            said.append(f"What could be found: {self.detectable}.")
        said += [f"Note: {warning}." for warning in self.warnings]
        return [*map(one_line, said), "", *self._meaning(dependent, limit)]

    def _meaning(self, dependent: str, limit: str) -> list[str]:
        """What was assumed, and what the columns say."""
        taken = (
            "Assumed: rows are drawn one after the other, each with its predicted probability; predictions may depend "
            "on all that was before. A storm that moves all rows of a period at once would look like a change: "
            f"{dependent} takes a period as one observation, and needs far more periods."
        )
        if self.dependent:
            taken = (
                "Assumed: the rows of a period may all depend on each other. A period is one observation, and one "
                f"storm is no change. If rows are drawn one after the other, far fewer periods do without {dependent}."
            )
        at_most_means = (
            "At most: none is given, as that needs independent rows."
            if self.dependent
            else "At most: the bound of the same loss in the population of these rows, for each line by itself with "
            f"{percent(self.confidence_level)} confidence, if they are from one population."
        )
        return [
            taken,
            f"Alarm: the evidence against calibration reaches {limit}. While the forecast is calibrated, {limit} "
            "periods or more pass to a false alarm, on average. It ends when rows since then favour the forecast over "
            f"the recalibration that fitted best, by a factor of {limit}, and nothing else is off.",
            "Loss: on the rows of the line, in hindsight, what the decision with the largest loss loses by acting on "
            "probabilities rounded at random, compared with the best fixed change of its actions, as a share of what "
            "is at stake per case (best minus worst outcome).",
            at_most_means,
        ]


def _percent(share: float) -> str:
    """A share in percent, to two digits."""
    return f"{100 * share:.2g}%"


def _open(changes: Sequence[DetectedChange]) -> DetectedChange | None:
    """The last change, if it lasts."""
    return changes[-1] if changes and changes[-1].recovered_index is None else None


def _turns(changes: Sequence[DetectedChange]) -> list[int]:
    """The positions of the periods in which alarms began or ended."""
    return [at for c in changes for at in (c.alarm_index, c.recovered_index) if at is not None]


def monitor(
    samples: Periods,
    *,
    window: int = 1,
    every: Every | None = None,
    confidence_level: float = 0.95,
    alpha: float = 0.01,
    dependent: bool = False,
    task: DecisionTask | None = None,
    progress: Progress | None = None,
) -> MonitoringResult:
    r"""Compare what a forecast says with what happens, period by period, and find out when it
    stopped being calibrated.

    Explained in docs/guide/production.md.

    Parameters
    ----------
    samples : Segments, Sample with `by`, mapping of str to Sample, or sequence of (str, Sample)
        The rows of each period. Of segments (``scan(source, ..., by="day")``) the first name is the
        period, ordered as dates, as numbers, or else as text such as 2026-03-02; text in another
        order than time ("Mar 2026", "day 9" and "day 10", several time zones) is refused. Further
        names are segments, and each is monitored too. A mapping (`load` of a folder) has the
        periods in order of time. All samples that are compressed have one grid.
    window : int
        The number of periods that each line merges; the detector looks at single periods.
    every : {"hour", "day", "week", "month"}, optional
        Merge times such as 2026-03-02 14:05 into periods of this length; a week is named by its
        Monday. Default: each value is a period.
    confidence_level : float
        The confidence level of each bound.
    alpha : float
        While the forecast is calibrated there are ``1/alpha`` periods or more to a false alarm, on
        average.
    dependent : bool
        Whether the rows of a period may depend on each other given the predictions, as the flights
        of a day in one storm. Then a period is one observation, and a change takes far more periods
        to be found. Needed for unequal weights.
    task : DecisionTask, optional
        A decision with finitely many actions: each line then has what acting on the forecast cost.
    progress : callable, optional
        Called now and then with the number of steps done so far and in total.

    Returns
    -------
    MonitoringResult
        The state now (`in_alarm`, `since`, `recovered`), the history (`changes`), and a line for
        each period.

    Warns
    -----
    MissingOutcomesWarning
        If rows without an outcome were left out (``scan(..., drop_missing=True)``), and in some
        periods they are more frequent than in the others: these are not judged.

    Notes
    -----
    The bets of `SequentialTest` against the forecast start with 1, and each may start again with 1 in any period: the
    evidence is the mean of what the bets have, each since the start that was best for it. It is at most the sum over
    all starts, which grows by 1 a period in expectation while the forecast is calibrated, ``E[y | p, past] = p``.
    So the mean time to the first period in which it reaches ``1/alpha`` is at least ``1/alpha`` (an e-detector; Shin,
    Ramdas and Rinaldo). Days may resemble each other, and predictions may depend on the past; nothing needs to be
    exchangeable. A forecast that was never calibrated is found too. Where a change began is an estimate: the start from
    which what the best bet is about is largest in standard deviations. An alarm ends when, since some period after it,
    the forecast has won ``1/alpha`` against the recalibration that fitted the change best, and no bet against the
    forecast has in the same periods; then everything starts anew.

    Each of K segments has a detector with ``alpha / K``. At the first alarm of any of them the sum
    of their sums is at least ``K / alpha`` and grew by K a period, so the time to it is ``1/alpha``
    or more, on average.

    Of stored samples the sums in ranges of a quarter in log odds are used, as of rows: nothing else
    is lost at the default grid (docs/theory/sequential.md).

    References
    ----------
    Shin, Ramdas and Rinaldo (2022), arXiv:2203.03532.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> day, p = np.repeat(np.arange(1, 11), 400), rng.beta(2, 5, 4000)
    >>> odds = p / (1 - p) * np.where(day < 7, 1, np.exp(0.8))      # too low from day 7 on
    >>> y = rng.random(4000) < odds / (1 + odds)
    >>> found = rainproof.monitor(rainproof.Sample(y, p, by={"day": day}))
    >>> found
    MonitoringResult(in_alarm=True, since='7', length=1, confidence_level=0.95, alpha=0.01, dependent=False)
    >>> print(found.changes[0])
    since about 7 it says 28.8% and it happens 44.4% (1,600 rows)
    """
    if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 1:
        raise InputError(f"window must be a whole number of periods, at least 1; it is {window!r}")
    if not isinstance(dependent, bool):
        raise InputError(f"dependent must be True or False; it is {dependent!r}")
    check_share(confidence_level, "confidence_level")
    check_share(alpha, "alpha")
    finite = None if task is None else as_finite(task, "monitor")
    periods, by_segment = as_periods(samples, every, dependent=dependent)
    labels = list(periods)
    missing = _missing_outcomes(samples, every)
    late = _late(periods, missing)
    judged = {label: sample for label, sample in periods.items() if label not in late}
    parts = list(judged.values())
    notes = () if not late else (_not_judged(late, periods, missing),)
    by_segment = {
        name: {k: s for k, s in some.items() if k not in late} for name, some in by_segment.items()
    }
    step = counter(progress, len(parts) + sum(map(len, by_segment.values())))

    def watch(
        some: Mapping[str, Sample], share: float
    ) -> tuple[tuple[DetectedChange, ...], list[_State]]:
        return _watch(
            some,
            [labels.index(label) for label in some],
            Detector(share, dependent=dependent),
            step,
        )

    # single days often have few rows
    with warnings.catch_warnings(action="ignore", category=RainproofWarning):
        changes, states = watch(judged, alpha)
        level = None if dependent else confidence_level
        merged = dict(zip(judged, zip(_sliding(parts, window), states, strict=True), strict=True))
        before: _State = {"evidence": 0.0, "e_value": 1.0, "in_alarm": False}
        lines = []
        for label, sample in periods.items():
            own, before = merged.get(label, (sample, before))
            line = _line(label, own, before, finite, level)
            lines.append(
                replace(line, missing_outcomes=missing.get(label, 0), judged=label in judged)
            )
        turn = max(_turns(changes), default=-1)
        fresh = [
            sample
            for at, (label, sample) in enumerate(periods.items())
            if at > turn and label in judged
        ]
        found = MonitoringResult(
            windows=tuple(lines),
            changes=changes,
            segments={
                name: watch(some, alpha / len(by_segment))[0] for name, some in by_segment.items()
            },
            guarantee=None
            if dependent or not fresh
            else guarantee(reduce(add, fresh), confidence_level=confidence_level, anytime=True),
            detectable=DetectableChange.of(parts, alpha) if dependent else None,
            length=int(window),
            confidence_level=confidence_level,
            alpha=alpha,
            dependent=dependent,
            not_judged=late,
            warnings=notes,
        )
    for note in notes:
        warnings.warn(MissingOutcomesWarning(note), stacklevel=2)
    return found


def _missing_outcomes(samples: Periods, every: Every | None) -> dict[str, int]:
    """How many rows of each period were left out as they have no outcome."""
    found = dict[str, int]()
    if isinstance(samples, Segments):
        for key, count in samples.missing_outcomes.items():
            label = str(key[0] if len(samples.by) > 1 else key)
            period = label if every is None else _start(label, every)
            found[period] = found.get(period, 0) + count
    return found


def _late(periods: Mapping[str, Sample], missing: Mapping[str, int]) -> tuple[str, ...]:
    """The periods in which outcomes are missing more often than in the others."""
    if not missing:
        return ()
    n = sum(sample.n for sample in periods.values())
    rate = sum(sample.event_rate * sample.n for sample in periods.values()) / n
    return late_periods(
        {label: sample.n for label, sample in periods.items()}, missing, min(rate, 1 - rate)
    )


def _not_judged(
    late: Sequence[str], periods: Mapping[str, Sample], missing: Mapping[str, int]
) -> str:
    """Say which periods are not judged, and why."""

    def share(labels: Iterable[str]) -> str:
        absent = sum(missing.get(label, 0) for label in labels)
        known = sum(periods[label].n for label in labels if label in periods)
        return percent(round(absent / max(1, absent + known), 3))

    others = [label for label in periods if label not in late]
    named = ", ".join(late[:_NAMED]) + (
        f" and {len(late) - _NAMED:,} more" if len(late) > _NAMED else ""
    )
    one = len(late) == 1
    return (
        f"outcomes are missing in {share(late)} of the rows of {'period' if one else 'periods'} {named}, in "
        f"{share(others)} of those of the others: {'it is' if one else 'they are'} not judged, as outcomes that are "
        "known early are not like the rest"
    )


def _watch(
    periods: Mapping[str, Sample],
    positions: Sequence[int],
    detector: Detector,
    step: Callable[[], None],
) -> tuple[tuple[DetectedChange, ...], list[_State]]:
    """The changes in a series of periods, and the state after each."""
    labels, samples = list(periods), list(periods.values())
    changes, spans, states = list[DetectedChange](), list[list[int]](), list[_State]()
    for at, sample in enumerate(samples):
        turned = detector.update(RangeSums.of(sample))
        first = at + 1 - detector.lasting
        if turned and detector.alarm is not None:
            spans.append([first, len(samples)])
            change = DetectedChange(
                label=labels[first],
                index=positions[first],
                alarm=labels[at],
                alarm_index=positions[at],
                evidence=detector.evidence,
                bet=bet(detector.alarm),
            )
            changes.append(change)
        elif turned:
            spans[-1][1] = first
            changes[-1] = replace(
                changes[-1],
                ended=labels[first - 1],
                ended_index=positions[first - 1],
                recovered=labels[at],
                recovered_index=positions[at],
            )
        now = {
            "evidence": detector.evidence,
            "e_value": detector.e_value,
            "in_alarm": detector.alarm is not None,
        }
        states.append(now)
        step()
    found = [
        replace(change, rates=_rates(change.bet, reduce(add, samples[slice(*span)])))
        for change, span in zip(changes, spans, strict=True)
    ]
    return tuple(found), states


def _line(
    label: str, sample: Sample, state: _State, task: FiniteTask | None, level: float | None
) -> MonitoringWindow:
    """One line of the table; without a level there is no bound."""
    found, cost = guarantee(sample, confidence_level=level or 0.5), None
    if task is not None:
        event, prob, weight, _ = sample._cells.rows()
        # no -0
        cost = (
            -float(weight @ task.matrix[task.best_index(prob), event]) / sample.total_weight + 0.0
        )
    return MonitoringWindow(
        label=label,
        n=sample.n,
        mean_prediction=sample.mean_prediction,
        event_rate=sample.event_rate,
        value=found.plug_in,
        bound=None if level is None else found.bound,
        grid=found.grid or 0,
        cost=cost,
        **state,
    )


def _rates(won: Bet, sample: Sample) -> tuple[PredictionRange, ...]:
    """What is said and what happens: in all, and in the range of the bet, or on each side of where
    it turns.
    """
    edges = [won.low, won.high]
    if won.slope != 1:
        edges.insert(1, 1 / (1 + math.exp(won.shift / (won.slope - 1))))
    event, prob, weight, count = sample._cells.rows()
    found = []
    for low, high in dict.fromkeys([(0.0, 1.0), *pairwise(edges)]):
        inside = (prob >= low) & ((prob < high) | (high == 1))
        if not inside.any():
            continue
        mass = weight * inside
        share = float(mass.sum() / weight.sum())
        if won.slope == 1 or share == 1 or _FEW <= share <= 1 - _FEW:
            said, happened = (float(mass @ each / mass.sum()) for each in (prob, event))
            many = int(count @ inside)
            each = {
                "mean_prediction": said,
                "event_rate": happened,
                "n": many,
                "events": many * happened,
            }
            found.append(PredictionRange(low=low, high=high, **each))
    return tuple(found)


def _sliding(samples: Sequence[Sample], length: int) -> Iterator[Sample]:
    """The merged samples of the last `length` periods, with three merges a period however long the
    window.

    Sums cannot be subtracted exactly, so the window is two stacks: `old` holds, for each start, the
    merged rest of an earlier stretch; `new` the merged periods since.
    """
    old: list[Sample] = []
    new: Sample | None = None
    for index, sample in enumerate(samples):
        new = sample if new is None else new + sample
        yield new if not old else old[-1] + new
        if index + 1 >= length:
            if not old:
                stretch = samples[index + 1 - length : index + 1]
                for part in reversed(stretch):
                    old.append(part if not old else part + old[-1])
                new = None
            old.pop()


def as_periods(
    samples: Periods, every: Every | None, *, dependent: bool
) -> tuple[dict[str, Sample], dict[str, dict[str, Sample]]]:
    """Return a compressed sample for each period, in order of time, and the same for each segment,
    if there are any.
    """
    if every not in (None, *_LENGTHS):
        raise InputError(f"every must be 'hour', 'day', 'week', 'month' or None; it is {every!r}")
    entries = list(_entries(samples.by_segment() if isinstance(samples, Sample) else samples))
    if not entries:
        raise InputError("samples must not be empty")
    grid = min(
        (sample.grid for _, _, sample in entries if sample.grid is not None), default=1 << 16
    )
    whole, by_segment = dict[str, list[Sample]](), dict[str, dict[str, list[Sample]]]()
    for label, segment, sample in entries:
        with_rate(sample, REFUSED)
        period = str(label) if every is None else _start(str(label), every)
        small = (sample.ungrouped() if dependent else sample).compress(grid)
        if not dependent and not small._cells.has_equal_weights:
            raise InputError(f"rows of unequal weights, as in {period}, need dependent=True")
        whole.setdefault(period, []).append(small)
        if segment is not None:
            by_segment.setdefault(segment, {}).setdefault(period, []).append(small)

    def added(parts: Mapping[str, list[Sample]]) -> dict[str, Sample]:
        return {period: reduce(add, parts[period]) for period in whole if period in parts}

    return added(whole), {segment: added(parts) for segment, parts in by_segment.items()}


def _entries(samples: Any) -> Iterator[tuple[Any, str | None, Sample]]:
    """The period, the segment if there are any, and the sample of each part of the rows, in order
    of time.
    """
    if isinstance(samples, Segments):
        name, *others = samples.by
        keys = [(key, key[0] if others else key) for key in samples]
        missing = sum(samples.counts[key] for key, label in keys if label is None)
        if missing:
            raise InputError(f"{name} must not be missing; it is in {rows(missing)}", missing=True)
        periods = list(dict.fromkeys(label for _, label in keys))
        if all(isinstance(label, str) for label in periods):
            if are_numbers(periods):  # numbers in text files are text
                keys.sort(key=lambda pair: float(pair[1]))
            else:
                check_text_order(name, periods)
        for key, label in keys:
            yield label, ", ".join(map(str, key[1:])) if others else None, samples[key]
        return
    if not isinstance(samples, Mapping | Sequence) or isinstance(samples, str):
        raise InputError(
            f"samples must be segments, or have a label and a Sample for each period; it is {samples!r}"
        )
    if isinstance(samples, Mapping):
        periods = [str(label) for label in samples]
        if periods == sorted(periods):  # as `load` puts the files of a folder
            check_text_order("samples", periods)
    for at, pair in enumerate(samples.items() if isinstance(samples, Mapping) else samples):
        if (
            not isinstance(pair, tuple)
            or len(pair) != 2
            or not isinstance(pair[1], Sample | Segments)
        ):
            raise InputError(
                f"samples must have a label and a Sample for each period; period {at} is {pair!r}"
            )
        label, part = pair
        if isinstance(part, Sample):
            yield label, None, part
        else:
            for key, sample in part.items():
                yield (
                    label,
                    ", ".join(map(str, key)) if isinstance(key, tuple) else str(key),
                    sample,
                )


def _start(time: str, every: Every) -> str:
    """The period that a time belongs to."""
    if not _TIME.fullmatch(time):
        raise InputError(f"every={every!r} needs times such as 2026-03-02 14:05; {time!r} is none")
    if every == "week":
        day = date.fromisoformat(time[:10])
        return str(day - timedelta(day.weekday()))
    return time[: _LENGTHS[every]].replace("T", " ")
