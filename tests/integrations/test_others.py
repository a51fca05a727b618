"""What docs/guide/integrations.md says of other libraries, against those libraries."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from helpers.cases import for_each
from sklearn.linear_model import LogisticRegression

import rainproof
import rainproof.integrations.sklearn


def test_a_metric_frame_of_fairlearn_takes_measures():
    from fairlearn.metrics import MetricFrame

    rng = np.random.default_rng(0)
    p, group = rng.random(300), np.array(["a", "b", "c"] * 100)
    y = (rng.random(300) < np.where(group == "c", p**2, p)).astype(int)
    frame = MetricFrame(
        metrics=rainproof.soft_binned_cdl, y_true=y, y_pred=p, sensitive_features=group
    )
    for name in "abc":
        assert frame.by_group[name] == rainproof.soft_binned_cdl(y[group == name], p[group == name])


def test_a_report_of_skore_takes_scorers():
    from skore import EstimatorReport

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (rng.random(400) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    model = LogisticRegression().fit(X[:200], y[:200])
    scorer = rainproof.integrations.sklearn.net_benefit_scorer(0.2)

    # skore hands scorers of scikit-learn all columns of predict_proba
    def net_benefit(estimator, X, y):
        return scorer(estimator, X, y)

    report = EstimatorReport(model, X_test=X[200:], y_test=y[200:], pos_label=1)
    report.metrics.add(net_benefit)
    found = report.metrics.summarize(metric=["net_benefit"]).frame()
    assert float(np.ravel(found)[0]) == pytest.approx(scorer(model, X[200:], y[200:]))


@for_each("module, package", [("mlflow", "mlflow"), ("torchmetrics", "torch")])
def test_a_missing_library_is_named_with_its_extra(module, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"rainproof.integrations.{module}", raising=False)
    with pytest.raises(rainproof.MissingExtraError, match=f"pip install {module}"):
        importlib.import_module(f"rainproof.integrations.{module}")
