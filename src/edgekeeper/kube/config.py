"""Finds the configuration of the cluster. The first of these that is present is used:

1. the kubeconfig of the option
2. the files in $KUBECONFIG, merged
3. the service account of the pod, unless a context is given
4. ~/.kube/config
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from edgekeeper.core.clock import Clock, SystemClock
from edgekeeper.kube.cluster import ClusterConfig, ConfigError
from edgekeeper.kube.incluster import SERVICE_ACCOUNT, in_cluster_config, is_in_cluster
from edgekeeper.kube.kubeconfig import cluster_config
from edgekeeper.kube.kubeconfig_file import read_kubeconfig

__all__ = ["ClusterConfig", "ConfigError", "Surroundings", "load_config"]


def _home() -> Path:
    """The home directory; the root for a user that has none, such as one of a container that only has a number."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


@dataclass(frozen=True)
class Surroundings:
    """The environment of the process, as far as the configuration depends on it."""

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    home: Path = field(default_factory=_home)
    service_account: Path = SERVICE_ACCOUNT
    clock: Clock = field(default_factory=SystemClock)


def load_config(
    kubeconfig: Path | None = None, context: str | None = None, around: Surroundings | None = None
) -> ClusterConfig:
    """Load the configuration of the cluster. Raise ConfigError, with a remedy, if there is none."""
    around = around or Surroundings()
    if kubeconfig is not None:
        return cluster_config(read_kubeconfig([kubeconfig]), context, around.clock)
    named = [Path(part) for part in around.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if named:
        return cluster_config(read_kubeconfig(named), context, around.clock)
    if not context and is_in_cluster(around.environ, around.service_account):
        return in_cluster_config(around.environ, around.clock, around.service_account)
    return cluster_config(read_kubeconfig([around.home / ".kube" / "config"]), context, around.clock)
