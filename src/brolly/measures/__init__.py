"""Calibration measures: pure functions of a sample."""
