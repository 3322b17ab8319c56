"""`url(…)` and what can be asked of it."""

from __future__ import annotations

from typing import Final

from kubecel.functions import Library, traversal_cost
from kubecel.library import costs, estimates
from kubecel.library.declaring import LIST_OF_STRINGS, function, on_call, on_target
from kubecel.library.kubernetes.url import Url, is_url, parse_url
from kubecel.types import BOOL, STRING, map_of

_URL: Final = (Url.cel_type,)


def _host_cost(url: Url) -> int:
    """One, as kube-apiserver charges, unless the host is absurdly long."""
    return 1 + traversal_cost(len(url.host)) // 10


def _query_cost(url: Url) -> int:
    """kube-apiserver charges one, though the query is decoded each time."""
    return max(1, traversal_cost(len(url.query)))


URLS: Final = Library(
    "kubernetes.urls",
    (
        function(
            "url",
            on_call(
                "string_to_url", (STRING,), Url.cel_type, parse_url, costs.walk, estimates.walk_keeping_size
            ),
        ),
        function("isURL", on_call("is_url_string", (STRING,), BOOL, is_url, costs.at_least_one)),
        function("getScheme", on_target("url_get_scheme", _URL, STRING, lambda url: url.scheme)),
        function("getHost", on_target("url_get_host", _URL, STRING, lambda url: url.host)),
        function(
            "getHostname", on_target("url_get_hostname", _URL, STRING, lambda url: url.hostname, _host_cost)
        ),
        function("getPort", on_target("url_get_port", _URL, STRING, lambda url: url.port, _host_cost)),
        function(
            "getEscapedPath",
            on_target("url_get_escaped_path", _URL, STRING, lambda url: url.escaped_path),
        ),
        function(
            "getQuery",
            on_target("url_get_query", _URL, map_of(STRING, LIST_OF_STRINGS), Url.parameters, _query_cost),
        ),
    ),
)
