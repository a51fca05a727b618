"""Write a small data set: 2,000 forecasts of an overconfident rain forecaster in four cities.

    python examples/make_rain_data.py rain.csv

The rows are made by src/rainproof/cli/demo.py; `rainproof demo` writes the same file and a
report on it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rainproof.cli.demo import as_csv, forecasts

if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python examples/make_rain_data.py FILE")
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_csv(forecasts()), encoding="utf-8", newline="\n")
