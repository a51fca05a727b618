"""The race: rainproof beside everything people use today, part by part. Run it with ``make
race``.
"""
