"""`rainproof policy` warns of a forecast that should not be acted on as it is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from helpers.cases import for_each

from rainproof.cli import main

POLICY = [
    "policy",
    "rows.csv",
    "--prob",
    "p",
    "--outcome",
    "y",
    "--threshold",
    "0.3",
    "-o",
    "policy.json",
]


def overconfident(rng, n):
    q = rng.random(n)
    return np.where(q < 0.5, 0.02, 0.98), rng.random(n) < 0.3 + 0.4 * (q > 0.5)


def noise(rng, n):
    return rng.random(n), rng.random(n) < 0.5


def inverted(rng, n):
    p = rng.random(n)
    return p, rng.random(n) < 1 - p


def calibrated(rng, n):
    p = rng.random(n)
    return p, rng.random(n) < p


@for_each(
    "forecast, warning",
    [
        (
            overconfident,
            "rainproof: warning: Recalibrate first. These probabilities are too extreme:\n",
        ),
        (
            noise,
            "rainproof: warning: Do without them. Where they are higher, the event is hardly\n",
        ),
        (inverted, "rainproof: warning: Check which outcome is the event: the higher the\n"),
        (calibrated, ""),
    ],
)
def test_the_warning_and_the_way_out(tmp_path, monkeypatch, capsys, forecast, warning):
    monkeypatch.chdir(tmp_path)
    p, y = forecast(np.random.default_rng(0), 4000)
    Path("rows.csv").write_text(
        "p,y\n" + "".join(f"{a:.4f},{b:d}\n" for a, b in zip(p, y, strict=True))
    )
    assert main(POLICY) == 0
    out, err = capsys.readouterr()
    assert out.endswith("Policy written to policy.json\n")
    assert err.startswith(warning)
    assert bool(err) == bool(warning)
    ways_out = {
        overconfident: "'rainproof recalibrate' and pass it as --map.",
        noise: "act alike in every case.",
        inverted: "Did you mean 1 - p, or the other outcome as the event (--pos-label)?",
    }
    assert " ".join(err.split()).endswith(ways_out.get(forecast, ""))
    assert main([*POLICY, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_groups_get_the_same_policy(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    p, y = overconfident(np.random.default_rng(0), 4000)
    rows = [f"{a:.4f},{b:d},{row % 25}\n" for row, (a, b) in enumerate(zip(p, y, strict=True))]
    Path("rows.csv").write_text("p,y,day\n" + "".join(rows))
    assert main([*POLICY, "--groups", "day"]) == 0
    grouped = json.loads(Path("policy.json").read_text())
    assert main(POLICY) == 0
    assert capsys.readouterr().err.startswith("rainproof: warning: Recalibrate ")
    assert json.loads(Path("policy.json").read_text()) == grouped
