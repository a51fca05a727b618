"""rainproof for MLflow: an assessment as metrics, tags, and the report among the artifacts of a
run.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from rainproof.core.text import finite
from rainproof.errors import MissingExtraError
from rainproof.verdict.classes import ClassAssessment
from rainproof.verdict.costs import Rule
from rainproof.verdict.result import Assessment

try:
    import mlflow
except ImportError as error:
    raise MissingExtraError("rainproof.integrations.mlflow", "MLflow", "mlflow") from error


_COSTS = (
    "cost",
    "cost_recalibrated",
    "cost_best_cutoff",
    "cost_always",
    "cost_never",
    "cost_fixed",
    "cost_perfect",
)


def log(assessment: Assessment | ClassAssessment, *, prefix: str = "rainproof") -> None:
    """Log an assessment to the active MLflow run (or to a new one).

    Metrics: the bounds of the verdict, the costs of the user's task, and every measure. Tags: the
    grade and the headline. Artifacts: ``{prefix}/report.html``, which MLflow's viewer opens, and
    ``{prefix}/assessment.json``.

    Parameters
    ----------
    assessment : Assessment or ClassAssessment
        What `rainproof.assess` returned. Of several classes, numbers of one are named after it, as
        in ``{prefix}/dog/mean_prediction``.
    prefix : str
        What the names of metrics, tags and the folder of artifacts begin with.

    Examples
    --------
    >>> import rainproof.integrations.mlflow  # doctest: +SKIP
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     rainproof.integrations.mlflow.log(rainproof.assess(y, p))
    """
    mlflow.log_metrics({f"{prefix}/{name}": value for name, value in metrics(assessment).items()})
    mlflow.set_tags(
        {
            f"{prefix}.grade": assessment.verdict.grade,
            f"{prefix}.headline": assessment.verdict.headline,
        }
    )
    with TemporaryDirectory() as folder:
        assessment.to_html(Path(folder, "report.html"))
        assessment.to_json(Path(folder, "assessment.json"))
        mlflow.log_artifacts(folder, prefix)


def metrics(assessment: Assessment | ClassAssessment) -> dict[str, float]:
    """Return the numbers of an assessment by name; those that are not finite are left out."""
    found = (
        _of_classes(assessment)
        if isinstance(assessment, ClassAssessment)
        else _of_event(assessment)
    )
    return {
        name: value
        for name, value in found.items()
        if finite(value) is not None and value is not None
    }


def _of_event(assessment: Assessment) -> dict[str, float | None]:
    skill, c = assessment.evidence.skill, assessment.calibration
    certificate = None if assessment.recalibrator is None else assessment.recalibrator.certificate_
    numbers: dict[str, float | None] = {
        "rows": float(assessment.summary.n),
        "event_rate": assessment.summary.event_rate,
        "loss_bound_as_is": assessment.guarantee.bound,
        "loss_bound_rounded": assessment.rounded_guarantee.bound,
        "mean_prediction": c.mean_prediction,
        "calibration_p_value": c.p_value,
        "skill": None if skill is None else skill.value,
        "recalibration_harm_bound": None if certificate is None else certificate.harm_bound,
        "recalibration_gain_at_least": None if certificate is None else certificate.gain_at_least,
    }
    for name in _COSTS if assessment.task else ():
        cost = getattr(assessment.task, name)
        numbers[name] = None if cost is None else cost.value
    for estimate in assessment.measures:
        name = estimate.name.replace("[", ".").replace("]", "")  # which MLflow does not take
        numbers[name] = estimate.value
    return numbers


def _of_classes(a: ClassAssessment) -> dict[str, float | None]:
    certificate = a.recalibrator.certificate_
    numbers: dict[str, float | None] = {"rows": float(a.n), "loss_bound_as_is": a.guarantee.bound}
    for name in ("accuracy", "log_loss", "log_loss_gain", "skill"):
        estimate = getattr(a, name)
        numbers[name] = None if estimate is None else estimate.value
    for name in ("harm_bound", "gain_at_least"):
        numbers[f"recalibration_{name}"] = (
            None if certificate is None else getattr(certificate, name)
        )
    for rule, cost in ({} if a.task is None else a.task.costs).items():
        numbers["cost" if rule is Rule.AS_IS else f"cost_{rule.value}"] = cost.value
    for one in a.classes:
        label = re.sub(r"[^-\w. :/]", "_", str(one.label), flags=re.ASCII)  # what MLflow takes
        for name in ("mean_prediction", "event_rate", "p_value"):
            key = "calibration_p_value" if name == "p_value" else name
            numbers[f"{label}/{key}"] = getattr(one.calibration, name)
    return numbers
