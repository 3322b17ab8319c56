"""What a step changes, field by field, for people who want to know before it is done.

Pure, and only for show: what is sent is decided in `decide` and `perform`. Paths are those of the spec where the spec has
the field; records are `dns[CNAME shop.example.com]`, tags `tags[team]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from edgekeeper.api.cloudfront import InventoryRecord
from edgekeeper.cloud.aws.records import Record, RecordKey
from edgekeeper.cloud.aws.tenants import ManagedCertificateRequest
from edgekeeper.controllers.cloudfront import steps as do
from edgekeeper.controllers.cloudfront.desired import record_of, settings_tree
from edgekeeper.controllers.cloudfront.snapshot import Snapshot
from edgekeeper.controllers.cloudfront.steps import Step
from edgekeeper.core.delta import ABSENT, Difference, compare
from edgekeeper.core.json import JsonObject


def effects_of(step: Step, snapshot: Snapshot) -> tuple[Difference, ...]:
    """Every field that the step changes. None, where it waits, or only writes down what will be done."""
    match step:
        case do.CreateTenant():
            return _creation(step)
        case do.UpdateTenant():
            return (*step.differences, *_request(step.certificate))
        case do.MarkTenant(tags=tags):
            details = snapshot.details
            return _tags(tags, details.tags if details else {})
        case do.WriteRecords(records=records):
            return compare(_records_tree(map(record_of, records)), _zone_tree(snapshot, records))
        case do.RemoveRecords(records=records):
            return compare(_records_tree(()), _records_tree(map(record_of, records)))
        case do.AttachCertificate(arn=arn):
            return (Difference("spec.customizations.certificate.arn", _attached(snapshot), arn),)
        case do.AdoptTenant(tenant=tenant):
            return (Difference("status.id", snapshot.status.id or ABSENT, tenant.id),)
        case do.DisableTenant():
            return (Difference("enabled", True, False),)
        case do.DeleteTenant(tenant=tenant):
            return (Difference("tenant", f"{tenant.name} ({tenant.id})", ABSENT),)
    return ()


def _creation(step: do.CreateTenant) -> tuple[Difference, ...]:
    settings = compare(settings_tree(step.settings), {})
    return (*settings, *_request(step.certificate), *_tags(step.tags, {}))


def _request(wish: ManagedCertificateRequest | None) -> tuple[Difference, ...]:
    if wish is None:
        return ()
    fields = {
        "validationTokenHost": wish.validation_token_host,
        "primaryDomainName": wish.primary_domain_name,
        "certificateTransparencyLoggingPreference": wish.transparency_logging or None,
    }
    return compare({"managedCertificateRequest": fields}, {"managedCertificateRequest": {}})


def _tags(wanted: Mapping[str, str], present: Mapping[str, str]) -> tuple[Difference, ...]:
    known = {key: present[key] for key in wanted if key in present}
    return compare({"tags": dict(wanted)}, {"tags": known})


def _zone_tree(snapshot: Snapshot, records: Iterable[InventoryRecord]) -> JsonObject:
    """What stands in the zone at the places of some records, as far as it may be listed."""
    known = (snapshot.zone.records if snapshot.zone else None) or {}
    places = (RecordKey(record.name, record.type) for record in map(record_of, records))
    return _records_tree(known[place] for place in places if place in known)


def _records_tree(records: Iterable[Record]) -> JsonObject:
    return {"dns": {f"{one.type} {one.name}": _record_tree(one) for one in records}}


def _record_tree(record: Record) -> JsonObject:
    target = record.alias.name if record.alias else ", ".join(record.target)
    return {"target": target, "ttl": record.ttl}


def _attached(snapshot: Snapshot) -> object:
    custom = snapshot.spec.customizations
    return custom.certificate.arn if custom and custom.certificate else ABSENT
