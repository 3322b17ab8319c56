"""What a kind provides to the process. Commands, flags, controllers and previews are derived from a list of modules.

    class TenantModule(PlannableModule):
        name = "distributiontenant"
        definition = DISTRIBUTION_TENANT
        …
        def build(self, process, values): return tenant_controller(…)

    MODULES = (TenantModule(), …)                   in `cli.kinds` only

All kinds of a process share one `Process`: the cluster, the claims, the clouds. A cloud is set up only if a kind that runs
uses it, so that no credentials are needed for unused clouds.

A module is about one controller. Its kind may be one that we define, which `edgekeeper crds` then prints, or one of others,
such as HTTPRoute; several modules may be about the same kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

from prometheus_client import CollectorRegistry

from edgekeeper.api.definition import CustomKind
from edgekeeper.cloud.aws.account import AwsAccount
from edgekeeper.cloud.cloudflare.accounts import Cloudflare
from edgekeeper.core.conditions import READY
from edgekeeper.core.drift import Policy
from edgekeeper.core.json import JsonObject
from edgekeeper.core.readiness import Readiness, condition_readiness
from edgekeeper.kube.kinds import Key, Kind
from edgekeeper.lifecycle.claims import Claims
from edgekeeper.lifecycle.claims_elsewhere import KindElsewhere
from edgekeeper.lifecycle.controller import CLEANUP_TIMEOUT
from edgekeeper.lifecycle.intervals import Intervals
from edgekeeper.lifecycle.predecessor import PreviousOperator
from edgekeeper.lifecycle.preview import Preview
from edgekeeper.lifecycle.rbac import Rule
from edgekeeper.lifecycle.relations import Details, Reader, Relation
from edgekeeper.lifecycle.remedies import Remedy
from edgekeeper.runtime.contract import Services
from edgekeeper.runtime.controller import Controller

T = TypeVar("T")


class Cloud(StrEnum):
    """A provider that a kind may use."""

    AWS = "aws"
    CLOUDFLARE = "cloudflare"


class Role(StrEnum):
    """A group of controllers that a process can be limited to. Each role has its own Lease."""

    MANAGER = "manager"
    KUBE_WORKER = "kube-worker"
    """Reads the cluster and queues work for Cloudflare. Calls no cloud."""
    CLOUDFLARE_WORKER = "cloudflare-worker"
    """Performs that work. The only role that reads API tokens and calls Cloudflare."""


@dataclass(frozen=True)
class CommonOptions:
    """Options that apply to all kinds."""

    cluster: str = ""
    """The cluster id in ownership marks. Required before anything is created."""
    namespace: str = "default"
    """The namespace of the operator, where an operator that it replaces was installed as well."""
    role: str = ""
    """The role that the process is limited to; empty for all."""
    pod_name: str = ""
    """The pod of this process; empty where it is unknown."""
    operator_deployment: str = ""
    """The operator's own Deployment, where it cannot be found by the owners of the pod."""
    drift_policy: Policy = Policy.ENFORCE
    cleanup_timeout: timedelta = CLEANUP_TIMEOUT
    """How long a deletion may fail before it is abandoned; zero for no limit."""
    max_concurrent: int = 16
    intervals: Intervals = field(default_factory=Intervals)
    drift_interval: timedelta = timedelta(minutes=5)
    """How often what is in Cloudflare is compared with what was applied; zero for never."""
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
    switch: bool = False
    """Whether it is true or false, and true where it stands alone. Then `parse` is not used."""
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
    cloudflare_accounts: Cloudflare | None = None
    made: dict[Callable[..., Any], Any] = field(default_factory=dict)
    """What `once` has made."""

    def once(self, make: Callable[[Process], T]) -> T:
        """What several modules share: made by the first one that asks for it."""
        if make not in self.made:
            self.made[make] = make(self)
        made: T = self.made[make]
        return made

    @property
    def aws(self) -> AwsAccount:
        """The AWS account. Only for kinds that list AWS in their `clouds`."""
        if self.aws_account is None:
            raise ValueError("no kind of this process uses AWS")
        return self.aws_account

    @property
    def cloudflare(self) -> Cloudflare:
        """All accounts of Cloudflare. The process runs it, so that kinds need not."""
        if self.cloudflare_accounts is None:
            raise ValueError("no kind of this process uses Cloudflare")
        return self.cloudflare_accounts


