"""A forecast over time: what it says, what happens, when it stopped being right, and whether it is
right now.

The detector is in `rainproof.inference.detector`, the reading of periods in
`rainproof.inference.periods`, and what is returned and printed in
`rainproof.inference.monitoring_results`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import NamedTuple

import numpy as np

from rainproof.core.result import PredictionRange
from rainproof.core.sample import Sample
from rainproof.core.text import percent
from rainproof.decisions.tasks import DecisionTask, FiniteTask, as_finite
from rainproof.errors import InputError, MissingOutcomesWarning, RainproofWarning
from rainproof.inference.bets import Bet, RangeSums, bet
from rainproof.inference.detector import Detector, periods_to_alarm
from rainproof.inference.guarantees import guarantee
from rainproof.inference.missing_outcomes import late_periods
from rainproof.inference.monitoring_results import (
    DetectableChange,
    DetectedChange,
    MonitoringResult,
    MonitoringWindow,
    last_turn,
)
from rainproof.inference.options import Progress, bisected, check_share, counter
from rainproof.inference.periods import Every, Periods, PeriodSamples, read_periods

_LONGEST_DELAY = 1_000_000  # periods that a delay is computed for
_LARGEST_SHIFT = 12.0  # of log odds that is searched for what is found: from 50% to 6e-6
_HALVINGS = 20  # of that search: to 1e-5 of log odds
_NAMED_PERIODS = 5  # in a warning
# Share of the rows: rates on a smaller side of a map are noise, and the other side is nearly all.
_SMALL_SIDE = 0.05


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
    The bets of `SequentialTest` against the forecast start with 1, and each may start again with 1
    in any period: the evidence is the mean of what the bets have, each since the start that was
    best for it. It is at most the sum over all starts, which grows by 1 a period in expectation
    while the forecast is calibrated, ``E[y | p, past] = p``. So the mean time to the first period
    in which it reaches ``1/alpha`` is at least ``1/alpha`` (an e-detector; Shin, Ramdas and
    Rinaldo). Days may resemble each other, and predictions may depend on the past; nothing needs to
    be exchangeable. A forecast that was never calibrated is found too. Where a change began is an
    estimate: the start from which what the best bet is about is largest in standard deviations. An
    alarm ends when, since some period after it, the forecast has won ``1/alpha`` against the
    recalibration that fitted the change best, and no bet against the forecast has in the same
    periods; then everything starts anew.

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
    MonitoringResult(in_alarm=True, since='7', length=1, confidence_level=0.95, alpha=0.01,
    dependent=False)
    >>> print(found.changes[0])
    since about 7 it says 28.8% and it happens 44.4% (1,600 rows)
    """
    if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 1:
        raise InputError(f"window must be a whole number of periods, at least 1; it is {window!r}")
    if not isinstance(dependent, bool):
        raise InputError(f"dependent must be True or False; it is {dependent!r}")
    check_share(confidence_level, "confidence_level")
    check_share(alpha, "alpha")
    finite_task = None if task is None else as_finite(task, "monitor")
    periods = read_periods(samples, every, dependent=dependent)
    late = _late(periods)

    def not_late(by_label: Mapping[str, Sample]) -> dict[str, Sample]:
        return {label: sample for label, sample in by_label.items() if label not in late}

    judged = not_late(periods.whole)
    judged_by_segment = {key: not_late(samples) for key, samples in periods.by_segment.items()}
    notes = (_not_judged(late, periods),) if late else ()
    step = counter(progress, len(judged) + sum(map(len, judged_by_segment.values())))
    position = {label: number for number, label in enumerate(periods.whole)}
    follow = partial(_follow, position=position, dependent=dependent, step=step)

    # single days often have few rows
    with warnings.catch_warnings(action="ignore", category=RainproofWarning):
        history = follow(judged, alpha)
        merged = dict(zip(judged, _sliding(list(judged.values()), window), strict=True))
        states = dict(zip(judged, history.states, strict=True))
        level_of_bounds = None if dependent else confidence_level
        windows = _windows(periods, merged, states, finite_task, level_of_bounds)
        segments = {}
        for segment, of_segment in judged_by_segment.items():
            # all segments share the error probability
            segments[segment] = follow(of_segment, alpha / len(judged_by_segment)).changes
        turn = last_turn(history.changes)
        since_turn = [sample for label, sample in judged.items() if position[label] > turn]
        proven = None
        if since_turn and not dependent:
            pooled = reduce(add, since_turn)
            proven = guarantee(pooled, confidence_level=confidence_level, anytime=True)
        result = MonitoringResult(
            windows=windows,
            changes=history.changes,
            segments=segments,
            guarantee=proven,
            detectable=detectable_change(list(judged.values()), alpha) if dependent else None,
            length=int(window),
            confidence_level=confidence_level,
            alpha=alpha,
            dependent=dependent,
            not_judged=late,
            warnings=notes,
        )
    for note in notes:
        warnings.warn(MissingOutcomesWarning(note), stacklevel=2)
    return result


