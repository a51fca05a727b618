"""The measurements of one run, and the tables they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.measures import (
    AGAINST_LP,
    ALL,
    ARGSORT,
    BY_NAME,
    DECIDE,
    ONLINE,
    ROUND,
    SWITCH,
    THRESHOLD,
)
from benchmarks.resampling import BOOTSTRAP, TEST
from benchmarks.resampling import SIZE as RESAMPLED
from benchmarks.tables import Table, figures, size
from benchmarks.timed_functions import (
    BINCOUNT,
    BY_THREADS,
    CURVE,
    FLOOR,
    RAINPROOF,
    SMOOTH,
    Contestant,
)
from benchmarks.timing import Cell

TARGET_SIZE = 10**7
SMALL = (100, 1000, 10_000)

Times = dict[int, dict[str, Cell]]  # seconds by size and contestant


@dataclass(frozen=True, slots=True)
class Measured:
    """Time and memory for one forecaster's rows."""

    times: Times
    memory: dict[str, Cell]  # bytes by contestant, at the middle size

    def against(self, contestant: Contestant) -> dict[int, Cell]:
        """Return a contestant's time at each size, as the denominator of ratios."""
        return {n: row[contestant.name] for n, row in self.times.items()}

    def at_target(self, contestant: Contestant) -> Cell:
        return self.times.get(TARGET_SIZE, {}).get(contestant.name, "not measured")


@dataclass(frozen=True, slots=True)
class Results:
    """All measurements of one run."""

    miscalibrated: Measured
    calibrated: Measured
    small: Times  # seconds of SCDL and of the ECE by np.bincount, by size
    measures: Times  # seconds of every measure, by size
    switch_memory: Cell  # bytes beyond the inputs of `switch_guarantee`, n = 1e6
    against_program: dict[str, Cell]  # seconds of smCE, by rainproof and as a linear program
    resampling: dict[str, Cell]  # seconds per redrawn sample
    # of the arrays: seconds of the floor, on one thread, on all
    types: dict[str, tuple[Cell, Cell, Cell]]
    middle: int  # the size at which types and memory were measured

    def tables(self) -> list[Table]:
        """Return all tables, the targets first."""
        one, two = self.miscalibrated, self.calibrated
        ms: dict[int, Cell] = dict.fromkeys(one.times, 1e-3)
        ns_per_row: dict[int, Cell] = {n: n * 1e-9 for n in one.times}
        best = "Milliseconds per call, minimum over rounds."
        linear = "A constant along a row means that cost is linear in n."
        return [
            self._targets(),
            _by_size("Wall time, miscalibrated forecaster", best, one.times, ms),
            _by_size(
                "Times the floor, miscalibrated forecaster", "", one.times, one.against(FLOOR)
            ),
            _by_size(
                "Times slower than rainproof on all threads", "", one.times, one.against(RAINPROOF)
            ),
            _by_size("Nanoseconds per row", linear, one.times, ns_per_row),
            self._memory(),
            _by_size("Wall time, perfectly calibrated forecaster", best, two.times, ms),
            _by_size(
                "Times the floor, perfectly calibrated forecaster",
                "",
                two.times,
                two.against(FLOOR),
            ),
            self._types(),
            self._measure_targets(),
            self._resampling(),
            _by_size(
                "Wall time of every measure",
                best,
                self.measures,
                dict.fromkeys(self.measures, 1e-3),
            ),
            _by_size(
                "Times np.argsort(p)",
                "",
                self.measures,
                {n: row[ARGSORT.name] for n, row in self.measures.items()},
            ),
        ]

    def _measure_targets(self) -> Table:
        """Return the targets for the measures other than SCDL, which were set before measuring."""

        def ratio(n: int, a: Contestant, b: Contestant) -> Cell:
            row = self.measures.get(n, {})
            return over(row.get(a.name, "not measured"), row.get(b.name, "not measured"))

        million, smooth = 10**6, BY_NAME["smooth_ece"]
        binned, distance = (
            BY_NAME["binned_calibration_error"],
            BY_NAME["lower_distance_to_calibration"],
        )
        seconds = self.measures.get(TARGET_SIZE, {}).get(distance.name, "not measured")
        mine, program = (self.against_program[one.name] for one in AGAINST_LP)
        checks: list[tuple[str, Cell, Callable[[float], bool]]] = [
            (
                f"{one.name} within 6 times np.argsort(p), n = 1e6",
                ratio(million, one, ARGSORT),
                lambda x: x <= 6,
            )
            for one in (
                BY_NAME["smooth_calibration_error"],
                BY_NAME["calibration_decision_loss"],
                SWITCH,
            )
        ]
        checks += [
            (
                f"SCDL within 3 times NumPy bincount ECE, n = {size(n)}",
                _slower(row),
                lambda x: x <= 3,
            )
            for n, row in self.small.items()
        ]
        checks += [
            (
                "smooth ECE 10 times faster than relplot, n = 1e6",
                ratio(million, SMOOTH, smooth),
                lambda x: x >= 10,
            ),
            (
                "binned ECE faster than np.bincount, n = 1e6",
                ratio(million, BINCOUNT, binned),
                lambda x: x > 1,
            ),
            (
                "binned ECE faster than np.bincount, n = 1e7",
                ratio(TARGET_SIZE, BINCOUNT, binned),
                lambda x: x > 1,
            ),
            (
                "smCE 100 times faster than a sparse LP, n = 1e4",
                over(program, mine),
                lambda x: x >= 100,
            ),
            (
                "decisions within 10 times p >= t, n = 1e7",
                ratio(TARGET_SIZE, DECIDE, THRESHOLD),
                lambda x: x <= 10,
            ),
            (
                "online within 20 times rounding at random, n = 1e6",
                ratio(million, ONLINE, ROUND),
                lambda x: x <= 20,
            ),
            (
                "switch_guarantee, MB beyond the inputs, n = 1e6",
                over(self.switch_memory, 1e6),
                lambda x: x <= 200,
            ),
            ("lower distance, 1,024 grid points, seconds at n = 1e7", seconds, lambda x: x <= 2),
            (
                "measure_all, seconds at n = 1e5",
                self.measures.get(10**5, {}).get(ALL.name, "not measured"),
                lambda x: x <= 0.1,
            ),
        ]
        rows = [
            [label, _text(x), "-" if isinstance(x, str) else "yes" if met(x) else "no"]
            for label, x, met in checks
        ]
        return Table(
            "Targets of the other measures",
            "The measured ratio (or seconds).",
            ["target", "", "met"],
            rows,
        )

    def _resampling(self) -> Table:
        """Return the time per redrawn sample, and its ratio to rainproof's test and bootstrap."""
        test, bootstrap = (self.resampling[one.contestant.name] for one in (TEST, BOOTSTRAP))
        rows = [
            [name, *(_text(over(t, unit)) for unit in (1e-3, test, bootstrap))]
            for name, t in self.resampling.items()
        ]
        note = (
            f"Milliseconds per redrawn sample at n = {size(RESAMPLED)}, a calibrated forecaster. "
            "Targets: the loop at least 30 times and the library at least 100 times rainproof's."
        )
        return Table("Resampling", note, ["", "ms", "times the test", "times the bootstrap"], rows)

    def _targets(self) -> Table:
        """Return the targets, which were set before measuring; without a number of threads both
        cases are shown.
        """
        rows = []
        for label, value, met in _TARGETS:
            row = [label]
            for measured in (self.miscalibrated, self.calibrated):
                x = value(measured)
                row += [_text(x), "-" if isinstance(x, str) else "yes" if met(x) else "no"]
            rows.append(row)
        head = ["target", "miscalibrated", "met", "calibrated", "met"]
        return Table(
            "Targets",
            f"At n = {size(TARGET_SIZE)}: the measured ratio (or MB), and whether it meets the "
            "target.",
            head,
            rows,
        )

    def _memory(self) -> Table:
        one, two = self.miscalibrated.memory, self.calibrated.memory
        rows = [
            [name, *(_text(over(memory.get(name, "-"), 1e6)) for memory in (one, two))]
            for name in one
        ]
        note = (
            f"MB (10^6 bytes) at n = {size(self.middle)}, at the peak of one call, "
            "beyond the inputs."
        )
        return Table("Peak extra memory", note, ["", "miscalibrated", "calibrated"], rows)

    def _types(self) -> Table:
        rows = [
            [
                name,
                *(_text(over(t, 1e-3)) for t in times),
                *(_text(over(t, times[0])) for t in times[1:]),
            ]
            for name, times in self.types.items()
        ]
        note = (
            f"rainproof SCDL, milliseconds at n = {size(self.middle)}; the floor is the sums of "
            "the same arrays."
        )
        head = [
            "y, p",
            "floor",
            "1 thread",
            "all threads",
            "1 thread / floor",
            "all threads / floor",
        ]
        return Table("Array types", note, head, rows)


