"""rainproof for scikit-learn: scorers, a recalibrated classifier, and displays.

What is computed is computed by the functions of rainproof; here are the forms that scikit-learn
asks for. Importing it needs scikit-learn (``pip install scikit-learn``); ``import rainproof`` does
not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rainproof.core.arguments import as_sample
from rainproof.core.arrays import Floats
from rainproof.core.sample import Sample
from rainproof.decisions.class_tasks import ClassTask
from rainproof.decisions.regret_curves import regret_curve
from rainproof.decisions.tasks import FiniteTask
from rainproof.errors import InputError, MissingExtraError
from rainproof.inference.performance import net_benefit
from rainproof.measures.catalogue import list_measures
from rainproof.recalibration.maps import softmax
from rainproof.recalibration.recalibrator import Recalibrator
from rainproof.verdict.summaries import reliability_curve

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import StratifiedGroupKFold, check_cv, cross_val_predict
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, indexable
except ImportError as error:
    raise MissingExtraError(
        "rainproof.integrations.sklearn", "scikit-learn", "scikit-learn"
    ) from error

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def net_benefit_scorer(
    threshold: float, *, pos_label: Any = None, labels: Sequence[Any] | None = None
) -> Any:
    """Make a scorer: the net benefit of acting on predictions from a threshold on.

    Choose a model by it if your threshold is known: it counts what the decision is worth.

    Parameters
    ----------
    threshold : float
        The probability from which you act, in (0, 1).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1; of more than two classes, the one that
        you act on.
    labels : sequence, optional
        The classes of the classifier, in sorted order, if there are more than two and rows to score
        may lack some.

    Returns
    -------
    callable
        A scorer ``(estimator, X, y, sample_weight=None) -> float``.

    Examples
    --------
    >>> from rainproof.integrations.sklearn import net_benefit_scorer
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = make_classification(random_state=0)
    >>> score = cross_val_score(LogisticRegression(), X, y, scoring=net_benefit_scorer(0.2)).mean()
    >>> round(float(score), 3)
    0.397
    """
    if not isinstance(threshold, float) or not 0 < threshold < 1:
        raise InputError(
            f"threshold must be a number between 0 and 1, both excluded; it is {threshold!r}"
        )
    options = {"threshold": threshold, "pos_label": pos_label, "labels": labels}
    return make_scorer(_net_benefit, response_method="predict_proba", **options)


def _net_benefit(y: ArrayLike, p: ArrayLike, *, threshold: float, **columns: Any) -> float:
    """Return the net benefit of acting on predictions from the threshold on."""
    sample = _scored(y, p, **columns)
    if sample.classes:
        raise InputError(
            "pos_label must name the class that you act on: "
            f"there are {len(sample.classes)} classes"
        )
    return float(net_benefit(sample, thresholds=[threshold]).value[0, 0])


def _scored(
    y: ArrayLike,
    p: ArrayLike,
    sample_weight: Any = None,
    pos_label: Any = None,
    labels: Sequence[Any] | None = None,
) -> Sample:
    """Return the rows to score: of one event, or of more than two classes if none of them is
    named.
    """
    if np.ndim(p) < 2:
        return as_sample(y, p, sample_weight=sample_weight, pos_label=pos_label)
    if labels is None:
        labels = np.unique(y).tolist()
    columns = np.shape(p)[1]
    if len(labels) != columns:
        raise InputError(
            f"labels must name the {columns} classes of the classifier: "
            f"{len(labels)} are named, or occur here"
        )
    sample = Sample.from_classes(y, p, sample_weight=sample_weight, labels=list(labels))
    if pos_label is None:
        return sample
    return sample[pos_label]


def expected_cost_scorer(
    task: FiniteTask | ClassTask, *, pos_label: Any = None, labels: Sequence[Any] | None = None
) -> Any:
    """Make a scorer: minus the mean cost per row of a decision task, in its units.

    Choose a model by it if your costs are known.

    Parameters
    ----------
    task : FiniteTask or ClassTask
        The decision, as from ``rainproof.DecisionTask.from_costs(false_positive=1,
        false_negative=9)``. With more than two classes its columns are in the order of the
        classifier's ``classes_``.
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1; of more than two classes, the one that
        the task is about.
    labels : sequence, optional
        The classes of the classifier, in sorted order, if there are more than two and rows to score
        may lack some.

    Returns
    -------
    callable
        A scorer ``(estimator, X, y, sample_weight=None) -> float``.

    Examples
    --------
    >>> import rainproof.integrations.sklearn
    >>> task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=9)
    >>> scorer = rainproof.integrations.sklearn.expected_cost_scorer(task)
    """
    if not isinstance(task, FiniteTask | ClassTask):
        raise InputError(
            f"task must be a FiniteTask, such as DecisionTask.from_costs makes; it is {task!r}"
        )
    options = {"task": task, "pos_label": pos_label, "labels": labels}
    return make_scorer(_payoff, response_method="predict_proba", **options)


def _payoff(y: ArrayLike, p: ArrayLike, *, task: FiniteTask | ClassTask, **columns: Any) -> float:
    """Return the mean payoff per row of acting on the predictions."""
    sample = _scored(y, p, **columns)
    if sample.classes:
        if not isinstance(task, ClassTask):
            raise _payoffs_missing(task, len(sample.classes))
        task.check_classes(sample)
        payoff = task.matrix[task.best_checked(sample.prob), sample.which]
        return float(sample.mass @ payoff / sample.total_weight)
    if isinstance(task, ClassTask):
        raise _payoffs_missing(task, 2)
    table = sample.distinct()
    without_event, with_event = task.matrix[task.best_index(table.prob)].T
    total_payoff = float((table.negative * without_event + table.positive * with_event).sum())
    return total_payoff / float(table.negative.sum() + table.positive.sum())


def _payoffs_missing(task: FiniteTask | ClassTask, classes: int) -> InputError:
    """Return the error of a task that is about another number of classes."""
    return InputError(f"task must have a payoff for each of {classes} classes; it is {task!r}")


def worst_task_scorer(*, pos_label: Any = None, labels: Sequence[Any] | None = None) -> Any:
    """Make a scorer: minus the most that any decision maker falls short of perfect foresight.

    Choose a model by it if others, whose costs you do not know, will act on the predictions.
    Payoffs lie between 0 and 1; the decision maker who loses most decides. In expectation nothing
    scores better than the true probabilities. Of more than two classes, decisions are about any one
    of them, against the rest.

    Parameters
    ----------
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1; of more than two classes, the only one
        that counts.
    labels : sequence, optional
        The classes of the classifier, in sorted order, if there are more than two and rows to score
        may lack some.

    Returns
    -------
    callable
        A scorer ``(estimator, X, y, sample_weight=None) -> float``.

    Notes
    -----
    It is the largest loss, over all bounded decision tasks, of switching from the outcomes to the
    forecast (as in `switch_guarantee`). For each task the expected payoff is a proper score, so the
    worst one is as well.

    Examples
    --------
    >>> import rainproof.integrations.sklearn
    >>> scorer = rainproof.integrations.sklearn.worst_task_scorer()
    """
    return make_scorer(
        _worst_task, response_method="predict_proba", pos_label=pos_label, labels=labels
    )


def _worst_task(y: ArrayLike, p: ArrayLike, **columns: Any) -> float:
    """Return minus the largest loss of a decision, about any class."""
    sample = _scored(y, p, **columns)
    return -max(_worst_loss(one_event) for one_event in _events(sample))


def _events(sample: Sample) -> list[Sample]:
    """Return a sample for each class against the rest, or the one of a single event."""
    if not sample.classes:
        return [sample]
    return [sample[label] for label in sample.classes]


def _worst_loss(sample: Sample) -> float:
    """Return the largest loss by acting on the predictions instead of the outcomes."""
    # Perfect foresight is the forecast that predicts each outcome.
    outcome = np.asarray(sample.y_true, np.float64)
    pair = sample.with_forecasts(foresight=outcome, forecast=sample.prob)
    return pair.curve("foresight", "forecast").chord().loss


def calibration_scorer(
    measure: str = "soft_binned_cdl",
    *,
    pos_label: Any = None,
    labels: Sequence[Any] | None = None,
    **options: Any,
) -> Any:
    """Make a scorer: minus a calibration error. Report it; do not choose a model by it.

    A forecast that says the event rate for every row is calibrated, so a search for the smallest
    calibration error can end there. Choose by `worst_task_scorer`, `net_benefit_scorer`,
    `expected_cost_scorer` or a proper score, and look at this one beside it.

    Parameters
    ----------
    measure : str
        A measure of `rainproof.list_measures`, such as "soft_binned_cdl" or
        "calibration_decision_loss". Of more than two classes it is that of the worst class against
        the rest (`class_max` of `measure_classes`).
    pos_label : object, optional
        The label of the event, if labels are not 0 and 1; of more than two classes, the one that is
        measured.
    labels : sequence, optional
        The classes of the classifier, in sorted order, if there are more than two and rows to score
        may lack some.
    **options
        Options of the measure, such as ``swaps="monotone"``; ``grid=16`` for
        "calibration_decision_loss" is the loss of acting on predictions rounded to multiples of
        1/16.

    Returns
    -------
    callable
        A scorer ``(estimator, X, y, sample_weight=None) -> float``.

    Examples
    --------
    >>> from rainproof.integrations.sklearn import calibration_scorer, net_benefit_scorer
    >>> scoring = {
    ...     "cost": net_benefit_scorer(0.2),
    ...     "SCDL": calibration_scorer(),
    ...     "CDL on 1/16": calibration_scorer("calibration_decision_loss", grid=16),
    ... }
    """
    measures = list_measures()
    if measure not in measures:
        raise InputError(f"measure must be one of {', '.join(measures)}; it is {measure!r}")
    function = measures[measure].function
    # The measure itself has no grid: the regret curve of rounded predictions has.
    if measure == "calibration_decision_loss" and "grid" in options:
        function = _loss_on_grid
    return make_scorer(
        _measured,
        response_method="predict_proba",
        greater_is_better=False,
        function=function,
        pos_label=pos_label,
        labels=labels,
        **options,
    )


def _measured(
    y: ArrayLike,
    p: ArrayLike,
    *,
    function: Callable[..., float],
    sample_weight: Any = None,
    pos_label: Any = None,
    labels: Sequence[Any] | None = None,
    **options: Any,
) -> float:
    """Return the measure of the rows; of several classes, that of the worst one."""
    sample = _scored(y, p, sample_weight, pos_label, labels)
    return max(function(one_event, **options) for one_event in _events(sample))


def _loss_on_grid(sample: Sample, **options: Any) -> float:
    """Return the calibration decision loss of acting on rounded predictions."""
    return regret_curve(sample, **options).loss


class _Display:
    """A result of rainproof with the methods of scikit-learn's displays.

    Attributes
    ----------
    result
        The result that is drawn.
    estimator_name : str or None
        The name of the classifier: the title of the picture begins with it.
    ax_, figure_
        Where it was drawn last.
    """

    _compute: ClassVar[Callable[..., Any]]
    ax_: Any
    figure_: Any

    def __init__(self, result: Any, *, estimator_name: str | None = None) -> None:
        self.result = result
        self.estimator_name = estimator_name

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Compute and draw it from outcomes and predicted probabilities.

        Parameters
        ----------
        y_true : array_like of shape (n,)
        y_prob : array_like of shape (n,)
            The predicted probability of the event.
        sample_weight : array_like of shape (n,), optional
        pos_label : object, optional
            The label of the event, if labels are not 0 and 1.
        name : str, optional
            What the classifier is called.
        ax : matplotlib Axes, optional
            Where to draw. Default: new axes.
        **options
            Options of the function behind it: see the class.
        """
        result = cls._compute(
            y_true, y_prob, sample_weight=sample_weight, pos_label=pos_label, **options
        )
        return cls(result, estimator_name=name).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        pos_label: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Compute and draw it from a fitted classifier and rows to judge it by.

        The parameters are those of `from_predictions`; the event is `pos_label`, or the second of
        two classes. Of more than two, `pos_label` names the one that is drawn, against the rest.
        """
        classes = np.asarray(estimator.classes_).tolist()
        event = pos_label
        if pos_label is None and len(classes) == 2:
            event = classes[1]
        if event not in classes:
            raise InputError(
                f"pos_label must be a class of the estimator, one of {classes}; it is {pos_label!r}"
            )
        prob = estimator.predict_proba(X)[:, classes.index(event)]
        name = name or type(estimator).__name__
        if len(classes) > 2:
            happened = np.asarray(y) == event  # one class against the rest
            return cls.from_predictions(happened, prob, name=f"{name}, {event}", **options)
        return cls.from_predictions(y, prob, pos_label=event, name=name, **options)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw it into axes (default: new ones)."""
        self.ax_ = self.result.plot(ax)
        self.figure_ = self.ax_.figure
        if self.estimator_name:
            self.ax_.set_title(f"{self.estimator_name}: {self.ax_.get_title()}")
        return self


