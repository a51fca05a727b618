"""Simulation studies of what brolly claims: seeded, one command each, with results under docs/data."""
