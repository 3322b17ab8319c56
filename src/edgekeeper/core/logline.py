"""Log lines: redacts the fields of a line and renders it as JSON or text.

    clean         fields without secrets, only JSON types, exceptions as text
    clean_within  the same, together with the fields of a scope
    render_json   one line of JSON
    render_text   one line of text, and indented lines for changes (`path: before → after`) and tracebacks

Much of what is logged comes from users and clouds. In the text form control characters, ANSI sequences and invisible
marks that change the direction of writing are escaped, so that a value cannot forge a line or control a terminal; JSON
escapes most of them by itself. A line that cannot be rendered is replaced by a simpler one, and never lost.

A typical line takes a few microseconds. To avoid searching the same keys and values for secrets again and again, a
bounded number of those without secrets is cached.
"""

from __future__ import annotations

import json
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, TypeAlias

import msgspec

from edgekeeper.core.clock import micro_timestamp
from edgekeeper.core.delta import ABSENT
from edgekeeper.core.json import JsonObject
from edgekeeper.core.redaction import REDACTED, is_secret_key, redact, redact_text

COMPLETED = "Reconciliation completed"
FAILED = "Reconciliation failed"
STARTED = "Starting edgekeeper"
"""The messages that the text form shows in colours of their own."""

_HEAD = frozenset({"ts", "level", "logger", "msg"})
_SPECIAL = _HEAD | {"exc_info", "changes"}
_OBJECT = frozenset({"kind", "namespace", "name"})
_BELOW = frozenset({"changes", "stack"})
"""Fields that the text form shows on lines of their own, below."""
_CONTEXT_DEPENDENT = frozenset({"data", "value", "stringData"})
"""Fields that may be secret depending on other fields: lines with one of them are redacted as a whole."""

_REMEMBERED = 4096
_SHORT = 64
_clean_texts: set[str] = set()
_clean_keys: set[str] = set()
_PLAIN_TYPES = frozenset({int, float, bool, type(None)})

_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_STEPS = re.compile(r"[.\[\]/]")
_NEEDS_QUOTES = re.compile(r'[\s"=]|^$')
_encode = msgspec.json.Encoder(enc_hook=str).encode

Paint: TypeAlias = Callable[[str, str], str]
"""Colours a text: takes the text and the name of a colour."""


def clean_message(message: str) -> str:
    """The message, redacted."""
    return message if message in _clean_texts else str(_shown("msg", message))


def clean_within(scope: JsonObject, fields: Mapping[str, Any]) -> JsonObject:
    """The fields of a line, cleaned, after those of its scope, which have been cleaned before."""
    cleaned = clean(fields)
    if not _CONTEXT_DEPENDENT.isdisjoint(cleaned):
        return _shown_whole({**scope, **cleaned})  # may be secret because of a field of the scope
    return {**scope, **cleaned} if scope else cleaned


def clean(fields: Mapping[str, Any]) -> JsonObject:
    """The fields of a line, redacted. All lines go through here."""
    fields = _prepared(fields)
    if not _CONTEXT_DEPENDENT.isdisjoint(fields):
        return _shown_whole(fields)
    return {
        key: value
        if key in _clean_keys
        and ((kind := type(value)) in _PLAIN_TYPES or (kind is str and value in _clean_texts))
        else _shown(key, value)
        for key, value in fields.items()
    }


