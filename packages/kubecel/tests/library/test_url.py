"""URLs, taken apart as Go does it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel.errors import EvaluationError
from kubecel.library.kubernetes.url import Place, UrlError, escape, is_url, parse_url, unescape
from packages.kubecel.tests.library.evaluating import failure, in_kro


@pytest.mark.parametrize(
    ("text", "scheme", "host", "hostname", "port", "path"),
    [
        ("https://example.com", "https", "example.com", "example.com", "", ""),
        ("HTTPS://Example.com:80/a", "https", "Example.com:80", "Example.com", "80", "/a"),
        ("https://user:pass@example.com:80/p?q#f", "https", "example.com:80", "example.com", "80", "/p"),
        ("https://[::1]:80/", "https", "[::1]:80", "::1", "80", "/"),
        ("https://[fe80::1%25en0]/", "https", "[fe80::1%en0]", "fe80::1%en0", "", "/"),
        ("/path", "", "", "", "", "/path"),
        ("/a b", "", "", "", "", "/a%20b"),
        ("/a%2Fb", "", "", "", "", "/a%2Fb"),
        ("/é", "", "", "", "", "/%C3%A9"),
        ("/%C3%A9", "", "", "", "", "/%C3%A9"),
        ("/!$&'()*+,;=:@[]", "", "", "", "", "/!$&'()*+,;=:@[]"),
        ("mailto:a@b", "mailto", "", "", "", ""),
        ("x:/y", "x", "", "", "", "/y"),
        ("file:///etc/hosts", "file", "", "", "", "/etc/hosts"),
        ("postgres://a:1,b:2/db", "postgres", "a:1,b:2", "a:1,b", "2", "/db"),
        ("https://example.com:/", "https", "example.com:", "example.com", "", "/"),
        ("https://ex%C3%A4mple.com/", "https", "exämple.com", "exämple.com", "", "/"),
        ("*", "", "", "", "", "*"),
        ("//host/path", "", "host", "host", "", "/path"),
    ],
)
def test_url_has_the_parts_that_go_finds(
    text: str, scheme: str, host: str, hostname: str, port: str, path: str
) -> None:
    url = parse_url(text)

    assert (url.scheme, url.host, url.hostname, url.port, url.escaped_path) == (
        scheme,
        host,
        hostname,
        port,
        path,
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty url"),
        ("../relative", "invalid URI for request"),
        ("example.com", "invalid URI for request"),
        (":x", "missing protocol scheme"),
        ("/a\nb", "net/url: invalid control character in URL"),
        ("/%zz", 'invalid URL escape "%zz"'),
        ("/%2", 'invalid URL escape "%2"'),
        ("https://a:b:c/", 'invalid port ":b:c" after host'),
        ("https://a:x/", 'invalid port ":x" after host'),
        ("https://a b/", 'invalid character " " in host name'),
        ("https://a%20b/", 'invalid URL escape "%20"'),
        ("https://[::1/", "missing ']' in host"),
        ("https://a[::1]/", "invalid IP-literal"),
        ("https://[1.2.3.4]/", "invalid IP-literal"),
        ("https://u ser@host/", "net/url: invalid userinfo"),
    ],
)
def test_text_that_is_no_url_is_refused_with_gos_words(text: str, problem: str) -> None:
    assert not is_url(text)
    assert failure("url(text)", text=text).message.endswith(f": {problem}")


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        ("k1=a&k2=b&k2=c", {"k1": ["a"], "k2": ["b", "c"]}),
        ("key+with+spaces=a%20b", {"key with spaces": ["a b"]}),
        ("flag&&x=", {"flag": [""], "x": [""]}),
        ("a=b=c", {"a": ["b=c"]}),
        ("a;b=1&c=2", {"c": ["2"]}),
        ("a=%zz&b=1", {"b": ["1"]}),
        ("a=%ff", {"a": ["\ufffd"]}),
        ("", {}),
    ],
)
def test_query_becomes_a_map_without_what_cannot_be_decoded(
    query: str, parameters: dict[str, list[str]]
) -> None:
    assert parse_url(f"https://example.com/?{query}").parameters() == parameters


def test_query_with_too_many_parameters_is_left_alone() -> None:
    assert parse_url("/?" + "a=1&" * 10_000).parameters() == {}
    assert len(parse_url("/?" + "&".join(f"a{i}=1" for i in range(10_000))).parameters()) == 10_000


@pytest.mark.parametrize(
    "text",
    [
        "https://user:p%40ss@example.com:80/a%2Fb?x=1#frag",
        "https://example.com?",
        "mailto:a@b?subject=x",
        "file:///etc/hosts",
        "x:/y",
        "/path?q#%C3%A4",
        "//host/path",
        "*",
    ],
)
def test_sound_url_is_written_as_it_was_read(text: str) -> None:
    assert str(parse_url(text)) == text


@given(st.text(max_size=30))
def test_any_text_is_a_url_or_refused(text: str) -> None:
    try:
        url = parse_url(text)
    except EvaluationError:
        return
    assert str(parse_url(str(url))) == str(url)
    assert all(character.isascii() for character in url.escaped_path)


@given(st.text(max_size=50), st.sampled_from([Place.PATH, Place.USER, Place.QUERY, Place.FRAGMENT]))
def test_escapes_are_undone(text: str, place: Place) -> None:
    assert unescape(escape(text.encode(), place), place) == text.encode()


def test_host_escapes_only_what_is_not_ascii() -> None:
    assert unescape("%C3%A9", Place.HOST) == "é".encode()
    with pytest.raises(UrlError):
        unescape("%41", Place.HOST)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('url("https://h:8080/p?k=v").getPort()', "8080"),
        ('url("https://h:8080/p?k=v").getHost()', "h:8080"),
        ('url("https://h:8080/p?k=v").getHostname()', "h"),
        ('url("https://h:8080/p?k=v").getScheme()', "https"),
        ('url("https://h:8080/p?k=v").getEscapedPath()', "/p"),
        ('url("https://h:8080/p?k=v").getQuery()["k"][0]', "v"),
        ('url("https://a") == url("https://a")', True),
        ('url("https://a") == url("https://b")', False),
        ('isURL("https://a")', True),
        ('isURL("a")', False),
    ],
)
def test_expressions_ask_urls(text: str, value: object) -> None:
    assert in_kro(text) == value


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert parse_url("/\ud800").escaped_path == "/%EF%BF%BD"
