"""The two servers under test, behind one description: where they listen and who may log in.

Both start once per test session, on free loopback ports, with the same users: an administrator, two people
without any rights (`alice`, `bob`) who log in by token, and `carol`, who has a client certificate. State lives in
a temporary directory and dies with the session.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import pytest

from tests.conformance.pki import Authority, KeyPair

ADMIN = "admin"
TOKENS: Mapping[str, str] = {ADMIN: "admin-token", "alice": "alice-token", "bob": "bob-token"}
GROUPS: Mapping[str, str] = {ADMIN: "system:masters", "alice": "readers", "bob": "writers"}
_SERVERS = ("embedded", "real")
CERTIFICATE_USER, CERTIFICATE_GROUP = "carol", "auditors"


@dataclass(frozen=True)
class Server:
    """A running API server, as tests see it."""

    name: str
    url: str
    authority: Authority
    certificate: KeyPair
    """The client certificate of `carol`."""
    compact: Callable[[], None]
    """Forget all history, as the server would do by itself after some minutes."""
    kubectl: Path | None = field(default=None)


class UnavailableError(Exception):
    """The server asked for cannot be started on this machine."""


def chosen_servers(config: pytest.Config) -> list[str]:
    """Return the servers that this run is about."""
    chosen = str(config.getoption("--servers")).split(",")
    unknown = set(chosen) - set(_SERVERS)
    if unknown:
        raise pytest.UsageError(f"--servers knows {', '.join(_SERVERS)}, not {', '.join(unknown)}")
    return chosen


def give_up(why: str) -> NoReturn:
    """Skip what cannot run here, unless this machine promised that it can."""
    if os.environ.get("EDGEKEEPER_STRICT") == "1":
        pytest.fail(why)
    pytest.skip(why)
