"""Which reasons the code can write into conditions, annotations and events: found by reading its sources.

A reason is an argument of a few constructors and functions, such as `Stall(reason, …)` and `conditions.mark(type, status,
reason)`. Literals, constants and choices between them are resolved. Whatever else stands there must be listed in
`COMPUTED` with the reasons that it can have; what only passes the reason of another error on has none of its own.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import edgekeeper

ROOT = Path(edgekeeper.__file__).parent
POSITIONS = {
    "Stall": 0,
    "Wait": 1,
    "Retry": 1,
    "ErrorRow": 1,
    "Verdict": 1,
    "Finding": 1,
    "Readiness": 1,
    "_stall": 0,
    "_mark": 1,
    "without_plan": 1,
    "_without_plan": 2,
}
"""Where the reason is among the arguments of a call, by the name that is called."""
LEFT_OUT = ("cli/", "diagnosis/", "schema/", "kube/deadlines.py", "core/readiness.py", "core/conditions.py")
"""Files that write nothing of an object, or use the names for other things."""
PASSED_ON = frozenset(
    {
        *(
            "error.reason",
            "first.reason",
            "zone.refusal.reason",
            "row.reason",
            "failure.reason",
            "refusal.reason",
        ),
        *("series.error.reason", "before.reason", "ready.reason", "conflict.reason", "verdict.reason"),
        *(
            "finding.reason",
            "said.reason",
            "decision.event",
            "*step.task.failure",
            "(False, finding.reason, message)",
        ),
    }
)
"""Expressions that pass on what was found elsewhere: the reason of an error, of a condition that was there before, or of a
verdict."""
COMPUTED: dict[tuple[str, str], tuple[str, ...]] = {
    ("cloud/aws/dns/reporting.py", "reason"): (),  # of `_mark`, whose calls are read
    ("cloud/aws/error_table.py", "reason"): (),  # of `_stall`, whose calls are read
    ("controllers/bridge/domains/report.py", "reason"): ("PendingValidation", "WaitingForCertificate"),
    ("controllers/cloudfront/perform.py", "snapshot"): (),  # another `_mark`
    ("controllers/cloudfront/report.py", "reason"): ("Disabling", "Deleting"),
    ("controllers/composition/instance_deletion.py", "(None, 'UnderDeletion', message)"): ("UnderDeletion",),
    ("controllers/composition/instance_deletion.py", "why[0]"): ("KindNotPermitted", "NamespaceNotWatched"),
    ("controllers/composition/instance_reconciler.py", "(False, reason, message)"): (),  # of `_without_plan`
    ("controllers/composition/instance_status.py", "reason"): ("ResourceDeleting", "NotReady"),
    ("controllers/composition/instance_status.py", "node.reason"): (
        *("ApplySetConflict", "RevertedByOthers", "KindNotPermitted", "KindNotServed"),
        *("NamespaceNotPermitted", "NamespaceNotWatched"),
    ),
    ("controllers/zerotrust/module_cloudflare.py", "phase"): ("Pending", "InProgress", "Failed"),
    ("controllers/zerotrust/module_kube.py", "reason"): (),  # of annotations, which `route_report` writes
    ("controllers/zerotrust/resolve.py", "f'{title}NotFound'"): (
        *("GroupNotFound", "PolicyNotFound", "IdentityProviderNotFound"),
    ),
    ("controllers/zerotrust/resolve.py", "f'Ambiguous{title}'"): (
        *("AmbiguousGroup", "AmbiguousPolicy", "AmbiguousIdentityProvider"),
    ),
    ("controllers/zerotrust/route_report.py", "reason"): ("TaskFailed",),
    ("controllers/zerotrust/settings.py", "reason"): ("InvalidAnnotation", "InvalidSettings"),
    ("controllers/zerotrust/tenant_kind.py", "reason"): ("CredentialNotFound", "CloudflareAPIError"),
    ("controllers/zerotrust/tenant_preview.py", "reason"): ("CredentialNotFound", "CloudflareAPIError"),
    # An error of the API server: those that conditions and events may have are `Retry`, by the name of the class.
    ("runtime/writer.py", "type(error).__name__.removesuffix('Error')"): (),
}


@dataclass(frozen=True)
class Found:
    """A reason, and where it stands."""

    reason: str
    file: str
    line: int


@dataclass(frozen=True)
class Unresolved:
    """An expression whose reasons cannot be told by reading it."""

    file: str
    line: int
    expression: str


def collect() -> Iterator[Found | Unresolved]:
    """All reasons of things that are not as they should be."""
    for path in sorted(ROOT.rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if not file.startswith(LEFT_OUT):
            yield from _in_file(path, file)


def _in_file(path: Path, file: str) -> Iterator[Found | Unresolved]:
    module = importlib.import_module(f"edgekeeper.{file.removesuffix('.py').replace('/', '.')}")
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (argument := _reason_argument(node)) is not None:
            for one in _values(argument, module, tree):
                if isinstance(one, str):
                    yield Found(one, file, node.lineno)
                else:
                    expression = ast.unparse(one)
                    known = () if expression in PASSED_ON else COMPUTED.get((file, expression))
                    if known is None:
                        yield Unresolved(file, node.lineno, expression)
                    else:
                        yield from (Found(reason, file, node.lineno) for reason in known)


def _reason_argument(call: ast.Call) -> ast.expr | None:
    """The reason, where a call has one that says that something is not as it should be."""
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if name == "mark" and len(call.args) == 2 and isinstance(call.args[1], ast.Starred):
        return call.args[1]
    if name == "mark" and len(call.args) >= 3:
        return None if _is(call.args[1], True) else call.args[2]
    if name == "Event" and len(call.args) >= 2:
        return call.args[1] if _is(call.args[0], "Warning") else None
    position = POSITIONS.get(name)
    if position is None or len(call.args) <= position:
        return next(
            (one.value for one in call.keywords if one.arg == "reason" and position is not None), None
        )
    if name in ("Verdict", "Finding", "Readiness", "_mark") and (
        _is(call.args[0], True) or _is(call.args[0], "True")
    ):
        return None
    return call.args[position]


def _is(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is type(value) and node.value == value


def _values(node: ast.expr, module: ModuleType, tree: ast.Module) -> Iterator[str | ast.expr]:
    """The reasons that an expression may have, or itself where that cannot be told."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _values(node.body, module, tree)
        yield from _values(node.orelse, module, tree)
    elif isinstance(node, ast.BoolOp):
        for one in node.values:
            yield from _values(one, module, tree)
    elif isinstance(node, ast.Name) and isinstance(value := getattr(module, node.id, None), str):
        yield value
    elif isinstance(node, ast.Starred) and (returned := list(_returned(node.value, tree))):
        for reason in returned:
            yield from _values(reason, module, tree)
    else:
        yield node


def _returned(call: ast.expr, tree: ast.Module) -> Iterator[ast.expr]:
    """The reasons in the tuples `(status, reason, message)` that a function of the same module returns."""
    if not isinstance(call, ast.Call):
        return
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name == name:
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
                    status, reason = node.value.elts[:2]
                    if not _is(status, True):
                        yield reason
