"""rainproof for MLflow: an assessment as metrics, tags, and the report among the artifacts of a run."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from rainproof.assessment.result import Assessment
from rainproof.core.text import finite
from rainproof.errors import MissingExtraError

try:
    import mlflow
except ImportError as error:
    raise MissingExtraError("rainproof.integrations.mlflow", "MLflow", "mlflow") from error


_COSTS = ("cost", "cost_recalibrated", "cost_best_cutoff", "cost_always", "cost_never", "cost_perfect")


def log(assessment: Assessment, *, prefix: str = "rainproof") -> None:
    """Log an assessment to the active MLflow run (or to a new one).

    Metrics: the bounds of the verdict, the costs of the user's task, and every measure. Tags: the grade and the
    headline. Artifacts: ``{prefix}/report.html``, which MLflow's viewer opens, and ``{prefix}/assessment.json``.

    Parameters
    ----------
    assessment : Assessment
        What `rainproof.assess` returned.
    prefix : str
        What the names of metrics, tags and the folder of artifacts begin with.

    Examples
    --------
    >>> import rainproof.integrations.mlflow  # doctest: +SKIP
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     rainproof.integrations.mlflow.log(rainproof.assess(y, p))
    """
    mlflow.log_metrics({f"{prefix}/{name}": value for name, value in metrics(assessment).items()})
    mlflow.set_tags({f"{prefix}.grade": assessment.verdict.grade, f"{prefix}.headline": assessment.verdict.headline})
    with TemporaryDirectory() as folder:
        assessment.to_html(Path(folder, "report.html"))
        assessment.to_json(Path(folder, "assessment.json"))
        mlflow.log_artifacts(folder, prefix)


def metrics(assessment: Assessment) -> dict[str, float]:
    """Return the numbers of an assessment by name; those that are not finite are left out."""
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
    return {name: value for name, value in numbers.items() if finite(value) is not None and value is not None}
