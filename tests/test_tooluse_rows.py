"""Rows of data sets: BFCL's, of one turn and of several, calls, and states."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mint_envs
from mint_envs import Reward
from mint_envs.errors import DatasetError, SettingError
from mint_envs.testing import check_task
from mint_envs.tooluse import FORMATS, ToolUseTask, write_calls
from mint_envs.tooluse.bfcl import Instances, grade_turns, read_turns
from mint_envs.tooluse.rows import CallProblem, exact_call

pytestmark = pytest.mark.quick

DATA = Path(__file__).parent / "data"
BFCL = [json.loads(line) for line in (DATA / "bfcl_verdicts.jsonl").read_text().splitlines()]

ADD = {
    "name": "add",
    "description": "Add two numbers.",
    "parameters": {
        "type": "dict",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
}
SINGLE = {
    "id": "simple_0",
    "question": [[{"role": "user", "content": "What is 3 plus 4?"}]],
    "function": [ADD],
    "ground_truth": [{"add": {"a": [3], "b": [4, ""]}}],
}
NONE_FITS = {key: SINGLE[key] for key in ("question", "function")} | {"id": "irrelevance_0"}
OWN = {
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "3 + 4?"}],
    "tools": [{"type": "function", "function": ADD}],
    "calls": [{"name": "add", "arguments": {"a": 3, "b": 4}}],
}
XLAM = {"query": "3 + 4?", "tools": json.dumps([ADD]), "answers": json.dumps(OWN["calls"])}
STATE = {
    "prompt": "Make b what a is, and tell it.",
    "toolkits": ["keyvalue"],
    "state": {"keyvalue": {"entries": {"a": "7"}}},
    "wanted_state": {"keyvalue": {"entries": {"a": "7", "b": "7"}}},
    "answer": 7,
    "calls": [
        {"name": "get_value", "arguments": {"key": "a"}},
        {"name": "set_value", "arguments": {"key": "b", "value": "7"}},
    ],
}


def task_of(tmp_path: Path, *rows: Any, **settings: Any) -> ToolUseTask:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return ToolUseTask(dataset=str(path), **settings)


def respond(task: ToolUseTask, *texts: str, index: int = 0) -> Reward:
    episode = task.start(task.problem(index))
    for text in texts:
        reply = episode.respond(text)
        if isinstance(reply, Reward):
            return reply
    raise AssertionError("the episode does not end")


#: Not the row where no tool fits: there every answer in words is right, so the kit says gameable.
@pytest.mark.parametrize("row", [SINGLE, OWN, XLAM, STATE], ids=["bfcl", "own", "xlam", "state"])
def test_every_form_keeps_the_contract(tmp_path: Path, row: Any) -> None:
    check_task(task_of(tmp_path, row), problems=1, max_examples=20, other_process=False)


@pytest.mark.parametrize("row", [SINGLE, OWN, XLAM], ids=["bfcl", "own", "xlam"])
@pytest.mark.parametrize("format", FORMATS)
def test_the_calls_that_were_wanted_are_paid(tmp_path: Path, row: Any, format: str) -> None:
    task = task_of(tmp_path, row, format=format)
    right = write_calls([("add", {"a": 3, "b": 4})], format)
    wrong = write_calls([("add", {"a": 3, "b": 5})], format)
    assert respond(task, right).score == 1.0
    assert respond(task, wrong).score == pytest.approx(0.7)
    assert respond(task, "It is 7.").score == 0.0
    assert next(iter(task.examples(task.problem(0)).values())) == 1.0
    assert respond(task_of(tmp_path, row, format=format, partial_credit=False), wrong).score == 0.0


def test_where_no_tool_fits_answering_is_right(tmp_path: Path) -> None:
    task = task_of(tmp_path, NONE_FITS)
    assert respond(task, "I cannot do that.").score == 1.0
    assert respond(task, "").score == respond(task, "<think>hm</think> ").score == 0.0
    assert respond(task, write_calls([("add", {"a": 3, "b": 4})])).score == 0.0
    assert respond(task, "<tool_call>{bad</tool_call>").score == 0.0


def test_the_prompt_has_the_tools_and_the_rows_own_messages(tmp_path: Path) -> None:
    task = task_of(tmp_path, OWN)
    system, user = task.prompt(task.problem(0))
    assert "Add two numbers." in system["content"]
    assert system["content"].endswith("\n\nBe brief.")
    assert user == {"role": "user", "content": "3 + 4?"}
    assert task.problem_id(task_of(tmp_path, SINGLE).problem(0)) == "simple_0"


def test_a_state_is_reached_over_several_turns(tmp_path: Path) -> None:
    task = task_of(tmp_path, STATE)
    copy = write_calls([("get_value", {"key": "a"}), ("set_value", {"key": "b", "value": "7"})])
    assert respond(task, copy, "Answer: 7").score == 1.0
    assert respond(task, copy, "Answer: 8").score == 0.0
    assert respond(task, "Answer: 7").score == 0.0
    other = write_calls([("set_value", {"key": "c", "value": "1"})])
    assert respond(task, copy, other, "Answer: 7").score == 0.0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"x": 1}, "none of the fields"),
        ({**OWN, "tools": [{"parameters": {}}]}, "is no tool"),
        ({**OWN, "tools": "x"}, "tools must be a list"),
        ({**OWN, "tools": [ADD, ADD]}, "stands twice"),
        ({**OWN, "calls": [3]}, "is no call"),
        ({**OWN, "messages": []}, "messages with role and content"),
        ({**OWN, "messages": [{"role": "user"}]}, "messages with role and content"),
        ({**SINGLE, "ground_truth": None}, "write calls=\\[\\]"),
        ({**STATE, "toolkits": ["x"]}, "'x' is none of"),
        ({**STATE, "wanted_state": {"files": {}}}, "none of toolkits"),
        ({**STATE, "wanted_state": [1]}, "not an object"),
        (
            {**STATE, "wanted_state": {"keyvalue": {"a": "7"}}},
            "wanted_state.keyvalue lacks entries",
        ),
        ({**STATE, "state": {"keyvalue": {}}}, "state.keyvalue lacks entries"),
        ({"wanted_state": {}, "prompt": "x"}, "no field 'toolkits'"),
        ({"involved_classes": ["X"], "initial_config": {}}, "'X' is none of"),
    ],
)
@pytest.mark.parametrize("split", ["all", "train"])
def test_a_broken_row_is_named_by_its_line(
    tmp_path: Path, row: Any, message: str, split: str
) -> None:
    """Whatever the split: also when rows before it went to another one, or lines are empty."""
    path = tmp_path / "rows.jsonl.gz"
    lines = [json.dumps({**OWN, "id": str(i)}) for i in range(30)]
    number = next(n for n in range(20, 40) if split == "all" or not held_out({**row, "id": n}))
    lines += ["", json.dumps({**row, "id": number})]
    with gzip.open(path, "wt") as file:
        file.write("\n".join(lines))
    with pytest.raises(DatasetError, match=f"^line 32 of '{path}': .*{message}"):
        ToolUseTask(dataset=str(path), split=split)


def held_out(row: Any) -> bool:
    from mint_envs.datasets import held_out

    return held_out(json.dumps(row, sort_keys=True, default=str))


# -- BFCL -----------------------------------------------------------------------------------------


def test_gold_calls_of_bfcl_are_paid_in_full() -> None:
    """The wanted calls, written in the message of a model and graded as such."""
    task = ToolUseTask()
    seen = 0
    for row in BFCL:
        if row["kind"] == "gold_full" and row["valid"]:
            problem = CallProblem(
                row["id"],
                ({"role": "user", "content": "x"},),
                tuple(row["tools"]),
                tuple(row["wanted"]),
            )
            text = task.framing.calls([exact_call(call) for call in row["wanted"]])
            reward = problem.start(task).respond(text)
            assert isinstance(reward, Reward)
            assert reward.score == 1.0, row["id"]
            seen += 1
    assert seen > 5


@pytest.mark.parametrize("row", BFCL, ids=lambda row: f"{row['kind']}-{row['id']}")
def test_messages_are_paid_in_full_where_bfcl_finds_them_valid(row: dict[str, Any]) -> None:
    """The same verdicts as of the bare calls: what does not fit a schema is graded all the same."""
    task = ToolUseTask()
    problem = CallProblem(row["id"], (), tuple(row["tools"]), tuple(row["wanted"]))
    text = write_calls([(call["name"], call["arguments"]) for call in row["made"]]) or "No."
    reward = problem.start(task).respond(text)
    assert isinstance(reward, Reward)
    assert (reward.score == 1.0) == row["valid"]


TURNS = {
    "id": "multi_turn_base_x",
    "question": [[{"role": "user", "content": "Add them."}], [{"role": "user", "content": "Go."}]],
    "involved_classes": ["Adder"],
    "initial_config": {"Adder": {"total": 5}},
    "missed_function": {"1": ["clear"]},
    "ground_truth": [["add(3, amount=4)"], ["clear()"]],
}
ADDER = """
class Adder:
    def _load_scenario(self, scenario, long_context=False):
        self.total, self._secret, self.long = scenario["total"], object(), long_context

    def add(self, first, amount=1):
        self.total += first + amount
        return {"total": self.total}

    def clear(self):
        self.total = 0

    def put(self, total):
        self.total = total
        return "put"

    def power(self, base, exponent):
        return base**exponent
