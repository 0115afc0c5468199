"""Tools: schemas from signatures, toolkits whose state is all there is, and what they refuse."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mint_envs.errors import SettingError
from mint_envs.tooluse import (
    TOOLKITS,
    Toolkit,
    ToolTable,
    diff,
    grade_state,
    schema_of,
    tool,
)

SEED = st.integers(0, 2**32 - 1)


def fresh(name: str, seed: int = 0) -> Toolkit:
    kit = TOOLKITS[name]()
    kit.reset(np.random.default_rng(seed))
    return kit


def run(kit: Toolkit, name: str, /, **arguments: Any) -> str:
    result = kit.run(name, arguments)
    assert result.ok, result.text
    return result.text


# -- schemas ----------------------------------------------------------------------------------


def book(
    city: Annotated[str, "where to"],
    nights: int = 1,
    price: float | None = None,
    board: Literal["none", "half"] = "none",
    guests: list[str] = [],  # noqa: B006
    extras: dict[str, bool] = {},  # noqa: B006
) -> None:
    """Book a room.

    And more that is not for the model.
    """


def test_the_schema_is_that_of_the_signature() -> None:
    assert schema_of(book) == {
        "name": "book",
        "description": "Book a room.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "where to"},
                "nights": {"type": "integer", "default": 1},
                "price": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
                "board": {"enum": ["none", "half"], "default": "none"},
                "guests": {"type": "array", "items": {"type": "string"}, "default": []},
                "extras": {
                    "type": "object",
                    "additionalProperties": {"type": "boolean"},
                    "default": {},
                },
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    }


def no_docstring(x: int) -> int:
    return x


def no_type(x) -> None:  # type: ignore[no-untyped-def]
    """Do it."""


def a_strange_type(x: set[int]) -> None:
    """Do it."""


def any_number(*x: int) -> None:
    """Do it."""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_docstring, "has no docstring"),
        (no_type, "has no type"),
        (a_strange_type, "has the type"),
        (any_number, "plain parameter"),
    ],
)
def test_a_function_that_is_no_tool(function: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        schema_of(function)


class Faulty(Toolkit):
    """A toolkit with faults of its own."""

    name = "faulty"

    def initial(self, rng: np.random.Generator) -> dict[str, Any]:
        return {"items": [1, 2]}

    @tool
    def crash(self, deep: int = 0) -> int:
        """Fail."""
        return 1 // deep

    @tool
    def shout(self, size: int) -> str:
        """Write much."""
        return "x" * size


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("crash", {}, "ZeroDivisionError"),
        ("crash", {"deep": "1"}, "is not of type"),
        ("nothing", {}, "there is no tool"),
        ("reset", {}, "there is no tool"),
        ("__init__", {}, "there is no tool"),
        ("shout", {}, "required"),
        ("shout", {"size": 1, "other": 2}, "other"),
    ],
)
def test_every_fault_comes_back_as_text(name: str, arguments: Any, text: str) -> None:
    result = Faulty().run(name, arguments)
    assert not result.ok
    assert result.text.startswith("Error: ")
    assert text in result.text


def test_a_long_result_is_cut_and_said_to_be() -> None:
    text = Faulty().run("shout", {"size": 10_000}).text
    assert text.startswith("x" * 4000 + "\n... (6000 more")
    assert len(text) < 4100


# -- every toolkit ----------------------------------------------------------------------------


UNITS = "9", "(", "-", "2**", "9*", "a/", "../", "x", " ", "%", "SELECT 1;", "\n", "2026-01-01"
LONG = [unit * (100_000 // len(unit)) for unit in (*UNITS, "\ud800")]
STATEMENTS = [
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "SELECT count(*) FROM employees a, employees b, employees c, employees d, employees e",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT group_concat(hex(zeroblob(1000))) FROM n",
    "SELECT " + "replace(" * 90 + "hex(zeroblob(500))" + ", '0', 'aaaaaaaaaaaaaaaa')" * 90,
    "SELECT printf('%3900d', 1) LIKE '%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%b'",
    "SELECT printf('%.3900c', 'a') GLOB '*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b'",
]


def worst_calls(kit: Toolkit) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls whose arguments are as long, or ask for as much, as they can."""
    for schema in kit.schemas():
        properties = schema["parameters"]["properties"]
        for value in [*LONG, *STATEMENTS, 10**18, -(10**18), 10**4000, 1e308]:
            yield schema["name"], dict.fromkeys(properties, value)