def _late(periods: PeriodSamples) -> tuple[str, ...]:
    """The periods in which outcomes are missing more often than in the others."""
    if not periods.missing_outcomes:
        return ()
    n = {label: sample.n for label, sample in periods.whole.items()}
    events = sum(sample.event_rate * sample.n for sample in periods.whole.values())
    event_rate = events / sum(n.values())
    return late_periods(n, periods.missing_outcomes, min(event_rate, 1 - event_rate))


def _not_judged(late: Sequence[str], periods: PeriodSamples) -> str:
    """Say which periods are not judged, and why."""

    def missing_share(labels: Iterable[str]) -> str:
        missing = 0
        known = 0
        for label in labels:
            missing += periods.missing_outcomes.get(label, 0)
            if label in periods.whole:
                known += periods.whole[label].n
        return percent(round(missing / max(1, missing + known), 3))

    others = [label for label in periods.whole if label not in late]
    names = ", ".join(late[:_NAMED_PERIODS])
    if len(late) > _NAMED_PERIODS:
        names += f" and {len(late) - _NAMED_PERIODS:,} more"
    noun, are = ("period", "it is") if len(late) == 1 else ("periods", "they are")
    return (
        f"outcomes are missing in {missing_share(late)} of the rows of {noun} {names}, in "
        f"{missing_share(others)} of those of the others: {are} not judged, as outcomes that are "
        "known early are not like the rest"
    )


class _State(NamedTuple):
    """The detector after a period."""

    evidence: float
    e_value: float
    in_alarm: bool


_START = _State(evidence=0.0, e_value=1.0, in_alarm=False)


class _History(NamedTuple):
    """What the detector finds in a series of periods."""

    changes: tuple[DetectedChange, ...]
    states: list[_State]  # after each period


def _follow(
    periods: Mapping[str, Sample],
    alpha: float,
    *,
    position: Mapping[str, int],
    dependent: bool,
    step: Callable[[], None],
) -> _History:
    """Follow a series of periods; `position` is that of each among all periods."""
    detector = Detector(alpha, dependent=dependent)
    labels = list(periods)
    samples = list(periods.values())
    changes: list[DetectedChange] = []
    spans: list[slice] = []  # the periods that each change lasts
    states: list[_State] = []
    for now, sample in enumerate(samples):
        has_turned = detector.update(RangeSums.of(sample))
        begin = now + 1 - detector.lasting
        if has_turned and detector.alarm is not None:
            change = DetectedChange(
                label=labels[begin],
                index=position[labels[begin]],
                alarm=labels[now],
                alarm_index=position[labels[now]],
                evidence=detector.evidence,
                bet=bet(detector.alarm),
            )
            changes.append(change)
            spans.append(slice(begin, None))
        elif has_turned:
            changes[-1] = replace(
                changes[-1],
                ended=labels[begin - 1],
                ended_index=position[labels[begin - 1]],
                recovered=labels[now],
                recovered_index=position[labels[now]],
            )
            spans[-1] = slice(spans[-1].start, begin)
        states.append(_State(detector.evidence, detector.e_value, detector.alarm is not None))
        step()
    with_rates = []
    for change, span in zip(changes, spans, strict=True):
        rates = _rates(change.bet, reduce(add, samples[span]))
        with_rates.append(replace(change, rates=rates))
    return _History(tuple(with_rates), states)


