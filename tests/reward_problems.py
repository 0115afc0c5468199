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
    "xml": "Reply with <result><value>...</value></result> and nothing else.",
    "yaml": "End with a line of YAML, `answer: ...`.",
    "align": "Write it as \\begin{align} x &= ... \\end{align}, with the answer on the last line.",
    "tuple": "Give the point as a Python tuple alone in a fenced code block, ```python.",
    "choice": "Choose A, B, C or D and end with 'The answer is (X)'.",
    "spanish": "Termina con una línea 'Respuesta: ' y la palabra.",
    "line": "End with a line 'Result: ' and the answer.",
    "brackets": "Put the answer in double brackets, such as [[cat]].",
    "sections": "Use the headings ## Plan, ## Work and ## Answer, in this order.",
    "call": 'Call the tool: {"name": "submit", "arguments": {"answer": "..."}}.',
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
    "units": [
        ("How far is it from 3 km to 15 km?", "12 km"),
        ("Two bags have 2 kg and 3 kg. How much is that together?", "5 kg"),
        ("How long is half a minute, in seconds?", "30 s"),
        ("A rope of 8 m is cut in the middle. How long is one half?", "4 m"),
    ],
    "dates": [
        ("Which day comes after 28 February 2000?", "2000-02-29"),
        ("Which is the last day of 1999?", "1999-12-31"),
        ("Which day comes a week after 3 April 2021?", "2021-04-10"),
        ("Which day comes before 8 May 2007?", "2007-05-07"),
    ],
    "sets": [
        ("Which primes are below 6? Give them as a set, such as {1, 8}.", "{2, 3, 5}"),
        ("Which squares are below 5, without 0? Give a set.", "{1, 4}"),
        ("Which divisors has 10? Give a set.", "{1, 2, 5, 10}"),
    ],
    "intervals": [
        ("Where is 2x at least 0 and below 2? Give the interval.", "[0, 1)"),
        ("Which x are above 2 and at most 5? Give the interval.", "(2, 5]"),
        ("Which x are above -3 and below 4? Give the interval.", "(-3, 4)"),
    ],
    "percent": [
        ("One of four is what share, in percent?", "25%"),
        ("Nine of ten is what share, in percent?", "90%"),
        ("Three of fifty is what share, in percent?", "6%"),
    ],
    "years": [
        ("In which year was the first landing on the moon?", "1969"),
        ("In which year did the wall in Berlin fall?", "1989"),
        ("In which year was the Eiffel tower finished?", "1889"),
    ],
    "choices": [
        ("Which is a metal? A: air, B: iron, C: wood, D: salt.", "B"),
        ("Which is a fruit? A: apple, B: stone, C: leaf, D: root.", "A"),
        ("Which can fly? A: a cow, B: a dog, C: a pig, D: a crow.", "D"),
        ("Which is wet? A: sand, B: coal, C: water, D: paper.", "C"),
    ],
    "yes": [
        ("Is 7 a prime?", "yes"),
        ("Is 9 a prime?", "no"),
        ("Is iron a metal?", "yes"),
        ("Is a whale a fish?", "no"),
    ],
    "points": [
        ("Which point is 3 to the right of the origin and 4 up?", "(3, 4)"),
        ("Which point is 2 to the left of (1, 5)?", "(-1, 5)"),
        ("Which point is in the middle of (0, 0) and (4, 8)?", "(2, 4)"),
    ],
    "phrases": [
        ("Who wrote 'Hamlet'?", "William Shakespeare"),
        ("What is the longest river of Africa?", "the Nile"),
        ("Which mountain is the highest?", "Mount Everest"),
    ],
    "spanish": [
        ("¿Cómo se llama el día después del martes?", "miércoles"),
        ("¿De qué color es la nieve?", "blanco"),
        ("¿Qué animal ladra?", "perro"),
        ("¿Cuál es el segundo mes?", "febrero"),
    ],
    "slashes": [
        ("Three of four is what share, as a fraction?", "3/4"),
        ("Two of five is what share, as a fraction?", "2/5"),
        ("Which fraction is five less than 4 2/3?", "-1/3"),
    ],
    "roman": [
        ("How is 14 written in Roman numerals?", "XIV"),
        ("How is 49 written in Roman numerals?", "XLIX"),
        ("How is 2024 written in Roman numerals?", "MMXXIV"),
    ],
    "times": [
        ("When is it half an hour after 14:00?", "14:30"),
        ("When is it ten minutes before 9:15?", "09:05"),
        ("When is it three hours after 20:45?", "23:45"),
    ],
    "hex": [
        ("How is 255 written in hexadecimal?", "0xff"),
        ("How is 26 written in hexadecimal?", "0x1a"),
        ("How is 4096 written in hexadecimal?", "0x1000"),
    ],
    "aliases": [
        ("Who wrote 'Hamlet'?", "William Shakespeare|Shakespeare"),
        ("Which river flows through Cairo?", "the Nile|Nile"),
        ("Which country is also called Holland?", "the Netherlands|Netherlands"),
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
