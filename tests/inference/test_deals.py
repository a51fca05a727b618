"""With an integer seed each sample has a deal of its own: what a random part proves is about as
often false as it says.

A deal that depends on the number of rows alone lets the same ranks choose and prove in every sample
of so many rows.
"""

from __future__ import annotations

import math

import numpy as np
from helpers.cases import for_each

import rainproof
from rainproof import Sample, find_threshold
from rainproof.inference.options import as_seed

# By number of distinct predictions: the predictions, their shares, the event rates, and a precision
# that none has.
LAWS = {
    2: ([0.2, 0.6], [0.5, 0.5], [0.1, 0.7499], 0.75),
    3: ([0.1, 0.3, 0.6], [0.3, 0.3, 0.4], [0.05, 0.2, 0.5999], 0.6),
    5: ([0.1, 0.3, 0.5, 0.7, 0.9], [0.2] * 5, [0.05, 0.2, 0.45, 0.6, 0.8499], 0.85),
}
SAMPLES = 300


def drawn(law, n, rng):
    predictions, shares, rates, _ = LAWS[law]
    kind = rng.choice(law, n, p=shares)
    return (rng.random(n) < np.array(rates)[kind]).astype(int), np.array(predictions)[kind]


@for_each("law, n", [(2, 110), (3, 140), (5, 1250)])
def test_no_threshold_is_proven_falsely_more_often_than_promised(law, n):
    rng = np.random.default_rng([law, n])
    proven = sum(
        find_threshold(*drawn(law, n, rng), precision=LAWS[law][3]).threshold is not None
        for _ in range(SAMPLES)
    )
    assert proven / SAMPLES <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / SAMPLES)


def test_rows_that_differ_in_one_outcome_are_dealt_anew():
    """Two samples of so many rows with the same predictions do not have the same ranks in their
    parts.
    """
    y, p = drawn(3, 200, np.random.default_rng(0))
    other = y.copy()
    other[0] = 1 - other[0]
    parts = [
        Sample(some, p).in_order().deal(folds=5, rng=as_seed(0, Sample(some, p))[0]).part
        for some in (y, other)
    ]
    assert 0.1 < np.mean(parts[0] == parts[1]) < 0.35  # a fifth by chance


def test_a_generator_or_none_does_not_look_at_the_rows():
    y, p = drawn(3, 200, np.random.default_rng(0))
    rng = np.random.default_rng(3)
    assert as_seed(rng, Sample(y, p)) == (rng, None)
    assert as_seed(None, Sample(y, p))[1] is None
    one, other = (as_seed(4, Sample(some, p)) for some in (y, 1 - y))
    assert one[1] == other[1] == 4
    assert one[0].random() != other[0].random()
    assert one[0].random() != as_seed(5, Sample(y, p))[0].random()


def test_a_forecast_is_assessed_the_same_whatever_is_beside_it():
    rng = np.random.default_rng(1)
    p = rng.random(600)
    y = (rng.random(600) < p**2).astype(int)
    options = {"measures": [], "n_resamples": 99}
    several = rainproof.assess_many(y, {"a": p, "b": p**2, "c": p**3}, **options)
    for name, prob in {"a": p, "b": p**2, "c": p**3}.items():
        found = next(one for one in several.assessments if one.name == name)
        alone = rainproof.assess(y, prob, **options)
        assert found.evidence == alone.evidence
        assert found.recalibrator.map_ == alone.recalibrator.map_
        assert (
            found.recalibrator.predict(prob).tolist()
            == rainproof.Recalibrator().fit(prob, y).predict(prob).tolist()
        )
    pair = next(one for one in several.pairs if (one.a, one.b) == ("a", "c"))
    two = rainproof.assess_many(
        y, {"a": p, "c": p**3}, **options, confidence_level=1 - 0.05 / 3
    ).pairs[0]
    assert pair.to_b.gain_at_least == two.to_b.gain_at_least


def test_names_of_segments_do_not_move_a_map():
    rng = np.random.default_rng(2)
    p, segment = rng.random(3000), rng.integers(0, 3, 3000)
    y = (rng.random(3000) < p**2).astype(int)
    plain = rainproof.Recalibrator().fit(p, y, by=segment)
    named = rainproof.Recalibrator().fit(
        p[::-1], y[::-1], by=np.array(["x", "a", "m"])[segment][::-1]
    )
    np.testing.assert_array_equal(plain.map_(p), named.map_(p))
