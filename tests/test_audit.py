"""``mint-envs audit`` finds what is wrong with problems, and leaves good ones alone."""

from __future__ import annotations

import ast
import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from mint_envs.audit.audit import AuditOptions, audit, drop_lines
from mint_envs.audit.audit_code import CodeSettings, _equal
from mint_envs.audit.audited import Audited
from mint_envs.audit.duplicates import twins
from mint_envs.audit.prompts import examples_in
from mint_envs.cli import main
from mint_envs.code.plan import make_plan
from mint_envs.code.tasks import CodeTask
from mint_envs.errors import DatasetError, SettingError
from mint_envs.math.tasks import MathTask
from mint_envs.responses.inputs import SampleCall, calls_of, like
from mint_envs.responses.mutants import mutants
from mint_envs.tooluse.tasks import ToolUseTask

CLAMP = """def clamp(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x
"""
STRONG = [["clamp(5, 1, 9)", 5], ["clamp(0, 1, 9)", 1], ["clamp(12, 1, 9)", 9],
          ["clamp(1, 1, 9)", 1], ["clamp(9, 1, 9)", 9]]  # fmt: skip


def code(question: str, tests: Any, reference: str, **more: Any) -> dict[str, Any]:
    return {"question": question, "tests": tests, "reference": reference, **more}


ROWS = [
    code("Write `clamp(x, low, high)`, which keeps x from low to high.", STRONG, CLAMP),
    code("Write `larger(a, b)`, the larger of two numbers.", [["larger(1, 2)", 2],
         ["larger(2, 2)", 2]], "def larger(a, b):\n    return a if a > b else b\n"),
    code("Write `half(x)`, x divided by two.", [["half(4)", 2.0]],
         "def half(x):\n    return x / 3\n"),
    code("Write `double(x)`.\n>>> double(4)\n9", [["double(2)", 4], ["double(5)", 10],
         ["double(0)", 0]], "def double(x):\n    return x + x\n", name="double"),
    code("Write `pick(n)`.", [["pick(3)", True]],
         "import random\ndef pick(n):\n    return random.random() < 0.5\n"),
    code("Write `slow(n)`, the sum below n.", [["slow(3)", 3]],
         "import time\ndef slow(n):\n    while time.process_time() < 0.7:\n        pass\n"
         "    return sum(range(n))\n"),
    code("Write `nothing(x)`.", [["nothing(1)", 1]], ""),
    code("Write `clamp(x, low, high)`, which keeps x from low to high.", STRONG, CLAMP),
]  # fmt: skip


def written(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Audited]:
    path = written(tmp_path_factory.mktemp("audit") / "code.jsonl", ROWS)
    return audit(path, AuditOptions(code=CodeSettings(sandbox_timeout_s=1.0)))


def test_a_reference_that_lacks_memory_is_named(tmp_path: Path) -> None:
    solution = "def f(n):\n    return len(bytes(n << 30)) >> 30"
    row = {"question": "Return n.", "tests": [["f(2)", 2]], "solution": solution}
    few = AuditOptions(code=CodeSettings(mutants=1, inputs=0))
    lacking = audit(written(tmp_path / "one.jsonl", [row]), few)[0]
    assert lacking.kinds == ["reference fails"]
    assert "memory_limit" in str(lacking.findings[0])
    enough = audit(written(tmp_path / "two.jsonl", [{**row, "memory_limit": 4096}]), few)[0]
    assert "reference fails" not in enough.kinds


def test_a_reference_that_lacks_time_is_told_the_limit_of_its_row(tmp_path: Path) -> None:
    row = {"question": "Return n.", "tests": [["f(2)", 2]],
           "solution": "def f(n):\n    while n: pass"}  # fmt: skip
    few = AuditOptions(code=CodeSettings(mutants=1, inputs=0))
    lacking = audit(written(tmp_path / "one.jsonl", [{**row, "time_limit": 0.1}]), few)[0]
    assert lacking.kinds == ["reference fails", "near the time limit"]
    assert "0.1 s; rows of our form can say time_limit" in str(lacking.findings[0])
    assert "of 0.1 s" in str(lacking.findings[1])


