"""What a request asks for, told from its method, path and query alone.

Routing, authorisation and admission all start from this one reading, so that they can never disagree on which
object a request means. The forms of a path:

    /api/{version}/{resource}[/{name}[/{subresource}]]                          the core group, cluster scope
    /api/{version}/namespaces/{namespace}/{resource}[/{name}[/{subresource}]]   the core group, in a namespace
    /apis/{group}/{version}/…                                                   the same for every other group
    /api/{version}/watch/…                                                      the verb as a prefix, long deprecated
    anything else                                                               a non-resource path, such as /readyz

A namespace is the one special case: `/api/v1/namespaces/x` is the object `x` of the resource `namespaces` and lies,
as far as authorisation is concerned, in the namespace `x` too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kubesim.plane.errors import internal
from kubesim.plane.request import Request

_VERB_OF_METHOD = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_VERBS_IN_PATH = frozenset({"watch", "proxy"})
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
_FALSE_WORDS = frozenset({"false", "0"})
_ESCAPED = re.compile(r"\\(.)")
_TERM = re.compile(r"(?:\\.|[^,])+")
_NAME_TERM = re.compile(r"metadata\.name={1,2}(?!=)((?:\\[\\,=]|[^\\=])*)")


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """One request in Kubernetes' terms. Only `verb` and `path` mean anything when `is_resource` is false."""

    group: str
    version: str
    resource: str
    subresource: str
    namespace: str
    name: str
    is_resource: bool
    verb: str
    path: str


def parse_request_info(request: Request) -> RequestInfo:
    """Read a request. Raise the server's internal error for a verb prefix that nothing follows."""
    path = request.path
    parts = path.strip("/").split("/")
    count = len(parts)
    prefix = parts[0]
    if prefix == "api" and count >= 3:
        group, version, at = "", parts[1], 2
    elif prefix == "apis" and count >= 4:
        group, version, at = parts[1], parts[2], 3
    else:
        return RequestInfo("", "", "", "", "", "", False, request.method.lower(), path)

    if parts[at] in _VERBS_IN_PATH:
        verb = parts[at]
        at += 1
        if at == count:
            raise internal(
                f"failed to create RequestInfo: unable to determine kind and namespace from url, {path}"
            )
    else:
        verb = _VERB_OF_METHOD.get(request.method, "")

    namespace = ""
    if parts[at] == "namespaces" and count > at + 1:
        namespace = parts[at + 1]
        if count > at + 2 and parts[at + 2] not in _NAMESPACE_SUBRESOURCES:
            at += 2
    name = parts[at + 1] if count > at + 1 else ""
    subresource = parts[at + 2] if count > at + 2 and verb != "proxy" else ""
    if not name:
        if verb == "get":
            verb, name = _read_collection(request.query)
        elif verb == "delete":
            verb = "deletecollection"
    return RequestInfo(group, version, parts[at], subresource, namespace, name, True, verb, path)


def _read_collection(query: Mapping[str, list[str]]) -> tuple[str, str]:
    """Return the verb of a GET on a collection, and the one name that its field selector allows, if any."""
    if not query:
        return "list", ""
    verb = "watch" if "watch" in query and query["watch"][0].lower() not in _FALSE_WORDS else "list"
    return verb, _selected_name(query["fieldSelector"][0]) if "fieldSelector" in query else ""


def _selected_name(field_selector: str) -> str:
    """Return the name that `metadata.name=x` asks for; a name no path could hold is none."""
    for term in _TERM.findall(field_selector):
        match = _NAME_TERM.fullmatch(term)
        if match:
            name = _ESCAPED.sub(r"\1", match[1])
            return "" if name in {".", ".."} or "/" in name or "%" in name else name
    return ""
