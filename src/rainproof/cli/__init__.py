"""The command line: read arguments, call the library, print the result."""

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 if a limit is passed, or 2 with one line
    of error.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments, without the name of the program; those of this process if left out.
    """
    try:
        from rainproof.cli.stopping import stoppable

        with stoppable(process=argv is None) as settle:
            # what takes time to import comes after signals are heeded
            from rainproof.cli.app import run

            return run(argv, settle)
    except KeyboardInterrupt as stop:
        return 128 + (stop.args[0] if stop.args else 2)
