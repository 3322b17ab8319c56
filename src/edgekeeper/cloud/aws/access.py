"""Sends AWS calls with the transport, and parses the responses as part of the call.

    aws = AwsAccess(transport, AwsClients(), clock)
    cloudfront = aws.caller()
    zone = aws.caller(role=Role("arn:aws:iam::222222222222:role/dns"))
    tenant = await cloudfront.find(AwsCall(GET_TENANT, name, {"Identifier": name}, parse_tenant), "EntityNotFound")

A response that lacks a required field is an error. `find` returns None for an object that does not exist. A denied read of
a single object is not repeated for some minutes, however many objects need it; this applies neither to listings, whose
rate mirrors limit, nor to mutations.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from botocore import xform_name
from botocore.exceptions import BotoCoreError, ClientError

from edgekeeper.cloud.aws.answers import BrokenAnswerError, MalformedAnswerError
from edgekeeper.cloud.aws.error_table import DENIED, general
from edgekeeper.cloud.aws.errors import classify, code_of, message_of
from edgekeeper.cloud.aws.operations import ASSUME_ROLE, GET_CALLER_IDENTITY
from edgekeeper.cloud.aws.refusals import Read, Refusals
from edgekeeper.cloud.aws.roles import OWN, Role, RoleRefusedError
from edgekeeper.cloud.aws.sessions import SESSION_LENGTH, AssumedSession
from edgekeeper.cloud.error_table import ErrorRow
from edgekeeper.cloud.transport import Operation, Transport
from edgekeeper.core.clock import Clock
from edgekeeper.core.errors import Stall
from edgekeeper.core.json import JsonObject

if TYPE_CHECKING:
    from edgekeeper.cloud.aws.clients import AwsClients
    from edgekeeper.cloud.aws.sts import RoleCredentials

T = TypeVar("T")
S = TypeVar("S")

_MALFORMED: Final = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True)
class AwsCall(Generic[T]):
    """A call: its operation, its request, and how to parse the response."""

    operation: Operation
    subject: str
    """The object that the call is about, for logs and audit."""
    request: JsonObject
    parse: Callable[[JsonObject], T]
    special: Mapping[str, ErrorRow] = field(default_factory=dict)
    """Rows for error codes with another meaning in this call; they take precedence over the tables."""
    cost: int = 1
    """The number of tokens that the call takes from its lane."""

    async def send(self, client: Any) -> JsonObject:
        answer: JsonObject = await getattr(client, xform_name(self.operation.name))(**self.request)
        return answer

    def parsed(self, answer: JsonObject) -> T:
        try:
            return self.parse(answer)
        except _MALFORMED as error:
            raise MalformedAnswerError(
                f"the answer lacks something or is of another form: {error!r}"
            ) from error


class AwsAccess:
    """AWS, as one process uses it: its transport, its clients and the roles that it assumes."""

    def __init__(
        self, transport: Transport, clients: AwsClients, clock: Clock, *, session_name: str = "edgekeeper"
    ) -> None:
        """`session_name` is what CloudTrail shows for assumed roles."""
        from edgekeeper.cloud.aws.sts import Roles  # noqa: PLC0415 # the AWS SDK is loaded with the first client

        self.transport = transport
        self.clients = clients
        self.account = ""
        """Our own account, once `identify` was called."""
        self._session_name = session_name
        self._roles = Roles(self._assume, clock)
        self.refusals = Refusals(clock)

    def caller(self, *, role: Role = OWN, region: str = "") -> AwsCaller:
        """Call as a role, and in a region, where the service is not a global one."""
        return AwsCaller(self, role, region)

    async def identify(self) -> str:
        """Learn our own account, so that a role in it shares its budget."""
        self.account = await self.caller().call(
            AwsCall(GET_CALLER_IDENTITY, "", {}, lambda answer: str(answer["Account"]))
        )
        return self.account

    def credential(self, role: Role) -> str:
        """The name of a budget. AWS counts by account."""
        account = role.account or self.account
        return f"aws:{account}" if account else "aws"

    async def client(self, service: str, region: str, role: Role) -> Any:
        """The client of a service, with credentials that are fresh enough for a call."""
        credentials = None if role == OWN else await self._credentials(service, role)
        return await self.clients.get(service, region, role, credentials)

    async def release(self, role: Role) -> None:
        """Release a role that is no longer used: drop its session, and close its clients."""
        self._roles.release(role)
        await self.clients.release(role)

    async def _credentials(self, service: str, role: Role) -> RoleCredentials:
        """The credentials of a role. A refusal to assume it is raised as the service's own denial."""
        try:
            return await self._roles.credentials(role)
        except Stall as refusal:
            if refusal.error_type != DENIED.error_type:
                raise
            raise _role_refused(service, refusal) from refusal

    async def _assume(self, role: Role) -> AssumedSession:
        request: JsonObject = {
            "RoleArn": role.arn,
            "RoleSessionName": self._session_name,
            "DurationSeconds": int(SESSION_LENGTH.total_seconds()),
        }
        if role.external_id:
            request["ExternalId"] = role.external_id
        return await self.caller().call(AwsCall(ASSUME_ROLE, role.arn, request, _parse_session))


