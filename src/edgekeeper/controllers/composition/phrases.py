"""Words of messages about instances by which other code recognises them. Loads nothing else."""

from __future__ import annotations

from typing import Final

SAYS: Final = "it says:"
"""Followed by what an object that is not ready says about itself: reason and message."""
UNSET: Final = "which is not set"
"""After the names of fields that an instance leaves out and an expression needs."""
