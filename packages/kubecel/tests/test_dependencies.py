"""What an expression reads of its environment."""

from __future__ import annotations

import pytest

from kubecel.types import DYN
from packages.kubecel.tests.engine import ENVIRONMENT

DECLARED = ENVIRONMENT.extend(variables={"schema": DYN, "app": DYN, "int": DYN})


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("1 + 2", set()),
        ("schema", {"schema"}),
        ("schema.spec.name", {"schema.spec.name"}),
        ("schema.spec.name + app.status.url", {"schema.spec.name", "app.status.url"}),
        ("has(schema.spec.name)", {"schema.spec.name"}),
        ("schema.spec['name']", {"schema.spec.name"}),
        ("schema.?spec.?name.orValue('a')", {"schema.spec.name"}),
        ("schema.spec[?'name']", {"schema.spec.name"}),
        ("schema.spec.ports[0].port", {"schema.spec.ports"}),
        ("schema.spec.ports[app.index].port", {"schema.spec.ports", "app.index"}),
        ("schema.spec.ports.map(p, p.port)", {"schema.spec.ports"}),
        ("schema.spec.ports.map(p, p + app.offset)", {"schema.spec.ports", "app.offset"}),
        ("schema.list.transformMap(i, v, v.x + i)", {"schema.list"}),
        ("[{'name': 1}].map(app, app.name)", set()),
        ("[app.a].map(app, app.name)", {"app.a"}),
        ("cel.bind(app, app.spec, app.name)", {"app.spec"}),
        ("app.?spec.optMap(app, app.name)", {"app.spec"}),
        ("schema.spec.name.startsWith(app.prefix)", {"schema.spec.name", "app.prefix"}),
        ("optional.of(schema.a)", {"schema.a"}),
        ("type(schema.a) == string", {"schema.a"}),
        ("int.value", {"int.value"}),
        ("type(schema) == google.protobuf.Timestamp", {"schema"}),
        ("{schema.a: [app.b]}", {"schema.a", "app.b"}),
        ("(schema.a ? schema : app).b", {"schema.a", "schema", "app"}),
    ],
)
def test_paths_are_what_is_read(text: str, paths: set[str]) -> None:
    program = DECLARED.compile(text)
    assert {".".join(path) for path in program.paths} == paths
    assert program.identifiers == {path.partition(".")[0] for path in paths}
