"""``python -m rainproof``."""

from rainproof.cli import main

if __name__ == "__main__":  # not in processes that others start
    raise SystemExit(main())
