"""Two forecasts from every engine: the same sums, the same bounds, and errors that name the
column.
"""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import for_each
from helpers.engine_loading import ENGINES
from helpers.seeds import for_seeds
from scipy.optimize import linprog

import rainproof

rng = np.random.default_rng(20260518)
N, M = 300, 64
P = rng.random(N)
P[:10] = 0.0, 1.0, 0.5, -0.0, 1e-12, 5e-324, 1 - 2**-53, 11 / M, np.nextafter(11 / M, 0), 1.0
Q = rng.permutation(P)
Q[30:60] = P[30:60]
Y = (rng.random(N) < P**1.3).astype(np.int64)
W = rng.random(N) * 10.0 ** rng.integers(-3, 4, N)
W[20:25] = 0.0
REGION, MONTH = np.array(["north", "south", "it's"])[rng.integers(0, 3, N)], rng.integers(1, 4, N)


def with_nulls(rows):
    return [None if row in rows else value for row, value in enumerate(Q.tolist())]


def spoiled(rows, value):
    return np.where(np.isin(np.arange(N), rows), value, Q)


def scan(engine, columns, request, **options):
    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    source = ENGINES[engine](table, request)
    return rainproof.scan(source, prob=["q", "p"], outcome="y", grid=M, **options)


def sums(q, p, y, w):
    """The number, the weight and the squared weight of the rows by pair of cells and outcome, one
    by one.
    """
    found = {}
    for key, weight in zip(zip(np.floor(M * q), np.floor(M * p), y, strict=True), w, strict=True):
        if weight > 0:
            found[key] = found.get(key, 0) + np.array([1, weight, weight**2])
    return found


def as_dict(sample):
    cells = sample.cells
    keys = zip(*(column.tolist() for column in (*cells.pair_cells(), cells.slot & 1)), strict=True)
    return dict(
        zip(keys, np.column_stack([cells.count, cells.weight[0], cells.squares]), strict=True)
    )


ODD = MONTH % 2 == 1
CASES = {
    "plain": ({"q": Q, "p": P, "y": Y}, {}, slice(None), np.ones(N)),
    "weights": ({"q": Q, "p": P, "y": Y, "w": W}, {"weight": "w"}, slice(None), W),
    "float32": ({"q": Q.astype(np.float32), "p": P, "y": Y == 1}, {}, slice(None), np.ones(N)),
    "a condition": (
        {"q": with_nulls({1}), "p": P, "y": Y, "w": W, "month": MONTH},
        {"weight": "w", "where": "month in (1, 3) and q is not null"},
        ODD & (np.arange(N) != 1),
        W,
    ),
    "labels": (
        {"q": Q, "p": P, "y": np.where(Y, "yes", "no"), "r": REGION},
        {"pos_label": "yes", "where": "r = 'north'"},
        REGION == "north",
        np.ones(N),
    ),
}


@for_each("case", CASES)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_sums_of_the_rows(engine, case, request):
    columns, options, rows, weight = CASES[case]
    sample = scan(engine, columns, request, **options)
    old = np.asarray(columns["q"] if case == "float32" else Q, float)
    expected = sums(old[rows], P[rows], Y[rows], weight[rows])
    found = as_dict(sample)
    assert set(found) == set(expected)
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-12)
    assert (sample.n, sample.grid) == (sum(value[0] for value in expected.values()), M)


BAD = {
    "nulls": (with_nulls({3, 60, 299}), "q must not contain nulls (missing values)", 3),
    "NaN": (spoiled([3, 60, 299], np.nan), "q must not contain NaN", 3),
    "above 1": (spoiled([0, 200], 1 + 2**-52), "q must lie in [0, 1]", 2),
    "below 0": (spoiled([0, 200], -5e-324), "q must lie in [0, 1]", 2),
}


@for_each("case", BAD)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_names_the_old_column(engine, case, request):
    old, rule, count = BAD[case]
    with pytest.raises(rainproof.InputError) as caught:
        scan(engine, {"q": old, "p": P, "y": Y}, request)
    # SQLite has no NaN and stores a null; NumPy's floats in pandas have no null and store NaN.
    missing = {"sqlite": BAD["nulls"][1], "pandas_numpy": BAD["NaN"][1]}
    rule = missing.get(engine, rule) if case in ("nulls", "NaN") else rule
    assert str(caught.value).startswith(f"{rule}; {count} value")


