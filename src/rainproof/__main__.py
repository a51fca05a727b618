"""``python -m rainproof``."""

from rainproof.cli import main

if __name__ == "__main__":  # not in the processes that `rainproof paper` starts
    raise SystemExit(main())
