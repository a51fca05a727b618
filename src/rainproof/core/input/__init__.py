"""Conversion and checks of what the caller passes."""
