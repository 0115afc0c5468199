"""mint/Math-v0: solved from the prompt, data sets, styles, splits."""

from __future__ import annotations

import json
import operator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import mint_envs
from mint_envs.errors import IndexOutOfRange, SettingError
from mint_envs.math.tasks import MathTask


def solve(prompt: str) -> str:
    """Work out the question in ``prompt``, from its text alone."""
    question = prompt.rpartition("What is ")[2].partition("?")[0]
    first, *rest = question.split()
    # Products first, then sums from left to right: a shunting of two levels.
    terms, signs = [int(first)], []
    for sign, number in zip(rest[::2], rest[1::2], strict=True):
        if sign == "*":
            terms[-1] *= int(number)
        else:
            signs.append(operator.add if sign == "+" else operator.sub)
            terms.append(int(number))
    total = terms[0]
    for apply, term in zip(signs, terms[1:], strict=True):
        total = apply(total, term)
    return str(total)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"digits": 1},
        {"operators": "+-*", "terms": 4, "digits": 3},
        {"style": "chat", "operators": "-"},
        {"split": "test", "shots": 3},
    ],
)
def test_a_perfect_adder_that_reads_the_prompt_earns_everything(settings: dict[str, Any]) -> None:
    env = gym.make("mint/Math-v0", **settings)
    for seed in range(300):
        _, info = env.reset(seed=seed)
        reply = solve(info["prompt"])
        if settings.get("style") == "chat":
            reply = f"Answer: {reply}"
        _, reward, terminated, truncated, info = env.step(list(reply.encode()))
        assert (reward, terminated, truncated) == (1.0, True, False), (info["prompt"], reply)


def test_a_wrong_sum_and_a_hedge_earn_nothing() -> None:
    env = gym.make("mint/Math-v0")
    for seed in range(100):
        _, info = env.reset(seed=seed)
        right = int(solve(info["prompt"]))
        for reply in (f" {right + 1}", f" {right} or {right + 1}", f" {right + 1}\n{right}", ""):
            env.reset(seed=seed)
            assert env.step(list(reply.encode()))[1] == 0.0, reply


def test_the_documents_prompt() -> None:
    _, info = gym.make("mint/Math-v0").reset(seed=0)
    assert info["prompt"].startswith("Q: What is 4 + 5?\nA: 9\n\nQ: What is ")
    assert info["prompt"].endswith("?\nA:")


def test_held_out_problems_are_never_trained_on() -> None:
    def questions(split: str) -> set[str]:
        env = gym.make("mint/Math-v0", digits=1, split=split)
        return {env.reset(seed=seed)[1]["prompt"] for seed in range(2000)}

    train, test, everything = questions("train"), questions("test"), questions("all")
    assert not train & test
    assert train | test == everything
    assert len(everything) == 100


def test_products_come_first() -> None:
    task, rng = MathTask(operators="+-*", terms=5), np.random.default_rng(0)
    for _ in range(200):
        problem = task.sample(rng)
        assert problem.answer == solve(problem.question)
    large = MathTask(operators="*", terms=9, digits=9).sample(rng)
    assert large.answer == solve(large.question)


def test_a_data_set_of_questions_and_answers(tmp_path: Path) -> None:
    rows = [
        {"question": "How many legs have 3 cats?", "answer": "3 * 4 = 12\n#### 12"},
        {"question": "Half of 5?", "answer": "2.5"},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    env = gym.make("mint/Math-v0", dataset=str(path), style="chat")
    for index, reply in enumerate(("So it is 12.\n#### 12", "Answer: 2.50")):
        _, info = env.reset(options={"index": index})
        assert rows[index]["question"] in info["prompt"]
        assert env.step(list(reply.encode()))[1] == 1.0
    with pytest.raises(IndexOutOfRange, match="2 problems"):
        env.reset(options={"index": 2})


def test_named_fields(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"q": {"text": "1+1?"}, "gold": 2}\n')
    settings = {"dataset": str(path), "question_field": "q.text", "answer_field": "gold"}
    env = gym.make("mint/Math-v0", **settings)
    env.reset(seed=0)
    assert env.step(list(b"2"))[1] == 1.0


@pytest.mark.parametrize(
    "settings",
    [{"operators": "/"}, {"operators": ""}, {"digits": 10}, {"terms": 1}, {"shots": 9},
     {"style": "poem"}, {"split": "half"}],
)  # fmt: skip
def test_wrong_settings_name_the_value(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=next(iter(settings))):
        mint_envs.make("mint/Math-v0", **settings)
