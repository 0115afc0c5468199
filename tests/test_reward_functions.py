"""Reward functions and a file of rows as an environment."""

from __future__ import annotations

import gzip
import json
import pickle
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mint_envs
from mint_envs import Reward, Task, from_reward_func
from mint_envs.core import as_reward
from mint_envs.datasets import load_rows
from mint_envs.errors import ContractError, DatasetError, RewardError, SettingError
from mint_envs.problems import play
from mint_envs.testing import check_task

ROWS = [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(1, 21)]


def exact(response: str, answer: str) -> float:
    return float(response.strip() == answer)


def of_trl(prompts: list[Any], completions: list[Any], answer: list[str], **_: Any) -> list[float]:
    return [float(text[0]["content"] == gold) if isinstance(text, list) else float(text == gold)
            for text, gold in zip(completions, answer, strict=True)]  # fmt: skip


def of_verl(data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None) -> Any:
    return {"score": float(solution_str == ground_truth)}


def of_openrlhf(queries: list[str], prompts: list[str], labels: list[str]) -> list[float]:
    return [float(q.removeprefix(p) == gold)
            for q, p, gold in zip(queries, prompts, labels, strict=True)]  # fmt: skip


async def later(completion: str, answer: str) -> bool:
    return completion == answer


def signed(response: str, answer: str) -> float:
    return 1.0 if response == answer else -1.0


def brief(response: str) -> float:
    return max(0.0, 1 - len(response) / 100)


# -- one function, of any library -----------------------------------------------------------------


@pytest.mark.parametrize("function", [exact, of_trl, of_verl, of_openrlhf, later])
def test_functions_of_other_libraries(function: Callable[..., Any]) -> None:
    task = from_reward_func(function, dataset=ROWS, style="completion")
    name = function.__name__
    for problem in map(task.problem, range(3)):
        right = task.score(problem, problem["answer"])
        assert (right.score, right.parts) == (1.0, {name: 1.0})
        assert right.metadata == {"raw": {name: 1.0}}
        assert task.score(problem, "no").score == 0.0


