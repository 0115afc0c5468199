"""Schemas from data sets and servers: no check takes for ever or raises on a model's text."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mint_envs.errors import SettingError
from mint_envs.tooluse import ToolTable, grade_calls, parse_calls, write_calls
from mint_envs.tooluse.toolkits import KeyValueStore
from mint_envs.tooluse.toolkits.checking import checker, errors
from mint_envs.tooluse.toolkits.surely import surely, takes_no_text


def _offered(properties: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"name": "f", "parameters": {"properties": properties, **more}}]


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"c": value}
    return value


_TREE = {
    "anyOf": [
        {"type": "object", "properties": {"c": {"$ref": "#/$defs/tree"}}, "minProperties": n}
        for n in (0, 1)
    ]
}


@pytest.mark.parametrize(
    ("tools", "value"),
    [
        (_offered({"a": {"pattern": "(a+)+$"}}), "a" * 60 + "!"),
        (_offered({"a": {"patternProperties": {"(a+)+$": {}}, "additionalProperties": False}}),
         {"a" * 60 + "!": 1}),
        (_offered({"a": {"$schema": "http://json-schema.org/draft-07/schema#",
                         "pattern": "(a+)+$"}}), "a" * 60 + "!"),
        (_offered({"a": {"$ref": "#/$defs/tree"}}, **{"$defs": {"tree": _TREE}}), _nested(50)),
        (_offered({"a": {"uniqueItems": True}}), [n for i in range(3000) for n in ([i], str(i))]),
        (_offered({"a": {"$ref": "#/properties/a"}}), "x"),
        (_offered({"a": {"multipleOf": 0.1}}), 10**4000),
    ],
    ids=["pattern", "keys", "dialect", "branches", "unique", "loop", "large"],
)  # fmt: skip
def test_no_schema_makes_a_check_long_or_raise(tools: Any, value: Any) -> None:
    begun = time.process_time()
    (call,) = parse_calls(write_calls([("f", {"a": value})]), "hermes", tools)
    assert call.name == "f"
    text = f"<function=f>\n<parameter=a>\n{json.dumps(value)}\n</parameter>\n</function>"
    assert len(parse_calls(text, "qwen3_coder", tools)) == 1
    assert time.process_time() - begun < 10


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        (_offered({"a": {"$ref": "#/properties/zzz"}}), "refers to '#/properties/zzz'"),
        (_offered({"a": {"$ref": "http://127.0.0.1:9/x.json"}}), "which it does not hold"),
        (_offered({"a": {"$dynamicRef": "#x"}}), "which it does not hold"),
        (_offered({"a": _nested(3000)}), "recursion|too deep"),
        (_offered({"a": _nested(80)}), "too deep"),
        (_offered({"a": {"pattern": "(" * 5000}}), "too large"),
        (_offered({"a": {"pattern": "("}}), "is broken"),
    ],
)
def test_a_schema_that_cannot_be_used_is_said_at_once(tools: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        ToolTable.of(tools)


def test_what_is_checked_of_a_schema_is_checked_as_the_standard_has_it() -> None:
    unique = ToolTable(_offered({"a": {"uniqueItems": True}}))
    for items, right in [
        ([1, True, "1", None, [1], {"a": 1}], True), ([1, 1.0], False), ([[1], [1.0]], False),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], False), ([0, False, "", None, [], {}], True),
    ]:  # fmt: skip
        assert (unique.check("f", {"a": items}) is None) is right, items
    closed = ToolTable(_offered({"a": True}, additionalProperties=False))
    assert closed.check("f", {"a": 1}) is None
    assert closed.check("f", {"b": 1}).kind == "unknown_argument"  # type: ignore[union-attr]
    local = ToolTable(_offered({"a": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": {"type": "null"}}}))
    assert local.check("f", {"a": None}) is None
    assert local.check("f", {"a": 1}).kind == "wrong_type"  # type: ignore[union-attr]


def test_a_schema_that_is_true_is_a_schema() -> None:
    tools = _offered({"a": True})
    made = [{"name": "f", "arguments": {"a": 1}}]
    assert grade_calls([{"f": {"a": [1]}}], made, tools).score == 1.0

    class Lies(KeyValueStore):
        def table(self) -> ToolTable:
            return ToolTable([{**tools[0], "name": "get_value"}])

    assert not Lies().run("get_value", {"a": 2.0}).ok


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.5, 1.0, "", "a", "b", "1"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    ),
    max_leaves=4,
)
_SCHEMAS: Any = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(
                ["string", "integer", "number", "boolean", "null", "array", "object"]
            )
            | st.just(["string", "null"]),
            "enum": st.lists(_JSON, min_size=1, max_size=2),
            "description": st.just("a"),
            "minLength": st.just(1),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from(["object", "array"])},
        optional={
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
            "required": st.lists(st.sampled_from("abc"), max_size=1),
            "additionalProperties": st.booleans(),
            "items": inner,
        },
    ),
    max_leaves=4,
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(_SCHEMAS, st.dictionaries(st.sampled_from("abc"), _JSON, max_size=3))
def test_what_surely_fits_has_no_fault_for_the_standard_either(schema: Any, value: Any) -> None:
    inner = {"type": "object", "properties": {"a": schema, "b": {"type": "string"}}}
    for one in (schema, inner):
        seen = surely(one)
        for tried in (value, {"a": value}, *value.values()):
            if seen is not None and seen(tried):
                assert not errors(checker(one), tried)
            if isinstance(tried, str) and takes_no_text(one):
                assert errors(checker(one), tried)


def test_plain_schemas_are_seen_at_a_glance() -> None:
    schema = _offered({"a": {"type": "string", "enum": ["x"]}, "b": {"type": "array"}})[0]
    seen = surely({"type": "object", **schema["parameters"]})
    assert seen is not None
    assert seen({"a": "x", "b": [1, {}], "c": None})
    assert not seen({"a": "y"})
    assert not seen({"b": {}})
