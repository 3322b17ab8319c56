"""Which steps a service token and its Secret need. Pure.

token is not there                              announce → create, with its Secret
credentials were never stored                   rotate, with the Secret: nobody has them, and they are worthless at once
Secret is missing, or of another token          rotate, with the Secret: the client secret is lost
Secret says that a rotation was begun           rotate again: its result may be lost
rotation is requested, or due                   rotate
other name or duration                          update
expires soon, or not as its duration says       refresh

Where credentials were stored, programs may have read them. They stay valid for the grace period, whatever the rotation is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from edgekeeper.cloud.cloudflare.models import ServiceToken
from edgekeeper.controllers.zerotrust import steps as do
from edgekeeper.controllers.zerotrust.ownership import is_inherited_mark
from edgekeeper.controllers.zerotrust.snapshot import Snapshot, TokenSecret
from edgekeeper.controllers.zerotrust.token_secrets import conflict, secret_name
from edgekeeper.controllers.zerotrust.wanted_records import mark_of
from edgekeeper.core.errors import Stall
from edgekeeper.core.steps import Step
from edgekeeper.lifecycle.adoption import FLAG

TOKEN_CONFLICT: Final = "ServiceTokenConflict"  # noqa: S105 - a reason
DURATION: Final = "8760h"
GRACE: Final = timedelta(hours=24)
"""How long the previous secret stays valid where nobody says."""
EARLY: Final = timedelta(days=30)
"""How long before its end a token is refreshed, or a quarter of its duration where that is less."""
_SLACK: Final = timedelta(minutes=5)
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|m|s)", re.ASCII)
_LONGEST_TEXT: Final = 100
_LONGEST: Final = timedelta(hours=2_562_047)
"""The longest duration of Go, whose syntax it is: 292 years. Added to the present moment it is still a date."""
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0}
_SURPLUS: Final = "the route does not ask for it any more"


def parse_duration(text: str) -> timedelta | None:
    """A duration as Cloudflare writes it; None for `forever`. Raise Stall where it is none, or too long."""
    if text == "forever":
        return None
    # A longer text is none, and to look for parts in it would take time in proportion to the square of its length.
    parts = _PART.findall(text) if len(text) <= _LONGEST_TEXT else []
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    is_whole = bool(parts) and "".join(number + unit for number, unit in parts) == text
    if not is_whole or seconds > _LONGEST.total_seconds():
        raise Stall("InvalidSpec", f"{text[:50]!r} is no duration such as 30m or 24h")
    return timedelta(seconds=seconds)


def refuse_token(snapshot: Snapshot) -> None:
    """Raise Stall where a token or Secret of others is in the way."""
    if not snapshot.subject.wants_token:
        return
    if snapshot.token is None and snapshot.rival_tokens:
        ids = ", ".join(token.id for token in snapshot.rival_tokens)
        raise Stall(
            TOKEN_CONFLICT,
            f"a service token {snapshot.rival_tokens[0].name} exists and is not known to be ours ({ids}): delete or rename it; "
            f"or if this cluster was restored, an administrator can take over what it had with {FLAG} {snapshot.cluster}",
        )
    if snapshot.secret is not None and not is_own_secret(snapshot, snapshot.secret, snapshot.token):
        raise conflict(secret_name(snapshot.subject))


def is_own_secret(snapshot: Snapshot, secret: TokenSecret, token: ServiceToken | None) -> bool:
    """Is a Secret ours: by its mark, or because it has the credentials of a token that is ours?"""
    if secret.owner:
        own = mark_of(snapshot.cluster, snapshot.subject.spec)
        return secret.owner == own or is_inherited_mark(snapshot, secret.owner)
    recorded = {item.id for item in snapshot.items("ServiceToken") if item.id}
    return token is not None and token.id in recorded and secret.client_id == token.client_id


def publish_token(snapshot: Snapshot) -> Iterator[Step]:
    """The steps until the token is there and its credentials are stored."""
    if not snapshot.subject.wants_token:
        return
    wanted, token = snapshot.subject.spec.operations.service_token, snapshot.token
    if token is None:
        if not any(item.name == wanted.name and not item.id for item in snapshot.items("ServiceToken")):
            yield do.AnnounceToken(wanted.name, reason="service tokens bear no mark")
        yield do.CreateToken(wanted.name, wanted.duration or DURATION, reason="the route asks for it")
        return
    yield from _stored(snapshot, token)
    yield from _lasting(snapshot, token)


def _stored(snapshot: Snapshot, token: ServiceToken) -> Iterator[Step]:
    secret, now = snapshot.secret, snapshot.now
    wanted = snapshot.subject.spec.operations.service_token
    mark = mark_of(snapshot.cluster, snapshot.subject.spec)
    if secret is not None and secret.owner != mark:
        yield do.MarkSecret(secret, mark, reason="it has the credentials of our token")
    grace = (parse_duration(wanted.rotation_grace) if wanted.rotation_grace else None) or GRACE
    if secret is None or secret.client_id != token.client_id or not secret.has_client_secret:
        old_until = now + grace if _was_stored(snapshot, token) else now
        yield do.RotateToken(token, old_until, reason="its credentials are not in the Secret")
    elif secret.rotating:
        yield do.RotateToken(token, now + grace, reason="a rotation was begun, and its result may be lost")
    elif wanted.rotation and wanted.rotation != secret.rotation:
        yield do.RotateToken(
            token, now + grace, is_due=True, reason=f"rotation {wanted.rotation} is requested"
        )
    elif wanted.rotation_interval and secret.rotated_at is not None:
        interval = parse_duration(wanted.rotation_interval)
        if interval is not None and secret.rotated_at + interval <= now:
            yield do.RotateToken(
                token, now + grace, is_due=True, reason=f"it is rotated every {wanted.rotation_interval}"
            )


def _was_stored(snapshot: Snapshot, token: ServiceToken) -> bool:
    """Was there a Secret with credentials of the token, so that programs may use them? It is announced before."""
    name = secret_name(snapshot.subject)
    items = [item for item in snapshot.items("Secret") if item.name == name]
    return any(item.content == token.client_id or item.unconfirmed for item in items)


def _lasting(snapshot: Snapshot, token: ServiceToken) -> Iterator[Step]:
    wanted = snapshot.subject.spec.operations.service_token
    text = wanted.duration or DURATION
    duration = parse_duration(text)
    is_same = token.duration == text or (bool(token.duration) and parse_duration(token.duration) == duration)
    if token.name != wanted.name or not is_same or not token.enabled:
        yield do.UpdateToken(token, wanted.name, text, reason="it is not as the route asks for")
    if reason := _why_refresh(snapshot, token, duration):
        yield do.RefreshToken(token, reason=reason)


def _why_refresh(snapshot: Snapshot, token: ServiceToken, duration: timedelta | None) -> str:
    """Why the end of the token's life has to be moved; empty where it is as it should be."""
    if duration is None or token.expires_at is None:
        return (
            ""
            if (duration is None) == (token.expires_at is None)
            else "it does not expire as its duration says"
        )
    left = token.expires_at - snapshot.now
    if left < min(EARLY, duration / 4):
        return f"it expires at {token.expires_at:%Y-%m-%d %H:%M} UTC"
    return "it expires later than its duration says" if left > duration + _SLACK else ""


