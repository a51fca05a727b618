"""A forecast over time: its loss, a guarantee that holds at any time, and when it changed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from rainproof.core.arrays import Floats, Ints
from rainproof.core.cells import mean_prediction
from rainproof.core.result import Result
from rainproof.core.sample import Sample
from rainproof.core.text import aligned, at_most
from rainproof.errors import InputError, RainproofWarning
from rainproof.inference.guarantees import guarantee
from rainproof.inference.options import Progress, Seed, as_seed, check_resamples, check_share
from rainproof.inference.sequential import Bet, Detector, batch_bets, bet, e_value, independent_bets, log_mean
from rainproof.measures.scdl import soft_binned_profile


class MonitoringWindow(Result):
    """One line of a `MonitoringResult`: the rows of the periods up to `label`.

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


class DetectedChange(Result):
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


class MonitoringResult(Result):
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

    _kind = "monitor"
    windows: tuple[MonitoringWindow, ...]
    changes: tuple[DetectedChange, ...]
    length: int
    confidence_level: float
    alpha: float
    independent_rows: bool

    def __str__(self) -> str:
        table, notes = [["period", "rows", "SCDL", "loss at most", "evidence"]], [""]
        since = {change.alarm_index: f"\n  since about {change.label}: {change.bet}" for change in self.changes}
        for at, w in enumerate(self.windows):
            bound = "-" if w.bound is None else at_most(w.bound)
            table.append([w.label, f"{w.n:,}", f"{w.value:.4f}", bound, f"{w.evidence:.3g}"])
            notes.append(("  alarm" if w.evidence >= 1 / self.alpha else "") + since.get(at, ""))
        return "\n".join(line + note for line, note in zip(aligned(table, left=1), notes, strict=True))


def monitor(
    samples: Periods,
    *,
    window: int = 1,
    confidence_level: float = 0.95,
    alpha: float = 0.01,
    independent_rows: bool = False,
    progress: Progress | None = None,
) -> MonitoringResult:
    r"""Compute loss and guarantee of a forecast period by period, and find out when it stopped being calibrated.

    Explained in docs/guide/production.md.

    Parameters
    ----------
    samples : mapping of str to Sample, or sequence of (str, Sample)
        A compressed sample for each period, by label, in order of time, all on one grid (see `load`).
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
    MonitoringResult

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
    MonitoringResult(length=2, confidence_level=0.95, alpha=0.01, independent_rows=False)
    >>> line.windows[1].n
    5
    """
    if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 1:
        raise InputError(f"window must be a whole number of periods, at least 1; it is {window!r}")
    if not isinstance(independent_rows, bool):
        raise InputError(f"independent_rows must be True or False; it is {independent_rows!r}")
    check_share(confidence_level, "confidence_level")
    detector, calm = Detector(check_share(alpha, "alpha")), 1 / alpha
    labels, periods = as_periods(samples)
    if not periods:
        raise InputError("samples must not be empty")
    lines, changes = list[MonitoringWindow](), list[DetectedChange]()
    since: Sample | None = None
    last_alarm, wealth = -math.inf, np.zeros(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RainproofWarning)  # single days often have few rows
        for at, (label, sample, merged) in enumerate(zip(labels, periods, _sliding(periods, window), strict=True)):
            if independent_rows and not sample._cells.has_equal_weights:
                raise InputError(f"independent_rows must be False where rows have unequal weights, as in {label}")
            factors = independent_bets(sample) if independent_rows else batch_bets(sample)
            wealth, since = wealth + factors, sample if since is None else since + sample
            bound, grid = None, None
            if since._cells.has_equal_weights:
                found = guarantee(since, confidence_level=confidence_level, anytime=True)
                bound, grid = found.bound, found.grid
            alarm = detector.update(factors)
            line = MonitoringWindow(
                label=label,
                n=merged.n,
                event_rate=merged.event_rate,
                value=soft_binned_profile(merged).value,
                bound=bound,
                grid=grid,
                evidence=math.exp(detector.log_mean) if alarm is None else alarm[0],
                e_value=e_value(float(log_mean(wealth))),
            )
            lines.append(line)
            if alarm is not None:
                if at - last_alarm <= calm:
                    changes[-1] = replace(changes[-1], alarms=changes[-1].alarms + 1, last_alarm=label)
                else:
                    evidence, lasting, won = alarm
                    change = DetectedChange(
                        label=labels[at + 1 - lasting],
                        index=at + 1 - lasting,
                        alarm=label,
                        alarm_index=at,
                        alarms=1,
                        last_alarm=label,
                        evidence=evidence,
                        bet=bet(won),
                    )
                    changes.append(change)
                    since = None
                last_alarm = at
            if progress is not None:
                progress(at + 1, len(labels))
    return MonitoringResult(
        windows=tuple(lines),
        changes=tuple(changes),
        length=int(window),
        confidence_level=confidence_level,
        alpha=alpha,
        independent_rows=independent_rows,
    )


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


