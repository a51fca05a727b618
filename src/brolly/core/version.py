"""The version, for results that carry it: the name under which brolly is installed may be another."""

VERSION = "0.1.0"
