"""Values: what stands for what, and keys of maps."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel import types
from kubecel.errors import ErrorKind, EvaluationError
from kubecel.types import Type
from kubecel.values import (
    NONE,
    Duration,
    Optional,
    Timestamp,
    Uint,
    key_value,
    map_key,
    type_of_class,
    type_of_value,
)


class Opaque:
    cel_type: ClassVar[Type] = types.opaque("test.Opaque")


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null_type"),
        (True, "bool"),
        (1, "int"),
        (Uint(1), "uint"),
        (1.0, "double"),
        ("a", "string"),
        (Text("a"), "string"),
        (b"a", "bytes"),
        ([], "list"),
        ((), "list"),
        ({}, "map"),
        (Timestamp(0), "google.protobuf.Timestamp"),
        (Duration(0), "google.protobuf.Duration"),
        (NONE, "optional_type"),
        (types.INT, "type"),
        (Opaque(), "test.Opaque"),
    ],
)
def test_every_value_has_a_type(value: Any, name: str) -> None:
    assert type_of_value(value).name == name


def test_other_classes_are_no_values() -> None:
    with pytest.raises(TypeError):
        type_of_class(object)


def test_optionals_yield_their_value_or_an_error() -> None:
    assert Optional.of(None).get() is None
    assert Optional.none() is NONE
    with pytest.raises(EvaluationError) as caught:
        NONE.get()
    assert caught.value.kind is ErrorKind.OPTIONAL_NONE


def test_unsigned_integers_print_as_numbers() -> None:
    assert str(Uint(5)) == "5"
    assert repr(Uint(5)) == "5u"


def test_true_and_one_are_different_keys() -> None:
    stored = {map_key(True): "yes", map_key(1): "one", map_key(False): "no", map_key(0): "zero"}
    assert len(stored) == 4
    assert stored[map_key(1.0)] == stored[map_key(Uint(1))] == "one"
    assert [key_value(key) for key in stored] == [True, 1, False, 0]


@given(st.one_of(st.booleans(), st.integers(), st.text()))
def test_stored_keys_stand_for_what_was_stored(key: Any) -> None:
    found = key_value(map_key(key))
    assert found == key
    assert type(found) is type(key)