def _by_size(title: str, note: str, times: Times, units: dict[int, Cell]) -> Table:
    """Return a table with a row per contestant and a column per size, each in its own unit."""
    names = list(next(iter(times.values())))
    rows = [
        [name, *(_text(over(row[name], units[n])) for n, row in times.items())] for name in names
    ]
    return Table(title, note, ["n", *map(size, times)], rows)


def over(a: Cell, b: Cell) -> Cell:
    """Return a / b, or the reason why one of them is missing."""
    if isinstance(a, str):
        return a
    return b if isinstance(b, str) else a / b


def _slower(row: dict[str, Cell]) -> Cell:
    return over(row[RAINPROOF.name], row[BINCOUNT.name])


def _text(a: Cell) -> str:
    return a if isinstance(a, str) else figures(a)


def _ratio(a: Contestant | None, b: Contestant | None) -> Callable[[Measured], Cell]:
    if a is None or b is None:
        return lambda _: "not measured: one core"
    return lambda measured: over(measured.at_target(a), measured.at_target(b))


def _megabytes(measured: Measured) -> Cell:
    if TARGET_SIZE not in measured.times:
        return "not measured"
    return over(measured.memory.get(RAINPROOF.name, "not measured"), 1e6)


_ONE, _TWO = BY_THREADS[1], BY_THREADS.get(2)
_TARGETS: tuple[tuple[str, Callable[[Measured], Cell], Callable[[float], bool]], ...] = (
    ("within 3 times the floor on one thread", _ratio(_ONE, FLOOR), lambda x: x <= 3),
    ("within 2 times the floor on two threads", _ratio(_TWO, FLOOR), lambda x: x <= 2),
    (
        "4 times faster than NumPy bincount ECE, all threads",
        _ratio(BINCOUNT, RAINPROOF),
        lambda x: x >= 4,
    ),
    (
        "4 times faster than NumPy bincount ECE, one thread",
        _ratio(BINCOUNT, _ONE),
        lambda x: x >= 4,
    ),
    (
        "25 times faster than calibration_curve, all threads",
        _ratio(CURVE, RAINPROOF),
        lambda x: x >= 25,
    ),
    ("25 times faster than calibration_curve, one thread", _ratio(CURVE, _ONE), lambda x: x >= 25),
    ("under 32 MB of extra memory, all threads", _megabytes, lambda x: x < 32),
)
