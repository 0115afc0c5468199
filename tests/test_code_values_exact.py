"""Comparison of values to the letter: each edge of ``mint_envs.code.values``, and Python's say."""

from __future__ import annotations

import array
import dataclasses
import decimal
import fractions
import itertools
import json
import math
from collections import ChainMap, OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mint_envs.code.values import (
    EXACT,
    Tolerance,
    plain_data,
    shorten,
    show_wire,
    truth,
    visible,
    wire_equals,
)
from mint_envs.errors import SettingError
from mint_envs.sandbox.inside import wire


def sent(value: Any) -> Any:
    """The value as it arrives."""
    return json.loads(json.dumps(wire.encode(value)))


# -- what is alike, over few values, so that two often are ---------------------------------------

ATOMS: tuple[Any, ...] = (
    None, False, True, 0, 1, 2, 1.0, 0.5, 1j, 1 + 0j, "", "a", "1", b"", b"a", b"\xff", 2**64,
)  # fmt: skip
atoms = st.sampled_from(ATOMS)
members = st.recursive(
    atoms,
    lambda inner: st.lists(inner, max_size=2).map(tuple) | st.frozensets(inner, max_size=2),
    max_leaves=3,
)
few: st.SearchStrategy[Any] = st.recursive(
    atoms | st.sets(members, max_size=2) | st.frozensets(members, max_size=2),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.lists(inner, max_size=2).map(tuple)
        | st.dictionaries(members, inner, max_size=2)
    ),
    max_leaves=4,
)
#: Makes a relative of a value that is easily taken for it.
RELATIVES: tuple[Callable[[Any], Any], ...] = (
    lambda value: [value], lambda value: (value,), lambda value: {0: value},
    lambda value: {1: value},
    lambda value: [value, value], lambda value: (value, 1), lambda value: [1, value],
    lambda value: {0: value, "a": value},
)  # fmt: skip


@pytest.mark.parametrize("one", ATOMS, ids=repr)
def test_atoms_are_alike_as_in_python(one: Any) -> None:
    for other in ATOMS:
        for a, b in itertools.product(_around(one), _around(other)):
            assert wire_equals(sent(a), b) == (a == b), (a, b)


def _around(value: Any) -> list[Any]:
    containers = [value, [value], (value,), {value}, frozenset({value}), {value: 0}, {0: value}]
    return [*containers, {(value, 0)}, {(value, frozenset({value}))}, {frozenset({value}): value}]


@given(few, few, st.sampled_from(RELATIVES), st.sampled_from(RELATIVES))
def test_values_are_alike_as_in_python(one: Any, other: Any, f: Any, g: Any) -> None:
    for a, b in ((one, other), (f(one), g(one)), (f(one), f(other)), (one, f(one)), (f(one), one)):
        assert wire_equals(sent(a), b) == (a == b), (a, b)
        assert truth(sent(a)) == bool(a)


@given(few)
def test_plain_data_is_itself(value: Any) -> None:
    found = plain_data(value, "test 0")
    assert found == value
    assert type(found) is type(value)


