"""Compare what two checkouts return, print, keep and refuse, for the same rows.

    python -m tools.freeze OLD/src NEW/src --quick              a minute on one core
    python -m tools.freeze OLD/src NEW/src --jobs 2             everything
    python -m tools.freeze OLD/src NEW/src --only "guarantee.*weights"   'function | sample'

Each checkout (with its kernels compiled) runs the same functions on the same samples, in processes
of its own and in this environment. JSON, text, warnings and pickles of every result must be equal,
with no tolerance; a pickle must come back the same and hold no more arrays than before; and what
one checkout refuses the other must refuse, with the same type of error. There are no golden files:
a difference is printed with its size, and is either a mistake or a line of the changelog. Words of
refusals are compared apart, as one table to be read. Functions that either checkout lacks are
skipped and named, and what EXPECTED lists is counted. Differences are printed by function and place
(the first samples of each); all of them are in OUT/differences.tsv. The results of OLD are kept in
a cache, by the contents of its files and of this program: the second comparison with it takes half
the time. OLD can be any copy of a folder `src` with its kernels, such as that before a change.

To see that it finds mistakes, plant one in a copy of OLD and compare. These are found, each in the
quick selection: part of a sample loses its costs; an ordered sample its segments; a part every
forecast but the first; a part of clusters the clusters; a part keeps the weights that the base rate
set for the whole; rows of weight zero are counted, or clusters of weight zero; effective_n stays
when clusters are attached, or the digest; the digest stays with other predictions; rows are ordered
backwards, or by other keys; a pickle of a sample holds its sums, or that of a result its rows; a
base rate is accepted with clusters; cells are refused with another type of error; cells of
unequal weights are refused; effective_n is computed in another order, which moves its last bit; the
second forecast stays in the order in which it came; a part counts both parts of a share; classes
lose their clusters in order; a warning is lost; segments of weight zero appear.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# of a pickle, from one checkout to the other: names of modules may get longer, arrays may not grow
GROWTH = 1.1
SLACK = 2000  # bytes
PRINTED = 60  # kinds of differences
Line = dict[str, Any]
# found in 'kind | function | sample | place | detail' of what the changelog says is changed
EXPECTED = (
    # weights that are all equal need a largest weight, too
    r"equal weights",
    r"must have a largest possible value that is stated",
    # a sample of several classes is a Sample, which can be divided, and keeps less
    r"refusal \| (split|ungrouped|misuse: rows added) \| three classes",
    r"number \| Sample, pickled after use \| three classes.*grows by use",
)


class Difference(NamedTuple):
    """Where two checkouts disagree, and by how much."""

    function: str
    case: str
    kind: str  # "refusal", "number", "text", "warning", "pickle", "shape"
    # largest difference of numbers, relative to the larger one; infinite where it is not of numbers
    size: float
    place: str
    detail: str

    @property
    def is_expected(self) -> bool:
        """Whether the changelog says it."""
        text = f"{self.kind} | {self.function} | {self.case} | {self.place} | {self.detail}"
        return any(re.search(pattern, text) for pattern in EXPECTED)


def compared(old: Line, new: Line) -> Iterator[Difference]:
    """The differences between two lines of the same function and sample."""
    where = (old["function"], old["case"])
    readable = (old.get("refused"), new.get("refused")) == ("AttributeError", "InputError")
    if old.get("refused") != new.get("refused") and not readable:
        types = f"{old.get('refused', 'accepted')} -> {new.get('refused', 'accepted')}"
        words = new.get("words", "") or old.get("words", "")
        yield Difference(*where, "refusal", math.inf, types, words)
        return
    if old["warned"] != new["warned"]:
        words = f"{old['warned']} -> {new['warned']}"
        yield Difference(*where, "warning", math.inf, "", words)
    if "refused" in old:
        return
    sizes = list(_sizes(old["json"], new["json"], ""))
    if sizes:
        place, size, detail = max(sizes, key=lambda one: one[1])
        kind = "shape" if math.isinf(size) else "number"
        yield Difference(*where, kind, size, place, f"{detail} ({len(sizes)} values)")
    elif old["text"] != new["text"]:
        words = next(f"{a!r} -> {b!r}" for a, b in zip(old["text"], new["text"], strict=True))
        yield Difference(*where, "text", math.inf, "", words)
    elif old.get("html") != new.get("html"):
        yield Difference(*where, "text", math.inf, "_repr_html_", "")
    yield from _pickles(old, new)


def _pickles(old: Line, new: Line) -> Iterator[Difference]:
    """Where the pickle of a result does not come back the same, or holds more than before."""
    where = (old["function"], old["case"], "pickle")
    if not new.get("pickle", True) and old["pickle"]:
        yield Difference(*where, math.inf, "round trip", "does not come back the same")
    for name, most in (("bytes", GROWTH * old.get("bytes", 0) + SLACK), ("array bytes", None)):
        before = old.get(name, 0)
        now = new.get(name, 0)
        if now > (before if most is None else most):
            yield Difference(*where, math.inf, name, f"{before} -> {now} {name}")


def _sizes(old: Any, new: Any, path: str) -> Iterator[tuple[str, float, str]]:
    """Where two values differ, with the relative size of each difference."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            if key in old and key in new:
                yield from _sizes(old[key], new[key], f"{path}.{key}")
            else:
                yield f"{path}.{key} is {'gone' if key in old else 'new'}", math.inf, ""
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (first, second) in enumerate(zip(old, new, strict=True)):
            yield from _sizes(first, second, f"{path}[{place}]")
    elif old != new:
        yield path, _relative(old, new), f"{old!r:.200} -> {new!r:.200}"