Shuffle = Literal["periods", "rows"] | int
Periods = Mapping[str, Sample] | Sequence[tuple[str, Sample]]

_COARSEST, _FINEST = 16, 128  # cells: about the square root of the rows, so that each is narrow and has many
_BATCH = 32  # resamples at a time, to bound the memory
_MOST = 10**9 - 1  # rows in a cell that NumPy's hypergeometric draws accept


class Change(Result):
    """A date from which outcomes relate to predictions differently than before.

    Attributes
    ----------
    label : str
        The first period after the change.
    index : int
        Its position among the periods.
    p_value : float
        The probability, at most, of so clear a change by chance anywhere in the stretch that was tested.
    """

    label: str
    index: int
    p_value: float


def find_changes(
    samples: Periods,
    *,
    alpha: float = 0.01,
    shuffle: Shuffle = "periods",
    n_resamples: int = 999,
    rng: Seed = None,
    progress: Progress | None = None,
) -> tuple[Change, ...]:
    """Find the dates at which outcomes began to relate to predictions differently.

    Other predictions are no change. Only a change of the event rate at the same predicted probability counts.

    Explained in docs/guide/production.md.

    Parameters
    ----------
    samples : mapping of str to Sample, or sequence of (str, Sample)
        A compressed sample for each period, by label, in order of time.
    alpha : float
        The probability, at most, of finding a change in a stretch without one.
    shuffle : {"periods", "rows"} or int
        What is exchangeable if nothing changed: whole periods, whose rows may depend on each other (one storm delays
        every flight of its day); single rows, which finds smaller changes and needs fewer periods but takes one bad
        day of dependent rows for a change; or, as an int, blocks of that many neighbouring periods, for periods that
        resemble the one before. See Notes.
    n_resamples : int
        The number of random orders of each stretch.
    rng : None, int or numpy.random.Generator
        The source of randomness; the same seed gives the same result.
    progress : callable, optional
        Called now and then with the number of orders drawn so far and in total, for each stretch tested.

    Returns
    -------
    tuple of Change
        In order of time; empty if chance explains everything.

    Notes
    -----
    With ``K`` events among ``N`` rows in a cell of nearly equal predictions, and ``k, n`` of them in the periods
    up to ``t``, the statistic is

        T = max over t of (max - min over cells c of S_t(c)) / sqrt(V_t),

    where ``S_t(c)`` is the sum of ``k - n K/N`` over the cells up to ``c``, less what the mean predictions of
    these rows within their cell explain, and ``V_t`` the variance of its last value. It is the cutoff
    calibration error of the difference between after and before, at the date with the largest difference.
    It is compared with random orders: of the periods, of blocks of periods, or of the outcomes within each cell (a
    multivariate hypergeometric draw). All need the counts alone, and the p-value ``(1 + #{T* >= T})/(B + 1)`` is
    valid at every size if all orders are equally likely without a change. Five periods (or blocks) cannot reach
    1%: they have 120 orders. After a change both sides are tested separately, at the same `alpha`. Weights are
    not used here.

    *Dependence.* "rows" needs independent rows. "periods" allows any dependence within a period and none between
    periods. Blocks of b periods allow dependence that is short compared with b, and are not exact: on 120 days with
    day effects of autocorrelation rho, false alarms at 5% were

    ======== ======= ======== ======== =====
    block    rho = 0 rho = .5 rho = .8 power
    ======== ======= ======== ======== =====
    1 day    6%      38%      82%      100%
    5 days   6%      8%       37%      100%
    10 days  0%      6%       16%      99%
    20 days  3%      3%       9%       38%
    ======== ======= ======== ======== =====

    in 200 simulated series each (standard error 2 to 3 points; the power is for one change at rho = 0;
    ``python -m studies.blocks``). So b should be several times (1 + rho)/(1 - rho), which is 3 and 9 here; even then
    the level is not kept exactly. The stretch should have 10 blocks or more: 6 blocks found 38% of the changes.

    Examples
    --------
    >>> import numpy as np
    >>> from rainproof import Sample
    >>> from rainproof.inference.monitoring import find_changes
    >>> rng = np.random.default_rng(0)
    >>> days = []
    >>> for day in range(20):
    ...     p = rng.random(200)
    ...     q = p if day < 12 else p**2
    ...     days.append((f"day {day}", Sample(rng.random(200) < q, p).compress(1024)))
    >>> [change.label for change in find_changes(days, rng=0)]
    ['day 12']
    """
    check_share(alpha, "alpha")
    if check_resamples(n_resamples, 1) < 1 / alpha - 1:
        raise InputError(f"n_resamples must be at least {1 / alpha - 1:.0f} for a test at alpha = {alpha}")
    block = _block(shuffle)
    labels, compressed = as_periods(samples)
    (counts, events, sums), (generator, _) = _by_period(compressed), as_seed(rng)
    found: list[Change] = []
    stretches = [(0, len(labels))]
    while stretches:
        start, stop = stretches.pop()
        part = slice(start, stop)
        divided = _divide(counts[part], events[part], sums[part], block, n_resamples, generator, progress)
        if divided is not None and divided[1] <= alpha:
            middle = start + divided[0]
            found.append(Change(label=labels[middle], index=middle, p_value=divided[1]))
            stretches += [(middle, stop), (start, middle)]
    return tuple(sorted(found, key=lambda change: change.index))


