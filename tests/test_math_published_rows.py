"""Rows as published sets of mathematics have them: what changes the question or the answer is read,
or the row is refused when it is loaded. The rows are made here, in the columns of the sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mint_envs
from mint_envs.errors import DatasetError
from mint_envs.math import MathTask
from mint_envs.math.rows import read_math_row
from mint_envs.records.fields import gold_of, prompt_of

pytestmark = pytest.mark.quick

PAIR = {"question": "What is $40+2$?", "answer": "42"}
OPTIONS = ["40", "42", "44", "46"]
LISTED = "What is $40+2$?\n\nA) 40\nB) 42\nC) 44\nD) 46\n\nGive the letter of the right option."
CHOICES: dict[str, dict[str, Any]] = {
    "AQuA": {
        "question": "What is $40+2$?",
        "options": ["A)40", "B)42", "C)44", "D)46"],
        "rationale": "40 + 2 = 42. Answer: B",
        "correct": "B",
    },
    "MathQA": {
        "Problem": "What is $40+2$?",
        "options": "a ) 40 , b ) 42 , c ) 44 , d ) 46",
        "correct": "b",
    },
    "MMLU": {"question": "What is $40+2$?", "choices": OPTIONS, "answer": 1, "subject": "x"},
    "MMLU-Pro": {
        "question": "What is $40+2$?",
        "options": OPTIONS,
        "answer": "B",
        "answer_index": 1,
        "cot_content": "",
    },
    "C-Eval": {
        "question": "What is $40+2$?",
        **dict(zip("ABCD", OPTIONS, strict=True)),
        "answer": "B",
    },
    "ARC": {
        "question": "What is $40+2$?",
        "choices": {"text": OPTIONS, "label": ["1", "2", "3", "4"]},
        "answerKey": "2",
    },
    "MedQA": {
        "question": "What is $40+2$?",
        "options": dict(zip("ABCD", OPTIONS, strict=True)),
        "answer": "42",
        "answer_idx": "B",
    },
    "HARP": {
        "problem": "What is $40+2$?",
        "choices": dict(zip("ABCD", OPTIONS, strict=True)),
        "answer": r"\text{forty-two}",
        "answer_choice": "B",
    },
    "in words": {"question": "What is $40+2$?", "choices": OPTIONS, "answer": "42"},
    "SAT": {
        "question": "What is $40+2$?",
        "options": "A) 40 B) 42 C) 44 D) 46",
        "Answer": "B",
    },
    "AGIEval": {
        "question": "What is $40+2$?",
        "options": ["(A)40", "(B)42", "(C)44", "(D)46"],
        "label": "B",
        "answer": None,
    },
    "labelled": {
        "question": "What is $40+2$?",
        "choices": [{"label": a, "text": t} for a, t in zip("ABCD", OPTIONS, strict=True)],
        "answerKey": "B",
    },
}


@pytest.mark.parametrize("name", CHOICES)
def test_what_is_to_be_chosen_from_is_asked_with_its_options(name: str, tmp_path: Path) -> None:
    task = MathTask(dataset=written(tmp_path, CHOICES[name]))
    problem = task.problem(0)
    assert (problem.question, problem.answer) == (LISTED, "B")
    for answer, score in (("B", 1.0), ("(B)", 1.0), ("B) 42", 1.0), ("C", 0.0), ("A", 0.0)):
        assert task.score(problem, rf"\boxed{{{answer}}}").score == score


def test_options_that_the_question_lists_are_not_listed_again() -> None:
    row = {"question": LISTED, "options": OPTIONS, "answer": "B"}
    assert read_math_row(row).question == LISTED


OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "labels that are numbers, told as a number": (
        {**PAIR, "options": dict(zip("1234", OPTIONS, strict=True)), "answer": 2},
        "B",
    ),
    "a place written as text": (
        {**PAIR, "choices": ["3", "0", "1", "2"], "answer": "0", "answer_index": "1"},
        "B",
    ),
    "labels out of order": ({**PAIR, "options": {"B": "42", "A": "40"}, "answer": "B"}, "B"),
    "ratios": ({**PAIR, "choices": ["1:2", "2:3", "3:4"], "answer": 1}, "B"),
    "decimals": ({**PAIR, "choices": ["1.0", "2.0", "3.0"], "answer": 1}, "B"),
    "the question lists them by number": (
        {
            "question": "What is 40+2? (1) 40 (2) 42",
            "options": {"1": "40", "2": "42"},
            "answer": "2",
        },
        "2",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_right_option_is_the_one_that_is_told(name: str) -> None:
    row, letter = OTHERS[name]
    problem = read_math_row(row)
    assert problem.answer == letter
    options = row.get("options") or row.get("choices")
    texts = options.values() if isinstance(options, dict) else options
    assert all(text in problem.question for text in texts)


def test_options_are_listed_unless_the_question_does_so_by_label() -> None:
    question = "The number 1234 is divided by 5. What is left?"
    problem = read_math_row({"question": question, "choices": ["1", "2", "3", "4"], "answer": "4"})
    assert problem.question.startswith(f"{question}\n\nA) 1\n")
    assert problem.answer == "D"


def test_numbers_of_a_row_are_no_options() -> None:
    row = {"question": "What is B - A?", "A": 3, "B": 4, "answer": 1}
    assert read_math_row(row).answer == "1"


@pytest.mark.parametrize("answer", ["2 (p+q)", r"4 (\pi - e)", "3 (mod n)"])
def test_a_product_is_no_number_of_things(answer: str) -> None:
    assert read_math_row({**PAIR, "answer": answer}).answer == answer


def test_nan_is_null() -> None:
    row = {"question": "?", "answer": float("nan"), "solution": r"\boxed{3}"}
    assert read_math_row(row).answer == "3"


def test_the_users_own_fields_are_taken_as_they_are() -> None:
    row = {"q": "What is $40+2$?", "options": OPTIONS, "gold": "42"}
    problem = read_math_row(row, question_field="q", answer_field="gold")
    assert (problem.question, problem.answer) == ("What is $40+2$?", "42")


def test_the_users_own_field_may_hold_messages() -> None:
    messages = [{"role": "user", "content": "What is $40+2$?"}]
    problem = read_math_row({"talk": messages, "answer": "42"}, question_field="talk")
    assert problem.question == "What is $40+2$?"
    assert list(problem.messages) == messages


TALK = [
    {"role": "user", "content": "What is $1+1$?"},
    {"role": "assistant", "content": "2"},
    {"role": "user", "content": "What is $40+2$?"},
]


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": TALK, "answer": "42"},
        {"messages": [*TALK, {"role": "assistant", "content": r"It is \boxed{42}."}]},
    ],
)
def test_a_talk_is_kept_as_it_went_on(row: dict[str, Any]) -> None:
    problem = read_math_row(row)
    assert list(problem.messages) == TALK
    assert problem.answer == "42"


WHOLE: dict[str, tuple[dict[str, Any], str, str]] = {
    "SVAMP": (
        {"Body": "Ann has 40 pens and gets 2.", "Question": "How many has she?", "Answer": "42.0"},
        "Ann has 40 pens and gets 2. How many has she?",
        "42.0",
    ),
    "ASDiv": (
        {"body": "Ann has 40 and gets 2.", "question": "How many has she?", "answer": "42 (pens)"},
        "Ann has 40 and gets 2. How many has she?",
        "42",
    ),
    "OlympiadBench": (
        {"context": "Let $x=40$.", "question": "What is $x+2$?", "final_answer": ["42"],
         "error": None, "image_1": None},
        "Let $x=40$. What is $x+2$?",
        "42",
    ),
    "Skywork": (
        {"prompt": [{"role": "user", "content": "What is $40+2$?"}],
         "reward_model": {"ground_truth": '["42"]', "style": "rule"}},
        "What is $40+2$?",
        "42",
    ),
    "SYNTHETIC-1": (
        {"prompt": "What is $40+2$?", "verification_info": '{"ground_truth": "42"}',
         "task_type": "verifiable_math"},
        "What is $40+2$?",
        "42",
    ),
    "MGSM": (
        {"question": "What is $40+2$?", "answer": None, "answer_number": 42},
        "What is $40+2$?",
        "42",
    ),
    "Qwen2.5-Math": ({"question": "What is $40+2$?", "gt_cot": "", "gt": "42"},
                     "What is $40+2$?", "42"),
    "parts of a message": (
        {"prompt": [{"role": "user", "content": [{"type": "text", "text": "What is $40+2$?"}]}],
         "answer": "42"},
        "What is $40+2$?",
        "42",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_a_row_is_read_whole(name: str) -> None:
    row, question, answer = WHOLE[name]
    problem = read_math_row(row)
    assert (problem.question, problem.answer) == (question, answer)


PICTURE = {"type": "image_url", "image_url": {"url": "x.png"}}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a proof": ({**PAIR, "question_type": "proof", "answer": "proof"}, "proof"),
    "no answer": ({**PAIR, "answer": "Not found"}, "no final answer"),
    "a picture": ({**PAIR, "image_1": "data/1.png"}, "image_1"),
    "pictures": ({**PAIR, "images": [{"bytes": "x", "path": None}]}, "images"),
    "a picture in a message": (
        {"prompt": [{"role": "user", "content": [PICTURE]}], "answer": "42"},
        "image_url",
    ),
    "a picture in the text": (
        {**PAIR, "question": "See ![](x.png). What?"},
        "picture in its",
    ),
    "a picture's path": ({**PAIR, "image_path": "x.png"}, "image_path"),
    "no value": ({**PAIR, "answer": [None]}, "no final answer"),
    "numbers as options": ({**PAIR, "options": [1, 2, 3, 4], "answer": 3}, "cannot be read"),
    "more options than labels": (
        {**PAIR, "choices": {"text": ["a", "b", "c"], "label": ["A", "B"]}, "answer": "A"},
        "row 2",
    ),
    "numbers to make another of": (
        {"prompt": "Use 19, 36 to make 55.", "nums": [19, 36], "target": 55},
        "nums",
    ),
    "a problem that is not valid": ({**PAIR, "problem_is_valid": "Incomplete"}, "not valid"),
    "messages without the story": (
        {"prompt": [{"role": "user", "content": "x+2?"}], "context": "Let $x=40$.", "answer": "42"},
        "do not tell",
    ),
    "rules alone": ({"prompt": [{"role": "system", "content": "Hi"}], "answer": "42"}, "nothing"),
    "a tolerance": (
        {"question": "What is $v$?", "final_answer": ["4.2"], "error": "0.1"},
        "tolerance",
    ),
    "places for numbers": (
        {"Question": "Ann has N_00 pens and gets N_01.", "Numbers": "40 2", "Answer": 42.0},
        "N_00",
    ),
    "two right options": (
        {**PAIR, "choices": OPTIONS, "answer": "B", "answer_index": 2},
        "different options",
    ),
    "no right option": ({**PAIR, "choices": OPTIONS, "answer": "48"}, "none of its options"),
    "an option out of range": ({**PAIR, "choices": OPTIONS, "answer": 4}, "none of its options"),
    "options nobody can read": ({**PAIR, "options": 4, "answer": "B"}, "options"),
    "a story that is no text": ({**PAIR, "context": {"a": 1}}, "context"),
    "a prompt that the assistant has begun to answer": (
        {"prompt": TALK[:2], "answer": "42"},
        "ends with a message of the assistant's",
    ),
    "a message without content": (
        {"prompt": [TALK[0], {"role": "user"}], "answer": "42"},
        "have a content",
    ),
    "no question": ({**PAIR, "question": " "}, "question is empty"),
    "an answer alone": ({"messages": [{"role": "assistant", "content": "42"}]}, "no messages"),
    "a question that is an object": (
        {"question": {"stem": "What?", "choices": OPTIONS}, "answer": "B"},
        "no text and no messages",
    ),
    "several right answers": (
        {"prompt": "p", "reward_model": {"ground_truth": '["1", "2"]'}},
        "2 right answers",
    ),
    "options that the messages leave out": (
        {"prompt": [{"role": "user", "content": "Which?"}], "options": OPTIONS, "answer": "B"},
        "options",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_is_refused_by_row_and_reason(name: str, tmp_path: Path) -> None:
    row, reason = REFUSED[name]
    path = written(tmp_path, PAIR, row)
    with pytest.raises(DatasetError, match=reason) as caught:
        MathTask(dataset=path)
    assert "row 2" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_refused_rows_can_be_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, PAIR, REFUSED["a proof"][0])
    with pytest.warns(UserWarning, match=r"1 of 2 rows are refused.*row 2.*proof"):
        env = mint_envs.make("mint/Math-v0", dataset=path, skip_refused=True)
    assert env.unwrapped.task.size == 1  # type: ignore[attr-defined]
    with pytest.raises(DatasetError, match="proof"):
        MathTask(dataset=written(tmp_path, REFUSED["a proof"][0]), skip_refused=True)


def test_a_prompt_in_parts_is_its_text_for_every_reward() -> None:
    parts = [{"type": "text", "text": "What is "}, {"type": "text", "text": "$40+2$?"}]
    messages = [{"role": "user", "content": parts}]
    assert prompt_of({"prompt": messages}) == [{"role": "user", "content": "What is $40+2$?"}]
    with pytest.raises(DatasetError, match="no content"):
        prompt_of({"prompt": [{"role": "user", "content": None}]})
    calls = [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]
    called = {"role": "assistant", "content": None, "tool_calls": calls}
    assert prompt_of({"prompt": [called]}) == [{**called, "content": ""}]
    with pytest.raises(DatasetError, match="'image_url'"):
        prompt_of({"prompt": [{"role": "user", "content": [PICTURE]}]})


def written(folder: Path, *rows: dict[str, Any]) -> str:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_the_rows_that_verl_saves_have_their_right_answer() -> None:
    row = {"input": "user\nWhat is 40+2?\n", "output": "42", "gts": "42", "score": 1.0, "step": 3}
    assert (prompt_of(row), gold_of(row)) == (row["input"], "42")
