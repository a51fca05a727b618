"""``python -m brolly``."""

from brolly.cli import main

raise SystemExit(main())
