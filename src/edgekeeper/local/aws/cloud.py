"""The simulated AWS: one object that answers requests, and everything that a scenario may turn.

    cloud = AwsCloud(clock)
    cloud.cloudfront.add_distribution("E1XNX8R2GOAABC")
    zone = cloud.route53.add_zone("example.com")
    config = AioConfig(http_session_cls=session_class(cloud))        # in process, in virtual time
    async with serve(cloud) as server:                               # or over HTTP, for boto3 and the AWS CLI
        ...server.url...

Expected flow
    A request's signature says who asks, and for which service and region. A planned fault may strike; the account's
    request limits may refuse; the model's own constraints and the caller's IAM policies are checked; then the operation
    runs, in one step, and its result is written as the protocol of the service asks. Every call is in the journal.

Guarantees
    An operation happens whole or not at all. The same requests at the same times give the same answers, ids included.

Caveats
    Signatures are believed, not checked. Nothing runs in the background: what changes with time is worked out when
    somebody looks.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import count
from typing import Any

from edgekeeper.core.clock import Clock, SystemClock
from edgekeeper.local.aws.account import CLOUDFRONT_REGION, Account
from edgekeeper.local.aws.call import Call
from edgekeeper.local.aws.cloudfront.state import CloudFront
from edgekeeper.local.aws.cloudtime import CloudTime
from edgekeeper.local.aws.errors import AwsError
from edgekeeper.local.aws.faults import FaultPlan
from edgekeeper.local.aws.identity import Identities, Principal, Scope, scope_of
from edgekeeper.local.aws.ids import Ids
from edgekeeper.local.aws.journal import Entry, Journal
from edgekeeper.local.aws.operations import OPERATIONS
from edgekeeper.local.aws.request import Answer, Delivery, Request
from edgekeeper.local.aws.route53.state import Route53
from edgekeeper.local.aws.settings import PUBLISHED, Rates
from edgekeeper.local.aws.throttling import Throttle, lanes
from edgekeeper.local.aws.wire import decode, encode, failures
from edgekeeper.local.aws.wire.models import SERVICES, OperationShape, Service, service
from edgekeeper.local.aws.world import World

ACCOUNT = "111122223333"


@dataclass(frozen=True)
class _Addressed:
    """A request, and the operation that it means."""

    request: Request
    scope: Scope
    service: Service
    operation: OperationShape
    labels: dict[str, str]


class AwsCloud:
    """See the module."""

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        account: str = ACCOUNT,
        rates: Rates = PUBLISHED,
        strict: bool = False,
        seed: int = 0,
    ) -> None:
        self.time = CloudTime(clock or SystemClock())
        ids = Ids(seed)
        self.world = World(self.time, ids, Identities(self.time, ids, account, strict))
        self.journal = Journal()
        self.faults = FaultPlan(self.time, seed)
        self.throttle = Throttle(self.time, rates)
        self._accounts: dict[str, Account] = {}
        self._numbers = count(1)

    def account(self, id: str | None = None) -> Account:  # noqa: A002 - what everybody calls it
        """An account, which exists from the moment at which somebody asks for it."""
        name = id or self.world.identities.account
        if name not in self._accounts:
            self._accounts[name] = Account(self.world, name)
        return self._accounts[name]

    @property
    def cloudfront(self) -> CloudFront:
        return self.account().cloudfront

    @property
    def route53(self) -> Route53:
        return self.account().route53

    async def handle(self, request: Request) -> Answer:
        """Answer one request."""
        number = next(self._numbers)
        request_id = f"00000000-0000-4000-8000-{number:012x}"
        addressed = _addressed(request)
        if isinstance(addressed, AwsError):
            return failures.answer("cloudfront", "rest-xml", None, addressed, request_id)
        operation = addressed.operation
        try:
            principal = self._principal(addressed)
        except AwsError as error:
            return self._refused(operation, error, request_id)
        fault = self.faults.strike(operation.service, operation.name, principal.account)
        if fault and fault.delay:
            await asyncio.sleep(fault.delay.total_seconds())
        params: dict[str, Any] = {}
        code = ""
        try:
            if fault and not fault.happens:
                raise fault.error or AwsError("ServiceUnavailable", "Service is unavailable", 503)
            params = decode.parameters(operation, request, addressed.labels)
            answer = encode.answer(operation, self._result(addressed, principal, params), request_id)
        except decode.MalformedRequestError as error:
            answer, code = self._refused(operation, _malformed(operation, error), request_id), "Malformed"
        except AwsError as error:
            answer, code = self._refused(operation, error, request_id), error.code
        if fault:
            answer = fault.spoil(answer)
        self._write_down(number, addressed, principal, params, answer, code)
        return answer

    def _result(self, addressed: _Addressed, principal: Principal, params: dict[str, Any]) -> encode.Result:
        operation, region = addressed.operation, addressed.scope.region
        taken = lanes(operation.service, operation.name, operation.mutating, params)
        self.throttle.admit(principal.account, region, operation.service, taken)
        run = OPERATIONS[operation.service].get(operation.name)
        if run is None:
            raise AwsError("NotImplemented", f"{operation.name} is not simulated.", 501)
        account = self.account(principal.account)
        return run(Call(self.world, account, principal, region, operation.service, operation.name, params))

    def _principal(self, addressed: _Addressed) -> Principal:
        return self.world.identities.principal(addressed.scope.access_key)

    def _refused(self, operation: OperationShape, error: AwsError, request_id: str) -> Answer:
        return failures.answer(operation.service, operation.protocol, operation, error, request_id)

    def _write_down(
        self,
        number: int,
        addressed: _Addressed,
        principal: Principal,
        params: dict[str, Any],
        answer: Answer,
        code: str,
    ) -> None:
        self.journal.add(
            Entry(
                number=number,
                at=self.time.now(),
                moment=self.time.monotonic(),
                account=principal.account,
                principal=principal.arn,
                region=addressed.scope.region,
                service=addressed.operation.service,
                operation=addressed.operation.name,
                params=params,
                status=answer.status if answer.delivery is Delivery.COMPLETE else 0,
                code=code,
                user_agent=addressed.request.headers.get("user-agent", ""),
            )
        )


def _addressed(request: Request) -> _Addressed | AwsError:
    """Which operation of which service a request means."""
    scope = scope_of(request.headers) or _unsigned(request)
    if scope.service not in SERVICES:
        return AwsError("UnknownService", f"There is no service {scope.service} here.", 404)
    known = service(scope.service)
    located = _located(known, request)
    if located is None:
        return AwsError("UnknownOperationException", f"{request.method} {request.path} is no operation.", 404)
    return _Addressed(request, scope, known, *located)


def _located(known: Service, request: Request) -> tuple[OperationShape, dict[str, str]] | None:
    if known.protocol in ("rest-xml", "rest-json"):
        return known.by_path(request.method, request.path, request.query)
    by_name = (
        known.by_target(request.headers.get("x-amz-target", ""))
        if known.protocol == "json"
        else known.by_action(request.body)
    )
    return (by_name, {}) if by_name else None


def _unsigned(request: Request) -> Scope:
    """The only request that nobody signs asks STS for credentials."""
    return Scope("", CLOUDFRONT_REGION, "sts" if b"Action=" in request.body else "")


def _malformed(operation: OperationShape, error: Exception) -> AwsError:
    if operation.protocol == "rest-xml":
        return AwsError("MalformedXML", f"The XML document is malformed: {error}", 400)
    return AwsError("SerializationException", f"The request cannot be read: {error}", 400)
