"""What generated expressions are made of: literals at the edges of every type, and variables with data of every sort."""

from __future__ import annotations

from typing import Any, Final

from kubecel.types import Kind

CONTEXT: Final[dict[str, Any]] = {
    "schema": {
        "metadata": {"name": "shop", "labels": {"team": "edge", "a.b/c": ""}},
        "spec": {
            "replicas": 3,
            "ratio": 0.25,
            "enabled": True,
            "nothing": None,
            "ports": [80, 443, -1, 2**63 - 1],
            "regions": ["eu-central-1", "us-east-1", "é", ""],
            "mixed": [1, "1", 1.0, True, None, [1], {"a": 1}],
            "limits": {"cpu": "500m", "memory": "1Gi"},
        },
    },
    "items": [{"name": "a", "port": 80}, {"name": "b"}, {}],
    "text": "the quick brown fox, 10.0.0.1/8, 2026-01-02T03:04:05Z",
    "number": 7,
    "empty": {},
}
"""Declared `dyn`, as an author of compositions has them."""

PATHS: Final = (
    "schema", "schema.spec", "schema.spec.replicas", "schema.spec.ratio", "schema.spec.enabled",
    "schema.spec.nothing", "schema.spec.ports", "schema.spec.ports[0]", "schema.spec.ports[9]",
    "schema.spec.regions", "schema.spec.regions[2]", "schema.spec.mixed", "schema.spec.mixed[6].a",
    "schema.spec.limits", "schema.spec.limits['cpu']", "schema.spec.?limits.?gpu", "schema.spec[?'ratio']",
    "schema.metadata.labels['a.b/c']", "schema.metadata.missing", "schema.status.ready", "items", "items[0]",
    "items[1].port", "items[?9].?name", "text", "number", "empty", "empty.a", "empty[?0]", ".number",
)  # fmt: skip
"""Ways to reach into them, some of which lead nowhere."""

TEXTS: Final = (
    "", "a", "é", "日本", "😀", "\\n", "\\x00", "a,b,c", "%s %d %.3f %e %b %x %%", "%", "%.99f", "%.f", "%c", "(", "[a-z]+",
    "(a+)+$", "(a|b)*c{2,5}", "(?i)x", "\\\\p{L}", "1", "-7", "1.5", "1e400", "9223372036854775808", "true", "TRUE", "null",
    "2026-01-02T03:04:05Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2026-13-01T00:00:00Z", "1h30m",
    "-1.5s", "9999999h", "1ns", "UTC", "Europe/Berlin", "+05:30", "-99:99", "Nowhere/Land", "1Gi", "500m", "1e999",
    "-0.5Ki", "1E", "0.000000000001", "https://user@a.example:8443/p/%20?q=1&q=2#f", "http://[::1]", "//", "10.0.0.1",
    "::1", "::ffff:1.2.3.4", "010.0.0.1", "10.0.0.0/8", "fe80::/10", "10.0.0.1/33", "1.2.3", "v1.2", "1.2.3-rc.1+b.7",
    "1.2.3.4", "Zm9v", "Zm9", "!!!", '{\\"a\\": [1, null]}', "[1,", "\\ud800", "dns1123Label", "uuid", "a.example",
)  # fmt: skip

LITERALS: Final[dict[Kind, tuple[str, ...]]] = {
    Kind.NULL: ("null",),
    Kind.BOOL: ("true", "false"),
    Kind.INT: ("0", "1", "-1", "2", "7", "63", "1000", "-9223372036854775808", "9223372036854775807", "0x1F"),
    Kind.UINT: ("0u", "1u", "7u", "18446744073709551615u", "0xFFu"),
    Kind.DOUBLE: ("0.0", "-0.0", "1.0", "1.5", "-2.25", "1e308", "1e-320", "0.0 / 0.0", "1.0 / 0.0", ".5"),
    Kind.BYTES: ("b''", "b'a'", "b'\\xff\\x00'", "b'''é'''", "rb'\\\\'"),
    Kind.TIMESTAMP: (
        "timestamp('2026-01-02T03:04:05.678Z')",
        "timestamp('0001-01-01T00:00:00Z')",
        "timestamp('9999-12-31T23:59:59.999999999Z')",
        "timestamp(0)",
    ),
    Kind.DURATION: ("duration('1h')", "duration('-1.5s')", "duration('0')", "duration('2562047h47m16.8s')"),
    Kind.TYPE: ("int", "string", "list", "type(null)", "net.IP"),
}

OPAQUES: Final[dict[str, tuple[str, ...]]] = {
    "kubernetes.Quantity": ("quantity('1Gi')", "quantity('-500m')", "quantity('1e3')"),
    "kubernetes.URL": ("url('https://a.example:80/b?c=d')", "url('/p')"),
    "kubernetes.Semver": ("semver('1.2.3')", "semver('0.0.1-rc.1')"),
    "kubernetes.NamedFormat": ("format.dns1123Label()", "format.named('uuid').value()"),
    "net.IP": ("ip('10.0.0.1')", "ip('::1')"),
    "net.CIDR": ("cidr('10.0.0.0/8')", "cidr('::/0')"),
}

HOSTILE: Final = (
    "\0", "\t", "\r\n", "\u2028", "\ufeff", "\ud800", "\U0010ffff", "'", '"', "'''", '"""', "`", "`a-b`", "\\", "\\x", "\\u12", "r'",
    "b'", "//", "${", "}", "{", "(", ")", "[", "]", "[?", "{?", "?", ".?", ".", "..", "...", ":", ",", "&&", "||", "!", "-", "--", "@",
    "@result", "$", "0x", "1e", "1.", "99999999999999999999", "1u1", "in", "as", "null", "_", "true", "var", "package", "é",
)  # fmt: skip
"""What to throw into a text that was fine."""
