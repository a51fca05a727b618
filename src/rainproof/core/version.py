"""The version, for results that carry it: the name under which rainproof is installed may be another."""

from __future__ import annotations

VERSION = "0.1.0"