def test_each_fault_of_code_is_found(found: list[Audited]) -> None:
    clamp, larger, half, double, pick, slow, nothing, again = found
    assert clamp.kinds == []
    assert (clamp.killed, clamp.equivalent, clamp.survived) == (4, 2, 0)
    assert larger.kinds == ["weak tests"]
    assert half.kinds == ["reference fails"]
    assert double.kinds == ["contradicts the prompt"]
    assert pick.kinds == ["flaky"]
    assert "near the time limit" in slow.kinds
    assert nothing.kinds == ["no reference"]
    assert again.kinds == ["duplicate"]
    assert [one.drop for one in found] == [False, True, True, True, True, True, False, True]


def test_the_mutant_that_passes_is_shown(found: list[Audited]) -> None:
    shows = found[1].findings[0].shows
    names: dict[str, Any] = {}
    exec(shows["program"], names)  # a mutant of the text above
    assert repr(eval(shows["call"], names)) == shows["got"] != shows["wanted"]


def test_the_list_of_problems_to_drop_is_a_filter(found: list[Audited], tmp_path: Path) -> None:
    rows = written(tmp_path / "code.jsonl", ROWS)
    drop = tmp_path / "drop.jsonl"
    drop.write_text("".join(drop_lines(found)), encoding="utf-8")
    for style in ("completion", "chat"):
        task = CodeTask(dataset=rows, drop=str(drop), style=style)
        assert [p.question for p in task.rows or ()] == [ROWS[0]["question"], ROWS[6]["question"]]


def test_a_filter_that_names_nothing_is_a_mistake(tmp_path: Path) -> None:
    rows = written(tmp_path / "code.jsonl", ROWS)
    for text, says in [
        ('{"problem_id": "00"}\n', "none is in the data set"),
        ('{"x": 1}\n', "row 1"),
        ('{"problem_id": "00", "keep": "all"}\n', "row 1.*keep='all'"),
        ('{"problem_id": "00", "keep": -1}\n', "row 1.*keep=-1"),
    ]:
        drop = tmp_path / "drop.jsonl"
        drop.write_text(text, encoding="utf-8")
        with pytest.raises(DatasetError, match=says):
            CodeTask(dataset=rows, drop=str(drop))
    with pytest.raises(DatasetError):
        CodeTask(dataset=rows, drop=str(tmp_path / "missing.jsonl"))
    with pytest.raises(SettingError, match="needs dataset"):
        CodeTask(drop=str(drop))


def test_an_audit_goes_on_after_a_kill(tmp_path: Path) -> None:
    rows = written(tmp_path / "code.jsonl", [ROWS[0], ROWS[2], ROWS[6]])
    out = tmp_path / "audit.jsonl"
    options = AuditOptions(out=str(out))
    whole = audit(rows, options)
    lines = out.read_text(encoding="utf-8").splitlines(keepends=True)
    out.write_text(lines[0] + lines[1][:40], encoding="utf-8")  # killed while it wrote
    seen: list[int] = []
    again = audit(rows, options, lambda what, done, total: seen.append(done))
    assert [one.to_json() for one in again] == [one.to_json() for one in whole]
    assert out.read_text(encoding="utf-8").splitlines(keepends=True)[0] == lines[0]
    assert len(out.read_text(encoding="utf-8").splitlines()) == 3
    with pytest.raises(DatasetError, match="another data set"):
        audit(written(tmp_path / "one.jsonl", ROWS[:1]), options)


