"""What users do with DistributionTenants, and what others do to the account behind the operator's back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

from edgekeeper.controllers.cloudfront.wiring import KIND
from edgekeeper.core.json import JsonObject, dig_list
from edgekeeper.core.ownership import TAG_PREFIX
from edgekeeper.kube.errors import ApiError, StaleError
from kubesim.aws.cloudfront.resources import Tenant
from kubesim.aws.errors import AwsError
from kubesim.aws.faults import KINDS
from kubesim.aws.route53.names import normal
from kubesim.aws.route53.records import CLOUDFRONT_ZONE, Alias, Record
from tests.chaos.kind import Player
from tests.chaos.operation import Operation, op
from tests.chaos.tenant_estate import STRANGER, ChaosEstate
from tests.chaos.tenant_spec import DOMAINS, draw_domains, draw_field, draw_spec, named, patch_of
from tests.chaos.world import World, parse_key
from tests.tenants.system import CLUSTER

TenantWorld = World[ChaosEstate]
KEYS = ("alpha", "beta", "gamma", "other/alpha")


# Users


async def create(
    world: TenantWorld, key: str, spec: JsonObject, annotations: Mapping[str, str] | None = None
) -> None:
    name = parse_key(key)
    metadata: JsonObject = {
        "name": name.name,
        "namespace": name.namespace,
        "annotations": dict(annotations or {}),
    }
    obj = {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": metadata,
        "spec": _resolved(world, spec, spec),
    }
    with suppress(ApiError):
        await world.stage.create(obj)


async def edit(world: TenantWorld, key: str, spec: JsonObject) -> None:
    """A merge patch: what is None is unset."""
    present = world.find(parse_key(key))
    if present is not None:
        with suppress(ApiError):
            patch = _resolved(world, spec, {**present["spec"], **spec})
            await world.stage.patch(KIND, parse_key(key), {"spec": patch})


async def restore(world: TenantWorld, key: str, spec: JsonObject) -> None:
    """A whole spec, as `kubectl replace` writes it."""
    for _ in range(3):
        present = world.find(parse_key(key))
        if present is None:
            return
        with suppress(StaleError):
            try:
                await world.stage.user.replace(
                    KIND, parse_key(key), {**present, "spec": _resolved(world, spec, spec)}
                )
            except StaleError:
                raise
            except ApiError:
                return
            return


async def move(world: TenantWorld, domain: str, source: str, target: str) -> None:
    """A domain goes from one object to another, in two edits."""
    await _change_domains(world, source, lambda domains: [one for one in domains if one != domain])
    await _change_domains(
        world, target, lambda domains: [*domains, domain] if domain not in domains else domains
    )


async def swap(world: TenantWorld, first: str, second: str) -> None:
    """Two objects exchange their domains."""
    one, other = world.find(parse_key(first)), world.find(parse_key(second))
    if one is None or other is None:
        return
    await edit(world, first, {"domains": other["spec"]["domains"]})
    await edit(world, second, {"domains": one["spec"]["domains"]})


async def _change_domains(world: TenantWorld, key: str, change: Callable[[list[str]], list[str]]) -> None:
    found = world.find(parse_key(key))
    if found is not None:
        domains = change([one["domain"] for one in dig_list(found, "spec", "domains")])
        if domains:
            await edit(world, key, {"domains": named(domains)})


def _resolved(world: TenantWorld, tree: JsonObject, spec: JsonObject) -> JsonObject:
    """Words become ids, and `$primary` the first domain of the spec."""
    primary = next((one["domain"] for one in spec.get("domains") or ()), "shop.example.com")
    resolved: JsonObject = world.outside.resolved(tree)
    request = resolved.get("managedCertificateRequest")
    if request and request.get("primaryDomainName") == "$primary":
        resolved["managedCertificateRequest"] = {**request, "primaryDomainName": primary}
    return resolved


# Others


def by_hand(act: Callable[..., None]) -> Player:
    """An act of somebody else, who gets an error where it is impossible; the oracles know that it was not the operator's."""

    async def player(world: TenantWorld, **arguments: Any) -> None:
        with suppress(AwsError, KeyError):
            act(world.outside, **arguments)
        world.outside.acted_by_hand()

    return player


