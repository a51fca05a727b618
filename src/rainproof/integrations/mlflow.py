"""rainproof for MLflow: an assessment as metrics, tags, and the report among the artifacts of a
run.

Nothing is computed here; numbers have the names that the results have.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from rainproof.core.result import Interval
from rainproof.errors import MissingExtraError
from rainproof.recalibration.certificate import Certificate, ClassCertificate
from rainproof.verdict.classes import ClassAssessment
from rainproof.verdict.costs import Rule
from rainproof.verdict.result import Assessment

try:
    import mlflow
except ImportError as error:
    raise MissingExtraError("rainproof.integrations.mlflow", "MLflow", "mlflow") from error


# names of metrics: the costs per case of a task, as its result calls them
_COSTS = {
    Rule.AS_IS: "cost",
    Rule.RECALIBRATED: "cost_recalibrated",
    Rule.CUTOFF: "cost_best_cutoff",
    Rule.ALWAYS: "cost_always",
    Rule.NEVER: "cost_never",
    Rule.FIXED: "cost_fixed",
    Rule.PERFECT: "cost_perfect",
}


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
    verdict = assessment.verdict
    mlflow.set_tags({f"{prefix}.grade": verdict.grade, f"{prefix}.headline": verdict.headline})
    with TemporaryDirectory() as folder:
        assessment.to_html(Path(folder, "report.html"))
        assessment.to_json(Path(folder, "assessment.json"))
        mlflow.log_artifacts(folder, prefix)


def metrics(assessment: Assessment | ClassAssessment) -> dict[str, float]:
    """Return the numbers of an assessment by name; those that are not finite are left out."""
    if isinstance(assessment, ClassAssessment):
        numbers = _of_classes(assessment)
    else:
        numbers = _of_event(assessment)
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def _of_event(assessment: Assessment) -> dict[str, float]:
    """Return the numbers of an assessment of one event, NaN for those that there are not."""
    calibration = assessment.calibration
    recalibrator = assessment.recalibrator
    certificate = None if recalibrator is None else recalibrator.certificate_
    numbers = {
        "rows": float(assessment.summary.n),
        "event_rate": assessment.summary.event_rate,
        "loss_bound_as_is": assessment.guarantee.bound,
        "loss_bound_rounded": assessment.rounded_guarantee.bound,
        "mean_prediction": calibration.mean_prediction,
        "calibration_p_value": calibration.p_value,
        "skill": _value(assessment.evidence.skill),
    }
    numbers |= _of_certificate(certificate)
    if assessment.task is not None:
        for rule, cost in assessment.task.costs.items():
            numbers[_COSTS[rule]] = cost.value
    for estimate in assessment.measures:
        name = estimate.name.replace("[", ".").replace("]", "")  # brackets are refused by MLflow
        numbers[name] = estimate.value
    return numbers


def _of_classes(assessment: ClassAssessment) -> dict[str, float]:
    """Return the numbers of an assessment of several classes, NaN for those that there are not."""
    numbers = {"rows": float(assessment.n), "loss_bound_as_is": assessment.guarantee.bound}
    for name in ("accuracy", "log_loss", "log_loss_gain", "skill"):
        numbers[name] = _value(getattr(assessment, name))
    numbers |= _of_certificate(assessment.recalibrator.certificate_)
    if assessment.task is not None:
        for rule, cost in assessment.task.costs.items():
            name = "cost" if rule is Rule.AS_IS else f"cost_{rule.value}"
            numbers[name] = cost.value
    for of_class in assessment.classes:
        # other characters are refused by MLflow
        label = re.sub(r"[^-\w. :/]", "_", str(of_class.label), flags=re.ASCII)
        calibration = of_class.calibration
        numbers[f"{label}/mean_prediction"] = calibration.mean_prediction
        numbers[f"{label}/event_rate"] = calibration.event_rate
        numbers[f"{label}/calibration_p_value"] = calibration.p_value
    return numbers


def _of_certificate(certificate: Certificate | ClassCertificate | None) -> dict[str, float]:
    """Return what is proven of the recalibration, if anything is."""
    if certificate is None:
        return {}
    return {
        "recalibration_harm_bound": certificate.harm_bound,
        "recalibration_gain_at_least": certificate.gain_at_least,
    }


def _value(estimate: Interval | None) -> float:
    """Return an estimate without its interval, NaN if there is none."""
    return math.nan if estimate is None else estimate.value
