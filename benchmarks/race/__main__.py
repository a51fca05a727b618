"""Run the race, or the parts that are named, and write its pages: ``make race``, or

    python -m benchmarks.race [power recalibration coverage advice bad-input speed] [--quick]
    [--blocks N] [--minutes M]

What is in the tables already is not computed again, so a race that was stopped goes on where it
was; ``--blocks`` larger than before adds replicates. ``--pages`` writes the pages from the tables,
and computes nothing.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from pathlib import Path

from benchmarks.race import calls, pages
from benchmarks.race.parts import say

ROOT = Path(__file__).parents[2]


def main(arguments: list[str] | None = None) -> None:
    """Measure what is missing; then write the pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help="default: all")
    parser.add_argument("--quick", action="store_true", help="the smaller sizes, one block")
    parser.add_argument(
        "--blocks", type=int, help="of replicates, for every part (default: as each part has it)"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=math.inf,
        help="for all parts; the rest is left for next time",
    )
    parser.add_argument(
        "--results", type=Path, default=ROOT / "docs" / "data" / "race", help="folder of the tables"
    )
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="folder of the pages")
    parser.add_argument("--pages", action="store_true", help="write the pages only")
    options = parser.parse_args(arguments)
    unknown = set(options.parts) - set(pages.PARTS)
    if unknown:
        parser.error(
            f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(pages.PARTS)}"
        )
    warnings.simplefilter("ignore")
    until = time.monotonic() + 60 * options.minutes
    if not options.pages:
        pages.write_who(options.results)
    for name in () if options.pages else options.parts or pages.PARTS:
        part = pages.PARTS[name].part
        say(name)
        blocks = options.blocks or (1 if options.quick else part.blocks)
        if not part.measure(options.results, blocks=blocks, quick=options.quick, until=until):
            say(f"{name}: stopped, as the time is over; the same command goes on from here")
    calls.close()
    pages.write(options.results, options.docs)


if __name__ == "__main__":
    main()
