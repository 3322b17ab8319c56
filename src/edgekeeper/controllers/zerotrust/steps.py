"""The steps for a task, as values, in the order in which they are usually performed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from edgekeeper.api.zerotrust_task import InventoryItem
from edgekeeper.cloud.cloudflare.models import Application, AttachedPolicy, Policy, ServiceToken
from edgekeeper.cloud.cloudflare.record_plan import RecordChange
from edgekeeper.cloud.cloudflare.tunnel_document import HostnameChange
from edgekeeper.controllers.zerotrust.snapshot import TokenSecret
from edgekeeper.core.delta import ABSENT, Difference
from edgekeeper.core.json import JsonObject
from edgekeeper.core.steps import Effect, Sight, Step


@dataclass(frozen=True, slots=True)
class Claim(Step):
    """Record in the status that this worker carries out the task, and what is known to be there."""

    effect: ClassVar = Effect.RECORD
    at_once: ClassVar = True
    answered: ClassVar = False
    worker: str

    def __str__(self) -> str:
        return f"claim the task for {self.worker}"


# Service tokens


@dataclass(frozen=True, slots=True)
class AnnounceToken(Step):
    """Record in the status that a service token of this name is about to be created: tokens bear no mark."""

    effect: ClassVar = Effect.RECORD
    needs: ClassVar = Sight.LIVE  # so that one of that name which is gone is not in the inventory any more
    at_once: ClassVar = True
    answered: ClassVar = False
    name: str

    def __str__(self) -> str:
        return f"record in the status that service token {self.name} is about to be created"


@dataclass(frozen=True, slots=True)
class CreateToken(Step):
    """Create the service token and store its credentials."""

    effect: ClassVar = Effect.CHANGE
    at_once: ClassVar = True
    name: str
    duration: str

    def __str__(self) -> str:
        return f"create service token {self.name}"

    def changes(self) -> tuple[Difference, ...]:
        return (Difference("serviceToken", ABSENT, self.name),)


@dataclass(frozen=True, slots=True)
class RotateToken(Step):
    """Replace the client secret and store it."""

    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    at_once: ClassVar = True
    token: ServiceToken
    old_until: datetime
    is_due: bool = False
    """Does somebody ask for it, or the schedule?"""

    def __str__(self) -> str:
        return f"rotate service token {self.token.name}"


@dataclass(frozen=True, slots=True)
class UpdateToken(Step):
    """Change name or duration of the service token."""

    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    at_once: ClassVar = True
    token: ServiceToken
    name: str
    duration: str

    def __str__(self) -> str:
        return f"update service token {self.token.name}"

    def changes(self) -> tuple[Difference, ...]:
        before, after = (self.token.name, self.token.duration), (self.name, self.duration)
        return tuple(
            Difference(f"serviceToken.{field}", old, new)
            for field, old, new in zip(("name", "duration"), before, after, strict=True)
            if old != new
        )


@dataclass(frozen=True, slots=True)
class RefreshToken(Step):
    """Let the service token live for its whole duration again."""

    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    at_once: ClassVar = True
    token: ServiceToken

    def __str__(self) -> str:
        return f"refresh service token {self.token.name}"


@dataclass(frozen=True, slots=True)
class MarkSecret(Step):
    """Put our mark on a Secret that holds the credentials of our token, or take it off."""

    effect: ClassVar = Effect.CHANGE
    at_once: ClassVar = True
    answered: ClassVar = False
    secret: TokenSecret
    owner: str | None

    def __str__(self) -> str:
        return f"{'mark' if self.owner else 'unmark'} Secret {self.secret.key}"


@dataclass(frozen=True, slots=True)
class DeleteToken(Step):
    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    at_once: ClassVar = True
    id: str
    name: str

    def __str__(self) -> str:
        return f"delete service token {self.name or self.id}"


@dataclass(frozen=True, slots=True)
class DeleteSecret(Step):
    effect: ClassVar = Effect.CHANGE
    at_once: ClassVar = True
    answered: ClassVar = False
    secret: TokenSecret

    def __str__(self) -> str:
        return f"delete Secret {self.secret.key}"


# Applications and policies


@dataclass(frozen=True, slots=True)
class WriteTokenPolicy(Step):
    """Create or change the reusable policy that lets the service token in."""

    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    at_once: ClassVar = True
    policy: Policy | None
    fields: JsonObject
    differences: tuple[Difference, ...] = ()

    def __str__(self) -> str:
        return f"{'change' if self.policy else 'create'} policy {self.fields['name']}"

    def changes(self) -> tuple[Difference, ...]:
        return self.differences


@dataclass(frozen=True, slots=True)
class CreateApplication(Step):
    """Create the application with its policies, in one call."""

    effect: ClassVar = Effect.CHANGE
    at_once: ClassVar = True
    settings: JsonObject
    policies: tuple[JsonObject, ...]

    def __str__(self) -> str:
        return f"create Access application for {self.settings['domain']}"

    def changes(self) -> tuple[Difference, ...]:
        return (Difference("application", ABSENT, self.settings["domain"]),)


@dataclass(frozen=True, slots=True)
class PutApplication(Step):
    """Change the settings of the application, or which policies it has."""

    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    at_once: ClassVar = True
    application: Application
    settings: JsonObject
    policies: tuple[JsonObject, ...]
    differences: tuple[Difference, ...]

    def __str__(self) -> str:
        fields = ", ".join(dict.fromkeys(difference.path for difference in self.differences))
        return f"change Access application of {self.application.domain}: {fields}"

    def changes(self) -> tuple[Difference, ...]:
        return self.differences


@dataclass(frozen=True, slots=True)
class WritePolicy(Step):
    """Add a policy to the application, or change one in place: its id stays."""

    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    at_once: ClassVar = True
    application: Application
    policy: AttachedPolicy | None
    fields: JsonObject
    differences: tuple[Difference, ...]

    def __str__(self) -> str:
        verb = "change" if self.policy else "add"
        return f"{verb} policy {self.fields['name']} of the Access application of {self.application.domain}"

    def changes(self) -> tuple[Difference, ...]:
        return self.differences


@dataclass(frozen=True, slots=True)
class RemovePolicy(Step):
    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    at_once: ClassVar = True
    application: Application
    policy: AttachedPolicy

    def __str__(self) -> str:
        return f"remove policy {self.policy.name} of the Access application of {self.application.domain}"


@dataclass(frozen=True, slots=True)
class DeleteApplication(Step):
    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    at_once: ClassVar = True
    id: str
    domain: str

    def __str__(self) -> str:
        return f"delete Access application of {self.domain or self.id}"


@dataclass(frozen=True, slots=True)
class DeleteTokenPolicy(Step):
    effect: ClassVar = Effect.CHANGE
    needs: ClassVar = Sight.LIVE
    at_once: ClassVar = True
    id: str
    name: str

    def __str__(self) -> str:
        return f"delete policy {self.name or self.id}"


# Tunnels and zones


@dataclass(frozen=True, slots=True)
class RecordHostnames(Step):
    """Record in the status which hostnames of the tunnel are about to be ours: rules bear no mark."""

    effect: ClassVar = Effect.RECORD
    at_once: ClassVar = True
    answered: ClassVar = False
    tunnel: str
    hostnames: tuple[str, ...]

    def __str__(self) -> str:
        return f"record in the status that {', '.join(self.hostnames)} will be served by tunnel {self.tunnel}"


@dataclass(frozen=True, slots=True)
class WriteRules(Step):
    """Submit the rules of hostnames to the writer of the tunnel."""

    effect: ClassVar = Effect.CHANGE
    answered: ClassVar = False
    tunnel: str
    hostnames: tuple[HostnameChange, ...]

    def __str__(self) -> str:
        verb = "write" if any(change.rules for change in self.hostnames) else "remove"
        names = ", ".join(change.hostname for change in self.hostnames)
        return f"{verb} tunnel rules of {names}"


@dataclass(frozen=True, slots=True)
class WriteRecords(Step):
    """Submit the records of hostnames to the writer of their zone."""

    effect: ClassVar = Effect.CHANGE
    answered: ClassVar = False
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
class Forget(Step):
    """Drop things from the inventory that are not provably ours: they are left as they are."""

    effect: ClassVar = Effect.RECORD
    needs: ClassVar = Sight.LIVE
    at_once: ClassVar = True
    answered: ClassVar = False
    items: tuple[InventoryItem, ...]

    def __str__(self) -> str:
        return f"leave {', '.join(f'{item.kind} {item.name or item.id}' for item in self.items)} alone"
