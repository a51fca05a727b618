"""The weighted sample that every measure is computed from."""
