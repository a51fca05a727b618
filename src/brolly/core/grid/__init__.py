"""Sums by cell of a grid: how rows are scanned, merged and rounded."""
