"""The operator's own Deployment: found through the owners of this process' pod, else by the name that the options give.

pod (POD_NAME) ── ReplicaSet ── Deployment
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig, dig_list
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import ForbiddenError, NotFoundError
from edgekeeper.kube.kinds import DEPLOYMENT, POD, REPLICA_SET, Key, Kind
from edgekeeper.lifecycle.module import CommonOptions

NOT_FOUND: Final = "DeploymentNotFound"
REMEDY: Final = (
    "set POD_NAME by the downward API and allow get of pods and replicasets, or use --operator-deployment"
)


@dataclass(frozen=True)
class OwnDeployment:
    """The Deployment that this process belongs to."""

    key: Key
    images: Mapping[str, str] = field(default_factory=dict)
    """By container of this process' pod, the digest of the image that it runs; empty where it is unknown."""


class DeploymentFinder:
    """Finds the Deployment once, and remembers it: a pod never changes its owners."""

    def __init__(self, client: KubeClient, namespace: str, pod_name: str, deployment: str) -> None:
        self._client = client
        self._namespace = namespace
        self._pod_name = pod_name
        self._deployment = deployment
        self._found: OwnDeployment | None = None

    async def find(self) -> OwnDeployment:
        """The Deployment. Raise Stall where there is no way to find it."""
        if self._found is None:
            self._found = await self._by_pod() or self._by_name()
        return self._found

    async def _by_pod(self) -> OwnDeployment | None:
        pod = await self._get(POD, self._pod_name) if self._pod_name else None
        replica_set = await self._owner(pod, REPLICA_SET)
        name = _owner_name(replica_set, DEPLOYMENT)
        if not name or pod is None:
            return None
        return OwnDeployment(Key(self._namespace, name), _images(pod))

    def _by_name(self) -> OwnDeployment:
        if not self._deployment:
            where = f"pod {self._pod_name}" if self._pod_name else "this process"
            raise Stall(
                NOT_FOUND, f"the Deployment of {where} in namespace {self._namespace} is unknown: {REMEDY}"
            )
        return OwnDeployment(Key(self._namespace, self._deployment))

    async def _owner(self, obj: JsonObject | None, kind: Kind) -> JsonObject | None:
        name = _owner_name(obj, kind)
        return await self._get(kind, name) if name else None

    async def _get(self, kind: Kind, name: str) -> JsonObject | None:
        try:
            return await self._client.get(kind, Key(self._namespace, name))
        except (NotFoundError, ForbiddenError):
            return None


def _owner_name(obj: JsonObject | None, kind: Kind) -> str:
    for owner in dig_list(obj, "metadata", "ownerReferences"):
        if dig(owner, "kind") == kind.kind and dig(owner, "controller"):
            return str(dig(owner, "name") or "")
    return ""


def _images(pod: JsonObject) -> dict[str, str]:
    return {
        str(dig(container, "name")): str(dig(container, "imageID") or "")
        for container in dig_list(pod, "status", "containerStatuses")
    }


def deployment_finder(client: KubeClient, common: CommonOptions) -> DeploymentFinder:
    """A finder for the process that these options are of."""
    return DeploymentFinder(client, common.namespace, common.pod_name, common.operator_deployment)
