"""An assessment in MLflow."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

import rainproof


@pytest.fixture
def mlflow():
    """Not imported above: that takes seconds, in every worker."""
    return importlib.import_module("mlflow")


@pytest.fixture
def client(mlflow, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    old = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield mlflow.MlflowClient()
    mlflow.set_tracking_uri(old)


def test_numbers_grade_and_report_are_logged(mlflow, client, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.random(600)
    y = rng.random(600) < p
    y[0], p[0] = 0, 1.0  # the log score is infinite
    a = rainproof.assess(
        y, p, task=rainproof.DecisionTask.from_costs(false_positive=1, false_negative=9), n_resamples=19, rng=0
    )
    with mlflow.start_run() as run:
        importlib.import_module("rainproof.integrations.mlflow").log(a)
    logged = client.get_run(run.info.run_id).data
    assert logged.tags["rainproof.grade"] == a.verdict.grade
    assert logged.tags["rainproof.headline"] == a.verdict.headline
    assert logged.metrics["rainproof/rows"] == 600
    assert logged.metrics["rainproof/loss_bound_as_is"] == a.guarantee.bound
    assert logged.metrics["rainproof/cost"] == a.task.cost.value
    assert logged.metrics["rainproof/soft_binned_cdl"] == a["soft_binned_cdl"].value
    assert logged.metrics["rainproof/soft_binned_cdl.hard"] == a["soft_binned_cdl[hard]"].value
    assert "rainproof/log_score" not in logged.metrics
    files = {file.path for file in client.list_artifacts(run.info.run_id, "rainproof")}
    assert files == {"rainproof/report.html", "rainproof/assessment.json"}
    stored = client.download_artifacts(run.info.run_id, "rainproof/assessment.json", str(tmp_path))
    assert json.loads(Path(stored).read_text())["verdict"]["grade"] == a.verdict.grade
