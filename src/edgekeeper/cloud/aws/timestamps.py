"""Moments in AWS's answers, read quickly.

botocore reads each of them with a parser that understands any date that people write. A listing of ten thousand tenants
has twenty thousand of them, every few minutes. Nearly all are ISO 8601, which Python reads two orders of magnitude
faster. What is not is left to botocore.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from botocore.utils import parse_timestamp


def read_moment(value: Any) -> datetime:
    """The moment that a service means, with its time zone where it names one. Raise ValueError where it is none."""
    if isinstance(value, str) and "T" in value:
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            pass  # such as an HTTP date: "Thu, 01 Jan 2026 00:00:00 GMT"
    return parse_timestamp(value)


def read_moments_quickly(session: Any) -> None:
    """Let the clients that a botocore session makes from now on do so."""
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=read_moment)