def test_the_faults_of_questions_with_answers(tmp_path: Path) -> None:
    rows = [
        {"question": "What is 12 + 30?", "answer": "42"},
        {"question": "What is 12 + 31?", "answer": "44"},
        {"question": "Which line is it?", "answer": "\\frac{1"},
        {"question": "How many are left of ten?", "answer": "He has <<10-3=6>>6 left.\n#### 6"},
        {"question": "What   is 12 + 30?", "answer": "42"},
    ]
    options = AuditOptions(
        test=written(tmp_path / "test.jsonl", [{"question": rows[1]["question"]}])
    )
    found = audit(written(tmp_path / "math.jsonl", rows), options)
    assert [one.kinds for one in found] == [
        [],
        ["contradicts the prompt", "in the test set"],
        ["unreadable answer"],
        ["contradicts the prompt"],
        ["duplicate"],
    ]
    drop = tmp_path / "drop.jsonl"
    drop.write_text("".join(drop_lines(found)), encoding="utf-8")
    with pytest.warns(UserWarning, match="cannot be read"):
        task = MathTask(dataset=str(tmp_path / "math.jsonl"), drop=str(drop))
    assert [problem.question for problem in task.rows or ()] == ["What is 12 + 30?"]


def test_broken_rows_are_all_said_and_the_audit_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"question": "What is 1 + 1?", "answer": "2"}\n'
        "{broken\n"
        '{"question": "What is 1 + 2?", "answer": null}\n'
        "[1]\n"
        '{"question": "What is 1 + 3?"}\n'
        '{"question": "What is 1 + 4?", "answer": "5"}\n',
        encoding="utf-8",
    )
    out = str(tmp_path / "out.jsonl")
    found = audit(str(path), AuditOptions(out=out))
    assert [one.kinds for one in found] == [[], *[["broken row"]] * 4, []]
    told = [one.findings[0].fault for one in found if one.findings]
    assert "line 2 of" in told[0]
    assert "is null" in told[1]
    assert "line 4 of" in told[2]
    assert "none of the fields" in told[3]
    assert "answer_field" in told[3] or "setting" in told[3]
    assert [one.to_json() for one in audit(str(path), AuditOptions(out=out))] == [
        one.to_json() for one in found
    ]
    assert not list(drop_lines(found))  # a row that cannot be read has no id
    clean = tmp_path / "clean.jsonl"
    done = CliRunner().invoke(main, ["audit", str(path), "--write-clean", str(clean)])
    assert done.exit_code == 0, done.output
    assert "--write-clean" in done.output
    task = MathTask(dataset=str(clean))
    assert [problem.answer for problem in task.rows or ()] == ["2", "5"]