def test_it_keeps_the_contract_and_is_an_environment(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    task = from_reward_func(exact, dataset=str(tmp_path / "rows.jsonl"), style="completion")
    check_task(task, solve=lambda prompt: str(2 * int(prompt.split()[2])))
    mint_envs.register("tests/Doubling-v0", task)
    env = mint_envs.make("tests/Doubling-v0")
    _, info = env.reset(seed=3)
    assert info["prompt"].startswith("What is")
    test = mint_envs.make("tests/Doubling-v0", split="test").unwrapped.task  # type: ignore[attr-defined]
    assert 0 < test.size < task.size


def test_it_goes_to_another_process(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    task = from_reward_func([exact, brief], [3, 1], str(tmp_path / "rows.jsonl"))
    twin = pickle.loads(pickle.dumps(task))
    problem = task.problem(4)
    assert twin.score(problem, "10") == task.score(problem, "10")
    pairs = [(task.problem(i), str(i)) for i in range(8)]
    assert mint_envs.score_batch(task, pairs, executor="processes") == task.score_batch(pairs)


def test_what_cannot_be_made_again_is_not_registered() -> None:
    task = from_reward_func(lambda response, answer: 1.0, dataset=ROWS)
    assert task.score(task.problem(0), "").score == 1.0
    with pytest.raises(SettingError, match="functions and a file by name"):
        mint_envs.register("tests/Never-v0", task)


def test_a_function_by_its_file_is_an_environment(tmp_path: Path) -> None:
    (tmp_path / "own_rewards.py").write_text(
        "from mint_envs import Task\n"
        "def last_word(response, answer):\n    return response.split()[-1:] == [answer]\n"
        "class Three(Task):\n    def sample(self, rng): return 3\n"
        "    def prompt(self, problem): return 'Three?'\n"
        "    def score(self, problem, response): return response == '3'\n"
    )
    (tmp_path / "rows.csv").write_text('question,answer\n"What is 1, and 1?",2\nAnd 2 + 3?,5\n')
    script = (
        "import gymnasium as gym, mint_envs\n"
        "env = mint_envs.make('own_rewards.py:last_word', dataset='rows.csv')\n"
        "assert env.unwrapped.task.score(env.unwrapped.task.problem(1), 'It is 5').score == 1\n"
        "print(env.spec.id, mint_envs.make('own_rewards:Three').reset(seed=0)[1]['prompt'])\n"
    )
    again = (
        "import gymnasium as gym, mint_envs\n"
        "env = gym.make('functions/own_rewards.last_word-v0', dataset='rows.csv')\n"
        "print(env.unwrapped.task.size)\n"
    )
    for text, wanted in ((script, "functions/own_rewards.last_word-v0 Three?"), (again, "2")):
        done = subprocess.run(
            [sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == wanted
    missed = subprocess.run(
        [sys.executable, "-m", "mint_envs", "eval", "own_rewards.py:last_wort", "--policy", "x"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert missed.returncode == 2


# -- several, and their ranges --------------------------------------------------------------------


def test_several_are_a_weighted_mean() -> None:
    task = from_reward_func([exact, brief], [1, 0.25], ROWS)
    reward = task.score(task.problem(0), "2" + " " * 49)
    assert reward.parts == {"exact": 1.0, "brief": 0.5}
    assert reward.score == pytest.approx((1 + 0.25 * 0.5) / 1.25)
    assert task.score(task.problem(0), "2").score == pytest.approx((1 + 0.25 * 0.99) / 1.25)
    twice = from_reward_func([exact, exact], dataset=ROWS)
    assert set(twice.score(twice.problem(0), "2").parts) == {"exact 1", "exact 2"}


def test_a_range_is_declared_or_measured() -> None:
    with pytest.raises(SettingError, match=r"signed gives rewards from -1 to 1.*ranges=\[\[-1.0, "):
        from_reward_func(signed, dataset=ROWS)
    task = from_reward_func(signed, dataset=ROWS, ranges=[(-1, 1)])
    problem = task.problem(0)
    assert task.score(problem, "2") == Reward(1.0, {"signed": 1.0}, {"raw": {"signed": 1.0}})
    assert task.score(problem, "3") == Reward(0.0, {"signed": 0.0}, {"raw": {"signed": -1.0}})


def penalty(response: str, answer: str) -> float:
    return 0.0 if response == answer else -1.0


def levels(response: str, answer: str) -> float:
    return 5.0 if response == answer else 1.0


@pytest.mark.parametrize(
    ("functions", "told"),
    [
        (penalty, r"gives rewards from -1 to 0 .*ranges=\[\[-1.0, highest\]\]"),
        (levels, r"gives rewards from 1 to 5 .*ranges=\[\[1.0, 5.0\]\]"),
        ([exact, penalty], r"ranges=\[\[0.0, 1.0\], \[-1.0, highest\]\]"),
        (lambda response: -1, r"gives -1 on every one of .*ranges=\[\[lowest, highest\]\]"),
        (lambda response: 1e999 if response else 0.0, r"ranges=\[\[lowest, highest\]\]"),
    ],
)
def test_no_end_of_a_range_is_made_up(functions: Any, told: str) -> None:
    """From -1 to 1 a penalty would pay half at best, and nobody would be told."""
    with pytest.raises(SettingError, match=told):
        from_reward_func(functions, dataset=ROWS)


@pytest.mark.parametrize("form", ["{}", "\\boxed{{{}}}", "#### {}"])
def test_right_answers_in_usual_forms_show_the_range(form: str) -> None:
    def function(response: str, answer: str) -> float:
        return 3.0 if response == form.format(answer) else -1.0

    with pytest.raises(SettingError, match=r"ranges=\[\[-1.0, 3.0\]\]"):
        from_reward_func(function, dataset=ROWS)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda response: 0.5, "gives 0.5 on every one of 2.. texts, right answers too: what pays"),
        (lambda response, answer: 0.3 if answer in response else 0.2,
         r"gives 0.3 at most on 2.. texts.*ranges=\[\[0.2, 0.3\]\]"),
        (lambda response: None, "no answer of the rows earns the full mark, in 6 usual forms"),
    ],
)  # fmt: skip
def test_what_never_pays_in_full_is_told_by_what_it_pays(
    function: Callable[..., Any], told: str
) -> None:
    with pytest.raises(ContractError) as error:
        check_task(from_reward_func(function, dataset=ROWS), other_process=False)
    found = str(error.value)
    assert re.search(told, found), found
    assert "Give {right response" not in found


@pytest.mark.parametrize("given", [{}, {"acc": 1.0}])
def test_a_dict_without_its_score_is_told_what_to_return(given: Mapping[str, float]) -> None:
    def of_verl(data_source: str, solution_str: str, ground_truth: str) -> Mapping[str, float]:
        return given

    with pytest.raises(RewardError, match=r"a dict without 'score'.*\{'score': number"):
        from_reward_func(of_verl, dataset=ROWS)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(1.0000000000000002, 1.0), (-1e-17, 0.0), (True, 1.0), (np.float32(0.5), 0.5), (None, None)],
)
def test_rounding_is_mended(value: Any, wanted: float | None) -> None:
    task = from_reward_func(lambda response, answer: value, dataset=ROWS)
    assert task.score(task.problem(0), "x").score == wanted


@pytest.mark.parametrize("value", [1.01, -0.5, float("nan"), float("inf"), "1.0", [1.0], object()])
def test_what_is_no_reward_is_an_error(value: Any) -> None:
    late = iter([0.5] * 500)
    task = from_reward_func(lambda response, answer: next(late, value), dataset=ROWS)
    for _ in late:
        pass
    with pytest.raises(RewardError, match="gave"):
        task.score(task.problem(0), "x")


number = st.floats(0, 1)


@given(st.lists(number, min_size=1, max_size=4), st.data())
def test_more_is_never_less(values: list[float], data: Any) -> None:
    """In [0, 1], rising in every part, the same twice, alone and in a batch."""
    weights = data.draw(st.lists(st.floats(0.01, 10), min_size=len(values), max_size=len(values)))
    now = list(values)

    def of(number: int) -> Callable[..., Any]:
        return lambda response, answer: now[number]

    many = [of(number) for number in range(len(values))]
    task = from_reward_func(many, weights, ROWS[:2], ranges=[(0, 1)] * len(many))
    problem = task.problem(0)
    before = task.score(problem, "x")
    assert before.score is not None
    assert 0 <= before.score <= 1
    assert task.score(problem, "x") == before == task.score_batch([(problem, "x")] * 3)[1]
    raised = data.draw(st.integers(0, len(values) - 1))
    now[raised] = data.draw(st.floats(now[raised], 1))
    after = task.score(problem, "x")
    assert after.score is not None
    assert after.score >= before.score


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"weights": [1, 2]}, "1 functions want as many weights"),
        ({"weights": [-1]}, "numbers from 0 up"),
        ({"weights": [0]}, "above 0"),
        ({"ranges": [[1, 0]]}, "lowest, highest"),
        ({"ranges": [0, 1]}, "lowest, highest"),
        ({"dataset": None}, "bring no problems"),
        ({"dataset": []}, "is empty"),
        ({"functions": []}, "at least one"),
        ({"functions": "no_such_module:f"}, "no module no_such_module"),
        ({"functions": lambda answer: 1.0}, "no parameter takes the response"),
        ({"functions": lambda response, unit: 1.0}, "has a parameter 'unit'"),
        ({"style": "prose"}, "'chat' or 'completion'"),
        ({"split": "test"}, "split the rows yourself"),
    ],
)
def test_mistakes(settings: Mapping[str, Any], told: str) -> None:
    with pytest.raises(SettingError, match=told):
        from_reward_func(**{"functions": exact, "dataset": ROWS, **settings})


