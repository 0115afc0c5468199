"""Data sets: rows of every shape, presets, and right answers that cannot be read."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from mint_envs.errors import DatasetError
from mint_envs.math import MathTask, UnreadableAnswers, rows

pytestmark = pytest.mark.quick

ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 40+2?"}]
SHAPES: dict[str, dict[str, Any]] = {
    "gsm8k": {"question": "What is 40+2?", "answer": "40 + 2 = 42\n#### 42"},
    "math": {"problem": "What is 40+2?", "solution": r"It is $\boxed{42}$.", "level": "Level 1"},
    "aime": {"ID": "2024-I-1", "Problem": "What is 40+2?", "Answer": 42},
    "verl": {
        "data_source": "openai/gsm8k",
        "prompt": ASK,
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": "42"},
        "extra_info": {"index": 0, "question": "What is 40+2?", "answer": "40+2=42 #### 42"},
    },
    "dapo": {
        "prompt": [ASK[1]],
        "reward_model": {"ground_truth": "42", "style": "rule-lighteval/MATH_v2"},
        "extra_info": {"index": "abc"},
    },
    "skyrl": {"prompt": ASK, "env_class": "aime", "reward_spec": {"ground_truth": "42"}},
    "trl": {"prompt": "What is 40+2?", "ground_truth": "42"},
    "tinker": {"prompt": ASK, "target": "42"},
    "olympiad": {"question": "What is 40+2?", "final_answer": ["42"]},
    "transcript": {"messages": [*ASK, {"role": "assistant", "content": r"It is \boxed{42}."}]},
}


def write(path: Path, *items: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("style", ["completion", "chat"])
def test_rows_of_every_shape(tmp_path: Path, shape: str, style: Any) -> None:
    task = MathTask(dataset=write(tmp_path / "rows.jsonl", SHAPES[shape]), style=style)
    problem = task.problem(0)
    assert problem.answer == "42"
    assert task.score(problem, r"\boxed{42}").score == 1
    assert task.score(problem, r"\boxed{43}").score == 0
    prompt = task.prompt(problem)
    text = prompt if isinstance(prompt, str) else prompt[-1]["content"]
    assert "What is 40+2?" in text
    assert "42" not in text


def test_messages_of_a_data_set_are_given_as_they_are(tmp_path: Path) -> None:
    task = MathTask(dataset=write(tmp_path / "rows.jsonl", SHAPES["verl"]), style="chat")
    assert list(task.prompt(task.problem(0))) == ASK


def test_unreadable_right_answers_are_reported(tmp_path: Path) -> None:
    bad = [{"question": f"q{i}", "answer": rf"\weird{{{i}}}"} for i in range(7)]
    path = write(tmp_path / "rows.jsonl", SHAPES["gsm8k"], *bad)
    with pytest.warns(UnreadableAnswers, match=r"7 of 8 right answers cannot be read") as caught:
        task = MathTask(dataset=path)
    said = str(caught[0].message)
    assert "row 2" in said
    assert "row 6" in said
    assert "row 7" not in said
    assert task.score(task.problem(1), r"\boxed{\weird{0}}").score == 1


def test_readable_right_answers_are_not_reported(tmp_path: Path) -> None:
    items = [{"problem": "p", "answer": answer} for answer in (r"\frac12", "(3,4]", "x=5", "B")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert MathTask(dataset=write(tmp_path / "rows.jsonl", *items)).size == 4


def test_an_empty_answer_is_an_error_that_names_the_row(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="row 1"):
        MathTask(dataset=write(tmp_path / "rows.jsonl", {"question": "q", "answer": " "}))


@pytest.mark.parametrize(
    ("name", "split", "source", "taken"),
    [
        ("gsm8k", None, "openai/gsm8k:main", "train"),
        ("gsm8k", "test", "openai/gsm8k:main", "test"),
        ("math500", None, "HuggingFaceH4/MATH-500", "test"),
        ("someone/set", None, "someone/set", None),
    ],
)
def test_presets_are_short_names(
    monkeypatch: pytest.MonkeyPatch, name: str, split: str | None, source: str, taken: str | None
) -> None:
    asked: list[tuple[str, str | None]] = []

    def load(source: str, split: str | None) -> list[dict[str, Any]]:
        asked.append((source, split))
        return [SHAPES["gsm8k"]]

    monkeypatch.setattr(rows, "load_rows", load)
    assert MathTask(dataset=name, split=split).size == 1
    assert asked == [(source, taken)]


def test_settings_reach_the_grader(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", {"problem": "p", "answer": r"\{1, 2\}"})
    loose, strict = MathTask(dataset=path), MathTask(dataset=path, strict=True)
    assert loose.score(loose.problem(0), "{1, 2}").score == 1
    assert strict.score(strict.problem(0), "1, 2").score == 0
    partial = MathTask(dataset=path, set_credit=True)
    assert partial.score(partial.problem(0), r"\boxed{1}").score == 0.5
    credit = MathTask(dataset=path, format_credit=0.05)
    assert credit.score(credit.problem(0), r"\boxed{7}").score == 0.05


def test_arithmetic_must_be_worked_out() -> None:
    task = MathTask(style="chat")
    problem = task.problem(0)
    question = problem.question.removeprefix("What is ").removesuffix("?")
    assert task.score(problem, rf"\boxed{{{question}}}").score == 0
    assert task.score(problem, f" {question} = {problem.answer}").score == 1
    for response, score in task.examples(problem).items():
        assert task.score(problem, response).score == score
