"""Print plans as text or as JSON.

    DistributionTenant edge/shop: to be changed (SpecChange)
      1. write CNAME sale.example.com
         the spec has changed, and a domain does not point to the tenant
         + dns[CNAME sale.example.com]: {"target": "d1.cloudfront.net", "ttl": 300}

Lines that begin with `+` are green and with `-` red, if colour is enabled. JSON has the same content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from rich.console import Console
from rich.text import Text

from edgekeeper.core.delta import ABSENT, Difference, diff, redacted_value
from edgekeeper.core.json import JsonObject
from edgekeeper.core.steps import Effect, Step
from edgekeeper.lifecycle.preview import Preview, Verdict, cause_of

_TO_BE_DELETED = "to be deleted"
_VERDICT_TEXTS = {
    Verdict.CHANGES: "to be changed",
    Verdict.WAITING: "waiting",
    Verdict.SETTLED: "as declared",
    Verdict.DRIFTED: "changed outside the operator, not corrected",
    Verdict.PAUSED: "paused, nothing is done",
    Verdict.ORPHANED: "being deleted, what it has made is kept",
    Verdict.REFUSED: "to be fixed by you",
    Verdict.FAILED: "not known",
}
_STYLES = {
    Verdict.CHANGES: "yellow",
    Verdict.WAITING: "cyan",
    Verdict.SETTLED: "green",
    Verdict.DRIFTED: "yellow",
    Verdict.REFUSED: "red",
    Verdict.FAILED: "red",
}
_SIGNS = {"+": "green", "-": "red"}


# Text


def print_text(previews: Sequence[Preview], console: Console) -> None:
    """Print all plans and a summary. Long lines are not wrapped, so that they can be searched and copied."""
    for preview in previews:
        for line in _lines(preview):
            console.print(line, soft_wrap=True)
    counts = Counter(_verdict_text(preview) for preview in previews)
    totals = [
        f"{counts[words]} {words}" for words in (_TO_BE_DELETED, *_VERDICT_TEXTS.values()) if counts[words]
    ]
    console.print(Text(f"Plan: {', '.join(totals) or 'there are no objects'}.", "bold"), soft_wrap=True)


def _lines(preview: Preview) -> Iterator[Text]:
    head = Text(f"{preview.kind} {preview.key}: ", "bold")
    yield head.append(_verdict_text(preview), _STYLES.get(preview.verdict, "")).append(_why(preview))
    for number, step in enumerate(preview.steps, start=1):
        yield Text(f"  {number}. {step}", "cyan" if step.effect is Effect.WAIT else "")
        yield Text(f"     {step.reason}", "dim")
        yield from _changes(step.changes())
    if preview.verdict is Verdict.DRIFTED:
        yield from _changes(preview.differences)
    if preview.error is not None:
        yield Text(f"     {preview.error.message}", "red")
    yield Text()


def _verdict_text(preview: Preview) -> str:
    is_deletion = preview.deleting and preview.verdict is Verdict.CHANGES
    return _TO_BE_DELETED if is_deletion else _VERDICT_TEXTS[preview.verdict]


def _why(preview: Preview) -> str:
    cause = cause_of(preview)
    return f" ({cause})" if cause else ""


def _changes(effects: Iterable[Difference]) -> Iterator[Text]:
    for line in diff(effects).splitlines():
        yield Text(f"     {line}", _SIGNS[line[0]])


# JSON


def render_json(previews: Sequence[Preview]) -> str:
    """One document with all plans."""
    return msgspec.json.format(
        msgspec.json.encode({"objects": [_object(preview) for preview in previews]}), indent=2
    ).decode()


def _object(preview: Preview) -> JsonObject:
    tree: JsonObject = {
        "kind": preview.kind,
        "namespace": preview.key.namespace,
        "name": preview.key.name,
        "verdict": preview.verdict,
        "change": preview.change,
        "deleting": preview.deleting or None,
        "driftPolicy": preview.policy,
        "steps": [_step(step) for step in preview.steps],
        "differences": [_difference(difference) for difference in preview.differences],
        "kept": list(preview.kept) or None,
    }
    if preview.error is not None:
        tree["error"] = {"reason": preview.error.reason, "message": preview.error.message}
    return {name: value for name, value in tree.items() if value is not None}


def _step(step: Step) -> JsonObject:
    return {
        "action": type(step).__name__,
        "waiting": step.effect is Effect.WAIT,
        "summary": str(step),
        "reason": step.reason,
        "changes": [_difference(change) for change in step.changes()],
    }


def _difference(difference: Difference) -> JsonObject:
    sides = {"before": difference.before, "after": difference.after}
    return {
        "path": difference.path,
        **{side: redacted_value(difference, value) for side, value in sides.items() if value is not ABSENT},
    }
