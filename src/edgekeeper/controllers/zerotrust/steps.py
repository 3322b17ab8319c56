"""The steps for a task, as values, in the order in which they are usually performed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from edgekeeper.api.zerotrust_task import InventoryItem
from edgekeeper.cloud.cloudflare.models import Application, AttachedPolicy, Policy, ServiceToken
from edgekeeper.cloud.cloudflare.record_plan import RecordChange
from edgekeeper.cloud.cloudflare.tunnel_document import HostnameChange
from edgekeeper.controllers.zerotrust.snapshot import TokenSecret
from edgekeeper.core.delta import ABSENT, Difference
from edgekeeper.core.json import JsonObject
from edgekeeper.core.outcome import Event
from edgekeeper.core.paths import field_path
from edgekeeper.core.steps import Effect, Sight, Step


class _Recording(Step):
    """Only the status is written."""

    effect: ClassVar = Effect.RECORD
    at_once: ClassVar = True
    answered: ClassVar = False


class _Call(Step):
    """A call to Cloudflare, whose answer says what there is now."""

    effect: ClassVar = Effect.CHANGE
    at_once: ClassVar = True


class _LiveCall(_Call):
    """A call about something that must be read live before."""

    needs: ClassVar = Sight.LIVE


@dataclass(frozen=True, slots=True)
class _Change(_LiveCall):
    """A call that changes fields of something."""

    differences: tuple[Difference, ...] = field(default=(), kw_only=True)

    def changes(self) -> tuple[Difference, ...]:
        return self.differences


class _SecretWrite(_Call):
    """A Secret is written, and Cloudflare is not called."""

    answered: ClassVar = False


@dataclass(frozen=True, slots=True)
class _Submission(Step):
    """Changes are handed in to a writer, which writes them together with others."""

    effect: ClassVar = Effect.CHANGE
    answered: ClassVar = False

    differences: tuple[Difference, ...] = field(default=(), kw_only=True)

    def changes(self) -> tuple[Difference, ...]:
        return self.differences


@dataclass(frozen=True, slots=True)
class Claim(_Recording):
    """Record in the status that this worker carries out the task, and what is known to be there."""

    worker: str

    def __str__(self) -> str:
        return "claim the task"


@dataclass(frozen=True, slots=True)
class Adopt(Claim):
    """Claim the task, and record in the status what a lost cluster has left for the route. Later steps mark it as ours."""

    things: tuple[str, ...]

    def __str__(self) -> str:
        return f"adopt {', '.join(self.things)}"

    def event(self) -> Event:
        return Event("Normal", "Adopted", f"adopted {', '.join(self.things)}: {self.reason}")


# Service tokens


@dataclass(frozen=True, slots=True)
class AnnounceToken(_Recording):
    """Record in the status that a service token of this name is about to be created: tokens bear no mark."""

    needs: ClassVar = Sight.LIVE  # so that one of that name which is gone is not in the inventory any more
    name: str

    def __str__(self) -> str:
        return f"record in the status that service token {self.name} is about to be created"


@dataclass(frozen=True, slots=True)
class CreateToken(_Call):
    """Create the service token and store its credentials."""

    name: str
    duration: str

    def __str__(self) -> str:
        return f"create service token {self.name}"

    def changes(self) -> tuple[Difference, ...]:
        return (Difference("serviceAuth", ABSENT, self.name),)


@dataclass(frozen=True, slots=True)
class RotateToken(_LiveCall):
    """Replace the client secret and store it."""

    token: ServiceToken
    old_until: datetime
    is_due: bool = False
    """Does somebody ask for it, or the schedule?"""

    def __str__(self) -> str:
        return f"rotate service token {self.token.name}"


@dataclass(frozen=True, slots=True)
class UpdateToken(_LiveCall):
    """Change name or duration of the service token."""

    token: ServiceToken
    name: str
    duration: str

    def __str__(self) -> str:
        return f"update service token {self.token.name}"

    def changes(self) -> tuple[Difference, ...]:
        before = (self.token.name, self.token.duration, self.token.enabled)
        after = (self.name, self.duration, True)
        return tuple(
            Difference(f"serviceAuth.{field}", old, new)
            for field, old, new in zip(("name", "duration", "enabled"), before, after, strict=True)
            if old != new
        )


@dataclass(frozen=True, slots=True)
class RefreshToken(_LiveCall):
    """Let the service token live for its whole duration again."""

    token: ServiceToken

    def __str__(self) -> str:
        return f"refresh service token {self.token.name}"


@dataclass(frozen=True, slots=True)
class MarkSecret(_SecretWrite):
    """Put our mark on a Secret that holds the credentials of our token, or take it off."""

    secret: TokenSecret
    owner: str | None

    def __str__(self) -> str:
        return f"{'mark' if self.owner else 'unmark'} Secret {self.secret.key}"


@dataclass(frozen=True, slots=True)
class DeleteToken(_LiveCall):
    id: str
    name: str

    def __str__(self) -> str:
        return f"delete service token {self.name or self.id}"


@dataclass(frozen=True, slots=True)
class DeleteSecret(_SecretWrite):
    secret: TokenSecret

    def __str__(self) -> str:
        return f"delete Secret {self.secret.key}"


# Applications and policies


@dataclass(frozen=True, slots=True)
class WriteTokenPolicy(_Change):
    """Create or change the reusable policy that lets the service token in."""

    policy: Policy | None
    fields: JsonObject

    def __str__(self) -> str:
        return f"{'change' if self.policy else 'create'} policy {self.fields['name']}"


@dataclass(frozen=True, slots=True)
class CreateApplication(_Call):
    """Create the application with its policies, in one call."""

    settings: JsonObject
    policies: tuple[JsonObject, ...]

    def __str__(self) -> str:
        return f"create Access application for {self.settings['domain']}"

    def changes(self) -> tuple[Difference, ...]:
        return (Difference("application", ABSENT, self.settings["domain"]),)


@dataclass(frozen=True, slots=True)
class PutApplication(_Change):
    """Change the settings of the application, or which policies it has."""

    application: Application
    settings: JsonObject
    policies: tuple[JsonObject, ...]

    def __str__(self) -> str:
        fields = ", ".join(dict.fromkeys(difference.path for difference in self.differences))
        return f"change Access application of {self.application.domain}: {fields}"


@dataclass(frozen=True, slots=True)
class WritePolicy(_Change):
    """Add a policy to the application, or change one in place: its id stays."""

    application: Application
    policy: AttachedPolicy | None
    fields: JsonObject

    def __str__(self) -> str:
        verb = "change" if self.policy else "add"
        return f"{verb} policy {self.fields['name']} of the Access application of {self.application.domain}"


@dataclass(frozen=True, slots=True)
class RemovePolicy(_LiveCall):
    application: Application
    policy: AttachedPolicy

    def __str__(self) -> str:
        return f"remove policy {self.policy.name} of the Access application of {self.application.domain}"

    def changes(self) -> tuple[Difference, ...]:
        return (Difference(field_path("policies", self.policy.name), self.policy.decision, ABSENT),)


@dataclass(frozen=True, slots=True)
class DeleteApplication(_LiveCall):
    id: str
    domain: str

    def __str__(self) -> str:
        return f"delete Access application of {self.domain or self.id}"


@dataclass(frozen=True, slots=True)
class DeleteTokenPolicy(_LiveCall):
    id: str
    name: str

    def __str__(self) -> str:
        return f"delete policy {self.name or self.id}"


# Tunnels and zones


@dataclass(frozen=True, slots=True)
class RecordHostnames(_Recording):
    """Record in the status which hostnames of the tunnel are about to be ours: rules bear no mark."""

    tunnel: str
    hostnames: tuple[str, ...]

    def __str__(self) -> str:
        return f"record in the status that {', '.join(self.hostnames)} will be served by tunnel {self.tunnel}"


@dataclass(frozen=True, slots=True)
class WriteRules(_Submission):
    """Submit the rules of hostnames to the writer of the tunnel."""

    tunnel: str
    hostnames: tuple[HostnameChange, ...]

    def __str__(self) -> str:
        verb = "write" if any(change.rules for change in self.hostnames) else "remove"
        names = ", ".join(change.hostname for change in self.hostnames)
        return f"{verb} tunnel rules of {names}"


@dataclass(frozen=True, slots=True)
class WriteRecords(_Submission):
    """Submit the records of hostnames to the writer of their zone."""

    zone: str
    records: tuple[RecordChange, ...]

    def __str__(self) -> str:
        verb = "write" if any(change.wanted for change in self.records) else "remove"
        return f"{verb} DNS records of {', '.join(change.name for change in self.records)}"


@dataclass(frozen=True, slots=True)
class AwaitWrites(Step):
    """Wait until submitted changes are written."""

    effect: ClassVar = Effect.WAIT
    answered: ClassVar = False

    def __str__(self) -> str:
        return "wait until the changes are written together with others"


@dataclass(frozen=True, slots=True)
class Forget(_Recording):
    """Drop things from the inventory that are not provably ours: they are left as they are."""

    needs: ClassVar = Sight.LIVE
    items: tuple[InventoryItem, ...]

    def __str__(self) -> str:
        return f"leave {', '.join(f'{item.kind} {item.name or item.id}' for item in self.items)} alone"