"""
DOCS = [
    {"name": "add", "description": "Add.", "parameters": {"type": "dict", "properties": {
        "first": {"type": "integer"}, "amount": {"type": "integer"}}, "required": ["first"]}},
    {"name": "clear", "description": "Clear.", "parameters": {"type": "dict", "properties": {}}},
    {"name": "power", "description": "Power.", "parameters": {"type": "dict", "properties": {
        "base": {"type": "integer"}, "exponent": {"type": "integer"}}}, "response": {}},
]  # fmt: skip


@pytest.fixture
def adder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of the shape of BFCL's, with one small class."""
    from mint_envs.tooluse import bfcl

    for folder in ("small_bfcl/data/multi_turn_func_doc", "small_bfcl/code"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "small_bfcl/__init__.py").write_text("")
    (tmp_path / "small_bfcl/code/__init__.py").write_text("")
    (tmp_path / "small_bfcl/code/adder.py").write_text(ADDER)
    docs = tmp_path / "small_bfcl/data/multi_turn_func_doc/adder.json"
    docs.write_text("\n".join(map(json.dumps, DOCS)))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(bfcl, "PACKAGE", "small_bfcl")
    monkeypatch.setattr(bfcl, "CODE", "code")
    monkeypatch.setattr(bfcl, "_FILES", {"Adder": "adder"})
    bfcl._docs.cache_clear()


