"""Write relplot_values.json: what relplot says of the samples in relplot_cases.py.

    pip install relplot==1.0.3 && python tests/reference/make_relplot_values.py

relplot is not among the packages for tests, as it brings plotting libraries along. For each sample
the file has relplot's smooth ECE with the width it settled on, on its own mesh of 200 points, and
the smoothed error at that width on a mesh of 20,000 points.
"""

from __future__ import annotations

import json
from pathlib import Path

import relplot
from helpers.relplot_cases import cases

MESH = relplot.config.smECE_mesh_pts


def main():
    values = {}
    for name, y, p in cases():
        value, width = relplot.smECE(p, y, return_width=True)
        relplot.config.smECE_mesh_pts = 20_000
        fine = relplot.smECE_sigma(p, y, width)
        relplot.config.smECE_mesh_pts = MESH
        values[name] = {"value": float(value), "width": float(width), "fine": float(fine)}
    Path(__file__).with_name("relplot_values.json").write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()
