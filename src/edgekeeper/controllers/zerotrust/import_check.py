"""Proves that a proposed route results in exactly what is at Cloudflare, by the code that makes it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from edgekeeper.api.zerotrust import TemplateSpec, ZeroTrustTenant
from edgekeeper.api.zerotrust_task import AccessAppOperation, TaskSpec
from edgekeeper.cloud.cloudflare.models import Application
from edgekeeper.cloud.cloudflare.tunnel_writer import Rules
from edgekeeper.controllers.zerotrust.annotations import parse_annotations
from edgekeeper.controllers.zerotrust.application_document import (
    application_differences,
    application_settings,
)
from edgekeeper.controllers.zerotrust.context import RouteContext, RouteOptions
from edgekeeper.controllers.zerotrust.desired import build_task
from edgekeeper.controllers.zerotrust.import_account import FoundAccount
from edgekeeper.controllers.zerotrust.policy_documents import matched, own_policies, policy_differences
from edgekeeper.controllers.zerotrust.resolve import pick
from edgekeeper.controllers.zerotrust.settings import merge
from edgekeeper.controllers.zerotrust.snapshot import ResolvedAccess
from edgekeeper.controllers.zerotrust.tunnel_rule_documents import (
    are_written,
    documents,
    lock_of,
    tunnel_rules,
)
from edgekeeper.core.delta import compare, describe
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject, dig_object
from edgekeeper.kube.kinds import Key
from edgekeeper.lifecycle.importing import Findings


@dataclass(frozen=True)
class Proposal:
    """A route, and what its settings depend on."""

    route: JsonObject
    tenant: ZeroTrustTenant
    tenant_key: Key
    template: TemplateSpec | None = None
    base: TemplateSpec | None = None
    options: RouteOptions = field(default_factory=RouteOptions)


@dataclass(frozen=True)
class Present:
    """What is at Cloudflare for the hostnames of a route."""

    rules: Mapping[str, Rules]
    application: Application | None = None
    """The route's own."""
    shared: Application | None = None
    """That of another route, which protects this one."""


def check(proposal: Proposal, present: Present, found: FoundAccount, findings: Findings) -> None:
    """Refuse everything that applying the proposal would change, but for marks, and whatever the operator would refuse."""
    try:
        spec = _task(proposal)
        _check_operations(spec, present, findings)
        access = _resolved(spec.operations.access_app, found)
        if present.application is not None:
            _check_application(spec, access, present.application, findings)
        _check_rules(spec, present, found, findings)
    except Stall as refusal:
        findings.refuse("HTTPRoute", f"{refusal.reason}: {refusal.message}")


def _task(proposal: Proposal) -> TaskSpec:
    annotations = parse_annotations(dig_object(proposal.route, "metadata", "annotations"))
    defaults = proposal.tenant.spec.defaults
    settings = merge(annotations, proposal.template, proposal.base, defaults)
    return build_task(
        RouteContext(proposal.route, proposal.tenant, proposal.tenant_key, settings, options=proposal.options)
    )


def _check_operations(spec: TaskSpec, present: Present, findings: Findings) -> None:
    """Refuse what templates of the cluster would add to the route."""
    operations = spec.operations
    if operations.service_token.enabled:
        findings.refuse("serviceToken", "a template would have a service token made")
    if not operations.tunnel_route.enabled:
        findings.refuse("dnsOnly", "a template would have the hostname withdrawn from the tunnel")
    is_protected = present.application is not None or present.shared is not None
    if bool(operations.access_app.enabled) != is_protected:
        findings.refuse("access", "a template says otherwise whether there is an Access application")


def _resolved(access: AccessAppOperation, found: FoundAccount) -> ResolvedAccess:
    """The ids of what the settings name, as `resolve` finds them."""
    rules = [*(access.include or ()), *(access.require or ()), *(access.exclude or ())]
    groups = [*(access.allow_groups or ()), *(rule.group for rule in rules if rule.group)]
    asked = [rule.identity_provider_group.provider for rule in rules if rule.identity_provider_group]
    idps = access.allowed_idps or []
    provider_names = {id_: one.name for id_, one in found.providers.items()}
    policy_names = {id_: one.name for id_, one in found.policies.items()}
    return ResolvedAccess(
        groups={name: _pick("group", name, found.groups) for name in groups},
        policies=tuple(
            _pick("policy", name, policy_names)
            for name in (*(access.existing_policy_ids or ()), *(access.existing_policy_names or ()))
        ),
        allowed_idps=tuple(_pick("identity provider", name, provider_names) for name in idps),
        providers={name: found.providers[pick("identity provider", name, provider_names)] for name in asked},
    )


def _pick(what: str, asked: str, known: Mapping[str, str]) -> str:
    """The id; one that may not be listed is taken as it is, as `resolve` does."""
    return pick(what, asked, known) if known else asked


def _check_application(spec: TaskSpec, access: ResolvedAccess, live: Application, findings: Findings) -> None:
    wanted = application_settings(spec, access, spec.hostnames, live.tags)
    if changed := application_differences(wanted, live):
        findings.refuse("application", f"applying the route would change it: {describe(changed)}")
    operation = spec.operations.access_app
    if operation.existing_policy_ids or operation.existing_policy_names:
        if list(access.policies) != [policy.id for policy in live.policies]:
            findings.refuse("application.policies", "applying the route would change their order")
        return
    pairs, left = matched(own_policies(spec, access, None), live.policies)
    for policy in left:
        findings.refuse("application.policies", f"applying the route would remove {policy.name}")
    for fields, policy_present in pairs:
        if policy_present is None:
            findings.refuse("application.policies", f"applying the route would add {fields['name']}")
        elif changed := policy_differences(fields, policy_present):
            findings.refuse(
                f"application.policies[{policy_present.name}]",
                f"applying the route would change it: {describe(changed)}",
            )


def _check_rules(spec: TaskSpec, present: Present, found: FoundAccount, findings: Findings) -> None:
    operations = spec.operations
    application = present.shared or present.application
    for hostname in spec.hostnames:
        live = present.rules[hostname]
        lock = None
        if operations.access_app.enabled and operations.access_app.validate_at_tunnel is not False:
            lock = lock_of(found.team, application.aud if application is not None else "", live)
        wanted = tunnel_rules(operations.tunnel_route, hostname, lock)
        if not are_written(wanted, live):
            changed = compare(list(documents(wanted)), [msgspec.to_builtins(rule) for rule in live])
            why = describe(changed) or "the order of the rules"
            findings.refuse(f"rules of {hostname}", f"applying the route would change them: {why}")
