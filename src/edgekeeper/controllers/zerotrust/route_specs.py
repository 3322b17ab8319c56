"""The specs of a route's tasks: to publish it, to withdraw it, to release some of its hostnames. Pure."""

from __future__ import annotations

from typing import Final

from msgspec import structs

from edgekeeper.api.zerotrust_task import DeleteIds, ExistingIds, Operations, RouteRef, TaskSpec
from edgekeeper.controllers.zerotrust.legacy_state import Ids, ids_of_inventory
from edgekeeper.controllers.zerotrust.route_situation import Facts

_OF_THE_ROUTE: Final = frozenset({"ServiceToken", "Secret"})
"""What does not depend on the hostnames of a route."""


def replace_uid(route: RouteRef, uid: str) -> RouteRef:
    return structs.replace(route, uid=uid or route.uid)


def bare(spec: TaskSpec) -> TaskSpec:
    """A spec without what was there when it was made."""
    return structs.replace(spec, inventory=[], existing_ids=None, delete_ids=None, adopt=False)


def with_inventory(facts: Facts, spec: TaskSpec) -> TaskSpec:
    """A spec with all that exists because of the route."""
    inventory = list(facts.inventory)
    ids = ids_of_inventory(inventory)
    return structs.replace(spec, inventory=inventory, existing_ids=_existing(ids) if ids else None)


def deletion(facts: Facts, spec: TaskSpec) -> TaskSpec:
    """The spec that withdraws everything that exists because of the route, and belongs to no other."""
    inventory = [item for item in facts.inventory if facts.is_own(item)]
    ids = ids_of_inventory(inventory)
    return structs.replace(
        bare(spec),
        httproute_ref=replace_uid(spec.httproute_ref, facts.route.uid),
        action="delete",
        hostnames=[],
        operations=Operations(),
        inventory=inventory,
        delete_ids=_deleted(ids, spec) if ids else None,
    )


def released(facts: Facts) -> TaskSpec | None:
    """The spec that withdraws the awaited hostnames, and keeps the others as they are; None where it is not known how.

    The service token and its Secret belong to the route, not to a hostname: they stay for the hostname that comes next.
    """
    state = facts.state.state if facts.state is not None else None
    queued = facts.task.spec if facts.task is not None else None
    present = queued or (state.applied if state is not None else None)
    kept = [name for name in present.hostnames if name not in facts.awaited] if present is not None else []
    if present is not None and kept:
        return with_inventory(facts, structs.replace(bare(present), hostname=kept[0], hostnames=kept))
    if facts.withdrawal is None:
        return None
    spec = deletion(facts, facts.withdrawal)
    return structs.replace(
        spec, inventory=[item for item in spec.inventory if item.kind not in _OF_THE_ROUTE]
    )


def _existing(ids: Ids) -> ExistingIds:
    app = ids.get("access_app_id", "")
    return ExistingIds(
        hostname_route_id=ids.get("hostname_route_id", ""),
        app_id=app,
        access_app_id=app,
        access_policy_ids=ids.get("access_policy_ids", ""),
        service_token_id=ids.get("service_token_id", ""),
        cname_record_id=ids.get("cname_record_id", ""),
        dns_record_id=ids.get("dns_record_id", ""),
    )


def _deleted(ids: Ids, spec: TaskSpec) -> DeleteIds:
    return DeleteIds(
        hostname=spec.hostname,
        access_app_id=ids.get("access_app_id", ""),
        cname_record_id=ids.get("cname_record_id", ""),
        service_token_id=ids.get("service_token_id", ""),
        dns_record_id=ids.get("dns_record_id", ""),
        tunnel_id=ids.get("hostname_route_id", "") or spec.tunnel_id,
        zone_id=ids.get("zone_id", "") or spec.zone_id,
    )
