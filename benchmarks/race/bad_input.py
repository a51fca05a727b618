"""What each package makes of 40 inputs: 20 that are wrong, and 20 that are in order and look
unusual.

Right is an error for the first (or the plain number, where a package may read them on purpose), and
for the second the number that the same rows give as plain arrays (floats in [0, 1], outcomes 0 and
1). NaN counts as an error, as it is taken for no answer. Any other number is wrong: silently, or
with a warning.
"""

from __future__ import annotations

import importlib.util
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.race.contestants import BY_NAME, OURS
from benchmarks.race.parts import Cell, Lines, Part, entries, markdown, unique

RIGHT, REFUSED, WARNED, WRONG, UNTRIED = (
    "right",
    "error",
    "wrong, with a warning",
    "silently wrong",
    "not tried",
)


@dataclass(frozen=True)
class Case:
    """Outcomes and predictions, and what else gives the same answer: None if there is no answer.

    With `refusable`, an error is right as well.
    """

    make: Callable[[], tuple[Any, Any]]
    same: Callable[[], tuple[Any, Any]] | None = None
    tolerance: float = 1e-9
    needs: str = "numpy"
    refusable: bool = False


def _plain(n: int = 200) -> tuple[Any, Any]:
    rng = np.random.default_rng(36)
    p = rng.random(n)
    return (rng.random(n) < p**1.4).astype(np.int64), p


def _tied() -> tuple[Any, Any]:
    y, p = _plain()
    return y, np.round(4 * p) / 4 * 0.9 + 0.05


def _with(value: Any) -> Callable[[], tuple[Any, Any]]:
    """One prediction replaced."""

    def make() -> tuple[Any, Any]:
        y, p = _plain()
        p[7] = value
        return y, p

    return make


def _of(y_by: Callable[[Any], Any], p_by: Callable[[Any], Any]) -> Callable[[], tuple[Any, Any]]:
    def make() -> tuple[Any, Any]:
        y, p = _plain()
        return y_by(y), p_by(p)

    return make


def _same(x: Any) -> Any:
    return x


def _rounded(dtype: Any) -> Callable[[Any], Any]:
    """What numbers of fewer bits are, with all bits."""
    return lambda p: p.astype(dtype).astype(np.float64)


def _nan_outcome(y: Any) -> Any:
    y = y.astype(float)
    y[3] = np.nan
    return y


def _third_label(y: Any) -> Any:
    y = y.copy()
    y[3] = 2
    return y


def _pandas(**kwargs: Any) -> Callable[[Any], Any]:
    def make(x: Any) -> Any:
        import pandas as pd

        return pd.Series(x, **kwargs)

    return make


def _reversed_labels() -> tuple[Any, Any]:
    """The same labels in another order: paired by label there is a number, by position another
    one.
    """
    import pandas as pd

    y, p = _plain()
    return pd.Series(y), pd.Series(p[::-1], index=range(len(p))[::-1])


def _missing(x: Any) -> Any:
    import pandas as pd

    found = pd.Series(x, dtype="Float64")
    found[3] = pd.NA
    return found


def _polars(x: Any) -> Any:
    import polars as pl

    return pl.Series(x)


def _torch(x: Any) -> Any:
    import torch

    return torch.from_numpy(x)


def _edge(at: float) -> Callable[[], tuple[Any, Any]]:
    """A certain prediction beside one that is nearly certain, or nearly so itself."""
    return lambda: (
        np.array([1, 0, 1, 0, 1, 1, 0, 0] * 5),
        np.array([0.95, at, 0.6, 0.4, 0.97, 0.55, 0.3, 0.35] * 5),
    )


def _backwards() -> tuple[Any, Any]:
    y, p = _tied()
    return y[::-1].copy(), p[::-1].copy()


def _sorted() -> tuple[Any, Any]:
    """Among equal predictions all events come first."""
    y, p = _tied()
    order = np.lexsort((-y, p))
    return y[order], p[order]


def _strided(x: Any) -> Any:
    return np.repeat(x, 2)[::2]


def _frozen(x: Any) -> Any:
    x = x.copy()
    x.setflags(write=False)
    return x