def kind_of(definition: CustomKind) -> Kind:
    """A kind that we define, as requests address it."""
    namespaced = definition.scope == "Namespaced"
    return Kind(definition.group, definition.version, definition.kind, definition.plural, namespaced)


class KindModule(ABC):
    """A kind of the operator, or one of several controllers of a kind."""

    name: ClassVar[str]
    """The name of its controller in flags, metrics and logs, in lower case."""
    definition: ClassVar[CustomKind | None] = None
    """What we define. None for a kind that others define."""
    foreign_kind: ClassVar[Kind | None] = None
    """The kind, where there is no definition."""
    role: ClassVar[Role] = Role.MANAGER
    """The role of its controller."""
    clouds: ClassVar[frozenset[Cloud]]
    flags: ClassVar[tuple[Flag, ...]] = ()
    examples: ClassVar[tuple[str, ...]] = ()
    """Example manifests below `examples/`. Tests apply them and wait until they are ready."""
    written_fields: ClassVar[tuple[tuple[Path, Path], ...]] = ()
    """Fields of the spec that the controller writes, each with the field of the status that has the same value."""
    rules: ClassVar[tuple[Rule, ...]] = ()
    """The RBAC rules that the controller needs. Those that every process needs are not repeated."""
    remedies: ClassVar[tuple[Remedy, ...]] = ()
    """What the reasons in its conditions mean. Those of all kinds are not repeated."""
    predecessor: ClassVar[PreviousOperator | None] = None
    """The operator that the kind replaces, which must not run at the same time."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Further names of a kind of others, for commands."""

    def is_enabled(self, values: FlagValues) -> bool:
        """Whether the flags of the kind let its controller run."""
        return True

    @property
    def judges_readiness(self) -> bool:
        """Whether its objects are ready when `readiness` says so: those of a kind of ours."""
        return self.definition is not None

    @property
    def kind(self) -> Kind:
        """The kind whose objects the controller reconciles."""
        if self.definition is not None:
            return kind_of(self.definition)
        if self.foreign_kind is None:
            raise TypeError(
                f"the module {self.name} says neither which kind it defines nor which it is about"
            )
        return self.foreign_kind

    @abstractmethod
    def build(self, process: Process, values: FlagValues) -> Controller:
        """Create the controller of the kind, without starting it."""

    def readiness(self, obj: JsonObject) -> Readiness:
        """Whether an object is ready, for `edgekeeper up --wait`: by default its condition Ready says so."""
        return condition_readiness(obj, READY)

    def concerns(self, obj: JsonObject) -> bool:
        """Whether the controller has anything to do with an object of a kind of others."""
        return True

    def details(self, obj: JsonObject) -> Details:
        """What `edgekeeper get -o wide` shows of an object."""
        return Details()

    async def relations(self, obj: JsonObject, reader: Reader) -> Sequence[Relation]:
        """The objects that an object depends on, for `edgekeeper explain`: the most likely cause first."""
        return ()


class PlannableModule(KindModule):
    """A module whose objects people may ask a preview of: its controller does more than follow from other objects."""

    @property
    def judges_readiness(self) -> bool:
        """Also of a kind of others, since it makes something of its objects."""
        return True

    @abstractmethod
    async def preview(
        self, process: Process, values: FlagValues, objects: Iterable[JsonObject], keys: Sequence[Key]
    ) -> list[Preview]:
        """What the controller would do for the objects with these keys. `objects` are all objects of the kind.

        Raise PassError if a cloud cannot be read.
        """


class ClaimingModule(KindModule):
    """A module whose objects claim hostnames, which objects of other kinds may claim as well."""

    rules_elsewhere: ClassVar[tuple[Rule, ...]]
    """The RBAC rules that `claims_elsewhere` needs, in a process that does not reconcile the kind."""

    @abstractmethod
    def claims_elsewhere(self, process: Process, values: FlagValues) -> KindElsewhere:
        """Register the claims with a process that does not reconcile the kind, and say what to watch for them."""
