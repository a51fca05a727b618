"""Make score_values.json: scores and decompositions as published software computes them.

    pip install model-diagnostics==1.5.0 scikit-learn==1.9.1
    python tests/reference/make_score_values.py

Both are far heavier than rainproof's tests need, so their answers are kept instead. The inputs are
kept with them: a random generator may change, a file does not.
"""

from __future__ import annotations

import json
import math
from importlib.metadata import version
from pathlib import Path

import numpy as np
from model_diagnostics.scoring import LogLoss, SquaredError, decompose
from sklearn.metrics import brier_score_loss, log_loss


def draw(seed):
    """A weighted sample with ties: predictions with one or two decimals, sometimes badly
    calibrated.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    p = np.round(rng.beta(*rng.uniform(0.5, 3, 2), n), 1 + seed % 2)
    if seed % 5:  # the others keep predictions of 0 and 1, some of them wrong
        p = np.clip(p, 0.01, 0.99)
    frequency = [p, p**2, 1 - p, np.full(n, 0.3)][seed % 4]
    y = (rng.random(n) < frequency).astype(int)
    y[:2] = 0, 1  # scikit-learn wants to see both outcomes
    return y, p, np.round(rng.uniform(0.1, 5, n), 1)


def answer(y, p, w):
    parts = {}
    for rule, function in (("brier", SquaredError()), ("log", LogLoss())):
        row = decompose(y, p, weights=w, scoring_function=function).to_dicts()[0]
        parts[rule] = [
            row[name] for name in ("score", "miscalibration", "discrimination", "uncertainty")
        ]
    # scikit-learn clips predictions there and returns a finite score
    sure = math.isinf(parts["log"][0])
    return {
        "y": y.tolist(),
        "p": p.tolist(),
        "w": w.tolist(),
        "model_diagnostics": parts,
        "sklearn": {
            "brier": brier_score_loss(y, p, sample_weight=w),
            "log": math.inf if sure else log_loss(y, p, sample_weight=w),
        },
    }


def main():
    made_by = {name: version(name) for name in ("model-diagnostics", "scikit-learn", "numpy")}
    lines = ",\n".join(json.dumps(answer(*draw(seed))) for seed in range(40))
    Path(__file__).with_name("score_values.json").write_text(
        f'{{"made_by": {json.dumps(made_by)}, "samples": [\n{lines}\n]}}\n'
    )


if __name__ == "__main__":
    main()