BAD: dict[str, Case] = {
    "NaN among the predictions": Case(_with(np.nan)),
    "infinity among the predictions": Case(_with(np.inf)),
    "a prediction of 1.2": Case(_with(1.2)),
    "a prediction of -0.1": Case(_with(-0.1)),
    "predictions in percent": Case(_of(_same, lambda p: 100 * p)),
    "log-odds in place of predictions": Case(
        _of(_same, lambda p: np.log(p / (1 - p))), _plain, refusable=True
    ),
    "all predictions NaN": Case(_of(_same, lambda p: p * np.nan)),
    "NaN among the outcomes": Case(_of(_nan_outcome, _same)),
    "outcomes and predictions swapped": Case(lambda: _plain()[::-1]),
    "outcomes 1 and 2": Case(_of(lambda y: y + 1, _same), _plain, refusable=True),
    "outcomes -1 and 1": Case(_of(lambda y: 2 * y - 1, _same), _plain, refusable=True),
    "a third outcome": Case(_of(_third_label, _same)),
    "outcomes that are words": Case(_of(lambda y: np.where(y == 1, "yes", "no"), _same)),
    "numbers as words": Case(_of(_same, lambda p: p.astype(str)), _plain, refusable=True),
    "one prediction too few": Case(_of(_same, lambda p: p[:-1])),
    "no rows": Case(lambda: (np.array([], np.int64), np.array([]))),
    "complex predictions": Case(_of(_same, lambda p: p + 0.1j)),
    "predictions of three classes": Case(
        _of(_same, lambda p: np.column_stack([p / 2, p / 2, 1 - p]))
    ),
    "a missing value in a pandas column": Case(_of(_same, _missing), needs="pandas"),
    "pandas columns of different order": Case(_reversed_labels, needs="pandas"),
}
UNUSUAL: dict[str, Case] = {
    "outcomes that are booleans": Case(_of(lambda y: y == 1, _same), _plain),
    "outcomes of 8 bits without sign": Case(_of(lambda y: y.astype(np.uint8), _same), _plain),
    "outcomes that are floats": Case(_of(lambda y: y.astype(float), _same), _plain),
    "predictions of 32 bits": Case(
        _of(_same, lambda p: p.astype(np.float32)), _of(_same, _rounded(np.float32)), 1e-4
    ),
    "predictions of 16 bits": Case(
        _of(_same, lambda p: p.astype(np.float16)), _of(_same, _rounded(np.float16)), 1e-3
    ),
    "lists": Case(_of(list, list), _plain),
    "arrays with strides": Case(_of(_strided, _strided), _plain),
    "arrays that cannot be written": Case(_of(_frozen, _frozen), _plain),
    "bytes in the other order": Case(_of(_same, lambda p: p.astype(">f8")), _plain),
    "an array of objects": Case(_of(_same, lambda p: p.astype(object)), _plain),
    "equal predictions, backwards": Case(_backwards, _tied),
    "equal predictions, events first": Case(_sorted, _tied),
    "a prediction of exactly 1": Case(_edge(1.0), _edge(1 - 1e-12), 1e-3),
    "a prediction of exactly 0": Case(_edge(0.0), _edge(1e-12), 1e-3),
    "predictions 0 and 1 as integers": Case(
        _of(_same, lambda p: (p > 0.5).astype(np.int64)), _of(_same, lambda p: (p > 0.5) * 1.0)
    ),
    "a million equal predictions of 32 bits": Case(
        lambda: (np.tile([1, 0, 0, 0, 0], 200_000), np.full(10**6, 0.3, np.float32)),
        lambda: (np.tile([1, 0, 0, 0, 0], 200_000), np.full(10**6, np.float64(np.float32(0.3)))),
        1e-4,
    ),
    "pandas columns": Case(_of(_pandas(), _pandas()), _plain, needs="pandas"),
    "pandas columns with the same labels": Case(
        _of(_pandas(index=range(1000, 1200)), _pandas(index=range(1000, 1200))),
        _plain,
        needs="pandas",
    ),
    "Polars columns": Case(_of(_polars, _polars), _plain, needs="polars"),
    "torch tensors": Case(_of(_torch, _torch), _plain, needs="torch"),
}
CASES = BAD | UNUSUAL


