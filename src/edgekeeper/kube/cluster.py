"""A cluster and how to reach it: what a kubeconfig or a service account comes to, and all that a transport needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from edgekeeper.kube.credentials import Credentials, StoredCredentials

Pem: TypeAlias = bytes | Path
"""Certificates or a key: the text itself, or a file that has it and may get another one."""


class ConfigError(Exception):
    """We cannot tell which cluster to talk to, or how. The message says where that is written and what to do."""


@dataclass(frozen=True, slots=True)
class Trust:
    """How the server proves that it is the right one."""

    authorities: Pem | None = None
    """Who may sign its certificate; without them those that the machine trusts."""
    server_name: str = ""
    """The name that its certificate must have, where that is not the host of the address."""
    insecure: bool = False
    """Believe whoever answers."""


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """One cluster, and who we are there."""

    server: str
    """`https://host:port`, followed by a path where the API is not at the root."""
    trust: Trust = Trust()
    credentials: Credentials = field(default_factory=StoredCredentials)
    proxy: str = ""
    """The proxy to use, whatever the environment says; empty leaves it to the environment."""
    compression: bool = True
    namespace: str = "default"
    """Where to look for what names no namespace."""
    origin: str = ""
    """Where all this is written, for messages."""
