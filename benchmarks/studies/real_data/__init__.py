"""Recalibration and advice on real data: the study behind docs/benchmarks/study-real-data.md.

`sets` names public tables that packages ship, `models` predicts their events, `splits` divides
rows, `maps` are the ways to recalibrate and to act, `study` measures what they cost, `page` writes
the tables.
"""
