"""Who is asking: credentials of a request, turned into a user.

The order is kube-apiserver's: a client certificate first, then a bearer token. A credential that convinces settles
the matter. Without any credential the caller is anonymous; with none but bad ones the answer is 401, because a client
that believes to be somebody must learn that it is not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache

from cryptography import x509
from cryptography.x509.oid import NameOID

from kubesim.plane.auth.certificates import CertificateAuthority
from kubesim.plane.auth.tokens import (
    CREDENTIAL_ID,
    ServiceAccountTokens,
    TokenError,
    VerifiedToken,
)
from kubesim.plane.errors import unauthorized
from kubesim.plane.request import Request, User

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = User("system:anonymous", (UNAUTHENTICATED,))
ADMIN = User("system:admin", ("system:masters", AUTHENTICATED))
_REMEMBERED_CERTIFICATES = 256


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _Identity:
    """The user of a recognised certificate, while it is valid."""

    user: User
    not_before: datetime
    not_after: datetime


class Authenticator:
    """Knows static tokens, the tokens of service accounts, and the certificates of one authority."""

    def __init__(
        self,
        tokens: Mapping[str, User],
        ca: CertificateAuthority | None = None,
        service_accounts: ServiceAccountTokens | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._tokens = {token: with_authenticated_group(user) for token, user in tokens.items()}
        self._ca = ca
        self._service_accounts = service_accounts
        self._clock = clock
        # Recognising a certificate means checking its signature; a connection presents the same one every time.
        self._identity = lru_cache(_REMEMBERED_CERTIFICATES)(self._identify)

    def authenticate(self, request: Request) -> User:
        """Return who sends `request`, perhaps `system:anonymous`. Raise 401 for credentials that do not hold."""
        der = request.peer_certificate
        if der is not None:
            user = self._certificate_user(der)
            if user is not None:
                return user
        token = _bearer_token(request.header("authorization"))
        if token:
            try:
                return self.verify_token(token).user
            except TokenError as rejection:
                raise unauthorized() from rejection
        if der is not None:
            raise unauthorized()
        return ANONYMOUS

    def verify_token(self, token: str, audiences: Sequence[str] = ()) -> VerifiedToken:
        """Return whom a token stands for, for the given audiences (none: this server). Raise TokenError."""
        user = self._tokens.get(token)
        if user is not None:
            return VerifiedToken(user, tuple(audiences) or self._audiences)
        verified = self._verify_account_token(token, audiences)
        if verified is None:
            raise TokenError("invalid bearer token")
        return replace(verified, user=with_authenticated_group(verified.user))

    def _verify_account_token(self, token: str, audiences: Sequence[str]) -> VerifiedToken | None:
        if self._service_accounts is None:
            return None
        try:
            return self._service_accounts.verify(token, audiences, self._clock())
        except TokenError as error:
            raise TokenError(f"[invalid bearer token, {error}]") from error

    @property
    def _audiences(self) -> tuple[str, ...]:
        return self._service_accounts.audiences if self._service_accounts is not None else ()

    def _certificate_user(self, der: bytes) -> User | None:
        identity = self._identity(der)
        if identity is None or not identity.not_before <= self._clock() <= identity.not_after:
            return None
        return identity.user

    def _identify(self, der: bytes) -> _Identity | None:
        certificate = self._ca.recognise_client(der) if self._ca is not None else None
        if certificate is None:
            return None
        names = _subject(certificate, NameOID.COMMON_NAME)
        if not names or not names[-1]:
            return None
        groups = _subject(certificate, NameOID.ORGANIZATION_NAME)
        extra = {CREDENTIAL_ID: (f"X509SHA256={hashlib.sha256(der).hexdigest()}",)}
        user = with_authenticated_group(User(names[-1], groups, extra=extra))
        return _Identity(user, certificate.not_valid_before_utc, certificate.not_valid_after_utc)


def with_authenticated_group(user: User) -> User:
    """Everybody who proved an identity is in `system:authenticated`, unless their groups already say otherwise."""
    if user.name == ANONYMOUS.name or AUTHENTICATED in user.groups or UNAUTHENTICATED in user.groups:
        return user
    return replace(user, groups=(*user.groups, AUTHENTICATED))


def _bearer_token(authorization: str) -> str:
    """Return the token of an `Authorization` header; other schemes are no credentials at all."""
    scheme, _, rest = authorization.strip().partition(" ")
    return rest.partition(" ")[0] if scheme.lower() == "bearer" else ""


def _subject(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> tuple[str, ...]:
    return tuple(str(attribute.value) for attribute in certificate.subject.get_attributes_for_oid(oid))
