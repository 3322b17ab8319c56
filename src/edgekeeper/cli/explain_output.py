"""Print explanations as text or as a document.

HTTPRoute apps/wiki is not ready: CredentialNotFound
  Ready has been False for 3m: Secret apps/cloudflare does not exist
  cause: the Secret with the API token, or its key, does not exist, or the operator may not read it
  do:    create the Secret …
  └ Secret apps/cloudflare (the API token) does not exist
      do:    create the Secret …

Root cause: Secret apps/cloudflare: Missing
What to do: create the Secret …
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec
import yaml
from rich.console import Console
from rich.text import Text

from edgekeeper.cli.columns import short_age, short_deadline
from edgekeeper.core.clock import timestamp
from edgekeeper.core.json import JsonObject
from edgekeeper.diagnosis.explaining import Explanation
from edgekeeper.diagnosis.problems import Problem

_NOTHING = "nothing: it becomes ready by itself"


class Printer:
    """Prints explanations as text."""

    def __init__(self, console: Console, now: datetime) -> None:
        self._console = console
        self._now = now

    def print(self, explanation: Explanation) -> None:
        """Print the chain of causes, and at the end what to do. Long lines are not wrapped, so that they can be copied."""
        for line in self._lines(explanation, ""):
            self._console.print(line, soft_wrap=True)
        if not explanation.is_ready:
            for line in _conclusion(explanation):
                self._console.print(line, soft_wrap=True)

    def _lines(self, one: Explanation, indent: str) -> Iterator[Text]:
        role = f" ({one.role})" if one.role else ""
        mark = "└ " if indent else ""
        style = "green" if one.is_ready else "red"
        yield Text(f"{indent}{mark}{one.title}{role} ", "bold").append(_state(one), style)
        inner = f"{indent}  {'  ' if indent else ''}"
        for problem in one.problems:
            yield from self._problem(problem, inner, is_ready=one.is_ready)
        yield from (Text(f"{inner}note:  {note}") for note in one.notes)
        if one.is_ready or not indent:
            yield from (Text(f"{inner}{line}", "dim") for line in _managed(one))
        for cause in one.causes:
            yield from self._lines(cause, inner)

    def _problem(self, problem: Problem, indent: str, *, is_ready: bool) -> Iterator[Text]:
        age = short_age(problem.since, self._now)
        state = f"has been {problem.status} for {age}" if age else f"is {problem.status}"
        reason = f" ({problem.reason})" if problem.reason else ""
        said = f"{problem.source} {state}{reason}" if problem.source else problem.reason
        message = f": {problem.message}" if problem.message else ""
        yield Text(f"{indent}{said}{message}", "yellow")
        remedy = problem.remedy
        if remedy is None or is_ready:
            return
        if remedy.cause != problem.message:
            yield Text(f"{indent}cause: {remedy.cause}")
        yield Text(f"{indent}do:    {remedy.action}")
        if remedy.waits_for:
            until = short_deadline(problem.until, self._now)
            yield Text(f"{indent}waits for {remedy.waits_for}{f' ({until})' if until else ''}")


def _state(one: Explanation) -> str:
    if not one.is_readable:
        return "is not known"
    if not one.exists:
        return "does not exist"
    if one.is_ready:
        return "is ready" if not one.role.startswith("has ") else "is there"
    reason = one.problems[0].reason if one.problems else ""
    return f"is not ready: {reason}" if reason else "is not ready"


def _managed(one: Explanation) -> Iterator[str]:
    details = one.details
    if details.hostnames:
        yield f"hostnames: {', '.join(details.hostnames)}"
    if details.ids:
        yield f"manages: {', '.join(details.ids)}"
    if details.references:
        yield f"uses: {', '.join(f'{name} {value}' for name, value in details.references)}"
    if details.drift:
        yield f"changed outside the operator: {details.drift}"


def _conclusion(explanation: Explanation) -> Iterator[Text]:
    root = explanation.root
    reason = root.problems[0].reason if root.problems else "not ready"
    yield Text()
    yield Text("Root cause: ", "bold").append(f"{root.title}: {reason}")
    yield Text("What to do: ", "bold").append(root.remedy or explanation.remedy or _NOTHING)


# Documents


def render(explanation: Explanation, form: str) -> str:
    """One document with the chain of causes."""
    tree = explanation_tree(explanation)
    if not explanation.is_ready:
        root = explanation.root
        tree["root"] = {"kind": root.kind.kind, **_address(root)}
        tree["remedy"] = root.remedy or explanation.remedy
    if form == "yaml":
        return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True)
    return msgspec.json.format(msgspec.json.encode(tree), indent=2).decode() + "\n"


def explanation_tree(one: Explanation) -> JsonObject:
    """An explanation for programs."""
    tree: JsonObject = {
        "apiVersion": one.kind.api_version,
        "kind": one.kind.kind,
        **_address(one),
        "role": one.role or None,
        "exists": one.exists if one.is_readable else None,
        "ready": one.is_ready,
        "problems": [_problem_tree(problem) for problem in one.problems],
        "notes": list(one.notes) or None,
        "hostnames": list(one.details.hostnames) or None,
        "ids": list(one.details.ids) or None,
        "references": dict(one.details.references) or None,
        "drift": one.details.drift or None,
        "causes": [explanation_tree(cause) for cause in one.causes],
    }
    return {name: value for name, value in tree.items() if value is not None}


def _address(one: Explanation) -> JsonObject:
    namespace = {"namespace": one.key.namespace} if one.key.namespace else {}
    return {**namespace, "name": one.key.name}


def _problem_tree(problem: Problem) -> JsonObject:
    remedy = problem.remedy
    tree: JsonObject = {
        "condition": problem.source or None,
        "status": problem.status or None,
        "reason": problem.reason,
        "message": problem.message,
        "since": _moment(problem.since),
        "cause": remedy.cause if remedy else None,
        "remedy": remedy.action if remedy else None,
        "waitsFor": (remedy.waits_for or None) if remedy else None,
        "until": _moment(problem.until),
    }
    return {name: value for name, value in tree.items() if value is not None}


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else timestamp(moment)