def outcome(package: str, entry: str, name: str) -> tuple[str, str]:
    """What happens, and the words or the number that say so; runs in the Python of the
    contestant.
    """
    case, function = CASES[name], BY_NAME[package].of("numbers")[entry]
    if importlib.util.find_spec(case.needs) is None:
        return UNTRIED, f"{case.needs} is not in the environment"
    expected = None if case.same is None else function(*case.same())
    given, refused = case.make(), RIGHT if case.same is None or case.refusable else REFUSED
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = function(*given)
        except Exception as error:
            return refused, f"{type(error).__name__}: {error}".replace("\n", " ")[:160]
    if math.isnan(found):
        return refused, "NaN"
    if expected is not None and abs(found - expected) <= case.tolerance * max(1.0, abs(expected)):
        return RIGHT, f"{found:.6g}"
    words = f"{found:.6g}" if expected is None else f"{found:.6g}, not {expected:.6g}"
    return (WARNED, f"{words} ({said[0].category.__name__})") if said else (WRONG, words)


def cells(block: int, quick: bool) -> Iterator[Cell]:
    """Every case; there is nothing to repeat, and it is quick."""
    if block == 0:
        for one, label in entries("numbers"):
            for name in list(CASES)[:: 4 if quick else 1]:
                yield one.name, label, name


def run(package: str, entry: str, case: str) -> dict[str, object]:
    """One case."""
    from benchmarks.race.calls import tried

    found, words = tried(BY_NAME[package], entry, case)
    return {"input": "wrong" if case in BAD else "unusual", "outcome": found, "detail": words}


_COLUMNS = (
    (RIGHT, "wrong"),
    (WRONG, "wrong"),
    (WARNED, None),
    (RIGHT, "unusual"),
    (REFUSED, None),
    (WRONG, "unusual"),
    (UNTRIED, None),
)


def _counts(lines: Lines) -> list[tuple[str, str, list[int]]]:
    found = []
    for package, entry in dict.fromkeys((x["package"], x["entry"]) for x in lines):
        own = [x for x in lines if (x["package"], x["entry"]) == (package, entry)]
        kinds = [
            sum(x["outcome"] == kind and (given is None or x["input"] == given) for x in own)
            for kind, given in _COLUMNS
        ]
        found.append((package, entry, kinds))
    return sorted(found, key=lambda x: (x[2][1] + x[2][5], x[2][2], x[2][4]))


def page(lines: Lines, pictures: Path) -> str:  # noqa: ARG001
    """Counts by package, and every case that is silently wrong anywhere."""
    head = ["", "wrong input: right", "a number, silently", "a number, with a warning"]
    head += ["unusual input: right", "refused", "another number, silently", "not tried"]
    body = [
        [f"**{p}** {e}" if p == OURS else f"{p} {e}", *map(str, counts)]
        for p, e, counts in _counts(lines)
    ]
    text = [markdown(head, body), "## Case by case"]
    names = unique(lines, "case")
    sign = {RIGHT: "·", REFUSED: "refused", WARNED: "warns", WRONG: "**wrong**", UNTRIED: "-"}
    packages = [(p, e) for p, e, _ in _counts(lines)]
    by = {(x["package"], x["entry"], x["case"]): x for x in lines}
    table = [
        [
            name,
            *(sign[by[p, e, name]["outcome"]] if (p, e, name) in by else "-" for p, e in packages),
        ]
        for name in names
    ]
    text.append(markdown(["· is right", *(f"{p} {e}" for p, e in packages)], table))
    worst = [x for x in lines if x["package"] == OURS and x["outcome"] != RIGHT]
    if worst:
        text += [
            "## Where rainproof is not right",
            "\n".join(f"- {x['case']}: {x['outcome']} ({x['detail']})" for x in worst),
        ]
    return "\n\n".join(text)


def summary(lines: Lines) -> tuple[str, str, str] | None:
    """Of the cases that were tried: how many were silently wrong."""
    found = {(p, e): (c[1] + c[5], sum(c) - c[6]) for p, e, c in _counts(lines)}
    ours = [x for (p, _), x in found.items() if p == OURS]
    others = {key: x for key, x in found.items() if key[0] != OURS}
    if not ours or not others:
        return None
    best = min(others, key=lambda key: (others[key][0], -others[key][1]))
    middle = sorted(x[0] for x in others.values())[len(others) // 2]
    return (
        f"bad and unusual input: silently wrong, of {ours[0][1]} cases",
        str(ours[0][0]),
        f"{others[best][0]} of {others[best][1]} ({' '.join(best)}); median {middle}",
    )


PART = Part(
    name="bad-input",
    keys=("package", "entry", "case"),
    values=("input", "outcome", "detail"),
    blocks=1,
    cells=cells,
    run=run,
    page=page,
    summary=summary,
)