@pytest.mark.usefixtures("adder")
def test_turns_are_run_and_judged_one_by_one(tmp_path: Path) -> None:
    task = task_of(tmp_path, TURNS)
    check_task(task, problems=1, max_examples=20, other_process=False)
    system = task.prompt(task.problem(0))[0]["content"]  # type: ignore[index]
    assert '"add"' in system
    assert '"clear"' not in system
    assert "response" not in system
    episode = task.start(task.problem(0))
    add = write_calls([("add", {"first": 3, "amount": 4})])
    assert episode.respond(add)[0]["content"] == (  # type: ignore[index]
        '<tool_response>\n{"total": 12}\n</tool_response>'
    )
    more = episode.respond("Done.")
    assert '"clear"' in more[0]["content"]  # type: ignore[index]
    assert more[1]["content"] == "Go."  # type: ignore[index]
    assert not isinstance(episode.respond(write_calls([("clear", {})])), Reward)
    reward = episode.respond("Done.")
    assert isinstance(reward, Reward)
    assert (reward.score, reward.metadata["fault"]) == (1.0, "")


@pytest.mark.usefixtures("adder")
@pytest.mark.parametrize(
    ("turns", "score", "fault"),
    [
        ([["add(3, 4)"], ["clear()"]], 1.0, ""),
        ([["add(3, 4)", "nothing(1)", "power(2, 3)"], ["clear()"]], 1.0, ""),
        ([["add(3, 4)"], [{"name": "clear"}]], 1.0, ""),
        ([["add(3, 4)"], []], 0.5, "no call"),
        ([["add(4, 4)"], ["clear()"]], 0.0, "state"),
        ([["add(3, 3)", "add(0, 1)"], ["clear()"]], 1.0, ""),
        ([["put(12)"], ["clear()"]], 0.0, "results"),
        ([["add(3, 4)"], ["put(0)"]], 0.5, "results"),
    ],
)
def test_turns_by_bfcls_rules(turns: Any, score: float, fault: str) -> None:
    from mint_envs.tooluse import grade_turns

    reward = grade_turns(TURNS, turns)
    assert (reward.score, reward.metadata["fault"]) == (score, fault)
    assert grade_turns(TURNS, turns, partial_credit=False).score == float(score == 1.0)


@pytest.mark.usefixtures("adder")
def test_a_turn_that_takes_more_calls_than_the_limits_is_played(tmp_path: Path) -> None:
    row = {**TURNS, "ground_truth": [["add(1)"] * 20, ["clear()"]]}
    task = task_of(tmp_path, row)
    assert (task.max_turns, task.max_tool_calls) == (8, 16)
    episode = task.start(task.problem(0))
    texts, score = next(iter(task.examples(task.problem(0)).items()))
    for text in texts:
        reply = episode.respond(text)
    assert isinstance(reply, Reward)
    assert reply.score == score == 1.0


@pytest.mark.usefixtures("adder")
def test_a_call_that_would_take_for_ever_is_refused() -> None:
    from mint_envs.tooluse.bfcl import Instances

    kit = Instances(["Adder"], TURNS["initial_config"])  # type: ignore[arg-type]
    assert kit.run("power", {"base": 2, "exponent": 10}) == "1024"
    assert "too large" in kit.run("power", {"base": 9, "exponent": 10**9})
    assert "too large" in kit.run("power", {"base": 10**400, "exponent": 999})
    assert "too large" in kit.run("add", {"first": [{"x": 10**16}]})
    assert "unexpected keyword" in kit.run("add", {"x": 1})


