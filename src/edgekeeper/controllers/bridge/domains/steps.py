"""The steps for an APIGatewayDomain, in the order in which they are usually performed.

In `direct` mode they are calls of AWS; in `ack` mode those about certificates, domain names and mappings write objects of ACK.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, Final

from edgekeeper.cloud.aws.apigateway import ApiMapping, DomainSettings
from edgekeeper.core.delta import ABSENT, Difference
from edgekeeper.core.outcome import Event
from edgekeeper.core.steps import Effect, Sight, Step

CREATING: Final = timedelta(seconds=15)
VALIDATING: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class _Change(Step):
    """A change in AWS, made after everything was read live."""

    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    at_once: ClassVar = True
    pushes: ClassVar = True


@dataclass(frozen=True, slots=True)
class RequestCertificate(_Change):
    """Request a certificate that is validated by DNS."""

    domain: str

    def __str__(self) -> str:
        return f"request a certificate for {self.domain}"

    def changes(self) -> tuple[Difference, ...]:
        return (Difference("certificate", ABSENT, self.domain),)

    def event(self) -> Event:
        return Event("Normal", "CertificateRequested", f"requested a certificate for {self.domain}")


@dataclass(frozen=True, slots=True)
class AwaitCertificate(Step):
    """Wait until ACM has issued the certificate."""

    effect: ClassVar = Effect.WAIT
    pushes: ClassVar = True
    poll: ClassVar = VALIDATING
    arn: str

    def __str__(self) -> str:
        return f"wait for certificate {self.arn}" if self.arn else "wait for the certificate"


@dataclass(frozen=True, slots=True)
class CreateDomain(_Change):
    """Create the domain name, with its ownership tags."""

    name: str
    settings: DomainSettings
    tags: Mapping[str, str]

    def __str__(self) -> str:
        return f"create domain name {self.name}"

    def changes(self) -> tuple[Difference, ...]:
        return (Difference("domainName", ABSENT, self.name), *setting_changes(self.settings, None))

    def event(self) -> Event:
        return Event("Normal", "DomainNameCreated", f"created domain name {self.name}")


@dataclass(frozen=True, slots=True)
class TagDomain(_Change):
    """Set the ownership tags on a domain name that the object may take over."""

    name: str
    tags: Mapping[str, str]

    def __str__(self) -> str:
        return f"tag domain name {self.name} as belonging to the object"

    def event(self) -> Event:
        return Event("Normal", "Adopted", f"adopted domain name {self.name}: {self.reason}")


@dataclass(frozen=True, slots=True)
class TagCertificate(_Change):
    """Set the ownership tags on a certificate that a lost cluster has left."""

    arn: str
    tags: Mapping[str, str]

    def __str__(self) -> str:
        return f"tag certificate {self.arn} as belonging to the object"

    def event(self) -> Event:
        return Event("Normal", "Adopted", f"adopted certificate {self.arn}: {self.reason}")


@dataclass(frozen=True, slots=True)
class UpdateDomain(_Change):
    """Change the certificate or the security policy of the domain name."""

    name: str
    settings: DomainSettings
    present: DomainSettings

    def __str__(self) -> str:
        return f"update domain name {self.name}"

    def changes(self) -> tuple[Difference, ...]:
        return setting_changes(self.settings, self.present)

    def event(self) -> Event:
        return Event("Normal", "DomainNameUpdated", f"updated domain name {self.name}: {self.reason}")


@dataclass(frozen=True, slots=True)
class AwaitDomain(Step):
    """Wait until API Gateway, or ACK, has finished with the domain name or its mapping."""

    effect: ClassVar = Effect.WAIT
    pushes: ClassVar = True
    poll: ClassVar = CREATING
    what: str

    def __str__(self) -> str:
        return f"wait for {self.what}"


@dataclass(frozen=True, slots=True)
class RememberMapping(Step):
    """Record in the status that a mapping is ours: one that is about to be created, or that a lost cluster has left."""

    effect: ClassVar = Effect.RECORD
    at_once: ClassVar = True
    answered: ClassVar = False
    pushes: ClassVar = True
    mapping: ApiMapping

    def __str__(self) -> str:
        return f"record in the status that the mapping to {mapping_text(self.mapping)} belongs to the object"


@dataclass(frozen=True, slots=True)
class WriteMapping(_Change):
    """Create the mapping, or change the one that is there."""

    mapping: ApiMapping
    """With the id of the one to change; empty to create one."""
    present: ApiMapping | None = None

    def __str__(self) -> str:
        verb = "change" if self.mapping.id else "create"
        return f"{verb} the mapping of {self.mapping.key or '/'} to API {self.mapping.api_id}"

    def changes(self) -> tuple[Difference, ...]:
        before = mapping_text(self.present) if self.present else ABSENT
        return (Difference(f"mapping[{self.mapping.key or '/'}]", before, mapping_text(self.mapping)),)

    def event(self) -> Event:
        return Event("Normal", "MappingWritten", f"mapped to {mapping_text(self.mapping)}: {self.reason}")


@dataclass(frozen=True, slots=True)
class DeleteMapping(_Change):
    """Delete a mapping of ours."""

    mapping: ApiMapping

    def __str__(self) -> str:
        return f"delete the mapping of {self.mapping.key or '/'}"

    def changes(self) -> tuple[Difference, ...]:
        return (Difference(f"mapping[{self.mapping.key or '/'}]", mapping_text(self.mapping), ABSENT),)


@dataclass(frozen=True, slots=True)
class UntagDomain(_Change):
    """Remove the ownership tags from a domain name that stays when the object is deleted."""

    name: str

    def __str__(self) -> str:
        return f"remove the ownership tags of domain name {self.name}"


@dataclass(frozen=True, slots=True)
class DeleteDomain(_Change):
    """Delete the domain name."""

    name: str

    def __str__(self) -> str:
        return f"delete domain name {self.name}"

    def changes(self) -> tuple[Difference, ...]:
        return (Difference("domainName", self.name, ABSENT),)

    def event(self) -> Event:
        return Event("Normal", "DomainNameDeleted", f"deleted domain name {self.name}")


@dataclass(frozen=True, slots=True)
class DeleteCertificate(_Change):
    """Delete a certificate that was requested for the object."""

    arn: str

    def __str__(self) -> str:
        return f"delete certificate {self.arn}"

    def changes(self) -> tuple[Difference, ...]:
        return (Difference("certificate", self.arn, ABSENT),)


@dataclass(frozen=True, slots=True)
class DropChild(_Change):
    """Delete an object of ACK whose thing in AWS is gone, or stays."""

    kind: str

    def __str__(self) -> str:
        return f"delete the {self.kind} object of ACK"


def setting_changes(wanted: DomainSettings, present: DomainSettings | None) -> tuple[Difference, ...]:
    """Where the settings of a domain name differ."""
    fields = {
        "certificateArn": (wanted.certificate_arn, present.certificate_arn if present else ABSENT),
        "endpointType": (wanted.endpoint_type, present.endpoint_type if present else ABSENT),
        "securityPolicy": (wanted.security_policy, present.security_policy if present else ABSENT),
    }
    return tuple(
        Difference(path, before, after) for path, (after, before) in fields.items() if before != after
    )


def mapping_text(mapping: ApiMapping) -> str:
    return f"API {mapping.api_id}, stage {mapping.stage}"
