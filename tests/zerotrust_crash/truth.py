"""What routes ask for, read from their annotations without the operator's code, and whether it is so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from edgekeeper.api.zerotrust import PREFIX
from edgekeeper.controllers.zerotrust.route_report import READY, REASON
from edgekeeper.core.json import JsonObject, dig_object
from tests.zerotrust_crash.estate import Estate, Site


@dataclass(frozen=True)
class Declared:
    """What a route that is enabled asks for."""

    name: str
    site: Site
    hostname: str
    tunnel: str
    """Empty without one."""
    address: str = ""
    identities: set[str] | None = None
    """Who may come in; None for everybody."""
    domain: str = ""
    """Of the application; empty without one of its own."""
    token: str = ""
    secret: tuple[str, str] | None = field(default=None)

    def things(self, estate: Estate) -> set[str]:
        """What there has to be, named as the estate names it."""
        found = {f"{'CNAME' if self.tunnel else 'A'} {self.hostname}"}
        if self.tunnel:
            found.add(f"rule {estate.tunnel_name(self.tunnel)} {self.hostname}")
        if self.domain:
            found.add(f"application {self.domain}")
        if self.token:
            found.add(f"token {self.token}")
        return found


def annotation(route: JsonObject, name: str) -> str:
    value = dig_object(route, "metadata", "annotations").get(f"{PREFIX}{name}")
    return value if isinstance(value, str) else ""


def is_ready(obj: JsonObject) -> bool:
    """Whether a route says that it is published."""
    annotations = dig_object(obj, "metadata", "annotations")
    return bool(annotations.get(READY) == "True" and annotations.get(REASON) == "Published")


def declared(route: JsonObject, estate: Estate) -> Declared | None:
    """None for a route that is not, or no longer, to be published."""
    metadata = route["metadata"]
    if annotation(route, "enabled") != "true" or "deletionTimestamp" in metadata:
        return None
    site = estate.sites[annotation(route, "tenant").rpartition("/")[2] or "main"]
    address = annotation(route, "dnsIp") if annotation(route, "dnsOnly") == "true" else ""
    hostname = annotation(route, "hostname")
    has_token = annotation(route, "serviceToken") == "true"
    token = f"{metadata['name']}-service-token" if has_token else ""
    shared = annotation(route, "access.applicationDomain")
    is_protected = annotation(route, "accessApp") == "true"
    return Declared(
        metadata["name"],
        site,
        hostname,
        "" if address else annotation(route, "tunnelId") or site.tunnels[0],
        address,
        _identities(route, token) if is_protected and not shared else None,
        hostname if is_protected and not shared else "",
        token,
        (metadata["namespace"], f"{metadata['name']}-cfzt-service-token") if token else None,
    )


def _identities(route: JsonObject, token: str) -> set[str]:
    emails = {one for one in annotation(route, "allowEmails").split(",") if one}
    groups = {f"group {one}" for one in annotation(route, "allowGroups").split(",") if one}
    return emails | groups | ({f"token {token}"} if token else set())


def lies(obj: JsonObject, estate: Estate) -> str:
    """What is not so about a route that says it is published."""
    wanted = declared(obj, estate) if obj["kind"] == "HTTPRoute" else None
    return next(_faults(wanted, estate), "") if wanted is not None else ""


def _faults(wanted: Declared, estate: Estate) -> Iterator[str]:
    missing = wanted.things(estate) - {name for _, name in estate.things()}
    if missing:
        yield f"Ready without {', '.join(sorted(missing))}"
    target = f"{wanted.tunnel}.cfargotunnel.com" if wanted.tunnel else wanted.address
    for record in wanted.site.zone.records.values():
        if record["name"] == wanted.hostname and record["content"] != target:
            yield f"Ready, but {wanted.hostname} leads to {record['content']}"
    for account, application in estate.applications(wanted.hostname) if wanted.domain else ():
        found = estate.identities(account, application)
        if found != wanted.identities:
            yield f"Ready, but it lets in {sorted(found)}, not {sorted(wanted.identities or ())}"


def surplus(routes: list[Declared], estate: Estate) -> Iterator[str]:
    """Orphans and duplicates."""
    present = Counter(name for _, name in estate.things())
    wanted = {name for route in routes for name in route.things(estate)}
    for name, count in present.items():
        if name not in wanted:
            yield f"orphan: {name}"
        elif count > 1:
            yield f"duplicate: {count} times {name}"
