"""Where our credentials come from: the chain that botocore offers, and nothing of our own.

    1. the environment                     AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
    2. IAM roles for service accounts      AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE (and AWS_ROLE_SESSION_NAME)
    3. profiles and single sign-on         ~/.aws
    4. EKS Pod Identity                    AWS_CONTAINER_CREDENTIALS_FULL_URI, …_AUTHORIZATION_TOKEN_FILE
    5. the machine's own role              unless AWS_EC2_METADATA_DISABLED is set

Temporary ones are renewed by botocore a quarter of an hour before they end, and token files are read again each time.
What is renewed that way does not pass the transport: it asks a service of the node or an unsigned question of STS,
and no operation of ours is among them.
"""

from __future__ import annotations

import os
from typing import Final

from aiobotocore.credentials import AioCredentials
from aiobotocore.session import AioSession

_NO_FILES: Final = {
    "profile": (None, None, None, None),
    "config_file": (None, None, os.devnull, None),
    "credentials_file": (None, None, os.devnull, None),
}
"""Replaces the session's variables of these names, which otherwise come from the environment and lead to ~/.aws."""


def new_session(credentials: AioCredentials | None = None) -> AioSession:
    """A session that signs with the given credentials, or with what the chain finds."""
    return _signing(AioSession(), credentials)


def static_session(key_id: str, secret_key: str, token: str | None = None) -> AioSession:
    """A session that signs with one key. Neither a profile nor anything else in ~/.aws concerns it."""
    return _signing(AioSession(session_vars=_NO_FILES), AioCredentials(key_id, secret_key, token))


def _signing(session: AioSession, credentials: AioCredentials | None) -> AioSession:
    if credentials is not None:
        session.register_component("credential_provider", _Given(credentials))
    return session


class _Given:
    """Stands where botocore looks for its chain."""

    def __init__(self, credentials: AioCredentials) -> None:
        self._credentials = credentials

    async def load_credentials(self) -> AioCredentials:
        return self._credentials
