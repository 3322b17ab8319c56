"""What can be done for a tenant, one thing at a time.

A step is a value: what, and why in words. `decide` lines them up, `perform` does the first, `report` tells of it, and
`edgekeeper plan` prints them all. The steps of a tenant's life, in the order in which they are usually taken:

    RememberRecords     the records that will be written go into the inventory, so that they cannot be forgotten
    AdoptRecords        records of somebody else that say the same become ours, where the object may adopt
    WriteRecords        they are handed to the writer of the zone
    AwaitRecords        the writer has not answered yet
    AwaitPropagation    the world does not know them yet
    NoteCreation        where tags are not allowed, the status says that a tenant is about to be created
    CreateTenant        AdoptTenant where it is there already and ours
    MarkTenant          tags: whose it is, and what the spec says
    AttachCertificate   the issued certificate goes into the spec
    UpdateTenant        spec and tenant differ
    RemoveRecords       records of domains that are gone, of another zone, of a deleted tenant
    AwaitDeployment     CloudFront is at work
    AwaitCertificate    somebody has to prove the domain, or CloudFront to issue
    DisableTenant, DeleteTenant
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from edgekeeper.api.cloudfront import InventoryRecord
from edgekeeper.cloud.aws.records import Record
from edgekeeper.cloud.aws.tenants import ManagedCertificateRequest, TenantSettings, TenantSummary
from edgekeeper.core.delta import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    reason: str
    """Why, for people."""


@dataclass(frozen=True, slots=True)
class RememberRecords(_Step):
    records: tuple[InventoryRecord, ...]

    def __str__(self) -> str:
        return f"remember {named(self.records)}"


@dataclass(frozen=True, slots=True)
class AdoptRecords(_Step):
    records: tuple[InventoryRecord, ...]

    def __str__(self) -> str:
        return f"take over {named(self.records)}"


@dataclass(frozen=True, slots=True)
class WriteRecords(_Step):
    records: tuple[InventoryRecord, ...]

    def __str__(self) -> str:
        return f"write {named(self.records)}"


@dataclass(frozen=True, slots=True)
class RemoveRecords(_Step):
    records: tuple[InventoryRecord, ...]

    def __str__(self) -> str:
        return f"remove {named(self.records)}"


@dataclass(frozen=True, slots=True)
class AwaitRecords(_Step):
    def __str__(self) -> str:
        return "wait for the zone to be written"


@dataclass(frozen=True, slots=True)
class AwaitPropagation(_Step):
    change_id: str

    def __str__(self) -> str:
        return f"wait for {f'change {self.change_id}' if self.change_id else 'the change'} to be known everywhere"


@dataclass(frozen=True, slots=True)
class NoteCreation(_Step):
    def __str__(self) -> str:
        return "note that a tenant is about to be created"


@dataclass(frozen=True, slots=True)
class CreateTenant(_Step):
    name: str
    settings: TenantSettings
    tags: Mapping[str, str]
    certificate: ManagedCertificateRequest | None = None

    def __str__(self) -> str:
        return f"create tenant {self.name}{'' if self.settings.enabled else ', disabled'}"


@dataclass(frozen=True, slots=True)
class AdoptTenant(_Step):
    tenant: TenantSummary

    def __str__(self) -> str:
        return f"adopt tenant {self.tenant.id}"


@dataclass(frozen=True, slots=True)
class MarkTenant(_Step):
    arn: str
    tags: Mapping[str, str]

    def __str__(self) -> str:
        return f"tag {self.arn} with {', '.join(sorted(self.tags))}"


@dataclass(frozen=True, slots=True)
class AttachCertificate(_Step):
    arn: str

    def __str__(self) -> str:
        return f"attach certificate {self.arn}"


@dataclass(frozen=True, slots=True)
class UpdateTenant(_Step):
    tenant: TenantSummary
    settings: TenantSettings
    differences: tuple[Difference, ...]
    certificate: ManagedCertificateRequest | None = None

    def __str__(self) -> str:
        return f"update tenant {self.tenant.id}"


@dataclass(frozen=True, slots=True)
class DisableTenant(_Step):
    tenant: TenantSummary

    def __str__(self) -> str:
        return f"disable tenant {self.tenant.id}"


@dataclass(frozen=True, slots=True)
class DeleteTenant(_Step):
    tenant: TenantSummary

    def __str__(self) -> str:
        return f"delete tenant {self.tenant.id}"


@dataclass(frozen=True, slots=True)
class AwaitDeployment(_Step):
    tenant: TenantSummary

    def __str__(self) -> str:
        return f"wait for tenant {self.tenant.id} to be deployed"


@dataclass(frozen=True, slots=True)
class AwaitCertificate(_Step):
    def __str__(self) -> str:
        return "wait for the certificate"


Step: TypeAlias = (
    RememberRecords
    | AdoptRecords
    | WriteRecords
    | RemoveRecords
    | AwaitRecords
    | AwaitPropagation
    | NoteCreation
    | CreateTenant
    | AdoptTenant
    | MarkTenant
    | AttachCertificate
    | UpdateTenant
    | DisableTenant
    | DeleteTenant
    | AwaitDeployment
    | AwaitCertificate
)

_AT_ONCE = (RememberRecords, AdoptRecords, NoteCreation, AdoptTenant, MarkTenant)
_CHANGING = (MarkTenant, UpdateTenant, DisableTenant, DeleteTenant)
_CHANGING_RECORDS = (RememberRecords, AdoptRecords, WriteRecords, RemoveRecords)
_ASKING_NOTHING = (RememberRecords, AdoptRecords, WriteRecords, RemoveRecords, AwaitRecords, NoteCreation)
_WAITING = (AwaitRecords, AwaitPropagation, AwaitDeployment, AwaitCertificate)


def goes_on_at_once(step: Step) -> bool:
    """Does nobody have to do anything before the next step?"""
    return isinstance(step, _AT_ONCE)


def changes_tenant(step: Step | None) -> bool:
    """Is a tenant that is there about to become another, or none?"""
    return isinstance(step, _CHANGING)


def changes_records(step: Step | None) -> bool:
    """Is something about to be written into a zone, or noted down for it?"""
    return isinstance(step, _CHANGING_RECORDS)


def asks_nothing(step: Step | None) -> bool:
    """Does a step end without an answer of AWS, because it only writes something down, or hands it to a writer?"""
    return isinstance(step, _ASKING_NOTHING)


def is_waiting(step: Step) -> bool:
    """Is it somebody else who has to act?"""
    return isinstance(step, _WAITING)


def named(records: Iterable[InventoryRecord | Record]) -> str:
    """Records as people read them."""
    return ", ".join(f"{record.type} {record.name}" for record in records)