def _prepared(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Convert exceptions and changes, and rename fields that clash with those of every line."""
    if _SPECIAL.isdisjoint(fields):
        return fields
    prepared = {f"{key}_" if key in _HEAD else key: value for key, value in fields.items()}
    exc_info = prepared.pop("exc_info", None)
    if exc_info and (error := _exception(exc_info)) is not None:
        prepared.setdefault("error", _text_of(error))
        prepared["stack"] = "".join(traceback.format_exception(error)).rstrip()
    if "changes" in prepared:
        prepared["changes"] = _changes(prepared["changes"])
    return prepared


def _shown(key: str, value: Any) -> Any:
    """The value of a field, redacted. Caches the key and the value if they contain no secret."""
    if type(value) is str and key in _clean_keys:
        shown = redact_text(value)
        if shown == value and len(value) <= _SHORT:
            _remember(value)
        return shown
    if isinstance(value, BaseException):
        value = _text_of(value)
    elif isinstance(value, timedelta):
        value = value.total_seconds()
    shown = redact({key: value})
    if not is_secret_key(key) and len(_clean_keys) < _REMEMBERED:
        _clean_keys.add(key)
    return shown[key] if isinstance(shown, dict) else shown


def _remember(text: str) -> None:
    if len(_clean_texts) >= _REMEMBERED:
        _clean_texts.clear()
    _clean_texts.add(text)


def _shown_whole(fields: Mapping[str, Any]) -> JsonObject:
    shown = redact(fields)
    return shown if isinstance(shown, dict) else {"fields": shown}


def _changes(value: Any) -> Any:
    """Changes as objects with `path`, `before` and `after`, without absent values. A path may make them secret."""
    try:
        return [_change(*_parts(change)) for change in value]
    except (TypeError, ValueError):
        return redact(value)


def _parts(change: Any) -> Iterable[Any]:
    """The parts of a `core.delta.Difference`, or of a plain (path, before, after)."""
    is_difference = hasattr(change, "path")
    return (change.path, change.before, change.after, change.secret) if is_difference else change


def _change(path: str, before: Any, after: Any, secret: bool = False) -> JsonObject:
    hidden = secret or any(is_secret_key(step) for step in _STEPS.split(str(path)))
    change = {"path": str(path), "before": before, "after": after}
    return {
        name: REDACTED if hidden and name != "path" else redact(value)
        for name, value in change.items()
        if value is not ABSENT
    }


def _exception(exc_info: Any) -> BaseException | None:
    """The exception in `exc_info`: itself, that of a triple of the standard library, or the one being handled."""
    if isinstance(exc_info, BaseException):
        return exc_info
    if isinstance(exc_info, tuple):
        return exc_info[1] if len(exc_info) == 3 and isinstance(exc_info[1], BaseException) else None
    return sys.exc_info()[1]


def _text_of(error: BaseException) -> str:
    return str(error) or type(error).__name__


# JSON


def render_json(line: JsonObject) -> str:
    try:
        text = _encode(line).decode()
    except Exception:  # noqa: BLE001 - numbers beyond 64 bits, lone surrogates, cycles: a line is never lost
        return _render_anyhow(line)
    return text if text.isascii() else _UNSAFE.sub(_json_escape, text)


def _render_anyhow(line: JsonObject) -> str:
    try:
        return json.dumps(line, default=str, skipkeys=True)
    except Exception as error:  # noqa: BLE001 - as above
        return json.dumps({"level": "error", "msg": "Cannot render log line", "error": type(error).__name__})


def _json_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


# Text


_COLOURS = {"green": "32", "yellow": "33", "red": "31", "cyan": "36", "magenta": "35", "dim": "2"}
_SERIOUS = frozenset({"error", "critical"})


def render_text(line: JsonObject, *, colour: bool) -> str:
    paint = _paint if colour else _no_paint
    tone = _tone(line)
    parts = [
        paint(micro_timestamp(line["ts"])[11:23], "dim"),
        paint(f"{plain(line['level']).upper():<8}", tone) + paint(plain(line["msg"]), tone),
        paint(_object(line), "cyan"),
        *(
            f"{paint(plain(key) + '=', 'dim')}{_value(value)}"
            for key, value in line.items()
            if key not in _HEAD and key not in _OBJECT and key not in _BELOW
        ),
    ]
    return "\n".join((" ".join(part for part in parts if part), *_below(line, paint)))


def _tone(line: JsonObject) -> str:
    """The colour of a line. Red: an error. Yellow: changes. Magenta: a warning. Green: completed. Cyan: the start."""
    if line["level"] in _SERIOUS or line["msg"] == FAILED:
        return "red"
    if line.get("changes"):
        return "yellow"
    if line["level"] == "warning":
        return "magenta"
    return {COMPLETED: "green", STARTED: "cyan"}.get(line["msg"], "")


def _object(line: JsonObject) -> str:
    """`Widget team-a/shop`: which object a line is about."""
    name = "/".join(plain(line[key]) for key in ("namespace", "name") if line.get(key))
    return " ".join(part for part in (plain(line.get("kind") or ""), name) if part)


def _below(line: JsonObject, paint: Paint) -> Iterable[str]:
    changes = line.get("changes")
    for change in changes if isinstance(changes, list) else [changes] if changes else []:
        if isinstance(change, dict) and "path" in change:
            before, after = (_json(change[side]) if side in change else "∅" for side in ("before", "after"))
            yield f"    {plain(change['path'])}: {paint(before, 'red')} → {paint(after, 'green')}"
        else:
            yield f"    {_json(change)}"
    for row in str(line.get("stack") or "").splitlines():
        yield f"    {plain(row)}"


def _value(value: Any) -> str:
    if not isinstance(value, str):
        return _json(value)
    return _json(value) if _NEEDS_QUOTES.search(value) else plain(value)


def _json(value: Any) -> str:
    return plain(render_json(value))


def plain(value: Any) -> str:
    """The text with control characters and invisible marks escaped."""
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), str(value))


def _paint(text: str, tone: str) -> str:
    return f"\x1b[{_COLOURS[tone]}m{text}\x1b[0m" if tone and text else text


def _no_paint(text: str, _tone: str) -> str:
    return text
