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
        y,
        p,
        task=rainproof.DecisionTask.from_costs(false_positive=1, false_negative=9),
        n_resamples=19,
        rng=0,
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


def test_several_classes(mlflow, client):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([2, 1, 1], 2100)
    y = (rng.random((2100, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=2)
    task = rainproof.DecisionTask.from_cost_matrix(1 - np.eye(3), abstain=0.3)
    a = rainproof.assess(y, p, labels=["cat", "dog", "e[el]"], task=task, n_resamples=19)
    with mlflow.start_run() as run:
        importlib.import_module("rainproof.integrations.mlflow").log(a)
    logged = client.get_run(run.info.run_id).data
    assert logged.tags["rainproof.grade"] == a.grade
    expected = {
        "rows": 2100,
        "loss_bound_as_is": a.guarantee.bound,
        "skill": a.skill.value,
        "recalibration_harm_bound": a.recalibrator.certificate_.harm_bound,
        "cost": a.task.costs["as is"].value,
        "cost_recalibrated": a.task.costs["recalibrated"].value,
        "dog/event_rate": a["dog"].calibration.event_rate,
        "e_el_/calibration_p_value": a["e[el]"].calibration.p_value,
    }
    assert {name: logged.metrics[f"rainproof/{name}"] for name in expected} == expected
    files = {file.path for file in client.list_artifacts(run.info.run_id, "rainproof")}
    assert files == {"rainproof/report.html", "rainproof/assessment.json"}
