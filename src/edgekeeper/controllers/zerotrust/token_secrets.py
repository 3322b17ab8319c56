"""The Secret with the credentials of a service token: the only place where a client secret is ever kept.

    edgekeeper.io/owner         whose it is: only a Secret with our mark is changed or deleted
    edgekeeper.io/rotation      the requested rotation that was carried out last
    edgekeeper.io/rotating      a rotation was begun: until it is gone, what the Secret holds may be outdated
    edgekeeper.io/rotated-at    when the client secret was last replaced

Cloudflare keeps the client id when it replaces a secret, so the data alone do not show that a rotation was lost halfway.
That is what `rotating` is for.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from edgekeeper.api.zerotrust_task import ServiceTokenOperation
from edgekeeper.cloud.cloudflare.models import IssuedToken
from edgekeeper.controllers.zerotrust.snapshot import Subject, TokenSecret
from edgekeeper.core.clock import parse_timestamp, timestamp
from edgekeeper.core.errors import Conflict, Stall
from edgekeeper.core.json import JsonObject, dig, dig_object
from edgekeeper.kube.client import KubeClient
from edgekeeper.kube.errors import AlreadyExistsError, ApiError, NotFoundError
from edgekeeper.kube.kinds import SECRET, Key
from edgekeeper.runtime.writer import as_pass_error

OWNER: Final = "edgekeeper.io/owner"
ROTATION: Final = "edgekeeper.io/rotation"
ROTATING: Final = "edgekeeper.io/rotating"
ROTATED_AT: Final = "edgekeeper.io/rotated-at"
SECRET_CONFLICT: Final = "SecretConflict"  # noqa: S105 - a reason
_IDS: Final = ("client_id", "CF_ACCESS_CLIENT_ID")
_SECRETS: Final = ("client_secret", "CF_ACCESS_CLIENT_SECRET")
"""The keys that operators have used so far."""
_LABELS: Final = {"app.kubernetes.io/managed-by": "edgekeeper"}


@dataclass(frozen=True)
class TokenSecrets:
    """Reads and writes these Secrets."""

    client: KubeClient

    async def read(self, key: Key, wanted: ServiceTokenOperation | None = None) -> TokenSecret | None:
        """A Secret without the secret in it; None where there is none. Without `wanted`, under any known keys."""
        try:
            obj = await self.client.get(SECRET, key)
        except NotFoundError:
            return None
        except ApiError as error:
            raise as_pass_error(error) from error
        return _seen(obj, key, wanted)

    async def store(
        self,
        present: TokenSecret | None,
        key: Key,
        owner: str,
        wanted: ServiceTokenOperation,
        token: IssuedToken,
        now: datetime,
    ) -> TokenSecret:
        """Write the credentials: into a new Secret, or into ours. Raise Conflict where another has come meanwhile."""
        body = _body(key, owner, wanted, token, now)
        try:
            obj = await (self._create(body) if present is None else self._replace(present, body))
        except ApiError as error:
            raise as_pass_error(error) from None  # its cause could show what was written
        return _seen(obj, key, wanted)

    async def announce(self, present: TokenSecret) -> TokenSecret:
        """Note that the client secret is about to be replaced."""
        return await self._annotate(present, {ROTATING: "true"})

    async def mark(self, present: TokenSecret, owner: str | None) -> TokenSecret:
        """Put our mark on a Secret, or take it off."""
        return await self._annotate(present, {OWNER: owner})

    async def delete(self, present: TokenSecret) -> None:
        """Delete a Secret, if it is still the one that was read."""
        try:
            await self.client.delete(
                SECRET, present.key, uid=present.uid, resource_version=present.resource_version
            )
        except NotFoundError:
            return
        except ApiError as error:
            raise as_pass_error(error) from error

    async def _annotate(self, present: TokenSecret, annotations: dict[str, str | None]) -> TokenSecret:
        patch = {"metadata": {"resourceVersion": present.resource_version, "annotations": annotations}}
        try:
            obj = await self.client.merge_patch(SECRET, present.key, patch)
        except NotFoundError as error:
            raise Conflict(f"Secret {present.key} is gone") from error
        except ApiError as error:
            raise as_pass_error(error) from error
        return _renewed(present, obj)

    async def _create(self, body: JsonObject) -> JsonObject:
        try:
            return await self.client.create(SECRET, body)
        except AlreadyExistsError:
            raise Conflict("a Secret of that name has come meanwhile") from None

    async def _replace(self, present: TokenSecret, body: JsonObject) -> JsonObject:
        metadata = {**body["metadata"], "resourceVersion": present.resource_version}
        annotations = {ROTATING: None, **metadata["annotations"]}
        patch = {"metadata": {**metadata, "annotations": annotations}, "data": body["data"]}
        return await self.client.merge_patch(SECRET, present.key, patch)


def conflict(name: str) -> Stall:
    """A Secret of that name exists and is not ours."""
    return Stall(
        SECRET_CONFLICT,
        f"Secret {name} exists and does not belong to this route: it is neither changed nor deleted; remove or rename it",
    )


def _body(
    key: Key, owner: str, wanted: ServiceTokenOperation, token: IssuedToken, now: datetime
) -> JsonObject:
    annotations: JsonObject = {OWNER: owner, ROTATED_AT: timestamp(now)}
    if wanted.rotation:
        annotations[ROTATION] = wanted.rotation
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "labels": _LABELS,
            "annotations": annotations,
        },
        "data": {
            wanted.client_id_key: b64encode(token.client_id.encode()).decode(),
            wanted.client_secret_key: b64encode(token.client_secret.reveal().encode()).decode(),
        },
    }


def _seen(obj: JsonObject, key: Key, wanted: ServiceTokenOperation | None) -> TokenSecret:
    metadata, data = dig_object(obj, "metadata"), dig_object(obj, "data")
    ids, secrets = ((wanted.client_id_key,), (wanted.client_secret_key,)) if wanted else (_IDS, _SECRETS)
    annotations = dig_object(metadata, "annotations")
    return TokenSecret(
        key=key,
        resource_version=str(metadata.get("resourceVersion") or ""),
        uid=str(metadata.get("uid") or ""),
        owner=str(annotations.get(OWNER) or ""),
        client_id=_text(next((data[name] for name in ids if data.get(name)), "")),
        has_client_secret=any(data.get(name) for name in secrets),
        rotation=str(annotations.get(ROTATION) or ""),
        rotating=ROTATING in annotations,
        rotated_at=_moment(annotations.get(ROTATED_AT) or metadata.get("creationTimestamp")),
    )


def _renewed(present: TokenSecret, obj: JsonObject) -> TokenSecret:
    annotations = dig_object(obj, "metadata", "annotations")
    return TokenSecret(
        present.key,
        str(dig(obj, "metadata", "resourceVersion") or ""),
        present.uid,
        str(annotations.get(OWNER) or ""),
        present.client_id,
        present.has_client_secret,
        present.rotation,
        ROTATING in annotations,
        present.rotated_at,
    )


def _text(encoded: object) -> str:
    try:
        return b64decode(str(encoded or ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _moment(text: object) -> datetime | None:
    try:
        return parse_timestamp(str(text))
    except ValueError:
        return None


def secret_name(subject: Subject) -> str:
    """Namespace and name of the Secret of the service token."""
    token, route = subject.spec.operations.service_token, subject.spec.httproute_ref
    return f"{token.secret_namespace or route.namespace}/{token.secret_name or f'{route.name}-cfzt-service-token'}"
