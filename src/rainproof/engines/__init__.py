"""Sources of rows, each of which is compressed to a `Sample`; no measures."""
