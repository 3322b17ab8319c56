"""What a kind provides to the process. Commands, flags, controllers and previews are derived from a list of modules.

    class TenantModule(KindModule):
        name = "distributiontenant"
        definition = DISTRIBUTION_TENANT
        …
        def build(self, process, values): return tenant_controller(…)

    MODULES = (TenantModule(), …)                   in `cli.kinds` only

All kinds of a process share one `Process`: the cluster, the claims, the clouds. A cloud is set up only if a kind that runs
uses it, so that no credentials are needed for unused clouds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any, ClassVar, Self, TypeAlias

from prometheus_client import CollectorRegistry

from edgekeeper.api.definition import CustomKind
from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.core.conditions import READY
from edgekeeper.core.drift import Policy
from edgekeeper.core.json import JsonObject
from edgekeeper.core.readiness import Readiness, condition_readiness
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.lifecycle.claims import Claims
from edgekeeper.lifecycle.controller import CLEANUP_TIMEOUT
from edgekeeper.lifecycle.intervals import Intervals
from edgekeeper.lifecycle.preview import Preview
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.controller import Controller


class Cloud(StrEnum):
    """A provider that a kind may use."""

    AWS = "aws"


class Role(StrEnum):
    """A group of controllers that a process can be limited to. Each role has its own Lease."""

    MANAGER = "manager"


@dataclass(frozen=True)
class CommonOptions:
    """Options that apply to all kinds."""

    cluster: str = ""
    """The cluster id in ownership marks. Required before anything is created."""
    namespace: str = "default"
    """The namespace of the operator, where an operator that it replaces was installed as well."""
    drift_policy: Policy = Policy.ENFORCE
    cleanup_timeout: timedelta = CLEANUP_TIMEOUT
    """How long a deletion may fail before it is abandoned; zero for no limit."""
    max_concurrent: int = 16
    intervals: Intervals = field(default_factory=Intervals)
    role_arns: frozenset[str] | None = None
    """The AWS roles that objects may name; None for any."""
    hosted_zones: frozenset[str] | None = None
    """The Route 53 zones that objects may name; None for any."""
    hostnames: Mapping[str, tuple[str, ...]] | None = None
    """The domains below which objects may have hostnames, by namespace; None for any."""


@dataclass(frozen=True)
class KindOptions:
    """What the controller of one kind needs of the common options. A kind adds its own."""

    cluster: str = ""
    """The cluster id in ownership marks. Must be set before anything is created."""
    drift_policy: Policy = Policy.ENFORCE
    cleanup_timeout: timedelta = CLEANUP_TIMEOUT
    """How long a deletion may fail before the object is released without clean-up; zero for no limit."""
    max_concurrent: int = 16
    intervals: Intervals = field(default_factory=Intervals)
    predecessor_namespace: str = ""
    """The namespace of the operator that the kind replaces: as long as it runs there, nothing is written."""

    @classmethod
    def of(cls, common: CommonOptions, **own: Any) -> Self:
        """The options of a kind. `own` are those that it adds."""
        return cls(
            cluster=common.cluster,
            drift_policy=common.drift_policy,
            cleanup_timeout=common.cleanup_timeout,
            max_concurrent=common.max_concurrent,
            intervals=common.intervals,
            predecessor_namespace=common.namespace,
            **own,
        )


@dataclass(frozen=True)
class Flag:
    """A command line option of one kind."""

    name: str
    """The flag, such as `--tenant-name-template`."""
    help: str
    metavar: str
    default: str = ""
    multiple: bool = False
    """Whether it may be given several times. Then its value is a tuple."""
    parse: Callable[[str], Any] = str
    """Converts the value. Raises ValueError with a message for the user."""

    @property
    def key(self) -> str:
        return self.name.removeprefix("--").replace("-", "_")


Path: TypeAlias = tuple[str, ...]
"""The path of a field."""
FlagValues: TypeAlias = Mapping[str, Any]
"""The values of flags, by `Flag.key`."""


@dataclass(frozen=True)
class Process:
    """What all kinds of a process share."""

    services: Services
    registry: CollectorRegistry
    options: CommonOptions
    claims: Claims = field(default_factory=Claims)
    aws_account: AwsAccount | None = None

    @property
    def aws(self) -> AwsAccount:
        """The AWS account. Only for kinds that list AWS in their `clouds`."""
        if self.aws_account is None:
            raise ValueError("no kind of this process uses AWS")
        return self.aws_account


def kind_of(definition: CustomKind) -> Kind:
    """A kind that we define, as requests address it."""
    return Kind(definition.group, definition.version, definition.kind, definition.plural)


class KindModule(ABC):
    """A kind of the operator."""

    name: ClassVar[str]
    """The name of its controller in flags, metrics and logs, in lower case."""
    definition: ClassVar[CustomKind]
    role: ClassVar[Role] = Role.MANAGER
    """The role of its controller."""
    clouds: ClassVar[frozenset[Cloud]]
    flags: ClassVar[tuple[Flag, ...]] = ()
    examples: ClassVar[tuple[str, ...]] = ()
    """Example manifests below `examples/`. Tests apply them and wait until they are ready."""
    written_fields: ClassVar[tuple[tuple[Path, Path], ...]] = ()
    """Fields of the spec that the controller writes, each with the field of the status that has the same value."""

    @abstractmethod
    def build(self, process: Process, values: FlagValues) -> Controller:
        """Create the controller of the kind, without starting it."""

    @abstractmethod
    async def preview(
        self, process: Process, values: FlagValues, objects: Iterable[JsonObject], keys: Sequence[Key]
    ) -> list[Preview]:
        """What the controller would do for the objects with these keys. `objects` are all objects of the kind.

        Raise PassError if a cloud cannot be read.
        """

    def readiness(self, obj: JsonObject) -> Readiness:
        """Whether an object is ready, for `edgekeeper up --wait`: by default its condition Ready says so."""
        return condition_readiness(obj, READY)
