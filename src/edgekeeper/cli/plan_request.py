"""What `edgekeeper plan` is asked to plan for."""

from __future__ import annotations

from dataclasses import dataclass

from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.manifest import Manifest
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.lifecycle.module import PlannableModule


@dataclass(frozen=True)
class PlanRequest:
    """The objects to plan for."""

    targets: tuple[tuple[PlannableModule, str], ...] = ()
    """Objects of the cluster, by kind and name; all objects, if neither targets nor instances nor manifests are given."""
    manifests: tuple[Manifest, ...] = ()
    namespace: str = ""
    """The namespace of targets, and of manifests that have none."""
    only_namespace: bool = False
    """Whether to plan only for objects of that namespace."""
    instances: tuple[tuple[str, str], ...] = ()
    """Instances of kinds that the cluster defines, by kind and name."""

    def manifests_of(self, kind: Kind) -> dict[Key, Manifest]:
        """The manifests of a kind. Raise CommandError if one is not in the only namespace."""
        found = {
            Key((manifest.namespace or self.namespace) if kind.namespaced else "", manifest.name): manifest
            for manifest in self.manifests
            if (manifest.api_version, manifest.kind) == (kind.api_version, kind.kind)
        }
        elsewhere = next(
            (key for key in found if self.only_namespace and key.namespace not in ("", self.namespace)), None
        )
        if elsewhere is not None:
            raise CommandError(f"{kind.kind} {elsewhere} is not in {self.namespace}", "leave -n out")
        return found
