"""``python -m brolly``."""

from brolly.cli import main

if __name__ == "__main__":  # not in the processes that `brolly paper` starts
    raise SystemExit(main())