def make_tenant(estate: ChaosEstate, name: str, domains: list[str], tags: Mapping[str, str]) -> None:
    if any(one.name == name for one in estate.cloud.cloudfront.tenants.values()):
        return
    estate.make_tenant(name, *domains, tags=tags)


def change_tenant(estate: ChaosEstate, name: str, change: str) -> None:
    tenant = estate.cloud.cloudfront.tenant(name)
    estate.cloud.cloudfront.change_tenant(name, **_CHANGES[change](estate, tenant))


_CHANGES: Mapping[str, Callable[[ChaosEstate, Tenant], dict[str, Any]]] = {
    "toggle": lambda _, tenant: {"enabled": not tenant.enabled},
    "parameters": lambda _, tenant: {"parameters": (("colour", "pink"),)},
    "group": lambda estate, tenant: {"group": estate.words["$group:fast"]},
    "customizations": lambda _, tenant: {"customizations": {"WebAcl": {"Action": "disable"}}},
    "add domain": lambda _, tenant: {"domains": (*tenant.domains, "hand.example.com")},
    "lose domain": lambda _, tenant: {"domains": tenant.domains[1:] or ("hand.example.com",)},
}


def delete_tenant(estate: ChaosEstate, name: str) -> None:
    estate.cloud.cloudfront.remove_tenant(name)


def tag_tenant(estate: ChaosEstate, name: str, tags: Mapping[str, str | None]) -> None:
    """Tags are set, or with None removed. `uid` stands for all tags of ours."""
    tenant = estate.cloud.cloudfront.tenant(name)
    kept = {key: value for key, value in tenant.tags.items() if not _is_ours(key, tags)}
    given = {key: value for key, value in tags.items() if value is not None}
    estate.cloud.cloudfront.tenants.put(tenant.id, replace(tenant, tags={**kept, **given}))
    estate.tagged_by_hand.add(tenant.id)


def _is_ours(key: str, tags: Mapping[str, str | None]) -> bool:
    return key in tags or ("uid" in tags and key.startswith(TAG_PREFIX))


def write_record(
    estate: ChaosEstate,
    zone: str,
    domain: str,
    target: str,
    ttl: int = 300,
    type: str = "CNAME",  # noqa: A002 - the word of DNS
) -> None:
    """Somebody writes a record, whatever was there; one beside a CNAME takes its place."""
    found = estate.zone_of(estate.words[zone])
    name, where = normal(domain), estate.words.get(target, target)
    if type == "CNAME" and name == found.name:
        return  # there is none at the apex
    for other in list(found.at(name)):
        if other.type in ("CNAME", "A", "AAAA") and (type == "CNAME" or other.type in ("CNAME", type)):
            found.remove(other.key)
    if type == "CNAME":
        record = Record(name, "CNAME", ttl, (where,))
    elif target == "$endpoint":
        record = Record(name, type, alias=Alias(CLOUDFRONT_ZONE, f"{where}."))
    else:
        record = Record(name, type, ttl, ("192.0.2.1" if type == "A" else "2001:db8::1",))
    estate.cloud.route53.put_record(found, record)


def delete_record(estate: ChaosEstate, zone: str, domain: str) -> None:
    found = estate.zone_of(estate.words[zone])
    for record in list(found.at(normal(domain))):
        if record.type in ("CNAME", "A", "AAAA"):
            estate.cloud.route53.remove_record(found, domain, record.type)


def squat(estate: ChaosEstate, domain: str) -> None:
    """Somebody with another account takes a domain, if it is free."""
    estate.cloud.account(STRANGER).cloudfront.claim((domain,), "distribution-tenant", "dt_stranger")


def leave(estate: ChaosEstate, domain: str) -> None:
    """They give it up again."""
    holder = estate.cloud.world.edge_domains.get(domain)
    if holder is not None and holder.account == STRANGER:
        estate.cloud.account(STRANGER).cloudfront.release((domain,))


def serve_token(estate: ChaosEstate, domain: str) -> None:
    """The domain's own web server proves to CloudFront whose it is."""
    estate.cloud.serve_token(domain)


# The cloud


