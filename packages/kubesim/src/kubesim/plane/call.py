"""One call on one resource: who asks for what, with which options, on which cluster.

`Cluster` is what outlives a call: the store, the registry, the clock, the source of randomness and the admission
chain. Verbs take a `Call` and answer a `Response`; nothing else is passed around.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any

from edgekeeper.core.clock import timestamp
from edgekeeper.core.json import JsonObject
from edgekeeper.schema.field_error import FieldError, invalid_value, required, too_long, unsupported_value
from edgekeeper.schema.gotext import parse_integer
from kubesim.plane.errors import StatusError, bad_request, invalid
from kubesim.plane.negotiate import Wanted, negotiate
from kubesim.plane.registry import Registry
from kubesim.plane.request import Request, User
from kubesim.plane.requestinfo import RequestInfo
from kubesim.plane.resource import GroupResource, Resource
from kubesim.plane.store import Collection, Item, Key, Store

if TYPE_CHECKING:
    from kubesim.plane.admission import Admission

NAMESPACES = GroupResource("", "namespaces")

_LONGEST_MANAGER = 128
_DIRECTIVES = ("", "Ignore", "Strict", "Warn")


@dataclass(slots=True)
class Cluster:
    """The state and the services that every call shares."""

    store: Store
    registry: Registry
    now: Callable[[], datetime]
    random: Random
    admission: Admission

    def timestamp(self) -> str:
        """Now, as Kubernetes writes times: UTC, whole seconds."""
        return timestamp(self.now())

    def new_uid(self) -> str:
        """A version 4 UUID from the injected randomness, so that a seeded run replays exactly."""
        bits = (self.random.getrandbits(128) & ~(0xF << 76) | 0x4 << 76) & ~(0x3 << 62) | 0x2 << 62
        digits = f"{bits:032x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


@dataclass
class Call:
    """A request that has found its resource."""

    cluster: Cluster
    request: Request
    info: RequestInfo
    resource: Resource
    user: User
    warnings: list[str] = field(default_factory=list)

    @property
    def collection(self) -> Collection:
        return self.cluster.store.collection(self.resource.stored_as)

    @property
    def namespace(self) -> str:
        return self.info.namespace if self.resource.namespaced else ""

    @property
    def key(self) -> Key:
        return (self.namespace, self.info.name)

    @property
    def subresource(self) -> str:
        return self.info.subresource

    def negotiated(self) -> Wanted:
        """Return the representation to answer in, or raise a 406."""
        return negotiate(self.request.header("accept"), protobuf=not self.resource.custom)

    def current(self) -> Item | None:
        return self.collection.items.get(self.key)

    @property
    def dry_run(self) -> bool:
        values = self.request.query.get("dryRun", [])
        wrong = [value for value in values if value != "All"]
        if wrong:
            raise self.invalid_options([unsupported_value("dryRun", wrong, ["All"])])
        return bool(values)

    @property
    def field_validation(self) -> str:
        """Ignore, Warn or Strict; Warn is the server's default."""
        directive = self.request.parameter("fieldValidation")
        if directive not in _DIRECTIVES:
            raise self.invalid_options([unsupported_value("fieldValidation", directive, _DIRECTIVES)])
        return directive or "Warn"

    @property
    def field_manager(self) -> str:
        """The manager to record: as given, else the first word of the user agent."""
        named = self.request.parameter("fieldManager")
        if len(named) > _LONGEST_MANAGER:
            raise self.invalid_options([too_long("fieldManager", _LONGEST_MANAGER)])
        if not named.isprintable():
            problem = invalid_value("fieldManager", named, "should only contain printable characters")
            raise self.invalid_options([problem])
        agent = self.request.header("user-agent") or "unknown"
        return named or agent.split("/", 1)[0][:_LONGEST_MANAGER]

    def require_manager(self) -> None:
        if not self.request.parameter("fieldManager"):
            raise self.invalid_options([required("fieldManager", "is required for apply patch")])

    def flag(self, name: str) -> bool:
        """Read a boolean query parameter; anything but false and 0 counts as true, as in Kubernetes."""
        return self.request.parameter(name).lower() not in ("false", "0", "")

    def number(self, name: str) -> int:
        """Read an integer query parameter; absent is zero."""
        text = self.request.parameter(name)
        if not text:
            return 0
        try:
            return parse_integer(text)
        except ValueError as error:
            raise bad_request(str(error)) from error

    def invalid_options(self, errors: list[FieldError]) -> StatusError:
        kind = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}
        return invalid("meta.k8s.io", kind.get(self.info.verb, "DeleteOptions"), "", errors)

    def invalid(self, name: str, errors: list[FieldError]) -> StatusError:
        return invalid(self.resource.stored_as.group, self.resource.kind, name, errors)

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def in_own_version(self, item: Item) -> JsonObject:
        """Decode an item into the version that was asked for, with `apiVersion` and `kind`."""
        tree = item.decode()
        if self.resource.from_storage is not None:
            tree = self.resource.from_storage(tree)
        return {"apiVersion": self.resource.api_version, "kind": self.resource.kind, **tree}

    def in_stored_version(self, tree: JsonObject) -> JsonObject:
        return self.resource.to_storage(tree) if self.resource.to_storage is not None else tree


def meta_of(tree: JsonObject) -> dict[str, Any]:
    """The metadata of an object that has passed the decoder, where it always is an object."""
    metadata: dict[str, Any] = tree["metadata"]
    return metadata
