"""R-30 for compositions: expressions that use up their budget, and collections, do not keep others from running."""

from __future__ import annotations

from typing import Any

from edgekeeper.core.json import JsonObject
from kubesim.virtual import SlowCallback
from tests.composition.world import composing, instance, rgd
from tests.reliability.slow_callbacks import slow_callbacks
from tests.results import Figures

VALUES = 110
DEAR = "schema.spec.l.all(a, schema.spec.l.all(b, a + b != ''))"
"""With so many values most of what one expression may cost."""
COSTLY = "size(schema.spec.l.map(a, schema.spec.l.map(b, schema.spec.l.map(c, a + b + c)))) > 0"
"""More than one expression may cost."""


def config(name: str, **more: Any) -> JsonObject:
    return {
        "id": name,
        "template": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}},
        **more,
    }


def slow(
    resources: list[JsonObject], status: JsonObject, figures: Figures, values: int = VALUES
) -> list[SlowCallback]:
    """Callbacks that took too long while an instance of such a definition was reconciled, and again after a change.

    Without what the garbage collector took in them: its time depends on the test bed, which is in the same process.
    """
    return slow_callbacks(
        lambda: _reconcile(resources, status, values), figures, lambda callback: callback.own_time
    )


async def _reconcile(resources: list[JsonObject], status: JsonObject, values: int) -> None:
    body = rgd("apps", "App", '{l: "[]string", text: string | default=a}', "[]")
    body["spec"]["resources"] = resources
    body["spec"]["schema"]["status"] = status
    async with composing() as world:
        await world.define(body)
        spec: JsonObject = {"l": [f"v{number}" for number in range(values)]}
        await world.apply(instance("App", "demo", spec))
        await world.settle()
        await world.apply(instance("App", "demo", {**spec, "text": "b"}))
        await world.settle()
        assert "status" in await world.get("App", "demo")


def test_budget_of_a_pass_is_spent_in_turns(figures: Figures) -> None:
    filled = config("filled")
    filled["template"]["data"] = {f"k{number}": f"${{string({DEAR})}}" for number in range(90)}
    assert slow([filled], {}, figures) == []


def test_conditions_of_inclusion_are_evaluated_in_turns(figures: Figures) -> None:
    resources = [config(f"n{number}", includeWhen=[f"${{{DEAR}}}"] * 9) for number in range(9)]
    assert slow(resources, {}, figures) == []


def test_conditions_of_readiness_are_evaluated_in_turns(figures: Figures) -> None:
    numbers = "lists.range(95)"
    ready = f"${{{numbers}.all(a, {numbers}.all(b, string(a) + string(b) != ''))}}"
    assert slow([config("ready", readyWhen=[ready] * 20)], {}, figures) == []


def test_status_is_built_in_turns(figures: Figures) -> None:
    status = {f"k{number}": f"${{{DEAR}}}" for number in range(90)}
    assert slow([config("one")], status, figures) == []


def test_expressions_that_cost_too_much_fail_without_blocking_others(figures: Figures) -> None:
    resources = [config(f"n{number}", includeWhen=[f"${{{COSTLY}}}"]) for number in range(90)]
    assert slow(resources, {}, figures) == []


def test_large_collections_are_rendered_and_compared_in_turns(figures: Figures) -> None:
    collections = [config(f"members{number}", forEach=[{"value": "${schema.spec.l}"}]) for number in range(3)]
    for one in collections:
        one["template"]["metadata"]["name"] = f"{one['id']}-${{value}}"
        one["template"]["data"] = {"text": "${schema.spec.text}", "value": "${value}"}
        one["readyWhen"] = ["${each.data.value != ''}"]
    assert slow(collections, {}, figures, 1000) == []
