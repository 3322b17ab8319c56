"""The page about ResourceGraphDefinitions leaves nothing out: it is compared with the types and the code."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
import yaml

from edgekeeper.api.composition import DefinitionStatus, InstanceSchema, Resource
from edgekeeper.controllers.composition.definition_report import DECLARATION
from edgekeeper.controllers.composition.graph import compile_definition, read_definition
from edgekeeper.controllers.composition.schemas import KnownSchemas

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "kinds" / "resource-graph-definition.md").read_text()
COMPOSITION = ROOT / "src" / "edgekeeper" / "controllers" / "composition"


def names_of(type_: type[msgspec.Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(type_)]


@pytest.mark.parametrize(
    "field", [*names_of(InstanceSchema), *names_of(Resource), *names_of(DefinitionStatus)]
)
def test_page_has_every_field(field: str) -> None:
    assert re.search(rf"`{field}[`.\[]", PAGE) or field == "conditions"


@pytest.mark.parametrize("type_", [*DECLARATION.types, "Ready", "GraphVerified"])
def test_page_has_every_condition(type_: str) -> None:
    assert f"`{type_}`" in PAGE


def test_page_has_every_reason() -> None:
    text = "".join(path.read_text() for path in COMPOSITION.glob("definition_*.py"))
    reasons = set(re.findall(r'Verdict\("\w+", "([A-Z]\w+)"', text))
    reasons |= set(re.findall(r'^[A-Z_]+: Final = "([A-Z][a-z]+[A-Z]\w+)"$', text, re.MULTILINE))
    reasons -= {*DECLARATION.types, "ResourceGraphAccepted", "CELOmitFunction"}
    assert {"Resolved", "KindNotPermitted", "InstancesExist", "AwaitingReconciliation"} <= reasons
    assert {reason for reason in reasons if f"`{reason}`" not in PAGE} == set()


def test_example_of_the_page_is_valid() -> None:
    example = re.search(r'```yaml title="webapp.yaml"\n(.*?)```', PAGE, re.DOTALL)
    assert example is not None
    compilation = compile_definition(read_definition(yaml.safe_load(example[1])), KnownSchemas())
    assert compilation.problems == []
    assert compilation.order == ["deployment", "service"]
