"""The recalibrator: fit a map from predictions to better ones, with a certificate."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core import validation
from rainproof.core.arrays import Floats, Ints
from rainproof.core.classes import ClassSample, as_classes
from rainproof.core.files import Saved, check_document, document
from rainproof.core.piecewise import PiecewiseMap, checked_probabilities
from rainproof.core.result import plain
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.text import aligned, at_least, at_most, short, wrapped
from rainproof.core.text import rows as rows_text
from rainproof.core.validation import BaseRate, ColumnNames, ThresholdRange
from rainproof.decisions.class_tasks import ClassTask
from rainproof.errors import InputError
from rainproof.inference.bounds import largest_draws
from rainproof.inference.options import Seed, as_seed, check_share
from rainproof.recalibration import classes, export, selection
from rainproof.recalibration.certificate import (
    Certificate,
    HeldOutRates,
    SegmentMap,
    certify,
    correct,
    held_out_rates,
)
from rainproof.recalibration.classes import ClassCertificate, ClassMap
from rainproof.recalibration.method_names import CLASS_METHODS
from rainproof.recalibration.methods import IDENTITY, METHODS, check_shape
from rainproof.recalibration.selection import Candidate, Division

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from onnx import ModelProto


_VERSION = 1
_KEYS = (
    *("method", "methods", "confidence_level", "threshold_range", "by", "n", "groups"),
    *("map", "candidates", "certificate", "segments"),
)
MEAN = "mean"
"""The method of a map that is the mean of several."""

_SHOWN = 12  # segments
_WEIGHTS_OFF = 1e-6  # of 1, for the sum of weights that were rounded
_WIDEST = 40  # characters of a segment's name
_NAMED = 3  # segments in a message


def choice(method: str, candidates: Sequence[Candidate]) -> str:
    """What the map is, and why."""
    if not candidates:
        return "Method 'none': nothing could be fitted to these rows, so the probabilities stay as they are."
    if method != MEAN:
        return f"Method {method!r}, the only one that was tried."
    return (
        f"The map is the weighted mean of the maps of {len(candidates)} methods. The better a method predicts rows "
        "that it was not fitted to, by its log loss in cross-validation, the larger is its weight; one below 1% is 0."
    )


def candidate_table(candidates: Sequence[Candidate]) -> str:
    """A line for each method, those of the largest weight first."""
    rows = [
        (c.method, f"{100 * c.weight:.0f}%", f"{c.log_loss:.4f}", f"{c.brier_score:.4f}")
        for c in sorted(candidates, key=lambda c: -c.weight)
    ]
    return _table(("method", "weight", "log loss", "Brier score"), rows) if rows else ""


def proven(certificate: Certificate | None, n: int, groups: int | None) -> str:
    """The certificate, or why there is none, given what the map was fitted to."""
    if certificate is not None:
        return str(certificate)
    fitted, draws = (
        (rows_text(n), "rows") if groups is None else (f"{groups:,} groups of rows", "groups")
    )
    return (
        f"No certificate: the map is fitted to all {fitted}. With fewer than {selection.CERTIFIED:,} {draws} a "
        "certificate would say next to nothing, and cost a quarter of them."
    )


def segment_table(
    by: Sequence[str], segments: Sequence[SegmentMap], within: ThresholdRange | None = None
) -> str:
    """A line for each segment: what it uses, the gain by its own map, and the loss by it beside no
    recalibration.
    """
    ordered = sorted(segments, key=lambda segment: -segment.gain_at_least)
    rows = [
        (
            _name(segment.segment),
            "own map" if segment.corrected else "map of all rows",
            at_least(segment.gain_at_least) if segment.corrected else "",
            at_most(segment.harm_bound),
            f"{segment.n:,}",
        )
        for segment in ordered[:_SHOWN]
    ]
    if not rows:
        return ""
    if not any(segment.n for segment in segments):
        words = "Every segment uses the map of all rows: they are too few to prove that one gains by a map of its own."
        return f"{wrapped(words)}\n"
    more = len(segments) - len(rows)
    head = (_name(tuple(by)), "uses", "gain at least", "loss at most", "rows held out")
    rest = f"and {more:,} more segments\n" if more else ""
    which = "" if within is None else f" in decisions {within}"
    words = (
        "Gain: by the segment's own map beside the map of all rows. Loss: by the map that is used beside the original "
        f"probabilities. Both are shares of what is at stake{which}. Each column holds for all segments at once."
    )
    return f"{_table(head, rows)}{rest}{wrapped(words)}\n"


def _name(key: Any) -> str:
    labels = key if isinstance(key, tuple) else (key,)
    name = ", ".join("(none)" if label is None else str(label) for label in labels)
    return short(name, _WIDEST)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return "".join(f"{line}\n" for line in aligned([head, *rows], left=1))


class Recalibrator(Saved):
    """Recalibrate predicted probabilities: the mean of several maps, in which better ones count
    more.

    `fit` fits several methods and weights their maps by how well they predict in cross-validation.
    With 2,000 rows or more, a quarter of them is kept aside: the certificate is proven on them.

    Parameters
    ----------
    methods : "auto", str or sequence of str
        The methods: some of "logistic", "beta", "temperature", "none", "isotonic", "bins_8",
        "bins_32", "bins_128" and "constant". "auto" takes them all. The map is the mean of theirs,
        or that of a single method.
    confidence_level : float
        Of each bound in the certificate.
    threshold_range : float or (float, float), optional
        Certify the map for decisions with one threshold, or whose thresholds all lie in this range,
        ends included; a segment has a map of its own where such a decision gains. Default: every
        decision.
    rng : numpy.random.Generator, int or None
        The source of randomness for the parts that rows are divided into. The same rows, in any
        order, give the same map with the same seed; None takes fresh entropy. Do not try several
        seeds, or edited rows, and keep the best certificate: the confidence is for one.

    Attributes
    ----------
    method_ : str
        "mean", or the only method that was tried; "none" where nothing could be fitted.
    candidates_ : tuple of Candidate
        The weight of each method, and what it is from.
    map_ : PiecewiseMap or ClassMap
        The map itself: straight pieces; with more than two classes, a map of rows of probabilities.
    certificate_ : Certificate, ClassCertificate or None
        What is proven of it, from rows that it was not fitted to. None with fewer than 2,000 rows
        (with `groups`, groups): it would say next to nothing, and the map needs the rows.
    segments_ : tuple of SegmentMap
        With `by`: what is used in each segment, and what is proven of it.
    n_ : int
        The number of rows that the map is fitted to.
    groups_ : int or None
        The number of their groups, if rows depend on each other.

    Notes
    -----
    Methods: "temperature" and "logistic" (Platt) are logistic regressions on the logit with one and two parameters,
    "beta" has three, of which the two slopes are at least 0; "isotonic" is isotonic regression with straight lines
    between the mean predictions of its blocks, so it keeps the order of predictions, and with end blocks half a row off
    0 and 1, so no log loss is infinite (scikit-learn's `IsotonicRegression` is level over each block, and often 0 and 1
    at the ends); "bins_8" to "bins_128" take the event rate in bins with equal numbers of rows, and correct what is not
    monotone; "none" leaves predictions as they are, and "constant" is the event rate.

    The weight of a method is in proportion to ``exp(-L)``, where ``L`` is its log loss in nats,
    summed over all rows, by cross-validation in five folds: how likely the outcomes were, by the
    maps that had not seen them. Few rows cannot tell methods apart, and choosing one of them would
    be a lottery; the mean hardly depends on a single row. Weights below 1% are 0.
    docs/benchmarks/study-recalibration.md compares the mean with other ways. A `threshold_range`
    does not change the weights: by the loss in the range alone they were worse for the decisions of
    the range itself (docs/guide/threshold-range.md), as fewer rows tell methods apart.

    *Several classes.* With more than two columns of predictions the methods are "temperature" (one
    slope for the logarithms of all probabilities), "vector" (a slope and an intercept for each
    class; up to 100 classes), "matrix" (every logarithm in every score, with a prior that shrinks
    what other classes add; up to 20 classes), both with a prior around "temperature", "isotonic"
    (of each class against the rest, divided by their sum), "none" and "constant"; by name also the
    other methods of one event, of each class against the rest. They are weighted likewise, from
    20,000 rows on by two folds. The certificate is for every decision about any one class, all
    classes at once, and for a `task`. docs/guide/classes.md has an example.

    Rows must be drawn independently from the population in which the map will be used (groups of
    rows, with `groups`). With `base_rate` only predictions given the outcome must be distributed as
    there.

    Examples
    --------
    >>> import numpy as np, rainproof
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(8000)
    >>> y = rng.random(8000) < p**2                        # events are rarer than predicted
    >>> r = rainproof.Recalibrator(rng=0).fit(p, y)
    >>> r.predict([0.3, 0.7]).round(1).tolist()
    [0.1, 0.5]
    >>> r.certificate_.harm_bound < 0.03 and r.certificate_.gain_at_least > 0.01
    True
    """

    method_: str
    candidates_: tuple[Candidate, ...]
    map_: Any  # a PiecewiseMap, or a ClassMap
    certificate_: Any  # a Certificate, a ClassCertificate or None
    n_: int
    groups_: int | None
    segments_: tuple[SegmentMap, ...]
    _by: tuple[str, ...] | None
    _maps: dict[tuple[str | None, ...], PiecewiseMap]  # of segments, by what their labels say
    _rates: HeldOutRates | None = None

    def __init__(
        self,
        methods: Literal["auto"] | str | Sequence[str] = "auto",
        *,
        confidence_level: float = 0.95,
        threshold_range: float | tuple[float, float] | None = None,
        rng: Seed = 0,
    ) -> None:
        self.methods = methods
        self.confidence_level = confidence_level
        self.threshold_range = threshold_range
        self.rng = rng

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - as scikit-learn calls it
        """Return the parameters by name, as scikit-learn's estimators do."""
        return {
            name: getattr(self, name)
            for name in ("methods", "confidence_level", "threshold_range", "rng")
        }

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as scikit-learn's estimators do."""
        for name, value in params.items():
            if name not in self.get_params():
                raise InputError(
                    f"a Recalibrator has the parameters {', '.join(self.get_params())}, not {name}"
                )
            setattr(self, name, value)
        return self

    def fit(
        self,
        p: ArrayLike | Sample | Segments,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        groups: ArrayLike | None = None,
        max_weight: float | None = None,
        by: ArrayLike | Mapping[str, ArrayLike] | None = None,
        labels: Sequence[Any] | None = None,
        task: Any = None,
        base_rate: BaseRate | None = None,
    ) -> Self:
        """Fit the map, and prove what it does.

        Parameters
        ----------
        p : array_like of shape (n,) or (n, k), Sample, ClassSample or Segments
            The predicted probability of the event, in [0, 1], or of each class; or rows as `scan`
            gives them, alone.
        y : array_like of shape (n,)
            The outcomes: 0 or 1, or any two labels with `pos_label`.
        sample_weight : array_like of shape (n,), optional
            The weight of each row: fixed weights, as for `guarantee`.
        pos_label : object, optional
            The label of the event, if labels are not 0 and 1.
        groups : array_like of shape (n,), optional
            The group of each row (patient, site, day): rows of a group may depend on each other,
            groups must be independent. They are fitted or held out as a whole. For the certificate,
            their sizes must not depend on predictions or outcomes, unless `max_weight` is stated.
        max_weight : float, optional
            As for `guarantee`: the largest weight that a row can have (with `groups`, a whole
            group), known beforehand. It serves the certificate; the map is the same. Not for more
            than two classes.
        by : array_like of shape (n,), or mapping of names to such, optional
            The segment of each row. A segment gets a map of its own only where rows held out prove
            that a decision gains by it.
        labels : sequence of length k, optional
            The labels of the classes, if `p` has a column for each. Default: the names of a frame's
            columns, or 0, 1...
        task : ClassTask, optional
            With more than two classes: a decision whose saving the certificate proves.
        base_rate : float or pair of float, optional
            The event rate of the population in which the map will be used, if these rows have
            another one (see `Sample`): the map mends the predictions to it. Of a range it is fitted
            for the middle in log odds, and the upper bounds of the certificate hold for all of it;
            no gain is proven then. Not together with `sample_weight`, `groups` or `by`.

        Returns
        -------
        Recalibrator
            Itself.
        """
        if y is not None or isinstance(p, ClassSample):
            columns = {
                "sample_weight": sample_weight,
                "groups": groups,
                "labels": labels,
                "pos_label": pos_label,
            }
            given = (p, y) if isinstance(p, ClassSample) else (y, p)
            several = as_classes(
                *given,
                names=ColumnNames(label="y", prob="p"),
                by=by,
                base_rate=base_rate,
                **columns,
            )
            if several is not None:
                if max_weight is not None:
                    raise InputError("max_weight is for one event: not for several classes")
                self._fit_classes(several, task)
                return self
        if task is not None:
            raise InputError(
                "task is for more than two classes: of one event, every decision is certified"
            )
        if validation.class_columns(p) == 2:
            if pos_label is not None:
                raise InputError(
                    "pos_label is for one column: of two classes, the event is the second one"
                )
            p, y = Sample(y, p, sample_weight=sample_weight, labels=labels), None  # type: ignore[arg-type]
            sample_weight = None
        elif labels is not None:
            raise InputError(
                "labels are for predictions with a column for each class; p has one column"
            )
        columns = {
            "sample_weight": sample_weight,
            "pos_label": pos_label,
            "groups": groups,
            "by": by,
        }
        self._fit(selection.read_rows(p, y, columns, base_rate), max_weight=max_weight)
        return self

    def _fit(
        self,
        rows: Sample | Segments,
        *,
        hold_out: bool | None = None,
        max_weight: float | None = None,
    ) -> Division | None:
        """Fit, and return the rows as they were divided: none are kept. None if nothing can be
        fitted to them.

        By default rows are held out for a certificate if there are enough.
        """
        methods = _check_methods(self.methods)
        level, within = (
            check_share(self.confidence_level, "confidence_level"),
            validation.check_range(self.threshold_range),
        )
        # not the generator itself: it may have drawn the rows
        (rng,) = as_seed(self.rng, rows)[0].spawn(1)
        by = rows.by if isinstance(rows, Segments) else None
        sample = rows.pooled if isinstance(rows, Segments) else rows
        if max_weight is not None:
            largest_draws(sample, max_weight)  # which checks it, also where nothing is certified
        if (cannot := selection.cannot_fit(rows)) is not None:
            # all rows can certify what the original probabilities do
            warnings.warn(cannot, stacklevel=3)
            held = [(sample._floor() if sample._divisible else sample, IDENTITY)]
            self.certificate_ = certify(held, None, level, within, max_weight)
            self.method_, self.candidates_, self.segments_, self.map_ = "none", (), (), IDENTITY
            self._by, self._maps, self._rates = by, {}, None
            self.n_, self.groups_ = sample.n, sample.groups
            return None
        if hold_out is None:
            rarer = (
                selection.CERTIFIED
                if sample._rates is None
                else min(sample._events, sample.n - sample._events)
            )
            hold_out = (
                sample.n_draws >= selection.CERTIFIED and rarer >= selection.FEWEST_OF_AN_OUTCOME
            )
        whole, segments = selection.divide(rows, rng, hold_out=hold_out)
        _check_segments(segments)
        found, candidates = selection.mean_map(whole, methods)
        maps, judged = correct(found, segments, level, within, max_weight)
        certificate, rates = None, None
        if hold_out:
            held = [(part.held_out[0], maps.get(key, found)) for key, part in segments.items()]
            chooser = None if found is IDENTITY and not maps else whole.pairs(IDENTITY, found)
            certificate = certify(
                held or [(whole.held_out[0], found)], chooser, level, within, max_weight
            )
            rates = held_out_rates(whole.held_out[0], level)
        if found is not IDENTITY:
            found = replace(found, fitted_range=selection.fitted_range(sample))
        maps = {
            key: replace(own, fitted_range=selection.fitted_range(rows[key]))
            for key, own in maps.items()
        }
        # Nothing is assigned before all is computed: a map never stands beside the certificate of
        # another.
        self.certificate_, self._rates = certificate, rates
        self.candidates_, self.method_, self.map_ = (
            candidates,
            MEAN if len(methods) > 1 else methods[0],
            found,
        )
        self._by, self._maps, self.segments_ = (
            by,
            {validation.spelled_key(key): own for key, own in maps.items()},
            judged,
        )
        self.n_ = sample.n - sum(part.n for part in whole.held_out)
        self.groups_ = sample.groups and sample.groups - sum(
            part.groups or 0 for part in whole.held_out
        )
        return whole

    def _fit_classes(
        self, sample: ClassSample, task: ClassTask | None = None
    ) -> ClassSample | None:
        """Fit the map of several classes, and return the rows held out, if any: none are kept."""
        methods = _check_methods(self.methods, classes.KNOWN_METHODS, CLASS_METHODS)
        if validation.check_range(self.threshold_range) is not None:
            raise InputError("threshold_range is for one event: not for several classes")
        level = check_share(self.confidence_level, "confidence_level")
        (rng,) = as_seed(self.rng, sample)[0].spawn(1)
        if task is not None:
            task.check_classes(sample)
        if (cannot := selection.cannot_fit(sample)) is not None:
            warnings.warn(cannot, stacklevel=3)
            found, fitted, held = (
                ClassMap(classes=sample.classes, parts=(classes.UNCHANGED,)),
                sample,
                None,
            )
            candidates: tuple[Candidate, ...] = ()
        else:
            fitted, fold, held = classes.divide_classes(
                sample, rng, hold_out=sample.n_draws >= selection.CERTIFIED
            )
            found, candidates = classes.mean_of_maps(fitted, methods, fold)
        certificate = (
            None if held is None else classes.certify_classes(held, fitted, found, level, task)
        )
        self.certificate_, self._rates, self.map_, self.candidates_ = (
            certificate,
            None,
            found,
            candidates,
        )
        self.method_ = (
            "none" if not candidates else MEAN if len(candidates) > 1 else candidates[0].method
        )
        self._by, self._maps, self.segments_, self.n_, self.groups_ = (
            None,
            {},
            (),
            fitted.n,
            fitted.groups,
        )
        return held

    def predict(
        self,
        p: ArrayLike,
        *,
        by: ArrayLike | Mapping[str, ArrayLike] | None = None,
        unseen: Literal["error", "pooled"] = "error",
    ) -> Floats:
        """Return the recalibrated probabilities.

        Parameters
        ----------
        p : array_like of shape (n,) or (n, k)
            Probabilities, in [0, 1]. With a column for each class the result has them too, and its
            rows sum to 1. Of one event an `ExtrapolationWarning` tells if more than 1% lie outside
            of those that the map was fitted to.
        by : array_like of shape (n,), or mapping of names to such, optional
            The segment of each row, if it was fitted with segments. What a label says counts, not
            its type: 1, 1.0 and "1" are one segment; True, "True" and "true" are another. Segments
            without a map of their own use the map of all rows.
        unseen : {"error", "pooled"}
            What to do with segments that were not seen by `fit`: refuse them, or use the map of all
            rows.
        """
        self._check_fitted()
        _check_unseen(unseen)
        if (by is None) != (self._by is None):
            raise InputError(
                "by is missing: the map was fitted with segments"
                if by is None
                else "by was not given to fit"
            )
        if isinstance(self.map_, ClassMap):
            return self.map_(p)
        if validation.class_columns(p) == 2:
            event = self.predict(Sample([0] * len(p), p).y_prob, by=by, unseen=unseen)  # type: ignore[arg-type]
            return np.stack([1 - event, event], axis=1)
        prob = checked_probabilities(p)
        if by is None:
            return self._predict_warning(prob, {})
        validation.check_aligned(("p", p), *validation.named_columns(by))
        if isinstance(by, Mapping) and self._by is not None and set(by) == set(self._by):
            by = {name: by[name] for name in self._by}
        names, places = validation.rows_by_segment(by, len(prob))
        if names != self._by:
            raise InputError(
                f"by must name {', '.join(self._by or ())}; it names {', '.join(names)}"
            )
        new = self._unseen(places) if unseen == "error" else {}
        if new:
            raise InputError(
                f"{unseen_text(new)}: unseen='pooled' uses the map of all rows for them"
            )
        return self._predict_warning(prob, places)

    def _predict_warning(self, prob: NDArray[Any], places: Mapping[Any, Ints]) -> Floats:
        """Return the values for `predict`, with its warning."""
        self.map_.warn_outside(self._outside(prob, places), len(prob), stacklevel=4)
        return self._predict(prob, places)

    def _outside(self, prob: NDArray[Any], places: Mapping[Any, Ints]) -> int:
        """Count the predictions outside of those that the map of their segment was fitted to."""
        count: int = self.map_.outside(prob)
        for key, at in places.items():
            own = self._maps.get(validation.spelled_key(key))
            if own is not None:
                count += own.outside(prob[at]) - self.map_.outside(prob[at])
        return count

    def _predict(self, prob: NDArray[Any], places: Mapping[Any, Ints]) -> Floats:
        """Return the values at predictions that were checked already, given the rows of each
        segment.
        """
        value: Floats = self.map_.apply(prob)
        for key, at in places.items():
            own = self._maps.get(validation.spelled_key(key))
            if own is not None:
                value[at] = own.apply(prob[at])
        return value

    def _unseen(self, places: Mapping[Any, Ints]) -> dict[Any, int]:
        """The segments that the map has not seen, with their numbers of rows; where nothing was
        fitted, none is new.
        """
        seen = {validation.spelled_key(segment.segment) for segment in self.segments_}
        return {
            key: len(at)
            for key, at in places.items()
            if seen and validation.spelled_key(key) not in seen
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the map into axes (default: new ones) and return them; see
        `rainproof.plots.recalibration`.
        """
        from rainproof.plots import recalibration

        self._one_event("plot")
        return recalibration(self, ax)

    def to_sql(
        self,
        p: str | Sequence[str],
        *,
        by: str | Sequence[str] | Mapping[str, str] | None = None,
        dialect: str = "ansi",
        unseen: Literal["error", "pooled"] = "error",
    ) -> Any:
        """Return an SQL expression that gives the same bits as `predict`, whatever engine computes
        it.

        Of more than two classes: a dict with an expression for each class, the same up to rounding
        (1e-12).

        Parameters
        ----------
        p : str or sequence of str
            The column of probabilities; of more than two classes, the column of each, in the order
            of the classes.
        by : str, sequence of str, or mapping of names to str, optional
            The columns of the segments, if it was fitted with segments: in the order of the names
            that were given to `fit`, or by those names. They may be text, integers, doubles or
            booleans: as in `predict`, what a label says counts. A label None stands for NULL.
        dialect : {"ansi", "duckdb", "postgresql", "spark", "sqlite"}
            How the engine spells what is needed.
        unseen : {"error", "pooled"}
            What segments get that were not seen by `fit`: NULL, or the value of the map of all
            rows.

        Returns
        -------
        str, or dict of labels to str
            NULL for a `p` that is NULL, NaN or not in [0, 1] (in SQLite, also for text), and for an
            unseen segment; of several classes also where a row does not sum to 1 (within 1e-4).

        Notes
        -----
        Doubles must be those of IEEE 754, as in all these engines. The expression has about 200 characters for each
        straight piece of the map (`map_`), and its depth is the logarithm of their number. Each expression of several
        classes has all of the map in it, and uses LN and EXP, which SQLite has if it was built with them.

        Examples
        --------
        >>> import rainproof
        >>> r = rainproof.Recalibrator("constant", rng=0).fit([0.25, 0.75] * 50, [0, 1] * 50)
        >>> print("SELECT", r.to_sql("p", dialect="sqlite"), "FROM forecasts")  # doctest: +ELLIPSIS
        SELECT CASE WHEN "p" IS NULL OR NOT (CAST("p" AS REAL) >= 0 AND CAST("p" AS REAL) <= 1) OR ... FROM forecasts
        """
        self._check_fitted()
        _check_unseen(unseen)
        if isinstance(self.map_, ClassMap):
            export.columns_of(by, ())
            return classes.classes_as_sql(self.map_, p, dialect)
        if not isinstance(p, str):
            raise InputError(f"p must name one column, of the event; it is {p!r}")
        for segment in self.segments_:
            _labels(segment.segment, "in SQL")
        seen = [validation.spelled_key(segment.segment) for segment in self.segments_]
        others = (
            [key for key in seen if key not in self._maps] if seen and unseen == "error" else None
        )
        return export.as_sql(
            p, dialect, self.map_, self._maps, others, export.columns_of(by, self._by or ())
        )

    def to_onnx(self) -> ModelProto:
        """Return the map as an ONNX model: doubles "p" of shape (n,) to doubles "probability" of
        the same shape.

        With more than two classes: "p" of shape (n, k) to "probabilities" of the same shape, up to
        rounding (1e-12).

        onnxruntime gives the same bits as `predict` on a CPU; NaN for a `p` that is NaN or not in
        [0, 1]. Needs onnx: ``pip install onnx``.

        Raises
        ------
        InputError
            If it was fitted with segments: a model has one map. Fit one recalibrator for each
            segment, or use `to_sql`.

        Examples
        --------
        >>> import rainproof
        >>> r = rainproof.Recalibrator("logistic", rng=0).fit([0.25, 0.75] * 50, [0, 1] * 50)
        >>> model = r.to_onnx()
        >>> model.graph.input[0].name, model.graph.output[0].name
        ('p', 'probability')
        """
        self._check_fitted()
        if isinstance(self.map_, ClassMap):
            return classes.classes_as_onnx(self.map_)
        if self._by is not None:
            raise InputError(
                "to_onnx needs a map without segments: fit one for each segment, or use to_sql"
            )
        return export.as_onnx(self.map_)

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted map, the weights of its methods and its certificate in built-in types,
        ready for JSON.

        `from_dict` reads it. "digest" is the SHA-256 of all the rest, so that damage is noticed.
        The labels of segments must be text, finite numbers, bools or None.
        """
        self._check_fitted()
        one = isinstance(self.methods, str) and self.methods != "auto"
        for label in self.map_.classes if isinstance(self.map_, ClassMap) else ():
            validation.check_label(label, "to be stored")
        segments = []
        for segment in self.segments_:
            own = self._maps.get(validation.spelled_key(segment.segment))
            labels = {
                "segment": _labels(segment.segment, "to be stored"),
                "map": own and own.to_dict(),
            }
            segments.append(segment.to_dict() | labels)
        content = {
            "method": self.method_,
            "methods": [self.methods]
            if one
            else "auto"
            if self.methods == "auto"
            else list(self.methods),
            "confidence_level": self.confidence_level,
            "threshold_range": plain(validation.check_range(self.threshold_range)),
            "by": None if self._by is None else list(self._by),
            "n": self.n_,
            "groups": self.groups_,
            "map": self.map_.to_dict(),
            "candidates": [candidate.to_dict() for candidate in self.candidates_],
            "certificate": self.certificate_ and self.certificate_.to_dict(),
            "segments": segments,
        }
        return document("recalibrator", _VERSION, content)

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read what `to_dict` wrote; anything that was changed is refused."""
        data = check_document(data, "recalibrator", version=_VERSION, keys=_KEYS)
        by = None if data["by"] is None else tuple(export.list_of(data["by"], "by", str))
        methods = (
            data["methods"]
            if data["methods"] == "auto"
            else export.list_of(data["methods"], "methods", str)
        )
        several = isinstance(data["map"], dict) and "classes" in data["map"]
        known = classes.KNOWN_METHODS if several else tuple(METHODS)
        for name, given, also in (("method", [data["method"]], (MEAN,)), ("methods", methods, ())):
            unknown = (
                [method for method in given if method not in (*known, *also)]
                if given != "auto"
                else []
            )
            if unknown:
                raise InputError(
                    f"{name!r} must be among {', '.join(known)}; {unknown[0]!r} is not"
                )
        columns = 0 if by is None else len(by)
        segments = [
            export.segment_of(part, columns)
            for part in export.list_of(data["segments"], "segments", dict)
        ]
        _check_segments(segment.segment for segment, _ in segments)
        level = check_share(data["confidence_level"], "confidence_level")
        found = cls(
            methods,
            confidence_level=level,
            threshold_range=export.range_of(data["threshold_range"]),
        )
        found.method_, found.map_ = (
            data["method"],
            (ClassMap if several else PiecewiseMap).from_dict(data["map"]),
        )
        kind = ClassCertificate if several else Certificate
        found.certificate_ = (
            None if data["certificate"] is None else export.record_of(kind, data["certificate"])
        )
        if not several:
            check_shape(found.map_, found.method_)
        found.n_ = export.number_of(data["n"], "n", 1)
        found.groups_ = (
            None if data["groups"] is None else export.number_of(data["groups"], "groups", 1)
        )
        found.candidates_ = tuple(
            export.record_of(Candidate, one)
            for one in export.list_of(data["candidates"], "candidates", dict)
        )
        _check_candidates(found.candidates_, known)
        found.segments_ = tuple(segment for segment, _ in segments)
        found._by = by
        found._maps = {
            validation.spelled_key(segment.segment): own
            for segment, own in segments
            if own is not None
        }
        return found

    def _one_event(self, what: str) -> None:
        """Refuse a map of several classes."""
        self._check_fitted()
        if isinstance(self.map_, ClassMap):
            raise InputError(
                f"{what} is for one event, and the map has {len(self.map_.classes):,} classes"
            )

    def _check_fitted(self) -> None:
        if not hasattr(self, "map_"):
            raise InputError("the recalibrator has no map yet: call fit(p, y) first")

    def __repr__(self) -> str:
        made = f", method_={self.method_!r}" if hasattr(self, "map_") else ""
        return f"Recalibrator({self.methods!r}{made})"

    def __str__(self) -> str:
        if not hasattr(self, "map_"):
            return repr(self)
        parts = [
            choice(self.method_, self.candidates_),
            candidate_table(self.candidates_),
            proven(self.certificate_, self.n_, self.groups_),
            segment_table(
                self._by or (), self.segments_, validation.check_range(self.threshold_range)
            ),
        ]
        return "\n\n".join(part.rstrip() for part in parts if part)


def unseen_text(new: Mapping[Any, int]) -> str:
    """Say which segments are new, given the number of rows of each."""
    some = ", ".join(_name(key) for key in list(new)[:_NAMED]) + (
        ", ..." if len(new) > _NAMED else ""
    )
    return f"by has {rows_text(sum(new.values()))} of segments that the map has not seen ({some})"


def _labels(key: Any, where: str) -> list[Any]:
    """Return the labels of a segment, one for each column, if other programs understand them; dates
    as their text.
    """
    labels = list(key) if isinstance(key, tuple) else [key]
    labels = [
        validation.spelled(label) if isinstance(label, date | Decimal) else label
        for label in labels
    ]
    for label in labels:
        validation.check_label(label, where)
    return labels


def _check_segments(keys: Iterable[Any]) -> None:
    """Refuse labels that say the same, such as 1 and "1": no other program could tell their
    segments apart.
    """
    seen: dict[Any, Any] = {}
    for key in keys:
        other = seen.setdefault(validation.spelled_key(key), key)
        if other is not key:
            raise InputError(
                f"by must spell each segment in one way; {other!r} and {key!r} mean the same"
            )


def _check_candidates(candidates: Sequence[Candidate], known: Sequence[str]) -> None:
    """Refuse candidates that no fit has."""
    for candidate in candidates:
        if candidate.method not in known:
            raise InputError(
                f"'method' of a Candidate must be among {', '.join(known)}; {candidate.method!r} is not"
            )
    total = sum(candidate.weight for candidate in candidates)
    if candidates and abs(total - 1) > _WEIGHTS_OFF:
        raise InputError(f"the 'weight' of all candidates must sum to 1; they sum to {total:.6g}")


def _check_unseen(unseen: str) -> None:
    if unseen not in ("error", "pooled"):
        raise InputError(f"unseen must be 'error' or 'pooled'; it is {unseen!r}")


def _check_methods(
    methods: Literal["auto"] | str | Sequence[str],
    known: Iterable[str] = METHODS,
    auto: Iterable[str] = METHODS,
) -> list[str]:
    if not isinstance(methods, str | Sequence):
        raise InputError(f"methods must be 'auto', a name or a list of names; it is {methods!r}")
    names = (
        list(auto)
        if methods == "auto"
        else [methods]
        if isinstance(methods, str)
        else list(methods)
    )
    for name in names:
        if name not in known:
            raise InputError(
                f"methods must be 'auto' or among {', '.join(map(repr, known))}; {name!r} is not"
            )
    if not names:
        raise InputError("methods must name at least one method; it is empty")
    return [name for name in known if name in names]  # in the order of preference