def test_the_settings_that_an_audit_advises_are_its_own(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("ask,reply\nWhat is 1 + 1?,2\nWhat is 1 + 2?,3,4\nWhat is 1 + 3?,\n")
    found = audit(str(path))
    assert [one.kinds for one in found] == [["broken row"]] * 3
    settings = {"question_field": "ask", "answer_field": "reply"}
    found = audit(str(path), AuditOptions(settings=settings))
    assert [one.kinds for one in found] == [[], ["broken row"], ["broken row"]]
    words = ["audit", str(path), "--set", "question_field=ask", "--set", "answer_fild=reply"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert "an audit of math has no setting 'answer_fild'. Did you mean 'answer_field'" in (
        done.output
    )
    with pytest.raises(SettingError, match="kind='poems'"):
        audit(str(path), AuditOptions(kind="poems"))


WEATHER = {
    "name": "weather",
    "description": "The weather of a town.",
    "parameters": {
        "type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"],
    },
}  # fmt: skip


def test_rows_of_tool_use(tmp_path: Path) -> None:
    call = {"name": "weather", "arguments": {"town": "Oslo"}}
    rows = [
        {"question": "The weather in Oslo?", "tools": [WEATHER], "calls": [call]},
        {"question": "A poem, please.", "tools": [WEATHER], "calls": []},
        {"question": "The weather in Rome?", "tools": [WEATHER]},
        {"question": "The weather in Oslo?", "tools": [WEATHER], "calls": [call], "row": 4},
        {"tools": [WEATHER], "calls": [call]},
        {"question": "And in Bonn?", "tools": [WEATHER], "calls": ["weather(Bonn)"]},
    ]
    path = written(tmp_path / "calls.jsonl", rows)
    found = audit(path)
    kinds = [one.kinds for one in found]
    assert kinds == [[], [], ["broken row"], ["duplicate"], ["broken row"], ["broken row"]]
    (tmp_path / "drop.jsonl").write_text("".join(drop_lines(found)))
    clean = written(tmp_path / "clean.jsonl", [rows[0], rows[1]])
    assert ToolUseTask(dataset=clean).size == 2


def test_rows_of_chat(tmp_path: Path) -> None:
    kind = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
    rows = [
        {"prompt": "Write of rain, without a comma.", **kind},
        {"prompt": "Write of rain.", "instruction_id_list": ["no:such"], "kwargs": [{}]},
        {"prompt": "Write of snow.", "instruction_id_list": ["punctuation:no_comma"]},
        {"prompt": "Write of rain,  without a comma.", **kind},
        {"prompt": "Write of hail.", "instruction_id_list": None, "kwargs": 1},
    ]
    found = audit(written(tmp_path / "chat.jsonl", rows))
    broken = ["broken row"]
    assert [one.kinds for one in found] == [[], broken, broken, ["duplicate"], broken]


def test_the_command(tmp_path: Path) -> None:
    rows = written(tmp_path / "code.jsonl", [ROWS[0], ROWS[2]])
    names = {flag: str(tmp_path / flag) for flag in ("drop", "json", "html")}
    asked = ["audit", rows, *(part for flag, name in names.items() for part in (f"--{flag}", name))]
    done = CliRunner().invoke(main, [*asked, "--max-drop-rate", "0.4"])
    assert done.exit_code == 1, done.output
    assert "reference fails" in done.output
    assert json.loads(Path(names["json"]).read_text())["numbers"]["to_drop"] == 1.0
    assert len(Path(names["drop"]).read_text().splitlines()) == 1
    assert CliRunner().invoke(main, [*asked, "--max-drop-rate", "0.5"]).exit_code == 0


# -- mutants and inputs ---------------------------------------------------------------------------


def test_mutants_are_other_programs_and_the_same_each_time() -> None:
    made = mutants(CLAMP, 100)
    assert (
        len({mutant.source for mutant in made} | {ast.unparse(ast.parse(CLAMP))}) == len(made) + 1
    )
    assert {"boundary", "branch dropped"} == {mutant.kind for mutant in made}
    assert mutants(CLAMP, 100) == made
    assert len(mutants(CLAMP, 3)) == 3
    for mutant in made:
        ast.parse(mutant.source)


@pytest.mark.parametrize(
    ("source", "kind", "after"),
    [
        ("x = a + b", "operator", "x = a - b"),
        ("x = a and b", "condition dropped", "x = a"),
        ("x = 3", "off by one", "x = 4"),
        ("x = not a", "operator", "x = a"),
        ("x = range(n)", "off by one", "x = range(n - 1)"),
        ("x = a[1:n]", "boundary", "x = a[1:]"),
        ("x = min(a)", "call", "x = max(a)"),
        ("x = sorted(a)", "call dropped", "x = a"),
        ("x = [i for i in a if i]", "condition dropped", "x = [i for i in a]"),
        ("x = a if b else c", "branch dropped", "x = c"),
        ("x += 1", "statement dropped", "pass"),
        ("while a:\n    break", "statement dropped", "while a:\n    pass"),
    ],
)
def test_every_kind_of_change(source: str, kind: str, after: str) -> None:
    assert (kind, after) in {(mutant.kind, mutant.source) for mutant in mutants(source)}


@pytest.mark.parametrize(
    "text", ["", "def", "\x00", "(" * 5000, "def f():\n    '''1 < 2'''", "def f(x: int = 0): ..."]
)
def test_any_text_has_mutants_or_none(text: str) -> None:
    assert all("1 < 2" in m.source or "'''" not in text for m in mutants(text))


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 9), min_size=1).map(sorted), st.integers(2, 50)),
        min_size=2,
    ),
    st.integers(0, 5),
)
def test_new_inputs_keep_what_the_tests_share(rows: list[tuple[list[int], int]], seed: int) -> None:
    least = min(n for _, n in rows)
    for call in like([SampleCall("f", row) for row in rows], 20, seed):
        items, n = call.arguments
        assert n >= least
        assert items == sorted(items) != []
        assert call.text not in {SampleCall("f", row).text for row in rows}


