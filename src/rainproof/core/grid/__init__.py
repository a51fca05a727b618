"""Sums of rows by cell of a grid."""
