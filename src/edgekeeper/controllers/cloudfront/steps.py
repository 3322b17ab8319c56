"""The steps for a tenant, as values, in the order in which they are usually performed.

Steps for DNS records are in `cloud.aws.dns.steps`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from edgekeeper.cloud.aws.tenants import ManagedCertificateRequest, TenantSettings, TenantSummary
from edgekeeper.controllers.cloudfront.desired import settings_tree
from edgekeeper.core.delta import ABSENT, Difference, compare
from edgekeeper.core.outcome import Event
from edgekeeper.core.steps import Effect, Sight, Step


@dataclass(frozen=True, slots=True)
class NoteCreation(Step):
    """Record in the status that a tenant is about to be created, where tenants cannot be tagged.

    If the response of the creation is lost, the time in the status identifies the tenant as ours.
    """

    effect: ClassVar = Effect.RECORD
    needs: ClassVar = Sight.LIVE
    at_once: ClassVar = True
    answered: ClassVar = False

    def __str__(self) -> str:
        return "record in the status that a tenant is about to be created"


@dataclass(frozen=True, slots=True)
class CreateTenant(Step):
    """Create the tenant, with its tags and certificate request."""

    effect: ClassVar = Effect.CHANGE
    name: str
    settings: TenantSettings
    tags: Mapping[str, str]
    certificate: ManagedCertificateRequest | None = None

    def __str__(self) -> str:
        return f"create tenant {self.name}{'' if self.settings.enabled else ', disabled'}"

    def changes(self) -> tuple[Difference, ...]:
        settings = compare(settings_tree(self.settings), {})
        return (*settings, *_request_changes(self.certificate), *_tag_changes(self.tags, {}))


@dataclass(frozen=True, slots=True)
class AdoptTenant(Step):
    """Record the id of an existing tenant in the status. It is tagged and updated by later steps."""

    effect: ClassVar = Effect.RECORD
    at_once: ClassVar = True
    tenant: TenantSummary
    known_id: str = ""
    """The id that the status has."""
    is_inherited: bool = False
    """Whether a lost cluster has left it. Then rewriting its tags completes the adoption, and is the event."""

    def __str__(self) -> str:
        return f"adopt tenant {self.tenant.id}"

    def changes(self) -> tuple[Difference, ...]:
        return (Difference("status.id", self.known_id or ABSENT, self.tenant.id),)

    def event(self) -> Event | None:
        return None if self.is_inherited else _adopted(self.tenant.id, self.reason)


@dataclass(frozen=True, slots=True)
class MarkTenant(Step):
    """Set ownership tags or tags of the spec on the tenant."""

    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    at_once: ClassVar = True
    arn: str
    tags: Mapping[str, str]
    present: Mapping[str, str]
    """The tags that the tenant has."""
    inherited_id: str = ""
    """The id of a tenant that a lost cluster has left; empty for any other."""

    def __str__(self) -> str:
        return f"tag {self.arn} with {', '.join(sorted(self.tags))}"

    def changes(self) -> tuple[Difference, ...]:
        return _tag_changes(self.tags, self.present)

    def event(self) -> Event | None:
        return _adopted(self.inherited_id, self.reason) if self.inherited_id else None


@dataclass(frozen=True, slots=True)
class AttachCertificate(Step):
    """Write the ARN of an issued managed certificate into the spec. The next pass applies it to the tenant."""

    effect: ClassVar = Effect.RECORD
    arn: str
    replaced: str = ""
    """The ARN that the spec has."""

    def __str__(self) -> str:
        return f"attach certificate {self.arn}"

    def changes(self) -> tuple[Difference, ...]:
        return (Difference("spec.customizations.certificate.arn", self.replaced or ABSENT, self.arn),)

    def event(self) -> Event:
        return Event("Normal", "CertificateAttaching", f"attaching certificate {self.arn}")


@dataclass(frozen=True, slots=True)
class UpdateTenant(Step):
    """Update the settings of the tenant, request a certificate, or both."""

    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    pushes: ClassVar = True
    tenant: TenantSummary
    settings: TenantSettings
    differences: tuple[Difference, ...]
    certificate: ManagedCertificateRequest | None = None

    def __str__(self) -> str:
        return f"update tenant {self.tenant.id}"

    def changes(self) -> tuple[Difference, ...]:
        return (*self.differences, *_request_changes(self.certificate))

    def event(self) -> Event:
        return Event("Normal", "Updated", f"updated tenant {self.tenant.id}: {self.reason}")


@dataclass(frozen=True, slots=True)
class DisableTenant(Step):
    """Disable the tenant, which CloudFront requires before it can be deleted."""

    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    tenant: TenantSummary

    def __str__(self) -> str:
        return f"disable tenant {self.tenant.id}"

    def changes(self) -> tuple[Difference, ...]:
        return (Difference("enabled", True, False),)

    def event(self) -> Event:
        return Event("Normal", "Disabling", f"disabled tenant {self.tenant.id} before it is deleted")


@dataclass(frozen=True, slots=True)
class DeleteTenant(Step):
    """Delete the disabled tenant."""

    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    tenant: TenantSummary

    def __str__(self) -> str:
        return f"delete tenant {self.tenant.id}"

    def changes(self) -> tuple[Difference, ...]:
        return (Difference("tenant", f"{self.tenant.name} ({self.tenant.id})", ABSENT),)


@dataclass(frozen=True, slots=True)
class AwaitDeployment(Step):
    """Wait until CloudFront has deployed the tenant."""

    effect: ClassVar = Effect.WAIT
    tenant: TenantSummary

    def __str__(self) -> str:
        return f"wait for tenant {self.tenant.id} to be deployed"


@dataclass(frozen=True, slots=True)
class AwaitCertificate(Step):
    """Wait until the domains are validated, or until CloudFront has activated them with the certificate."""

    effect: ClassVar = Effect.WAIT

    def __str__(self) -> str:
        return "wait for the certificate"


@dataclass(frozen=True, slots=True)
class AwaitWithdrawal(Step):
    """Wait until another object removes its record that points to a tenant being deleted."""

    effect: ClassVar = Effect.WAIT
    domain: str
    holder: str

    def __str__(self) -> str:
        return f"wait for {self.holder} to remove its record of {self.domain}"


def _request_changes(request: ManagedCertificateRequest | None) -> tuple[Difference, ...]:
    if request is None:
        return ()
    fields = {
        "validationTokenHost": request.validation_token_host,
        "primaryDomainName": request.primary_domain_name,
        "certificateTransparencyLoggingPreference": request.transparency_logging or None,
    }
    return compare({"managedCertificateRequest": fields}, {"managedCertificateRequest": {}})


def _adopted(tenant_id: str, reason: str) -> Event:
    return Event("Normal", "Adopted", f"adopted tenant {tenant_id}: {reason}")


def _tag_changes(wanted: Mapping[str, str], present: Mapping[str, str]) -> tuple[Difference, ...]:
    replaced = {key: present[key] for key in wanted if key in present}
    return compare({"tags": dict(wanted)}, {"tags": replaced})
