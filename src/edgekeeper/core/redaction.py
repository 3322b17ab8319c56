"""Redacts secrets in whatever is shown: log lines, events, condition messages, exception texts.

    redact(value)         any tree: a log line's key/values, a request, an object
    redact_text(text)     one text
    is_secret_key(key)    whether a field of this name contains a secret
    secret_fields(object) which fields contain one because of other fields
    hide(value)           what is shown of a secret

A secret is recognised by the name of its field (`client_secret`, `Authorization`, everything in a Secret's data), or by
its format (a private key, a JSON web token, `token=…`, a password in a URL). The first is reliable, so adapters keep
secrets under telling names. The second is a fallback for texts of others, such as error messages of a cloud, with
patterns that leave ordinary prose unchanged.

Every log line is redacted, so the common case is cheap: a text without any of a few substrings is returned as it is.
Nothing here raises, whatever it is given, and the depth and size of a tree are limited: a logger that fails or hangs
would hide the incident that it should report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, Final

REDACTED = "[redacted]"
"""The replacement of a secret."""

DEEPEST = 12
"""The maximum depth of a tree. Deeper levels are not shown."""
MOST_VALUES = 5_000
"""The maximum number of values of a tree. The rest is not shown."""
LONGEST_TEXT = 32_768
"""The maximum length of a text in characters. The rest is not shown."""

_TOO_DEEP = "[nested too deeply]"
_TOO_MUCH = "[too much to show]"
_UNPRINTABLE = "[cannot be shown]"

_SECRET_NAMES = re.compile(
    "secret|token|passw|passphrase|authorization|credential|cookie|apikey|accesskey|authkey|privatekey|signature"
    "|clientkeydata|tlskey|stringdata|dockerconfig|lastappliedconfiguration"
)
_HARMLESS_NAMES = re.compile(
    "(ref|refs|name|names|namespace|id|ids|arn|type|kind|count|total|ttl|policy|provider|url|host|at|time|expiry"
    "|seconds|attribute)$"
)
_PUNCTUATION = re.compile(r"[^a-z0-9]")

_NEVER_SECRET = (int, float, type(None), date, timedelta)
"""Types that cannot contain a secret, including bool and datetime, which are subclasses."""


@lru_cache(maxsize=2048)
def is_secret_key(key: str) -> bool:
    """Whether a field of this name contains a secret. `secretName`, `tokenId` and the like only refer to one."""
    name = _PUNCTUATION.sub("", key.lower())
    return _SECRET_NAMES.search(name) is not None and _HARMLESS_NAMES.search(name) is None


def redact(value: Any) -> Any:
    """A redacted copy of `value`. Containers become dicts and lists, unknown objects strings."""
    try:
        return _Walk().visit(value, DEEPEST)
    except Exception:  # noqa: BLE001 - methods of unknown objects may raise anything, and logging must not
        return _UNPRINTABLE


class _Walk:
    """The copying of one tree, with the number of values that may still be copied."""

    def __init__(self) -> None:
        self.left = MOST_VALUES

    def visit(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return redact_text(value)
        if isinstance(value, _NEVER_SECRET):
            return value
        self.left -= 1
        if depth <= 0:
            return _TOO_DEEP
        if isinstance(value, Mapping):
            return self._mapping(value, depth - 1)
        if isinstance(value, list | tuple | set | frozenset):
            return self._sequence(list(value), depth - 1)
        if isinstance(value, bytes | bytearray | memoryview):
            return f"[{len(value)} bytes]"
        return redact_text(_text_of(value))

    def _mapping(self, mapping: Mapping[Any, Any], depth: int) -> Any:
        shown: dict[str, Any] = {}
        hidden = secret_fields(mapping)
        for key, value in mapping.items():
            if not self._take():
                shown[_TOO_MUCH] = _TOO_MUCH
                break
            name = key if isinstance(key, str) else _text_of(key)
            secret = name in hidden or is_secret_key(name)
            shown[redact_text(name)] = hide(value) if secret else self.visit(value, depth)
        return shown

    def _sequence(self, items: list[Any], depth: int) -> list[Any]:
        match items:
            case [str() as key, value] if is_secret_key(key):  # a header, a pair of a query
                return [key, hide(value)]
        shown: list[Any] = []
        for item in items:
            if not self._take():
                shown.append(_TOO_MUCH)
                break
            shown.append(self.visit(item, depth))
        return shown

    def _take(self) -> bool:
        self.left -= 1
        return self.left >= 0


def secret_fields(mapping: Mapping[Any, Any]) -> tuple[str, ...]:
    """Fields that are secret because of other fields of the same object."""
    if mapping.get("kind") == "Secret":
        return ("data", "stringData")
    name = mapping.get("name")
    if (
        "value" in mapping and isinstance(name, str) and is_secret_key(name)
    ):  # an environment variable, a parameter
        return ("value",)
    return ()


def hide(value: Any) -> Any:
    """The replacement of a secret value. The keys of an object are shown: they are names, not secrets."""
    match value:
        case None | bool() | int() | float() | "":
            return value
        case dict() if len(value) <= 100:
            return {_text_of(key): REDACTED for key in value}
        case _:
            return REDACTED


def _text_of(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - `__str__` of unknown objects may raise anything
        return _UNPRINTABLE


_SHORTEST: Final = 7
"""The length of the shortest text that a pattern can match: `token=x`."""
_SHORTEST_BARE: Final = 20
"""The same for a text without a space, `=` or `:`."""

_NEEDLES: Final = (
    *("token", "secret", "passw", "passphrase", "authorization", "credential", "cookie", "signature"),
    *("api-key", "api_key", "apikey", "access-key", "access_key", "accesskey", "auth-key", "auth_key"),
    *("bearer ", "basic ", "private key-", "eyj", "akia", "asia", "://"),
    *("ghp_", "gho_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "cfut_", "cfat_", "cfk_"),
)
"""Every text that a pattern below matches contains one of these, in lower case."""

_WORD = (
    r"(?P<name>(?:token|secret|passw(?:or)?d|passphrase|authorization|credential|cookie|signature"
    r"|(?:api|access|auth)[-_]?key)[\w-]{0,40})"
)
_RANDOM = r"(?=[^\s\"',;&]{0,200}[0-9])[^\s\"',;&]{8,}"
"""Eight or more characters with a digit and without a space: not a word of a sentence."""


def _value_hidden(match: re.Match[str]) -> str:
    """Redact the value, unless its name only refers to a secret, as `secretName` does."""
    return f"{match['before']}{REDACTED}" if is_secret_key(match["name"]) else match[0]


# Repetitions are bounded, so that the time is linear in the length of a text, also for hostile texts.
_PATTERNS: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    # A private key, complete or truncated.
    (
        re.compile(
            r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
            re.DOTALL,
        ),
        REDACTED,
    ),
    # scheme://user:password@host
    (re.compile(r"(://)[^\s/@:]{0,200}:[^\s/@]{1,2000}@"), rf"\1{REDACTED}@"),
    # Authorization: Digest username=…; Cookie: session=…; to the end of the line
    (
        re.compile(
            r"(?i)(authorization\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?(?:bearer|basic|digest|aws4-[\w-]{1,20}) )"
            r"[^\r\n\"'\\]+"
        ),
        rf"\1{REDACTED}",
    ),
    (re.compile(r"(?i)(cookie\\?[\"']?:\s{0,4}\\?[\"']?)[^\s\"'=;]{1,100}=[^\r\n\"'\\]+"), rf"\1{REDACTED}"),
    (re.compile(rf"(?i)\b(bearer|basic) {{1,4}}{_RANDOM}"), rf"\1 {REDACTED}"),
    # "client_secret": "abc" and token='abc', also within a text in quotes, where the quotes are escaped
    (
        re.compile(
            rf"(?i)(?P<before>{_WORD}(?:\\?[\"']\s{{0,4}}[:=]\s{{0,4}}|=)(?P<escape>\\)?(?P<quote>[\"']))"
            r"(?(escape)[^\\]+|(?:(?!(?P=quote))[^\\]|\\.)+)",
            re.DOTALL,
        ),
        _value_hidden,
    ),
    # token=abc, as in queries and command lines
    (re.compile(rf"(?i)(?P<before>{_WORD}=)(?![\"'\\])[^\s\"'&;,]+"), _value_hidden),
    # password: abc123; but not "cannot read secret: not found"
    (re.compile(rf"(?i)(?P<before>{_WORD}:\s{{1,4}}[\"']?){_RANDOM}"), _value_hidden),
    # A JSON web token; an AWS key id; tokens with the prefix of their issuer
    (re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"), REDACTED),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), REDACTED),
    (
        re.compile(r"(?<![\w-])(?:gh[posr]_|github_pat_|glpat-|xox[abprs]-|cfut_|cfat_|cfk_)[\w-]{16,}"),
        REDACTED,
    ),
)


def redact_text(text: str) -> str:
    """The text with everything that looks like a secret redacted, truncated to `LONGEST_TEXT`."""
    if len(text) < _SHORTEST:
        return text
    if len(text) < _SHORTEST_BARE and not (" " in text or "=" in text or ":" in text):
        return text
    if len(text) > LONGEST_TEXT:
        text = f"{text[: LONGEST_TEXT - 1]}…"
    lowered = text.lower()
    for needle in _NEEDLES:
        if needle in lowered:
            return _without_secrets(text)
    return text


def _without_secrets(text: str) -> str:
    if REDACTED in text:  # so that redacting is idempotent
        return REDACTED.join(map(_without_secrets, text.split(REDACTED)))
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text
