"""Problems for the planted and the sound reward functions: prompts that ask for a form."""

from __future__ import annotations

from typing import Any

#: What a prompt says of the form of the answer.
ASKED = {
    "bare": "Reply with the answer and nothing else.",
    "hashes": "Think, then end with a line of the form #### <answer>.",
    "box": "Put your final answer in \\boxed{}.",
    "tag": "Give your answer between <answer> and </answer>.",
    "think": "Think between <think> and </think>, then answer between <answer> and </answer>.",
    "json": 'Reply with a JSON object: {"answer": ...}.',
    "result": 'Explain, then end with a JSON object such as {"result": 5}.',
    "said": "End with a line 'Answer: ' and the answer.",
    "chat": "End with a line 'Answer: ' and the answer.",
    "fence": "Put the answer alone into a fenced block, ``` on the lines before and after it.",
    "chinese": "请先思考, 最后写“答案\uff1a”加上结果。",
    "german": "Schreibe am Ende 'Antwort: ' und die Zahl.",
}

#: Questions with their answers, by the kind of answer.
GOLDS: dict[str, list[tuple[str, str]]] = {
    "whole": [
        ("What is 12 + 7?", "19"),
        ("A train has 18 cars with 24 seats each. How many seats are there?", "432"),
        ("How many days are there in three weeks and four days?", "25"),
        ("What is 61 + 3?", "64"),
        ("Tom had 300 stamps and gave 17 away. How many are left?", "283"),
        ("What is 44 + 45?", "89"),
    ],
    "negative": [
        ("What is 12 - 30?", "-18"),
        ("What is 61 + 3?", "64"),
        ("It was 4 degrees and fell by 11. What is it now?", "-7"),
        ("What is 44 + 45?", "89"),
    ],
    "decimal": [
        ("What is half of 5?", "2.5"),
        ("What is 61 + 3?", "64"),
        ("Three of four is what share, as a decimal?", "0.75"),
        ("What is 44 + 45?", "89"),
    ],
    "comma": [
        ("Was ist die Hälfte von 5?", "2,5"),
        ("Was ist 61 + 3?", "64"),
        ("Was ist 44 + 45?", "89"),
    ],
    "fraction": [
        ("What is a half, as a fraction?", "\\frac{1}{2}"),
        ("What is 61 + 3?", "64"),
        ("Three of four is what share, as a fraction?", "\\frac{3}{4}"),
        ("What is 44 + 45?", "89"),
    ],
    "zero": [
        ("What is 7 - 7?", "0"),
        ("What is 61 + 3?", "64"),
        ("How many legs does a snake have?", "0"),
        ("What is 44 + 45?", "89"),
    ],
    "words": [
        ("What is the capital of France?", "Paris"),
        ("Which metal is liquid at room temperature?", "mercury"),
        ("Which planet is the largest?", "Jupiter"),
        ("What colour is a ruby?", "red"),
        ("Which animal barks?", "dog"),
    ],
    "unreadable": [
        ("What is 61 + 3?", "64"),
        ("Who is right?", "see the figure"),
        ("What is 44 + 45?", "89"),
        ("How many days are there in three weeks and four days?", "25"),
    ],
}


def problems(form: str, golds: str) -> list[dict[str, Any]]:
    """Rows with a prompt that asks for ``form``, and an answer."""
    return [_row(f"{question}\n{ASKED[form]}", answer, form) for question, answer in GOLDS[golds]]


def _row(prompt: str, answer: str, form: str) -> dict[str, Any]:
    asked = [{"role": "user", "content": prompt}] if form == "chat" else prompt
    return {"prompt": asked, "answer": answer, "data_source": "ours"}
