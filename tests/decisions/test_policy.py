"""The policy is a pure function of (id, seed, p), unbiased, and does what is best at the rounded
probability.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tracemalloc
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from helpers import rounding_oracle as oracle
from helpers.cases import for_each
from helpers.strategies import powers, probabilities
from hypothesis import given
from hypothesis import strategies as st

import rainproof
from rainproof.decisions import policies as module
from rainproof.decisions._rounding import key_of, uniforms
from rainproof.decisions.policies import RoundingPolicy

rng = np.random.default_rng(20260517)
N = 5_000
P = rng.random(N)
P[:6] = 0.0, 1.0, 0.5, 5e-324, 1 - 2**-53, -0.0
IDS = rng.permutation(N) * 7919 - 10_000
TASK = rainproof.DecisionTask.threshold(0.35)
THREE = rainproof.DecisionTask.from_payoffs(
    [[10, -50], [4, 0], [-20, 30]], actions=["go", "umbrella", "stay"]
)
QUADRATIC = rainproof.DecisionTask.quadratic()
tasks = st.sampled_from(
    [TASK, THREE, rainproof.DecisionTask.from_costs(false_positive=1, false_negative=9)]
)


@given(
    st.lists(
        st.tuples(probabilities, st.one_of(st.integers(-(2**63), 2**64 - 1), st.text(max_size=8))),
        max_size=20,
    ),
    powers,
    st.integers(0, 2**64 - 1),
)
def test_rounding_is_the_definition(rows, m, seed):
    p, ids = [row[0] for row in rows], [row[1] for row in rows]
    found = RoundingPolicy(TASK, m, seed=seed).round(p, ids)
    assert found.dtype == np.float64
    assert [Fraction(q) for q in found.tolist()] == [oracle.rounded(*row, seed, m) for row in rows]


VECTORS = {  # (id, seed): x and h, the table of docs/reference/formats.md
    (0, 0): (0x0000000000000000, 0xA706DD2F4D197E6F),
    (1, 0): (0x0000000000000001, 0xB382A305F4414F5E),
    (-1, 0): (0xFFFFFFFFFFFFFFFF, 0x48218226FF3CD4BF),
    (42, 7): (0x000000000000002A, 0x966523D27A136BDD),
    (2**63, 2**64 - 1): (0x8000000000000000, 0xF7F1454E6A8A1FA6),
    ("", 0): (0xCBF29CE484222325, 0xF236CE74FC5CBAF5),
    ("ann", 0): (0xE6F79D19051FFCB8, 0xBF261C7B556339E4),
    ("Þór", 7): (0x4F6BAB8839BD2E10, 0x4978728AC69381E2),
}


@for_each("case", VECTORS)
def test_values_for_other_languages(case):
    """u is the largest probability, in cells, that is still rounded down, whatever the grid."""
    (ident, seed), (x, h) = case, VECTORS[case]
    u = (h >> 11) * 2.0**-53
    assert (oracle.name(ident), oracle.uniform(ident, seed)) == (x, Fraction(u))
    for m in (2, 64, 2**20):
        policy = RoundingPolicy(TASK, m, seed=seed)
        assert policy.round([u / m, np.nextafter(u, 1) / m], [ident, ident]).tolist() == [
            0.0,
            1 / m,
        ]


def test_the_table_in_the_docs_is_this_one():
    text = (Path(__file__).parent.parent.parent / "docs" / "reference" / "formats.md").read_text()
    for (ident, seed), (x, h) in VECTORS.items():
        shown = f'"{ident}"' if isinstance(ident, str) else ident
        assert (
            f"| `{shown}` | `{seed}` | `{x:016x}` | `{h:016x}` | `{(h >> 11) * 2.0**-53!r}` |"
            in text
        )


def test_the_generator_is_the_published_one():
    """SplitMix64 from 1234567 begins with these numbers (Rosetta Code)."""
    published = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    key = 1234567
    found = uniforms(np.arange(5, dtype=np.uint64), key)
    assert found.tolist() == [(h >> 11) * 2.0**-53 for h in published]
    assert key_of(1234567) == published[0]


@given(st.lists(probabilities, min_size=1, max_size=20), powers, tasks)
def test_the_mean_of_the_rounded_is_p(p, m, task):
    """E[p'] = p exactly: the share of uniforms that round up is m p - floor(m p), to 2^-53 where p
    < 1/m.
    """
    for q in p:
        at = Fraction(q) * m
        low = at // 1
        up = Fraction(-(-(at - low) * 2**53 // 1), 2**53)  # how many of the 2^53 uniforms are below
        assert abs((low + up) / m - Fraction(q)) < Fraction(1, 2**53 * m)
        assert (low + up) / m == Fraction(q) or low == 0
    shares = RoundingPolicy(task, m).probabilities(p)
    assert shares.shape == (len(p), len(task.actions))
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=0, atol=1e-15)
    assert (shares >= 0).all()


@given(
    st.lists(probabilities, min_size=1, max_size=20),
    powers,
    tasks,
    st.sampled_from(["soft", "hard"]),
)
def test_probabilities_are_the_definition(p, m, task, rounding):
    """r* o tau_m, row by row and in fractions."""
    found = RoundingPolicy(task, m, rounding=rounding).probabilities(p)
    for q, row in zip(p, found, strict=True):
        low = Fraction(q) * m // 1
        up = Fraction(q) * m - low if rounding == "soft" else Fraction(0)
        expected = [Fraction(0)] * len(task.actions)
        for k, share in ((low, 1 - up), (low + 1, up)):
            if share:
                expected[int(task.best_index(float(Fraction(k, m))))] += share
        np.testing.assert_allclose(row, [float(e) for e in expected], rtol=0, atol=1e-15)


def test_over_many_seeds_the_mean_is_p():
    """Hoeffding: a mean of n rounded values is off by t with chance at most 2 exp(-2 n t^2 m^2)."""
    m, seeds = 8, 4000
    p = np.array([0.01, 0.3, 0.49, 0.77, 0.999])
    total = sum(
        RoundingPolicy(TASK, m, seed=seed).round(p, ["a", "b", 3, 4, -5]) for seed in range(seeds)
    )
    allowed = np.sqrt(np.log(2 * len(p) / 1e-6) / (2 * seeds)) / m
    assert np.abs(total / seeds - p).max() < allowed
    shares = RoundingPolicy(THREE, m).probabilities(p)
    taken = np.zeros_like(shares)
    for seed in range(seeds):
        taken[
            np.arange(5), RoundingPolicy(THREE, m, seed=seed).decide_index(p, [1, 2, 3, 4, 5])
        ] += 1
    assert np.abs(taken / seeds - shares).max() < allowed * m


@for_each("task", [TASK, THREE, QUADRATIC])
@for_each("rounding", ["soft", "hard"])
def test_the_action_is_best_at_the_rounded_probability(task, rounding):
    policy = RoundingPolicy(task, 16, rounding=rounding, seed=3)
    rounded = policy.round(P, IDS)
    assert set((rounded * 16).tolist()) == set(range(17))
    assert (np.abs(rounded - P) < 1 / 16).all()
    np.testing.assert_array_equal(policy.decide(P, IDS), task.best_response(rounded), strict=True)
    if task.actions:
        index = policy.decide_index(P, IDS)
        assert index.dtype == np.uint8
        np.testing.assert_array_equal(index, task.best_index(rounded))


def test_hard_rounding_is_down_and_needs_no_ids():
    policy = RoundingPolicy(TASK, 16, rounding="hard", seed=3)
    np.testing.assert_array_equal(policy.round(P), np.floor(16 * P) / 16)
    np.testing.assert_array_equal(
        policy.round(P), RoundingPolicy(TASK, 16, rounding="hard", seed=4).round(P, IDS)
    )
    np.testing.assert_array_equal(policy.decide(P), TASK.best_response(np.floor(16 * P) / 16))


def test_a_grid_point_stays_where_it_is():
    points = np.arange(65) / 64
    for seed in range(20):
        np.testing.assert_array_equal(
            RoundingPolicy(TASK, 64, seed=seed).round(points, np.arange(65)), points
        )


def test_many_actions_have_wider_numbers():
    edges = np.linspace(0, 1, 302)[1:-1]
    payoffs = np.cumsum(np.stack([-edges, 1 - edges], axis=1), axis=0)
    task = rainproof.DecisionTask.from_payoffs(np.vstack([[0, 0], payoffs]))
    assert len(task.actions) == 301
    policy = RoundingPolicy(task, 1024)
    index = policy.decide_index(P, IDS)
    assert index.dtype == np.intp
    assert index.max() > 256
    np.testing.assert_array_equal(index, task.best_index(policy.round(P, IDS)))


# A pure function of (id, seed, p).


@pytest.fixture
def threads(monkeypatch):
    """Blocks of 64 rows, and as many threads as the test says."""
    monkeypatch.setattr(module, "_BLOCK", 64)
    monkeypatch.setattr(module, "_ROWS_PER_THREAD", 1)
    return lambda count: monkeypatch.setattr(module, "available_threads", lambda: count)


def test_blocks_and_threads_do_not_show(threads):
    policy = RoundingPolicy(THREE, 32, seed=1)
    text = np.char.add("row ", IDS.astype(str))
    threads(1)
    expected, named = policy.decide(P, IDS), policy.decide(P, text)
    for count in (2, 3, 8):
        threads(count)
        np.testing.assert_array_equal(policy.decide(P, IDS), expected)
        np.testing.assert_array_equal(policy.decide(P, text), named)
        np.testing.assert_array_equal(policy.decide(P, text.astype(object)), named)


def test_order_and_chunks_do_not_show():
    policy = RoundingPolicy(THREE, 32, seed=1)
    expected = policy.decide(P, IDS)
    order = rng.permutation(N)
    np.testing.assert_array_equal(policy.decide(P[order], IDS[order]), expected[order])
    parts = [policy.decide(P[a : a + 617], IDS[a : a + 617]) for a in range(0, N, 617)]
    np.testing.assert_array_equal(np.concatenate(parts), expected)
    np.testing.assert_array_equal(policy.decide(P[::-3], IDS[::-3]), expected[::-3])


def test_containers_and_types_do_not_show():
    policy = RoundingPolicy(TASK, 32, seed=1)
    p, ids = P[:100].astype(np.float32), np.arange(100)
    expected = policy.round(p.astype(np.float64), ids)
    for some in ("i1", "u1", "i4", "u8", ">i2"):
        np.testing.assert_array_equal(policy.round(p, ids.astype(some)), expected)
    np.testing.assert_array_equal(policy.round(p.tolist(), ids.tolist()), expected)
    np.testing.assert_array_equal(policy.round(p.astype(">f4"), list(map(str, ids))), expected)
    assert policy.round([], []).shape == (0,)
    assert policy.decide([], []).shape == (0,)


def test_another_process_does_the_same():
    code = (
        "import numpy as np, rainproof\n"
        "policy = rainproof.RoundingPolicy(rainproof.DecisionTask.threshold(0.35), 32, seed=11)\n"
        "p = np.arange(400) / 400\n"
        "ids = [f'row {i}' if i % 2 else i for i in range(400)]\n"
        "print(''.join(map(str, policy.decide_index(p, ids).tolist())))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1")
    }
    policy = RoundingPolicy(TASK, 32, seed=11)
    ids = [f"row {i}" if i % 2 else i for i in range(400)]
    assert told == {
        "".join(map(str, policy.decide_index(np.arange(400) / 400, ids).tolist())) + "\n"
    }


def test_seeds_differ_and_equal_ids_agree():
    p = np.full(1000, 0.3)
    first, second = (
        RoundingPolicy(TASK, 8, seed=seed).round(p, np.arange(1000)) for seed in (0, 1)
    )
    assert 400 < (first != second).sum() < 600  # 2 x 0.4 x 0.6 = 48%
    assert len(set(RoundingPolicy(TASK, 8).round(p, np.full(1000, 5)).tolist())) == 1


def test_memory_is_that_of_a_block():
    """Beside the answer nothing of the length of the rows is made."""
    n = 1 << 20
    p, ids = np.linspace(0, 1, n, dtype=np.float32), np.arange(n, dtype=np.int32)
    policy = RoundingPolicy(TASK, 64)
    tracemalloc.start()
    index = policy.decide_index(p, ids)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # two blocks of p and of ids in 8 bytes each, on each of few threads
    assert peak - index.nbytes < 2 << 20


# Error messages.


@for_each(
    "arguments, message",
    [
        (
            (TASK,),
            r"^grid is missing: pass grid, or sample=rainproof\.Sample\(y_true, y_prob\) to "
            r"choose it for past",
        ),
        ((TASK, 100), r"^grid must be a power of two from 2 to 1,048,576; it is 100$"),
        ((TASK, 8.0), r"^grid must be a power of two from 2 to 1,048,576; it is 8\.0$"),
        ((TASK, 2**21), r"^grid must be a power of two from 2 to 1,048,576; it is 2097152$"),
        (("act", 8), r"^task must be a DecisionTask; it is 'act'$"),
    ],
)
def test_a_policy_that_cannot_be(arguments, message):
    with pytest.raises(rainproof.InputError, match=message):
        RoundingPolicy(*arguments)


@for_each("seed", [-1, 2**64, 1.0, True, "7", None])
def test_seeds_that_are_none(seed):
    with pytest.raises(
        rainproof.InputError, match=r"^seed must be an integer from 0 to 2\*\*64 - 1; it is "
    ):
        RoundingPolicy(TASK, 8, seed=seed)


def test_options_that_are_none():
    sample = rainproof.Sample([0, 1], [0.2, 0.7])
    with pytest.raises(
        rainproof.InputError, match=r"^rounding must be 'soft' or 'hard'; it is 'up'$"
    ):
        RoundingPolicy(TASK, 8, rounding="up")
    with pytest.raises(
        rainproof.InputError, match=r"^grid and sample must not both be given: a sample is "
    ):
        RoundingPolicy(TASK, 8, sample=sample)
    with pytest.raises(rainproof.InputError, match=r"^sample must be a Sample; it is list$"):
        RoundingPolicy(TASK, sample=[[0, 1], [0.2, 0.7]])
    with pytest.raises(
        rainproof.InputError, match=r"^grid is missing: it can be chosen for soft rounding only$"
    ):
        RoundingPolicy(TASK, sample=sample, rounding="hard")


@for_each("method", ["round", "decide", "decide_index"])
def test_rows_that_are_wrong(method, threads):
    call = getattr(RoundingPolicy(TASK, 8), method)
    threads(3)
    p, ids = P.copy(), IDS.astype(object)
    with pytest.raises(
        rainproof.InputError,
        match=r"^ids is missing: soft rounding needs an id for each row, so that ",
    ):
        call(p)
    with pytest.raises(
        rainproof.InputError,
        match=r"^p and ids must have the same length; they have 5,000 and 4,999$",
    ):
        call(p, ids[1:])
    ids[[100, 4000]] = None, 1.5
    with pytest.raises(
        rainproof.InputError, match=r"2 values do not, the first is ids\[100\] = None$"
    ):
        call(p, ids)
    p[[17, 4500]] = 1.2, -0.1
    with pytest.raises(
        rainproof.InputError,
        match=r"^p must lie in \[0, 1\]; 2 values do not, the first is p\[17\] = 1",
    ):
        call(p, IDS)
    p[[16, 4600]] = np.nan
    with pytest.raises(
        rainproof.InputError, match=r"^p must not contain NaN; 2 values do, the first is p\[16\]$"
    ):
        call(p, ids)
    with pytest.raises(
        rainproof.InputError, match=r"^p must be one-dimensional; its shape is \(\)$"
    ):
        call(0.5, [1])


def test_probabilities_of_what_is_wrong():
    with pytest.raises(
        rainproof.InputError,
        match=r"^p must lie in \[0, 1\]; 1 value does not, the first is p\[0\] = 2",
    ):
        RoundingPolicy(TASK, 8).probabilities([2])
    with pytest.raises(
        rainproof.InputError,
        match=r"^probabilities needs a task with a list of actions; it is Decision",
    ):
        RoundingPolicy(QUADRATIC, 8).probabilities([0.5])
    with pytest.raises(
        rainproof.InputError, match=r"^decide_index needs a task with a list of actions; it is Dec"
    ):
        RoundingPolicy(QUADRATIC, 8).decide_index([0.5], [1])


def test_a_policy_is_a_value():
    policy = RoundingPolicy(TASK, 8, seed=np.uint64(2**64 - 1))
    assert policy == RoundingPolicy(TASK, np.int64(8), seed=2**64 - 1)
    assert hash(policy) == hash(RoundingPolicy(TASK, 8, seed=2**64 - 1))
    assert policy != RoundingPolicy(TASK, 8)
    assert policy != "policy"
    assert (
        repr(policy)
        == f"RoundingPolicy({TASK!r}, grid=8, rounding='soft', seed=18446744073709551615)"
    )
    assert (
        str(policy)
        == f"{TASK}\nProbabilities are rounded at random to a neighbouring multiple of 1/8 first."
    )
    hard = RoundingPolicy(TASK, 8, rounding="hard")
    assert str(hard) == f"{TASK}\nProbabilities are rounded down to a multiple of 1/8 first."
    copied = pickle.loads(pickle.dumps(policy))
    assert copied == policy
    np.testing.assert_array_equal(copied.decide(P, IDS), policy.decide(P, IDS))
    with pytest.raises(AttributeError, match="cannot assign to field 'grid'"):
        policy.grid = 16


def test_the_grid_is_chosen_for_the_sample():
    y = (rng.random(N) < P**2).astype(int)
    sample = rainproof.Sample(y, P)
    assert RoundingPolicy(TASK, sample=sample).grid == rainproof.choose_grid(y, P).grid
    calibrated = rainproof.Sample((rng.random(N) < P).astype(int), P)
    assert RoundingPolicy(TASK, sample=calibrated).grid == rainproof.choose_grid(calibrated).grid
