"""Everything that a decision about one LambdaPermission depends on, observed in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgekeeper.api.lambda_permission import LambdaPermissionStatus, OwnedStatement
from edgekeeper.cloud.aws.lambda_policy import FunctionPolicy, Statement
from edgekeeper.core.drift import Policy
from edgekeeper.core.errors import Stall, Wait
from edgekeeper.core.steps import Sight
from edgekeeper.lifecycle.claims import Rival


@dataclass(frozen=True, slots=True)
class SeenPolicy:
    """The policy of a function: as it was read, or as we wrote it where IAM denies reading it."""

    statements: Mapping[str, str] = field(default_factory=dict)
    """Fingerprints by id; empty for a statement that cannot be ours."""
    revision_id: str = ""
    exists: bool = True
    """False if there is no such function."""
    is_read: bool = True
    function_arn: str = ""

    @classmethod
    def of(cls, policy: FunctionPolicy) -> SeenPolicy:
        known = {id_: statement.fingerprint for id_, statement in policy.statements.items()}
        arn = ":".join(policy.resource.split(":")[:7])
        return cls({**dict.fromkeys(policy.foreign, ""), **known}, policy.revision_id, function_arn=arn)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One LambdaPermission."""

    uid: str
    generation: int
    status: LambdaPermissionStatus
    policy: Policy
    may_adopt: bool
    may_correct: bool
    deleting: bool
    lost_clusters: frozenset[str] = frozenset()
    """The clusters whose objects are replaced by those of the same namespace and name."""
    function: str = ""
    """The function, with its qualifier; empty while it is not known."""
    problem: Wait | None = None
    """Why it is not known."""
    wanted: tuple[Statement, ...] = ()
    pending: Mapping[str, Wait] = field(default_factory=dict)
    """Permissions whose source is not known yet, and why."""
    inventory: tuple[OwnedStatement, ...] = ()
    rivals: tuple[Rival, ...] = ()
    policies: Mapping[str, SeenPolicy] = field(default_factory=dict)
    """By function: that of the spec, and all of the inventory."""
    refused: Mapping[str, Stall] = field(default_factory=dict)
    """Statements that Lambda has refused in this pass, and why."""
    sight: Sight = Sight.LIVE
    """There is no mirror of policies, so that every observation is live."""

    @property
    def seen(self) -> SeenPolicy:
        """The policy of the function of the spec."""
        return self.policies.get(self.function, SeenPolicy(exists=False))

    @property
    def exists(self) -> bool:
        return self.seen.exists

    def entry(self, function: str, statement_id: str) -> OwnedStatement | None:
        """The inventory entry of a statement."""
        place = (function, statement_id)
        return next((one for one in self.inventory if (one.function, one.statement_id) == place), None)

    def owns(self, entry: OwnedStatement) -> bool:
        """Is the statement of an entry there, and ours? One that was only planned must be exactly as it was planned."""
        present = self.policies[entry.function].statements.get(entry.statement_id)
        return present is not None and (entry.state == "Written" or present == entry.fingerprint)
