"""Recalibration of several classes: maps of a row of probabilities to another, their mean, and what
is proven of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core import validation
from rainproof.core.arrays import Floats, Ints
from rainproof.core.classes import ClassSample
from rainproof.core.distinct import DistinctTable
from rainproof.core.piecewise import PiecewiseMap
from rainproof.core.result import Result
from rainproof.core.text import KEEPS_RANKING, at_least, at_most, if_drawn, percent, rows
from rainproof.core.validation import _TOLERANCE
from rainproof.decisions.class_tasks import ClassTask
from rainproof.errors import InputError
from rainproof.inference.classes import harm_bound, loss_bound, mean_at_least, switch_curves
from rainproof.inference.proofs import gain_of_choice
from rainproof.io.dialects import find_dialect
from rainproof.recalibration.export import Graph, checked_column, tree
from rainproof.recalibration.method_names import CLASS_METHODS
from rainproof.recalibration.methods import _PRIOR, METHODS, NEAREST, check_shape
from rainproof.recalibration.selection import _HELD_OUT, FOLDS, Candidate, mean_weights, weighed

if TYPE_CHECKING:
    from onnx import ModelProto

# the prior precision of what other classes add to one, all of them together
_OFF_DIAGONAL = 1 / 0.5**2
_LEAST_SCALE = 0.1  # of slopes that a prior is for: scores that say nothing have one near 0
_MANY = 20_000  # rows from which two folds are enough to weigh methods
_CURVATURE = 1 << 13  # rows that the curvature is computed from; the slope is from all
_BLOCK = 1 << 20  # numbers that are worked on together
_STEPS = 100
_PRECISION = 1e-7  # nats that a step still gains
_LARGEST = 700  # whose exponential is a double, and that of its opposite
_MOST = {"vector": 100, "matrix": 20}
"""The largest number of classes that a method is fitted to: curvatures of more parameters take
long.
"""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class ClassPart(Result):
    """One map of a mean of maps for several classes.

    Attributes
    ----------
    method : str
        Its name.
    weight : float
        Its weight in the mean.
    slope : ndarray or None
        Of "temperature" one number, of "vector" one for each class, of "matrix" a matrix: the new
        scores are ``slope * log p + intercept`` (of a matrix the product), and softmax makes them
        probabilities.
    intercept : ndarray or None
        Of these methods one number for each class; of "constant" the probabilities themselves.
    maps : tuple of PiecewiseMap
        Of "isotonic" and the other methods of one event: the map of each class against the rest,
        before rows are divided by their sum.
    """

    _shown: ClassVar = ("method", "weight")
    method: str
    weight: float
    slope: Floats | None = None
    intercept: Floats | None = None
    maps: tuple[PiecewiseMap, ...] = ()

    def apply(self, prob: Floats, x: Floats | None = None) -> Floats:
        """Return the values of rows of probabilities; `x` are their logarithms, if they are known."""
        if self.method == "none":
            return prob
        if self.slope is not None and self.intercept is not None:
            return softmax(_scores(self.slope, self.intercept, _logs(prob) if x is None else x))
        if self.method == "constant":
            assert self.intercept is not None
            return np.broadcast_to(self.intercept, prob.shape)
        value = np.stack([own.apply(prob[:, k]) for k, own in enumerate(self.maps)], axis=1)
        value /= value.sum(axis=1, keepdims=True)
        return value


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class ClassMap(Result):
    """A map of rows of probabilities, one for each class: the weighted mean of several.

    Attributes
    ----------
    classes : tuple
        The labels of the classes, in the order of the columns.
    parts : tuple of ClassPart
        The maps that it is the mean of.
    """

    _shown: ClassVar = ("classes",)
    classes: tuple[Any, ...]
    parts: tuple[ClassPart, ...]

    def __call__(self, p: ArrayLike) -> Floats:
        """Check rows of probabilities and return the recalibrated ones; each row sums to 1."""
        columns = getattr(p, "columns", None)
        if columns is not None and set(columns) == set(self.classes) != {*range(len(self.classes))}:
            p = p[list(self.classes)]  # type: ignore[call-overload, index]  # a frame, whatever the order of its columns
        table = validation.as_numbers(p, "p")
        if table.ndim != 2 or table.shape[1] != len(self.classes):
            rule = f"p must have {len(self.classes)} columns, one for each class"
            raise InputError(f"{rule}; its shape is {table.shape}")
        for error in validation.violations(table, validation.ColumnNames(prob="p")):
            raise error
        return self.apply(table)

    def apply(self, prob: NDArray[Any]) -> Floats:
        """Return the recalibrated values of probabilities that were checked already."""
        value = np.empty(prob.shape)
        for block in _blocks(prob):
            old = np.asarray(prob[block], np.float64)
            new = value[block]
            new[:] = 0
            for part in self.parts:
                new += part.weight * part.apply(old)
            new /= new.sum(axis=1, keepdims=True)
        return value

    @classmethod
    def from_dict(cls, data: Any) -> ClassMap:
        """Read what `to_dict` wrote."""
        keys = ["method", "weight", "slope", "intercept", "maps"]
        if (
            not isinstance(data, dict)
            or list(data) != ["classes", "parts"]
            or not isinstance(data["parts"], list)
        ):
            raise InputError("a map for several classes must have 'classes' and 'parts'")
        labels = data["classes"]
        if not isinstance(labels, list) or not all(map(validation.is_plain_label, labels)):
            raise InputError("'classes' must be a list of labels")
        names = validation.check_labels(labels, len(labels))
        for one in data["parts"]:
            if not isinstance(one, dict) or list(one) != keys or one["method"] not in KNOWN_METHODS:
                raise InputError(
                    f"a part of a map must have {', '.join(map(repr, keys))}, of a method that is known"
                )
        parts = tuple(_part_of(one, len(names)) for one in data["parts"])
        total = sum(part.weight for part in parts)
        if abs(total - 1) > _TOLERANCE:
            raise InputError(
                f"the 'weight' of all parts of a map must sum to 1; they sum to {total:.6g}"
            )
        return cls(classes=tuple(names), parts=parts)


def _part_of(data: dict[str, Any], k: int) -> ClassPart:
    """Read a part of a map for k classes; anything that its method cannot have fitted is refused."""
    method = data["method"]
    read = {
        name: None if data[name] is None else _numbers(data[name], name)
        for name in ("slope", "intercept")
    }
    weight = data["weight"]
    if type(weight) is not float or not 0 <= weight <= 1:
        raise InputError(
            f"'weight' of a part of a map must be a number from 0 to 1; it is {weight!r}"
        )
    if not isinstance(data["maps"], list):
        raise InputError("'maps' of a part of a map must be a list")
    maps = tuple(map(PiecewiseMap.from_dict, data["maps"]))
    shapes = {name: None if array is None else array.shape for name, array in read.items()}
    wanted: dict[str, dict[str, Any]] = {
        "temperature": {"slope": (1,), "intercept": (k,)},
        "vector": {"slope": (k,), "intercept": (k,)},
        "matrix": {"slope": (k, k), "intercept": (k,)},
        "constant": {"slope": None, "intercept": (k,)},
    }
    has_maps = method == "isotonic" or method in ONE_AGAINST_REST
    if (
        shapes != wanted.get(method, {"slope": None, "intercept": None})
        or len(maps) != k * has_maps
    ):
        raise InputError(f"a part of a map must be about {k} classes")
    rates = read["intercept"]
    if (
        method == "constant"
        and rates is not None
        and not ((rates >= 0).all() and abs(rates.sum() - 1) <= _TOLERANCE)
    ):
        raise InputError("'intercept' of the method 'constant' must be probabilities that sum to 1")
    for one in maps:
        check_shape(one, method)
    return ClassPart(method=method, weight=weight, **read, maps=maps)


def _numbers(values: Any, name: str) -> Floats:
    found = validation.as_numbers(values, repr(name))
    if not np.isfinite(found).all():
        raise InputError(f"{name!r} of a part of a map must be finite")
    return found


def softmax(score: Floats) -> Floats:
    """Return the exponentials of scores, divided by their sum in each row; the scores are
    overwritten.
    """
    score -= score.max(axis=1, keepdims=True)
    np.exp(score, out=score)
    score /= score.sum(axis=1, keepdims=True)
    return score


def _logs(prob: NDArray[Any]) -> Floats:
    found: Floats = np.log(np.maximum(prob, NEAREST, dtype=np.float64))
    return found


def _blocks(table: NDArray[Any]) -> list[slice]:
    size = max(1, _BLOCK // table.shape[1])
    return [slice(start, start + size) for start in range(0, len(table), size)]


def _scores(slope: Floats, intercept: Floats, x: Floats) -> Floats:
    found: Floats = (x @ slope.T if slope.ndim == 2 else x * slope) + intercept
    return found


class _Scaling:
    """A family of slopes and intercepts: one parameter or more, with a normal prior.

    That of slopes is around `scale` and as wide as it: of the best temperature, so that the prior
    says as much of a forecast that is too confident as of one that is not.
    """

    def __init__(self, method: str, k: int, scale: float = 1.0) -> None:
        self.method, self.k = method, k
        own, other = np.full(k, scale), np.zeros(k)
        if method == "temperature":
            self.centre, self.precision = own[:1], np.full(1, _PRIOR)
        elif method == "vector":
            self.centre, self.precision = (
                np.append(own, other),
                np.repeat([_PRIOR / scale**2, _PRIOR], k),
            )
        else:  # by class: the slopes of all classes, then the intercept
            self.centre = np.column_stack([np.diag(own), other]).ravel()
            off = np.where(np.eye(k) == 1, _PRIOR, max(_PRIOR, _OFF_DIAGONAL * (k - 1))) / scale**2
            self.precision = np.column_stack([off, np.full(k, _PRIOR)]).ravel()

    def expand(self, theta: Floats) -> tuple[Floats, Floats]:
        """The slope and the intercept."""
        if self.method == "temperature":
            return theta, np.zeros(self.k)
        if self.method == "vector":
            return theta[: self.k], theta[self.k :]
        both = theta.reshape(self.k, self.k + 1)
        return np.ascontiguousarray(both[:, :-1]), both[:, -1]

    def slope(self, excess: Floats, x: Floats) -> Floats:
        """What rows add to the slope of the loss, from the excess of their values over the
        outcomes.
        """
        if self.method == "temperature":
            return np.array([np.einsum("ij,ij", excess, x)])
        if self.method == "vector":
            return np.append(np.einsum("ij,ij->j", excess, x), excess.sum(axis=0))
        return np.column_stack([excess.T @ x, excess.sum(axis=0)]).ravel()

    def curvature(self, value: Floats, x: Floats, weight: Floats) -> Floats:
        """The second derivatives of the loss of rows: the variance of what each adds to the scores."""
        k, root = self.k, np.sqrt(weight)[:, None]
        if self.method == "temperature":
            mean = np.einsum("ij,ij->i", value, x)
            return np.array([[weight @ (np.einsum("ij,ij,ij->i", value, x, x) - mean**2)]])
        if self.method == "vector":
            mean = np.hstack([value * x, value]) * root
            found: Floats = -(mean.T @ mean)
            at = np.arange(k)
            found[at, at] += weight @ (value * x * x)
            found[at, k + at] += weight @ (value * x)
            found[k + at, at] += weight @ (value * x)
            found[k + at, k + at] += weight @ value
            return found
        one = np.column_stack([x, np.ones(len(x))])
        mean = (value[:, :, None] * one[:, None, :]).reshape(len(x), -1) * root
        found = -(mean.T @ mean)
        for j in range(k):
            own = slice(j * (k + 1), (j + 1) * (k + 1))
            found[own, own] += (one * (weight * value[:, j])[:, None]).T @ one
        return found


def _fit_scaling(
    method: str, x: Floats, which: Ints, weight: Floats, scale: float = 1.0
) -> ClassPart:
    """The most likely slope and intercept, given logarithms of probabilities: Newton's method with
    halved steps.

    Rows must be in random order: the curvature is from the first of many.
    """
    family = _Scaling(method, x.shape[1], scale)
    few = slice(0, _CURVATURE)
    all_by_few = weight.sum() / max(weight[few].sum(), np.finfo(float).tiny)

    def cost(theta: Floats, *, slope: bool) -> tuple[float, Floats]:
        total, found = (
            float(family.precision @ (theta - family.centre) ** 2) / 2,
            np.zeros(len(theta)),
        )
        for block in _blocks(x):
            value = softmax(_scores(*family.expand(theta), x[block]))
            at = np.arange(len(value)), which[block]
            total -= float(weight[block] @ np.log(np.maximum(value[at], np.finfo(float).tiny)))
            if slope:
                value[at] -= 1
                value *= weight[block][:, None]
                found += family.slope(value, x[block])
        return total, found + family.precision * (theta - family.centre)

    theta = family.centre
    now, slope = cost(theta, slope=True)
    for _ in range(_STEPS):
        value = softmax(_scores(*family.expand(theta), x[few]))
        curvature = all_by_few * family.curvature(value, x[few], weight[few]) + np.diag(
            family.precision
        )
        step = np.linalg.solve(curvature, slope)
        expected, share = float(slope @ step) / 2, 1.0
        if expected < _PRECISION:
            break
        then, slope = cost(theta - step, slope=True)
        while then > now and share > 1e-6:
            share /= 2
            then, slope = cost(theta - share * step, slope=True)
        if then > now:
            break
        theta, now = theta - share * step, then
    slopes, intercept = family.expand(theta)
    return ClassPart(method=method, weight=1.0, slope=np.asarray(slopes), intercept=intercept)


def _fit(method: str, prob: NDArray[Any], x: Floats, which: Ints, weight: Floats) -> ClassPart:
    """Fit one map to rows: their probabilities, the logarithms of these, the classes that occurred,
    and weights.
    """
    k = prob.shape[1]
    if method == "none":
        return UNCHANGED
    if method == "constant":
        rate = np.bincount(which, weight, k) + 0.5 / k
        return ClassPart(method=method, weight=1.0, intercept=rate / rate.sum())
    if method == "isotonic" or method in ONE_AGAINST_REST:
        tables = (
            DistinctTable.from_rows((which == j).view(np.uint8), prob[:, j], weight)
            for j in range(k)
        )
        return ClassPart(
            method=method, weight=1.0, maps=tuple(METHODS[method](table) for table in tables)
        )
    found = _fit_scaling("temperature", x, which, weight)
    if method == "temperature":
        return found
    assert found.slope is not None
    return _fit_scaling(method, x, which, weight, max(found.slope.item(), _LEAST_SCALE))


UNCHANGED = ClassPart(method="none", weight=1.0)
ONE_AGAINST_REST = tuple(name for name in METHODS if name not in CLASS_METHODS)
"""Methods of one event that can be asked for by name: a map of each class against the rest, divided
by their sum.
"""

KNOWN_METHODS = (*CLASS_METHODS, *ONE_AGAINST_REST)
"""All methods for several classes."""


def _even(sample: ClassSample) -> Floats:
    """The weight of each row; where weights differ, rows count as many as they are worth."""
    found: Floats = sample.mass * (sample.total_weight / float((sample.mass**2).sum()))
    return found


def _cross_fitted(
    sample: ClassSample, methods: Sequence[str], fold: Ints
) -> tuple[list[str], list[list[ClassPart]], Floats, Floats]:
    """Fit maps without each fold, by the methods that can be fitted to so many classes.

    Returns these methods, the maps by fold and method, and by method and fold the sums over its
    rows of their log losses and Brier scores there. For the log loss, values nearer to 0 than half
    a row is to all rows count like this.
    """
    k, folds, x, weights = len(sample), int(fold.max()) + 1, _logs(sample.prob), _even(sample)
    methods = [method for method in methods if k <= _MOST.get(method, k)]
    parts: list[list[ClassPart]] = []
    log_loss, brier = np.zeros((2, len(methods), folds))
    size, nearest = max(1, _BLOCK // k), 0.5 / (weights.sum() + 1)
    for f in range(folds):
        own, rest = np.flatnonzero(fold == f), np.flatnonzero(fold != f)
        known = sample.prob[rest], x[rest], sample.which[rest], weights[rest]
        parts.append([_fit(method, *known) for method in methods])
        for start in range(0, len(own), size):
            at = own[start : start + size]
            prob, which, weight = (
                np.asarray(sample.prob[at], np.float64),
                sample.which[at],
                weights[at],
            )
            for m, part in enumerate(parts[f]):
                value = part.apply(prob, x[at])
                right = value[np.arange(len(at)), which]
                log_loss[m, f] -= float(weight @ np.log(np.maximum(right, nearest)))
                brier[m, f] += float(weight @ ((value**2).sum(axis=1) - 2 * right + 1))
    return methods, parts, log_loss, brier


def mean_of_maps(
    sample: ClassSample, methods: Sequence[str], fold: Ints
) -> tuple[ClassMap, tuple[Candidate, ...]]:
    """The weighted mean of the maps that are fitted to all rows, and how each method did."""
    used, _, log_loss, brier = _cross_fitted(sample, methods, fold)
    weights = _even(sample)
    candidates = weighed(used, log_loss.sum(axis=1), brier.sum(axis=1), weights.sum())
    rows = sample.prob, _logs(sample.prob), sample.which, weights
    parts = [_weighted(_fit(one.method, *rows), one.weight) for one in candidates if one.weight > 0]
    return ClassMap(classes=sample.classes, parts=tuple(parts)), candidates


def cross_fitted_values(sample: ClassSample, fold: Ints) -> Floats:
    """The predictions of each row by the mean of the maps fitted without its fold, weighted by the
    other folds.
    """
    _, every, log_loss, _ = _cross_fitted(sample, CLASS_METHODS, fold)
    value = np.empty(sample.prob.shape)
    for f, parts in enumerate(every):
        others = [g for g in range(len(every)) if g != f]
        share = mean_weights(log_loss[:, others].sum(axis=1)).tolist()
        used = tuple(
            _weighted(part, weight) for part, weight in zip(parts, share, strict=True) if weight > 0
        )
        own = fold == f
        value[own] = ClassMap(classes=sample.classes, parts=used).apply(sample.prob[own])
    return value


def _weighted(part: ClassPart, weight: float) -> ClassPart:
    return replace(part, weight=weight)


def folds_of(sample: ClassSample) -> int:
    """How many folds weigh the methods."""
    return FOLDS if sample.n_draws < _MANY else 2


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class ClassCertificate(Result):
    """What is proven of acting on recalibrated probabilities of several classes, from rows that no
    map was fitted to.

    Losses and gains are shares of what is at stake. Each bound holds with the confidence by itself.

    Attributes
    ----------
    harm_bound : float
        In the population no decision about any one class ("is it a dog or not") loses more than
        this by acting on the recalibrated probability in place of the original one, in expectation:
        for all classes and decisions at once.
    gain_at_least : float
        In the population there is a decision about `gain_class` that gains at least this, in
        expectation; 0 if the rows prove no gain.
    gain_class : label
        The class that gains most on the rows that the map was fitted to.
    harm : float
        On these rows, exactly: the most that any such decision loses.
    loss_bound : float
        In the population no decision about any one class that acts on its recalibrated probability
        loses more than this, in expectation, compared with any monotone recalibration of it: for
        all classes and decisions at once.
    saving : float or None
        With a task: what acting on the recalibrated probabilities saves per case on these rows, in
        its units: an estimate without bias. Below 0 it costs more.
    saving_at_least : float or None
        What it saves per case at least, in the population; 0 if the rows prove no saving.
    confidence_level : float
        Of each of the bounds by itself.
    n : int
        The number of rows behind the certificate.
    groups : int or None
        The number of groups, if rows depend on each other.
    weighted : bool
        Whether rows have weights, equal ones too: other cases may have others.
    """

    harm_bound: float
    gain_at_least: float
    gain_class: Any
    harm: float
    loss_bound: float
    saving: float | None
    saving_at_least: float | None
    confidence_level: float
    n: int
    groups: int | None
    weighted: bool = False

    def __str__(self) -> str:
        gains = (
            f"There is a decision about {str(self.gain_class)!r} that gains at least {at_least(self.gain_at_least)}."
            if self.gain_at_least > 0
            else "These rows do not prove a gain in any decision."
        )
        lines = [
            f"From {rows(self.n)} that the map was not fitted to, in expectation, in shares of what is at stake:",
            f"No decision about any one class loses more than {at_most(self.harm_bound)} by acting on the recalibrated "
            f"probability instead of the original one. {gains}",
            f"Acting on the recalibrated probability of a class as it is loses at most {at_most(self.loss_bound)} in "
            f"any decision about it, {KEEPS_RANKING}.",
        ]
        if self.saving is not None and self.saving_at_least is not None:
            proven = (
                f"at least {self.saving_at_least:.4g}" if self.saving_at_least > 0 else "not proven"
            )
            lines.append(
                f"In the task it saves {self.saving:.4g} per case (an estimate; {proven})."
            )
        return "\n".join(
            [
                *lines,
                f"Each statement holds with {percent(self.confidence_level)} confidence, for all classes and decisions "
                f"at once, if {if_drawn(self.groups, 'the map', weighted=self.weighted)}.",
            ]
        )


def divide_classes(
    sample: ClassSample, rng: np.random.Generator, *, hold_out: bool
) -> tuple[ClassSample, Ints, ClassSample | None]:
    """The rows that maps are fitted to, in random order, with their folds; and those held out, if
    any.

    Whole draws at a time; the order of the rows does not matter.
    """
    sample = sample._at(np.flatnonzero(sample.mass > 0)).in_order()
    folds = folds_of(sample)
    part = sample._parts(folds, [_HELD_OUT] * hold_out, rng)
    fit = rng.permutation(np.flatnonzero(part < folds))
    return (
        sample._at(fit),
        part[fit],
        sample._at(np.flatnonzero(part == folds)) if hold_out else None,
    )


def certify_classes(
    held: ClassSample,
    fitted: ClassSample,
    found: ClassMap,
    confidence_level: float,
    task: ClassTask | None,
) -> ClassCertificate:
    """Prove what a map does to rows that it was not fitted to; `fitted` are the others, in random
    order.
    """
    delta, new = 1 - confidence_level, found.apply(held.prob)
    bound, harm = harm_bound(held, new, delta)
    # enough to choose a class and a decision
    fitted = fitted._at(np.arange(min(len(fitted.which), _CURVATURE)))
    other = found.apply(fitted.prob)
    best = int(np.argmax([curve.chord(back=True).loss for curve in switch_curves(fitted, other)]))
    choose, judge = (
        alone._pair(alone.prob, np.ascontiguousarray(value[:, best]))
        for rows, value in ((fitted, other), (held, new))
        for alone in [rows._of(best)]
    )
    saving = proven = None
    if task is not None:
        gain = (
            task.matrix[task.best_checked(new), held.which]
            - task.matrix[task.best_checked(held.prob), held.which]
        )
        saving = float(held.mass @ gain / held.mass.sum())
        proven = task.scale * mean_at_least(gain / task.scale, held, delta)
    moved = ClassSample.__new__(ClassSample)
    vars(moved).update(vars(held) | {"prob": new})
    return ClassCertificate(
        harm_bound=bound,
        gain_at_least=gain_of_choice(choose, judge, delta)[1],
        gain_class=found.classes[best],
        harm=harm,
        loss_bound=loss_bound(moved, delta)[0],
        saving=saving,
        saving_at_least=proven,
        confidence_level=confidence_level,
        n=held.n,
        groups=held.groups,
        weighted=held._weighted,
    )


def classes_as_onnx(found: ClassMap) -> ModelProto:
    """Write a map as a model: doubles "p" of shape (n, k) to doubles "probabilities" of the same
    shape.
    """
    graph, axis = Graph(), [1]

    def shares(value: str, **output: str) -> str:
        return graph.node(
            "Div", value, graph.node("ReduceSum", value, graph.constant(axis), keepdims=1), **output
        )

    values = []
    for part in found.parts:
        value = "p"
        if part.slope is not None:
            log = graph.node("Log", graph.node("Max", "p", graph.constant(NEAREST)))
            score = graph.node(
                "MatMul" if part.slope.ndim == 2 else "Mul", log, graph.constant(part.slope.T)
            )
            value = graph.node(
                "Softmax", graph.node("Add", score, graph.constant(part.intercept)), axis=1
            )
        elif part.intercept is not None:
            none = graph.node("Mul", "p", graph.constant(0.0))
            value = graph.node("Add", none, graph.constant(part.intercept))
        elif part.maps:
            columns = [
                graph.pieces(graph.node("Gather", "p", graph.constant(k), axis=1), own)
                for k, own in enumerate(part.maps)
            ]
            both = [graph.node("Unsqueeze", column, graph.constant(axis)) for column in columns]
            value = shares(graph.node("Concat", *both, axis=1))
        values.append(graph.node("Mul", value, graph.constant(part.weight)))
    shares(graph.node("Sum", *values), output="probabilities")
    return graph.model("probabilities", len(found.classes))


def classes_as_sql(found: ClassMap, columns: Sequence[str], dialect: str) -> dict[Any, str]:
    """Write a map as an expression for each class, of columns in the order of the classes."""
    if isinstance(columns, str) or len(columns) != len(found.classes):
        raise InputError(
            f"p must name {len(found.classes)} columns, one for each class; it is {columns!r}"
        )
    spoken = find_dialect(dialect)
    number = spoken.double.format
    read = [checked_column(column, spoken) for column in columns]
    values, wrong = [value for value, _ in read], [test for _, tests in read for test in tests]
    all_together = f"({' + '.join(values)})"
    wrong.append(
        spoken.breaks(all_together, f"{{0}} >= {1 - _TOLERANCE!r} AND {{0}} <= {1 + _TOLERANCE!r}")
    )
    logs = [
        f"CASE WHEN {p} > {NEAREST!r} THEN LN({p}) ELSE {number(repr(math.log(NEAREST)))} END"
        for p in values
    ]
    totals: list[list[str]] = [[] for _ in columns]
    unscaled = 0.0  # the weight of the predictions as they are, which sum to 1 nearly
    for part in found.parts:
        each = values
        if part.slope is not None and part.intercept is not None:
            matrix = (
                part.slope
                if part.slope.ndim == 2
                else np.diag(np.broadcast_to(part.slope, len(columns)))
            )
            if (
                np.abs(matrix).sum(axis=1) * -math.log(NEAREST) + np.abs(part.intercept)
            ).max() > _LARGEST:
                raise InputError(
                    f"to_sql needs a map with smaller slopes: exponentials of {part.method!r} would overflow"
                )
            scores = [
                " + ".join(
                    [
                        number(repr(b)),
                        *(
                            f"{number(repr(a))} * {log}"
                            for a, log in zip(row, logs, strict=True)
                            if a
                        ),
                    ]
                )
                for row, b in zip(matrix.tolist(), part.intercept.tolist(), strict=True)
            ]
            each = _shares_in_sql([f"EXP({score})" for score in scores])
        elif part.intercept is not None:
            each = [number(repr(rate)) for rate in part.intercept.tolist()]
        elif part.maps:
            each = _shares_in_sql(
                [tree(own, p, spoken) for own, p in zip(part.maps, values, strict=True)]
            )
        else:
            unscaled = part.weight
        for total, value in zip(totals, each, strict=True):
            total.append(f"{number(repr(part.weight))} * {value}")
    scale = f"({number(repr(1 - unscaled))} + {number(repr(unscaled))} * {all_together})"
    return {
        label: f"CASE WHEN {' OR '.join(wrong)} THEN NULL ELSE ({' + '.join(total)}) / {scale} END"
        for label, total in zip(found.classes, totals, strict=True)
    }


def _shares_in_sql(values: list[str]) -> list[str]:
    together = " + ".join(values)
    return [f"(({value}) / ({together}))" for value in values]