# -- rows -----------------------------------------------------------------------------------------


def test_files_of_every_kind_hold_the_same_rows(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    (tmp_path / "rows.jsonl").write_text(lines)
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "rows.json").write_text(json.dumps(ROWS))
    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "rows.parquet")
    (tmp_path / "rows.csv").write_text(
        "question,answer\r\n" + "".join(f"{r['question']},{r['answer']}\r\n" for r in ROWS)
    )
    for name in ("rows.jsonl", "rows.jsonl.gz", "rows.json", "rows.parquet", "rows.csv"):
        assert load_rows(str(tmp_path / name)) == ROWS, name
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "b.jsonl").write_text(lines)
    (folder / "a.csv").write_text("question,answer\nFirst?,1\n")
    (folder / "notes.txt").write_text("no rows")
    assert load_rows(str(folder)) == [{"question": "First?", "answer": "1"}, *ROWS]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("question,answer\nWhat?,1,2\n", r"line 2 of '.*rows.csv' has not the 2 cells"),
        ("question,answer\nWhat?\n", r"line 2 of '.*rows.csv' has not the 2 cells"),
        ("question,question\nWhat?,1\n", "a name for each column"),
        ("", "a name for each column"),
        ('question,answer\n"What?,1\n', "cannot be read"),
        ("question,answer\n", "is empty"),
    ],
)
def test_a_broken_csv_file_is_named(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(DatasetError, match=told):
        load_rows(str(tmp_path / "rows.csv"))


def test_prompts_by_field_and_by_template(tmp_path: Path) -> None:
    rows = [{"q": "Which?", "options": {"A": "1", "B": "{2}"}, "gold": "B"}]
    task = from_reward_func(exact, dataset=rows, prompt="{q}\n{options.A} or {options.B}")
    assert task.prompt(task.problem(0)) == [{"role": "user", "content": "Which?\n1 or {2}"}]
    assert task.score(task.problem(0), "B").score == 1.0
    named = from_reward_func(exact, dataset=rows, prompt="q", answer="options.A")
    assert named.prompt(named.problem(0)) == [{"role": "user", "content": "Which?"}]
    assert named.score(named.problem(0), "1").score == 1.0
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which?"}]
    asked = from_reward_func(exact, dataset=[{"prompt": chat, "answer": "B"}])
    assert asked.prompt(asked.problem(0)) == chat


def test_a_prompt_of_which_a_part_is_no_text_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for content in ([{"type": "image_url", "image_url": {}}], None):
        message = {"role": "user", **({"content": content} if content else {})}
        path.write_text(json.dumps({"prompt": [message], "answer": "1"}) + "\n")
        for prompt in (None, "prompt"):
            with pytest.raises(DatasetError, match=r"row 1 of .*rows.jsonl'.*no text and no mess"):
                from_reward_func(exact, dataset=str(path), prompt=prompt)


def test_a_row_without_a_field_is_named_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "1?", "answer": "1"}\n\n{"question": null, "answer": "1"}\n')
    with pytest.raises(DatasetError, match=r"row 3 of '.*rows.jsonl' has no prompt"):
        from_reward_func(exact, dataset=str(path))
    with pytest.raises(DatasetError, match=r"row 3 of .*: the field 'question' is null"):
        from_reward_func(exact, dataset=str(path), prompt="question")
    with pytest.raises(DatasetError, match=r"row 1 of .*'unit' is not there; it has question, ans"):
        from_reward_func(exact, dataset=str(path), prompt="{question} {unit}")
    path.write_text('{"question": "1?", "answer": null}\n')
    with pytest.raises(DatasetError, match=r"row 1.*field 'answer' is null"):
        mint_envs.make("mint/Math-v0", dataset=str(path))


