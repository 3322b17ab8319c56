"""Defaults of pods and of everything inside them: containers, probes, volumes."""

from __future__ import annotations

from typing import Any

from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from kubesim.plane.kinds.defaults.fill import Fill, absent, both, zero

_FILE_MODE = 0o644
_VOLUME_META = {"name"}


def pull_policy(image: Any) -> str:
    """An image without a fixed tag or digest may change, so it is pulled each time."""
    return "Always" if isinstance(image, str) and image_tag(image) == "latest" else "IfNotPresent"


def image_tag(image: str) -> str:
    """Return the tag of an image reference: `latest` where neither tag nor digest is given, else maybe nothing."""
    reference, _, digest = image.partition("@")
    _, _, tag = reference.rpartition("/")[2].partition(":")
    return tag or ("latest" if image and not digest else "")


def _container_pull_policy(container: JsonObject) -> None:
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image"))


def _volume(volume: JsonObject) -> None:
    if not volume.keys() - _VOLUME_META:
        volume["emptyDir"] = {}


def _image_volume(source: JsonObject) -> None:
    if not source.get("pullPolicy"):
        source["pullPolicy"] = pull_policy(source.get("reference"))


def _pod(pod: JsonObject) -> None:
    """Rules for real pods, not for the templates of workloads."""
    spec = dig_object(pod, "spec")
    spec.setdefault("enableServiceLinks", True)
    containers = [*dig_list(spec, "containers"), *dig_list(spec, "initContainers")]
    for container in containers:
        _request_limits(container)
        if spec.get("hostNetwork"):
            _expose_ports(container)


def _service_account(spec: JsonObject) -> None:
    """The field has an old name too; both are shown."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _request_limits(container: Any) -> None:
    """Who limits a resource without requesting it requests what the limit is."""
    limits = dig(container, "resources", "limits")
    if isinstance(limits, dict) and limits:
        container["resources"]["requests"] = {**limits, **dig_object(container, "resources", "requests")}


def _expose_ports(container: Any) -> None:
    """On the host's network every port of a container is a port of the host."""
    for port in dig_list(container, "ports"):
        if isinstance(port, dict) and not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort", 0)


_container = both(
    _container_pull_policy,
    absent(terminationMessagePath="/dev/termination-log", terminationMessagePolicy="File"),
)

DEFAULTS: dict[str, Fill] = {
    "api.core.v1.Pod": _pod,
    "api.core.v1.PodSpec": both(
        _service_account,
        absent(
            dnsPolicy="ClusterFirst",
            restartPolicy="Always",
            securityContext={},
            terminationGracePeriodSeconds=30,
            schedulerName="default-scheduler",
        ),
    ),
    "api.core.v1.Container": _container,
    "api.core.v1.EphemeralContainer": _container,
    "api.core.v1.Probe": zero(timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3),
    "api.core.v1.HTTPGetAction": zero(path="/", scheme="HTTP"),
    "api.core.v1.GRPCAction": absent(service=""),
    "api.core.v1.ObjectFieldSelector": zero(apiVersion="v1"),
    "api.core.v1.ResourceFieldSelector": absent(divisor="0"),
    "api.core.v1.Volume": _volume,
    "api.core.v1.ImageVolumeSource": _image_volume,
    "api.core.v1.HostPathVolumeSource": absent(type=""),
    "api.core.v1.SecretVolumeSource": absent(defaultMode=_FILE_MODE),
    "api.core.v1.ConfigMapVolumeSource": absent(defaultMode=_FILE_MODE),
    "api.core.v1.DownwardAPIVolumeSource": absent(defaultMode=_FILE_MODE),
    "api.core.v1.ProjectedVolumeSource": absent(defaultMode=_FILE_MODE),
    "api.core.v1.ServiceAccountTokenProjection": absent(expirationSeconds=3600),
}
