"""The sample, from which every measure is computed."""
