"""Every public name of rainproof, at the top or in one of its packages."""

from __future__ import annotations

import rainproof

PACKAGES = ["clinical", "decisions", "inference", "io", "measures", "recalibration", "results"]
HOMES = {name: package for package in PACKAGES for name in getattr(rainproof, package).__all__}
PUBLIC = {name: getattr(rainproof, name) for name in rainproof.__all__}
PUBLIC |= {name: getattr(getattr(rainproof, package), name) for name, package in HOMES.items()}
