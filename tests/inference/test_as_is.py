"""`guarantee(response="as_is")`: acting on predictions as they are, compared with every monotone
recalibration.
"""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pytest
from helpers.cases import for_each
from helpers.enumeration import all_samples
from helpers.regret_oracle import by_menus, exact_loss, exact_pooled, solve
from helpers.strategies import probabilities, samples
from hypothesis import given
from hypothesis import strategies as st

import rainproof
from rainproof import guarantee
from rainproof.inference import bounds
from rainproof.inference.bound_inputs import BoundInputs

few = pytest.mark.filterwarnings("ignore::rainproof.FewRowsWarning")
tilts = st.floats(1e-3, 1e3)


def inputs_of(y, p, w=None):
    sample = rainproof.Sample(y, p, sample_weight=w)
    return BoundInputs.as_is(sample)


def owed(w, n, tilt):
    """The share of each row and what it must pay: exactly for equal weights, else the bound by
    squares.
    """
    v = np.ones(n) / n if w is None else w / w.sum()
    even = np.ptp(v[v > 0]) <= 1e-13 * v.max()
    r = (
        v * float(bounds.log_cosh(tilt * v.max())) / (tilt * v.max())
        if even
        else np.minimum(tilt * v**2 / 2, v)
    )
    return v, r


def brute_charged_curve(y, p, w, tilt):
    """All thresholds, ties on both sides; for each all cut-offs."""
    v, r = owed(w, len(p), tilt)
    mu = np.repeat(np.unique(np.concatenate([[0.0, 0.5, 1.0], p])), 2)
    curve = np.zeros(len(mu))
    for k, threshold in enumerate(mu):
        acts = p >= threshold if k % 2 else p > threshold
        for cut in [*np.unique(p), 2.0]:
            swap = (p >= cut).astype(int) - acts
            curve[k] = max(
                curve[k], float(v @ ((y - threshold) * swap) + r @ np.abs((y - threshold) * swap))
            )
    return mu, curve


def highest_chord(mu, curve):
    """Twice the highest at 1/2 of all chords."""
    a, b = mu[:, None], mu
    # chords of one end, or of 0 and 5e-324
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        at_half = ((b - 0.5) * curve[:, None] + (0.5 - a) * curve) / (b - a)
    return 2 * max(curve[mu == 0.5].max(), at_half[(a < 0.5) & (b > 0.5)].max())


def distinct_if_uneven(y, p, w):
    """Rows of one prediction and outcome pay min(sum, sum), which is more than the sum of minima:
    keep one of them.
    """
    if w is None:
        return y, p, w
    _, at = np.unique(np.stack([y, p]), axis=1, return_index=True)
    return y[at], p[at], np.maximum(w[at], 1e-6)


@given(samples(max_size=8), tilts)
def test_the_charged_loss_is_the_largest_over_all_thresholds_and_cutoffs(rows, tilt):
    y, p, w = distinct_if_uneven(*rows)
    inputs = inputs_of(y, p, w)
    found = inputs.charged_loss(tilt)
    mu, curve = brute_charged_curve(y, p, w, tilt)
    assert found == pytest.approx(highest_chord(mu, curve), abs=1e-12)
    mixture = solve(curve, np.array([1 - mu, mu]), np.ones(2), upper=None)
    assert found == pytest.approx(mixture, abs=1e-6)  # the solver's own tolerance
    assert found >= inputs.plug_in - 1e-12


@given(samples(max_size=7))
def test_the_loss_on_the_rows_is_the_largest_over_all_menus_and_rising_choices(rows):
    y, p, w = rows
    assert inputs_of(y, p, w).plug_in == pytest.approx(by_menus(y, p, w, "monotone"), abs=1e-7)


def test_a_charged_loss_by_hand():
    """Act at 1/2: no event at 0.6, an event at 0.4; R+ = 1/2 (1 + k)/2 by one swap up or down, not
    by both.
    """
    inputs = inputs_of([1, 0], [0.4, 0.6])
    k = math.log(math.cosh(0.5)) / 0.5
    # swap 0.4 up just above 0.4; 0.6 down just below 0.6
    at_04, at_06 = 0.5 * 0.6 * (1 + k), 0.5 * 0.6 * (1 + k)
    assert inputs.charged_loss(1.0) == pytest.approx(2 * (at_04 + at_06) / 2)
    assert inputs.plug_in == pytest.approx(0.6)


@st.composite
def tasks(draw):
    """Thresholds with weights such that the payoffs lie in [0, 1]."""
    mu = np.array(draw(st.lists(probabilities, min_size=1, max_size=4)))
    weight = np.array(draw(st.lists(st.floats(0.01, 1), min_size=len(mu), max_size=len(mu))))
    return mu, weight / max(weight @ mu, weight @ (1 - mu))


