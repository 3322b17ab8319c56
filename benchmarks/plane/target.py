"""A server to measure, as client processes see it."""

from __future__ import annotations

import msgspec


class Target(msgspec.Struct, frozen=True):
    """Where a server listens and how to get in; travels between processes as JSON."""

    url: str
    ca_file: str
    token: str = ""