# -- numbers for rewards --------------------------------------------------------------------------


class Number(Task[int]):
    """Returns numbers where a Reward is meant."""

    def __init__(self, kind: str = "float") -> None:
        self._kind = kind

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(1000))

    def prompt(self, problem: int) -> str:
        return f"Say {problem}."

    def score(self, problem: int, response: str) -> Any:
        right = re.sub(r"\W", "", unicodedata.normalize("NFKC", response)) == str(problem)
        kinds = {"float": float(right), "bool": right, "numpy": np.float32(right), "none": None,
                 "text": "1.0", "high": 2.0}  # fmt: skip
        return kinds[self._kind]

    def examples(self, problem: int) -> dict[str, float]:
        return {str(problem): 1.0}


@pytest.mark.parametrize("kind", ["float", "bool", "numpy"])
def test_a_number_is_taken_for_a_reward(kind: str) -> None:
    task = Number(kind)
    assert play(task, 5, ("5",)) == Reward(1.0)
    assert task.score_batch([(5, "5"), (5, "6")]) == [Reward(1.0), Reward(0.0)]
    env = mint_envs.TokenEnv(task)
    env.reset(seed=0)
    right = env.codec.encode_response(str(env.problem))
    assert env.step([*right, env.codec.eos_token_id])[1] == 1.0
    report = check_task(task, solve=lambda prompt: prompt.split()[1].rstrip("."))
    assert sum("taken for Reward(score)" in note for note in report.notes) == 1


@pytest.mark.parametrize("kind", ["none", "text", "high"])
def test_other_values_are_not(kind: str) -> None:
    with pytest.raises(RewardError, match=r"Reward\(None\)|in \[0, 1\]"):
        as_reward(Number(kind).score(5, "5"))
    with pytest.raises(Exception, match="breaks the contract"):
        check_task(Number(kind))


@pytest.mark.parametrize("form", ["{}", "\\boxed{{{}}}", "#### {}", "<answer>{}</answer>"])
def test_the_example_has_the_form_that_is_paid(form: str) -> None:
    task = from_reward_func(lambda response, answer: response == form.format(answer), dataset=ROWS)
    assert task.examples(task.problem(0)) == {form.format("2"): 1.0}
    never = from_reward_func(lambda response: 0.5, dataset=ROWS)
    assert never.examples(never.problem(0)) == {}
