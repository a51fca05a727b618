"""``python -m paper``, in the root of the repository."""

from paper.run import main

if __name__ == "__main__":  # not in the processes that it starts
    raise SystemExit(main())