def _relative(old: Any, new: Any) -> float:
    """The relative difference of two numbers; infinite for anything else."""
    try:
        first, second = (
            float.fromhex(one) if isinstance(one, str) else float(one) for one in (old, new)
        )
    except (TypeError, ValueError):
        return math.inf
    larger = max(abs(first), abs(second))
    if larger == 0:  # zeros of different signs
        return 0.0
    size = abs(first - second) / larger
    return math.inf if math.isnan(size) else size


def shown(differences: list[Difference]) -> Iterator[str]:
    """A line for each kind of difference, with its largest size and its first samples."""
    kinds: dict[tuple[str, str, str], list[Difference]] = defaultdict(list)
    for found in differences:
        place = re.sub(r"\[\d+\]", "[]", found.place)
        kinds[found.function, found.kind, place].append(found)
    for (function, kind, place), some in list(kinds.items())[:PRINTED]:
        largest = max(some, key=lambda found: found.size)
        samples = "; ".join(found.case for found in some[:3])
        yield f"{kind:8} {largest.size:8.1e} {len(some):5}  {function} | {samples}"
        yield f"{'':24} {place}  {largest.detail[:300]}"
    if len(kinds) > PRINTED:
        yield f"and {len(kinds) - PRINTED} more kinds"


def contents(source: Path) -> str:
    """A hash of the package in a folder, of this program but for the comparison, and of the
    environment.
    """
    whole = hashlib.sha256(f"{sys.version} {np.__version__}".encode())
    for folder in (source / "rainproof", Path(__file__).parent):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".pyc" and path != Path(__file__):
                whole.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()[:20]


