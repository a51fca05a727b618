"""Rows, the sample, and its exact compression. Knows arrays; knows no measure."""
