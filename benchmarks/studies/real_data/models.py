"""Eight kinds of models at fast settings: some are calibrated, most are not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_TRAINED = 4_000  # rows that a model is fitted to
_MOST_OF_SLOW = 2_000  # the same of models whose time grows with the square of the rows
_SEED = 0


def _naive_bayes() -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB()


def _boosted_trees() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=60, random_state=_SEED)


def _class_weighted() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(class_weight="balanced", max_iter=300)


def _support_vectors() -> Any:
    from sklearn.svm import SVC

    return SVC()


def _neural_net() -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((32,), max_iter=80, random_state=_SEED)


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=300)


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(60, min_samples_leaf=2, random_state=_SEED)


def _neighbors() -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(15)


MODELS: dict[str, Callable[[], Any]] = {
    "naive Bayes": _naive_bayes,
    "boosted trees": _boosted_trees,
    "class-weighted": _class_weighted,
    "support vectors": _support_vectors,
    "neural net": _neural_net,
    "logistic regression": _logistic,
    "random forest": _forest,
    "nearest neighbors": _neighbors,
}
"""Makes each kind of model; features are scaled before."""

_SLOW = ("support vectors", "nearest neighbors")


def predict(kind: str, x: Floats, y: Ints, new: Floats) -> Floats:
    """Fit a kind of model to features and events, in random order, and predict those of new rows.

    Support vectors predict the sigmoid of their margin, as if it were a log odds.
    """
    from scipy.special import expit
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    most = _MOST_OF_SLOW if kind in _SLOW else MOST_TRAINED
    model = make_pipeline(StandardScaler(), MODELS[kind]())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rounds are enough here
        model.fit(x[:most], y[:most])
        if kind == "support vectors":
            return np.asarray(expit(model.decision_function(new)))
        return np.asarray(model.predict_proba(new)[:, 1])
