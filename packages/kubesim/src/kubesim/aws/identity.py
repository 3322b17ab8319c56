"""Who asks: accounts, access keys, roles and the sessions that assume them.

A signature is not checked, but what it says is believed: the access key names a user or a session, the scope names
the region and the service. A key of twelve digits stands for that account. Any other unknown key stands for the
cloud's own account, unless the cloud is strict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec

from kubesim.aws.cloudtime import CloudTime
from kubesim.aws.errors import AwsError
from kubesim.aws.ids import Ids

Policy = Mapping[str, Any]
"""An IAM policy document."""

_SCOPE = re.compile(r"Credential=([^/,\s]*)/\d{8}/([^/,\s]+)/([^/,\s]+)/aws4_request")
_ACCOUNT = re.compile(r"\d{12}")

_REMEMBERED = timedelta(days=1)
"""How long after its end a session's key is known to have expired. An unknown key may be anybody's."""

INVALID = "The security token included in the request is invalid."
EXPIRED = "The security token included in the request is expired"


@dataclass(frozen=True)
class Scope:
    """What the signature of a request says about it."""

    access_key: str
    region: str
    service: str


@dataclass(frozen=True)
class Principal:
    """Somebody who may ask. Without a policy everything is allowed."""

    account: str
    arn: str
    user_id: str
    policies: tuple[Policy, ...] = ()
    expires: datetime | None = None


@dataclass(frozen=True)
class Credentials:
    """What a client is configured with."""

    access_key: str
    secret_key: str
    session_token: str | None = None


@dataclass(frozen=True)
class Role:
    """What may be assumed, by whom, and what it may do then."""

    arn: str
    trusted: tuple[str, ...] = ("*",)
    """Accounts or ARNs whose principals may assume the role."""
    external_id: str | None = None
    web_identity: bool = False
    """Whether a token of the cluster's issuer is enough."""
    policy: Policy | None = None
    longest_session: timedelta = timedelta(hours=1)

    @property
    def account(self) -> str:
        return self.arn.split(":")[4]

    @property
    def name(self) -> str:
        return self.arn.rpartition("/")[2]

    def trusts(self, principal: Principal) -> bool:
        own = (principal.account, principal.arn, f"arn:aws:iam::{principal.account}:root", "*")
        return any(trusted in own for trusted in self.trusted)


class SavedIdentities(msgspec.Struct):
    """Roles, and who has which key."""

    roles: list[Role]
    keys: dict[str, Principal]


@dataclass
class Identities:
    """Everybody that the cloud knows."""

    time: CloudTime
    ids: Ids
    account: str
    strict: bool = False
    roles: dict[str, Role] = field(default_factory=dict)
    _keys: dict[str, Principal] = field(default_factory=dict)

    def add_user(
        self, name: str = "operator", account: str | None = None, policies: Sequence[Policy] = ()
    ) -> Credentials:
        """A user with an access key. With policies, only what they allow; without, everything."""
        owner = account or self.account
        arn = f"arn:aws:iam::{owner}:user/{name}"
        credentials = Credentials("AKIA" + self.ids.upper(16), self.ids.mixed(40))
        self._keys[credentials.access_key] = Principal(
            owner, arn, "AIDA" + self.ids.upper(17), tuple(policies)
        )
        return credentials

    def add_role(self, role: Role) -> Role:
        self.roles[role.arn] = role
        return role

    def open_session(self, role: Role, session: str, duration: timedelta) -> tuple[Credentials, Principal]:
        """Temporary credentials for a role."""
        arn = f"arn:aws:sts::{role.account}:assumed-role/{role.name}/{session}"
        policies = (role.policy,) if role.policy is not None else ()
        user_id = f"AROA{self.ids.upper(17)}:{session}"
        principal = Principal(role.account, arn, user_id, policies, self.time.now() + duration)
        credentials = Credentials("ASIA" + self.ids.upper(16), self.ids.mixed(40), self.ids.mixed(96))
        self._keys[credentials.access_key] = principal
        return credentials, principal

    def principal(self, access_key: str) -> Principal:
        """Whose key this is. Raise AwsError where it is nobody's, or no longer anybody's."""
        known = self._keys.get(access_key)
        if known is not None:
            if known.expires is not None and self.time.now() >= known.expires:
                raise AwsError("ExpiredToken", EXPIRED)
            return known
        if self.strict:
            raise AwsError("InvalidClientTokenId", INVALID)
        account = access_key if _ACCOUNT.fullmatch(access_key) else self.account
        return Principal(account, f"arn:aws:iam::{account}:root", account)

    # --- Over a restart ---

    def save(self) -> SavedIdentities:
        now = self.time.now()
        lasting = {
            key: one
            for key, one in self._keys.items()
            if one.expires is None or one.expires > now - _REMEMBERED
        }
        return SavedIdentities(list(self.roles.values()), lasting)

    def restore(self, saved: SavedIdentities) -> None:
        self.roles = {role.arn: role for role in saved.roles}
        self._keys = dict(saved.keys)


def scope_of(headers: Mapping[str, str]) -> Scope | None:
    """What the Authorization header says, or nothing where the request is not signed."""
    match = _SCOPE.search(headers.get("authorization", ""))
    return Scope(*match.groups()) if match else None