async def fail(
    world: TenantWorld, fault: str, seconds: float, times: int | None = None, skip: int = 0, **which: Any
) -> None:
    """AWS fails in a way of the simulator's: `fault` is its kind, or an error code."""
    if fault in KINDS:
        made = KINDS[fault](**({"interval": timedelta(seconds=20)} if fault == "delay" else {}))
    else:
        made = KINDS["error"](fault, status=ERRORS[fault])
    until = timedelta(seconds=seconds)
    world.outside.cloud.faults.add(made, until=until, times=times, skip=skip, **which)


async def deny(world: TenantWorld, action: str) -> None:
    """The operator may not do something any more, until it heals or is allowed again."""
    world.outside.cloud.guard.denied.add(action)


async def allow(world: TenantWorld, action: str) -> None:
    world.outside.cloud.guard.denied.discard(action)


async def lag(world: TenantWorld, seconds: float) -> None:
    """Reads show how things were so long ago."""
    world.outside.cloud.world.behaviour.read_lag = timedelta(seconds=seconds)


ERRORS = {
    "Throttling": 400,
    "ServiceUnavailable": 503,
    "InternalError": 500,
    "AccessDenied": 403,
    "ExpiredToken": 403,
}
FAULTS = (*ERRORS, "lost-request", "lost-response", "truncated", "cut", "refused", "html", "delay")
OPERATIONS = (
    *(
        "CreateDistributionTenant",
        "UpdateDistributionTenant",
        "DeleteDistributionTenant",
        "GetDistributionTenant",
    ),
    *("ListDistributionTenants", "TagResource", "UntagResource", "GetDistribution", "ListConnectionGroups"),
    *("ChangeResourceRecordSets", "ListResourceRecordSets", "GetChange", "GetManagedCertificateDetails"),
    *("ListCertificates", "DescribeCertificate", "AssumeRole"),
)
DENIALS = (
    *("cloudfront:TagResource", "cloudfront:UntagResource", "cloudfront:UpdateDistributionTenant"),
    *(
        "cloudfront:DeleteDistributionTenant",
        "cloudfront:ListDistributionTenants",
        "cloudfront:GetDistribution",
    ),
    *("route53:ChangeResourceRecordSets", "route53:ListResourceRecordSets", "route53:*", "cloudfront:*"),
)

ACTIONS: Mapping[str, Player] = {
    "create": create,
    "edit": edit,
    "restore": restore,
    "move": move,
    "swap": swap,
    "make_tenant": by_hand(make_tenant),
    "change_tenant": by_hand(change_tenant),
    "delete_tenant": by_hand(delete_tenant),
    "tag_tenant": by_hand(tag_tenant),
    "write_record": by_hand(write_record),
    "delete_record": by_hand(delete_record),
    "squat": by_hand(squat),
    "leave": by_hand(leave),
    "serve_token": by_hand(serve_token),
    "fail": fail,
    "deny": deny,
    "allow": allow,
    "lag": lag,
}


# Chance