class AwsCaller:
    """Calls as one role in one region."""

    def __init__(self, access: AwsAccess, role: Role, region: str) -> None:
        self._access = access
        self._role = role
        self._region = region

    async def call(self, call: AwsCall[T]) -> T:
        """Send a request and parse its answer."""
        client = await self._client(call.operation)

        async def send() -> T:
            return call.parsed(await call.send(client))

        return await self._send(call, send)

    async def read(self, call: AwsCall[T]) -> T:
        """The same for a read of one object, which is not sent if it was denied recently."""
        return await self._unless_denied(call, lambda: self.call(call))

    async def find(self, call: AwsCall[T], *absent: str, unless: str = "") -> T | None:
        """The same for an object that may not exist: None if AWS returns one of the error codes `absent`.

        If a code has several meanings, `unless` is a part of the messages of the other meanings.
        """
        if call.operation.mutating:
            return await self._find(call, absent, unless)
        return await self._unless_denied(call, lambda: self._find(call, absent, unless))

    async def _find(self, call: AwsCall[T], absent: Collection[str], unless: str) -> T | None:
        client = await self._client(call.operation)

        async def send() -> T | None:
            try:
                answer = await call.send(client)
            except ClientError as error:
                if code_of(error) not in absent or (unless and unless in message_of(error)):
                    raise
                return None
            return call.parsed(answer)

        return await self._send(call, send)

    async def pages(self, call: AwsCall[T], tokens: Mapping[str, str]) -> AsyncIterator[T]:
        """All pages of a listing, each a call. `tokens` maps fields of an answer to the parameters of the next request."""
        position: JsonObject = {}
        while True:
            page, following = await self.call(_one_page(call, position, tokens))
            yield page
            if not following:
                return
            position = following

    def expected_wait(self, operation: Operation) -> timedelta:
        """How long a call would wait for the budget."""
        credential = self._access.credential(self._role)
        region = self._access.clients.budget_region(operation.service, self._region)
        account = f"{credential}/{region}" if region else credential
        return self._access.transport.budget.expected_wait(account, operation.lane)

    async def _unless_denied(self, call: AwsCall[Any], send: Callable[[], Awaitable[S]]) -> S:
        refusals = self._access.refusals
        read = Read(self._role, self._region, call.operation.name, call.subject)
        refusals.check(read)
        try:
            return await send()
        except Stall as refusal:
            refusals.note(read, refusal)
            raise

    async def _client(self, operation: Operation) -> Any:
        """The client for an operation. botocore looks for credentials when it makes one, and may find none."""
        access = self._access
        try:
            return await access.client(operation.service, self._region, self._role)
        except BotoCoreError as error:
            failure = classify(operation, error)
            if failure is None:
                raise
            credential = access.credential(self._role)
            access.transport.report(operation, credential, failure)
            raise failure.error from error

    async def _send(self, call: AwsCall[Any], send: Callable[[], Awaitable[S]]) -> S:
        service = call.operation.service
        return await self._access.transport.call(
            call.operation,
            call.subject,
            send,
            credential=self._access.credential(self._role),
            region=self._access.clients.budget_region(service, self._region),
            classify=partial(classify, special=call.special),
            cost=call.cost,
        )


def _one_page(
    call: AwsCall[T], position: JsonObject, tokens: Mapping[str, str]
) -> AwsCall[tuple[T, JsonObject]]:
    """The request for the page at a position; its answer has the next position."""

    def parse(answer: JsonObject) -> tuple[T, JsonObject]:
        following = {parameter: answer[output] for output, parameter in tokens.items() if answer.get(output)}
        if following and following == position:
            raise BrokenAnswerError("the next page is the same as this one")
        return call.parse(answer), following

    return AwsCall(call.operation, call.subject, {**call.request, **position}, parse, call.special, call.cost)


def _role_refused(service: str, refusal: Stall) -> RoleRefusedError:
    denied = general(service).denied
    role_refusal = RoleRefusedError(denied.reason, refusal.message)
    role_refusal.error_type = denied.error_type
    return role_refusal


def _parse_session(answer: JsonObject) -> AssumedSession:
    credentials = answer["Credentials"]
    return AssumedSession(
        credentials["AccessKeyId"],
        credentials["SecretAccessKey"],
        credentials["SessionToken"],
        credentials["Expiration"],
    )