def draw(n, m, *, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(n) < 0.3, rng.integers(0, m + 1, n) / m, rng.random(n))
    q = np.where(rng.random(n) < 0.3, p, rng.random(n) ** 2)
    return {
        "old": q,
        "new": p,
        "y": (rng.random(n) < p**1.5).astype(int),
        "w": rng.exponential(size=n) if weighted else np.ones(n),
    }


def worst_on_grid(rows, first, second, m):
    """The largest loss over all mixtures of the thresholds k/m, with actions that change from the
    threshold on.
    """
    mu, w = np.arange(m + 1) / m, rows["w"] / rows["w"].sum()
    acts = [(rows[name][:, None] >= mu).astype(float) for name in (first, second)]
    value = w @ ((rows["y"][:, None] - mu) * (acts[0] - acts[1]))
    return -linprog(-value, A_ub=np.stack([1 - mu, mu]), b_ub=[1, 1], method="highs").fun


@for_seeds(12)
def test_harm_and_gain_are_those_of_a_linear_program_over_thresholds_on_the_grid(seed):
    m = [2, 8, 64][seed % 3]
    rows = draw(40, m, weighted=seed % 2 == 1, seed=seed)
    sample = rainproof.scan(rows, ["old", "new"], weight="w", grid=m)
    found = rainproof.switch_guarantee(sample, rng=0)
    assert found.harm == pytest.approx(worst_on_grid(rows, "old", "new", m), abs=1e-9)
    assert found.gain == pytest.approx(worst_on_grid(rows, "new", "old", m), abs=1e-9)
    for task, value, names in (
        (found.worst_task, found.harm, ("old", "new")),
        (found.best_task, found.gain, ("new", "old")),
    ):
        if task is not None:
            assert np.allclose(np.array(task.thresholds) * m % 1, 0)
            before, after = (
                task.payoff(task.best_response(rows[name]), rows["y"]) for name in names
            )
            assert np.average(before - after, weights=rows["w"]) == pytest.approx(value, abs=1e-9)
    assert (found.grid, found.n) == (m, 40)


def test_predictions_on_the_grid_give_the_bounds_of_their_rows():
    """There compression loses nothing but thresholds just above a prediction."""
    rows = draw(3000, 64, seed=1)
    rows["old"], rows["new"] = np.floor(64 * rows["old"]) / 64, np.floor(64 * rows["new"]) / 64
    sample = rainproof.scan(rows, ["old", "new"], grid=64)
    pair, plain = (
        rainproof.switch_guarantee(sample, rng=0),
        rainproof.switch_guarantee(rows["y"], rows["old"], rows["new"], rng=0),
    )
    assert pair.harm <= plain.harm + 1e-12
    assert pair.harm_bound <= plain.harm_bound + 1e-12
    assert pair.curve(np.arange(65) / 64) == pytest.approx(
        plain.curve(np.arange(65) / 64), abs=1e-12
    )
    assert pair.band()["loss"] == pytest.approx(plain.curve(np.arange(65) / 64), abs=1e-12)
    assert 0.5 * plain.gain_at_least < pair.gain_at_least < plain.gain
    assert "no decision whose thresholds are multiples of 1/64 loses more than" in str(pair)


def test_for_another_base_rate_they_prove_what_their_rows_prove():
    rows = draw(3000, 64, seed=1)
    rows["new"] = np.clip(rows["y"] * 0.5 + rows["old"] / 3, 0, 1)  # knows the outcome
    sample = rainproof.scan(rows, ["old", "new"], grid=64)
    pair, plain = (
        rainproof.switch_guarantee(sample, base_rate=0.2),
        rainproof.switch_guarantee(rows["y"], rows["old"], rows["new"], base_rate=0.2),
    )
    assert pair.harm_bound == pytest.approx(plain.harm_bound, abs=0.02)
    assert pair.gain_at_least == pytest.approx(plain.gain_at_least, rel=0.1)
    assert pair.gain_at_least > 0


