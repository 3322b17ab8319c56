"""Names of the objects that the operator keeps for a route. Pure.

    state ConfigMap, task     cfzt-{namespace}-{name}          with a hash only where that name is taken or too long
    task of a deletion        cfzt-delete-{namespace}-{name}   where the route itself is gone
    service token             {name}-service-token             with a hash where another route has a token of that name

The plain form is ambiguous: `a-b` and `c` give the same name as `a` and `b-c`. So objects are never found by their names,
but by what they say about their route. The form with a hash is unambiguous.
"""

from __future__ import annotations

from typing import Final

from edgekeeper.core.names import DNS_SUBDOMAIN, bounded_name, fingerprint

LONGEST_NAME: Final = 253
LONGEST_LABEL: Final = 63
_PREFIX: Final = "cfzt-"
_DELETE: Final = "cfzt-delete-"


def object_names(namespace: str, name: str) -> tuple[str, ...]:
    """The names that the state or task of a route may have, the preferred one first."""
    return _candidates(f"{_PREFIX}{namespace}-{name}", namespace, name)


def deletion_names(state_name: str, namespace: str, name: str) -> tuple[str, ...]:
    """The names that the task may have which removes what a state lists, the preferred one first."""
    return _candidates(f"{_DELETE}{state_name.removeprefix(_PREFIX)}", namespace, name)


def label_value(text: str) -> str:
    """A text as the value of a label: itself where that is valid, else shortened, with a hash."""
    if len(text) <= LONGEST_LABEL and DNS_SUBDOMAIN.pattern.fullmatch(text):
        return text
    return bounded_name(text, limit=LONGEST_LABEL, alphabet=DNS_SUBDOMAIN)


def token_name(namespace: str, name: str, *, is_taken: bool) -> str:
    """The name of a route's service token."""
    plain = f"{name}-service-token"
    return f"{plain}-{fingerprint(namespace, name)}" if is_taken else plain


def _candidates(plain: str, namespace: str, name: str) -> tuple[str, ...]:
    mark = fingerprint(namespace, name)
    stem = DNS_SUBDOMAIN.trimmed(plain[: LONGEST_NAME - len(mark) - 1])
    hashed = f"{stem}-{mark}"
    return (plain, hashed) if len(plain) <= LONGEST_NAME else (hashed,)
