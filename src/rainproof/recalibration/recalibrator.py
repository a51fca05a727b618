"""The recalibrator: fit a map from predictions to better ones, with a certificate."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.alignment import check_aligned
from rainproof.core.arguments import as_classes
from rainproof.core.arrays import Floats, Ints
from rainproof.core.classes import class_columns
from rainproof.core.columns import ColumnNames
from rainproof.core.documents import Saved
from rainproof.core.labels import named_columns, segment_column, spelled_key
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.sample import Sample
from rainproof.core.segments import Segments
from rainproof.core.validation import BaseRate, check_range
from rainproof.decisions.class_tasks import ClassTask
from rainproof.errors import ExtrapolationWarning, InputError
from rainproof.inference.options import Seed, check_share
from rainproof.recalibration import export_onnx, export_sql, stored, summary
from rainproof.recalibration.certificate import HeldOutRates
from rainproof.recalibration.division import read_rows
from rainproof.recalibration.fitting import Fitted, fit_event, fit_several_classes
from rainproof.recalibration.maps import ClassMap
from rainproof.recalibration.method_names import CLASS_METHODS, EVENT_METHODS, KNOWN_METHODS
from rainproof.recalibration.segment_maps import SegmentMap, SpelledKey
from rainproof.recalibration.selection import Candidate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from onnx import ModelProto

_PARAMETERS = ("methods", "confidence_level", "threshold_range", "rng")


class Applied(NamedTuple):
    """What a recalibrator makes of predictions that were checked already."""

    value: Floats
    outside: int  # predictions outside of those that the map of their segment was fitted to
    unseen: dict[Any, int]  # rows of each segment that was not seen by `fit`


class Recalibrator(Saved):
    """Recalibrate predicted probabilities: the mean of several maps, in which better ones count
    more.

    `fit` fits several methods and weights their maps by how well they predict in cross-validation.
    With 2,000 rows or more, a quarter of them is kept aside: the certificate is proven on them.

    Parameters
    ----------
    methods : "auto", str or sequence of str
        The methods: some of "logistic", "beta", "temperature", "intercept", "calibrated_prior",
        "overconfident_prior", "none", "isotonic", "bins_8", "bins_32", "bins_128" and "constant".
        "auto" takes them all. The map is the mean of theirs, or that of a single method.
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
    by_ : tuple of str or None
        With `by`: the names of the columns of segments.
    segment_maps_ : mapping of tuple of str to PiecewiseMap
        The maps of segments that have one of their own, by what their labels say.
    held_out_rates_ : HeldOutRates or None
        With a certificate: the event rates of the rows held out, which `plot` shows. They are not
        stored.

    Notes
    -----
    Methods: "temperature" and "logistic" (Platt) are logistic regressions on the logit with one and
    two parameters, "beta" has three, of which the two slopes are at least 0; "intercept" is a shift
    of the logit alone; "calibrated_prior" and "overconfident_prior" are Platt's with a prior around
    the maps that models usually need, from few rows; "isotonic" is isotonic regression with
    straight lines between the mean predictions of its blocks, so it keeps the order of predictions,
    and with end blocks half a row off 0 and 1, so no log loss is infinite (scikit-learn's
    `IsotonicRegression` is level over each block, and often 0 and 1 at the ends); "bins_8" to
    "bins_128" take the event rate in bins with equal numbers of rows, and correct what is not
    monotone; "none" leaves predictions as they are, and "constant" is the event rate.

    The weight of a method is in proportion to ``exp(-L)``, where ``L`` is its log loss in nats,
    summed over all rows, by cross-validation in five folds: how likely the outcomes were, by the
    maps that had not seen them. Few rows cannot tell methods apart, and choosing one of them would
    be a lottery; the mean hardly depends on a single row. Weights below 1% are 0, and so are those
    of bins of fewer than 30 rows.
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
    by_: tuple[str, ...] | None
    segment_maps_: Mapping[SpelledKey, PiecewiseMap]
    held_out_rates_: HeldOutRates | None

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
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as scikit-learn's estimators do."""
        for name, value in params.items():
            if name not in _PARAMETERS:
                raise InputError(
                    f"a Recalibrator has the parameters {', '.join(_PARAMETERS)}, not {name}"
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
        p : array_like of shape (n,) or (n, k), Sample or Segments
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
        columns = {"sample_weight": sample_weight, "pos_label": pos_label, "groups": groups}
        has_classes = isinstance(p, Sample) and bool(p.classes)
        if y is not None or has_classes:
            several = as_classes(
                p if has_classes else y,
                y if has_classes else p,
                names=ColumnNames(label="y", prob="p"),
                by=by,
                base_rate=base_rate,
                labels=labels,
                **columns,
            )
            if several is not None:
                if max_weight is not None:
                    raise InputError("max_weight is for one event: not for several classes")
                return self.fit_classes(several, task)
        if task is not None:
            raise InputError(
                "task is for more than two classes: of one event, every decision is certified"
            )
        if class_columns(p) == 2:
            if pos_label is not None:
                raise InputError(
                    "pos_label is for one column: of two classes, the event is the second one"
                )
            p = Sample(y, p, sample_weight=sample_weight, labels=labels)  # type: ignore[arg-type]
            y = None
            columns["sample_weight"] = None
        elif labels is not None:
            raise InputError(
                "labels are for predictions with a column for each class; p has one column"
            )
        rows = read_rows(p, y, {**columns, "by": by}, base_rate)
        return self.fit_rows(rows.with_max_weight(max_weight))

    def fit_rows(self, rows: Sample | Segments) -> Self:
        """Fit the map of one event to rows that were checked already, as `assess` has them."""
        methods = _check_methods(self.methods)
        return self._keep(
            fit_event(
                rows,
                methods,
                confidence_level=check_share(self.confidence_level, "confidence_level"),
                threshold_range=check_range(self.threshold_range),
                rng=self.rng,
            )
        )

    def fit_classes(self, sample: Sample, task: ClassTask | None = None) -> Self:
        """Fit the map of several classes to rows that were checked already."""
        methods = _check_methods(self.methods, KNOWN_METHODS, CLASS_METHODS)
        if check_range(self.threshold_range) is not None:
            raise InputError("threshold_range is for one event: not for several classes")
        level = check_share(self.confidence_level, "confidence_level")
        return self._keep(
            fit_several_classes(sample, methods, confidence_level=level, task=task, rng=self.rng)
        )

    def _keep(self, fitted: Fitted) -> Self:
        """Keep all that was fitted, at once: no map ever stands beside another's certificate."""
        for field in fields(fitted):
            setattr(self, f"{field.name}_", getattr(fitted, field.name))
        return self

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
        self.check_fitted()
        _check_unseen(unseen)
        if by is not None and self.by_ is None:
            raise InputError("by was not given to fit")
        if by is None and self.by_ is not None:
            raise InputError("by is missing: the map was fitted with segments")
        if class_columns(p) == 2 and isinstance(self.map_, PiecewiseMap):
            # Two columns are one event, the second one: a sample checks that they are.
            column = Sample([0] * len(p), p).y_prob  # type: ignore[arg-type]
            event = self.predict(column, by=by, unseen=unseen)
            return np.stack([1 - event, event], axis=1)
        prob = self.map_.check(p)
        applied = self.apply(prob, {} if by is None else self._read_segments(p, by, len(prob)))
        if applied.unseen and unseen == "error":
            new = summary.unseen_text(applied.unseen)
            raise InputError(f"{new}: unseen='pooled' uses the map of all rows for them")
        note = self.map_.note_outside(applied.outside, len(prob))
        if note is not None:
            warnings.warn(ExtrapolationWarning(note), stacklevel=2)
        return applied.value

    def apply(self, prob: NDArray[Any], places: Mapping[Any, Ints]) -> Applied:
        """Recalibrate predictions that were checked already, given the rows of each segment."""
        value: Floats = self.map_.apply(prob)
        outside: int = self.map_.outside(prob)
        seen = {segment.key for segment in self.segments_}
        unseen = {}
        for label, rows in places.items():
            key = spelled_key(label)
            if seen and key not in seen:  # where nothing was fitted, none is new
                unseen[label] = len(rows)
            own = self.segment_maps_.get(key)
            if own is not None:
                value[rows] = own.apply(prob[rows])
                outside += own.outside(prob[rows]) - self.map_.outside(prob[rows])
        return Applied(value, outside, unseen)

    def _read_segments(
        self, p: ArrayLike, by: ArrayLike | Mapping[str, ArrayLike], n: int
    ) -> Mapping[Any, Ints]:
        """Return the rows of each segment."""
        check_aligned(("p", p), *named_columns(by))
        assert self.by_ is not None
        if isinstance(by, Mapping) and set(by) == set(self.by_):
            by = {name: by[name] for name in self.by_}
        segment = segment_column(by, n)
        if segment.by != self.by_:
            names = ", ".join(segment.by)
            raise InputError(f"by must name {', '.join(self.by_)}; it names {names}")
        return segment.places()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the map into axes (default: new ones) and return them; see
        `rainproof.plots.recalibration`.
        """
        from rainproof.plots import recalibration

        self.check_one_event("plot")
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
        Doubles must be those of IEEE 754, as in all these engines. The expression has about 200
        characters for each straight piece of the map (`map_`), and its depth is the logarithm of
        their number. Each expression of several classes has all of the map in it, and uses LN and
        EXP, which SQLite has if it was built with them.

        Examples
        --------
        >>> import rainproof
        >>> r = rainproof.Recalibrator("constant", rng=0).fit([0.25, 0.75] * 50, [0, 1] * 50)
        >>> print("SELECT", r.to_sql("p", dialect="sqlite"), "FROM forecasts")  # doctest: +ELLIPSIS
        SELECT CASE WHEN "p" IS NULL OR NOT (CAST("p" AS REAL) >= 0 AND ... FROM forecasts
        """
        self.check_fitted()
        _check_unseen(unseen)
        if isinstance(self.map_, ClassMap):
            export_sql.columns_of(by, ())
            return export_sql.classes_as_sql(self.map_, p, dialect)
        if not isinstance(p, str):
            raise InputError(f"p must name one column, of the event; it is {p!r}")
        for segment in self.segments_:
            stored.plain_labels(segment.segment, "in SQL")
        seen = [segment.key for segment in self.segments_]
        others = None
        if seen and unseen == "error":
            others = [key for key in seen if key not in self.segment_maps_]
        columns = export_sql.columns_of(by, self.by_ or ())
        return export_sql.as_sql(p, dialect, self.map_, self.segment_maps_, others, columns)

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
        self.check_fitted()
        if isinstance(self.map_, ClassMap):
            return export_onnx.classes_as_onnx(self.map_)
        if self.by_ is not None:
            raise InputError(
                "to_onnx needs a map without segments: fit one for each segment, or use to_sql"
            )
        return export_onnx.as_onnx(self.map_)

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted map, the weights of its methods and its certificate in built-in types,
        ready for JSON.

        `from_dict` reads it. "digest" is the SHA-256 of all the rest, so that damage is noticed.
        The labels of segments must be text, finite numbers, bools or None.
        """
        self.check_fitted()
        methods: str | list[str] = "auto"
        if self.methods != "auto":
            methods = [self.methods] if isinstance(self.methods, str) else list(self.methods)
        fitted = Fitted(**{field.name: getattr(self, f"{field.name}_") for field in fields(Fitted)})
        within = check_range(self.threshold_range)
        return stored.write(stored.Stored(methods, self.confidence_level, within, fitted))

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read what `to_dict` wrote; anything that was changed is refused."""
        content = stored.read(data)
        recalibrator = cls(
            content.methods,
            confidence_level=content.confidence_level,
            threshold_range=content.threshold_range,
        )
        return recalibrator._keep(content.fitted)

    def check_fitted(self) -> None:
        """Refuse a recalibrator that has no map yet."""
        if not hasattr(self, "map_"):
            raise InputError("the recalibrator has no map yet: call fit(p, y) first")

    def check_one_event(self, what: str) -> None:
        """Refuse a map of several classes, for what is about one event."""
        self.check_fitted()
        if isinstance(self.map_, ClassMap):
            raise InputError(
                f"{what} is for one event, and the map has {len(self.map_.classes):,} classes"
            )

    def __repr__(self) -> str:
        method = f", method_={self.method_!r}" if hasattr(self, "map_") else ""
        return f"Recalibrator({self.methods!r}{method})"

    def __str__(self) -> str:
        if not hasattr(self, "map_"):
            return repr(self)
        within = check_range(self.threshold_range)
        parts = [
            summary.choice_text(self.method_, self.candidates_),
            summary.candidate_table(self.candidates_),
            summary.certificate_text(self.certificate_, self.n_, self.groups_),
            summary.segment_table(self.by_ or (), self.segments_, within),
        ]
        return "\n\n".join(part.rstrip() for part in parts if part)


def _check_unseen(unseen: str) -> None:
    if unseen not in ("error", "pooled"):
        raise InputError(f"unseen must be 'error' or 'pooled'; it is {unseen!r}")


def _check_methods(
    methods: Literal["auto"] | str | Sequence[str],
    known: Iterable[str] = EVENT_METHODS,
    auto: Iterable[str] = EVENT_METHODS,
) -> list[str]:
    """Return the names of methods, in the order in which they are known."""
    if not isinstance(methods, str | Sequence):
        raise InputError(f"methods must be 'auto', a name or a list of names; it is {methods!r}")
    if methods == "auto":
        names = list(auto)
    else:
        names = [methods] if isinstance(methods, str) else list(methods)
    for name in names:
        if name not in known:
            quoted = ", ".join(map(repr, known))
            raise InputError(f"methods must be 'auto' or among {quoted}; {name!r} is not")
    if not names:
        raise InputError("methods must name at least one method; it is empty")
    return [name for name in known if name in names]
