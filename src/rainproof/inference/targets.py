"""A threshold that is proven to keep a target: precision, recall, false positive rate."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtrik, betainc, betaincinv, ndtri

from rainproof.core.arrays import Floats
from rainproof.core.curve import flagged
from rainproof.core.distinct import DistinctTable
from rainproof.core.result import Result
from rainproof.core.sample import Sample, as_sample
from rainproof.core.text import if_drawn, percent, rows, these_rows
from rainproof.core.validation import BaseRate
from rainproof.errors import InputError
from rainproof.inference.bound_inputs import largest_draws
from rainproof.inference.corrections import fit_logistic_correction
from rainproof.inference.options import Seed, as_seed, check_share

_CHOOSING = 0.1  # of the draws, which choose where the others prove
_FEWEST = 20  # draws that choose, if there are as many again
_SURE = 10  # rows that choose: from so many flagged ones on they tell how many others will be
_STEPS = 512  # thresholds of a sequence, closer together where few cases are flagged
_POINTS = 512  # of the curves of a result
_MOST = 10**9  # rows
_MEASURED = ("precision", "recall", "false_positive_rate", "flagged")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class ProvenThreshold(Result):
    """The result of `find_threshold`.

    Attributes
    ----------
    threshold : float or None
        Flag the cases whose prediction is at least this. In the population all targets are then
        kept, with the stated confidence. None if no threshold is proven to.
    targets : dict
        What is proven: the smallest precision and recall, the largest false positive rate that were
        asked for.
    precision, recall, false_positive_rate : float or None
        As measured on these rows at the threshold, an estimate that is somewhat too good, as they
        chose it. None without a threshold.
    flagged : float or None
        The share of these rows that it flags.
    rows_needed : int or None
        If no threshold is proven: about half of the samples with so many rows like these would
        prove one, an estimate. None if no number would do, as far as these rows tell.
    thresholds, precisions, recalls, false_positive_rates : ndarray
        The same measured at thresholds from the largest prediction down.
    confidence_level : float
        The probability, at least, that no false threshold is returned.
    n : int
        The number of rows.
    groups : int or None
        The number of groups, if rows were drawn in groups.
    base_rate : float or None
        The event rate that precision and `flagged` are at, if one was stated: of a range the lower
        end.
    max_weight : float or None
        The largest weight that a row (with groups, a group) can have, if it was stated.
    seed : int or None
        The seed of the draws that choose; None if a generator was given.
    """

    _kind = "find_threshold"
    _shown = (
        "threshold",
        "targets",
        "precision",
        "recall",
        "false_positive_rate",
        "flagged",
        "rows_needed",
        "n",
    )
    threshold: float | None
    targets: dict[str, float]
    precision: float | None
    recall: float | None
    false_positive_rate: float | None
    flagged: float | None
    rows_needed: int | None
    thresholds: Floats
    precisions: Floats
    recalls: Floats
    false_positive_rates: Floats
    confidence_level: float
    n: int
    groups: int | None
    base_rate: float | None
    seed: int | None
    max_weight: float | None = None

    def __str__(self) -> str:
        asked = " and ".join(_said(name, share) for name, share in self.targets.items())
        level = percent(self.confidence_level)
        if self.threshold is None:
            said = [f"No threshold is proven to have {asked} with {level} confidence."]
            met = np.ones(len(self.thresholds), np.bool_)
            for name, share in self.targets.items():
                value = getattr(self, f"{name}s")
                met &= value <= share if name == "false_positive_rate" else value >= share
            if not met.any():
                what = "all of that at once" if len(self.targets) > 1 else "it"
                said.append(f"On {these_rows(self.n)} no threshold has {what}.")
            if self.rows_needed is not None:
                many = rows(self.rows_needed)
                said.append(
                    f"About half of the samples with {many} like these would prove one (an estimate)."
                )
            return " ".join(said)
        measured = ", ".join(
            f"{name.replace('_', ' ')} {100 * value:.3g}%"
            for name in _MEASURED[:3]
            if (value := getattr(self, name)) is not None
        )
        at = "" if self.base_rate is None else f" at the base rate {percent(self.base_rate)}"
        flags = f"it flags {100 * (self.flagged or 0):.3g}% of the cases{at}"
        return (
            f"Flag cases from {self.threshold:.10g} on: proven with {level} confidence to have {asked}{at}.\n"
            f"On {these_rows(self.n)} {flags}; measured there: {measured}.\n"
            f"The proof holds if {if_drawn(self.groups, 'the threshold', self.base_rate, self.max_weight)}."
        )


def find_threshold(
    y_true: ArrayLike | Sample,
    y_prob: ArrayLike | None = None,
    *,
    precision: float | None = None,
    recall: float | None = None,
    false_positive_rate: float | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    base_rate: BaseRate | None = None,
    max_weight: float | None = None,
    confidence_level: float = 0.95,
    rng: Seed = 0,
) -> ProvenThreshold:
    r"""Find a threshold that is proven to keep a target: at least 90% of the alarms must be real.

    Cases are flagged if the prediction is at least the threshold. Among all thresholds that are
    proven to keep the targets in the population, it is the one that flags most cases; where recall
    is the only target, the one that flags fewest. The claim is about the threshold that is
    returned.

    Answer or abstain is the same question: the event is that the answer is right, the prediction is
    the stated confidence, and ``precision=0.95`` asks from which confidence on at most 5% of the
    answers are wrong.

    Explained in docs/guide/proven-threshold.md.

    Parameters
    ----------
    y_true : array_like of shape (n,), or Sample
        The outcomes: 0 or 1, or any two labels with `pos_label`. Both must occur.
    y_prob : array_like of shape (n,)
        The predicted probability of the event, in [0, 1]; any score in [0, 1] will do, calibrated
        or not.
    precision : float, optional
        The smallest share of events among the flagged cases.
    recall : float, optional
        The smallest share of flagged cases among the events.
    false_positive_rate : float, optional
        The largest share of flagged cases among those without the event. At least one target must
        be given; of several, all are kept at once.
    sample_weight : array_like of shape (n,), optional
        The weight of each row. Weights need `max_weight`, also if they are equal in these rows:
        where a few heavy rows can be missing from the sample, nothing is proven without it.
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1.
    groups : array_like of shape (n,), optional
        The group of each row (patient, site, day): rows of a group may depend on each other, groups
        must be independent, and their sizes must not depend on predictions or outcomes, unless
        `max_weight` is stated.
    base_rate : float or pair of float, optional
        The event rate of the population, if these rows have another one (see `Sample`); of a range
        the lower end counts, where precision is smallest. Recall and false positive rate do not
        depend on it.
    max_weight : float, optional
        The largest weight that a row can have (with `groups`: a whole group), known before the rows
        were seen. The targets are then kept in the population in which rows count with their
        weight, and weights may depend on predictions and outcomes. With weights of 1 over the
        probability that a case is looked up, it is 1 over the smallest such probability of any
        case, looked up or not. Not together with `base_rate`.
    confidence_level : float
        The probability, at least, that no false threshold is returned for a sample drawn as stated.
    rng : numpy.random.Generator or int
        The source of randomness for which draws choose; the same rows and seed give the same
        answer, in whatever order they come. Do not try several seeds, or edited rows, and keep the
        best: the confidence is for one.

    Returns
    -------
    ProvenThreshold
        `threshold` (None if none is proven), `targets`, what is measured there, `flagged`,
        `rows_needed`, `plot()`.

    Notes
    -----
    A target is a share :math:`\theta` of successes among trials: events among flagged cases (precision), flagged cases
    among events (recall), cases that are not flagged among those without the event (1 minus the false positive rate).
    At a threshold that is fixed, k successes in m trials are proof if

    .. math:: \mathrm{P}(\mathrm{Bin}(m, \theta) \ge k) \le \delta,

    exactly, with :math:`1 - \delta` the confidence. Recall and false positive rate fall as the
    threshold rises, so all thresholds on one side of the first false one are false: with one such
    target the last threshold that passes is proven, from all rows. Recall beside another target is
    proven at :math:`\delta / 2`, and so is the other.

    Precision may rise and fall. So with it a tenth of the rows at random chooses: a logistic
    regression says where a proof is most likely. If it has ten rows or more there, the other rows
    test its predictions from there down, one after the other, each at the full :math:`\delta`, and
    stop at the first that fails: only the first false threshold of the sequence can make the answer
    false. If it has fewer, it fixes the number k of cases to flag instead: given the :math:`k+1`-st
    largest prediction of the other rows, the rows above it are independent draws from the cases
    above it, and one test is exact.

    With groups, weights, or outcomes that are shares, the tests are bets on whole draws in place of
    the binomial distribution: with u the sum of (success - :math:`\theta`) over the trials of a
    draw, by weight and over the largest possible weight (of groups the largest one, unless
    `max_weight` is stated), :math:`\prod (1 + x u)` has mean at most 1 if the target is missed, and
    so has the mean over several bets x. It is proof if it is at least :math:`1/\delta`. With a base
    rate r, precision is at least a if recall is at least :math:`a (1 - r) / (r (1 - a))` times the
    false positive rate: proven by the exact (Clopper and Pearson) lower limit of the one and upper
    limit of the other, each at :math:`\delta / 2`. Proof: docs/theory/bounds.md.

    Rows must be drawn independently from the population (groups of rows, with `groups`), and the
    forecast must not have been fitted on them. O(n log n). A compressed sample has thresholds at
    the edges of its cells.

    References
    ----------
    Angelopoulos, Bates, Candès, Jordan, Lei (2021), "Learn then test", arXiv:2110.01052 (sequences of thresholds).
    Geifman, El-Yaniv (2017), "Selective classification for deep neural networks", arXiv:1705.08500.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> y = rng.random(4000) < p
    >>> print(rainproof.find_threshold(y, p, precision=0.8))
    Flag cases from 0.646 on: proven with 95% confidence to have a precision of at least 80%.
    On these 4,000 rows it flags 35.3% of the cases; measured there: precision 82.3%, recall 57.5%, false positive
    rate 12.6%.
    The proof holds if the rows were drawn independently from the population in which the threshold will be used.
    """
    columns: dict[str, Any] = {
        "sample_weight": sample_weight,
        "pos_label": pos_label,
        "groups": groups,
    }
    sample = as_sample(y_true, y_prob, **columns, base_rate=base_rate, rates=True)
    if max_weight is not None:
        sample._refuse_cells("max_weight needs")
        largest_draws(sample, max_weight)  # which checks it
        max_weight = float(max_weight)
    elif sample._weighted:
        raise InputError(
            "weights must have a largest possible value that is stated: a sample can lack the heavy rows, and have "
            "weights that are all equal, so that the proof would be false",
            hint="; ",
            remedy="state max_weight, the largest weight that a row (with groups, a whole group) can have; no weights "
            "are needed where all cases have the same",
            option=("max_weight", "W"),
        )
    generator, seed = as_seed(rng, sample)
    targets = _check_targets(
        {"precision": precision, "recall": recall, "false_positive_rate": false_positive_rate}
    )
    delta = 1 - check_share(confidence_level, "confidence_level")
    if sample.event_rate in (0.0, 1.0):
        raise InputError(
            f"y_true must have both outcomes; all rows with weight have {int(sample.event_rate)}"
        )
    sample = sample._ends()[0]._floor().in_order()
    both = "recall" in targets and len(targets) > 1  # each is then proven by itself
    rate = None if sample._rates is None else sample._rates[0]
    proof = _Proof(targets, delta / 2 if both else delta, rate, max_weight)
    rows = sample if sample._rates is None else sample._as_drawn()._floor().in_order()
    found = _find(rows, proof, generator)
    table = sample.distinct()
    some = np.unique(np.linspace(0, len(table.prob) - 1, _POINTS).astype(np.int64))[::-1]
    curves = _measures(table, table.prob[some])
    at = np.full(4, np.nan) if found is None else _measures(table, np.array([found]))[:, 0]
    here = {
        name: None if math.isnan(value) else float(value)
        for name, value in zip(_MEASURED, at, strict=True)
    }
    return ProvenThreshold(
        threshold=found,
        targets=targets,
        rows_needed=_rows_needed(rows, proof) if found is None else None,
        thresholds=table.prob[some],
        precisions=curves[0],
        recalls=curves[1],
        false_positive_rates=curves[2],
        confidence_level=float(confidence_level),
        n=sample.n,
        groups=sample.groups,
        base_rate=proof.base_rate,
        seed=seed,
        max_weight=max_weight,
        **here,
    )


def _find(sample: Sample, proof: _Proof, rng: np.random.Generator) -> float | None:
    """The threshold that flags most; for recall alone, the one that flags fewest."""
    recall = {name: share for name, share in proof.targets.items() if name == "recall"}
    others = {name: share for name, share in proof.targets.items() if name != "recall"}
    highest = _last_proven(sample, replace(proof, targets=recall)) if recall else 1.0
    if highest is None or not others:
        return highest
    proof = replace(proof, targets=others)
    found = (
        _proven_by_choice(sample, proof, rng)
        if "precision" in others
        else _last_proven(sample, proof)
    )
    return found if found is not None and found <= highest else None


def _check_targets(asked: Mapping[str, float | None]) -> dict[str, float]:
    """Return the targets that were given, each between 0 and 1."""
    targets = {name: check_share(share, name) for name, share in asked.items() if share is not None}
    if not targets:
        raise InputError(f"state a target: {', '.join(asked)}, or several of them")
    return targets


def _said(name: str, share: float) -> str:
    """A target in words."""
    sense = "at most" if name == "false_positive_rate" else "at least"
    return f"a {name.replace('_', ' ')} of {sense} {percent(share)}"


def _measures(table: DistinctTable, thresholds: Floats) -> Floats:
    """Precision, recall, false positive rate and the share of the rows, of what is flagged from
    thresholds on.
    """
    hits, alarms, misses, rest = flagged(table, thresholds)
    with np.errstate(invalid="ignore"):
        return np.stack(
            [
                hits / (hits + alarms),
                hits / (hits + misses),
                alarms / (alarms + rest),
                hits + alarms,
            ]
        )


_Numbers = tuple[Any, Any, Any, Any]  # flagged events, flagged others, all events, all others


@dataclass(frozen=True, slots=True)
class _Proof:
    """What is to be proven, with which error, at which base rate (None: that of the rows), for
    which weights.

    The largest possible weight of a draw is None if it was not stated: then rows weigh alike, and
    groups are of sizes that do not depend on the rows.
    """

    targets: Mapping[str, float]
    delta: float
    base_rate: float | None
    max_weight: float | None = None

    def by_number(self, sample: Sample) -> bool:
        """Whether rows of equal weight are drawn one by one, so that their numbers are proof."""
        return sample._group is None and self.max_weight is None

    def trials(self, name: str, numbers: _Numbers) -> tuple[Any, Any, float]:
        """Successes, trials, and the share of successes to be proven."""
        hits, alarms, events, others = numbers
        share = self.targets[name]
        if name == "precision":
            return hits, hits + alarms, share
        return (hits, events, share) if name == "recall" else (others - alarms, others, 1 - share)

    def ratio(self, name: str) -> float | None:
        """For the precision at a base rate, how many times the false positive rate recall must be;
        else None.
        """
        if self.base_rate is None or name != "precision":
            return None
        odds = self.targets[name] / (1 - self.targets[name])
        return odds * (1 - self.base_rate) / self.base_rate

    def by_counts(self, name: str, numbers: _Numbers) -> bool:
        """Whether numbers of independent rows prove a target."""
        if (ratio := self.ratio(name)) is not None:
            hits, alarms, events, others = numbers
            least = betaincinv(hits, events - hits + 1, self.delta / 2) if hits > 0 else 0.0
            most = (
                betaincinv(alarms + 1, others - alarms, 1 - self.delta / 2)
                if alarms < others
                else 1.0
            )
            return bool(least >= ratio * most)
        good, trials, share = self.trials(name, numbers)
        return bool(good > 0 and betainc(good, trials - good + 1, share) <= self.delta)

    def margin(self, numbers: _Numbers, scale: float) -> tuple[Floats, Floats]:
        """By how much estimated numbers, so many times over, would be proof on average: the least
        over the targets.

        Also returned is the standard deviation of what one row in place of many would add to that.
        """
        found = []
        for name in self.targets:
            if (ratio := self.ratio(name)) is not None:
                hits, alarms, events, others = numbers
                recall, rate = (hits + 0.5) / (events + 1), (alarms + 0.5) / (others + 1)
                spread = (1 - recall) / (recall * (events + 1)) + (1 - rate) / (rate * (others + 1))
                gap = np.log(recall / (ratio * rate)) + ndtri(self.delta / 2) * np.sqrt(
                    spread / scale
                )
                found.append((gap, np.sqrt(spread)))
            else:
                good, trials, share = self.trials(name, numbers)
                enough = np.maximum(np.floor(trials * scale), 1.0)
                # half of the way to proof
                least = np.ceil(bdtrik(1 - self.delta, enough, share) - 1e-9) + 0.5
                part = (good + share) / (trials + 1)
                found.append(
                    (part - least / enough, np.sqrt(part * (1 - part) / np.maximum(trials, 1e-9)))
                )
        gaps, spreads = (np.stack(np.broadcast_arrays(*part)) for part in zip(*found, strict=True))
        first = np.argmin(gaps / np.maximum(spreads, 1e-12), axis=0)[None]
        return np.take_along_axis(gaps, first, 0)[0], np.take_along_axis(spreads, first, 0)[0]


def _flagged(sample: Sample) -> tuple[Floats, Floats, Floats]:
    """The distinct predictions, and how many events and other rows are flagged from each on; beyond
    the last, none.
    """
    table, each = sample.distinct(), sample.total_weight / sample.n
    events, others = (
        np.append(np.cumsum(np.rint(mass / each)[::-1])[::-1], 0.0)
        for mass in (table.positive, table.negative)
    )
    return table.prob, events, others


def _evidence(sample: Sample, max_weight: float | None = None) -> Callable[[_Proof, float], float]:
    """What bets on whole draws at a threshold make of 1, as a logarithm: the least over the
    targets.

    A draw bets with its weight over the largest possible one: over that of these draws, a bet would
    depend on which of the heavy ones they are.
    """
    event, group = (
        sample.event,
        np.arange(len(sample.prob)) if sample._group is None else sample._group,
    )
    weight = np.bincount(group, sample.mass)
    largest = weight.max() if max_weight is None else max_weight
    stake, count = sample.mass / largest, int(np.count_nonzero(weight))

    def evidence(proof: _Proof, threshold: float) -> float:
        flagged, least = sample.prob >= threshold, math.sqrt(-2 * math.log(proof.delta) / count)
        bets = 2.0 ** -np.arange(max(1.0, 1 - math.log2(min(least, 1.0))))
        found = []
        for name in proof.targets:
            hits, alarms = flagged & event, flagged & ~event
            good, trial, share = proof.trials(
                name, (hits * 1.0, alarms * 1.0, event * 1.0, ~event * 1.0)
            )
            gain = np.bincount(group, stake * (good - share * trial))
            logs = np.log1p(bets[:, None] * (0.98 / share) * gain).sum(axis=1)
            found.append(float(np.logaddexp.reduce(logs)) - math.log(len(bets)))
        return min(found)

    return evidence


def _tester(sample: Sample, proof: _Proof) -> Callable[[_Proof, float], bool]:
    """Return whether these rows prove all targets at a threshold: by numbers, or by bets on draws."""
    if not proof.by_number(sample):
        evidence = _evidence(sample, proof.max_weight)
        return lambda proof, threshold: evidence(proof, threshold) >= -math.log(proof.delta)
    prob, events, others = _flagged(sample)

    def test(proof: _Proof, threshold: float) -> bool:
        at = int(np.searchsorted(prob, threshold))
        numbers = events[at], others[at], events[0], others[0]
        return all(proof.by_counts(name, numbers) for name in proof.targets)

    return test


def _last_proven(sample: Sample, proof: _Proof) -> float | None:
    """The last threshold that is proven, where each that is easier to prove is proven too."""
    test, prob = _tester(sample, proof), sample.distinct().prob
    up = "recall" in proof.targets  # which falls as the threshold rises
    order = prob if up else prob[::-1]
    proven = bisect_left(order, True, key=lambda threshold: not test(proof, float(threshold)))
    return _short(float(order[proven - 1]), up=not up, grid=sample.grid) if proven else None


def _proven_by_choice(sample: Sample, proof: _Proof, rng: np.random.Generator) -> float | None:
    """The last threshold of a sequence, or the one threshold, that some draws choose and all others
    prove.
    """
    share = max(_CHOOSING, min(0.5, _FEWEST / max(sample.n_draws, 1)))
    judge, chooser = sample.split(folds=1, held_out=(share,), rng=rng.spawn(1)[0])
    if not chooser.total_weight > 0 or not judge.total_weight > 0:
        return None
    test, scale = _tester(judge, proof), judge.n / chooser.n
    thresholds, flagged, hits = _expected(chooser)
    gap, spread = proof.margin((hits, flagged - hits, hits[-1], flagged[-1] - hits[-1]), scale)
    first = int(np.argmax(gap / (spread * math.sqrt(1 + 1 / scale))))
    alone = (
        list(proof.targets) == ["precision"] and proof.base_rate is None and proof.by_number(judge)
    )
    if alone and flagged[first] < _SURE and flagged[first] == first + 1:
        number = np.arange(1.0, max(2.0, _SURE * scale))
        share_of_flagged = (
            np.interp(number / scale, np.append(0.0, flagged), np.append(0.0, hits))
            * scale
            / number
        )
        expected = number / scale * share_of_flagged
        gap, spread = proof.margin(
            (expected, number / scale - expected, hits[-1], flagged[-1] - hits[-1]), scale
        )
        prob, events, others = _flagged(judge)
        rows = int(
            np.searchsorted((events + others)[::-1], number[np.argmax(gap / spread)], "right")
        )
        if rows > len(prob):  # there are not as many
            return None
        threshold = _short(float(prob[-rows]), up=True, grid=sample.grid, above=True)
        return threshold if test(proof, threshold) else None
    found = None
    for threshold in thresholds[first:].tolist():
        asked = _short(threshold, up=False, grid=sample.grid)
        if not test(proof, asked):
            break
        found = asked
    return found


def _expected(sample: Sample) -> tuple[Floats, Floats, Floats]:
    """Predictions from the largest down, and how many rows and (by a logistic regression) events
    are flagged there.
    """
    table = sample.distinct()
    # Rows of unequal weight choose where to begin as if they were as many as they tell of.
    each = (
        float(sample.n) if sample._group is not None else sample.effective_n
    ) / sample.total_weight
    rows = DistinctTable(table.prob, table.negative * each, table.positive * each)
    total = rows.negative + rows.positive
    flagged, hits = (
        np.cumsum(total[::-1]),
        np.cumsum((total * fit_logistic_correction(rows)(rows.prob))[::-1]),
    )
    some = np.unique(np.geomspace(1, len(total), _STEPS).astype(np.int64)) - 1
    return rows.prob[::-1][some], flagged[some], hits[some]


def _short(threshold: float, *, up: bool, grid: int | None, above: bool = False) -> float:
    """A threshold with few digits, a little larger or smaller; `above` asks for a larger one."""
    if grid is not None:
        return min(threshold + above / grid, 1.0)
    near = min(threshold, 1 - threshold)
    places = 4 if near <= 0 else min(max(4, 3 - math.floor(math.log10(near))), 16)
    unit = Decimal(1).scaleb(-places)
    found = Decimal(threshold).quantize(unit, ROUND_CEILING if up else ROUND_FLOOR)
    # the double nearest to a short number can be below it
    if not up and float(found + unit) == threshold:
        found += unit
    if above and float(found) <= threshold:
        found += unit
    return float(found)


def _rows_needed(sample: Sample, proof: _Proof) -> int | None:
    """With how many rows about half of the samples would prove a threshold, if these rows tell it."""
    thresholds, flagged, hits = _expected(sample)
    if not proof.by_number(sample):
        evidence = _evidence(sample, proof.max_weight)
        most = max(evidence(proof, threshold) for threshold in thresholds[::8].tolist())
        needed = -math.log(proof.delta) / most if most > 0 else math.inf
        return math.ceil(sample.n * needed / (1 - _CHOOSING)) if needed < _MOST else None
    numbers = hits, flagged - hits, hits[-1], flagged[-1] - hits[-1]

    def enough(n: float) -> bool:
        return bool((proof.margin(numbers, n * (1 - _CHOOSING) / sample.n)[0] >= 0).any())

    low, high = float(sample.n), float(_MOST)
    if not enough(high):
        return None
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return math.ceil(high)
