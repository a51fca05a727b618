"""What monitoring finds: a line for each period, the times in which a forecast was not calibrated,
and what could have been found.

These results only keep and print; `rainproof.inference.monitoring` makes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from rainproof.core.result import PredictionRange, Result, result_class
from rainproof.core.text import aligned, at_most, one_line, percent, rows
from rainproof.inference.bets import Bet
from rainproof.inference.guarantees import Guarantee


@result_class
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


@result_class
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

    @property
    def lasts(self) -> bool:
        """Whether the alarm has not ended."""
        return self.recovered_index is None

    def __str__(self) -> str:
        says, happens = ("says", "happens") if self.lasts else ("said", "happened")
        ranges = []
        for part in self.rates:
            where = ""
            if (part.low, part.high) != (0, 1):
                where = f"between {part.low:.3g} and {part.high:.3g} "
            predicted = f"{100 * part.mean_prediction:.3g}%"
            observed = f"{100 * part.event_rate:.3g}%"
            n = rows(round(part.n))
            ranges.append(f"{where}it {says} {predicted} and it {happens} {observed} ({n})")
        when = f"since about {self.label}"
        if not self.lasts:
            when = f"from about {self.label} to {self.ended}"
        return one_line(f"{when} {'; '.join(ranges)}")


@result_class
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

    def __str__(self) -> str:
        where = f"where {_percent(self.mean_prediction)} is predicted"
        plural = "" if self.periods == 1 else "s"
        within = f"within the {self.periods:,} period{plural} of this run"
        found = []
        if self.high is not None:
            found.append(f"above {_percent(self.high)}")
        if self.low is not None:
            found.append(f"below {_percent(self.low)}")
        if found:
            first = f"{within}, an event rate {' or '.join(found)} {where}"
        else:
            first = f"no event rate {within}, {where}"
        return (
            f"{first}. Where the event has half the predicted odds (event rate "
            f"{_percent(self.rate_halved)}), an alarm takes {_about(self.periods_halved)}; where "
            f"it has twice the odds ({_percent(self.rate_doubled)}), "
            f"{_about(self.periods_doubled)}. It takes longer where rows of a period move together"
        )


@result_class
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
    def current(self) -> DetectedChange | None:
        """The change that the alarm now is about; None if there is no alarm now."""
        return _lasting(self.changes)

    @property
    def in_alarm(self) -> bool:
        """Whether the newest period is in an alarm."""
        return self.current is not None

    @property
    def is_new(self) -> bool:
        """Whether the newest period that is judged is the one that raised it."""
        return self.current is not None and self.current.alarm_index == self.newest_judged

    @property
    def newest_judged(self) -> int:
        """The position of the newest period that is judged."""
        judged = [index for index, window in enumerate(self.windows) if window.judged]
        return judged[-1] if judged else len(self.windows) - 1

    @property
    def since(self) -> str | None:
        """The period in which the change seems to have begun that the alarm now is about."""
        return None if self.current is None else self.current.label

    @property
    def recovered(self) -> str | None:
        """The period in which the last alarm ended, if there is none now."""
        return self.changes[-1].recovered if self.changes else None

    @property
    def segments_in_alarm(self) -> dict[str, DetectedChange]:
        """The segments whose newest period is in an alarm, and since when."""
        lasting = {name: _lasting(changes) for name, changes in self.segments.items()}
        return {name: change for name, change in lasting.items() if change is not None}

    def __str__(self) -> str:
        return "\n".join([self.table(), "", *self.sentences()])

    def table(self) -> str:
        """Return the table of the periods."""
        has_costs = self.windows[0].cost is not None
        head = ["period", "rows", "says", "happens", "loss", "at most"]
        if has_costs:
            head.append("cost")
        lines = [[*head, "evidence", ""]]
        state_of = self._states()
        for index, window in enumerate(self.windows):
            line = [
                window.label,
                f"{window.n:,}",
                f"{100 * window.mean_prediction:.3g}%",
                f"{100 * window.event_rate:.3g}%",
                f"{100 * window.value:.2f}%",
                "-" if window.bound is None else at_most(window.bound),
            ]
            if window.cost is not None:
                line.append(f"{window.cost:.4g}")
            in_alarm = "in alarm" if window.in_alarm else ""
            lines.append([*line, f"{window.evidence:.3g}", state_of.get(index, in_alarm)])
        return "\n".join(aligned(lines, left={0, len(lines[0]) - 1}))

    def _states(self) -> dict[int | None, str]:
        """What is noted beside periods, by their position."""
        states: dict[int | None, str] = {}
        for change in self.changes:
            states[change.recovered_index] = "recovered"
        for change in self.changes:
            states[change.alarm_index] = "alarm"
        for index, window in enumerate(self.windows):
            if not window.judged:
                states[index] = "not judged"
        return states

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
        lines = self._state_now(limit, commands)
        if len(self.changes) > 1:
            lines += [f"Before: {change}." for change in self.changes[:-1]]
        if self.segments:
            in_alarm = self.segments_in_alarm
            lines += [f"Segment {name}: {change}." for name, change in in_alarm.items()]
            lines.append(
                f"{len(in_alarm)} of {len(self.segments)} segments are in alarm. While all are "
                f"calibrated, {limit} periods or more pass to a false alarm in any of them, on "
                "average."
            )
        if self.guarantee is not None:
            lines.append(self._guaranteed(self.guarantee))
        if self.detectable is not None:
            lines.append(f"What could be found: {self.detectable}.")
        lines += [f"Note: {warning}." for warning in self.warnings]
        return [*map(one_line, lines), "", *self._meaning(dependent, limit)]

    def _state_now(self, limit: str, commands: Sequence[str]) -> list[str]:
        """Whether there is an alarm, and the next step."""
        if not self.changes:
            return [f"No alarm: the evidence against calibration stays below {limit}."]
        last = self.changes[-1]
        if not last.lasts:
            return [
                f"No alarm now, since {last.recovered}: {last}. The alarm had been raised at "
                f"{last.alarm}."
            ]
        how = ":" if commands else " (rainproof.Recalibrator)."
        return [
            f"In alarm: {last}. The alarm was raised at {last.alarm}; what fitted best by then: "
            f"{last.bet}.",
            f"Next: recalibrate on the rows since then, and monitor the result{how}",
            *(f"    {command}" for command in commands),
        ]

    def _guaranteed(self, guarantee: Guarantee) -> str:
        """What is proven from all rows since the last alarm began or ended."""
        since = 1 + last_turn(self.changes)
        first = next(window.label for window in self.windows[since:] if window.judged)
        return (
            f"From {first} on ({rows(guarantee.n)}) every decision loses at most "
            f"{at_most(guarantee.bound)} of what is at stake by acting on probabilities rounded at "
            f"random to multiples of 1/{guarantee.grid} ({percent(self.confidence_level)} "
            "confidence, however often one looks, if these rows are from one population)."
        )

    def _meaning(self, dependent: str, limit: str) -> list[str]:
        """What was assumed, and what the columns say."""
        assumed = (
            "Assumed: rows are drawn one after the other, each with its predicted probability; "
            "predictions may depend on all that was before. A storm that moves all rows of a "
            f"period at once would look like a change: {dependent} takes a period as one "
            "observation, and needs far more periods."
        )
        at_most_means = (
            "At most: the bound of the same loss in the population of these rows, for each line by "
            f"itself with {percent(self.confidence_level)} confidence, if they are from one "
            "population."
        )
        if self.dependent:
            at_most_means = "At most: none is given, as that needs independent rows."
            assumed = (
                "Assumed: the rows of a period may all depend on each other. A period is one "
                "observation, and one storm is no change. If rows are drawn one after the other, "
                f"far fewer periods do without {dependent}."
            )
        return [
            assumed,
            f"Alarm: the evidence against calibration reaches {limit}. While the forecast is "
            f"calibrated, {limit} periods or more pass to a false alarm, on average. It ends when "
            "rows since then favour the forecast over the recalibration that fitted best, by a "
            f"factor of {limit}, and nothing else is off.",
            "Loss: on the rows of the line, in hindsight, what the decision with the largest "
            "loss loses by acting on probabilities rounded at random, compared with the best "
            "fixed change of its actions, as a share of what is at stake per case (best minus "
            "worst outcome).",
            at_most_means,
        ]


def _percent(share: float) -> str:
    """A share in percent, to two digits."""
    return f"{100 * share:.2g}%"


def _about(periods: int | None) -> str:
    """About how many periods pass."""
    if periods is None:
        return "a number of periods that cannot be told"
    return f"about {periods:,} periods"


def _lasting(changes: Sequence[DetectedChange]) -> DetectedChange | None:
    """The last change, if it lasts."""
    return changes[-1] if changes and changes[-1].lasts else None


def last_turn(changes: Sequence[DetectedChange]) -> int:
    """The position of the last period in which an alarm began or ended; -1 if there is none."""
    last = -1
    for change in changes:
        last = max(last, change.alarm_index)
        if change.recovered_index is not None:
            last = max(last, change.recovered_index)
    return last
