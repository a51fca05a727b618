"""A threshold that is proven to keep a target: precision, recall, false positive rate.

Here are the public function, its words and what is measured. The proof is in
`rainproof.inference.target_proofs`, the search in `rainproof.inference.threshold_search`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats
from rainproof.core.curve import flagged
from rainproof.core.distinct import DistinctTable
from rainproof.core.result import Result, result_class
from rainproof.core.sample import Sample
from rainproof.core.text import percent, rows, these_rows
from rainproof.core.validation import BaseRate
from rainproof.errors import InputError
from rainproof.inference.assumptions import if_drawn
from rainproof.inference.options import Seed, as_seed, check_share
from rainproof.inference.target_proofs import TargetProof
from rainproof.inference.threshold_search import find_proven_threshold, rows_needed

_TARGETS = ("precision", "recall", "false_positive_rate")
_POINTS = 512  # of the curves of a result


@result_class
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
        asked = " and ".join(_in_words(name, share) for name, share in self.targets.items())
        level = percent(self.confidence_level)
        if self.threshold is None:
            return self._not_proven(asked, level)
        rate = ""
        if self.base_rate is not None:
            rate = f" at the base rate {percent(self.base_rate)}"
        measured = []
        for name in _TARGETS:
            value = getattr(self, name)
            if value is not None:
                measured.append(f"{name.replace('_', ' ')} {100 * value:.3g}%")
        flags = f"it flags {100 * (self.flagged or 0):.3g}% of the cases{rate}"
        drawn = if_drawn(self.groups, "the threshold", self.base_rate, self.max_weight)
        return (
            f"Flag cases from {self.threshold:.10g} on: proven with {level} confidence to have "
            f"{asked}{rate}.\n"
            f"On {these_rows(self.n)} {flags}; measured there: {', '.join(measured)}.\n"
            f"The proof holds if {drawn}."
        )

    def _not_proven(self, asked: str, level: str) -> str:
        sentences = [f"No threshold is proven to have {asked} with {level} confidence."]
        if not self._is_met_anywhere():
            what = "all of that at once" if len(self.targets) > 1 else "it"
            sentences.append(f"On {these_rows(self.n)} no threshold has {what}.")
        if self.rows_needed is not None:
            many = rows(self.rows_needed)
            sentences.append(
                f"About half of the samples with {many} like these would prove one (an estimate)."
            )
        return " ".join(sentences)

    def _is_met_anywhere(self) -> bool:
        """Whether these rows have all targets at some threshold."""
        met = np.ones(len(self.thresholds), np.bool_)
        for name, share in self.targets.items():
            measured = getattr(self, f"{name}s")
            if name == "false_positive_rate":
                met &= measured <= share
            else:
                met &= measured >= share
        return bool(met.any())


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
    A target is a share :math:`\theta` of successes among trials: events among flagged cases
    (precision), flagged cases among events (recall), cases that are not flagged among those without
    the event (1 minus the false positive rate). At a threshold that is fixed, k successes in m
    trials are proof if

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
    Angelopoulos, Bates, Candès, Jordan, Lei (2021), "Learn then test", arXiv:2110.01052 (sequences
    of thresholds). Geifman, El-Yaniv (2017), "Selective classification for deep neural networks",
    arXiv:1705.08500.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> y = rng.random(4000) < p
    >>> print(rainproof.find_threshold(y, p, precision=0.8))
    Flag cases from 0.646 on: proven with 95% confidence to have a precision of at least 80%.
    On these 4,000 rows it flags 35.3% of the cases; measured there: precision 82.3%,
    recall 57.5%, false positive rate 12.6%.
    The proof holds if the rows were drawn independently from the population in which the
    threshold will be used.
    """
    sample = as_sample(
        y_true,
        y_prob,
        sample_weight=sample_weight,
        pos_label=pos_label,
        groups=groups,
        base_rate=base_rate,
        rates=True,
    )
    if max_weight is not None:
        sample.require_rows("max_weight needs")
        sample = sample.with_max_weight(max_weight)
    elif sample.units.has_weights:
        raise InputError(
            "weights must have a largest possible value that is stated: a sample can lack the "
            "heavy rows, and have weights that are all equal, so that the proof would be false",
            hint="; ",
            remedy=(
                "state max_weight, the largest weight that a row (with groups, a whole group) can "
                "have; no weights are needed where all cases have the same"
            ),
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
    if "recall" in targets and len(targets) > 1:
        delta /= 2  # recall is then proven by itself
    sample = sample.scenarios()[0].at_edges().in_order()  # of a range of base rates the lower end
    # Recall and false positive rate, which precision at a base rate follows from, are those of the
    # rows as they were drawn.
    stated_rate = None
    drawn = sample
    if sample.design.strata is not None:
        stated_rate = sample.design.strata.low
        drawn = sample.as_drawn().at_edges().in_order()
    proof = TargetProof(targets, delta, stated_rate)
    threshold = find_proven_threshold(drawn, proof, generator)
    needed = rows_needed(drawn, proof) if threshold is None else None
    table = sample.distinct()
    # from the largest prediction down
    shown = np.unique(np.linspace(0, len(table.prob) - 1, _POINTS).astype(np.int64))[::-1]
    thresholds = table.prob[shown]
    precisions, recalls, false_positive_rates, _ = _measured(table, thresholds)
    return ProvenThreshold(
        threshold=threshold,
        targets=targets,
        rows_needed=needed,
        thresholds=thresholds,
        precisions=precisions,
        recalls=recalls,
        false_positive_rates=false_positive_rates,
        confidence_level=float(confidence_level),
        n=sample.n,
        groups=sample.groups,
        base_rate=stated_rate,
        seed=seed,
        max_weight=sample.design.max_weight,
        **_measured_at(table, threshold),
    )


def _check_targets(asked: Mapping[str, float | None]) -> dict[str, float]:
    """Return the targets that were given, each between 0 and 1."""
    targets = {name: check_share(share, name) for name, share in asked.items() if share is not None}
    if not targets:
        raise InputError(f"state a target: {', '.join(asked)}, or several of them")
    return targets


def _in_words(name: str, share: float) -> str:
    sense = "at most" if name == "false_positive_rate" else "at least"
    return f"a {name.replace('_', ' ')} of {sense} {percent(share)}"


def _measured(table: DistinctTable, thresholds: Floats) -> Floats:
    """Precision, recall, false positive rate and the share of the rows, of what is flagged from
    thresholds on.
    """
    hits, alarms, misses, rest = flagged(table, thresholds)
    with np.errstate(invalid="ignore"):
        precision = hits / (hits + alarms)
        recall = hits / (hits + misses)
        false_positive_rate = alarms / (alarms + rest)
    return np.stack([precision, recall, false_positive_rate, hits + alarms])


def _measured_at(table: DistinctTable, threshold: float | None) -> dict[str, float | None]:
    """The same at one threshold, by name; None where it is not defined."""
    names = (*_TARGETS, "flagged")
    if threshold is None:
        return dict.fromkeys(names)
    values = _measured(table, np.array([threshold]))[:, 0].tolist()
    return {
        name: None if math.isnan(value) else value
        for name, value in zip(names, values, strict=True)
    }