class Users:
    """Draws the operations of one sequence. It knows roughly what there is, so that most operations mean something."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._specs: dict[str, list[JsonObject]] = {}
        """What was declared, by object, oldest first."""

    def __iter__(self) -> Iterator[Operation]:
        yield self._create("alpha")
        while True:
            draw = self._random.choices(list(_DRAWN), list(_DRAWN.values()))[0]
            yield draw(self)

    def _key(self) -> str:
        return self._random.choice(list(self._specs))

    def _create(self, key: str = "") -> Operation:
        key = key or self._random.choices(KEYS, [4, 4, 2, 2])[0]
        spec = draw_spec(self._random)
        self._specs.setdefault(key, []).append(spec)
        if self._random.random() < 0.15:
            return op("create", key=key, spec=spec, annotations={"edgekeeper.io/adopt": "true"})
        return op("create", key=key, spec=spec)

    def _create_or_edit(self) -> Operation:
        missing = [key for key in KEYS if key not in self._specs]
        return self._create(self._random.choice(missing)) if missing else self._edit()

    def _edit(self) -> Operation:
        return op("edit", key=self._key(), spec=patch_of(*draw_field(self._random)))

    def _rename(self) -> Operation:
        return op("edit", key=self._key(), spec={"domains": named(draw_domains(self._random))})

    def _restore(self) -> Operation:
        key = self._key()
        return op("restore", key=key, spec=self._random.choice(self._specs[key]))

    def _move(self) -> Operation:
        source, target = self._random.sample(KEYS, 2)
        return op("move", domain=self._domain(), source=source, target=target)

    def _swap(self) -> Operation:
        first, second = self._random.sample(KEYS, 2)
        return op("swap", first=first, second=second)

    def _domain(self) -> str:
        return self._random.choice(DOMAINS)

    def _name(self) -> str:
        return parse_key(self._random.choice(KEYS)).name

    def _make_tenant(self) -> Operation:
        tags = self._random.choice([{}, {"made": "by hand"}, self._mark()])
        return op("make_tenant", name=self._name(), domains=draw_domains(self._random, 2), tags=tags)

    def _mark(self) -> dict[str, str]:
        """Of an object that may have been, long ago or elsewhere."""
        parts = {
            "cluster": self._random.choice([CLUSTER, "another"]),
            "namespace": "default",
            "name": self._name(),
        }
        return {f"{TAG_PREFIX}{part}": value for part, value in parts.items()} | {
            f"{TAG_PREFIX}uid": "00000000-0000-4000-8000-000000000000"
        }

    def _change_tenant(self) -> Operation:
        return op("change_tenant", name=self._name(), change=self._random.choice(list(_CHANGES)))

    def _delete_tenant(self) -> Operation:
        return op("delete_tenant", name=self._name())

    def _tag_tenant(self) -> Operation:
        tags = self._random.choice([{"uid": None}, {"uid": None}, {"team": "hand"}, {"team": None}])
        return op("tag_tenant", name=self._name(), tags=tags)

    def _write_record(self) -> Operation:
        target = self._random.choice(["$endpoint", "$endpoint", "elsewhere.example.net"])
        kind = self._random.choice(["CNAME", "CNAME", "CNAME", "A"])
        return op(
            "write_record",
            zone=self._zone(),
            domain=self._domain(),
            target=target,
            ttl=self._random.choice([300, 300, 17]),
            type=kind,
        )

    def _delete_record(self) -> Operation:
        return op("delete_record", zone=self._zone(), domain=self._domain())

    def _zone(self) -> str:
        return self._random.choice(["$zone:main", "$zone:main", "$zone:main", "$zone:second"])

    def _squat(self) -> Operation:
        return op(self._random.choice(["squat", "leave"]), domain=self._domain())

    def _serve_token(self) -> Operation:
        return op("serve_token", domain=self._domain())

    def _fail(self) -> Operation:
        seconds = self._random.choice([20, 120, 120, 600])
        return op("fail", fault=self._random.choice(FAULTS), seconds=seconds, **self._which())

    def _which(self) -> dict[str, Any]:
        chosen: dict[str, Any] = {"times": self._random.choice([1, 1, 2, 5, None])}
        if self._random.random() < 0.8:
            return {
                **chosen,
                "operation": self._random.choice(OPERATIONS),
                "skip": self._random.choice([0, 0, 0, 1, 2]),
            }
        return {**chosen, "service": self._random.choice(["cloudfront", "route53", "acm"])}

    def _deny(self) -> Operation:
        return op(self._random.choice(["deny", "deny", "allow"]), action=self._random.choice(DENIALS))

    def _lag(self) -> Operation:
        return op("lag", seconds=self._random.choice([0, 5, 30, 90]))


_DRAWN: Mapping[Callable[[Users], Operation], int] = {
    Users._create: 8,
    Users._create_or_edit: 8,
    Users._edit: 16,
    Users._rename: 7,
    Users._restore: 4,
    Users._move: 5,
    Users._swap: 2,
    Users._make_tenant: 5,
    Users._change_tenant: 4,
    Users._delete_tenant: 4,
    Users._tag_tenant: 4,
    Users._write_record: 6,
    Users._delete_record: 4,
    Users._squat: 3,
    Users._serve_token: 1,
    Users._fail: 10,
    Users._deny: 4,
    Users._lag: 2,
}
