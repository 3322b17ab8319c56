"""The configuration of a cluster that a transport needs, built from a kubeconfig or a service account."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from edgekeeper.kube.credentials import Credentials, StoredCredentials

Pem: TypeAlias = bytes | Path
"""Certificates or a key: the PEM itself, or a file, which may be replaced."""


class ConfigError(Exception):
    """The configuration of the cluster is missing or wrong. The message contains its location and the remedy."""


@dataclass(frozen=True, slots=True)
class Trust:
    """How the certificate of the server is verified."""

    authorities: Pem | None = None
    """The trusted certificate authorities; None for those of the system."""
    server_name: str = ""
    """The name that its certificate must have; empty for the host of the address."""
    insecure: bool = False
    """Do not verify the certificate."""


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """The address of a cluster, and the credentials for it."""

    server: str
    """`https://host:port`, followed by a path if the API is not at the root."""
    trust: Trust = Trust()
    credentials: Credentials = field(default_factory=StoredCredentials)
    proxy: str = ""
    """The proxy; empty for that of the environment variables."""
    compression: bool = True
    namespace: str = "default"
    """The default namespace."""
    origin: str = ""
    """Where the configuration comes from, for messages."""
