"""API tokens: read from the tenants' Secrets, which are watched by name for as long as somebody uses them.

    tokens = ApiTokens()                                one for all controllers of the cloudflare-worker
    users = tokens.users(services.informers)            one for each controller
    controller.use(users.secrets)
    credential = users.credential(request.key, ref)     in a pass; raises Stall where there is no such Secret or key

A `Credential` is asked for its token at every call, so that a changed Secret is used by the very next one. Accounts and
their mirrors outlive the pass that asked for them, and those of all controllers are the same; so a token is read through
whichever controller watches its Secret.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from datetime import timedelta
from typing import Final

from edgekeeper.api.zerotrust_task import CredentialSecretRef
from edgekeeper.cloud.cloudflare.accounts import AccountKey
from edgekeeper.cloud.cloudflare.credential import Credential
from edgekeeper.core.errors import Cause, Stall, Wait
from edgekeeper.core.json import JsonObject, dig
from edgekeeper.kube.informers import Informers
from edgekeeper.kube.kinds import SECRET, Key
from edgekeeper.kube.store import NotSyncedError, SyncState
from edgekeeper.runtime.named_objects import NamedObjects

CREDENTIAL_NOT_FOUND: Final = "CredentialNotFound"
_SOON: Final = timedelta(seconds=5)


class ApiTokens:
    """The API tokens of all tenants."""

    def __init__(self) -> None:
        self._watched: list[NamedObjects] = []

    def users(self, informers: Informers) -> TokenUsers:
        """The view of one controller."""
        secrets = NamedObjects(informers, SECRET)
        self._watched.append(secrets)
        return TokenUsers(self, secrets)

    def is_used(self, account: AccountKey) -> bool:
        """Does any object use the Secret of this account's credential?"""
        namespace, name, _ = account.credential.name.split("/", 2)
        return any(_is_watched(secrets, Key(namespace, name)) for secrets in self._watched)

    def read(self, secret: Key, key: str) -> str:
        """The API token as it is now. Raise Stall where there is none or it may not be read, Wait while that is not known."""
        for secrets in self._watched:
            try:
                return api_token(secrets.get(secret), secret, key)
            except ValueError:
                continue  # this controller does not watch it
            except NotSyncedError as error:
                if error.state is SyncState.FORBIDDEN:
                    raise _forbidden(secret) from error
                break
        wait = Wait(_SOON, "CredentialPending", f"Secret {secret} is not read yet")
        wait.unavailable = Cause.CREDENTIALS
        raise wait


class TokenUsers:
    """The API tokens that the objects of one controller use."""

    def __init__(self, tokens: ApiTokens, secrets: NamedObjects) -> None:
        self.secrets = secrets
        self._tokens = tokens

    def credential(self, user: Key, ref: CredentialSecretRef | None) -> Credential:
        """The credential that an object uses, and no other. Raise Stall where the Secret or its key is missing."""
        if ref is None or not ref.name or not ref.namespace:
            raise Stall(
                CREDENTIAL_NOT_FOUND, "no Secret with an API token is named: set credentialRef of the tenant"
            )
        secret = Key(ref.namespace, ref.name)
        self.secrets.use(user, [secret])
        self._tokens.read(secret, ref.key)
        return Credential(f"{secret}/{ref.key}", lambda: self._tokens.read(secret, ref.key))


def _forbidden(secret: Key) -> Stall:
    return Stall(
        CREDENTIAL_NOT_FOUND,
        f"the operator may not read Secret {secret}: add {secret.namespace} to secrets.namespaces of the chart",
    )


def _is_watched(secrets: NamedObjects, secret: Key) -> bool:
    try:
        secrets.raw(secret)
    except ValueError:
        return False
    except NotSyncedError:
        return True
    return True


def api_token(obj: JsonObject | None, secret: Key, key: str) -> str:
    """The API token in a Secret. Raise Stall where there is none."""
    if obj is None:
        raise Stall(
            CREDENTIAL_NOT_FOUND,
            f"there is no Secret {secret}: create it with the API token under the key {key}",
        )
    text = dig(obj, "data", key)
    if not isinstance(text, str) or not text:
        raise Stall(CREDENTIAL_NOT_FOUND, f"Secret {secret} has no key {key}: put the API token there")
    try:
        return b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise Stall(CREDENTIAL_NOT_FOUND, f"the key {key} of Secret {secret} is no text") from None