@given(samples(), tilts, tasks(), st.lists(probabilities, min_size=25, max_size=25))
def test_no_task_and_no_rising_correction_is_charged_more(rows, tilt, task, values):
    """What the proof needs: |g| <= 1, and sum v g + r |g| is at most the charged loss, with r by
    definition.
    """
    y, p, w = rows
    at = np.unique(p)
    corrected = np.sort(values[: len(at)])[np.searchsorted(at, p)]
    mu, weight = task
    swap = (corrected[:, None] > mu).astype(int) - (p[:, None] > mu)
    g = ((y[:, None] - mu) * swap) @ weight
    v = np.ones(len(p)) / len(p) if w is None else w / w.sum()
    pays = bounds.log_cosh(tilt * v) / tilt
    assert np.abs(g).max() <= 1 + 1e-12
    assert v @ g + pays @ np.abs(g) <= inputs_of(y, p, w).charged_loss(tilt) + 1e-9
    assert v @ g <= inputs_of(y, p, w).plug_in + 1e-9


SMALL = [
    ([0.5], [1.0], [0.9]),
    ([0.25, 0.75], [0.5, 0.5], [0.75, 0.25]),
    ([0.1, 0.6], [0.3, 0.7], [0.1, 0.6]),
    ([0.0, 0.4, 1.0], [0.2, 0.6, 0.2], [0.5, 0.2, 0.5]),
]


def atoms_of(prob, mass, rate):
    return [
        (x, y, c * (r if y else 1 - r))
        for x, c, r in zip(prob, mass, rate, strict=True)
        for y in (0, 1)
    ]


@for_each("weight", [[1, 1, 1, 1], [1, 1, 2, 4], [1, 1, 1, 20]])
@for_each("prob, mass, rate", SMALL)
def test_the_mixture_has_mean_at_most_one(prob, mass, rate, weight):
    """Over all samples of four rows, with their chances: what the proof needs, and how often the
    bounds fail.
    """
    delta, atoms = 0.2, atoms_of(prob, mass, rate)
    truth = float(exact_loss(*exact_pooled([y for _, y, _ in atoms], [x for x, *_ in atoms], [c for *_, c in atoms]),
                             "monotone"))  # fmt: skip
    mean, wrong = 0.0, {"adaptive": 0.0, "hoeffding": 0.0}
    for p, y, w, chance in all_samples(atoms, weight):
        inputs = inputs_of(y, p, np.array(w))
        tilt = bounds.tilts(inputs.effective_n, delta)
        paid = tilt * [inputs.charged_loss(a) for a in tilt]
        pull = bounds.pulls(tilt, 4, inputs.effective_n)
        mean += chance * float(bounds.PRIORS @ np.exp(-paid - 4 * np.log1p(-truth * pull / 4)))
        wrong["adaptive"] += chance * (
            bounds._upper_bound_of_paid(paid, pull, 4, delta) < truth - 1e-9
        )
        wrong["hoeffding"] += chance * (
            bounds.hoeffding(inputs.plug_in, inputs.effective_n, delta) < truth - 1e-9
        )
    assert mean <= 1 + 1e-9
    assert max(wrong.values()) <= delta


@few
@for_each(
    "options", [{"groups": [0, 1, 1, 2, 2, 2]}, {"groups": [0, 1, 1, 2, 2, 2], "max_weight": 3}]
)
def test_groups_by_enumeration(options):
    """Three groups of 1, 2 and 3 rows that are copies of each other."""
    delta, wrong = 0.3, {"adaptive": 0.0, "hoeffding": 0.0}
    atoms = [(0.25, 1, 0.4), (0.25, 0, 0.1), (0.6, 1, 0.1), (0.6, 0, 0.4)]
    columns = [y for _, y, _ in atoms], [x for x, *_ in atoms], [c for *_, c in atoms]
    truth = float(exact_loss(*exact_pooled(*columns), "monotone"))
    for rows in product(atoms, repeat=3):
        y, p = ([rows[k][part] for k in options["groups"]] for part in (1, 0))
        for method in wrong:
            g = guarantee(
                y, p, response="as_is", method=method, confidence_level=1 - delta, **options
            )
            wrong[method] += math.prod(c for *_, c in rows) * (g.bound < truth - 1e-9)
    assert max(wrong.values()) <= delta