@settings(max_examples=30)
@given(st.lists(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
       lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner)),
       min_size=1, max_size=4))  # fmt: skip
def test_inputs_of_any_plain_values(values: list[Any]) -> None:
    for call in like([SampleCall("f", (value,)) for value in values], 10):
        assert isinstance(call.text, str)


def test_calls_are_read_from_any_tests() -> None:
    pairs = make_plan([("f(1, [2])", 3), ("len(f(2, []))", 1)])
    assert [call.text for call in calls_of(pairs)] == ["f(1, [2])", "f(2, [])"]
    check = "def check(candidate):\n    assert abs(candidate(2) - 1) < len('ab')\n"
    plan = make_plan({"code": check, "entry_point": "g"})
    assert [call.text for call in calls_of(plan, "g")] == ["g(2)"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (">>> f(1)\n2", [("f(1)", 2)]),
        ("f([1, 2]) == 3", [("f([1, 2])", 3)]),
        ("f('a)') => 'b'", [("f('a)')", "b")]),
        ("f(x) == 3", []),
        ("def f(1): -> 2", []),
        ("f(1) == ('a')", []),
        ("f(1) = 3", []),
        (">>> g(1)\n2", []),
        ("f(f(1)) == 2", []),
        ("f(1", []),
    ],
)
def test_examples_of_a_prompt(line: str, found: list[Any]) -> None:
    assert examples_in(line, "f") == found


@pytest.mark.parametrize(
    ("one", "two", "equal"),
    [
        (3, ["f", (3.0).hex()], True),
        (["l", [1]], ["t", [1]], False),
        (["l", [1, 2]], ["l", [1]], False),
        (["f", (0.1 + 0.2).hex()], ["f", (0.3).hex()], True),
        (["s", [1, 2]], ["s", [2, 1]], True),
        ("1", 1, False),
        (None, 0, False),
    ],
)
def test_values_that_are_the_same(one: Any, two: Any, equal: bool) -> None:
    assert _equal(one, two) is equal


# -- duplicates ------------------------------------------------------------------------------------


def test_repeats_and_near_repeats() -> None:
    long = "Write a function that returns the sum of all even numbers in a list of whole numbers"
    texts = ["What is 2 + 3?", long, "what is  2 + 3?", "What is 2 + 4?", f"{long}, please"]
    found = {(t.later, t.earlier): t.likeness for t in twins(texts)}
    assert found.keys() == {(2, 0), (4, 1)}
    assert found[2, 0] == 1.0 > found[4, 1]


def test_half_characters_are_compared_too() -> None:
    texts = ["one \ud800 two three four", "one \ud800 two three four", "\udfff"]
    assert [(twin.later, twin.likeness) for twin in twins(texts)] == [(1, 1.0)]


def test_a_very_long_reference_has_mutants_in_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda *a, **k: (parsed.append(1), parse(*a, **k))[1])
    program = "x = 1\n" * 3000 + "def f(a):\n    return a + 1\n"
    assert len(mutants(program, most=20)) == 20
    assert len(parsed) < 100


def test_near_repeats_are_found_among_many() -> None:
    rng = random.Random(0)
    words = [f"w{i}" for i in range(400)]
    texts = [" ".join(rng.choices(words, k=60)) for _ in range(1000)]
    near = [text.replace(text.split(" ")[30], "other", 1) for text in texts[:200]]
    found = {(twin.later, twin.earlier) for twin in twins(near, texts)}
    assert len(found) >= 195
    assert all(later == earlier for later, earlier in found)
