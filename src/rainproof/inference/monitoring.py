"""Monitor a forecast over time: its loss, a guarantee that holds at any time, and when it stopped being calibrated."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rainproof.core.sample.sample import Sample
from rainproof.core.shown import Shown
from rainproof.core.text import at_most, finite
from rainproof.errors import InputError, RainproofWarning
from rainproof.inference.bets import Bet, batch_bets, bet, independent_bets
from rainproof.inference.change_points import Periods, as_periods
from rainproof.inference.detector import Detector
from rainproof.inference.guarantee import guarantee
from rainproof.inference.resampling import Progress, check_share
from rainproof.measures.soft_binned import soft_binned_profile

if TYPE_CHECKING:
    from rainproof.plots import Axes


@dataclass(frozen=True, kw_only=True, slots=True)
class MonitoringWindow:
    """One line of a `Timeline`: the rows of the periods up to `label`.

    Attributes
    ----------
    label : str
        The last period of the window.
    n, event_rate : int, float
        The number of rows of the window and their share of events.
    value : float
        SCDL of these rows.
    bound : float or None
        The guarantee from all rows since the last change: an upper bound on the expected loss in the population, valid
        at all periods at once. None if rows have unequal weights.
    grid : int or None
        It is for predictions rounded to multiples of ``1/grid``.
    evidence : float
        The detector: an alarm is raised where it reaches ``1/alpha``. It starts anew after each.
    e_value : float
        The evidence against calibration from all periods so far, as in `SequentialTest`.
    """

    label: str
    n: int
    event_rate: float
    value: float
    bound: float | None
    grid: int | None
    evidence: float
    e_value: float


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectedChange(Shown):
    """A time from which the forecast was not calibrated.

    Attributes
    ----------
    label, index : str, int
        The period in which it seems to have begun (an estimate), and its position.
    alarm, alarm_index : str, int
        The period of the first alarm, and its position.
    alarms, last_alarm : int, str
        The number of alarms that belong to it, and the period of the last. An alarm belongs to the change before if it
        comes within ``1/alpha`` periods of the last one: sooner than a calibrated forecast would raise it on average.
    evidence : float
        The detector at the first alarm: at least ``1/alpha``.
    bet : Bet
        The bet that had won most by then: what it says is wrong with the forecast.
    """

    label: str
    index: int
    alarm: str
    alarm_index: int
    alarms: int
    last_alarm: str
    evidence: float
    bet: Bet

    def to_dict(self) -> dict[str, Any]:
        """Return everything in built-in types, ready for JSON."""
        names = ("label", "index", "alarm", "alarm_index", "alarms", "last_alarm", "evidence")
        return {**{name: getattr(self, name) for name in names}, "bet": self.bet._asdict()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeline(Shown):
    """The result of `monitor`; prints as a table.

    Attributes
    ----------
    windows : tuple of MonitoringWindow
        One for each period, in order of time.
    changes : tuple of DetectedChange
        When the forecast stopped being calibrated; empty if no alarm was raised.
    length : int
        The number of periods in a window (fewer at the start).
    confidence_level, alpha, independent_rows
        As asked for.
    """

    windows: tuple[MonitoringWindow, ...]
    changes: tuple[DetectedChange, ...]
    length: int
    confidence_level: float
    alpha: float
    independent_rows: bool

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the windows and changes into axes (default: new ones); see `rainproof.plots.timeline`."""
        from rainproof.plots import timeline

        return timeline(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in built-in types, ready for JSON."""
        return {
            "result": "timeline",
            "length": self.length,
            "confidence_level": self.confidence_level,
            "alpha": self.alpha,
            "independent_rows": self.independent_rows,
            "windows": [{**asdict(w), "e_value": finite(w.e_value)} for w in self.windows],
            "changes": [change.to_dict() for change in self.changes],
        }

    def __repr__(self) -> str:
        last = self.windows[-1]
        return f"Timeline({len(self.windows)} periods, {len(self.changes)} changes, last={last.value:.4g})"

    def __str__(self) -> str:
        alarms = {change.alarm_index: change for change in self.changes}
        width = max(6, *(len(window.label) for window in self.windows))
        head = f"{'period':<{width}}  {'rows':>13}  {'SCDL':>8}  {'loss at most':>14}"
        lines = [f"{head}  {'evidence':>10}"]
        for at, w in enumerate(self.windows):
            bound = "-" if w.bound is None else at_most(w.bound)
            alarm = "  alarm" if w.evidence >= 1 / self.alpha else ""
            lines.append(f"{w.label:<{width}}  {w.n:>13,}  {w.value:>8.4f}  {bound:>14}  {w.evidence:>10.3g}{alarm}")
            if at in alarms:
                lines.append(f"{'':<{width}}  since about {alarms[at].label}: {alarms[at].bet}")
        return "\n".join(lines)


def monitor(
    samples: Periods,
    *,
    window: int = 1,
    confidence_level: float = 0.95,
    alpha: float = 0.01,
    independent_rows: bool = False,
    progress: Progress | None = None,
) -> Timeline:
    r"""Compute loss and guarantee of a forecast period by period, and find out when it stopped being calibrated.

    Explained in docs/production.md.

    Parameters
    ----------
    samples : mapping of str to Sample, or sequence of (str, Sample)
        A compressed sample for each period, by label, in order of time, all on one grid (see `load_samples`).
    window : int
        The number of periods that each window merges for SCDL.
    confidence_level : float
        The confidence level of the guarantee: for all periods up to the next change at once.
    alpha : float
        While the forecast is calibrated there are ``1/alpha`` periods or more to a false alarm, on average.
    independent_rows : bool
        Whether the rows of a period are independent of each other given the predictions. Then far fewer periods are
        needed to find a change. By default a period counts as one observation, as its rows may all depend on one storm.
    progress : callable, optional
        Called now and then with the number of steps done so far and in total.

    Returns
    -------
    Timeline

    Notes
    -----
    The bets of `SequentialTest` against the forecast start with 1, and each may start again with 1 in any period: the
    evidence is the mean of what the bets have, each since the start that was best for it. It is at most the sum over
    all starts, which grows by 1 a period in expectation while the forecast is calibrated, ``E[y | p, past] = p``.
    So the mean time to the first period in which it reaches ``1/alpha`` is at least ``1/alpha`` (an e-detector; Shin,
    Ramdas and Rinaldo). Days may resemble each other, and predictions may depend on the past; nothing needs to be
    exchangeable. A change is from calibrated to not: a forecast that was never calibrated is found too. After an alarm
    the detector starts anew. Where a change began is an estimate: the start from which the bets have won most.

    The guarantee (`guarantee` with ``anytime=True``) starts anew after the first alarm of a change. It needs more
    than the detector: independent rows from one population since then. To compare two stretches of periods with each
    other rather than with calibration, use `find_changes`.

    References
    ----------
    Shin, Ramdas and Rinaldo (2022), arXiv:2203.03532.

    Examples
    --------
    >>> import rainproof
    >>> days = {"Mon": rainproof.Sample([0, 1, 1], [0.2, 0.7, 0.6]), "Tue": rainproof.Sample([0, 1], [0.1, 0.8])}
    >>> line = rainproof.monitor({day: sample.compress() for day, sample in days.items()}, window=2)
    >>> line
    Timeline(2 periods, 0 changes, last=0.09)
    >>> line.windows[1].n
    5
    """
    if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 1:
        raise InputError(f"window must be a whole number of periods, at least 1; it is {window!r}")
    if not isinstance(independent_rows, bool):
        raise InputError(f"independent_rows must be True or False; it is {independent_rows!r}")
    check_share(confidence_level, "confidence_level")
    watch = _Watch(check_share(alpha, "alpha"), confidence_level, independent_rows)
    labels, periods = as_periods(samples)
    if not periods:
        raise InputError("samples must not be empty")
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RainproofWarning)  # single days often have few rows
        for at, (label, merged) in enumerate(zip(labels, _sliding(periods, window), strict=True)):
            watch.update(at, periods[at], labels)
            rows: dict[str, Any] = {
                "n": merged.n,
                "event_rate": merged.event_rate,
                "value": soft_binned_profile(merged).value,
            }
            lines.append(MonitoringWindow(label=label, **rows, **watch.state))
            if progress is not None:
                progress(at + 1, len(labels))
    return Timeline(
        windows=tuple(lines),
        changes=tuple(watch.changes),
        length=int(window),
        confidence_level=confidence_level,
        alpha=alpha,
        independent_rows=independent_rows,
    )


class _Watch:
    """What is known after each period: guarantee, detector and e-value."""

    def __init__(self, alpha: float, confidence_level: float, independent: bool) -> None:
        self._detector, self._confidence_level = Detector(alpha), confidence_level
        self._bets = independent_bets if independent else batch_bets
        self._since: Sample | None = None
        self._calm, self._last_alarm = 1 / alpha, -math.inf
        self._each = np.zeros(1)
        self.changes: list[DetectedChange] = []
        self.state: dict[str, Any] = {}

    def update(self, at: int, sample: Sample, labels: Sequence[str]) -> None:
        equal = sample._cells.has_equal_weights
        if self._bets is independent_bets and not equal:
            raise InputError(f"independent_rows must be False where rows have unequal weights, as in {labels[at]}")
        factors = self._bets(sample)
        self._each = self._each + factors
        self._since = sample if self._since is None else self._since + sample
        bound, grid = self._guarantee(self._since)
        alarm = self._detector.update(factors)
        evidence = math.exp(self._detector.log_mean) if alarm is None else alarm[0]
        top = float(self._each.max())
        log_mean = top + math.log(float(np.exp(self._each - top).mean()))
        e_value = math.exp(log_mean) if log_mean < 700 else math.inf
        self.state = {"bound": bound, "grid": grid, "evidence": evidence, "e_value": e_value}
        if alarm is not None:
            self._alarm(at, labels, *alarm)

    def _alarm(self, at: int, labels: Sequence[str], evidence: float, periods: int, won: int) -> None:
        again, self._last_alarm = at - self._last_alarm <= self._calm, at
        if again:
            change = self.changes.pop()
            self.changes.append(replace(change, alarms=change.alarms + 1, last_alarm=labels[at]))
            return
        start = at + 1 - periods
        change = DetectedChange(
            label=labels[start],
            index=start,
            alarm=labels[at],
            alarm_index=at,
            alarms=1,
            last_alarm=labels[at],
            evidence=evidence,
            bet=bet(won),
        )
        self.changes.append(change)
        self._since = None

    def _guarantee(self, sample: Sample) -> tuple[float | None, int | None]:
        if not sample._cells.has_equal_weights:
            return None, None
        found = guarantee(sample, confidence_level=self._confidence_level, anytime=True)
        return found.bound, found.grid


def _sliding(samples: Sequence[Sample], length: int) -> Iterator[Sample]:
    """The merged samples of the last `length` periods, with three merges a period however long the window.

    Sums cannot be subtracted exactly, so the window is two stacks: `old` holds, for each start, the merged
    rest of an earlier stretch; `new` the merged periods since.
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
