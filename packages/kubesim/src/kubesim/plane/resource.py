"""What the server knows about one resource in one version: names, scope, schema, columns and its special rules.

Built-in kinds and CustomResourceDefinitions both become `Resource` values; nothing behind the registry asks which
of the two it deals with, except through the fields declared here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from edgekeeper.core.json import JsonObject
from edgekeeper.schema.field_error import FieldError

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class GroupResource:
    """The identity of stored objects: versions of one resource share it."""

    group: str
    plural: str

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True, slots=True)
class Column:
    """A printer column: how `kubectl get` shows one aspect of an object. Priority 0 shows always, 1 with `-o wide`."""

    name: str
    cell: Callable[[JsonObject], Any]
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Scale:
    """Where the scale subresource finds its numbers: paths such as `("spec", "replicas")`."""

    spec_replicas: tuple[str, ...]
    status_replicas: tuple[str, ...]
    selector: tuple[str, ...] | None = None


class Mismatch(Protocol):
    """A value of a type that its field cannot hold."""

    @property
    def message(self) -> str: ...


class Schema(Protocol):
    """The compiled schema of one kind and version. See `edgekeeper.schema`."""

    source: JsonObject
    """The OpenAPI schema it was compiled from, for publication and for server-side apply."""

    def zero(self) -> JsonObject | None:
        """What an object is before a client says anything, where that is not nothing: the empty value of its type."""

    def type_errors(self, value: JsonObject) -> Sequence[Mismatch]:
        """Return what could not even be decoded into a built-in kind; custom resources are validated instead."""

    def prune(self, value: JsonObject) -> list[str]:
        """Remove unknown fields in place; return their paths, as strict decoding reports them."""

    def default(self, value: JsonObject) -> None:
        """Fill in defaults in place."""

    def validate(self, value: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
        """Return what is wrong with `value`; `old` is the object it replaces, for rules that compare."""

    def validate_status(self, value: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
        """The same for a write of the status subresource, which vouches for the status alone."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """Rules a kind has beyond its schema. Each hook has a do-nothing default; objects are changed in place."""

    default: Callable[[JsonObject], None] = lambda _: None
    """Fill in defaults that the schema cannot express."""
    prepare_create: Callable[[JsonObject], None] = lambda _: None
    """Reset or derive fields that clients may not choose at creation."""
    prepare_update: Callable[[JsonObject, JsonObject], None] = lambda _new, _old: None
    """Carry over fields that an update may not touch: `(new, old)`."""
    prepare_delete: Callable[[JsonObject], None] = lambda _: None
    """Note on an object that it is about to go: finalizers and status that its own controller works from."""
    validate: Callable[[JsonObject, JsonObject | None], list[FieldError]] = lambda _new, _old: []
    """Return violations that the schema cannot express: `(new, old or None)`."""
    validate_status: Callable[[JsonObject, JsonObject | None], list[FieldError]] = lambda _new, _old: []
    """The same for a write to the status."""
    validate_name: Callable[[str], Sequence[str]] | None = None
    """Replace the default name check (DNS-1123 subdomain): return the reasons why a name is not valid."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource in one version."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    schema: Schema
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    list_kind: str = ""
    status: bool = False
    """Has a status subresource: writes of the object ignore status, writes of status ignore the rest."""
    scale: Scale | None = None
    columns: tuple[Column, ...] = ()
    """Printer columns after `Name`; empty means `Age` alone."""
    strategy: Strategy = field(default_factory=Strategy)
    storage: GroupResource | None = None
    """Where its objects live when another group serves the same ones (events); else its own group and plural."""
    storage_version: str = ""
    """The version objects are stored in, when conversion hooks are set."""
    to_storage: Callable[[JsonObject], JsonObject] | None = None
    from_storage: Callable[[JsonObject], JsonObject] | None = None
    """Conversions between this version and the stored one; absent where only `apiVersion` differs."""
    create_on_update: bool = False
    """A replacement of a missing object creates it."""
    unconditional_update: bool = True
    """A replacement may leave the resourceVersion out and overwrite whatever is there."""
    shows_deleted: bool = False
    """A deletion answers the object that is gone, not just a `Status`."""
    custom: bool = False
    """Defined by a CustomResourceDefinition."""
    tracks_generation: bool = True
    """`metadata.generation` counts spec changes; kinds without a desired state have none."""
    selectable_fields: tuple[str, ...] = ()
    """Fields that field selectors may name, beside `metadata.name` and `metadata.namespace`."""
    deprecation_warning: str = ""

    # What follows from the above is asked for several times in every request, so it is worked out once.
    api_version: str = field(init=False)
    group_resource: GroupResource = field(init=False)
    stored_as: GroupResource = field(init=False)

    def __post_init__(self) -> None:
        own = GroupResource(self.group, self.plural)
        object.__setattr__(
            self, "api_version", f"{self.group}/{self.version}" if self.group else self.version
        )
        object.__setattr__(self, "group_resource", own)
        object.__setattr__(self, "stored_as", self.storage or own)

    @property
    def qualified_plural(self) -> str:
        return str(self.group_resource)