@pytest.mark.parametrize("name", sorted(set(TOOLKITS) - {"python"}))
def test_a_call_does_a_bounded_amount_of_work(name: str) -> None:
    """Ours have no clock: what a call may take is bounded in steps, whatever it is given."""
    kit = fresh(name)
    assert kit.call_s is None
    for schema in kit.schemas():
        kit.run(schema["name"], {})  # what is made once is made before
    for call in worst_calls(kit):
        lines = 0

        def count(frame: Any, event: str, argument: Any) -> Any:
            nonlocal lines
            lines += event == "line"
            return count

        outer = sys.gettrace()
        sys.settrace(count)
        try:
            result = kit.run(*call)
        finally:
            sys.settrace(outer)
        assert lines < 20_000, f"{call[0]}: {str(call[1])[:100]}: {result.text[:100]}"
        assert len(result.text) < 5000


@pytest.mark.parametrize("name", sorted(TOOLKITS))
@given(seed=SEED)
def test_the_state_is_a_function_of_the_seed(name: str, seed: int) -> None:
    kit = fresh(name, seed)
    assert kit.state == fresh(name, seed).state
    assert json.loads(json.dumps(kit.state)) == kit.state
    ToolTable(kit.schemas())


WORDS = st.sampled_from(
    ["", "/", "a", "docs", "docs/a", "notes", "../x", "budget", "docs/todo.txt", "1+", "color"]
) | st.text(max_size=5)  # fmt: skip


@st.composite
def some_calls(draw: st.DrawFn) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    name = draw(st.sampled_from(sorted(TOOLKITS)))
    calls = []
    for schema in draw(st.lists(st.sampled_from(TOOLKITS[name].schemas()), max_size=8)):
        keys = schema["parameters"]["properties"]
        calls.append((schema["name"], {key: draw(WORDS) for key in keys}))
    return name, calls


@given(some_calls(), SEED)
def test_the_same_calls_do_the_same_and_a_refused_one_does_nothing(
    drawn: tuple[str, list[tuple[str, dict[str, Any]]]], seed: int
) -> None:
    name, calls = drawn
    kit, twin = fresh(name, seed), fresh(name, seed)
    start = kit.snapshot()
    for call in calls:
        before = kit.snapshot()
        result = kit.run(*call)
        assert result == twin.run(*call)
        assert result.ok or kit.state == before
    assert kit.state == twin.state
    kit.restore(start)
    assert kit.state == start == fresh(name, seed).state


def test_a_snapshot_is_a_copy() -> None:
    kit = fresh("keyvalue")
    before = kit.snapshot()
    run(kit, "set_value", key="new", value="1")
    assert "new" not in before["entries"]
    assert diff(before, kit.state).keys() == {("entries", "new")}


# -- one by one -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", "7"), ("(1 + 2) * 3", "9"), ("2 ** 3 ** 2", "512"), ("-2 ** 2", "-4"),
        ("2 ** -1", "0.5"), ("6 / 3", "2"), ("7 / 2", "3.5"), ("7 // 2", "3"), ("-7 % 3", "2"),
        ("sqrt(16)", "4.0"), ("max(1, 2, 3.5)", "3.5"), ("2 ^ 10", "1024"), (".5 + 1.", "1.5"),
        ("10 - 2 - 3", "5"), ("round(2.567, 1)", "2.6"), ("--3", "3"),
    ],
)  # fmt: skip
def test_the_calculator_is_right(expression: str, value: str) -> None:
    assert run(fresh("calculator"), "calculate", expression=expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "", "1 +", "(1", "1)", "1 2", "x", "1 / 0", "9 ** 9 ** 9", "10 ** 10 ** 10 ** 10",
        "sqrt(-1)", "(-8) ** 0.5", "1e400", "1e300 * 1e300", "sqrt()", "sqrt(1, 2)", "abs", "1,2",
        "__import__('os')", "(" * 200 + "1" + ")" * 200, "2**" * 300 + "1", "-" * 2000 + "1",
        "9" * 999 + "*" + "9" * 999, "\u0663 + 1", "max(1, 2" + ", 3" * 400 + ")",
        "(2 ** 4000) * (2 ** 4000)", "1 / 10 ** 400 / 10 ** 400 * 10 ** 1000",
    ],
)  # fmt: skip
def test_the_calculator_refuses(expression: str) -> None:
    assert not fresh("calculator").run("calculate", {"expression": expression}).ok


