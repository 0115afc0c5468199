"""What the benchmark of graders judges: cases, and sets made of GSM8K and MATH-500."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One response to judge; ``right`` is whether it is."""

    gold: str
    response: str
    right: bool
    question: str = ""


def cases(path: Path) -> list[Row]:
    """Rows with ``gold``, ``response`` and ``verdict`` (true: right)."""
    lines = path.read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines if line.strip()]
    return [
        Row(item["gold"], item["response"], bool(item["verdict"]), item.get("question") or "")
        for item in items
    ]


def gsm8k(rows: Sequence[Any]) -> dict[str, list[Row]]:
    solved = [(_last(row), row.get("solution") or row["answer"]) for row in rows]
    wrong = [(gold, text, str(int(gold) + 1)) for gold, text in solved]
    return {
        "GSM8K gold": [Row(gold, text, True) for gold, text in solved],
        "GSM8K rewritten": [Row(g, f"So it is $\\boxed{{{int(g):,}}}$.", True) for g, _ in solved],
        "GSM8K no last line": [Row(g, text.rpartition("####")[0], True) for g, text in solved],
        "GSM8K wrong": [
            Row(g, f"{t.rpartition('####')[0]}#### {bad}", False) for g, t, bad in wrong
        ],
    }


def _last(row: Any) -> str:
    return str(row["answer"]).rpartition("####")[2].strip().replace(",", "")


def math500(rows: Sequence[Any]) -> dict[str, list[Row]]:
    asked = [(str(row["answer"]), str(row["problem"])) for row in rows]
    pairs = list(zip(asked, (row["solution"] for row in rows), strict=True))
    boxed = "The answer is $\\boxed{{{}}}$.".format
    return {
        "MATH-500 gold": [Row(g, solution, True, q) for (g, q), solution in pairs],
        "MATH-500 no box": [Row(g, unboxed(solution), True, q) for (g, q), solution in pairs],
        "MATH-500 rewritten": [Row(g, boxed(rewritten(g)), True, q) for g, q in asked],
        "MATH-500 digit": [Row(g, boxed(w), False, q) for g, q in asked if (w := digit_changed(g))],
        "MATH-500 sign": [Row(g, boxed(w), False, q) for g, q in asked if (w := sign_flipped(g))],
        "MATH-500 copies": [
            Row(g, f"\\boxed{{{way.format(copy)}}}", False, q)
            for g, q in asked
            for copy in copied(g, q)
            for way in IDLE
        ],
    }


#: Ways to write a formula that change nothing.
IDLE = ("{}", "({})", "{}+0", "1 \\cdot ({})", "-(-({}))")


def copied(gold: str, question: str) -> list[str]:
    """The formulas of a question and their sides, without those that are the answer as it is."""
    spans = [
        a or b for a, b in re.findall(r"(?<!\\)\$([^$]+)\$|\\\[(.+?)\\\]", question, re.DOTALL)
    ]
    sides = [side.strip(" .,;:\n") for span in spans for side in (span, *span.split("="))]
    bare = re.compile(r"\s|\\left(?!a)|\\right(?!a)|[{}]|\\text|\\!|(?<=\\)[dt](?=frac)").sub
    own = bare("", gold)
    return [s for s in dict.fromkeys(sides) if s and bare("", s).rpartition("=")[2] != own]


def unboxed(solution: str) -> str:
    """The solution without its ``\\boxed``, and without code for pictures."""
    text = re.sub(r"\[asy\].*?\[/asy\]", "", solution, flags=re.DOTALL)
    inner = r"(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*"
    return re.sub(rf"\\(?:boxed|fbox)\{{({inner})\}}", r"\1", text)


def rewritten(gold: str) -> str:
    """The same answer in other LaTeX."""
    text = re.sub(r"\\[dt]?frac", r"\\tfrac", gold)
    text = re.sub(r"\\(?:left|right)(?![A-Za-z])", "", text)
    if "text" not in text and "mbox" not in text:
        text = re.sub(r"(?<=[-+=,(]) | (?=[-+=,)])", "", text)
    return f"\\displaystyle {text}"


def digit_changed(gold: str) -> str | None:
    """The answer with its last digit one higher."""
    found = list(re.finditer(r"\d", gold))
    if not found:
        return None
    at = found[-1].start()
    return gold[:at] + str((int(gold[at]) + 1) % 10) + gold[at + 1 :]


def sign_flipped(gold: str) -> str | None:
    """Minus the answer, where that is plain to write and not the same."""
    if gold.startswith("-"):
        return gold[1:]
    plain = re.match(r"\d|\\(?:frac|dfrac|sqrt|pi)", gold)
    return f"-{gold}" if plain and gold.strip("0.") and "pm" not in gold else None
