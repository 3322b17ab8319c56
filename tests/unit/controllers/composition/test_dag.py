"""Orders and waves, on random graphs: laws that hold for all of them (R-22, the part about graphs)."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from edgekeeper.controllers.composition.dag import (
    apply_orders,
    check_acyclic,
    find_cycle,
    invert,
    topological_order,
)
from edgekeeper.controllers.composition.rejection import RejectedError

GRAPHS = 10_000
FEWER = 2_000
LARGEST = 50


def _acyclic(seed: int) -> dict[str, list[str]]:
    """A random graph without cycles, whose nodes are written down in any order."""
    chance = random.Random(seed)
    names = [f"n{number}" for number in range(chance.randrange(1, LARGEST))]
    density = chance.choice((0.02, 0.1, 0.3, 0.8))
    graph = {
        name: [earlier for earlier in names[:place] if chance.random() < density]
        for place, name in enumerate(names)
    }
    written = list(graph.items())
    chance.shuffle(written)
    return dict(written)


def _with_ancestors(name: str, graph: dict[str, list[str]]) -> set[str]:
    """A name with everything that it depends on."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        if (one := waiting.pop()) not in found:
            found.add(one)
            waiting.extend(graph[one])
    return found


def _with_cycle(seed: int) -> dict[str, list[str]]:
    """The same with an edge back."""
    graph = {name: list(needed) for name, needed in _acyclic(seed).items()}
    chance = random.Random(seed)
    name = chance.choice(list(graph))
    ancestor = chance.choice(sorted(_with_ancestors(name, graph)))
    graph[ancestor].append(name)
    return graph


def test_order_has_all_names_each_after_what_it_needs() -> None:
    for seed in range(GRAPHS):
        graph = _acyclic(seed)
        order = topological_order(graph)
        places = {name: place for place, name in enumerate(order)}
        assert sorted(order) == sorted(graph), seed
        assert all(places[needed] < places[name] for name in graph for needed in graph[name]), seed


def test_order_takes_the_first_that_is_written_among_those_that_are_free() -> None:
    for seed in range(FEWER):
        graph = _acyclic(seed)
        done: set[str] = set()
        for name in topological_order(graph):
            free = [one for one in graph if one not in done and set(graph[one]) <= done]
            assert name == free[0], seed
            done.add(name)


def test_order_does_not_depend_on_how_dependencies_are_written() -> None:
    for seed in range(FEWER // 10):
        graph = _acyclic(seed)
        again = {name: [*reversed(needed), *needed] for name, needed in graph.items()}
        assert topological_order(again) == topological_order(graph), seed


def test_wave_of_a_dependent_is_higher_and_ends_are_in_the_last_one() -> None:
    for seed in range(FEWER):
        graph = _acyclic(seed)
        waves = apply_orders(graph, topological_order(graph))
        dependents = invert(graph)
        assert all(waves[needed] < waves[name] for name in graph for needed in graph[name]), seed
        most = max(waves.values())
        assert all(waves[name] == most for name in graph if not dependents[name]), seed
        assert set(waves.values()) == set(range(1, most + 1)), seed


def test_cycle_is_found_and_is_one() -> None:
    for seed in range(FEWER):
        graph = _with_cycle(seed)
        cycle = find_cycle(graph)
        assert cycle[0] == cycle[-1], seed
        assert len(set(cycle)) == len(cycle) - 1, seed
        assert all(later in graph[name] for name, later in pairwise(cycle)), seed
        with pytest.raises(RejectedError):
            topological_order(graph)


def test_no_cycle_is_found_where_there_is_none() -> None:
    assert not any(find_cycle(_acyclic(seed)) for seed in range(FEWER))


def test_deep_graph_needs_no_recursion() -> None:
    names = [f"n{number}" for number in range(5_000)]
    graph = {name: names[place - 1 : place] if place else [] for place, name in enumerate(names)}
    assert topological_order(graph) == names
    graph["n0"] = ["n4999"]
    assert len(find_cycle(graph)) == 5_001


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ({"a": ["b"], "b": ["a"]}, "graph contains a cycle: a -> b -> a"),
        ({"x": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]}, "graph contains a cycle: a -> b -> c -> a"),
        ({"a": ["a"]}, "self references are not allowed"),
    ],
)
def test_cycles_are_told_as_kro_does(graph: dict[str, list[str]], message: str) -> None:
    with pytest.raises(RejectedError) as refused:
        check_acyclic(graph)
    assert refused.value.message == message


def test_waves_of_a_diamond() -> None:
    graph = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "alone": []}
    assert apply_orders(graph, topological_order(graph)) == {"a": 1, "b": 2, "c": 2, "d": 3, "alone": 3}


def test_empty_graph_has_no_order() -> None:
    assert topological_order({}) == []
    assert apply_orders({}, []) == {}