@few
def test_importance_weights_by_enumeration():
    """Weights that depend on the prediction: the loss of the reweighted population, with the
    largest weight known.
    """
    delta, weight, wrong = 0.3, {0.25: 3.0, 0.6: 0.5}, {"adaptive": 0.0, "hoeffding": 0.0}
    atoms = [(0.25, 1, 0.2), (0.25, 0, 0.1), (0.6, 1, 0.2), (0.6, 0, 0.5)]
    columns = [y for _, y, _ in atoms], [x for x, *_ in atoms], [c * weight[x] for x, _, c in atoms]
    truth = float(exact_loss(*exact_pooled(*columns), "monotone"))
    for rows in product(atoms, repeat=4):
        p = [x for x, *_ in rows]
        options = {
            "sample_weight": [weight[x] for x in p],
            "max_weight": 3.0,
            "confidence_level": 1 - delta,
        }
        for method in wrong:
            g = guarantee([y for _, y, _ in rows], p, response="as_is", method=method, **options)
            wrong[method] += math.prod(c for *_, c in rows) * (g.bound < truth - 1e-9)
    assert max(wrong.values()) <= delta


def forecasts(seed=0, n=2000, bend=1.0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return rng.random(n) < p**bend, p


@few
@given(samples(), st.sampled_from(["adaptive", "hoeffding"]), st.floats(0.01, 0.999))
def test_the_result_is_the_bound_of_these_rows(rows, method, confidence_level):
    y, p, w = rows
    g = guarantee(
        y, p, sample_weight=w, response="as_is", method=method, confidence_level=confidence_level
    )
    loss = rainproof.measures.calibration_decision_loss(y, p, sample_weight=w, swaps="monotone")
    simple = min(1, loss + math.sqrt(2 * math.log(1 / (1 - confidence_level)) / g.effective_n))
    assert g.plug_in == pytest.approx(loss, abs=1e-12)
    assert g.hoeffding == pytest.approx(simple, abs=1e-12)
    assert (
        g.bound == pytest.approx(simple, abs=1e-12)
        if method == "hoeffding"
        else g.plug_in - 1e-9 <= g.bound <= 1
    )
    assert (g.response, g.grid, g.grids.size, g.bounds.size, g.plug_ins.size) == (
        "as_is",
        None,
        0,
        0,
        0,
    )


@few
@given(samples(), st.sampled_from([2, 16, 1024]), st.booleans())
def test_a_compressed_sample_is_of_predictions_rounded_down(rows, grid, stated):
    y, p, w = rows
    most = {"max_weight": 2e9} if stated else {}
    cells = guarantee(
        rainproof.Sample(y, p, sample_weight=w).compress(grid), response="as_is", **most
    )
    down = guarantee(y, np.floor(p * grid) / grid, sample_weight=w, response="as_is", **most)
    assert (cells.grid, cells.n, down.grid) == (grid, down.n, None)
    assert cells.plug_in == pytest.approx(down.plug_in, abs=1e-9)
    assert cells.bound == pytest.approx(down.bound, abs=1e-6)


def test_a_compressed_sample_with_weights():
    y, p = forecasts(9, 500)
    w = np.random.default_rng(9).exponential(size=500)
    cells = guarantee(rainproof.Sample(y, p, sample_weight=w).compress(64), response="as_is")
    down = guarantee(y, np.floor(64 * p) / 64, sample_weight=w, response="as_is")
    assert cells.bound == pytest.approx(down.bound, abs=1e-9)
    assert abs(cells.bound - guarantee(y, p, sample_weight=w, response="as_is").bound) < 4 / 64


@for_each("method", ["adaptive", "hoeffding"])
def test_rows_that_are_groups_of_their_own_and_copies_of_rows(method):
    y, p = forecasts(7, 3000)
    w = np.random.default_rng(7).exponential(size=3000) * (np.arange(3000) % 7 > 0)
    for weight in (None, w):
        options = {"sample_weight": weight, "method": method, "response": "as_is"}
        alone, none = (
            guarantee(y, p, groups=np.arange(3000)[::-1], **options),
            guarantee(y, p, **options),
        )
        assert alone.bound == pytest.approx(none.bound, abs=1e-9)
        assert alone.groups == none.n
    y, p = y[:300], p[:300]
    once = guarantee(y, p, response="as_is", method=method)
    copies = {"groups": np.repeat(np.arange(300), 10), "response": "as_is", "method": method}
    assert guarantee(np.repeat(y, 10), np.repeat(p, 10), **copies).bound == pytest.approx(
        once.bound, abs=1e-9
    )


def test_weights_scale_and_zero_weights_are_no_rows():
    y, p = forecasts(6, 1000)
    w = np.random.default_rng(6).exponential(size=1000)
    one = guarantee(y, p, sample_weight=w, response="as_is")
    assert guarantee(y, p, sample_weight=1e9 * w, response="as_is").bound == pytest.approx(
        one.bound, abs=1e-9
    )
    more = np.append(y, [True, False]), np.append(p, [0.999999, 0.0])
    zeros = guarantee(*more, sample_weight=np.append(w, [0, 0]), response="as_is")
    assert zeros.bound == pytest.approx(one.bound, abs=1e-9)
    equal = guarantee(y, p, sample_weight=np.full(1000, 0.3), response="as_is")
    assert equal.bound == pytest.approx(guarantee(y, p, response="as_is").bound, abs=1e-9)


def test_a_heavy_row_may_be_charged_away():
    """Its charge is as large as its share, so what it loses counts for nothing; only what it gains
    is left.
    """
    inputs = inputs_of([1, 0, 0], [0.2, 0.5, 0.8], np.array([1e6, 1.0, 1.0]))
    assert inputs.charged_loss(1e9) <= 2 + 1e-9
    assert math.isfinite(inputs.charged_loss(1e9))


def test_it_is_sharp_and_blind_to_what_is_not_rising():
    """Inverted predictions are found, those that alternate within small ranges are not.

    Inverted: the best monotone recalibration of 1 - p is 1/2, R(mu) = mu - 3 mu^2 / 2 below it, 1/6
    at 1/3: a loss of 1/3.
    """
    y, p = forecasts(3, 10_000)
    right, turned = guarantee(y, p, response="as_is"), guarantee(y, 1 - p, response="as_is")
    assert right.bound < 0.5 * right.hoeffding
    assert right.bound < 0.02
    assert turned.plug_in == pytest.approx(1 / 3, abs=0.02)
    rng = np.random.default_rng(4)
    cell, high = rng.integers(16, 48, 10_000), rng.integers(0, 2, 10_000)
    pairs = (cell + 0.1 * high) / 64
    y = rng.random(10_000) < np.where(high, pairs - 0.2, pairs + 0.2)
    # All swaps: at 1/2 the rows within 0.2 of it on the wrong side lose 0.02 above and below, so
    # CDL is at least 0.08.
    assert (
        guarantee(y, pairs, response="as_is").bound
        < 0.06
        < 0.08
        < rainproof.measures.calibration_decision_loss(y, pairs)
    )


def test_what_it_says():
    y, p = forecasts(1, 2000)
    g = guarantee(y, p, response="as_is")
    promise, meaning, assumption = str(g).splitlines()
    assert promise.startswith(
        "With 95% confidence, every decision that acts on these probabilities as they are loses "
        "at most "
    )
    assert promise.endswith(
        "at stake (its best minus its worst payoff), in expectation, compared with any monotone "
        "recalibration of them."
    )
    assert "Corrections that reverse the order of some probabilities are not covered." in meaning
    assert (
        f"the loss is {g.plug_in:.2%}, compared with the best monotone recalibration in hindsight"
        in meaning
    )
    assert assumption == (
        "It assumes that the rows were drawn independently from the population in which the "
        "predictions will be used. It fails for at most 5% of such samples."
    )
    shown = g.to_dict()
    assert json.loads(json.dumps(shown)) == shown
    assert (shown["response"], shown["grid"], shown["grids"]) == ("as_is", None, [])
    assert "<table>" not in g._repr_html_()
    assert repr(g).startswith(f"Guarantee(bound={g.bound:.6g}, response='as_is', plug_in=")
    small = guarantee(rainproof.Sample(y, p).compress(64), response="as_is")
    assert "probabilities, rounded down to multiples of 1/64, loses at most" in str(small)
    assert "response='as_is', grid=64, plug_in=" in repr(small)
    assert "that no row can weigh more than 2. Weights may" in str(
        guarantee(y, p, response="as_is", max_weight=2)
    )
    assert guarantee(y, p).to_dict()["response"] == "rounded"


def test_too_few_rows():
    with pytest.warns(
        rainproof.FewRowsWarning, match="1 row is too few for a guarantee at this confidence"
    ):
        assert guarantee([1], [0.5], response="as_is").bound == 1


@for_each(
    "options, message",
    [
        ({"response": "raw"}, "response must be 'rounded' or 'as_is'; it is 'raw'"),
        ({"grid": 8}, "grid must not be given with response='as_is': predictions are not rounded"),
        (
            {"max_weight": 0.5},
            "max_weight must be finite, and at least the largest weight 1; it is 0.5",
        ),
    ],
)
def test_bad_calls_are_told_what_is_wrong(options, message):
    with pytest.raises(rainproof.InputError) as caught:
        guarantee([0, 1], [0.2, 0.7], **{"response": "as_is", **options})
    assert str(caught.value) == message
