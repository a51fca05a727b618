"""How often the advice of an unknown verdict, for the time until there is more data, is right.

python -m studies.better_guess
python -m studies.better_guess --groups

Without costs, recalibrated probabilities are right if they are nearer to the true ones than the probabilities as they
are; the probabilities as they are, if they are nearer than the event rate; and to do without them, if they are not.
With costs, another rule than acting on the probabilities as they are is right if it costs no more in the population.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import rainproof
from rainproof.assessment.costs import Rule
from rainproof.assessment.words import meanwhile
from studies.grades import POPULATIONS

SIZES = (40, 100, 300, 1000, 5000)
LARGEST = 9  # rows of a group
MISSES = (1, 4, 9, 19)  # what a miss costs, where a false alarm costs 1
_TIE = 1e-9
Counts = Counter[tuple[str, bool]]


def study(simulations: int, *, groups: bool, sizes: tuple[int, ...] = SIZES) -> Iterator[tuple[str, int, Counts]]:
    """For each population and size: how often each advice was given, and how often rightly."""
    for number, (name, (predict, rate)) in enumerate(POPULATIONS.items()):
        for n in sizes:
            found: Counts = Counter()
            for k in range(simulations):
                rng = np.random.default_rng([number, n, k])
                p, y, group = draw(n, predict, rate, rng, groups=groups)
                miss = MISSES[k % len(MISSES)]
                task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=miss)
                a = rainproof.assess(y, p, task=task, groups=group, measures=[], n_resamples=199, rng=k)
                if a.verdict.grade == "unknown" and not a.evidence.is_reversed:
                    everyone = predict(np.linspace(0, 1, 10_001))
                    found.update(judged(a, everyone, rate(everyone), miss))
            yield name, n, found


def draw(n: int, predict: Any, rate: Any, rng: np.random.Generator, *, groups: bool) -> tuple[Any, Any, Any]:
    """Rows; in groups of up to nine, half of the predictions alike, and common outcomes in half of the groups."""
    if not groups:
        p = predict(rng.random(n))
        return p, rng.random(n) < rate(p), None
    sizes = rng.integers(1, LARGEST + 1, n)
    group = np.repeat(np.arange(n), sizes)[:n]
    own, shared, coin = rng.random(n), rng.random(n)[group], rng.random((2, n))
    p = predict(np.where(coin[0] < 0.5, shared, own))
    together = rng.random(n)[group]
    return p, np.where(coin[1][group] < 0.5, together, rng.random(n)) < rate(p), group


def judged(a: rainproof.Assessment, p: Any, true: Any, miss: float) -> Iterator[tuple[str, bool]]:
    """The advice without and with costs, and whether it is right in the population."""
    q = p if a.recalibrator is None else a.recalibrator.predict(p)
    error = {"as is": p, "recalibrated": q, "without": np.full(len(p), true.mean())}
    far = {name: float(((x - true) ** 2).mean()) for name, x in error.items()}
    guess = meanwhile(a.evidence, None) or "without"
    yield guess, far[guess] <= far["as is" if guess != "as is" else "without"] + _TIE
    rule = meanwhile(a.evidence, a.task)
    acts = {Rule.AS_IS: p, Rule.RECALIBRATED: q, Rule.ALWAYS: np.ones(len(p)), Rule.NEVER: np.zeros(len(p))}
    cost = {name: float(np.where(x * (1 + miss) >= 1, 1 - true, miss * true).mean()) for name, x in acts.items()}
    saved = None if a.task is None or rule is None else a.task.saved.get(rule)
    if rule is not None and saved is not None:
        saves = cost[Rule.AS_IS] - cost[rule]
        yield "your costs", saves >= -_TIE
        yield "interval of the saving", saved.low <= saves <= saved.high
        if saved.low > 0:
            yield "your costs, clearly", saves >= -_TIE


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=20)
    parser.add_argument("--groups", action="store_true")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    total: Counts = Counter()
    for name, n, found in study(options.simulations, groups=options.groups):
        print(f"{name}, {n} rows: {_shown(found)}", flush=True)
        total += found
    print(f"all: {_shown(total)}")


def _shown(found: Counts) -> str:
    names = sorted({name for name, _ in found})
    return "; ".join(f"{name} {found[name, True]} of {found[name, True] + found[name, False]} right" for name in names)


if __name__ == "__main__":
    main()