def test_weights_have_a_harm_bound_but_cannot_prove_a_gain():
    rows = draw(2000, 64, weighted=True)
    weighted = rainproof.switch_guarantee(rainproof.scan(rows, ["old", "new"], weight="w"), rng=0)
    exact = rainproof.switch_guarantee(
        rows["y"], rows["old"], rows["new"], sample_weight=rows["w"], rng=0
    )
    assert weighted.effective_n == pytest.approx(exact.effective_n)
    assert weighted.harm_bound == pytest.approx(exact.harm_bound, abs=0.003)
    assert weighted.gain_at_least is None
    assert weighted.to_dict()["gain_at_least"] is None
    assert "cannot prove a gain in any decision" in str(weighted)
    assert "gain_at_least" not in repr(weighted)
    alike = rainproof.switch_guarantee(
        rainproof.scan({**rows, "w": np.full(2000, 0.3)}, ["old", "new"], weight="w"), rng=0
    )
    plain = rainproof.switch_guarantee(rainproof.scan(rows, ["old", "new"]), rng=0)
    assert alike.harm_bound == pytest.approx(plain.harm_bound)
    assert alike.gain_at_least == pytest.approx(plain.gain_at_least)


def test_samples_add_up_and_keep_their_sums_in_another_process():
    rows = draw(900, 64, weighted=True)
    parts = [{name: column[k::3] for name, column in rows.items()} for k in range(3)]
    added = sum(rainproof.scan(part, ["old", "new"], weight="w") for part in parts)
    expected = as_dict(rainproof.scan(rows, ["old", "new"], weight="w"))
    again = pickle.loads(pickle.dumps(added))
    for sample in (added, again):
        found = as_dict(sample)
        assert set(found) == set(expected)
        assert all(found[key] == pytest.approx(value, rel=1e-12) for key, value in expected.items())
    said = f"n=900, events={rows['y'].sum()}, grid=1024, total_weight={rows['w'].sum():.6g}"
    assert repr(again) == f"Sample({said}, forecasts=('old', 'new'))"
    with pytest.raises(rainproof.InputError, match="compressed to the same grid"):
        added + rainproof.scan(rows, ["old", "new"], grid=8)
    with pytest.raises(TypeError):
        added + 1


def test_a_text_file(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("old,new,y\n0.1,0.2,0\n0.8,0.9,true\n0.6, 0.4,0\n")
    assert (
        repr(rainproof.scan(path, ["old", "new"]))
        == "Sample(n=3, events=1, grid=1024, forecasts=('old', 'new'))"
    )
    path.write_text("old,new,y\n0.1,0.2,0\nx,0.9,1\ny,0.4,0\n")
    with pytest.raises(
        rainproof.InputError,
        match=r"old must hold numbers; 2 values do not, the first is old\[1\] = 'x'",
    ):
        rainproof.scan(path, ["old", "new"])


def test_bad_values_of_later_batches_are_counted():
    rows = draw(300_000, 64)
    rows["old"][[7, 299_999]] = 2.0
    with pytest.raises(
        rainproof.InputError,
        match=r"old must lie in \[0, 1\]; 2 values do not, the first is old\[7\] = 2.0",
    ):
        rainproof.scan(rows, ["old", "new"])


@for_each(
    "options, message",
    [
        (
            {"by": "y"},
            "by cannot be combined with two forecasts: select the rows of a segment with where",
        ),
        ({"prob": ["old", "old"]}, "the forecasts must be different columns; they are old, old"),
        ({"prob": ["old", "new", "w"]}, "view must be 'top-label' or 'one-vs-rest'"),
        ({"prob": ["old", 3]}, "prob must be the name of a column, as text; it is 3"),
        ({"weight": "zero"}, "zero must not be zero for every row"),
    ],
)
def test_what_cannot_be_read(options, message):
    rows = {**draw(50, 64), "zero": np.zeros(50)}
    with pytest.raises(rainproof.InputError, match=message):
        rainproof.scan(rows, **{"prob": ["old", "new"], **options})


def test_a_sample_takes_no_further_columns():
    sample = rainproof.scan(draw(50, 64), ["old", "new"])
    for name in ("p_old", "p_new", "sample_weight", "groups", "pos_label"):
        with pytest.raises(rainproof.InputError, match=f"{name} must not be given with a Sample"):
            rainproof.switch_guarantee(sample, **{name: [1] * 50})
    with pytest.raises(
        rainproof.InputError,
        match="p_new is missing: pass outcomes and two forecasts, or one Sample",
    ):
        rainproof.switch_guarantee([0, 1], [0.1, 0.2])
