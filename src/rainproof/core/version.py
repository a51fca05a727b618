"""The version, for results that carry it: the name under which rainproof is installed may be another."""

VERSION = "0.1.0"
