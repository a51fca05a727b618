"""Make clinical_values.json: what dcurves, statsmodels and R's rms and pROC say of the same rows.

    pip install dcurves==1.1.7 statsmodels==0.15.0
    apt install r-cran-rms r-cran-proc            # Rscript on the path
    python tests/reference/make_clinical_values.py

They are far heavier than rainproof's tests need, so their answers are kept instead, with the
inputs.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
from dcurves import dca

THRESHOLDS = [0.05, 0.1, 0.2, 0.35, 0.5, 0.8]

# val.prob: Dxy, C (ROC), ..., Brier, Intercept, Slope (of the logistic model with both coefficients
# free).
R_SCRIPT = """
suppressMessages({library(rms); library(pROC)})
d <- read.csv(commandArgs(TRUE)[1])
v <- val.prob(d$p, d$y, pl = FALSE)
area <- ci.auc(roc(d$y, d$p, direction = "<", levels = c(0, 1), quiet = TRUE), method = "delong")
variance <- var(roc(d$y, d$p, direction = "<", levels = c(0, 1), quiet = TRUE), method = "delong")
cat(sprintf("%.15g ", c(v["C (ROC)"], v["Brier"], v["Slope"], area[2], variance)))
cat(as.character(packageVersion("rms")), as.character(packageVersion("pROC")), R.version$major, R.version$minor)
"""


def draw(seed):
    """Rows with ties, sometimes badly calibrated."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 160))
    p = np.clip(np.round(rng.beta(*rng.uniform(0.7, 3, 2), n), 2 + seed % 2), 0.01, 0.99)
    frequency = [p, p**2, np.clip(1.5 * p, 0, 1), 0.5 * p + 0.2][seed % 4]
    return (rng.random(n) < frequency).astype(int), p


def from_r(y, p):
    with tempfile.TemporaryDirectory() as folder:
        script, rows = Path(folder, "values.R"), Path(folder, "rows.csv")
        script.write_text(R_SCRIPT)
        pd.DataFrame({"y": y, "p": p}).to_csv(rows, index=False)
        found = subprocess.run(
            ["Rscript", script, rows], check=True, capture_output=True, text=True
        ).stdout.split()
    names = ("auroc", "brier_score", "calibration_slope", "auroc_proc", "auroc_variance")
    return dict(zip(names, map(float, found[:5]), strict=True)), found[5:]


def from_statsmodels(y, p):
    logit = np.log(p / (1 - p))
    found = {}
    for name, x, offset in (
        ("calibration_intercept", np.ones(len(p)), logit),
        ("calibration_slope", sm.add_constant(logit), None),
    ):
        fit = sm.GLM(y, x, family=sm.families.Binomial(), offset=offset).fit(tol=1e-14)
        found[name] = [float(fit.params[-1]), *map(float, fit.conf_int()[-1])]
    return found


def main():
    cases = []
    for seed in range(8):
        y, p = draw(seed)
        frame = pd.DataFrame({"y": y, "model": p})
        curve = dca(data=frame, outcome="y", modelnames=["model"], thresholds=THRESHOLDS).set_index(
            "model"
        )
        values, versions = from_r(y, p)
        cases.append(
            {
                "y": y.tolist(),
                "p": p.tolist(),
                "net_benefit": curve.loc["model", "net_benefit"].tolist(),
                "treat_all": curve.loc["all", "net_benefit"].tolist(),
                "statsmodels": from_statsmodels(y, p),
                "r": values,
            }
        )
    made = {name: version(name) for name in ("dcurves", "statsmodels")}
    made |= {"rms": versions[0], "pROC": versions[1], "R": ".".join(versions[2:])}
    lines = ",\n".join(map(json.dumps, cases))
    head = json.dumps({"made_with": made, "thresholds": THRESHOLDS})[:-1]
    Path(__file__).with_name("clinical_values.json").write_text(
        f'{head}, "cases": [\n{lines}\n]}}\n'
    )


if __name__ == "__main__":
    main()
