"""Formats accept what the libraries of kube-apiserver accept, in linear time."""

from __future__ import annotations

import time

import pytest

from edgekeeper.schema import compile_schema
from edgekeeper.schema.formats import FORMATS, format_test

ACCEPTED = {
    "bsonobjectid": ["507f1f77bcf86cd799439011", "507F1F77BCF86CD799439011"],
    "uri": [
        "https://example.com/a?b=c",
        "/path",
        "mailto:me",
        "*",
        "http://[::1]:80/",
        "http://a:b@host",
        "x://h%C3%A4",
    ],
    "email": [
        "me@example.com",
        "Me <me@example.com>",
        '"a b"@example.com',
        "me@localhost",
        "<me@example.com>",
    ],
    "hostname": [
        "example.com",
        "localhost",
        "a-b.example.com",
        "xn--bcher-kva.example",
        "1host",
        "bücher.example",
    ],
    "ipv4": ["10.0.0.1", "010.000.000.001", "::ffff:10.0.0.1"],
    "ipv6": ["::1", "2001:db8::a", "::ffff:10.0.0.1"],
    "cidr": ["10.0.0.0/8", "10.0.0.1/32", "2001:db8::/32", "010.0.0.0/8"],
    "mac": [
        "01:23:45:67:89:ab",
        "01-23-45-67-89-ab",
        "0123.4567.89ab",
        "01:23:45:67:89:ab:cd:ef",
        "0123456789ab",
    ],
    "uuid": ["7d444840-9dc0-11d1-b245-5ffdce74fad2", "7D4448409DC011D1B2455FFDCE74FAD2"],
    "uuid3": ["7d444840-9dc0-31d1-b245-5ffdce74fad2"],
    "uuid4": ["7d444840-9dc0-41d1-b245-5ffdce74fad2"],
    "uuid5": ["7d444840-9dc0-51d1-b245-5ffdce74fad2"],
    "isbn": ["0321751043", "978-0321751041"],
    "isbn10": ["0-321-75104-3", "080442957X"],
    "isbn13": ["978 0321751041"],
    "creditcard": ["4111-1111-1111-1111", "371449635398431"],
    "ssn": ["111-11-1111", "111 11 1111"],
    "hexcolor": ["#FFFFFF", "fff", "#a0B"],
    "rgbcolor": ["rgb(100,100,100)", "rgb( 0 , 255 , 10 )"],
    "byte": ["ZWxlcGhhbnQ=", "AAAA", "AA=="],
    "password": ["", "anything"],
    "date": ["2024-02-29", "0000-01-01"],
    "date-time": ["2024-01-31T23:59:59Z", "2024-01-31t00:00:00.123+01:00", "2024-01-31T00:00:00z"],
    "duration": ["1h30m", "-1.5s", "0", "22 ns", "5 days", "3weeks", "1 hour", "2 minutes", ".5s", "1.h"],
    "k8s-short-name": ["a", "a-b1", "1"],
    "k8s-long-name": ["a.b-c.d", "a" * 253],
}

REFUSED = {
    "bsonobjectid": ["507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901g", ""],
    "uri": [
        "",
        "relative/path",
        "example.com",
        ":x",
        "http://a b/",
        "/a%zz",
        "http://host:port/",
        "/a\x7f",
        "1a:b",
    ],
    "email": ["", "me", "me@", "@example.com", "me@exa mple.com", "a..b@example.com", "Me me@example.com"],
    "hostname": ["", "-a", "a_b", "a..b", "a.b-.com", "a." + "b" * 64 + ".com", "10.0.0.1", "a.c"],
    "ipv4": ["", "10.0.0", "10.0.0.256", "::1", "10.0.0.1/8", "a.b.c.d"],
    "ipv6": ["", "10.0.0.1", ":::", "fe80::1%eth0", "1:2:3:4:5:6:7:8:9"],
    "cidr": ["", "10.0.0.1", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/a", "::/129", "10.0.0.0/-1"],
    "mac": ["", "01:23:45", "01:23:45:67:89:zz", "0123456789a", "01-23:45-67:89-ab"],
    "uuid": ["", "7d444840-9dc0-11d1-b245-5ffdce74fad", "not-a-uuid"],
    "uuid3": ["7d444840-9dc0-41d1-b245-5ffdce74fad2"],
    "uuid4": ["7d444840-9dc0-31d1-b245-5ffdce74fad2", "7d444840-9dc0-41d1-c245-5ffdce74fad2"],
    "uuid5": ["7d444840-9dc0-41d1-b245-5ffdce74fad2"],
    "isbn": ["", "0321751044", "9780321751042"],
    "isbn10": ["978-0321751041"],
    "isbn13": ["0321751043"],
    "creditcard": ["", "4111-1111-1111-1112", "1"],
    "ssn": ["", "111111111", "111-11-111"],
    "hexcolor": ["", "#ffff", "#ggg", "#fff\n"],
    "rgbcolor": ["", "rgb(256,0,0)", "rgb(1,2)", "#fff"],
    "byte": ["", "AAA", "A===", "AAAA=", "Zm9v_", "Z-=="],
    "date": ["", "2023-02-29", "2024-1-1", "2024-13-01", "20240101", "2024-W01-1"],
    "date-time": [
        "",
        "2024-01-31",
        "2024-01-31 00:00:00Z",
        "2024-01-31T24:00:00Z",
        "2024-01-31T00:00Z",
        "tttt",
    ],
    "duration": ["", "1", "h", "soon", "1 fortnight"],
    "k8s-short-name": ["", "-a", "a-", "A", "a.b", "a" * 64],
    "k8s-long-name": ["", ".a", "a..b", "A", "a" * 254],
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in ACCEPTED.items() for text in texts]
)
def test_format_accepts(name: str, text: str) -> None:
    accepts = format_test(name)
    assert accepts is not None
    assert accepts(text)


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in REFUSED.items() for text in texts]
)
def test_format_refuses(name: str, text: str) -> None:
    accepts = format_test(name)
    assert accepts is not None
    assert not accepts(text)


def test_every_format_has_an_example() -> None:
    assert {name.replace("-", "") for name in ACCEPTED} == FORMATS.keys()


@pytest.mark.parametrize(
    "unit", ["1", "a", "a.", " ", "-", "0", "1s", "%", '"', "1 ", "a@", "AAAA", "::", "("]
)
def test_formats_take_linear_time(unit: str) -> None:
    """A text of half a megabyte is judged by all formats together well within what quadratic time would need."""
    text = unit * (500_000 // len(unit)) + "!"
    started = time.process_time()
    for accepts in FORMATS.values():
        accepts(text)
    assert time.process_time() - started < 20


def test_formats_bind_only_the_types_they_are_made_for() -> None:
    field = {
        "type": "object",
        "format": "date",
        "additionalProperties": {"type": "string", "format": "int32"},
    }
    schema = {"type": "object", "properties": {"spec": field}}
    assert compile_schema(schema).validate({"spec": {"a": "b"}}) == []
