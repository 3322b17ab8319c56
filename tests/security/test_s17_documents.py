"""S-17: an answer of a cloud that is valid but for one place ends in a result or in an error, never in a crash.

Every read of the adapters is answered by the simulation, with one element or field of the document removed, doubled or
replaced by something of another type or size.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final
from xml.etree import ElementTree

import msgspec
import pytest

from edgekeeper.cloud.aws.apigateway import DomainSettings
from edgekeeper.cloud.aws.dns.changes import Action, Change
from edgekeeper.cloud.aws.dns.records import Record
from edgekeeper.cloud.aws.lambda_policy import Statement
from edgekeeper.cloud.aws.tenants import ManagedCertificateRequest, TenantSettings
from edgekeeper.cloud.cloudflare.access import Access
from edgekeeper.cloud.cloudflare.client import CloudflareClient
from edgekeeper.cloud.cloudflare.records import Records
from edgekeeper.cloud.cloudflare.service_tokens import ServiceTokens
from edgekeeper.cloud.cloudflare.tokens import verify
from edgekeeper.cloud.cloudflare.tunnels import Tunnels
from edgekeeper.cloud.cloudflare.zones import Zones
from edgekeeper.core.errors import PassError
from kubesim.aws.faults import Fault
from kubesim.aws.request import Answer
from kubesim.virtual import run_virtual
from tests.results import Figures
from tests.unit.cloud.aws.world import DISTRIBUTION, REGION, World, in_process
from tests.unit.cloud.cloudflare.world import World as CloudflareWorld
from tests.unit.cloud.cloudflare.world import alive

RECOVERED: Final = timedelta(hours=1)
"""After which circuits are closed and refusals forgotten."""
DEEP: Final = 2_000
NUMBER: Final = 10**400

Read = Callable[[], Awaitable[object]]


# Documents


def mutations(body: bytes) -> Iterator[bytes]:
    """Documents that differ from this one in one place."""
    if body.lstrip().startswith(b"<"):
        yield from _xml_mutations(body)
    else:
        yield from _json_mutations(msgspec.json.decode(body))


def _xml_mutations(body: bytes) -> Iterator[bytes]:
    for path in _places(_parsed(body)):
        for change in (_removed, _emptied, _worded, _nested, _doubled, _numbered):
            root = _parsed(body)
            change(*_find(root, path))
            yield ElementTree.tostring(root)


def _parsed(body: bytes) -> ElementTree.Element:
    return ElementTree.fromstring(body)  # noqa: S314 - of the simulation


def _places(element: ElementTree.Element, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    for index, child in enumerate(element):
        yield (*path, index)
        yield from _places(child, (*path, index))


def _find(
    root: ElementTree.Element, path: tuple[int, ...]
) -> tuple[ElementTree.Element, ElementTree.Element]:
    parent = root
    for index in path[:-1]:
        parent = parent[index]
    return parent, parent[path[-1]]


def _removed(parent: ElementTree.Element, child: ElementTree.Element) -> None:
    parent.remove(child)


def _emptied(_: ElementTree.Element, child: ElementTree.Element) -> None:
    child[:], child.text = [], None


def _worded(_: ElementTree.Element, child: ElementTree.Element) -> None:
    child[:], child.text = [], "\u202e\x85 words"


def _numbered(_: ElementTree.Element, child: ElementTree.Element) -> None:
    child[:], child.text = [], "-1e9999"


def _nested(_: ElementTree.Element, child: ElementTree.Element) -> None:
    child[:] = [copy.deepcopy(child)]
    child.text = None


def _doubled(parent: ElementTree.Element, child: ElementTree.Element) -> None:
    parent.append(copy.deepcopy(child))


def _json_mutations(document: Any) -> Iterator[bytes]:
    deep: Any = 1
    for _ in range(DEEP):
        deep = [deep]
    for path in list(_json_places(document)):
        for value in (_ABSENT, None, True, -7, 1.5, "\u202e words", [], {}, [None], {"a": 1}):
            yield msgspec.json.encode(_with(document, path, value))
        text = msgspec.json.encode(_with(document, path, "@@"))
        yield text.replace(b'"@@"', b"[" * DEEP + b"]" * DEEP, 1)
        yield text.replace(b'"@@"', b"%d" % NUMBER, 1)
        yield text.replace(b'"@@"', b'"\\ud800"', 1)
        yield text.replace(b'"@@"', b'"\xff"', 1)


_ABSENT: Final = object()
Step = str | int


def _json_places(document: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    items: Any = ()
    if isinstance(document, dict):
        items = document.items()
    elif isinstance(document, list):
        items = enumerate(document)
    for step, value in items:
        yield (*path, step)
        yield from _json_places(value, (*path, step))


def _with(document: Any, path: tuple[Step, ...], value: Any) -> Any:
    changed = copy.deepcopy(document)
    parent = changed
    for step in path[:-1]:
        parent = parent[step]
    if value is _ABSENT:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return changed


def test_mutations_change_every_place() -> None:
    assert len(set(mutations(b"<a><b>1</b><c><d/></c></a>"))) >= 15
    assert len(set(mutations(b'{"a":1,"b":[{"c":"x"}]}'))) >= 4 * 13


# AWS


@dataclass
class AwsDocuments:
    """A world in which every answer can be replaced."""

    world: World
    replaced: bytes | None = None
    last: bytes = b""

    def __post_init__(self) -> None:
        self.world.cloud.faults.add(Fault("replaced", happens=True, spoil=self._spoil), times=None)

    def _spoil(self, answer: Answer) -> Answer:
        self.last = answer.body
        return answer if self.replaced is None else replace(answer, body=self.replaced)


async def _all(pages: AsyncIterator[Mapping[Any, Any]]) -> list[Any]:
    return [value async for page in pages for value in page.values()]


async def _aws_reads(world: World) -> dict[str, Read]:
    """Reads of all adapters, each of one call whose answer says something."""
    cloud, front, acm, gateway = world.cloud, world.cloudfront, world.acm, world.gateway
    cloud.cloudfront.add_distribution(DISTRIBUTION, covers=())
    zone = cloud.route53.add_zone("example.com")
    route53 = world.route53()
    certificate = ManagedCertificateRequest("self-hosted", "shop.example.com", "disabled")
    settings = TenantSettings(DISTRIBUTION, ("shop.example.com",))
    shop = await front.create_tenant("shop", settings, certificate=certificate, tags={"team": "a"})
    shown = Record("shop.example.com", "CNAME", 300, ("d111.cloudfront.net",))
    receipt = await route53.change(zone.id, [Change(Action.CREATE, shown)])
    arn = await acm.request(["api.example.com"], owner="one", tags={"team": "a"})
    world.pass_time(timedelta(minutes=1))
    issued = cloud.account().certificates(REGION).add_issued("api.example.com")
    await gateway.create_domain("api.example.com", DomainSettings(issued.arn), tags={"team": "a"})
    api = cloud.account().apigateway(REGION).add_api("shop")
    await gateway.create_mapping("api.example.com", api, "$default")
    function = cloud.account().functions(REGION).add("shop").name
    statement = Statement(
        "one", "apigateway.amazonaws.com", "arn:aws:execute-api:eu-west-1:111122223333:abc/*/*"
    )
    await world.policies.apply(function, [statement])
    return {
        "tenant": lambda: front.find_tenant(shop.id),
        "tenant by domain": lambda: front.find_tenant_by_domain("shop.example.com"),
        "tenants": lambda: _all(front.tenants()),
        "tags of a tenant": lambda: front.tags(shop.arn),
        "managed certificate": lambda: front.find_managed_certificate(shop.id),
        "connection groups": lambda: _all(front.connection_groups()),
        "connection group": lambda: front.find_connection_group(shop.settings.connection_group_id),
        "distribution": lambda: front.find_distribution(DISTRIBUTION),
        "zones": lambda: _all(route53.zones()),
        "zone": lambda: route53.find_zone(zone.id),
        "records": lambda: _all(route53.records(zone.id)),
        "record": lambda: route53.find_record(zone.id, shown.key),
        "change": lambda: route53.find_change(receipt.id),
        "certificates": lambda: _all(acm.certificates()),
        "certificate": lambda: acm.find(arn),
        "tags of a certificate": lambda: acm.tags(arn),
        "domain names": lambda: _all(gateway.domains()),
        "domain name": lambda: gateway.find_domain("api.example.com"),
        "mappings": lambda: gateway.mappings("api.example.com"),
        "policy": lambda: world.policies.read(function),
        "function": lambda: world.policies.find_function(function),
        "identity": world.access.identify,
    }


AWS_READS: Final = (
    *("tenant", "tenant by domain", "tenants", "tags of a tenant", "managed certificate"),
    *(
        "connection groups",
        "connection group",
        "distribution",
        "zones",
        "zone",
        "records",
        "record",
        "change",
    ),
    *("certificates", "certificate", "tags of a certificate", "domain names", "domain name", "mappings"),
    *("policy", "function", "identity"),
)


@pytest.mark.parametrize("name", AWS_READS)
def test_mutated_answer_of_aws_is_a_result_or_an_error(name: str, figures: Figures) -> None:
    async def scenario() -> None:
        async with in_process() as world:
            reads = await _aws_reads(world)
            assert set(reads) == set(AWS_READS)
            documents = AwsDocuments(world)
            await _read_mutations(documents, reads[name], figures)

    run_virtual(scenario)


async def _read_mutations(
    documents: AwsDocuments | CloudflareDocuments, read: Read, figures: Figures
) -> None:
    """Read with every mutation of an honest answer, and with an honest answer again."""
    assert await read()
    for mutated in mutations(documents.last):
        documents.replaced = mutated
        await _result_or_error(read, mutated)
        figures.count("mutated documents")
    documents.replaced = None
    assert await read(), "the adapter works as before"


async def _result_or_error(read: Read, document: bytes) -> None:
    try:
        await read()
    except PassError as error:
        assert 0 < len(str(error)) < 2_500  # noqa: PT017 - either may happen
    except Exception as error:
        error.add_note(f"for {document[:2000]!r}")
        raise
    await asyncio.sleep(RECOVERED.total_seconds())


# Cloudflare


@dataclass
class CloudflareDocuments:
    """A sender that replaces answers."""

    world: CloudflareWorld
    replaced: bytes | None = None
    last: bytes = b""

    async def __call__(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        status, received, self.last = await self.world.sender(method, url, headers, body)
        return status, received, self.last if self.replaced is None else self.replaced


def _cloudflare_reads(world: CloudflareWorld, client: CloudflareClient) -> dict[str, Read]:
    owner = world.owner.id
    world.add_record(type="CNAME", name="app.example.com", content="x.cfargotunnel.com", proxied=True)
    world.write_config({"ingress": [{"hostname": "app.example.com", "service": "http://a"}, _LAST]})
    app = {"name": "app", "domain": "app.example.com", "type": "self_hosted"}
    created = world.cloud.act("POST", f"/accounts/{owner}/access/apps", app)
    world.cloud.act("POST", f"/accounts/{owner}/access/service_tokens", {"name": "ci"})
    access, tunnels = Access(client, owner), Tunnels(client, owner)
    return {
        "zones": lambda: _all(Zones(client, owner).pages()),
        "records": lambda: Records(client, world.zone.id).all(),
        "tunnel": lambda: tunnels.get(world.tunnel),
        "rules": lambda: tunnels.configuration(world.tunnel),
        "organization": access.organization,
        "applications": lambda: _all(access.application_pages()),
        "application": lambda: access.application(created["id"]),
        "service tokens": lambda: _all(ServiceTokens(client, owner).pages()),
        "token": lambda: verify(client, owner),
    }


_LAST: Final = {"service": "http_status:404"}
CLOUDFLARE_READS: Final = (
    *("zones", "records", "tunnel", "rules", "organization", "applications", "application"),
    *("service tokens", "token"),
)


@pytest.mark.parametrize("name", CLOUDFLARE_READS)
def test_mutated_answer_of_cloudflare_is_a_result_or_an_error(name: str, figures: Figures) -> None:
    async def scenario() -> None:
        async with alive() as world:
            documents = CloudflareDocuments(world)
            client = CloudflareClient(world.transport, documents, world.credential, world.base_url)
            reads = _cloudflare_reads(world, client)
            assert set(reads) == set(CLOUDFLARE_READS)
            await _read_mutations(documents, reads[name], figures)

    run_virtual(scenario)