@pytest.mark.usefixtures("adder")
@pytest.mark.parametrize(
    "call", ["add(", "add(open('x'))", "add.x(1)", "add(1, 2, 3)", "(lambda: 1)()", "x" * 10**5]
)
def test_a_call_is_read_and_never_run(call: str) -> None:
    from mint_envs.tooluse import grade_turns

    with pytest.raises(SettingError, match=r"is no call|too many arguments"):
        grade_turns(TURNS, [[call], []])


def test_without_bfcls_classes_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mint_envs.tooluse import bfcl

    monkeypatch.setattr(bfcl, "PACKAGE", "no_such_package")
    row = {**TURNS, "involved_classes": ["MathAPI"]}
    with pytest.raises(DatasetError, match="pip install --no-deps bfcl-eval"):
        task_of(tmp_path, row)


def test_rows_train_like_any_problem(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({**OWN, "id": str(i)}) + "\n" for i in range(30)))
    env = mint_envs.make("mint/ToolUse-v0", dataset=str(path), split="train")
    codec: Any = env.unwrapped.codec  # type: ignore[attr-defined]
    _, info = env.reset(seed=3)
    act = codec.encode_response(write_calls([("add", {"a": 3, "b": 4})]))
    _, reward, terminated, _, info = env.step(np.array([*act, codec.eos_token_id]))
    assert (reward, terminated) == (1.0, True)
    assert info["parts"] == {"name": 1.0, "arguments": 1.0, "values": 1.0}


# -- BFCL's other categories ----------------------------------------------------------------------

JAVA_ROW = {
    "id": "simple_java_7",
    "question": [[{"role": "user", "content": "Limit it to five."}]],
    "function": [
        {
            "name": "Query.limit",
            "description": "Limits a query.",
            "parameters": {
                "type": "dict",
                "properties": {
                    "most": {"type": "long", "description": "Rows."},
                    "names": {"type": "ArrayList", "items": {"type": "String"}, "description": "?"},
                },
                "required": ["most", "names"],
            },
        }
    ],
    "ground_truth": [{"Query.limit": {"most": [5], "names": [["a", "b"]]}}],
}


def test_a_row_in_java_is_run_as_it_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(JAVA_ROW))
    task = ToolUseTask(dataset=str(path))
    check_task(task)
    problem = task.problem(0)
    assert "Java source text of type long" in task.prompt(problem)[0]["content"]  # type: ignore[index]
    right = {"most": "5L", "names": 'new ArrayList<>(Arrays.asList("a", "b"))'}
    for arguments, score in ((right, 1.0), ({"most": 5, "names": ["a", "b"]}, 0.0)):
        found = task.start(problem).respond(write_calls([("Query.limit", arguments)]))
        assert isinstance(found, Reward)
        assert found.score == score


@pytest.mark.parametrize(
    ("id", "why"),
    [
        ("memory_0-customer-0", "a memory that earlier"),
        ("web_search_3", "the live web"),
        ("live_relevance_1", "any call is right"),
        ("format_sensitivity_0", "in other formats"),
    ],
)
def test_categories_that_cannot_be_run_are_refused_by_name(
    id: str, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**JAVA_ROW, "id": id, "involved_classes": ["X"]}))
    with pytest.raises(DatasetError, match=f"BFCL's category '[a-z_]+': .*{why}"):
        ToolUseTask(dataset=str(path))


@pytest.mark.usefixtures("adder")
@pytest.mark.parametrize("category", ["base", "long_context"])
def test_a_row_of_long_context_is_filled_up(category: str) -> None:
    long = category == "long_context"
    row = {**TURNS, "id": f"multi_turn_{category}_0"}
    made = [["add(3, amount=4)"], ["clear()"]]
    problem = read_turns(row)
    assert problem.long_context == long
    instances = Instances(problem.classes, problem.config, problem.long_context)
    assert instances.state()[0]["long"] == long
    reward = grade_turns(row, made)
    assert reward.score == 1.0
    assert [turn["turn"] for turn in reward.metadata["turn_rewards"]] == [0, 1]


@pytest.mark.usefixtures("adder")
def test_rewards_by_turn_are_never_more_than_the_reward() -> None:
    half = grade_turns(TURNS, [["add(3, amount=4)"], []])
    assert half.metadata["turn_rewards"] == [{"turn": 0, "part": "turns", "value": 0.5}]
    none = grade_turns(TURNS, [["add(3, amount=4)"], []], partial_credit=False)
    assert none.metadata["turn_rewards"] == []
    for count in range(1, 120):
        row = {
            **TURNS,
            "question": [TURNS["question"][0]] * count,
            "ground_truth": [["clear()"]] * count,
        }
        reward = grade_turns(row, [["clear()"]] * count)
        assert reward.score == 1.0
        assert 1.0 - 1e-6 < sum(turn["value"] for turn in reward.metadata["turn_rewards"]) <= 1.0
