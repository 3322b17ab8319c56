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
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any

from edgekeeper.core.clock import Clock, SystemClock
from kubesim.aws.account import CLOUDFRONT_REGION, Account
from kubesim.aws.authorization import Guard
from kubesim.aws.call import Call
from kubesim.aws.cloudfront.state import CloudFront
from kubesim.aws.cloudtime import CloudTime
from kubesim.aws.errors import AwsError
from kubesim.aws.faults import Fault, FaultPlan
from kubesim.aws.identity import Identities, Principal, Scope, scope_of
from kubesim.aws.ids import Ids
from kubesim.aws.journal import Entry, Journal
from kubesim.aws.operations import OPERATIONS
from kubesim.aws.request import Answer, Delivery, Request
from kubesim.aws.route53.state import Route53
from kubesim.aws.settings import PUBLISHED, Rates
from kubesim.aws.throttling import Throttle, lanes
from kubesim.aws.wire import constraints, decode, encode, failures
from kubesim.aws.wire.models import SERVICES, OperationShape, Service, service
from kubesim.aws.world import World

ACCOUNT = "111122223333"


@dataclass(frozen=True)
class _Addressed:
    """A request, and the operation that it means."""

    request: Request
    scope: Scope
    service: Service
    operation: OperationShape
    labels: dict[str, str]


_NOBODY = Principal("", "", "")
_ABANDONED = Answer(0, {}, delivery=Delivery.LOST)


@dataclass
class _Exchange:
    """A request on its way through, and what was found out about it."""

    number: int
    addressed: _Addressed
    arrived: datetime
    moment: float
    principal: Principal = _NOBODY
    params: dict[str, Any] = field(default_factory=dict)
    code: str = ""

    def entry(self, answer: Answer) -> Entry:
        addressed = self.addressed
        return Entry(
            number=self.number,
            at=self.arrived,
            moment=self.moment,
            account=self.principal.account,
            principal=self.principal.arn,
            region=addressed.scope.region,
            service=addressed.operation.service,
            operation=addressed.operation.name,
            params=self.params,
            status=answer.status if answer.delivery is Delivery.COMPLETE else 0,
            code=self.code,
            user_agent=addressed.request.headers.get("user-agent", ""),
        )


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
        self.guard = Guard()
        self.accounts: dict[str, Account] = {}
        self.on_change: Callable[[], None] | None = None
        """Told after every change, before whoever asked for it gets an answer."""
        self._numbers = count(1)

    def account(self, number: str | None = None) -> Account:
        """An account, which exists from the moment at which somebody asks for it."""
        id_ = number or self.world.identities.account
        if id_ not in self.accounts:
            self.accounts[id_] = Account(self.world, id_, self.account)
        return self.accounts[id_]

    def changed(self) -> None:
        """Something has changed. Scenarios that change the cloud behind everybody's back say so themselves."""
        if self.on_change is not None:
            self.on_change()

    def serve_token(self, domain: str) -> None:
        """Let a domain's own web server answer with the validation token of a managed certificate."""
        self.world.served_tokens.add(domain.lower())
        self.world.dns.changed()

    @property
    def cloudfront(self) -> CloudFront:
        return self.account().cloudfront

    @property
    def route53(self) -> Route53:
        return self.account().route53

    async def handle(self, request: Request) -> Answer:
        """Answer one request."""
        number = next(self._numbers)
        addressed = _addressed(request)
        if isinstance(addressed, AwsError):
            return failures.answer("cloudfront", "rest-xml", None, addressed, _request_id(number))
        exchange = _Exchange(number, addressed, self.time.now(), self.time.monotonic())
        answer = _ABANDONED
        try:
            answer = await self._answer(exchange)
        finally:
            # A caller that gives up while it is kept waiting has called all the same.
            self.journal.add(exchange.entry(answer))
        return answer

    async def _answer(self, exchange: _Exchange) -> Answer:
        operation, request_id = exchange.addressed.operation, _request_id(exchange.number)
        fault = None
        try:
            exchange.principal = self._principal(exchange.addressed)
            fault = self.faults.strike(operation.service, operation.name, exchange.principal.account)
            if fault:
                await _suffer(fault)
            exchange.params = _parameters(exchange.addressed)
            answer = encode.answer(operation, self._result(exchange), request_id)
        except AwsError as error:
            exchange.code = error.code
            answer = failures.answer(operation.service, operation.protocol, operation, error, request_id)
        return fault.spoil(answer) if fault else answer

    def _result(self, exchange: _Exchange) -> encode.Result:
        operation, request = exchange.addressed.operation, exchange.addressed.request
        region, principal, params = exchange.addressed.scope.region, exchange.principal, exchange.params
        taken = lanes(operation.service, operation.name, operation.mutating, params)
        self.throttle.admit(principal.account, region, operation.service, taken)
        run = OPERATIONS[operation.service].get(operation.name)
        if run is None:
            raise AwsError("NotImplemented", f"{operation.name} is not simulated.", 501)
        constraints.check(operation, params)
        account = self.account(principal.account)
        call = Call(self.world, account, principal, region, operation.service, operation.name, params)
        self.guard.admit(call, request.method, request.path)
        drawn = self.world.ids.drawn
        result = run(call)
        # What time alone has changed shows in a new ETag, or is worked out again at any time with the same result.
        if operation.mutating or self.world.ids.drawn != drawn:
            self.changed()
        return result

    def _principal(self, addressed: _Addressed) -> Principal:
        if addressed.scope.access_key:
            return self.world.identities.principal(addressed.scope.access_key)
        if addressed.operation.name == "AssumeRoleWithWebIdentity":
            return Principal(self.world.identities.account, "anonymous", "anonymous")
        raise AwsError("MissingAuthenticationToken", "Missing Authentication Token")


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


def _parameters(addressed: _Addressed) -> dict[str, Any]:
    try:
        return decode.parameters(addressed.operation, addressed.request, addressed.labels)
    except decode.MalformedRequestError as error:
        if addressed.operation.protocol == "rest-xml":
            raise AwsError("MalformedXML", f"The XML document is malformed: {error}", 400) from error
        raise AwsError("SerializationException", f"The request cannot be read: {error}", 400) from error


async def _suffer(fault: Fault) -> None:
    """What a fault does before the operation, which it may do without."""
    if fault.delay:
        await asyncio.sleep(fault.delay.total_seconds())
    if not fault.happens:
        raise fault.error or AwsError("ServiceUnavailable", "Service is unavailable", 503)


def _request_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"
