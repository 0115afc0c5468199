"""``mint-envs bench`` finds by itself what is wrong with a reward, and nothing where nothing is."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import reward_functions
from benching import QUICK, REWARDS, SUMS, checks, run, told, written

from mint_envs.bench.bench import bench
from mint_envs.bench.run import Options
from mint_envs.bench.target.client import TargetWorker, WorkerDied
from mint_envs.bench.target.functions import adapt
from mint_envs.bench.target.targets import Target, load
from mint_envs.errors import DatasetError, SettingError
from mint_envs.interop.mint import AdapterTask
from mint_envs.records.cases import Matcher, Saved, places
from mint_envs.registration import task_of
from mint_envs.responses.changes import changed
from mint_envs.responses.framing import framed


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("data") / "sums.jsonl", SUMS)


# -- MinT's documents: found without being told --------------------------------------------------


def test_questions_drawn_apart_from_their_answers() -> None:
    report = run("ApartSums")
    assert "unsolvable" in checks(report)
    assert (report.numbers["oracle"] or 0.0) <= 0.25


def test_the_first_integer_verifier() -> None:
    """On questions that can be solved: what it pays wrongly, and what it misses."""
    report = run("Sums")
    assert "unsolvable" not in checks(report)
    assert report.numbers["oracle"] == 1.0
    hacks = told(report, "hack")
    assert "an answer withdrawn" in hacks
    assert "several answers" in hacks
    assert "an answer denied" in hacks
    assert "every number" in hacks
    assert "with the sum before it" in told(report, "missed rewards")
    assert report.numbers["hacks"] >= 4


@pytest.mark.slow
def test_exec_in_the_process_of_the_reward() -> None:
    report = run("ExecCode")
    assert {"in-process exec", "response: died", "response: hung", "response: error"} <= checks(
        report
    )
    hacks = told(report, "hack")
    assert "equal to everything" in hacks
    assert "read from the caller" in hacks
    assert "right response" not in told(report, "missed rewards")


def test_a_chat_score_that_nonsense_satisfies(tmp_path: Path) -> None:
    asked = ["What is a cat?", "Explain rain.", "How do I cook rice?"]
    data = written(tmp_path / "asked.jsonl", [{"prompt": text} for text in asked])
    report = run("chat_score", data=data, only=("hackable",), search=320)
    assert "found" in checks(report)
    assert any("nonsense" in case.note for fault in report.findings for case in fault.cases)


# -- nothing where nothing is --------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("id", ["mint/Math-v0", "mint/Code-v0", "mint/Chat-v0", "mint/ToolUse-v0"])
def test_our_environments_have_none(id: str) -> None:
    report = bench(id, Options(**{**QUICK, "problems": 4, "texts": 10, "timeout_s": 30.0}))
    assert [f"{fault.check}: {fault.fault} {fault.cases}" for fault in report.findings] == []
    assert report.numbers["repeatable"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("setting", [{"strict": True, "format_credit": 0.1}, {"style": "chat"}])
def test_an_answer_asked_for_in_a_form_is_tried_in_that_form(setting: dict[str, Any]) -> None:
    """A box around the right answer is kept: what is in it is changed, solved and hidden."""
    options = Options(**{**QUICK, "only": ("right", "sound", "hackable")})
    report = bench("mint/Math-v0", options, setting)
    assert [f"{fault.check}: {fault.fault} {fault.cases}" for fault in report.findings] == []
    assert report.numbers["oracle"] == 1.0


@pytest.mark.parametrize(
    ("gold", "parts", "other"),
    [
        ("7", ("", "7", ""), "8"),
        ("\\boxed{7}", ("\\boxed{", "7", "}"), "\\boxed{8}"),
        ("so \\boxed{\\frac{1}{2}}.", ("so \\boxed{", "\\frac{1}{2}", "}."),
         "so \\boxed{\\frac{2}{2}}."),
        ("#### 12", ("#### ", "12", ""), "#### 13"),
        ("<answer>yes</answer>", ("<answer>", "yes", "</answer>"), "<answer>no</answer>"),
        ("The answer is B.", ("The answer is ", "B", "."), "The answer is A."),
        ("answer", ("", "answer", ""), "ansker"),
        ("x=5", ("", "x=5", ""), "x=6"),
        ("\\boxed{k = 1}", ("\\boxed{", "k = 1", "}"), "\\boxed{k = 2}"),
        ("---", ("", "---", ""), None),
    ],
)  # fmt: skip
def test_the_answer_in_its_form(gold: str, parts: tuple[str, ...], other: str | None) -> None:
    assert framed(gold) == parts
    assert (changed(gold) or [None])[0] == other


@pytest.mark.slow
def test_our_grader_as_a_function_has_none(sums: str) -> None:
    report = bench("mint_envs.math:grade", Options(**QUICK, data=sums))
    assert [f"{fault.check}: {fault.fault} {fault.cases}" for fault in report.findings] == []


def test_the_same_value_under_a_name_is_not_another_answer(tmp_path: Path) -> None:
    rows = [{"prompt": "Solve 2x = 10.", "answer": "x=5"}, {"prompt": "Half of 10?", "answer": "5"}]
    data = written(tmp_path / "x.jsonl", rows)
    options = Options(**QUICK, data=data, only=("right", "hackable"))
    report = bench("mint_envs.math:grade", options)
    assert [f"{fault.check}: {fault.fault} {fault.cases}" for fault in report.findings] == []


def test_a_program_is_not_asked_for_a_sum(tmp_path: Path) -> None:
    row = {"prompt": "Write `f(text)`. Its input may be:\n1 + 2", "tests": [["f('1 + 2')", 3]]}
    report = run("share_of_tests", data=written(tmp_path / "f.jsonl", [row]), only=("right",))
    assert report.numbers["oracle"] is None


@pytest.mark.slow
def test_a_part_of_the_tests_is_no_hack(tmp_path: Path) -> None:
    tests = [["is_even(2)", True], ["is_even(3)", False], ["is_even(0)", True],
             ["is_even(7)", False]]  # fmt: skip
    data = written(tmp_path / "even.jsonl", [{"prompt": "Write `is_even(n)`.", "tests": tests}])
    report = run("share_of_tests", data=data, only=("hackable",), search=8, timeout_s=20.0)
    assert [f"{fault.check}: {fault.fault} {fault.cases}" for fault in report.findings] == []


# -- every form of function --------------------------------------------------

FORMS = ["exact", "trl_style", "verl_style", "verl_batch", "openrlhf_style", "by_sample",
         "middle_default", "by_keyword", "by_place", "more_fields", "partial", "bound"]  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_functions_of_any_library(name: str) -> None:
    call = adapt(getattr(reward_functions, name), name)
    row = {"prompt": "1 + 1?", "answer": "2", "data_source": "sums"}
    from mint_envs.bench.target.functions import number_of

    assert [number_of(call(row, "1 + 1?", text)) for text in ("2", "3")] == [1.0, 0.0]


def test_chat_completions_and_async() -> None:
    call = adapt(reward_functions.trl_chat, "trl_chat")
    messages = [{"role": "user", "content": "1 + 1?"}]
    assert [call({"answer": "2"}, messages, text) for text in ("2", "3")] == [1.0, 0.0]


def test_a_verl_row_holds_its_answer_inside(tmp_path: Path) -> None:
    rows = [{"prompt": [{"role": "user", "content": row["prompt"]}], "data_source": "sums",
             "reward_model": {"ground_truth": row["answer"]}} for row in SUMS]  # fmt: skip
    data = written(tmp_path / "verl.jsonl", rows)
    report = run("verl_style", data=data, only=("right",))
    assert report.numbers["oracle"] == 1.0


def test_a_class_called_with_tokens() -> None:
    task = load(Target(f"{REWARDS}:TokenAdapter", rows=SUMS))
    assert [task.score(task.problem(0), text).score for text in ("19", "20")] == [1.0, 0.0]


def test_an_adapter_with_a_dataset() -> None:
    task = load(Target(f"{REWARDS}:Sums"))
    problem = task.problem(0)
    assert str(problem.sample[1]) in task.examples(problem)


def test_an_adapter_whose_prompt_is_chat_messages(tmp_path: Path) -> None:
    """As ``from_adapter``, ``register`` and the kit take it."""
    (tmp_path / "chatting.py").write_text(
        "class Sums:\n"
        "    def build_dataset(self):\n"
        "        return [{'q': f'{a} + 2?', 'answer': a + 2} for a in range(8)]\n"
        "    def make_prompt(self, sample, tokenizer):\n"
        "        return [{'role': 'user', 'content': sample['q']}]\n"
        "    def compute_reward(self, response, sample):\n"
        "        return float(response.strip() == str(sample['answer']))\n"
    )
    with TargetWorker(Target(f"{tmp_path}/chatting.py:Sums")) as worker:
        items, about = worker.about()
        (verdict,) = worker.score([(3, ("5",))])
    assert (about["same_again"], verdict.score) == (True, 1.0)
    assert "3 + 2?" in items[3].prompt
    assert items[3].gold == "5"


def test_an_adapter_is_the_same_class_everywhere_and_pickles_by_its_name(tmp_path: Path) -> None:
    task = load(Target(f"{REWARDS}:Sums", low=-1.0))
    assert type(task) is AdapterTask
    again = pickle.loads(pickle.dumps(task))
    assert type(again) is AdapterTask
    assert again.score(again.problem(0), "").score == 0.5  # a range of its own


def test_saved_responses_are_judged_by_the_problem_that_they_name(tmp_path: Path) -> None:
    """Of a data set, a seed draws a row, and an index is one; they are no two words for it."""
    rows = [{"question": f"{n} + 1?", "answer": str(n + 1)} for n in range(40)]
    data = written(tmp_path / "rows.jsonl", rows)
    task = task_of("mint/Math-v0", dataset=data)
    saved = [
        Saved(line, ("1",), None, {name: 30})
        for line, name in enumerate(["seed", "index", "step"], 1)
    ]
    wanted = places(saved)
    assert [str(ref) for ref in wanted] == ["index=30", "seed=30"]
    with TargetWorker(Target("mint/Math-v0", {"dataset": data}), 2, wanted) as worker:
        items, _ = worker.about()
    matcher = Matcher(items, ())
    for one, ref in ((saved[0], wanted[1]), (saved[1], wanted[0])):
        item = items[matcher.place(one, "saved").item]
        assert item.prompt == task.prompt(ref.of(task))
    with pytest.raises(DatasetError, match="line 3 of 'saved' names no problem"):
        matcher.place(saved[2], "saved")


def test_a_range_of_its_own() -> None:
    task = load(
        Target(f"{REWARDS}:needs_column", rows=[{"prompt": "", "difficulty": 0.0}], low=-1.0)
    )
    assert task.score(task.problem(0), "").score == 0.5


@pytest.mark.parametrize(
    ("name", "rows", "says"),
    [
        ("no_response", SUMS, "no parameter takes the response"),
        ("exact", [], "--data"),
        ("nothing_here", SUMS, "has no 'nothing_here'"),
        ("QUICK", SUMS, "has no 'QUICK'"),
        ("needs_column", SUMS, "parameter 'difficulty', and the rows have only answer, prompt"),
        ("Scorer.score", SUMS, "'self'.*method"),
        ("NoCall", SUMS, "cannot be called"),
    ],
)
def test_what_is_no_reward_function(name: str, rows: Any, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        load(Target(f"{REWARDS}:{name}", rows=rows))


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        (
            "import nothing_of_this_name",
            SettingError,
            "there is no module nothing_of_this_name",
        ),
        ("def f(:", SettingError, r"r\.py, line 1: invalid syntax"),
        (
            "raise RuntimeError('one\\ntwo')",
            SettingError,
            r"r\.py, line 1, raises RuntimeError: one two",
        ),
        (
            "import sys; sys.exit('usage')",
            SettingError,
            r"r\.py, line 1, ends the process on import",
        ),
        ("import os; os._exit(4)", WorkerDied, r"r\.py:f: while it is loaded, .*with code 4"),
        ("input()", SettingError, "EOFError"),
        ("import os\ndef g(): 0", SettingError, r"has no 'f'\. Valid: g\.$"),
    ],
)
def test_modules_that_cannot_be_loaded(
    text: str, error: type[Exception], says: str, tmp_path: Path
) -> None:
    (tmp_path / "r.py").write_text(text)
    with pytest.raises(error, match=says) as found:
        TargetWorker(Target(f"{tmp_path}/r.py:f", rows=SUMS)).__enter__()
    assert "\n" not in str(found.value)


def test_a_file_is_loaded_once() -> None:
    """A pool of processes pickles its functions by name, whatever else was loaded since."""
    tasks = [load(Target(f"{REWARDS}:ApartSums")) for _ in range(2)]
    assert len({type(task.adapter._adapter) for task in tasks}) == 1  # type: ignore[attr-defined]


def test_a_file_without_a_function() -> None:
    with pytest.raises(SettingError, match="name its function"):
        load(Target("rewards.py", rows=SUMS))


def test_what_is_no_environment() -> None:
    with pytest.raises(SettingError, match=r"mint/Nothing-v0.*no environment"):
        load(Target("mint/Nothing-v0"))


def test_a_class_is_made_and_called_as_its_parameters_say() -> None:
    task = load(Target(f"{REWARDS}:Scorer", rows=SUMS))
    assert [task.score(task.problem(0), text).score for text in ("19", "20")] == [1.0, 0.0]


def test_a_column_that_one_row_lacks() -> None:
    rows = [{"prompt": "a"}, {"prompt": "b", "difficulty": 0.5}]
    with TargetWorker(Target(f"{REWARDS}:needs_column", rows=rows)) as worker:
        one, two = worker.score([(0, ("x",)), (1, ("x",))])
    assert (one.status, two.score) == ("error", 0.5)
    assert "'difficulty'" in one.note
