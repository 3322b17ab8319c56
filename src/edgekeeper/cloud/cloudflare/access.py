"""Cloudflare Access: applications, which protect hostnames, and their policies, groups and tags.

An application is written with its policies in one call, so that a hostname is never unprotected. The list of policies is
always sent, and never null, because Cloudflare interprets both differently.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from edgekeeper.cloud.cloudflare import operations
from edgekeeper.cloud.cloudflare.client import CloudflareCall, CloudflareClient
from edgekeeper.cloud.cloudflare.echo import Echo
from edgekeeper.cloud.cloudflare.errors import unreadable
from edgekeeper.cloud.cloudflare.models import (
    Application,
    AttachedPolicy,
    Group,
    IdentityProvider,
    Organization,
    Policy,
    Tag,
)
from edgekeeper.cloud.cloudflare.operations import Endpoint
from edgekeeper.core.errors import Conflict, Stall
from edgekeeper.core.json import JsonObject

_PER_PAGE = 1_000


class Access:
    """Access in one account."""

    def __init__(self, client: CloudflareClient, account_id: str) -> None:
        self.written_applications: Echo[Application] = Echo()
        self.written_policies: Echo[Policy] = Echo()
        self._client = client
        self._account = account_id

    async def organization(self) -> Organization:
        """The organisation, which has the team's name."""
        return await self._client.call(self._call_to(operations.GET_ORGANIZATION), Organization)

    # Applications

    async def application_pages(self) -> AsyncIterator[Mapping[str, Application]]:
        """All applications by id, page by page."""
        async for page in self._documents({}):
            yield {application.id: application for application in map(application_of, page)}

    async def application(self, application_id: str) -> Application | None:
        """The application, or None if it does not exist."""
        call = self._call_to(operations.GET_APPLICATION, application=application_id)
        document = await self._client.find(call, dict[str, Any])
        return None if document is None else application_of(document)

    async def create_application(
        self, settings: JsonObject, policies: Sequence[JsonObject | str]
    ) -> Application:
        """Create an application with its policies. Not idempotent: look for an application of that domain first."""
        call = self._call_to(operations.CREATE_APPLICATION, _application(settings, policies))
        return self._wrote(await self._client.call(call, dict[str, Any]))

    async def put_application(
        self, application_id: str, settings: JsonObject, policies: Sequence[JsonObject | str]
    ) -> Application:
        """Replace an application. Omitted settings are reset to their defaults. Raise Conflict if it does not exist."""
        body = _application(settings, policies)
        call = self._call_to(operations.PUT_APPLICATION, body, application=application_id)
        document = await self._client.find(call, dict[str, Any])
        if document is None:
            self.written_applications.remove(application_id)
            raise Conflict(f"the Access application {application_id} no longer exists")
        return self._wrote(document)

    async def delete_application(self, application_id: str) -> None:
        """Delete an application, if it exists."""
        call = self._call_to(operations.DELETE_APPLICATION, application=application_id)
        await self._client.find(call, dict[str, Any])
        self.written_applications.remove(application_id)

    def _wrote(self, document: JsonObject) -> Application:
        application = application_of(document)
        return self.written_applications.put(application.id, application)

    # Policies that belong to one application

    async def create_application_policy(self, application: Application, fields: JsonObject) -> Application:
        """Add a policy to an application. Look whether it has one like it first: this is not repeatable."""
        _check_policy(fields)
        call = self._call_to(operations.CREATE_APPLICATION_POLICY, fields, application=application.id)
        policy = await self._client.call(call, AttachedPolicy)
        return self._with_policies(application, [*application.policies, policy])

    async def put_application_policy(
        self, application: Application, policy_id: str, fields: JsonObject
    ) -> Application:
        """Replace a policy of an application in place: its id stays. Raise Conflict where it is gone."""
        _check_policy(fields)
        call = self._call_to(
            operations.PUT_APPLICATION_POLICY, fields, application=application.id, policy=policy_id
        )
        policy = await self._client.find(call, AttachedPolicy)
        if policy is None:
            raise Conflict(f"application {application.id} has no policy {policy_id} any more")
        return self._with_policies(
            application, [policy if one.id == policy_id else one for one in application.policies]
        )

    async def delete_application_policy(self, application: Application, policy_id: str) -> Application:
        """Delete a policy of an application. One that is gone already counts as deleted."""
        call = self._call_to(
            operations.DELETE_APPLICATION_POLICY, application=application.id, policy=policy_id
        )
        await self._client.find(call, dict[str, Any])
        return self._with_policies(application, [one for one in application.policies if one.id != policy_id])

    def _with_policies(self, application: Application, policies: Sequence[AttachedPolicy]) -> Application:
        """The application as it is after one of its policies was written. The mirror shows it from now on."""
        ordered = tuple(sorted(policies, key=lambda policy: policy.precedence or 0))
        changed = msgspec.structs.replace(application, policies=ordered)
        return self.written_applications.put(application.id, changed)

    # Reusable policies

    async def policy_pages(self) -> AsyncIterator[Mapping[str, Policy]]:
        """All reusable policies by id, page by page."""
        call = self._call_to(operations.LIST_POLICIES)
        async for page in self._client.pages(call, Policy, _PER_PAGE):
            yield {policy.id: policy for policy in page}

    async def policy(self, policy_id: str) -> Policy | None:
        return await self._client.find(self._call_to(operations.GET_POLICY, policy=policy_id), Policy)

    async def create_policy(self, fields: JsonObject) -> Policy:
        """Create a reusable policy. Not idempotent: look for a policy of that name first."""
        _check_policy(fields)
        policy = await self._client.call(self._call_to(operations.CREATE_POLICY, fields), Policy)
        return self.written_policies.put(policy.id, policy)

    async def put_policy(self, policy_id: str, fields: JsonObject) -> Policy:
        """Replace a reusable policy. Raise Conflict if it does not exist."""
        _check_policy(fields)
        call = self._call_to(operations.PUT_POLICY, fields, policy=policy_id)
        policy = await self._client.find(call, Policy)
        if policy is None:
            self.written_policies.remove(policy_id)
            raise Conflict(f"the Access policy {policy_id} no longer exists")
        return self.written_policies.put(policy_id, policy)

    async def delete_policy(self, policy_id: str) -> None:
        """Delete a reusable policy, if it exists."""
        call = self._call_to(operations.DELETE_POLICY, policy=policy_id)
        await self._client.find(call, dict[str, Any])
        self.written_policies.remove(policy_id)

    # Groups, identity providers and tags

    async def group_pages(self) -> AsyncIterator[Mapping[str, Group]]:
        """All groups by id, page by page."""
        async for page in self._client.pages(self._call_to(operations.LIST_GROUPS), Group, _PER_PAGE):
            yield {group.id: group for group in page}

    async def identity_provider_pages(self) -> AsyncIterator[Mapping[str, IdentityProvider]]:
        """All identity providers by id, page by page."""
        call = self._call_to(operations.LIST_IDENTITY_PROVIDERS)
        async for page in self._client.pages(call, IdentityProvider, _PER_PAGE):
            yield {provider.id: provider for provider in page}

    async def ensure_tag(self, name: str) -> None:
        """Create a tag for applications, if it does not exist."""
        pages = self._client.pages(self._call_to(operations.LIST_TAGS), Tag, _PER_PAGE)
        if any([tag.name == name async for page in pages for tag in page]):
            return
        await self._client.call(self._call_to(operations.CREATE_TAG, {"name": name}), Tag)

    def _call_to(self, endpoint: Endpoint, body: JsonObject | None = None, **ids: str) -> CloudflareCall:
        return CloudflareCall(endpoint, {"account": self._account, **ids}, body=body)

    async def _documents(self, query: Mapping[str, str]) -> AsyncIterator[list[JsonObject]]:
        call = CloudflareCall(operations.LIST_APPLICATIONS, {"account": self._account}, query)
        async for page in self._client.pages(call, dict[str, Any], _PER_PAGE):
            yield page


def application_of(document: JsonObject) -> Application:
    """Parse an application, with its unknown fields."""
    try:
        application = msgspec.convert(document, Application)
    except msgspec.ValidationError as error:
        raise unreadable(f"an Access application has an unexpected form: {error}") from error
    return msgspec.structs.replace(application, document=document)


def _application(settings: JsonObject, policies: Sequence[JsonObject | str]) -> JsonObject:
    """The request body. Raise Stall if the hostname would be unprotected."""
    if not policies:
        raise Stall(
            "NoPolicy", f"an Access application for {settings.get('domain')} needs at least one policy"
        )
    for policy in policies:
        if isinstance(policy, dict) and "id" not in policy:
            _check_policy(policy)
    fields = {name: value for name, value in settings.items() if value is not None}
    return {"type": "self_hosted", **fields, "policies": list(policies)}


def _check_policy(fields: JsonObject) -> None:
    if not fields.get("include"):
        raise Stall(
            "NoPolicy", f"the Access policy {fields.get('name')!r} needs at least one rule in include"
        )
