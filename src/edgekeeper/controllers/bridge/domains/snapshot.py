"""Everything that a decision about one APIGatewayDomain depends on, observed in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from edgekeeper.api.bridge import APIGatewayDomainSpec, APIGatewayDomainStatus
from edgekeeper.cloud.aws.acm import Certificate
from edgekeeper.cloud.aws.apigateway import ApiMapping, DomainSettings, GatewayDomain
from edgekeeper.cloud.aws.dns.records import normalise_name
from edgekeeper.cloud.aws.dns.state import RecordState
from edgekeeper.controllers.bridge.ack import (
    ADOPTION_POLICY,
    RECOVERABLE,
    TERMINAL,
    condition_message,
    is_synced,
    metadata,
)
from edgekeeper.controllers.bridge.cluster import ApiTarget
from edgekeeper.core.drift import Policy
from edgekeeper.core.errors import PassError
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.core.ownership import Owner, Ownership, is_mine, parse_tags
from edgekeeper.core.steps import Sight
from edgekeeper.lifecycle.adoption import may_adopt
from edgekeeper.lifecycle.claims import Rival

DOMAIN, MAPPING, CERTIFICATE = "DomainName", "APIMapping", "Certificate"
"""The kinds of ACK objects that are made in `ack` mode, as keys of `Snapshot.children`."""


@dataclass(frozen=True, slots=True)
class Child:
    """An object of ACK that stands for something of ours."""

    tree: JsonObject
    is_ours: bool
    """Whether its controller is our object."""

    @property
    def spec(self) -> JsonObject:
        return dig_object(self.tree, "spec")

    @property
    def is_synced(self) -> bool:
        return is_synced(self.tree)

    @property
    def is_going(self) -> bool:
        """Is it being deleted?"""
        return dig(self.tree, "metadata", "deletionTimestamp") is not None

    @property
    def is_adopting(self) -> bool:
        return dig(self.tree, "metadata", "annotations", ADOPTION_POLICY) is not None

    @property
    def trouble(self) -> str:
        """Why ACK does not make it; empty if it says nothing."""
        return condition_message(self.tree, TERMINAL) or condition_message(self.tree, RECOVERABLE) or ""

    @property
    def is_terminal(self) -> bool:
        return condition_message(self.tree, TERMINAL) is not None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One APIGatewayDomain: what is asked for, what is there, and the results of pending record changes."""

    owner: Owner
    generation: int
    spec: APIGatewayDomainSpec
    status: APIGatewayDomainStatus
    policy: Policy
    may_adopt: bool
    may_correct: bool
    deleting: bool
    region: str = ""
    rivals: tuple[Rival, ...] = ()
    refusals: tuple[str, ...] = ()
    """What the limits of administrators do not allow in this spec, as messages."""
    api: ApiTarget | None = None
    problem: PassError | None = None
    """Why the API is not known."""
    certificate: Certificate | None = None
    """The certificate that the spec asks for: found, named, or requested."""
    is_valid: bool = False
    """Is that certificate issued, and has it not expired?"""
    requested: Certificate | None = None
    """The certificate that was requested for this object, whether or not it is still asked for."""
    inherits_certificate: bool = False
    """Has a lost cluster left that certificate, and does it still have the tags of that cluster?"""
    domain: GatewayDomain | None = None
    mappings: tuple[ApiMapping, ...] = ()
    zone_id: str = ""
    zone_problem: PassError | None = None
    """Why it is not known in which hosted zone the records belong."""
    records: RecordState = field(default_factory=RecordState)
    children: Mapping[str, Child | None] | None = None
    """In `ack` mode the objects of ACK, by kind; None in `direct` mode."""
    sight: Sight = Sight.LIVE
    """API Gateway is read in every pass."""

    @property
    def name(self) -> str:
        """The domain name."""
        return normalise_name(self.spec.domain)

    @property
    def exists(self) -> bool:
        return self.domain is not None

    @property
    def whose(self) -> Ownership:
        """Who owns the domain name, by its tags."""
        return is_mine(parse_tags(self.domain.tags), self.owner) if self.domain else Ownership.UNMARKED

    @property
    def is_managed(self) -> bool:
        """Is the domain name ours, so that it may be changed and deleted?"""
        return self.domain is not None and self.whose is Ownership.MINE

    @property
    def may_take(self) -> bool:
        """May a domain name that is not ours become ours? So it is if the object may adopt it, or if ack-bridge made it."""
        if self.whose is Ownership.UNMARKED and self._is_inherited:
            return True
        return may_adopt(self.whose, is_wished=self.may_adopt)

    @property
    def inherits(self) -> bool:
        """Has a lost cluster left the domain name or its certificate, and is that not marked as ours yet?"""
        return self.whose is Ownership.INHERITED or self.inherits_certificate

    @property
    def is_anothers(self) -> bool:
        """Is the domain name that of another object, by its tags?"""
        return self.whose is Ownership.OTHERS

    @property
    def _is_inherited(self) -> bool:
        """Does an object of ACK that belongs to ours stand for exactly this domain name? Then ack-bridge created it."""
        child, domain = self.child(DOMAIN), self.domain
        if child is None or domain is None or not child.is_ours:
            return False
        return metadata(child.tree, "arn") == domain.arn

    @property
    def is_refused(self) -> bool:
        return bool(self.rivals or self.refusals or self.problem)

    @property
    def settings(self) -> DomainSettings | None:
        """The wanted settings of the domain name; None while there is no certificate for it."""
        if self.certificate is None or not self.is_valid:
            return None
        return DomainSettings(self.certificate.arn, self.spec.endpoint_type, self.spec.security_policy)

    @property
    def wanted_mapping(self) -> ApiMapping | None:
        """The wanted mapping, without an id."""
        if self.api is None:
            return None
        return ApiMapping("", self.api.id, self.spec.stage, self.spec.api_mapping_key)

    @property
    def mapping(self) -> ApiMapping | None:
        """The mapping that the domain name has for the key of the spec."""
        key = self.spec.api_mapping_key
        return next((one for one in self.mappings if one.key == key), None)

    @property
    def own_mapping(self) -> ApiMapping | None:
        """The mapping that this object has made.

        By its id in the status; or, where its creation was only planned, by its content. A status may be forged: at a
        domain name of another object nothing is ours.
        """
        known = self.status.mapping
        if known is None or self.whose is Ownership.OTHERS:
            return None
        content = (known.api_id, known.stage, known.key)
        return next(
            (
                one
                for one in self.mappings
                if one.id == known.id or (not known.id and (one.api_id, one.stage, one.key) == content)
            ),
            None,
        )

    def child(self, kind: str) -> Child | None:
        """The object of ACK for something of ours; None also in `direct` mode."""
        return (self.children or {}).get(kind)
