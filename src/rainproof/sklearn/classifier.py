"""A classifier whose probabilities are recalibrated on predictions for rows that it was not fitted to."""

from __future__ import annotations

from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, check_cv, cross_val_predict
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, indexable

from rainproof.core.arrays import Floats
from rainproof.errors import InputError
from rainproof.recalibration.recalibrator import Recalibrator

_REASON = "a weight of 2 is one row in one fold of the recalibrator, two rows may be in two"
_CHECKS = ("sample_weight_equivalence_on_dense_data", "sample_weight_equivalence_on_sparse_data")
NOT_EQUIVALENT = {f"check_{name}": _REASON for name in (*_CHECKS, "sample_weights_invariance")}
"""The checks of scikit-learn that it does not pass, and why: for ``check_estimator(expected_failed_checks=...)``."""


class RecalibratedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A binary classifier with recalibrated probabilities: cross-validated predictions fit a `rainproof.Recalibrator`.

    The classifier is fitted to all rows. The map that corrects its probabilities is fitted to predictions for rows that
    a classifier of the same kind did not see (cross-validation), by the method that leaves the decision maker who
    loses most with the smallest loss.

    Parameters
    ----------
    estimator : estimator, optional
        A classifier with `predict_proba`. Default: `LogisticRegression`.
    cv : int, cross-validation generator or iterable
        How the rows are divided, as everywhere in scikit-learn. With an int and `groups`, whole groups are held out.
    methods : "auto", str or list of str
        The methods to choose from; see `rainproof.Recalibrator`.
    random_state : int or None
        The seed of the recalibrator's choice; None is 0, so that the same rows give the same map.

    Attributes
    ----------
    estimator_ : estimator
        The classifier, fitted to all rows.
    recalibrator_ : rainproof.Recalibrator
        The map. Its certificate is about the classifiers of the folds, which saw fewer rows than `estimator_`; for a
        proof about `estimator_` itself, fit a `rainproof.Recalibrator` to predictions for rows kept apart.
    classes_ : ndarray of shape (2,)
    n_features_in_ : int

    Notes
    -----
    `predict` is the class with the larger recalibrated probability. Sample weights are given to the classifier (if it
    takes them) and to the map.

    Examples
    --------
    >>> from rainproof.sklearn import RecalibratedClassifier
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = make_classification(2000, random_state=0)
    >>> model = RecalibratedClassifier(GaussianNB(), cv=5).fit(X, y)
    >>> model.predict_proba(X[:1]).shape
    (1, 2)
    """

    def __init__(
        self, estimator: Any = None, *, cv: Any = 5, methods: Any = "auto", random_state: int | None = None
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.methods = methods
        self.random_state = random_state

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Fit the classifier to all rows, and the map to cross-validated predictions.

        Parameters
        ----------
        X : array_like of shape (n, features)
        y : array_like of shape (n,)
            Two labels of any kind; the event is the second one in sorted order.
        sample_weight : array_like of shape (n,), optional
        groups : array_like of shape (n,), optional
            The group of each row: held out as a whole, and independent of each other for the map.

        Returns
        -------
        RecalibratedClassifier
            Itself.
        """
        X, y, sample_weight, groups = indexable(X, column_or_1d(y, warn=True), sample_weight, groups)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            # The words that scikit-learn's own checks of a classifier ask for.
            kind = f"The type of the target is {type_of_target(y)}"
            has = f"y has {len(self.classes_)} class{'es' * (len(self.classes_) != 1)}"
            raise InputError(f"Only binary classification is supported. {kind}; {has}")
        estimator = self._classifier()
        params: dict[str, Any] = {}
        if sample_weight is not None and "sample_weight" in signature(estimator.fit).parameters:
            params["sample_weight"] = sample_weight
        held_out = cross_val_predict(
            clone(estimator), X, y, cv=self._splits(y, groups), groups=groups, method="predict_proba", params=params
        )
        recalibrator = Recalibrator(self.methods, rng=self.random_state or 0)
        recalibrator.fit(_event(held_out), codes, sample_weight=sample_weight, groups=groups)
        self.estimator_ = clone(estimator).fit(X, y, **params)
        self.recalibrator_ = recalibrator
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _classifier(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def _splits(self, y: ArrayLike, groups: ArrayLike | None) -> Any:
        if groups is not None and (self.cv is None or isinstance(self.cv, int)):
            return StratifiedGroupKFold(self.cv or 5)
        return check_cv(self.cv, y, classifier=True)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the recalibrated probabilities of both classes."""
        check_is_fitted(self)
        event = self.recalibrator_.predict(_event(self.estimator_.predict_proba(X)))
        return np.stack([1 - event, event], axis=1)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the larger recalibrated probability."""
        check_is_fitted(self)
        found: NDArray[Any] = self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(np.intp)]
        return found

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags  # from 1.6 on

        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = get_tags(self._classifier()).input_tags.sparse
        return tags

    def _more_tags(self) -> dict[str, Any]:  # of scikit-learn before 1.6
        return {"binary_only": True, "_xfail_checks": NOT_EQUIVALENT}


def _event(prob: Any) -> Floats:
    """The probability of the second class, which rounding may have left just outside [0, 1]."""
    return np.clip(np.asarray(prob, np.float64)[:, 1], 0.0, 1.0)