@given(st.sets(members, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_an_order_of_a_set_or_dict_is_as_good_as_another(found: set[Any], chance: Any) -> None:
    order = list(found)
    chance.shuffle(order)
    items = [sent(item) for item in order]
    assert wire_equals(["s", items], found)
    assert wire_equals(["z", items], found)
    assert wire_equals(["d", [[item, item] for item in items]], dict.fromkeys(found, 0)) == (
        found in ({0}, {False})
    )
    assert wire_equals(["d", [[item, 0] for item in items]], dict.fromkeys(found, 0))
    # One given twice does not stand for another.
    if len(items) > 1:
        assert not wire_equals(["s", [*items[1:], items[-1]]], found)


def test_what_is_not_equal_to_itself_is_found() -> None:
    nan = math.nan
    for want in ({nan}, {(nan, 1)}, {((1, nan), 2), 3}, {nan: 1}, [nan], {1: nan}, (1j, nan)):
        assert wire_equals(sent(want), want), want
    assert not wire_equals(sent({nan, 1}), {2, 1})
    assert not wire_equals(sent({nan}), {1})
    assert not wire_equals(sent({1}), {nan})
    assert not wire_equals(sent([nan]), [1.0])
    assert not wire_equals(sent([1.0]), [nan])
    assert wire_equals(sent({frozenset({1}), 2}), {frozenset({1}), 2})
    assert not wire_equals(sent({frozenset({1}), 2}), {frozenset({3}), 2})


@pytest.mark.parametrize(
    ("claim", "want"),
    [
        (["l", [1]], (1,)), (["t", [1]], [1]), (["s", [1]], [1]), (["x", [1]], [1]),
        (["l", [1]], {1}), (["d", [1]], {1}), (["s", [[1, 2]]], {1: 2}),
        (["l", [[1, 2]]], {1: 2}),
        (["l", [1], 3], [1]), (["l", "1"], ["1"]), (["l", {"1": 0}], ["1"]),
        ({"l": 0, "1": 0}, [1]),
        (["d", [[1, 2, 3]]], {1: 2}), (["d", [[1]]], {1: 2}), (["d", ["12"]], {"1": "2"}),
        (["d", [{"1": 0, "2": 0}]], {"1": "2"}), (["b", b"a".hex()], "61"),
        (["l", b"a".hex()], b"a"),
        (["b", "6"], b"a"), (["b", ["61"]], b"a"), ("61", b"a"), (["b", "61"], {b"a"}),
        (["s", [["b", 5]]], {None}), (["s", [["b", ["61"]]]], {None}),
        (["s", [["b", "zz"]]], {b"a"}),
        (["s", [["l", [1]]]], {(1,)}), (["s", [["t", "a"]]], {("a",)}),
        (["s", [["t", [1], 0]]], {(1,)}),
        (["s", [["b", "61", 0]]], {b"a"}), (["s", [["z", [1]]]], {(1,)}),
        (["s", [["t", [1]]]], {1}),
        (["s", [["q", "1", "0"]]], {0}), (["s", [["i", "0x"]]], {0}), (["s", [["l", []]]], {()}),
        (["s", [["n", "sNaN"]]], {0}), (["i", "5", "6"], 5), (["z", [1]], 1), (1, None),
        (None, 0),
        (0, ""), ("", 0), ("", None), (None, ""), (True, "True"), ([["l"], []], []),
        (["", []], []),
        (["lt", [1]], [1]), (["q", "1"], 1), ([], 0), ([], None), ([], ""), (["f", "inf"], 1e308),
    ],
)  # fmt: skip
def test_what_is_nearly_it_is_not(claim: Any, want: Any) -> None:
    for tolerance in (EXACT, Tolerance(absolute=0.25), Tolerance(relative=0.01)):
        assert not wire_equals(claim, want, tolerance)


# -- numbers -------------------------------------------------------------------------------------

NUMBERS = (
    0, 1, -1, 5, True, 8, -8, 10, 12, 2**70, 0.1, 0.25, -8.0, 9.999, 10.5, 1e300, 3j,
    8 + 1j, -3 - 4j,
)  # fmt: skip


@pytest.mark.parametrize("want", NUMBERS, ids=repr)
@pytest.mark.parametrize("got", NUMBERS, ids=repr)
def test_a_tolerance_is_the_larger_of_the_two(got: Any, want: Any) -> None:
    for absolute, relative in itertools.product((0.0, 0.5, 2.0), (0.0, 0.25, 0.5)):
        near = abs(complex(got) - complex(want)) <= max(absolute, relative * abs(want))
        tolerance = Tolerance(absolute, relative)
        assert wire_equals(sent(got), want, tolerance) == (got == want or near), tolerance
        assert wire_equals(sent([got]), [want], tolerance) == (got == want or near)
        assert wire_equals(sent({1: got}), {1: want}, tolerance) == (got == want or near)
        assert wire_equals(sent((0, {"k": [got]})), (0, {"k": [want]}), tolerance) == (
            got == want or near
        )


def test_a_tolerance_stops_short_of_keys_and_of_infinity() -> None:
    assert not wire_equals(sent({1.25}), {1.0}, Tolerance(1.0))
    assert not wire_equals(sent({1.25: 0}), {1.0: 0}, Tolerance(1.0))
    assert not wire_equals(sent({frozenset({1.25})}), {frozenset({1.0})}, Tolerance(1.0))
    for far in (math.inf, -math.inf, math.nan):
        assert not wire_equals(sent(far), 1.0, Tolerance(math.inf, math.inf))
        assert not wire_equals(sent(1.0), far, Tolerance(1.0, 1.0))
    assert wire_equals(sent(math.inf), math.inf, Tolerance(1.0))
    assert not wire_equals(sent("1"), 1, Tolerance(1.0))
    assert not wire_equals(sent(2**53 + 1), 2**53)  # alike as floats
    assert not wire_equals(sent(fractions.Fraction(1, 3)), 1 / 3)
    assert not wire_equals(sent(10**400), 1, Tolerance(1.0, 1.0))
    assert not wire_equals(sent("a"), "b", Tolerance(9.0, 9.0))
    with pytest.raises(dataclasses.FrozenInstanceError):
        EXACT.absolute = 1.0  # type: ignore[misc]
    assert not hasattr(EXACT, "__dict__")
    assert Tolerance() == EXACT == Tolerance(0.0, 0.0)


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        (["i", "-0xff"], -255), (["i", "10"], 16), (["f", "0x1.8p1"], 3.0),
        (["f", "-inf"], -math.inf),
        (["c", "0x1p0", "-0x1p1"], 1 - 2j), (["n", "-1.50"], -1.5), (["q", "0x3", "0x2"], 1.5),
        (["q", "-0x10", "0x20"], -0.5), (["n", "1E+2"], 100),
    ],
)  # fmt: skip
def test_numbers_of_each_kind(claim: Any, value: Any) -> None:
    assert wire_equals(claim, value)
    assert wire_equals(claim, value, Tolerance(1e-9))
    assert not wire_equals(claim, -value)
    assert truth(claim) is True


