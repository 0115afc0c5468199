"""Reward functions of any shape are called by their parameters, or one line says how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mint_envs.bench.target.functions import adapt, number_of
from mint_envs.bench.target.targets import Target, load
from mint_envs.errors import SettingError

pytestmark = pytest.mark.quick
ROW = {"prompt": "What is 12 + 7?", "answer": "19", "level": "easy"}


def of_solution(completion: str, solution: str) -> float:
    return float(completion == solution)


def trl_with_gold(completions: list[str], ground_truth: list[str]) -> list[float]:
    return [float(a == b) for a, b in zip(completions, ground_truth, strict=True)]


def yielding(completions: list[str], answer: list[str]) -> Iterator[float]:
    for text, gold in zip(completions, answer, strict=True):
        yield float(text == gold)


def of_lists(responses: list[str], answers: list[str], prompts: list[str]) -> list[float]:
    assert prompts == ["What is 12 + 7?"] * len(responses)
    return [float(a == b) for a, b in zip(responses, answers, strict=True)]


def of_columns(predictions: list[str], references: list[str], levels: list[str]) -> list[float]:
    assert set(levels) == {"easy"}
    return [float(a == b) for a, b in zip(predictions, references, strict=True)]


def of_tokens(response_ids: list[int], answer: str) -> float:
    return float(bytes(response_ids) == answer.encode())


def of_messages(messages: list[dict[str, str]], answer: str) -> float:
    return float(messages[-1]["content"] == answer and messages[0]["role"] == "user")


def of_students(student_answer: str, reference: str) -> float:
    return float(student_answer == reference)


async def awaited(completion: str, target: str, **more: Any) -> float:
    return float(completion == target and more["level"] == "easy")


class Object:
    def __call__(self, completions: list[str], solution: list[str], **more: Any) -> list[float]:
        return [float(a == b) for a, b in zip(completions, solution, strict=True)]


class WithMethod:
    def score(self, response: str, answer: str) -> float:
        return float(response == answer)


with_method = WithMethod()


@pytest.mark.parametrize(
    "function",
    [of_solution, trl_with_gold, yielding, of_lists, of_columns, of_tokens, of_messages,
     of_students, awaited, Object(), with_method.score],
)  # fmt: skip
def test_a_function_is_called_by_the_names_of_its_parameters(function: Callable[..., Any]) -> None:
    call = adapt(function, "it", [ROW])
    assert [number_of(call(ROW, ROW["prompt"], text)) for text in ("19", "20")] == [1.0, 0.0]


def test_lists_are_given_several_at_once() -> None:
    call: Any = adapt(of_lists, "of_lists", [ROW])
    assert call.many([(ROW, ROW["prompt"], text) for text in ("20", "19")]) == [0.0, 1.0]


def test_a_gold_that_no_row_has_is_refused() -> None:
    with pytest.raises(SettingError, match="has a parameter 'ground_truth'"):
        adapt(trl_with_gold, "it", [{"prompt": "Say something."}])


def test_an_object_whose_method_is_meant_is_told_so() -> None:
    target = Target(f"{__file__}:with_method", rows=[ROW])
    with pytest.raises(SettingError, match=r"name its method, .*:with_method\.score"):
        load(target)
