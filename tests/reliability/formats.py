"""What the operator writes and later versions must understand: names, marks, finalizers, annotations, inventories, status.

`portrait` shows all of it for a fleet with objects of all kinds. Ids that clouds choose are replaced by names, such as
`{id of tenant plain-0}`, and moments by `{time}`, so that it does not differ from run to run. The portraits of released
versions are kept in `golden_r28/`, one file for each. After a change that is meant to be seen there, write the file of the
present version anew and review the difference:

    python -m tests.reliability.formats
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from edgekeeper import __version__
from edgekeeper.core.json import JsonObject, dig, dig_list, dig_object
from edgekeeper.lifecycle.module import CommonOptions
from kubesim.virtual import virtual_time
from tests.recovery.world import Clouds, Cluster, cluster, fleet

FOLDER: Final = Path(__file__).with_name("golden_r28")
CLUSTER: Final = CommonOptions("golden-cluster")
TOKEN_SECRET: Final = "programs-0-cfzt-service-token"
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
_PRINTED: Final = ("edgekeeper.io/message", "lastReconcile")


@asynccontextmanager
async def settled_fleet(clouds: Clouds) -> AsyncIterator[Cluster]:
    """A cluster with a fleet that is ready. The operator has stopped."""
    async with cluster(clouds, 1, CLUSTER) as found:
        await found.start()
        for obj in fleet(clouds):
            # Marks contain uids, which must not depend on what else was created before.
            found.plane.cluster.random.seed(f"{obj['kind']}/{obj['metadata']['name']}")
            await found.apply(obj)
        await found.ready()
        await found.elapse(minutes=20)
        await found.stop()
        yield found


def golden_file(version: str = __version__) -> Path:
    return FOLDER / f"{version}.json"


# Portraits


def portrait(found: Cluster) -> JsonObject:
    """Everything that is written by the operator, in words that do not differ from run to run."""
    names = cloud_names(found)
    whole = {
        "objects": {f"{kind}/{obj['metadata']['name']}": _object(obj) for kind, obj in found.ours()},
        "states": {obj["metadata"]["name"]: _state(obj) for obj in states(found)},
        "secret": _secret(found),
        "clouds": _clouds(found),
    }
    named: JsonObject = _named(whole, names)
    return named


def states(found: Cluster) -> list[JsonObject]:
    """The state ConfigMaps of routes."""
    return [obj for obj in found.all("ConfigMap") if dig(obj, "data", "httproute_name")]


def _object(obj: JsonObject) -> JsonObject:
    metadata = dig_object(obj, "metadata")
    status = {**dig_object(obj, "status")}
    status["conditions"] = sorted(
        f"{one['type']}={one['status']} {one['reason']}" for one in dig_list(obj, "status", "conditions")
    )
    return {
        "finalizers": metadata.get("finalizers", []),
        "labels": metadata.get("labels", {}),
        "annotations": _annotations(metadata),
        "status": status,
    }


def _annotations(metadata: Mapping[str, Any]) -> JsonObject:
    found = metadata.get("annotations", {})
    return {name: value for name, value in found.items() if not name.endswith(_PRINTED)}


def _state(obj: JsonObject) -> JsonObject:
    metadata = dig_object(obj, "metadata")
    return {
        "labels": metadata.get("labels", {}),
        "annotations": _annotations(metadata),
        "data": dig_object(obj, "data"),
    }


def _secret(found: Cluster) -> JsonObject:
    secret = found.find("Secret", TOKEN_SECRET)
    metadata = dig_object(secret, "metadata")
    return {
        "labels": metadata.get("labels", {}),
        "annotations": _annotations(metadata),
        "keys": sorted(dig_object(secret, "data")),
    }


def _clouds(found: Cluster) -> JsonObject:
    """Names and marks in the clouds. The child of a composed object has a uid that is not known beforehand."""
    aws, cloudflare = found.clouds.aws, found.clouds.cloudflare
    return {
        "tenants": {one.name: dict(one.tags) for one in aws.cloud.cloudfront.tenants.values()},
        "domains": {one.name: dict(one.tags) for one in aws.gateway.domains.values()},
        "certificates": {one.names[0]: dict(one.tags) for one in aws.certificates.shelf.values()},
        "statements": sorted(aws.statements()),
        "applications": {
            one["domain"]: sorted(one["tags"]) for one in cloudflare.account.applications.values()
        },
        "policies": sorted(one["name"] for one in cloudflare.account.policies.values()),
        "tokens": sorted(one["name"] for one in cloudflare.account.service_tokens.values()),
        "comments": {one["name"]: one["comment"] for one in cloudflare.zone.records.values()},
    }


# Names for what clouds have chosen


def cloud_names(found: Cluster) -> dict[str, str]:
    """Values that clouds and clusters have chosen, with names for them."""
    return {value: f"{{{name}}}" for value, name in _chosen(found) if value}


def _chosen(found: Cluster) -> Iterator[tuple[str, str]]:
    aws, cloudflare = found.clouds.aws, found.clouds.cloudflare
    for one in aws.cloud.cloudfront.tenants.values():
        yield one.id, f"id of tenant {one.name}"
        yield one.etag, f"etag of tenant {one.name}"
    for group in aws.cloud.cloudfront.groups.values():
        yield group.endpoint, "endpoint of the connection group"
    for domain in aws.gateway.domains.values():
        yield domain.target, f"endpoint of {domain.name}"
        for mapping in domain.mappings:
            yield mapping.id, f"id of the mapping of {domain.name}"
    for store in (aws.certificates, aws.cloud.account().certificates()):
        for certificate in store.shelf.values():
            yield certificate.arn, f"certificate of {certificate.names[0]}"
    for record in aws.zone.records.values():
        if record.name.startswith("_"):
            owner = record.name.partition(".")[2].rstrip(".")
            yield record.name.rstrip("."), f"validation name of {owner}"
            yield record.values[0].rstrip("."), f"validation value of {owner}"
    yield aws.zone.id, "hosted zone"
    account = cloudflare.account
    yield account.id, "account"
    yield cloudflare.tunnel, "tunnel"
    yield cloudflare.zone.id, "zone"
    for application in account.applications.values():
        yield application["id"], f"id of application {application['domain']}"
        yield application["aud"], f"audience of {application['domain']}"
    for policy in account.policies.values():
        yield policy["id"], f"id of policy {policy['name']}"
    for token in account.service_tokens.values():
        yield token["id"], f"id of token {token['name']}"
        yield token["client_id"], f"client id of token {token['name']}"
    for entry in cloudflare.zone.records.values():
        yield entry["id"], f"id of record {entry['name']}"
    yield from _of_cluster(found)


def _of_cluster(found: Cluster) -> Iterator[tuple[str, str]]:
    child = found.find("DistributionTenant", "shop-0")
    yield child["metadata"]["uid"], "uid of the child shop-0"
    yield child["status"]["tagsFingerprint"], "fingerprint of the tags of the child shop-0"
    for kind in ("ResourceGraphDefinition", "ResourceGraphDefinitionRevision", "Shop"):
        for obj in found.all(kind):
            yield obj["metadata"]["uid"], f"uid of {kind} {obj['metadata']['name']}"
    for obj in states(found):
        yield obj["data"]["task"], f"task of {obj['data']['httproute_name']}"


def _named(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {_named(key, names): _named(item, names) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return [_named(item, names) for item in value]
    if not isinstance(value, str):
        return value
    for actual in sorted(names, key=len, reverse=True):
        value = value.replace(actual, names[actual])
    return _TIME.sub("{time}", value)


def filled(value: Any, names: Mapping[str, str], present: Any = None) -> Any:
    """A part of a portrait with the values of a present world in place of names, and the moments of `present`."""
    if isinstance(value, dict):
        known = present if isinstance(present, dict) else {}
        return {filled(key, names): filled(item, names, known.get(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, names) for item in value]
    if not isinstance(value, str):
        return value
    if value == "{time}":
        return present
    for actual, name in names.items():
        value = value.replace(name, actual)
    return value


@virtual_time
async def _write() -> None:
    async with settled_fleet(Clouds()) as found:
        text = json.dumps(portrait(found), indent=2, sort_keys=True, ensure_ascii=False)
    await asyncio.to_thread(golden_file().write_text, f"{text}\n")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    _write()
