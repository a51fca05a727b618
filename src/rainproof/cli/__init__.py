"""The command line: read arguments, call the library, print the result."""

from rainproof.cli.app import main

__all__ = ["main"]