def _windows(
    periods: PeriodSamples,
    merged: Mapping[str, Sample],
    states: Mapping[str, _State],
    task: FiniteTask | None,
    confidence_level: float | None,
) -> tuple[MonitoringWindow, ...]:
    """The lines of all periods; those that are not judged keep the state that was before them.

    `merged` has the rows of each period that is judged with those of the periods before it; without
    a confidence level there is no bound.
    """
    windows = []
    state = _START
    for label, sample in periods.whole.items():
        state = states.get(label, state)
        rows = merged.get(label, sample)
        # the loss on these rows is the same at any confidence level
        loss = guarantee(rows, confidence_level=confidence_level or 0.5)
        window = MonitoringWindow(
            label=label,
            n=rows.n,
            mean_prediction=rows.mean_prediction,
            event_rate=rows.event_rate,
            value=loss.plug_in,
            bound=None if confidence_level is None else loss.bound,
            grid=loss.grid or 0,
            cost=None if task is None else _cost_per_case(rows, task),
            evidence=state.evidence,
            e_value=state.e_value,
            in_alarm=state.in_alarm,
            missing_outcomes=periods.missing_outcomes.get(label, 0),
            judged=label in merged,
        )
        windows.append(window)
    return tuple(windows)


def _cost_per_case(sample: Sample, task: FiniteTask) -> float:
    """What acting on the forecast costs on these rows."""
    cells = sample.cells
    entries = cells.entries()
    payoff = task.matrix[task.best_index(entries.prob), entries.outcome]
    return -float(cells.weight[0] @ payoff) / sample.total_weight + 0.0  # no -0


def _rates(best_bet: Bet, sample: Sample) -> tuple[PredictionRange, ...]:
    """What is said and what happens: in all, and in the range of the bet, or on each side of where
    it turns.
    """
    edges = [best_bet.low, best_bet.high]
    if best_bet.slope != 1:
        turning_point = 1 / (1 + math.exp(best_bet.shift / (best_bet.slope - 1)))
        edges.insert(1, turning_point)
    cells = sample.cells
    entries = cells.entries()
    prob = entries.prob
    weight = cells.weight[0]
    ranges = []
    for low, high in dict.fromkeys([(0.0, 1.0), *pairwise(edges)]):
        inside = (prob >= low) & ((prob < high) | (high == 1))
        if not inside.any():
            continue
        mass = np.where(inside, weight, 0.0)
        share = float(mass.sum() / weight.sum())
        is_side = best_bet.slope != 1 and share != 1
        if is_side and not _SMALL_SIDE <= share <= 1 - _SMALL_SIDE:
            continue
        n = int(cells.count[inside].sum())
        event_rate = float(mass @ entries.outcome / mass.sum())
        in_range = PredictionRange(
            low=low,
            high=high,
            mean_prediction=float(mass @ prob / mass.sum()),
            event_rate=event_rate,
            n=n,
            events=n * event_rate,
        )
        ranges.append(in_range)
    return tuple(ranges)


def detectable_change(samples: Sequence[Sample], alpha: float) -> DetectableChange:
    """Compute what could be found, and how soon, in periods like these."""
    period = RangeSums.pooled([RangeSums.of(sample) for sample in samples])

    def event_rate(shift: float) -> float:
        return float(period.weight @ period.shifted(shift))

    def nearest_found(sign: float) -> float | None:
        """The event rate nearest to the predicted one that is found within these periods, on one
        side of it.
        """

        def is_found(size: float) -> bool:
            return periods_to_alarm(period, sign * size, alpha, len(samples)) is not None

        if not is_found(_LARGEST_SHIFT):
            return None
        return event_rate(sign * bisected(is_found, 0.0, _LARGEST_SHIFT, _HALVINGS))

    return DetectableChange(
        mean_prediction=event_rate(0.0),
        periods=len(samples),
        low=nearest_found(-1.0),
        high=nearest_found(1.0),
        rate_halved=event_rate(-math.log(2)),
        rate_doubled=event_rate(math.log(2)),
        periods_halved=periods_to_alarm(period, -math.log(2), alpha, _LONGEST_DELAY),
        periods_doubled=periods_to_alarm(period, math.log(2), alpha, _LONGEST_DELAY),
    )


def _sliding(samples: Sequence[Sample], length: int) -> Iterator[Sample]:
    """The merged samples of the last `length` periods, with three merges a period however long the
    window.

    Sums cannot be subtracted exactly, so the window is two stacks: `older` holds, for each start,
    the merged rest of an earlier stretch; `newer` the merged periods since.
    """
    older: list[Sample] = []
    newer: Sample | None = None
    for index, sample in enumerate(samples):
        newer = sample if newer is None else newer + sample
        yield older[-1] + newer if older else newer
        if index + 1 < length:
            continue
        if not older:
            stretch = samples[index + 1 - length : index + 1]
            for part in reversed(stretch):
                older.append(part + older[-1] if older else part)
            newer = None
        older.pop()
