"""How paths, methods and parameters are read as verbs on resources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.plane.errors import StatusError
from kubesim.plane.request import Request
from kubesim.plane.requestinfo import RequestInfo, parse_request_info


def read(method: str, target: str) -> RequestInfo:
    return parse_request_info(Request.of(method, target))


# (method, target) → (verb, group, version, namespace, resource, subresource, name)
RESOURCE_REQUESTS = {
    ("GET", "/api/v1/namespaces"): ("list", "", "v1", "", "namespaces", "", ""),
    ("GET", "/api/v1/namespaces/x"): ("get", "", "v1", "x", "namespaces", "", "x"),
    ("HEAD", "/api/v1/namespaces/x"): ("get", "", "v1", "x", "namespaces", "", "x"),
    ("PUT", "/api/v1/namespaces/x/status"): ("update", "", "v1", "x", "namespaces", "status", "x"),
    ("PUT", "/api/v1/namespaces/x/finalize"): ("update", "", "v1", "x", "namespaces", "finalize", "x"),
    ("GET", "/api/v1/namespaces/x/pods"): ("list", "", "v1", "x", "pods", "", ""),
    ("GET", "/api/v1/namespaces/x/pods/"): ("list", "", "v1", "x", "pods", "", ""),
    ("POST", "/api/v1/namespaces/x/pods"): ("create", "", "v1", "x", "pods", "", ""),
    ("GET", "/api/v1/namespaces/x/pods/p"): ("get", "", "v1", "x", "pods", "", "p"),
    ("PATCH", "/api/v1/namespaces/x/pods/p"): ("patch", "", "v1", "x", "pods", "", "p"),
    ("DELETE", "/api/v1/namespaces/x/pods/p"): ("delete", "", "v1", "x", "pods", "", "p"),
    ("DELETE", "/api/v1/namespaces/x/pods"): ("deletecollection", "", "v1", "x", "pods", "", ""),
    ("GET", "/api/v1/namespaces/x/pods/p/log"): ("get", "", "v1", "x", "pods", "log", "p"),
    ("GET", "/api/v1/namespaces/x/pods/p/proxy/a/b"): ("get", "", "v1", "x", "pods", "proxy", "p"),
    ("OPTIONS", "/api/v1/pods"): ("", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/pods?watch=true"): ("watch", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/pods?watch=1"): ("watch", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/pods?watch="): ("watch", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/pods?watch=False"): ("list", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/pods?watch=0"): ("list", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/namespaces/x/pods/p?watch=1"): ("get", "", "v1", "x", "pods", "", "p"),
    ("GET", "/api/v1/watch/pods"): ("watch", "", "v1", "", "pods", "", ""),
    ("GET", "/api/v1/watch/namespaces/x/pods/p"): ("watch", "", "v1", "x", "pods", "", "p"),
    ("GET", "/api/v1/proxy/namespaces/x/pods/p/a"): ("proxy", "", "v1", "x", "pods", "", "p"),
    ("GET", "/apis/apps/v1/deployments"): ("list", "apps", "v1", "", "deployments", "", ""),
    ("PUT", "/apis/apps/v1/namespaces/x/deployments/d/scale"): (
        "update",
        "apps",
        "v1",
        "x",
        "deployments",
        "scale",
        "d",
    ),
    ("GET", "/apis/a.example/v1/things/status"): ("get", "a.example", "v1", "", "things", "", "status"),
}


@pytest.mark.parametrize(("asked", "expected"), RESOURCE_REQUESTS.items(), ids=lambda row: " ".join(row[:2]))
def test_request_info_reads_a_resource_request(asked: tuple[str, str], expected: tuple[str, ...]) -> None:
    info = read(*asked)
    assert info.is_resource
    read_as = (
        info.verb,
        info.group,
        info.version,
        info.namespace,
        info.resource,
        info.subresource,
        info.name,
    )
    assert read_as == expected


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/apps",
        "/apis/apps/v1",
        "/readyz/ping",
        "/openapi/v3/apis/apps/v1",
    ],
)
def test_request_info_leaves_other_paths_to_themselves(path: str) -> None:
    assert read("GET", path) == RequestInfo("", "", "", "", "", "", False, "get", path)


@pytest.mark.parametrize(
    ("selector", "name"),
    [
        ("metadata.name=a", "a"),
        ("metadata.name==a", "a"),
        ("status.phase=Running,metadata.name=a", "a"),
        ("metadata.name=a,status.phase!=Failed", "a"),
        (r"metadata.name=a\,b", "a,b"),
        (r"metadata.name=a\=b", "a=b"),
        (r"metadata.name=a\\,status.phase=Running", "a\\"),
        (r"spec.x=\,metadata.name=a", ""),
        ("metadata.name=", ""),
        ("metadata.name!=a", ""),
        ("metadata.name===a", ""),
        ("metadata.name=a=b", ""),
        ("metadata.namespace=a", ""),
        (r"metadata.name=a\x", ""),
        ("metadata.name=..", ""),
        ("metadata.name=a/b", ""),
        ("metadata.name=a%2525b", ""),
        ("", ""),
    ],
)
@pytest.mark.parametrize("verb", ["list", "watch"])
def test_field_selector_on_the_name_is_a_name(verb: str, selector: str, name: str) -> None:
    info = read("GET", f"/api/v1/namespaces/x/pods?watch={int(verb == 'watch')}&fieldSelector={selector}")
    assert (info.verb, info.name) == (verb, name)


def test_deletecollection_does_not_take_its_name_from_a_selector() -> None:
    info = read("DELETE", "/api/v1/namespaces/x/pods?fieldSelector=metadata.name=a")
    assert (info.verb, info.name) == ("deletecollection", "")


def test_verb_prefix_without_a_resource_is_an_error() -> None:
    with pytest.raises(StatusError, match="failed to create RequestInfo") as refusal:
        read("GET", "/api/v1/watch")
    assert refusal.value.code == 500


SEGMENT = st.text(st.characters(exclude_characters="/?#", exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(
    method=st.sampled_from(["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "TRACE"]),
    segments=st.lists(
        SEGMENT | st.sampled_from(["api", "apis", "v1", "namespaces", "watch", "pods", ""]), max_size=9
    ),
)
def test_request_info_reads_any_path(method: str, segments: list[str]) -> None:
    path = "/" + "/".join(segments)
    try:
        info = parse_request_info(Request(method, path))
    except StatusError:
        assert path.rstrip("/").rpartition("/")[2] in {"watch", "proxy"}
    else:
        assert info.path == path
        assert info.is_resource or not (info.resource or info.name or info.namespace)


@given(namespace=SEGMENT, resource=SEGMENT, name=SEGMENT)
def test_request_info_finds_what_a_path_was_made_of(namespace: str, resource: str, name: str) -> None:
    if resource in {"status", "finalize"}:
        return
    info = parse_request_info(Request("GET", f"/apis/g/v2/namespaces/{namespace}/{resource}/{name}"))
    assert (info.namespace, info.resource, info.name) == (namespace, resource, name)
