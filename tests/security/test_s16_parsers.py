"""S-16: no text that users or clouds write keeps a parser of ours busy, or makes it raise what nobody expects.

The parsers are found by walking the sources: functions that need one text and return something, in the packages that read what
others write. Each gets texts of a mebibyte that are made to be expensive, and short ones, which are not refused for their length: numbers
and moments that are too large to compute with. What composition reads is S-15's matter; `schema` serves the embedded server and `cli`
reads its own arguments.

What comes in annotations is tried with a quarter of that: the API server takes no more for all annotations of an object.
"""

from __future__ import annotations

import ast
import gc
import importlib
import inspect
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

import edgekeeper
from edgekeeper.core.errors import PassError
from edgekeeper.kube.errors import ApiError
from edgekeeper.kube.raw import MalformedObjectError
from tests.results import Figures
from tests.yardstick import slowness

ROOT: Final = Path(edgekeeper.__file__).parent
PACKAGES: Final = (
    "cloud",
    "controllers/bridge",
    "controllers/cloudfront",
    "controllers/zerotrust",
    "core",
    "diagnosis",
    "kube",
    "lifecycle",
    "runtime",
    "web",
)
MEBIBYTE: Final = 1 << 20
ANNOTATIONS: Final = 256 * 1024
MOST_SECONDS: Final = 0.05
TEXTS: Final = ("str", "bytes", "str | None", "bytes | None")
DECLARED: Final = (ValueError, PassError, ApiError, MalformedObjectError, msgspec.DecodeError)
OURS = "a text of ours, or of the installation"
NAMES = "names of objects and domains, which the API server limits to 253 characters"
INNER = "called with a part of bounded length"
EXEMPT: Final = {
    "cloud.aws.tags._is_accepted": OURS,
    "cloud.cloudflare.errors._verb": OURS,
    "cloud.cloudflare.hostnames._punycode": INNER,
    "controllers.bridge.domains.children.child_name": NAMES,
    "controllers.bridge.domains.children.sanitised": NAMES,
    "controllers.zerotrust.annotation_keys._kebab": OURS,
    "controllers.zerotrust.names.label_value": NAMES,
    "core.aws_identifiers._compiled": OURS,
    "core.log.get_logger": OURS,
    "core.redaction._without_secrets": INNER,
    "kube.kubeconfig._scheme_of": OURS,
    "kube.proxy._is_loopback": OURS,
    "lifecycle.importing._readable": NAMES,
    "runtime.traces._is_found": OURS,
    "runtime.traces.open_tracer": OURS,
}
LINEAR: Final = dict.fromkeys(
    (
        "cloud.aws.clients._is_local",
        "controllers.zerotrust.legacy_state._parts",
        "controllers.zerotrust.legacy_state._snake",
        "controllers.zerotrust.origin._is_forbidden",
        "core.redaction.is_secret_key",
        "kube.nesting.cut",
        "runtime.logs.parse_level",
        "runtime.x509._general_name",
    ),
    MEBIBYTE // 8,
)
"""What takes time in proportion to the length, and 20 to 100 ms for a mebibyte: tried with an eighth of it, so that a busy machine
does not matter."""
UNITS: Final = (
    "a", ".", "a.", "-", "1", "1.", "1h", ":", "arn:", "/", " ", "\n", "a\n", "{", '"', "\\", "%41", ",", "a,", "*.",
    "[a]", '["a"]', "xn--a.", "ü.", "é", "\u0130", "\udcff", "a" * 63 + ".", "-----BEGIN CERTIFICATE-----\n",
)  # fmt: skip
SHORT: Final = (1, 16, 64, 100)
DIGITS: Final = ("9", "0", "٣", "²")
NUMBERS: Final = (
    "{}", "-{}", "+{}", "0x{}", "1e{}", "{}e{}", "{}.{}", "{}h", "{}m", "{}s", "-{}h", "1h{}m", "{}d", "{}Ki", "{}%", "a:{}", "v{}", "[{}]",
    "1.2.3.{}", "1.2.3.4/{}", "[::1]:{}", "https://a:{}/", "{}-01-01T00:00:00Z", "2026-01-01T00:00:{}Z", "2026-01-01T00:00:00.{}Z",
    "2026-01-01T00:00:00+{}:00", "Thu, {} Jan 2026 00:00:00 GMT", "Thu, 01 Jan {} 00:00:00 GMT", "Thu, 01 Jan 2026 {}:00:00 GMT",
    "Thu, 01 Jan 2026 00:00:00 +{}",
)  # fmt: skip
"""Where parsers expect numbers."""
MOMENTS: Final = ("0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00")
"""Moments that are none in UTC."""