def as_periods(samples: Periods) -> tuple[list[str], list[Sample]]:
    """Return the labels of the periods, and a compressed sample for each."""
    if not isinstance(samples, Mapping | Sequence):
        raise InputError(f"samples must be a mapping of labels to Samples, or (label, Sample) pairs; it is {samples!r}")
    pairs = list(samples.items() if isinstance(samples, Mapping) else samples)
    for at, pair in enumerate(pairs):
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1], Sample):
            raise InputError(f"samples must have a label and a Sample for each period; period {at} is {pair!r}")
        if pair[1].grid is None:
            raise InputError("samples must be compressed: call compress() on each first")
    return [str(label) for label, _ in pairs], [sample for _, sample in pairs]


def _block(shuffle: Shuffle) -> int:
    """The number of periods that stay together; 0 if single rows are exchanged."""
    if isinstance(shuffle, str) and shuffle in ("periods", "rows"):
        return int(shuffle == "periods")
    if isinstance(shuffle, bool) or not isinstance(shuffle, int | np.integer) or shuffle < 1:
        raise InputError(f"shuffle must be 'periods', 'rows' or a number of periods, at least 1; it is {shuffle!r}")
    return int(shuffle)


def _by_period(samples: Sequence[Sample]) -> tuple[Ints, Ints, Floats]:
    """Rows, events and the sum of predictions, for every period and cell of one coarse grid."""
    grids = {sample.grid for sample in samples}
    n = sum(sample.n for sample in samples)
    root = 1 << (n.bit_length() // 2)
    m = min([_FINEST, max(_COARSEST, root), *(g for g in grids if g is not None)])
    shape = (len(samples), m + 1)
    counts, events, sums = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape)
    for period, sample in enumerate(samples):
        cells = sample._cells.coarsen(m)
        cell, event = cells.slot >> 1, cells.slot & 1 == 1
        np.add.at(counts[period], cell, cells.count)
        np.add.at(events[period], cell[event], cells.count[event])
        # Only the weighted mean prediction of the rows of a slot is known.
        np.add.at(sums[period], cell, cells.count * mean_prediction(m, cell, cells.rise[0], cells.weight[0]))
    return counts, events, sums


