"""A kind as the process knows it: commands, flags, controllers and previews follow from a list of these.

    class TenantModule(KindModule):
        name = "distributiontenant"
        definition = DISTRIBUTION_TENANT
        …
        @abstractmethod
    def build(self, process, values): return tenant_controller(…)

    MODULES = (TenantModule(), …)                   in `cli.kinds`, and nowhere else

What all kinds of a process share is one `Process`: the cluster, the register of claims, the clouds. A cloud is there only
if a kind that runs uses it, so that nobody needs credentials for a cloud that no kind of the process is about.
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
    """A part of the work that a process may be limited to. Each role has a Lease of its own."""

    MANAGER = "manager"


@dataclass(frozen=True)
class CommonOptions:
    """What operators choose for all kinds."""

    cluster: str = ""
    """The id that marks what we create as this cluster's. There must be one before anything is created."""
    namespace: str = "default"
    """The operator's own. Operators that we replace were installed there."""
    drift_policy: Policy = Policy.ENFORCE
    cleanup_timeout: timedelta = CLEANUP_TIMEOUT
    """After which a deletion that cannot be finished is given up; zero for never."""
    max_concurrent: int = 16
    intervals: Intervals = field(default_factory=Intervals)
    role_arns: frozenset[str] | None = None
    """The AWS roles that objects may name; None for any. So for the next ones."""
    hosted_zones: frozenset[str] | None = None
    hostnames: Mapping[str, tuple[str, ...]] | None = None
    """By namespace, the domains below which its objects may have hostnames."""


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
    """An option of the command line that is about one kind."""

    name: str
    """As it is written: `--tenant-name-template`."""
    help: str
    metavar: str
    default: str = ""
    multiple: bool = False
    """May it be given several times? Then its value is a tuple."""
    parse: Callable[[str], Any] = str
    """Raises ValueError with a message that says what is wrong."""

    @property
    def key(self) -> str:
        return self.name.removeprefix("--").replace("-", "_")


Path: TypeAlias = tuple[str, ...]
"""Of a field in an object."""
FlagValues: TypeAlias = Mapping[str, Any]
"""By key."""


@dataclass(frozen=True)
class Process:
    """What the kinds of a process share."""

    services: Services
    registry: CollectorRegistry
    options: CommonOptions
    claims: Claims = field(default_factory=Claims)
    aws_account: AwsAccount | None = None

    @property
    def aws(self) -> AwsAccount:
        """The account. A kind that asks for it says so in its `clouds`."""
        if self.aws_account is None:
            raise ValueError("no kind of this process uses AWS")
        return self.aws_account


def kind_of(definition: CustomKind) -> Kind:
    """A kind that we define, as requests address it."""
    return Kind(definition.group, definition.version, definition.kind, definition.plural)


class KindModule(ABC):
    """One kind."""

    name: ClassVar[str]
    """Of its controller, in lower case: in flags, metrics and logs."""
    definition: ClassVar[CustomKind]
    role: ClassVar[Role] = Role.MANAGER
    """The part of the work that its controller belongs to."""
    clouds: ClassVar[frozenset[Cloud]]
    flags: ClassVar[tuple[Flag, ...]] = ()
    examples: ClassVar[tuple[str, ...]] = ()
    """Manifests of the kind below `examples/`, which the embedded server accepts and the operator makes ready."""
    written_fields: ClassVar[tuple[tuple[Path, Path], ...]] = ()
    """Fields of the spec that the controller writes by itself, each with the field of the status that has the same."""

    @abstractmethod
    def build(self, process: Process, values: FlagValues) -> Controller:
        """The controller of the kind. Nothing runs yet."""

    @abstractmethod
    async def preview(
        self, process: Process, values: FlagValues, objects: Iterable[JsonObject], keys: Sequence[Key]
    ) -> list[Preview]:
        """What the controller would do for some of these objects, which are all of the kind that there are.

        Raise PassError where a cloud cannot be looked at.
        """

    def readiness(self, obj: JsonObject) -> Readiness:
        """Whether an object is ready, for `edgekeeper up --wait`: by default its condition Ready says so."""
        return condition_readiness(obj, READY)
