"""Rows from any engine and of any size: read, compressed, stored."""
