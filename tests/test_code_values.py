"""Values on the wire, and their comparison outside."""

from __future__ import annotations

import collections
import decimal
import enum
import fractions
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mint_envs.code.judging import same_output
from mint_envs.code.values import (
    EXACT,
    Tolerance,
    plain_data,
    shorten,
    show_wire,
    truth,
    wire_equals,
)
from mint_envs.errors import SettingError
from mint_envs.sandbox.inside import wire

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(alphabet=st.characters(codec="utf-8"))
    | st.binary()
    | st.complex_numbers(allow_nan=False)
)
keys = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False)
keys = keys | st.tuples(keys, keys) | st.frozensets(st.integers(), max_size=3)
values: st.SearchStrategy[Any] = st.recursive(
    scalars | st.sets(keys, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=10,
)


def sent(value: Any) -> Any:
    """The value as it arrives."""
    return json.loads(json.dumps(wire.encode(value)))


@given(values)
def test_a_value_equals_itself_and_comes_back(value: Any) -> None:
    assert wire_equals(sent(value), value)
    assert wire.decode(sent(value)) == value


@given(values, values)
def test_comparison_is_pythons(one: Any, other: Any) -> None:
    assert wire_equals(sent(one), other) == (one == other)


@given(values)
def test_truth_is_pythons(value: Any) -> None:
    assert truth(sent(value)) == bool(value)


junk: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)


@given(junk, values)
def test_no_claim_whatever_raises(claim: Any, value: Any) -> None:
    assert wire_equals(claim, value) in (True, False)
    assert truth(claim) in (True, False)
    show_wire(claim).encode("utf-8")


@pytest.mark.parametrize(
    "claim",
    [["i"], ["i", 5], ["i", "0x" + "f" * 10**6], ["f", "x"], ["f"], ["q", "1", "0"], ["n", "sNaN"],
     ["n", "1e999999999"], ["c", "1"], ["l"], ["l", 5], ["d", [[1]]], ["s", [["s", [["s", []]]]]],
     {"i": "0x5"}, "i5", "f0x1.4p2", [], [[]], 5.0, ["b", 5]],
)  # fmt: skip
def test_forged_claims_equal_nothing(claim: Any) -> None:
    for value in (5, 5.0, [5], (5,), {5}, {5: 5}, b"5", 5j, None, True):
        assert not wire_equals(claim, value)
        assert not wire_equals(claim, value, Tolerance(1.0, 1.0))


def test_deep_claims_are_refused_and_shown_shortly() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = ["l", [deep]]
    assert not wire_equals(deep, 1)
    assert len(show_wire(deep)) < 200
    expected: Any = 1
    for _ in range(900):
        expected = [expected]
    assert not wire_equals(deep, expected)


def test_a_set_is_compared_without_building_the_claims_own() -> None:
    many = ["s", [["i", hex(i * ((1 << 61) - 1))] for i in range(1, 20_000)]]
    assert not wire_equals(many, set(range(20_000 - 1)))
    assert wire_equals(["s", [1, 2, 3]], {3, 2, 1})
    assert not wire_equals(["s", [1, 1, 2]], {3, 2, 1})
    assert wire_equals(["s", [["t", [1, "a"]], ["s", [2]]]], {frozenset({2}), (1, "a")})
    assert not wire_equals(["d", [[1, 2], [1, 2]]], {1: 2, 3: 2})


class Colour(enum.IntEnum):
    RED = 3


@pytest.mark.parametrize(
    ("value", "like"),
    [
        (Colour.RED, 3), (np.int64(3), 3), (np.float32(0.5), 0.5), (np.arange(3), [0, 1, 2]),
        (np.bool_(True), True), (collections.Counter("aab"), {"a": 2, "b": 1}),
        (collections.deque([1, 2]), [1, 2]), (range(3), [0, 1, 2]), (bytearray(b"a"), b"a"),
        (decimal.Decimal("1.5"), 1.5), (fractions.Fraction(1, 2), 0.5),
    ],
)  # fmt: skip
def test_relatives_of_plain_types(value: Any, like: Any) -> None:
    assert wire_equals(sent(value), like)


@pytest.mark.parametrize("value", [object(), int, lambda: 1, iter([1]), (x for x in "a")])
def test_what_is_no_data_does_not_cross(value: Any) -> None:
    with pytest.raises(wire.Unsupported):
        wire.encode(value)


def test_iterators_cross_where_asked_for_and_end() -> None:
    assert list(wire.decode(wire.encode_any(x for x in "ab"))) == ["a", "b"]
    with pytest.raises(wire.Unsupported, match="without end"):
        wire.encode_any(map(int, iter(int, 1)))


def test_tolerance() -> None:
    assert wire_equals(sent(1.0 + 1e-9), 1.0, Tolerance(1e-6))
    assert wire_equals(sent(100.5), 100.0, Tolerance(relative=0.01))
    assert not wire_equals(sent(1.1), 1.0, Tolerance(1e-6))
    assert wire_equals(sent([1.0 + 1e-9]), [1.0], Tolerance(1e-6))
    for far in (float("inf"), float("nan"), 10**400):
        assert not wire_equals(sent(far), 1.0, Tolerance(1e-6))
    assert wire_equals(sent(float("nan")), float("nan"), EXACT)


def test_expected_values_must_be_plain() -> None:
    assert plain_data(np.arange(2), "test 0") == [0, 1]
    with pytest.raises(SettingError, match=r"test 0.*object"):
        plain_data([object()], "test 0")


def test_what_is_shown_is_fit_for_a_terminal() -> None:
    assert shorten("\x1b[2J\ud800") == "\\x1b[2J\\ud800"
    assert shorten("x" * 200) == "x" * 77 + "..."


@pytest.mark.parametrize(
    ("got", "want", "compare", "same_"),
    [
        ("1 2\n", "1  2", "tokens", True),
        ("1 3\n", "1 2", "tokens", False),
        ("1 2 3", "1 2", "tokens", False),
        ("1.0", "1", "tokens", False),
        ("a b\n", "a b", "exact", True),
        ("a  b", "a b", "exact", False),
        (" a", "a", "exact", False),
        ("1.0000001 ok", "1.0 ok", "float", True),
        ("1.0000001 ok", "1 ok", "float", False),
        ("1.01", "1", "float", False),
        ("nan", "1", "float", False),
        ("1e999", "1e308", "float", False),
        ("inf", "inf", "float", True),
        ("1_0", "10", "float", False),
        ("", "", "tokens", True),
    ],
)
def test_output(got: str, want: str, compare: str, same_: bool) -> None:
    assert same_output(got, want, compare) is same_
