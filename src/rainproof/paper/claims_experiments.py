"""Section 9: what the text says about its experiments."""

from __future__ import annotations

import numpy as np

from rainproof.paper.claims import Finding, at_most, claim
from rainproof.paper.constructions import Distribution
from rainproof.paper.figures import THRESHOLD
from rainproof.paper.model import ExampleModel
from rainproof.paper.mutants import Measures
from rainproof.paper.table2 import ALPHAS, EVALUATED, FITTED, READINGS

_BINNED = READINGS["bECE, 10 bins"][1]


@claim(
    "Section 9 (Table 2)",
    "SCDL has the smallest standard deviation of the four measures, except at alpha = 1.",
    "SCDL as in Definition 1.1; slip: the row bECE is not 2 ECE(D_m) but the sum over 10 bins of |mean outcome - mean "
    "prediction|",
)
def _table_2(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    repeats = max(50, min(300, effort // 4))
    ratios = {}
    for alpha in ALPHAS:
        draws: dict[str, list[float]] = {"SCDL": [], "smCE": [], "Cutoff": [], "bECE": []}
        for _ in range(repeats):
            model = ExampleModel(alpha)
            f = model.fit(FITTED, rng)
            x, y = model.sample(EVALUATED, rng)
            dist = Distribution.of(f(x), np.ones(EVALUATED), y)
            for name, values in draws.items():
                values.append(_BINNED(dist.sample()) if name == "bECE" else on(name, dist))
        spread = {name: float(np.std(values)) for name, values in draws.items()}
        ratios[alpha] = spread["SCDL"] / min(spread[name] for name in ("smCE", "Cutoff", "bECE"))
    run = f"{repeats} repeats; at alpha = " + ", ".join(f"{alpha:g}: {value:.2f}" for alpha, value in ratios.items())
    below = max(value for alpha, value in ratios.items() if alpha < 1)
    return [
        at_most("sd of SCDL / smallest of the others, alpha < 1", below, 1, run),
        at_most("smallest of the others / sd of SCDL, alpha = 1", 1 / ratios[1.0], 1, run),
        at_most("sd of SCDL / sd of bECE, alpha = 1", spread["SCDL"] / spread["bECE"], 1, run),
    ]


@claim(
    "Section 9 (Figure 3)",
    "For 1 - f, Cutoff upper bounds the swap regret.",
    "swap regret per prediction, judged by E[Y | f(x)]; for f the text does not say it, and it does not hold there",
)
def _figure_3(rng: np.random.Generator, effort: int, on: Measures) -> list[Finding]:
    largest, repeats = 0.0, max(50, min(400, effort // 4))
    for _ in range(repeats):
        model = ExampleModel(float(rng.random()))
        predictor = model.fit(FITTED, rng).flip()
        x, y = model.sample(EVALUATED, rng)
        p, truth = predictor(x), model.mean(x)
        regret = float(np.where(p >= THRESHOLD, THRESHOLD - truth, truth - THRESHOLD).clip(0).mean())
        largest = max(largest, regret / on("Cutoff", Distribution.of(p, np.ones(EVALUATED), y)))
    return [at_most("swap regret / Cutoff", largest, 1, f"{repeats} random alphas")]