@given(st.text("0123456789.+-*/%()^e, sqrtmaxgcdflo", max_size=40))
def test_the_calculator_takes_any_text(expression: str) -> None:
    result = fresh("calculator").run("calculate", {"expression": expression})
    assert result.ok or "Error: " in result.text
    assert "Error: RecursionError" not in result.text


def test_the_file_system() -> None:
    kit = fresh("files")
    kit.restore({"files": {"docs": {"a.txt": "one"}, "old": {}}})
    assert run(kit, "list_directory") == '["docs/", "old/"]'
    assert run(kit, "read_file", path="/docs/../docs/./a.txt") == "one"
    run(kit, "write_file", path="docs/b.txt", content="Two")
    run(kit, "make_directory", path="new")
    run(kit, "move", source="docs/a.txt", destination="new/c.txt")
    assert run(kit, "search", text="TWO") == '["docs/b.txt"]'
    run(kit, "delete", path="docs/b.txt")
    run(kit, "delete", path="docs")
    assert kit.state == {"files": {"new": {"c.txt": "one"}, "old": {}}}
    for name, arguments in [
        ("read_file", {"path": "new"}),
        ("read_file", {"path": "new/c.txt/d"}),
        ("write_file", {"path": "new", "content": ""}),
        ("write_file", {"path": "gone/x", "content": ""}),
        ("delete", {"path": "new"}),
        ("delete", {"path": ".."}),
        ("move", {"source": "new", "destination": "new/x"}),
        ("move", {"source": "old", "destination": "new"}),
        ("make_directory", {"path": "old"}),
        ("list_directory", {"path": "new/c.txt"}),
    ]:
        assert not kit.run(name, arguments).ok, name


def test_what_the_toolkits_hold_is_bounded() -> None:
    files, store = fresh("files"), fresh("keyvalue")
    for i in range(1100):
        files.run("write_file", {"path": f"f{i}", "content": "x"})
        store.run("set_value", {"key": f"k{i}", "value": "x"})
        files.run("make_directory", {"path": "/".join(["d"] * (i + 1))})
        if i % 2:
            files.run("move", {"source": "d", "destination": f"e{i}"})
    assert len(files.state["files"]) <= 1000
    assert len(store.state["entries"]) == 1000
    assert not files.run("write_file", {"path": "f0", "content": "x" * 100_000}).ok


# -- the verdict on a change ------------------------------------------------------------------

BEFORE = {"entries": {"a": "1", "b": "2", "c": "3"}}
WANTED = {"entries": {"a": "9", "b": "8", "c": "3"}}


@pytest.mark.parametrize(
    ("after", "score"),
    [
        (WANTED["entries"], 1.0),
        (BEFORE["entries"], 0.0),
        ({"a": "9", "b": "2", "c": "3"}, 0.5),
        ({"a": "9", "b": "7", "c": "3"}, 0.5),
        ({"a": "9", "b": "8", "c": "3", "d": "x"}, 0.5),
        ({"a": "9", "b": "8", "c": "4", "d": "x"}, 0.0),
        ({"a": "9", "b": "8"}, 0.5),
        ({}, 0.0),
        ({"a": "2", "b": "2", "c": "3", "wanted": "a is 9 and b is 8"}, 0.0),
    ],
)
def test_a_change_earns_what_was_wanted_less_what_was_not(after: Any, score: float) -> None:
    assert grade_state(BEFORE, WANTED, {"entries": after}).score == score
    binary = grade_state(BEFORE, WANTED, {"entries": after}, partial_credit=False)
    assert binary.score == float(score == 1.0)


def test_where_nothing_is_to_be_changed() -> None:
    assert grade_state(BEFORE, BEFORE, BEFORE).score == 1.0
    assert grade_state(BEFORE, BEFORE, WANTED).score == 0.0


STATES = st.recursive(
    st.sampled_from([0, 1, True, "a", None]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
).map(lambda inner: {"state": inner})


@given(STATES, STATES, STATES)
def test_full_marks_for_exactly_the_wanted_state(before: Any, wanted: Any, after: Any) -> None:
    reward = grade_state(before, wanted, after)
    assert reward.score is not None
    assert (reward.score == 1.0) == (not diff(wanted, after))
    assert (reward.score == 1.0) == (
        grade_state(before, wanted, after, partial_credit=False).score == 1
    )
    assert grade_state(before, wanted, before).score == (0.0 if diff(before, wanted) else 1.0)
    assert not diff(after, after)