# Withdrawing


def withdraw_tokens(snapshot: Snapshot) -> Iterator[Step]:
    """The steps until what is not wanted any more is gone, or left without our mark."""
    subject, mark = snapshot.subject, mark_of(snapshot.cluster, snapshot.subject.spec)
    leaves = subject.is_withdrawal and subject.spec.orphan
    tokens = [token for token in (snapshot.token, *snapshot.surplus_tokens.values()) if token is not None]
    if not leaves:
        for secret in snapshot.surplus_secrets.values():
            # Once the token is gone, nothing would prove that an unmarked Secret is ours.
            if not secret.owner and any(is_own_secret(snapshot, secret, token) for token in tokens):
                yield do.MarkSecret(secret, mark, reason="it has the credentials of our token")
    for item in snapshot.items("ServiceToken"):
        if item.id not in snapshot.surplus_tokens:
            continue
        token = snapshot.surplus_tokens[item.id]
        if leaves or (token is not None and token.name != item.name):
            yield do.Forget((item,), reason="it is left as it is")
        else:
            yield do.DeleteToken(item.id, item.name, reason=_SURPLUS)
    for item in snapshot.items("Secret"):
        found = snapshot.surplus_secrets.get(item.name)
        if found is None:
            continue
        if found.owner != mark and not is_inherited_mark(snapshot, found.owner):
            yield do.Forget((item,), reason="it is left as it is")
        elif leaves:
            yield do.MarkSecret(found, None, reason="it is left as it is")
        else:
            yield do.DeleteSecret(found, reason=_SURPLUS)