@pytest.mark.parametrize(
    "claim",
    [0, False, None, "", ["i", "0x0"], ["f", "-0x0p+0"], ["n", "0.00"], ["q", "0x0", "0x5"],
     ["c", "0x0p+0", "0x0p+0"], ["l", []], ["t", []], ["s", []], ["z", []], ["d", []], ["b", ""],
     ["x", []], ["f", "x"], ["y", [1]], ["l"], ["l", [1], 2], [], {}, {"l": [1], "t": [1]},
     ["", [1]],
     ["lt", [1]], ["y", "1"]],
)  # fmt: skip
def test_what_is_false(claim: Any) -> None:
    assert truth(claim) is False


def test_what_is_true() -> None:
    for tag in "ltszdx":
        assert truth([tag, [0]]) is True
    for claim in (True, 1, -1, "0", ["b", "00"], ["f", "nan"], ["c", "0x0p0", "0x1p0"]):
        assert truth(claim) is True
    assert truth(sent(decimal.Decimal("0.1")))
    assert truth(sent(fractions.Fraction(1, 9)))


# -- bounds --------------------------------------------------------------------------------------


def nested(depth: int, inner: Any = 1) -> Any:
    for _ in range(depth):
        inner = [inner]
    return inner


def test_depth_has_an_edge() -> None:
    assert plain_data(nested(100), "x") == nested(100)
    deep: dict[str, Any] = {}
    for _ in range(99):
        deep = {"k": deep}
    assert plain_data(deep, "x") == deep
    for too_deep in (nested(101), {"k": deep, "j": nested(101)}, nested(100, {}), {"k": deep}):
        with pytest.raises(SettingError, match="x: the expected value is a"):
            plain_data(too_deep, "x")
    claim: Any = 1
    for _ in range(100):
        claim = ["l", [claim]]
    assert wire_equals(claim, nested(100))
    assert not wire_equals(["l", [claim]], nested(101))
    sets: Any = frozenset({1})
    found: Any = ["z", [1]]
    tables, said = nested(1), ["l", [1]]
    for _ in range(40):
        sets, found = frozenset({sets}), ["z", [found]]
    for _ in range(99):
        tables, said = {1: tables}, ["d", [[1, said]]]
    assert wire_equals(found, sets)
    assert wire_equals(said, tables)
    assert not wire_equals(["d", [[1, said]]], {1: tables})


def test_a_key_of_any_depth_is_answered() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = ["t", [deep]]
    assert not wire_equals(["s", [deep]], {1})
    assert not wire_equals(["d", [[deep, 1]]], {1: 1})


def test_digits_have_an_edge() -> None:
    assert wire_equals(["i", "0x" + "1" * 99_998], int("1" * 99_998, 16))
    assert not wire_equals(["i", "0x" + "1" * 99_999], int("1" * 99_999, 16))
    half = "f" * 50_000
    assert wire_equals(["q", half, half], 1)
    assert not wire_equals(["q", half, "0" + half], 1)
    assert wire_equals(["s", [["i", "f" * 100_000]]], {int("f" * 100_000, 16)})


def test_a_set_in_a_set_counts_its_depth() -> None:
    sets: Any = frozenset()
    found: Any = ["z", []]
    for _ in range(100):
        sets, found = frozenset({sets}), ["z", [found]]
    assert wire_equals(found, sets)
    assert not wire_equals(["z", [found]], frozenset({sets}))


