"""The bound for all classes at once: from its definition, beside those of single classes, and how
often it fails.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import for_each

import rainproof
from rainproof.inference import bounds, class_guarantee
from rainproof.inference.bound_inputs import BoundInputs


def rows(n, k, rng, power=1.0):
    true = rng.dirichlet(np.full(k, 0.7), n)
    said = true**power + 1e-12
    return (rng.random((n, 1)) > true.cumsum(axis=1)).sum(axis=1).clip(max=k - 1), said / said.sum(
        axis=1, keepdims=True
    )


@for_each("weighted", [False, True])
def test_the_bound_is_that_of_the_largest_charged_loss(weighted):
    rng = np.random.default_rng(3)
    y, p = rows(500, 4, rng, 1.6)
    w = rng.random(500) + 0.2 if weighted else None
    found = class_guarantee(y, p, sample_weight=w, labels=list("abcd"), confidence_level=0.9)
    samples = [rainproof.Sample(y == k, p[:, k], sample_weight=w) for k in range(4)]
    inputs = [BoundInputs.as_is(sample) for sample in samples]
    n, effective = inputs[0].n, inputs[0].effective_n
    largest = bounds.upper_bound(
        lambda tilt: max(one.charged_loss(tilt) for one in inputs), n, effective, 0.1
    )
    assert found.bound == pytest.approx(largest, abs=1e-12)
    alone = [
        rainproof.guarantee(sample, response="as_is", confidence_level=0.9) for sample in samples
    ]
    assert found.plug_in == pytest.approx(max(one.plug_in for one in alone), abs=1e-14)
    assert found.worst_class == "abcd"[int(np.argmax([one.plug_in for one in alone]))]
    assert found.bound >= max(one.bound for one in alone) - 1e-12
    by_class = [
        rainproof.guarantee(s, response="as_is", confidence_level=1 - 0.1 / 4).bound
        for s in samples
    ]
    assert found.bound < max(by_class)  # a bound for each class, all of them at once, costs more


def test_groups_and_words():
    rng = np.random.default_rng(4)
    y, p = rows(600, 3, rng)
    alone, grouped = class_guarantee(y, p), class_guarantee(y, p, groups=np.arange(600) // 6)
    assert (alone.groups, grouped.groups) == (None, 100)
    assert grouped.bound > alone.bound
    assert "for every class and every decision about it at once" in str(alone)
    assert "the 100 groups of rows were drawn independently" in str(grouped)
    assert "be used, and their sizes do not depend on predictions or outcomes. It is not" in str(
        grouped
    )
    with pytest.raises(
        rainproof.InputError, match="y_prob must have a column for each of more than two classes"
    ):
        class_guarantee(y > 0, p[:, 0])


def test_it_fails_seldom():
    """A calibrated population loses nothing, but the bound must also hold where the loss is known
    to be large.
    """
    rng = np.random.default_rng(5)
    y, p = rows(40_000, 5, rng, 2.0)
    truth = class_guarantee(y, p).plug_in
    failed = [
        class_guarantee(*rows(150, 5, rng, 2.0), confidence_level=0.8).bound < truth
        for _ in range(60)
    ]
    assert sum(failed) <= 12
