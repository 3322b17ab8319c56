"""How fast this machine is at the moment, for tests whose promise is a time.

A limit such as 50 ms is stated for the machine on which `SECONDS` was measured. The same work takes longer on a slower or
shared machine, and so does a fixed piece of work of the interpreter, which is measured in the same run. Limits grow with it; on a
faster machine they stay as they are.
"""

from __future__ import annotations

import re
import time
from typing import Final

import click

SECONDS: Final = 0.005
"""What the piece of work takes on a quiet machine of the kind that limits are stated for (`python -m tests.yardstick`)."""
_TEXT: Final = "name.of.a.step[item]:" * 1000
_STEP: Final = re.compile(r"[a-z]+|[^a-z]")


def slowness() -> float:
    """How many times as long as there work takes here now: at least 1."""
    return max(1.0, min(_seconds() for _ in range(3)) / SECONDS)


def _seconds() -> float:
    """The processor time of work that is like parsing: a regular expression step by step, with a dictionary and a list."""
    began = time.process_time()
    position, kept, seen = 0, [], dict[str, int]()
    while match := _STEP.match(_TEXT, position):
        kept.append(match[0])
        seen[match[0]] = seen.get(match[0], 0) + 1
        position = match.end()
    assert sum(seen.values()) == len(kept)
    return time.process_time() - began


if __name__ == "__main__":
    click.echo(f"{min(_seconds() for _ in range(200)) * 1000:.2f} ms")