def _candidates(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Functions that need one text and return something, by name, with the type of the text."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or node.returns is None or not node.args.args:
            continue
        first, needed = node.args.args[0], len(node.args.args) - len(node.args.defaults)
        kind = ast.unparse(first.annotation) if first.annotation is not None else ""
        is_optional = all(default is not None for default in node.args.kw_defaults)
        if kind in TEXTS and needed == 1 and is_optional and ast.unparse(node.returns) != "None":
            yield node.name, kind


def parsers() -> dict[str, tuple[Callable[[Any], Any], str]]:
    """All parsers by name, with the type of what they read."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for name, kind in _candidates(ast.parse(path.read_text())):
                function = getattr(importlib.import_module(f"edgekeeper.{module}"), name)
                found[f"{module}.{name}"] = function, kind
    return found


PARSERS: Final = parsers()


def crafted(size: int) -> Iterator[str]:
    for unit in UNITS:
        yield (unit * (size // len(unit) + 1))[:size]
    yield "arn:aws:iam::111122223333:role/" + "a/" * (size // 2)
    yield "-----BEGIN CERTIFICATE-----\n" + "A" * size + "\n-----END CERTIFICATE-----\n"
    yield "a" * size + "!"
    yield "a" + " " * size + "!"


def short() -> Iterator[str]:
    for size in SHORT:
        yield from crafted(size)
        for digit in DIGITS:
            yield from (number.replace("{}", digit * size) for number in NUMBERS)
    yield from ("", *MOMENTS)


def given_as(kind: str, text: str) -> str | bytes:
    return text if "str" in kind else text.encode("utf-8", "surrogatepass")


def seconds_for(parse: Callable[[Any], Any], text: str | bytes) -> float:
    """The processor time of one call, without the garbage collector, whose time depends on the tests that ran before.

    Nothing but what is declared may be raised.
    """
    gc.disable()
    began = time.process_time()
    try:
        result = parse(text)
        if inspect.isgenerator(result):
            list(result)
    except DECLARED:
        pass
    finally:
        gc.enable()
    return time.process_time() - began


def is_within(parse: Callable[[Any], Any], text: str | bytes) -> bool:
    """Whether one of five attempts is quick enough, for a machine that is as fast as it is at that moment."""
    return any(
        (seconds := seconds_for(parse, text)) <= MOST_SECONDS or seconds <= MOST_SECONDS * slowness()
        for _ in range(5)
    )


@pytest.mark.parametrize("name", sorted(PARSERS.keys() - EXEMPT.keys()))
def test_parser_reads_anything_in_time(name: str, figures: Figures) -> None:
    parse, kind = PARSERS[name]
    is_of_annotations = ".annotation" in name or ".setting_checks" in name
    size = ANNOTATIONS if is_of_annotations else LINEAR.get(name, MEBIBYTE)
    for text in crafted(size):
        assert is_within(parse, given_as(kind, text)), f"{text[:20]!r}… takes more than {MOST_SECONDS} s"
        figures.count("long texts")
    figures.count("parsers")


@pytest.mark.parametrize("name", sorted(PARSERS.keys() - EXEMPT.keys()))
def test_parser_raises_only_what_is_declared(name: str, figures: Figures) -> None:
    parse, kind = PARSERS[name]
    for text in short():
        seconds_for(parse, given_as(kind, text))
        figures.count("short texts")


def test_exempted_functions_exist() -> None:
    assert EXEMPT.keys() <= PARSERS.keys()
    assert len(PARSERS) > 100
