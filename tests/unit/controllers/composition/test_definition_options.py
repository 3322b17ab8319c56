"""The flags of composition, and what they allow."""

from __future__ import annotations

from datetime import timedelta

import pytest

from edgekeeper.controllers.composition import names
from edgekeeper.controllers.composition.definition_options import (
    MOST_DIMENSIONS,
    CompositionOptions,
    KindGuard,
    Mode,
    parse_count,
    parse_gates,
    parse_kind,
    parse_mode,
    parse_seconds,
)
from edgekeeper.controllers.composition.module import DefinitionModule, composition_options
from edgekeeper.lifecycle.module import CommonOptions


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", False),
        ("CELOmitFunction=true", True),
        ("CELOmitFunction=True, InstanceConditionEvents=false", True),
        ("CELOmitFunction=true,CELOmitFunction=false", False),
        ("InstanceConditionMetrics=true", False),
    ],
)
def test_gates_say_whether_omit_is_allowed(text: str, allowed: bool) -> None:
    assert parse_gates(text) is allowed


@pytest.mark.parametrize("text", ["Unknown=true", "CELOmitFunction", "CELOmitFunction=yes"])
def test_gates_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="with a gate of CELOmitFunction"):
        parse_gates(text)


@pytest.mark.parametrize("text", ["", "maybe", "ON"])
def test_mode_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="auto, on, off"):
        parse_mode(text)


@pytest.mark.parametrize("text", ["-1", "x", "1.5", ""])
def test_count_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        parse_count(text)


@pytest.mark.parametrize("text", ["apps/v1/Deployment", "", "*", "*."])
def test_kind_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not KIND"):
        parse_kind(text)


@pytest.mark.parametrize(
    ("api_version", "kind", "allowed"),
    [
        ("v1", "ConfigMap", True),
        ("v1", "Secret", False),
        ("example.com/v1", "ConfigMap", False),
        ("apps/v1", "Deployment", True),
        ("apps/v1beta1", "StatefulSet", True),
        ("batch/v1", "Job", True),
        ("batch/v1", "CronJob", False),
    ],
)
def test_guard_knows_kinds_by_group_in_any_version(api_version: str, kind: str, allowed: bool) -> None:
    guard = KindGuard(frozenset({"ConfigMap", "*.apps", "Job.batch"}))
    assert guard.allows(api_version, kind) is allowed
    assert KindGuard(None).allows(api_version, kind)


def test_options_follow_from_flags() -> None:
    values = {
        "composition": Mode.ON,
        "allow_crd_deletion": True,
        "feature_gates": True,
        "rgd_max_graph_revisions": 0,
        "composition_allowed_kinds": ("ConfigMap",),
        "dynamic_controller_concurrent_reconciles": 3,
        "dynamic_controller_default_resync_period": parse_seconds("60"),
    }
    options = composition_options(CommonOptions(max_concurrent=7), values)
    assert (options.mode, options.allow_crd_deletion, options.omit_allowed) == (Mode.ON, True, True)
    assert (options.max_revisions, options.max_concurrent, options.instance_max_concurrent) == (0, 7, 3)
    assert options.allowed_kinds == frozenset({"ConfigMap"})
    assert options.instance_resync == timedelta(minutes=1)


def test_options_without_flags_are_the_defaults() -> None:
    assert composition_options(CommonOptions(), {}) == CompositionOptions()


def test_limit_of_iterators_is_that_of_definitions() -> None:
    assert MOST_DIMENSIONS == names.MOST_DIMENSIONS


def test_composition_that_is_off_runs_no_controller() -> None:
    module = DefinitionModule()
    assert not module.is_enabled({"composition": Mode.OFF})
    assert all(module.is_enabled({"composition": mode}) for mode in (Mode.AUTO, Mode.ON))
