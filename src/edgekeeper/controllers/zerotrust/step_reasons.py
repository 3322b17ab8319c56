"""Why steps are needed, in words that several kinds of steps share."""

from __future__ import annotations

from typing import Final

WANTED: Final = "the route asks for it"
CHANGED: Final = "it is not as the route asks for"
SURPLUS: Final = "the route does not ask for it any more"