def start(source: Path, path: Path, arguments: list[str]) -> int:
    """Run a part with the library in a folder, and wait for it."""
    command = [sys.executable, "-m", "tools.freeze", str(source), "--run", str(path), *arguments]
    # BLAS adds in another order with another number of threads
    environment = os.environ | {"PYTHONPATH": str(source.resolve()), "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 ours


def read(path: Path, source: Path) -> tuple[dict[str, str], Iterator[str]]:
    """What a checkout lacks, and the results of a part."""
    file = gzip.open(path, "rt")  # noqa: SIM115 read to its end
    head = json.loads(next(file))
    if Path(head["library"]) != source.resolve():
        raise SystemExit(f"{head['library']} was imported in place of {source}")
    return head["lacks"], (line.split("\t", 1)[1] for line in file)


class Comparison:
    """All differences between the results of two checkouts, which are read side by side."""

    def __init__(self) -> None:
        self.results = 0
        self.differences: list[Difference] = []
        self.words: set[tuple[str, str]] = set()  # of refusals, old and new
        self.lacks: dict[str, str] = {}

    def add(self, paths: tuple[Path, Path], sources: list[Path]) -> None:
        """Compare the two files of a part, line by line."""
        (old_lacks, old), (new_lacks, new) = map(read, paths, sources)
        self.lacks |= old_lacks | new_lacks
        some, others = (filter(self._is_in_both, lines) for lines in (old, new))
        for first, second in zip(some, others, strict=True):
            self.results += 1
            if first != second:
                self._compare(json.loads(first), json.loads(second))

    def _is_in_both(self, line: str) -> bool:
        return not self.lacks or json.loads(line)["function"] not in self.lacks

    def _compare(self, old: Line, new: Line) -> None:
        assert (old["function"], old["case"]) == (new["function"], new["case"])
        self.differences += compared(old, new)
        if "refused" in old and "refused" in new and old["words"] != new["words"]:
            self.words.add((old["words"], new["words"]))


def main(arguments: list[str] | None = None) -> int:
    """Compare, and return 1 if anything differs."""
    about, _, more = (__doc__ or "").partition("\n")
    shape = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m tools.freeze", None, about, more, [], shape)
    add = parser.add_argument
    add("sources", nargs="+", type=Path, help="the two folders that hold the package")
    add("--out", type=Path, default=Path("build/freeze"), help="where results are written")
    add("--only", default="", help="a regular expression, found in 'function | sample'")
    add("--quick", action="store_true", help="every function once for each design, on few rows")
    add("--jobs", type=int, default=1, help="processes at a time")
    add("--no-cache", action="store_true", help="compute the results of the old checkout anew")
    add("--list", action="store_true", help="print the functions and samples, and run nothing")
    # what the processes are started with
    add("--run", type=Path, help=argparse.SUPPRESS)
    add("--part", type=int, nargs=2, default=(0, 1), help=argparse.SUPPRESS)
    add("--cache", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run is not None:
        from tools.freeze.results import run  # with the library of this process

        run(options.run, *options.part, options.only, options.cache, quick=options.quick)
        return 0
    if options.list:
        from tools.freeze.results import chosen

        for case, functions in chosen(options.only, quick=options.quick):
            for function in functions:
                print(f"{function.name} | {case.name}")
        return 0
    old_source, new_source = options.sources
    options.out.mkdir(parents=True, exist_ok=True)
    what = ["--only", options.only, *(["--quick"] if options.quick else [])]
    cache = Path(tempfile.gettempdir(), "rainproof-freeze", contents(old_source))
    cache.mkdir(parents=True, exist_ok=True)
    kept = [] if options.no_cache else ["--cache", str(cache)]
    parts = range(options.jobs)
    old_paths = [options.out / f"old{part}.jsonl.gz" for part in parts]
    new_paths = [options.out / f"new{part}.jsonl.gz" for part in parts]
    with ThreadPoolExecutor(options.jobs) as pool:
        running = []
        for part in parts:
            which = ["--part", str(part), str(options.jobs), *what]
            running.append(pool.submit(start, old_source, old_paths[part], [*which, *kept]))
            running.append(pool.submit(start, new_source, new_paths[part], which))
        if any(process.result() for process in running):
            return 2
    found = Comparison()
    for paths in zip(old_paths, new_paths, strict=True):
        found.add(paths, options.sources)
    for name, missing in found.lacks.items():
        print(f"not compared: {name} (no {missing})")
    unexpected = [one for one in found.differences if not one.is_expected]
    for text in shown(unexpected):
        print(text)
    table = ["\t".join(map(repr, difference)) for difference in unexpected]
    (options.out / "differences.tsv").write_text("\n".join(table), encoding="utf-8")
    words = [f"{old!r}\t{new!r}" for old, new in sorted(found.words)]
    (options.out / "words.tsv").write_text("\n".join(words), encoding="utf-8")
    print(
        f"{len(table):,} differences in {found.results:,} results, all in {options.out}/"
        f"differences.tsv ({len(found.differences) - len(table)} others are expected); "
        f"{len(words)} refusals have other words, in {options.out}/words.tsv"
    )
    return 1 if table else 0


if __name__ == "__main__":
    sys.exit(main())
