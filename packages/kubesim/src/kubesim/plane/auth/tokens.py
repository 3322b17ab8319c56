"""Service account tokens: JSON Web Tokens that the server signs (ES256) and later recognises.

A token proves nothing by itself: each use looks up the account it names, and a token outlives neither its expiry nor
its account. An account deleted and created anew has another uid, so old tokens do not come back to life. Claims have
the shape of kube-apiserver's, since programs decode the payload to learn their own namespace.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from edgekeeper.core.json import JsonObject, dig
from kubesim.plane.auth.authorization import quoted_list
from kubesim.plane.request import User

ISSUER = "https://kubernetes.default.svc.cluster.local"
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
_USER_PREFIX = "system:serviceaccount:"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_ACCOUNT_USER = re.compile(rf"{_USER_PREFIX}(?P<namespace>{_LABEL}):(?P<name>{_LABEL}(\.{_LABEL})*)")
_LEEWAY = timedelta(minutes=1)
_SCALAR_LENGTH = 32
_REMEMBERED_TOKENS = 1024

AccountUid = Callable[[str, str], str | None]
"""Look up the uid of the service account `(namespace, name)`; `None` where there is no such account."""


class TokenError(Exception):
    """A token that must not be accepted; the message may be shown to whoever asked about it."""


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """Whom a token stands for, and for which of the audiences asked about."""

    user: User
    audiences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """A service account as far as tokens are concerned: the uid tells it from a namesake of another day."""

    namespace: str
    name: str
    uid: str = ""

    @property
    def user_name(self) -> str:
        return f"{_USER_PREFIX}{self.namespace}:{self.name}"

    @property
    def groups(self) -> tuple[str, ...]:
        return ("system:serviceaccounts", f"system:serviceaccounts:{self.namespace}")


def account_of_user(user_name: str) -> ServiceAccount | None:
    """Return the service account that a user name stands for, or `None` for any other user."""
    match = _ACCOUNT_USER.fullmatch(user_name)
    return ServiceAccount(match["namespace"], match["name"]) if match else None


class ServiceAccountTokens:
    """Issues and verifies tokens under one key."""

    def __init__(
        self,
        key: ec.EllipticCurvePrivateKey,
        account_uid: AccountUid,
        audiences: Sequence[str] = (ISSUER,),
    ) -> None:
        self.audiences = tuple(audiences)
        """What tokens are for unless they ask otherwise: this server itself."""
        self._key = key
        self._public_key = key.public_key()
        self._header = _encode({"alg": "ES256", "kid": _key_id(self._public_key)})
        self._account_uid = account_uid
        # Checking a signature costs more than all the rest of a request, and clients send the same token all day.
        self._signed_claims = lru_cache(_REMEMBERED_TOKENS)(self._check_signature)

    def issue_token(
        self, account: ServiceAccount, audiences: Sequence[str], lifetime: timedelta, now: datetime
    ) -> str:
        """Sign a token for an account. No audiences means this server."""
        issued = int(now.timestamp())
        claims = {
            "aud": list(audiences or self.audiences),
            "exp": issued + int(lifetime.total_seconds()),
            "iat": issued,
            "iss": ISSUER,
            "jti": str(uuid.uuid4()),
            "kubernetes.io": {
                "namespace": account.namespace,
                "serviceaccount": {"name": account.name, "uid": account.uid},
            },
            "nbf": issued,
            "sub": account.user_name,
        }
        signed = f"{self._header}.{_encode(claims)}"
        return f"{signed}.{self._sign(signed)}"

    def verify(self, token: str, audiences: Sequence[str], now: datetime) -> VerifiedToken | None:
        """Return whom a token stands for; `None` if it is not one of ours at all. Raise TokenError otherwise."""
        if not _claims_our_issuer(token):
            return None
        claims = self._signed_claims(token)
        wanted = tuple(audiences) or self.audiences
        shared = tuple(audience for audience in claims["aud"] if audience in wanted)
        if not shared:
            raise TokenError(
                f"token audiences {quoted_list(claims['aud'])} is invalid for the target audiences {quoted_list(wanted)}"
            )
        _check_dates(claims, now)
        return VerifiedToken(self._user_of(claims), shared)

    def _user_of(self, claims: JsonObject) -> User:
        private = claims["kubernetes.io"]
        account = ServiceAccount(private["namespace"], **private["serviceaccount"])
        uid = self._account_uid(account.namespace, account.name)
        if uid is None:
            raise TokenError(f'serviceaccounts "{account.name}" not found')
        if uid != account.uid:
            raise TokenError(f"service account UID ({uid}) does not match claim ({account.uid})")
        return User(account.user_name, account.groups, uid, {CREDENTIAL_ID: (f"JTI={claims['jti']}",)})

    def _sign(self, signed: str) -> str:
        """JWT wants the two numbers of an EC signature side by side, not their ASN.1 form."""
        r, s = decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return _base64(r.to_bytes(_SCALAR_LENGTH, "big") + s.to_bytes(_SCALAR_LENGTH, "big"))

    def _check_signature(self, token: str) -> JsonObject:
        signed, _, encoded = token.rpartition(".")
        header, _, payload = signed.partition(".")
        if header != self._header:
            raise TokenError("invalid signature, no keys found")
        try:
            raw = _unbase64(encoded)
            r, s = (int.from_bytes(half, "big") for half in (raw[:_SCALAR_LENGTH], raw[_SCALAR_LENGTH:]))
            signature = encode_dss_signature(r, s)
            self._public_key.verify(signature, signed.encode(), ec.ECDSA(hashes.SHA256()))
        except (InvalidSignature, ValueError) as error:
            raise TokenError("go-jose/go-jose: error in cryptographic primitive") from error
        claims: JsonObject = msgspec.json.decode(_unbase64(payload))
        return claims


def _claims_our_issuer(token: str) -> bool:
    """Peek at a token before its signature is checked: does it claim to be one of ours?"""
    parts = token.split(".")
    if len(parts) != 3:
        return False
    try:
        return bool(dig(msgspec.json.decode(_unbase64(parts[1])), "iss") == ISSUER)
    except (ValueError, msgspec.DecodeError):
        return False


def _check_dates(claims: JsonObject, now: datetime) -> None:
    seconds, leeway = now.timestamp(), _LEEWAY.total_seconds()
    if seconds - leeway > claims["exp"]:
        raise TokenError("service account token has expired")
    if seconds + leeway < claims["nbf"]:
        raise TokenError("service account token is not valid yet")


def _key_id(key: ec.EllipticCurvePublicKey) -> str:
    """Name a key as kube-apiserver does: the hash of its DER form."""
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return _base64(hashlib.sha256(der).digest())


def _encode(claims: JsonObject) -> str:
    return _base64(msgspec.json.encode(claims))


def _base64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def _unbase64(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
