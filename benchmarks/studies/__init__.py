"""Simulation studies of what rainproof claims: seeded, one command each, with results under
docs/data.
"""
