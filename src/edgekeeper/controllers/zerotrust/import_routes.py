"""Manifests of the hostnames that a tunnel serves: HTTPRoutes, and templates where annotations do not suffice. Pure.

All hostnames of one Access application are one route; every other hostname is a route of its own. A hostname below the
wildcard of another route's application shares that application.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from edgekeeper.api.zerotrust import TemplateSpec, ZeroTrustTenant
from edgekeeper.cloud.cloudflare.application_index import uris_of
from edgekeeper.cloud.cloudflare.hostnames import is_wildcard, normalise
from edgekeeper.cloud.cloudflare.models import Application, DnsRecord
from edgekeeper.cloud.cloudflare.tunnel_writer import Rules
from edgekeeper.controllers.zerotrust.context import RouteOptions
from edgekeeper.controllers.zerotrust.import_access import ProposedAccess, propose_access, public_paths
from edgekeeper.controllers.zerotrust.import_account import FoundAccount
from edgekeeper.controllers.zerotrust.import_check import Present, Proposal, check
from edgekeeper.controllers.zerotrust.import_manifests import route_manifest, template_manifest
from edgekeeper.controllers.zerotrust.import_origins import first_namespace, propose_origin
from edgekeeper.controllers.zerotrust.owner import MARK_PREFIX, TAG_PREFIX, cluster_mark, cluster_tag
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.guards import HostnamePolicy
from edgekeeper.lifecycle.importing import (
    Findings,
    ImportRequest,
    ImportResult,
    derived_names,
)

ANY_HOSTNAME: Final = HostnamePolicy()


@dataclass(frozen=True)
class RouteWorld:
    """What the cluster has that imported routes depend on."""

    cluster: str
    tenant_key: Key
    tenant: ZeroTrustTenant
    declared: Mapping[str, str] = field(default_factory=dict)
    """Who declares a hostname already, in words."""
    taken: frozenset[str] = frozenset()
    """Names of routes and templates that exist."""
    templates: Mapping[Key, TemplateSpec] = field(default_factory=dict)
    options: RouteOptions = field(default_factory=RouteOptions)
    hostname_policy: HostnamePolicy = ANY_HOSTNAME

    def refusals(self, namespace: str, hostnames: Sequence[str]) -> Iterator[str]:
        """Why routes of a namespace may not use the tenant, or have the hostnames."""
        allowed = self.tenant.spec.allowed_namespaces
        if allowed is not None and namespace not in allowed:
            yield f"tenant {self.tenant_key} does not allow routes of namespace {namespace}"
        yield from self.hostname_policy.refusals("spec.hostnames", namespace, hostnames)

    def default_template(self, namespace: str) -> TemplateSpec | None:
        """The template that a route of a namespace has if it names none."""
        keys = (Key(self.tenant_key.namespace, "default"), Key(namespace, "default"))
        return next((self.templates[key] for key in keys if key in self.templates), None)

    @property
    def base(self) -> TemplateSpec | None:
        return self.templates.get(Key(self.tenant_key.namespace, f"base-{self.tenant_key.name}"))


@dataclass(frozen=True)
class FoundRoute:
    """Hostnames of the tunnel that belong together."""

    hostnames: tuple[str, ...]
    application: Application | None = None
    """The application of these hostnames."""
    wider: Application | None = None
    """The application of a wildcard above them."""

    @property
    def resource(self) -> str:
        return f"hostname {', '.join(self.hostnames)}"


def import_routes(found: FoundAccount, world: RouteWorld, request: ImportRequest) -> list[ImportResult]:
    """The manifests of all hostnames that are asked for."""
    groups = group_hostnames(found)
    names = derived_names((group.hostnames[0] for group in groups), world.taken)
    importer = _Importer(found, world, request, names)
    # Wildcards first: others share their applications only if those are imported, or ours already.
    ordered = sorted(groups, key=lambda group: (not is_wildcard(group.hostnames[0]), group.hostnames))
    results = {group.hostnames: importer.result(group) for group in ordered}
    return [
        *(results[group.hostnames] for group in groups if request.selects(group.hostnames)),
        *_nameless(found, request),
    ]


def group_hostnames(found: FoundAccount) -> list[FoundRoute]:
    """The hostnames of the tunnel by application, in alphabetical order."""
    by_uri = {uri: one for one in found.applications for uri in sorted(uris_of(one))}
    groups: dict[str, list[str]] = {}
    for hostname in sorted(found.rules):
        application = by_uri.get(hostname)
        groups.setdefault(application.id if application else f"/{hostname}", []).append(hostname)
    made = []
    for hostnames in groups.values():
        own = by_uri.get(hostnames[0])
        first = [own.domain] if own is not None and own.domain in hostnames else []
        ordered = tuple(dict.fromkeys((*first, *hostnames)))
        wider = by_uri.get(f"*.{hostnames[0].partition('.')[2]}") if own is None else None
        made.append(FoundRoute(ordered, own, wider))
    return sorted(made, key=lambda group: group.hostnames)


def _nameless(found: FoundAccount, request: ImportRequest) -> Iterable[ImportResult]:
    for rule in found.nameless if not request.patterns else ():
        findings = Findings()
        findings.refuse("hostname", "a route needs one, and the rule is for all hostnames")
        yield findings.result(f"rule for the path {dig(rule, 'path')!r}")


@dataclass
class _Importer:
    """Imports hostnames one after the other, and remembers whose applications can be shared."""

    found: FoundAccount
    world: RouteWorld
    request: ImportRequest
    names: Mapping[str, str]
    shareable: set[str] = field(default_factory=set)
    """Ids of applications of wildcards that are imported, or ours already."""

    def result(self, group: FoundRoute) -> ImportResult:
        if owner := self._owner(group):
            if group.application is not None and cluster_tag(self.world.cluster) in group.application.tags:
                self.shareable.add(group.application.id)
            return ImportResult(group.resource, owner=owner)
        findings = Findings()
        manifests = self._manifests(group, findings)
        is_imported = manifests and not findings.refusals and self.request.selects(group.hostnames)
        if is_imported and group.application is not None:
            self.shareable.add(group.application.id)
        findings.notes.extend(self._notes(group))
        return findings.result(group.resource, *manifests)

    def _notes(self, group: FoundRoute) -> Iterator[str]:
        """Applications that protect only paths of the hostnames."""
        for application in self.found.applications:
            for uri in sorted(uris_of(application)):
                if (
                    uri.partition("/")[0] in group.hostnames
                    and "/" in uri
                    and application != group.application
                ):
                    yield f"the Access application {application.name!r} protects {uri}, and stays unmanaged"

    def _owner(self, group: FoundRoute) -> str:
        """Who has the hostnames already; empty if nobody does."""
        declared = (self.world.declared.get(hostname, "") for hostname in group.hostnames)
        if found := next(filter(None, declared), ""):
            return found
        for tag in group.application.tags if group.application is not None else ():
            if tag.startswith(TAG_PREFIX):
                whose = "this cluster" if tag == cluster_tag(self.world.cluster) else "another cluster"
                return f"its Access application is owned by {whose}, by the tag {tag}"
        for hostname in group.hostnames:
            for record in self.found.records.get(hostname, ()):
                if (record.comment or "").startswith(MARK_PREFIX):
                    is_ours = (record.comment or "").startswith(cluster_mark(self.world.cluster))
                    whose = "this cluster" if is_ours else "another cluster"
                    return f"its DNS record is owned by {whose}, by the comment {record.comment!r}"
        return ""

    def _manifests(self, group: FoundRoute, findings: Findings) -> list[JsonObject]:
        first = group.hostnames[0]
        rules = {hostname: self.found.rules[hostname] for hostname in group.hostnames}
        if not _are_valid(group, findings):
            return []
        namespace = self.request.namespace or first_namespace(rules[first]) or self.request.home
        key = Key(namespace, self.names[first])
        shared = self._shared(group, findings)
        access = self._access(group, key, findings)
        lock = _lock(group, rules, shared)
        paths = public_paths(group.application) if group.application is not None and not lock else []
        origin = propose_origin(rules[first], first, namespace, paths, findings)
        if origin is None:
            return []
        settings: dict[str, Any] = {
            "tenant": f"{self.world.tenant_key.namespace}/{self.world.tenant_key.name}",
            **({"template": key.name} if access.rules else {}),
            **origin.settings,
            **access.settings,
            **_sharing(shared),
            **lock,
            **self._dns(group, findings),
        }
        route = route_manifest(key, group.hostnames, origin, settings)
        template = template_manifest(key, access) if access.rules else None
        for problem in self.world.refusals(namespace, group.hostnames):
            findings.refuse("HTTPRoute", problem)
        proposal = self._proposal(route, template, namespace)
        check(proposal, Present(rules, group.application, shared), self.found, findings)
        return [body for body in (template, route) if body is not None]

    def _proposal(self, route: JsonObject, template: JsonObject | None, namespace: str) -> Proposal:
        world = self.world
        named = msgspec.convert(template["spec"], TemplateSpec) if template is not None else None
        return Proposal(
            route,
            world.tenant,
            world.tenant_key,
            named or world.default_template(namespace),
            world.base,
            world.options,
        )

    def _access(self, group: FoundRoute, key: Key, findings: Findings) -> ProposedAccess:
        if group.application is not None:
            return propose_access(group.application, key.name, self.found, findings)
        # Where a template would protect the route, it must say that it is public.
        inherited = (self.world.base, self.world.default_template(key.namespace))
        protects = any(
            one.access_application.enabled for one in inherited if one is not None and one.access_application
        )
        return ProposedAccess({"access.enabled": False} if protects else {})

    def _shared(self, group: FoundRoute, findings: Findings) -> Application | None:
        """The application of a wildcard that protects the route, if a route of this cluster has it."""
        if group.wider is None:
            return None
        if group.wider.id in self.shareable:
            return group.wider
        findings.notes.append(
            f"the Access application {group.wider.name!r} of {group.wider.domain} protects it, and stays unmanaged"
        )
        return None

    def _dns(self, group: FoundRoute, findings: Findings) -> dict[str, Any]:
        """Whether the DNS records are those that would be written, so that they can be taken over."""
        present = {hostname: self.found.records.get(hostname, ()) for hostname in group.hostnames}
        if all(self._is_as_written(records) for records in present.values()):
            self._refuse_zones(group, findings)
            for records in present.values():
                if comment := records[0].comment:
                    findings.refuse(
                        "record.comment", f"{comment!r} would be replaced by the ownership mark: remove it"
                    )
            return {}
        leading = [name for name, records in present.items() if records]
        if leading:
            findings.notes.append(
                f"the DNS records of {', '.join(leading)} are not all as they would be written (a proxied CNAME to the "
                "tunnel for each hostname): they stay unmanaged"
            )
        return {"dns": "external"}

    def _refuse_zones(self, group: FoundRoute, findings: Findings) -> None:
        """Refuse hostnames in another zone than the one that the tenant allows."""
        only = self.world.tenant.spec.zone_id
        others = [name for name in group.hostnames if only and self.found.zones.get(name) != only]
        if others:
            findings.refuse(
                "HTTPRoute",
                f"tenant {self.world.tenant_key} allows only zone {only}: not {', '.join(others)}",
            )

    def _is_as_written(self, records: Sequence[DnsRecord]) -> bool:
        return (
            len(records) == 1
            and (records[0].type, records[0].content) == ("CNAME", self.found.endpoint)
            and records[0].proxied
        )


def _sharing(shared: Application | None) -> dict[str, Any]:
    """The settings of a route that the application of another one protects."""
    return {} if shared is None else {"access.enabled": True, "access.applicationDomain": shared.domain}


def _lock(group: FoundRoute, rules: Mapping[str, Rules], shared: Application | None) -> dict[str, Any]:
    """Whether cloudflared checks requests, too, if there is an application."""
    if group.application is None and shared is None:
        return {}
    locked = [dig(rule, "originRequest", "access") for each in rules.values() for rule in each]
    return {} if any(locked) else {"access.validateAtTunnel": False}


def _are_valid(group: FoundRoute, findings: Findings) -> bool:
    """Can these be the hostnames of a route, and does the application protect nothing else?"""
    for hostname in group.hostnames:
        try:
            is_plain = normalise(hostname) == hostname
        except Stall:
            is_plain = False
        if not is_plain:
            findings.refuse(
                "hostname", f"{hostname!r} is not a hostname in lower case with at most one wildcard"
            )
    if group.application is not None:
        others = sorted(uris_of(group.application) - set(group.hostnames))
        if others:
            findings.refuse(
                "application.destinations",
                f"it also protects {', '.join(others)}, which this tunnel does not serve",
            )
        if group.application.domain not in group.hostnames:
            findings.refuse(
                "application.domain", f"{group.application.domain!r} is not a hostname of the tunnel"
            )
    return not findings.refusals
