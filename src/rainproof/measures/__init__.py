"""Calibration measures and scores: pure functions of a sample."""