class ReliabilityDisplay(_Display):
    """A reliability diagram with intervals and the band of chance. Options:
    `rainproof.clinical.reliability_curve`.
    """

    _compute = staticmethod(reliability_curve)


class DecisionCurveDisplay(_Display):
    """A decision curve: net benefit beside treating all and none, with intervals. Options:
    `rainproof.net_benefit`.
    """

    _compute = staticmethod(net_benefit)


class RegretDisplay(_Display):
    """A regret curve: what acting on the predictions loses at each threshold. Options:
    `rainproof.regret_curve`.
    """

    _compute = staticmethod(regret_curve)


_REASON = "a weight of 2 is one row in one fold of the recalibrator, two rows may be in two"
NOT_EQUIVALENT = {
    "check_sample_weight_equivalence_on_dense_data": _REASON,
    "check_sample_weight_equivalence_on_sparse_data": _REASON,
    "check_sample_weights_invariance": _REASON,
}
"""The checks of scikit-learn that it does not pass, and why: for
``check_estimator(expected_failed_checks=...)``.
"""


class RecalibratedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with recalibrated probabilities: cross-validated predictions fit a
    `rainproof.Recalibrator`.

    The classifier is fitted to all rows. The map that corrects its probabilities is fitted to
    predictions for rows that a classifier of the same kind did not see (cross-validation), by the
    method that leaves the decision maker who loses most with the smallest loss.

    Parameters
    ----------
    estimator : estimator, optional
        A classifier with `predict_proba`, or with `decision_function` alone, such as `LinearSVC`:
        its scores become probabilities for the map to correct, by the logistic function (softmax
        for more than two classes) of the scores, centered and divided by their standard deviation.
        Default: `LogisticRegression`.
    cv : int, cross-validation generator or iterable
        How the rows are divided, as everywhere in scikit-learn. With an int and `groups`, whole
        groups are held out.
    methods : "auto", str or list of str
        The methods whose maps are averaged; see `rainproof.Recalibrator`, which has others for more
        than two classes. A method of one event is then fitted to each class against the rest, as
        scikit-learn does.
    random_state : int or None
        The seed of the recalibrator's choice; None is 0, so that the same rows give the same map.

    Attributes
    ----------
    estimator_ : estimator
        The classifier, fitted to all rows.
    recalibrator_ : rainproof.Recalibrator
        The map. Its certificate is about the classifiers of the folds, which saw fewer rows than
        `estimator_`; for a proof about `estimator_` itself, fit a `rainproof.Recalibrator` to
        predictions for rows kept apart.
    response_method_ : str
        What the map corrects: "predict_proba" or "decision_function".
    classes_ : ndarray of shape (k,)
    n_features_in_ : int

    Notes
    -----
    `predict` is the class with the largest recalibrated probability. Sample weights are given to
    the classifier (if it takes them) and to the map. With metadata routing
    (``sklearn.set_config(enable_metadata_routing=True)``) the classifier gets what it requests:
    ``LogisticRegression().set_fit_request(sample_weight=True)``; a search or a pipeline around this
    one passes on what ``set_fit_request(sample_weight=True, groups=True)`` requests.

    Examples
    --------
    >>> from rainproof.integrations.sklearn import RecalibratedClassifier
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = make_classification(2000, random_state=0)
    >>> model = RecalibratedClassifier(GaussianNB(), cv=5).fit(X, y)
    >>> model.predict_proba(X[:1]).shape
    (1, 2)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = 5,
        methods: Any = "auto",
        random_state: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.methods = methods
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the classifier to all rows, and the map to cross-validated predictions.

        Parameters
        ----------
        X : array_like of shape (n, features)
        y : array_like of shape (n,)
            Labels of any kind. Of two, the event is the second one in sorted order.
        sample_weight : array_like of shape (n,), optional
        groups : array_like of shape (n,), optional
            The group of each row: held out as a whole, and independent of each other for the map.

        Returns
        -------
        RecalibratedClassifier
            Itself.
        """
        X, y, sample_weight, groups = indexable(
            X, column_or_1d(y, warn=True), sample_weight, groups
        )
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise InputError("y must have at least two classes; it has 1 class")
        estimator = self._classifier()
        fit_params, split_params = self._params(estimator, sample_weight, groups)
        if groups is None:
            splitter = check_cv(self.cv, y, classifier=True)
        else:
            splitter = self._group_splitter()
        method = _response_method(estimator)
        held_out = cross_val_predict(
            clone(estimator), X, y, cv=splitter, method=method, **split_params
        )
        scores = None
        if method != _PREDICT_PROBA:
            scores = _ScoreScale.of(held_out)
        # None must not be random here: the same rows give the same map.
        recalibrator = Recalibrator(self.methods, rng=self.random_state or 0)
        prob = _class_probabilities(held_out, scores)
        recalibrator.fit(prob, codes, sample_weight=sample_weight, groups=groups)
        self.classes_ = classes
        self.estimator_ = clone(estimator).fit(X, y, **fit_params)
        self.recalibrator_ = recalibrator
        self.response_method_ = method
        self._score_scale = scores
        for name in ("n_features_in_", "feature_names_in_"):  # as far as the classifier has them
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _classifier(self) -> Any:
        """Return the classifier that is fitted: the user's, or a logistic regression."""
        return LogisticRegression() if self.estimator is None else self.estimator

    def _params(
        self, estimator: Any, sample_weight: Any, groups: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what the classifier's `fit` takes, and what the cross-validation takes beside it.

        With metadata routing both get what they request. Without it, `fit` gets the weights if it
        has a parameter for them, and the cross-validation the groups.
        """
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, groups=groups)
            fit_params = routed.estimator.fit
            return fit_params, {"params": {**fit_params, **routed.splitter.split}}
        fit_params = {}
        if sample_weight is not None and "sample_weight" in signature(estimator.fit).parameters:
            fit_params["sample_weight"] = sample_weight
        return fit_params, {"params": fit_params, "groups": groups}

    def _group_splitter(self) -> Any:
        """Return what divides the rows, each group as a whole."""
        if self.cv is None or isinstance(self.cv, int):
            return StratifiedGroupKFold(self.cv or 5)
        return check_cv(self.cv, classifier=True)

    def get_metadata_routing(self) -> Any:
        """Return what is passed on to the classifier and to the division of rows, as scikit-learn's
        routing asks.
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        router.add(estimator=self._classifier(), method_mapping=to_fit)
        return router.add(splitter=self._group_splitter(), method_mapping=to_split)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the recalibrated probabilities of all classes."""
        check_is_fitted(self)
        response = getattr(self.estimator_, self.response_method_)(X)
        prob = _class_probabilities(response, self._score_scale)
        # The map and not `predict`, which warns of extrapolation: the classifier's own rows would
        # be enough for that.
        recalibrate = self.recalibrator_.map_
        if len(self.classes_) > 2:
            several: Floats = recalibrate(prob)
            return several
        return _both_classes(recalibrate(prob[:, 1]))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the largest recalibrated probability, the first of equals."""
        check_is_fitted(self)
        predicted: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return predicted

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn asks about the classifier: it takes what its estimator takes."""
        from sklearn.utils import get_tags  # from 1.6 on

        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._classifier()).input_tags.sparse
        return tags

    def _more_tags(self) -> dict[str, Any]:
        """Return the same for scikit-learn before 1.6."""
        return {"_xfail_checks": NOT_EQUIVALENT}


_PREDICT_PROBA = "predict_proba"


def _response_method(estimator: Any) -> str:
    """Return how the classifier is asked for what the map corrects."""
    for name in (_PREDICT_PROBA, "decision_function"):
        if hasattr(estimator, name):
            return name
    raise InputError(
        "estimator must have predict_proba or decision_function; "
        f"{type(estimator).__name__} has neither: "
        "recalibration needs a number for each row, not a class"
    )


class _ScoreScale(NamedTuple):
    """How scores of a classifier without probabilities become numbers that a map of probabilities
    can correct.

    A map is fitted to them, so that their unit does not matter; but it must be one in which their
    logits are of use.
    """

    center: Floats
    scale: float

    @classmethod
    def of(cls, score: Any) -> _ScoreScale:
        """Center and divide by the standard deviation, over rows the classifier has not seen."""
        score = np.asarray(score, np.float64)
        center = score.mean(axis=0)
        scale = float((score - center).std())
        return cls(center, scale if scale > 0 else 1.0)

    def probabilities(self, score: Any) -> Floats:
        """Return a probability for each class, by softmax: of two, by the logistic function."""
        standard = (np.asarray(score, np.float64) - self.center) / self.scale
        if standard.ndim == 1:  # the logistic function is the softmax beside a score of 0
            standard = np.stack([np.zeros_like(standard), standard], axis=1)
        return softmax(standard)


def _class_probabilities(response: Any, scores: _ScoreScale | None) -> Floats:
    """Return a probability for each class from what the classifier predicts: probabilities, or
    scores.
    """
    if scores is not None:
        return scores.probabilities(response)
    # Rounding may have left probabilities just outside [0, 1], or their sum beside 1.
    prob = np.clip(np.asarray(response, np.float64), 0.0, 1.0)
    if prob.shape[1] == 2:
        return _both_classes(prob[:, 1])
    prob /= prob.sum(axis=1, keepdims=True)
    return prob


def _both_classes(event: Floats) -> Floats:
    """Return the probabilities of two classes, given those of the second."""
    return np.stack([1 - event, event], axis=1)