class Point:
    """Compares as it likes, which plain data do not."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class Words(list[str]):
    pass


@pytest.mark.parametrize(
    "value",
    [
        Point(),
        [Point()],
        {"a": (Point(),)},
        {Point()},
        Words("a"),
        np.iinfo("i4"),
        array.array("i", [1]),
        range(3),
    ],
)
def test_what_is_no_plain_data_is_refused_by_name(value: Any) -> None:
    with pytest.raises(SettingError, match=r"^test 7: the expected value is a (\w+), not plain"):
        plain_data(value, "test 7")


def test_relatives_of_plain_data_become_plain() -> None:
    for value, want in (
        (np.float64(0.5), 0.5), (np.arange(4).reshape(2, 2), [[0, 1], [2, 3]]), (np.True_, True),
        (OrderedDict(a=np.int8(1)), {"a": 1}), (ChainMap({"a": (1,)}), {"a": (1,)}),
        ([np.arange(1)], [[0]]), ((np.int64(1),), (1,)), ({1: {np.int64(2)}}, {1: {2}}),
    ):  # fmt: skip
        found = plain_data(value, "x")
        assert found == want
        assert repr(found) == repr(want)


# -- what is shown -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "room", "text"),
    [
        (None, 80, "None"), (True, 80, "True"), (12, 80, "12"), ("a'b", 80, '"a\'b"'),
        (["i", "0xff"], 80, "255"), (["f", "0x1p-1"], 80, "0.5"),
        (["n", "1.5"], 80, "Decimal('1.5')"),
        (["c", "0x1p0", "0x1p1"], 80, "(1+2j)"), (["q", "0x1", "0x2"], 80, "Fraction(1, 2)"),
        (["b", "61"], 80, "?"), ({"a": 1}, 80, "?"), (["y", 1], 80, "?"), ([], 80, "?"),
        (1.5, 80, "?"),
        (["l", [1, "a"]], 80, "[1, 'a']"), (["t", [1]], 80, "(1)"), (["s", [1]], 80, "{1}"),
        (["z", [1]], 80, "{1}"), (["d", [[1, 2]]], 80, "{?}"), (["x", [1]], 80, "<1>"),
        (["y", [1]], 80, "[1]"), (["", [1]], 80, "[1]"), ([["l"], [1]], 80, "[1]"),
        (["l", []], 80, "[]"),
        (["l", [1]], 4, "[1]"), (["l", [1]], 3, "..."), (["l", [["l", [1]]]], 8, "[[1]]"),
        (["l", [["l", [1]]]], 7, "[...]"), (["l", [1, 2, 3, 4]], 9, "[1, 2, 3, ...]"),
        (["l", [1, 2, 3]], 10, "[1, 2, 3]"), (["l", [1, 2, 3]], 9, "[1, 2, 3, ...]"),
        ("x" * 300, 80, "'" + "x" * 76 + "..."), ("x" * 300, 1000, "'" + "x" * 200 + "'"),
        ("x" * 9, 8, "'xxxx..."), ("x" * 9, 1, "'xxxx..."), ("x" * 6, 1, "'xxxxxx'"),
        (["l", ["x" * 30]], 20, "['xxxxxx...]"), ("\ud800", 80, "'\\ud800'"),
        (["i", "x"], 80, "?"),
        (["i", "0x" + "f" * 9000], 80, "?"), (["l", 5], 80, "?"), (["l", [1], 2], 80, "?"),
    ],
)  # fmt: skip
def test_what_is_shown(claim: Any, room: int, text: str) -> None:
    assert show_wire(claim, room) == text


def test_much_is_shown_shortly() -> None:
    assert show_wire(["l", list(range(1000))]).endswith("21, 22, ...]")
    assert len(show_wire(["l", ["y" * 100] * 9])) < 2 * 80
    assert show_wire(["l", ["y" * 100] * 9]).endswith("..., ...]")
    assert show_wire("x" * 300) == show_wire("x" * 300, 80)


@pytest.mark.parametrize(
    ("text", "room", "found"),
    [
        ("x" * 80, 80, "x" * 80), ("x" * 81, 80, "x" * 77 + "..."), ("abcd", 3, "..."),
        ("abcd", 4, "abcd"), ("a\nb", 80, "a\nb"), ("a\tb\r", 80, "a\\tb\\r"), ("é 好", 80, "é 好"),
        ("\u202e", 80, "\\u202e"), ("\x00", 80, "\\x00"), ("", 80, ""),
    ],
)  # fmt: skip
def test_text_is_cut_and_made_visible(text: str, room: int, found: str) -> None:
    assert shorten(text, room) == found
    assert visible(text) == shorten(text, 1000)
    assert shorten("x" * 81) == "x" * 77 + "..."
