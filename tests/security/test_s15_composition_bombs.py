"""S-15: definitions, instances and files that are written to exhaust the operator or the command line.

Each is refused with the path of a field, or fails with a message, or is carried out, within a bound of processor time; and
other instances go on. What single expressions can do is tried in `packages/kubecel/tests/test_bombs.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from edgekeeper.cli.built_in import BuiltInSchemas
from edgekeeper.cli.failure import CommandError
from edgekeeper.cli.manifest import load_manifests
from edgekeeper.controllers.composition.graph import compile_definition, read_definition
from edgekeeper.core.json import JsonObject
from edgekeeper.kube.kinds import Kind
from kubesim.virtual import virtual_time
from tests.composition.world import composing, instance

SECONDS: Final = 4.0
"""Of processor time. What takes longest spends the whole budget of one expression."""
MEGABYTE: Final = 2**20
KIND: Final = Kind("kro.run", "v1alpha1", "Bomb", "bombs")
FIELDS: Final = {"text": "string | default=a", "values": "[]string", "tree": "object"}


def config_map(data: Any, name: str = "${schema.metadata.name}") -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def definition(
    *resources: JsonObject, spec: JsonObject | None = None, status: JsonObject | None = None
) -> JsonObject:
    schema = {"apiVersion": "v1alpha1", "kind": "Bomb", "spec": spec or FIELDS, "status": status or {}}
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": "bombs"},
        "spec": {"schema": schema, "resources": list(resources)},
    }


def expression(text: str) -> JsonObject:
    """A definition with this expression in it."""
    return definition({"id": "bomb", "template": config_map({"value": f"${{{text}}}"})})


def nested(levels: int, leaf: Any = "x", wrap: Callable[[Any], Any] = lambda inner: {"a": inner}) -> Any:
    for _ in range(levels):
        leaf = wrap(leaf)
    return leaf


@contextmanager
def bounded() -> Iterator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < SECONDS


# Definitions

REFUSED: dict[str, JsonObject] = {
    "parentheses": expression("(" * 20_000 + "1" + ")" * 20_000),
    "negations": expression("!" * 100_000 + "true"),
    "a long sum": expression(" + ".join(["schema.spec.text"] * 20_000)),
    "choices in choices": expression("true ? 'a' : " * 5_000 + "'b'"),
    "lists in lists": expression("[" * 5_000 + "]" * 5_000 + ".size()"),
    "loops in loops": expression("schema.spec.values.all(a, " * 200 + "true" + ")" * 200),
    "expressions without an end": definition({"id": "bomb", "template": config_map({"a": "${" * 100_000})}),
    "quotes without an end": definition({"id": "bomb", "template": config_map({"a": "${'" * 50_000})}),
    "a deep template": definition({"id": "bomb", "template": config_map(nested(5_000))}),
    "deep lists in a template": definition(
        {"id": "bomb", "template": config_map(nested(5_000, wrap=lambda inner: [inner]))}
    ),
    "a deep schema": definition(spec=nested(3_000, "string")),
    "a deep type": definition(spec={"a": "[]" * 5_000 + "string"}),
    "a deep map": definition(spec={"a": "map[string]" * 3_000 + "string"}),
    "many fields": definition(spec={f"field{number}": "integer" for number in range(20_000)}),
    "a deep status": definition(
        {"id": "bomb", "template": config_map({})}, status=nested(3_000, "${bomb.data.a}")
    ),
}
COMPILED: dict[str, JsonObject] = {
    "a pattern that backtracks": definition(spec={"a": 'string | pattern="(a+)+$"'}),
    "a default of a megabyte": definition(spec={"a": f"string | default={'x' * MEGABYTE}"}),
    "a template of a megabyte": definition({"id": "bomb", "template": config_map({"a": "x" * MEGABYTE})}),
    "a wide template": definition(
        {"id": "bomb", "template": config_map({f"key{number}": "x" for number in range(20_000)})}
    ),
    "a long chain": definition(
        *(
            {
                "id": f"n{number}",
                "template": config_map({"a": f"${{n{number - 1}.data.a}}" if number else "1"}),
            }
            for number in range(1_000)
        )
    ),
    "everything needs everything before it": definition(
        *(
            {
                "id": f"n{number}",
                "template": config_map({f"k{other}": f"${{n{other}.data.k}}" for other in range(number)}),
            }
            for number in range(50)
        )
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_definition_that_is_too_large_to_handle_is_refused_with_its_field(name: str) -> None:
    with bounded():
        found = compile_definition(read_definition(REFUSED[name]), BuiltInSchemas())
    assert found.graph is None
    assert found.problems[0].path.startswith(("spec.resources[0].template", "spec.schema"))
    assert found.problems[0].message


@pytest.mark.parametrize("name", COMPILED)
def test_large_definition_that_can_be_handled_is_compiled_in_time(name: str) -> None:
    with bounded():
        found = compile_definition(read_definition(COMPILED[name]), BuiltInSchemas())
    assert found.graph is not None, found.problems


# Instances

MANY: Final = ["v" * 8] * 100_000
"""A spec of about a megabyte."""
COSTLY: dict[str, tuple[JsonObject, JsonObject]] = {
    "loops over a long list": (
        expression("string(schema.spec.values.all(a, schema.spec.values.all(b, a == b)))"),
        {"values": MANY},
    ),
    "a list that grows": (
        expression("string(schema.spec.values.map(a, schema.spec.values).size())"),
        {"values": MANY},
    ),
    "a text that grows": (
        expression("schema.spec.values.map(a, schema.spec.text + schema.spec.text).join(schema.spec.text)"),
        {"values": MANY[:1_000], "text": "x" * 100_000},
    ),
    "a text that is replaced by more": (
        expression("schema.spec.text" + ".replace('x', 'xxxxxxxxxx')" * 8),
        {"text": "x" * 10_000},
    ),
    "a collection of a million": (
        definition(
            {
                "id": "bomb",
                "forEach": [{"one": "${schema.spec.values}"}, {"two": "${schema.spec.values}"}],
                "template": config_map({}, "${one + two}"),
            }
        ),
        {"values": [f"v{number}" for number in range(1_000)]},
    ),
}
CHEAP: dict[str, tuple[JsonObject, JsonObject]] = {
    "a pattern that backtracks": (
        expression("string(schema.spec.text.matches('(a+)+$'))"),
        {"text": "a" * 100_000 + "b"},
    ),
    "a pattern of many repetitions": (
        expression("string(schema.spec.text.matches('(a?){1,500}a{500}'))"),
        {"text": "a" * 500},
    ),
    "a deep object": (expression("schema.spec.text"), {"tree": nested(90)}),
    "a list of a megabyte": (expression("schema.spec.values[99999]"), {"values": MANY}),
}


@pytest.mark.parametrize("name", COSTLY)
@virtual_time
async def test_instance_that_costs_too_much_says_so_and_others_go_on(name: str) -> None:
    body, spec = COSTLY[name]
    async with composing() as world:
        await world.define(body)
        await world.apply(instance("Bomb", "evil", spec))
        await world.apply(instance("Bomb", "good", {"values": ["a"]}))
        with bounded():
            await world.settle()
        ready = (await world.conditions("Bomb", "evil"))["Ready"]
        assert ready["status"] == "False"
        assert ready["message"].startswith("resource bomb: ")
        assert len(ready["message"]) < 2_000
        assert await world.children("Bomb", "evil") == set()
        assert await world.state("Bomb", "good") == "ACTIVE"


@pytest.mark.parametrize("name", CHEAP)
@virtual_time
async def test_instance_that_only_looks_expensive_is_carried_out_in_time(name: str) -> None:
    body, spec = CHEAP[name]
    async with composing() as world:
        await world.define(body)
        with bounded():
            await world.user.create(KIND, instance("Bomb", "evil", spec), namespace="default")
            await world.settle()
        assert await world.state("Bomb", "evil") == "ACTIVE", await world.conditions("Bomb", "evil")
        assert world.metrics.count == 0


# Files


def _merges(levels: int) -> str:
    """Mappings each of which merges the one before nine times."""
    lines = [f"a{level}: &a{level} {{<<: [{_nine(level)}]}}" for level in range(1, levels)]
    return "\n".join(["a0: &a0 {x: 1}", *lines])


def _nine(level: int) -> str:
    return ", ".join([f"*a{level - 1}"] * 9)


FILES: dict[str, tuple[str, str]] = {
    "deep JSON": ('{"a":' * 50_000 + "1" + "}" * 50_000, "more than 500 levels are nested"),
    "deep YAML": ("a: " + "[" * 20_000 + "]" * 20_000, "more than 500 levels are nested"),
    "deep blocks": (
        "\n".join(" " * depth + "a:" for depth in range(1_000)),
        "more than 500 levels are nested",
    ),
    "merges of merges": (_merges(12), "a mapping with << has more than 10000 entries"),
    "a list in itself": ("&a [*a]", "document 1 has no apiVersion"),
}


@pytest.mark.parametrize("name", FILES)
def test_file_that_cannot_be_read_is_refused_with_the_reason(name: str, tmp_path: Path) -> None:
    text, complaint = FILES[name]
    file = tmp_path / "bomb.yaml"
    file.write_text(text)
    with bounded(), pytest.raises(CommandError, match=r"bomb\.yaml") as refusal:
        load_manifests([file])
    assert complaint in str(refusal.value)


def test_file_of_nested_aliases_is_refused_with_its_field(tmp_path: Path) -> None:
    """Billions of strings in a few lines: they are read as they are written, and the definition is too large."""
    levels = ["a0: &a0 [x]", *(f"a{level}: &a{level} [{_nine(level)}]" for level in range(1, 12))]
    file = tmp_path / "aliases.yaml"
    file.write_text(
        "\n".join(levels)
        + """
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: bombs}
spec:
  schema: {apiVersion: v1alpha1, kind: Bomb, spec: {}}
  resources: [{id: bomb, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, annotations: *a11}}}]
"""
    )
    with bounded():
        (manifest,) = load_manifests([file])
        found = compile_definition(read_definition(manifest.body), BuiltInSchemas())
    assert found.graph is None
    assert found.problems[0].path.startswith("spec.resources[0].template.metadata.annotations")
