"""What a pass over an APIGatewayDomain reports: status, conditions and events.

All conditions are True in the end, except Degraded, which is False. `status.phase` names the state of the described state
machine; it is derived from the conditions, and nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from edgekeeper.api.bridge import APIGatewayDomainStatus, OwnedMapping, ValidationRecord
from edgekeeper.cloud.aws.acm import PENDING_VALIDATION
from edgekeeper.cloud.aws.dns.reporting import DNS_READY, RecordReport, deletion_events, removal_events
from edgekeeper.controllers.bridge.domains import steps as do
from edgekeeper.controllers.bridge.domains.decide import differences
from edgekeeper.controllers.bridge.domains.records import record_plan, unmanaged
from edgekeeper.controllers.bridge.domains.snapshot import MAPPING, Snapshot
from edgekeeper.controllers.bridge.failures import DEGRADED, mark_degraded, with_ready
from edgekeeper.core.conditions import READY, Conditions, Declaration
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.core.outcome import Event
from edgekeeper.core.steps import Effect, Step
from edgekeeper.lifecycle.kind import PAUSED, SYNCED, Pass, Report
from edgekeeper.lifecycle.synced import drift_events, mark_synced

CERTIFICATE_READY: Final = "CertificateReady"
DOMAIN_READY: Final = "DomainNameReady"
MAPPING_READY: Final = "APIMappingReady"
DECLARATION: Final = Declaration(
    required=(CERTIFICATE_READY, DOMAIN_READY, MAPPING_READY, DNS_READY),
    negative=(DEGRADED,),
    informative=(SYNCED, PAUSED),
    ready_reason="AllReady",
    ready_message="the domain name leads to the API as the spec says",
)
PENDING_REASON: Final = "PendingValidation"
_PHASES: Final = (
    (CERTIFICATE_READY, "CREATED", "CERTIFICATE_RESOLVING"),
    (DOMAIN_READY, "CERTIFICATE_READY", "DOMAIN_CREATING"),
    (MAPPING_READY, "DOMAIN_READY", "MAPPING_CREATING"),
    (DNS_READY, "MAPPING_READY", "DNS_CREATING"),
)
"""By condition, the phase before it is known, and while it is not True."""


def derive(status: JsonObject, conditions: Sequence[JsonObject]) -> JsonObject:
    """The status with `ready` and `phase`, as its conditions say."""
    return with_ready({**status, "phase": phase_of(conditions)}, conditions)


def phase_of(conditions: Sequence[JsonObject]) -> str:
    """The state of the described state machine."""
    known = {dig(one, "type"): one for one in conditions}
    generation = dig(known.get(READY), "observedGeneration")
    for type_, before, during in _PHASES:
        condition = known.get(type_)
        if condition is None or dig(condition, "observedGeneration") != generation:
            return before
        if dig(condition, "status") != "True":
            is_pending = type_ == CERTIFICATE_READY and dig(condition, "reason") == PENDING_REASON
            return "CERTIFICATE_PENDING" if is_pending else during
    return "READY"


@dataclass(frozen=True)
class Reporter:
    """Builds the report of one pass."""

    result: Pass[Snapshot]
    conditions: Conditions

    @property
    def after(self) -> Snapshot:
        return self.result.after

    @property
    def step(self) -> Step | None:
        return self.result.step

    @property
    def records(self) -> RecordReport:
        return RecordReport(self.after.records, self.result.plan, self.conditions, self.after.generation)

    def report(self) -> Report:
        self._mark()
        drift = self.result.plan.drift
        is_correction = self._is_correction
        events = [*drift_events(self.result.plan, is_correction=is_correction), *self._events()]
        status = {**self._facts(), "driftDetected": drift.drift_detected}
        return Report(
            _present(status), events, is_correction=is_correction, keeps_conditions=self.records.is_retry
        )

    def removal(self) -> Report:
        """The report of a step of a deletion. The status keeps what it says until everything is gone."""
        self.conditions.mark(
            DOMAIN_READY, False, "Deleting", f"{self.step}: {self.step.reason if self.step else ''}"
        )
        status = {**dig_object(self.result.obj, "status"), **self.after.records.status_fields}
        status.pop("lastError", None)
        if self.after.requested is None:
            status.pop("requestedCertificateArn", None)
        return Report(_present(status), [*self._events()], keeps_conditions=self.records.is_retry)

    def _facts(self) -> JsonObject:
        after, domain, certificate = self.after, self.after.domain, self.after.certificate
        requested, mapping = after.requested, after.mapping
        waiting = requested if requested is not None and requested.status == PENDING_VALIDATION else None
        status = APIGatewayDomainStatus(
            observed_generation=self._observed_generation(),
            region=after.region,
            certificate_arn=domain.settings.certificate_arn
            if domain
            else (certificate.arn if certificate else ""),
            certificate_status=certificate.status if certificate else "",
            requested_certificate_arn=requested.arn if requested else "",
            validation_records=[
                ValidationRecord(one.name, one.type, one.values[0])
                for one in (waiting.validation_records if waiting else ())
            ],
            domain_name_endpoint=domain.endpoint if domain else "",
            endpoint=domain.endpoint if domain else "",
            domain_name_configuration_status=domain.status if domain else "",
            managed=after.is_managed if domain else None,
            api_mapping_id=mapping.id if mapping else "",
            mapping=self._owned_mapping(),
            hosted_zone_id=after.zone_id,
            dns_record_name=after.name if after.zone_id and domain else "",
            managed_records=[f"{one.type} {one.name}" for one in after.records.inventory],
        )
        fields: JsonObject = msgspec.to_builtins(status)
        return {**fields, **after.records.status_fields}

    def _owned_mapping(self) -> OwnedMapping | None:
        """The mapping that is ours: planned, made by us, or any at our key of a domain name that is ours."""
        after, step, known = self.after, self.step, self.after.own_mapping
        if isinstance(step, do.RememberMapping):
            return OwnedMapping(step.mapping.api_id, step.mapping.stage, step.mapping.key)
        is_made = isinstance(step, do.WriteMapping) or after.is_managed or after.child(MAPPING) is not None
        is_left = known is not None and any(
            isinstance(one, do.DeleteMapping) for one in self.result.plan.steps
        )
        own = after.mapping if is_made and not is_left else known
        return OwnedMapping(own.api_id, own.stage, own.key, own.id) if own else after.status.mapping

    def _observed_generation(self) -> int | None:
        """The generation, once all of it is applied."""
        is_left = any(step.pushes for step in self.result.plan.steps[1:])
        is_done = self.step is None or self.step.effect is not Effect.WAIT or not self.step.pushes
        if is_left or not is_done or differences(self.after):
            return self.after.status.observed_generation
        return self.after.generation

    # Conditions

    def _mark(self) -> None:
        conditions, after = self.conditions, self.after
        mark_degraded(conditions, None)
        if not self._mark_certificate():
            return
        self._mark_domain()
        if after.domain is None or not after.domain.available:
            return
        self._mark_mapping()
        mark_synced(conditions, self.result.plan, DECLARATION.ready_message, in_progress=False)
        plan, is_configured = record_plan(after), after.spec.dns_config.enabled
        self.records.mark(
            plan, unmanaged(after), is_configured=is_configured, unset="spec.dnsConfig.enabled is false"
        )

    def _mark_certificate(self) -> bool:
        after, step = self.after, self.step
        certificate = after.certificate or after.requested
        if certificate is not None and after.is_valid:
            self.conditions.mark(CERTIFICATE_READY, True, "Issued", f"certificate {certificate.arn}")
            return True
        waits = certificate is not None and certificate.status == PENDING_VALIDATION
        reason = PENDING_REASON if waits else "WaitingForCertificate"
        records = ", ".join(one.name for one in certificate.validation_records) if certificate else ""
        message = f"ACM waits for {records}" if waits and records else f"{step}"
        self.conditions.mark(CERTIFICATE_READY, False, reason, message)
        return False

    def _mark_domain(self) -> None:
        domain, step = self.after.domain, self.step
        if domain is None:
            self.conditions.mark(DOMAIN_READY, False, "Creating", self._progress())
        elif not domain.available or isinstance(step, do.UpdateDomain | do.TagDomain):
            message = domain.status_message or f"API Gateway says {domain.status}"
            self.conditions.mark(DOMAIN_READY, False, "InProgress", message)
        elif (
            self.after.inherits
            or self._waits_for("domain name")
            or self._is_differing("certificateArn", "securityPolicy")
        ):
            self.conditions.mark(DOMAIN_READY, False, "InProgress", self._progress())
        else:
            whose = "" if self.after.is_managed else ", which was there before and is not managed"
            self.conditions.mark(DOMAIN_READY, True, READY, f"endpoint {domain.endpoint}{whose}")

    def _mark_mapping(self) -> None:
        mapping = self.after.mapping
        if mapping is None or self._waits_for("mapping") or isinstance(self.step, do.RememberMapping):
            self.conditions.mark(MAPPING_READY, False, "Creating", self._progress())
        elif self._is_differing("mapping"):
            self.conditions.mark(MAPPING_READY, False, "InProgress", "the mapping is about to be changed")
        else:
            self.conditions.mark(MAPPING_READY, True, READY, do.mapping_text(mapping))

    def _is_differing(self, *paths: str) -> bool:
        """Does AWS differ from the spec there, and is that going to be changed?"""
        is_different = any(change.path.startswith(paths) for change in differences(self.after))
        return is_different and self.result.plan.drift.push

    def _waits_for(self, what: str) -> bool:
        return isinstance(self.step, do.AwaitDomain) and what in self.step.what

    def _progress(self) -> str:
        return f"{self.step}: {self.step.reason}" if self.step else "it is about to be created"

    # Events

    def _events(self) -> Iterator[Event]:
        yield from removal_events(self.after.records)
        step = self.step
        if step is not None and not self.records.is_repeated and (event := step.event()) is not None:
            yield event

    @property
    def _is_correction(self) -> bool:
        is_change = isinstance(self.step, do.CreateDomain | do.UpdateDomain | do.WriteMapping)
        return (is_change and self.result.plan.drift.drift_detected) or self.records.is_correction


def gone_events(snapshot: Snapshot) -> Iterator[Event]:
    """The events of a finished deletion, including those for what the object does not own."""
    yield from deletion_events(snapshot.records, unmanaged(snapshot), "another object")
    if snapshot.domain is not None:
        why = (
            "spec.deletionPolicy is Retain" if snapshot.spec.deletion_policy == "Retain" else "it is not ours"
        )
        yield Event("Warning", "Orphaned", f"domain name {snapshot.name} is not deleted: {why}")


def _present(status: JsonObject) -> JsonObject:
    return {name: value for name, value in status.items() if value not in ("", [], None)}
