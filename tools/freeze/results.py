"""What one checkout returns, prints, keeps and refuses: the lines that `tools.freeze` compares."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import pickle
import re
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rainproof
from tools.freeze.functions import FUNCTIONS, REMOVED, Function, array_bytes, lacking, lines_of
from tools.freeze.samples import Case, cases

Line = dict[str, Any]


def chosen(only: str, *, quick: bool) -> Iterator[tuple[Case, list[Function]]]:
    """The samples, and the functions that run on each; in the quick selection every function runs
    on one sample of each design, and on all that are refused.
    """
    turns: dict[str, int] = defaultdict(int)
    of_design: dict[str, int] = defaultdict(int)
    every = [case for case in cases() if case.quick or not quick]
    for case in every:
        of_design[case.design] += 1
    for case in every:
        turn = turns[case.design]
        turns[case.design] += 1
        some = []
        for place, function in enumerate(FUNCTIONS.values()):
            alone = quick and case.design != "refused"
            if alone and place % of_design[case.design] != turn:
                continue
            if function.slow and not (alone or case.slow):
                continue
            if function.whole and quick:
                continue
            if re.search(only, f"{function.name} | {case.name}"):
                some.append(function)
        yield case, some


def run(path: Path, part: int, parts: int, only: str, cache: Path | None, *, quick: bool) -> None:
    """Write a line of JSON for each function and sample of a part, with the library that this
    process imports; what the cache holds is not computed again.
    """
    lacks = {f.name: name for f in FUNCTIONS.values() for name in f.needs if lacking(name)}
    with gzip.open(path, "wt", 1) as file:
        file.write(json.dumps({"library": str(_library()), "lacks": lacks}) + "\n")
        for number, (case, functions) in enumerate(chosen(only, quick=quick)):
            if number % parts != part:
                continue
            wanted = [function for function in functions if function.name not in lacks]
            for line in _lines(case, wanted, cache):
                file.write(line + "\n")


def _library() -> Path:
    """The folder that holds the package."""
    return Path(rainproof.__file__).resolve().parents[1]


def _lines(case: Case, functions: list[Function], cache: Path | None) -> list[str]:
    """The seconds and the results of functions on a case, from the cache as far as it has them."""
    if not functions:
        return []
    known: dict[str, str] = {}
    kept = None
    if cache is not None:
        kept = cache / f"{hashlib.sha256(case.name.encode()).hexdigest()[:20]}.json.gz"
        with contextlib.suppress(FileNotFoundError), gzip.open(kept, "rt") as file:
            known = json.load(file)
    missing = [function for function in functions if function.name not in known]
    for function in missing:
        start = time.perf_counter()
        found = {"function": function.name, "case": case.name} | outcome_of(function, case)
        known[function.name] = f"{time.perf_counter() - start:.3f}\t{json.dumps(found)}"
    if kept is not None and missing:
        with tempfile.NamedTemporaryFile(dir=cache, delete=False) as temporary:
            temporary.write(gzip.compress(json.dumps(known).encode(), 1))
        Path(temporary.name).replace(kept)  # another process may do the same
    return [known[function.name] for function in functions]


def outcome_of(function: Function, case: Case) -> Line:
    """What a function returns, prints and keeps, or which error it raises; and its warnings."""
    with warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always")
        try:
            found = described(function.call(case))
        except Exception as error:  # the type of every refusal is compared, a mistake's too
            found = {"refused": type(error).__name__, "words": str(error)}
    said = [f"{type(one.message).__name__}: {one.message}" for one in noticed]
    return found | {"warned": said}


def described(value: Any) -> Line:
    """What a value is as JSON, as text and after pickling."""
    if not hasattr(value, "to_dict"):
        return {"json": _exact(value), "text": ""}
    found: Line = {"json": _exact(value.to_dict()), "text": _texts(value)}
    if hasattr(value, "_repr_html_"):
        html = lines_of(value._repr_html_().replace("<tr", "\n<tr"))
        found["html"] = hashlib.sha256("\n".join(html).encode()).hexdigest()
    pickled = pickle.dumps(value)
    again = pickle.loads(pickled)  # noqa: S301 our own
    found["pickle"] = _exact(again.to_dict()) == found["json"]
    found["pickle"] &= _texts(again) == found["text"]
    found["bytes"] = len(pickled)
    found["array bytes"] = array_bytes(value)
    return found


def _texts(value: Any) -> list[str]:
    """What a value prints, and its representation."""
    return ["\n".join(lines_of(text)) for text in (str(value), repr(value))]


def _exact(value: Any) -> Any:
    """The value with every number as text that tells doubles apart, without what is gone."""
    if isinstance(value, dict):
        return {str(key): _exact(part) for key, part in value.items() if key not in REMOVED}
    if isinstance(value, list | tuple):
        return [_exact(part) for part in value if not _is_removed(part)]
    if isinstance(value, np.ndarray):
        return _exact(value.tolist())
    if isinstance(value, float | np.floating):
        return float(value).hex()
    return value if isinstance(value, bool | int | str | None) else str(value)


def _is_removed(value: Any) -> bool:
    """Whether an entry of a list is about what is gone on purpose."""
    return isinstance(value, dict) and bool({value.get("name"), value.get("measure")} & {*REMOVED})
