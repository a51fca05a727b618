"""Bounds that hold at every number of rows at once."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import rainproof
from rainproof import guarantee, switch_guarantee
from rainproof.inference import bounds
from rainproof.inference.bound_inputs import BoundInputs

few = pytest.mark.filterwarnings("ignore::rainproof.FewRowsWarning")
EACH = 2.0 ** -np.arange(22)
PRIORS = 1 / ((np.arange(22) + 1) * (np.arange(22) + 2))


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p**1.3).astype(int), p


def plain(charged, n, delta):
    """The definition: the smallest L on a fine grid at which the mixture of all tilts reaches
    1/delta.
    """
    losses = [charged(float(n * x)) for x in EACH]
    level = np.linspace(0, 1, 100_001)[:-1]
    mixture = sum(
        rho * np.exp(-n * x * c - n * np.log1p(-level * np.tanh(x)))
        for rho, x, c in zip(PRIORS, EACH, losses, strict=True)
    )
    return float(level[mixture * delta >= 1][0])


def test_a_rounded_bound_is_its_definition():
    y, p = rows()
    inputs = BoundInputs.rounded(rainproof.Sample(y, p), 8)
    found = guarantee(y, p, grid=8, anytime=True, confidence_level=0.9)
    assert found.bound == pytest.approx(plain(inputs.charged_loss, 400, 0.1), abs=2e-5)
    assert found.anytime
    assert json.loads(json.dumps(found.to_dict()))["anytime"] is True


def test_an_as_is_bound_is_its_definition():
    y, p = rows()
    inputs = BoundInputs.as_is(rainproof.Sample(y, p))
    found = guarantee(y, p, response="as_is", anytime=True)
    assert found.bound == pytest.approx(plain(inputs.charged_loss, 400, 0.05), abs=2e-5)


def test_the_harm_of_a_switch_is_its_definition():
    y, p = rows()
    found = switch_guarantee(y, p, p**1.3, anytime=True)

    def charged(tilt):
        rate, _ = bounds.charge_rate(400, 400, tilt)
        return 2 * found.curve.chord(rate).value

    assert found.harm_bound == pytest.approx(plain(charged, 400, 0.05), abs=2e-5)
    assert found.gain_at_least is None
    assert found.to_dict()["anytime"] is True
    assert "at any time does not prove a gain in any decision" in str(found)
    assert switch_guarantee(y, p, p**1.3, rng=0).anytime is False


@few
def test_of_all_series_of_rows_few_have_a_look_at_which_it_fails():
    """Every series of 12 rows of a population of one prediction, with its probability: exact, not
    simulated.
    """
    rate, delta, n = 0.9, 0.5, 12
    truth = 2 * (rate - 0.5)
    fails = {}
    for ones in range(n + 1):
        for t in range(max(ones, 1), n + 1):
            y = np.arange(t) < ones
            bound = guarantee(
                y, np.full(t, 0.5), grid=8, anytime=True, confidence_level=1 - delta
            ).bound
            fails[t, ones] = bound < truth - 1e-9
    bad = 0.0
    for series in product((0, 1), repeat=n):
        sums = np.cumsum(series)
        if any(fails[t + 1, int(s)] for t, s in enumerate(sums)):
            bad += rate ** sums[-1] * (1 - rate) ** (n - sums[-1])
    assert 0 < bad <= delta  # it can fail, and does so as seldom as promised


def test_the_price_is_small():
    y, p = rows(4000, seed=3)
    for response in ("rounded", "as_is"):
        fixed, always = (guarantee(y, p, response=response, anytime=a).bound for a in (False, True))
        assert always == pytest.approx(fixed, rel=0.15)


def test_the_grids_do_not_depend_on_the_number_of_rows():
    for n in (100, 5000):
        assert guarantee(*rows(n), anytime=True).grids.tolist() == [8, 32, 128, 512]
    compressed = rainproof.Sample(*rows()).compress(64)
    assert guarantee(compressed, anytime=True).grids.tolist() == [8, 32]
    assert guarantee(rainproof.Sample(*rows()).compress(4), anytime=True).grids.tolist() == [4]


def test_a_compressed_sample_gives_the_same_bound():
    y, p = rows()
    whole, small = (
        guarantee(s, anytime=True)
        for s in (rainproof.Sample(y, p), rainproof.Sample(y, p).compress(512))
    )
    assert small.bound == pytest.approx(whole.bound, abs=1e-9)


def test_equal_groups_count_as_draws():
    y, p = rows()
    group = np.repeat(np.arange(100), 4)
    found = guarantee(y, p, groups=group, anytime=True)
    inputs = BoundInputs.rounded(rainproof.Sample(y, p), 32)
    inputs = replace(inputs, n=100, effective_n=100)
    assert found.bounds[1] == pytest.approx(
        bounds.upper_bound(inputs.charged_loss, 100, 100, 0.05 / 4, anytime=True), abs=1e-9
    )


def test_weights_scale_and_max_weight_serves_unequal_ones():
    y, p = rows()
    same = guarantee(y, p, anytime=True).bound
    assert guarantee(y, p, sample_weight=np.full(400, 7.0), anytime=True).bound == pytest.approx(
        same, rel=1e-9
    )
    weight = 1 + p
    stated = guarantee(y, p, sample_weight=weight, max_weight=2.0, response="as_is")
    always = guarantee(y, p, sample_weight=weight, max_weight=2.0, response="as_is", anytime=True)
    assert always.bound == stated.bound  # the bound for stated weights never used that n is fixed


def test_what_is_not_proven_is_refused():
    y, p = rows()
    with pytest.raises(rainproof.InputError, match=r"with max_weight\): 400 draws count as"):
        guarantee(y, p, sample_weight=1 + p, anytime=True)
    with pytest.raises(rainproof.InputError, match="sizes of groups differ"):
        guarantee(y, p, groups=np.minimum(np.arange(400), 390), anytime=True)
    with pytest.raises(rainproof.InputError, match="where weights or sizes of groups differ"):
        switch_guarantee(y, p, p**2, sample_weight=1 + p, anytime=True)
    with pytest.raises(rainproof.InputError, match="method must be 'adaptive' with anytime=True"):
        guarantee(y, p, method="hoeffding", anytime=True)
    for call in (
        lambda: guarantee(y, p, anytime=1),
        lambda: switch_guarantee(y, p, p, anytime="yes"),
    ):
        with pytest.raises(rainproof.InputError, match="anytime must be True or False"):
            call()


def test_it_says_so():
    found = guarantee(*rows(), anytime=True)
    assert "It holds at every number of rows at once" in str(found)
    assert repr(found).endswith("anytime=True)")
    assert repr(guarantee(*rows())).endswith("anytime=False)")
