"""The grades of a verdict.

Nothing heavy is imported here: options of the command name the grades before anything is computed.
"""

from __future__ import annotations

from typing import Literal, get_args

Grade = Literal["use", "recalibrate", "avoid", "unknown"]

GRADES: tuple[Grade, ...] = get_args(Grade)