def _divide(
    counts: Ints, events: Ints, sums: Floats, block: int, n: int, rng: np.random.Generator, progress: Progress | None
) -> tuple[int, float] | None:
    """The period before which a stretch is best divided, and the share of random orders that are divided as clearly.

    None if its outcomes do not vary.
    """
    busy = counts.sum(0) > 0
    counts, events, sums = counts[:, busy], events[:, busy], sums[:, busy]
    rows, total = counts.sum(0), events.sum(0)
    rate, mean = total / rows, sums.sum(0) / rows
    # A period whose predictions are higher within the cell has more events. If the odds of the cell are off by one
    # factor, the rate rises with the prediction at this slope.
    certain = mean * (1 - mean)
    slope = np.divide(rate * (1 - rate), certain, out=np.zeros_like(mean), where=certain > 0)
    excess = events - slope * (sums - counts * mean) - counts * rate  # beyond what the rate of the cell explains

    def variances(counts: Ints) -> Floats:
        """For each date the variance of the events up to it, if all orders of the rows are equally likely."""
        before = np.cumsum(counts, -2)[..., :-1, :]
        spread = rate * (1 - rate) / np.maximum(rows - 1, 1)
        return np.asarray((before * (rows - before) * spread).sum(-1))

    variance = variances(counts)
    if not (variance > 0).any():
        return None

    def reorder(size: int) -> Floats:
        """The statistics of blocks of periods in random orders."""
        order = _orders(len(counts), block, size, rng)
        return _statistics(excess[order], variances(counts[order]))

    def deal(size: int) -> Floats:
        """The statistics with the events of each cell distributed at random among its rows."""
        drawn = np.empty((size, *counts.shape))
        for cell, many in enumerate(total):
            parts = -(-int(rows[cell]) // _MOST)  # packs of several rows only add variance
            packs = counts[:, cell] // parts
            drawn[:, :, cell] = parts * rng.multivariate_hypergeometric(packs, min(many // parts, packs.sum()), size)
        return _statistics(drawn - counts * rate, variance)

    observed, exceeding = _statistics(excess, variance), 0
    for done in range(0, n, _BATCH):
        size = min(_BATCH, n - done)
        drawn = (reorder(size) if block else deal(size)).max(-1)
        exceeding += int((drawn >= observed.max() * (1 - 1e-12)).sum())  # a tie broken by rounding counts as one
        if progress is not None:
            progress(done + size, n)
    return int(np.argmax(observed)) + 1, (1 + exceeding) / (1 + n)


def _orders(periods: int, block: int, size: int, rng: np.random.Generator) -> Ints:
    """Random orders of blocks of periods; a block that is short comes first in time."""
    number = (np.arange(periods) + -periods % block) // block
    drawn = rng.permuted(np.tile(np.arange(number[-1] + 1), (size, 1)), axis=1)
    return np.argsort(np.argsort(drawn, axis=1)[:, number], axis=1, kind="stable")


def _statistics(excess: Floats, variance: Floats) -> Floats:
    """For each date the difference between after and before, in standard deviations."""
    walk = np.cumsum(np.cumsum(excess, -2)[..., :-1, :], -1)
    width = np.maximum(walk.max(-1), 0) - np.minimum(walk.min(-1), 0)
    scale = np.sqrt(variance)
    out: Floats = np.divide(width, scale, out=np.zeros_like(width), where=scale > 0)
    return out
