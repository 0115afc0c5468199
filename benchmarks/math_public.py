"""Sets from clones of public repositories: responses with labels, hard answers, copies.

A folder holds what ``git clone`` makes of these: TinyV, grade-school-math, rho, Qwen2.5-Math, ToRA.
What is not there is left out, and said.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mint_envs.math.grade import unreadable
from mint_envs.math.prose.boxes import nth_last_box, outermost

from .math_forms import FINISHED
from .math_rows import IDLE, Row, copied, rewritten

#: Labels that are wrong by reading, by set and row: the graders that made them took another number
#: of the response, or none; or forgave a factor of 100. 102 has a right answer that is broken.
RIGHT_AFTER_ALL: Mapping[str, Sequence[int]] = {
    "qwen": (583,),
    "rho-math-1b-v0.1/gsm8k": (16, 76, 908),
    "rho-math-7b-v0.1/gsm8k": (53, 138, 405, 509, 607, 669, 692, 844, 1218),
    "rho-math-1b-v0.1/minerva_math": (20, 37, 53, 107, 146, 174, 182, 243, 329, 337, 374, 384),
    "rho-math-7b-v0.1/minerva_math": (73, 120, 255, 420, 451),
    "rho-math-1b-interpreter-v0.1/minerva_math": (179, 339, 456),
    "rho-math-7b-interpreter-v0.1/minerva_math": (456,),
}
WRONG_AFTER_ALL: Mapping[str, Sequence[int]] = {
    "rho-math-1b-v0.1/gsm8k": (328, 413, 951),
    "rho-math-7b-v0.1/gsm8k": (466, 586, 1100, 1182),
    "rho-math-1b-interpreter-v0.1/gsm8k": (199, 594),
    "rho-math-7b-interpreter-v0.1/gsm8k": (413, 1067),
    "rho-math-1b-v0.1/minerva_math": (25, 336, 399, 474),
    "rho-math-7b-v0.1/minerva_math": (377, 415, 433),
    "rho-math-1b-interpreter-v0.1/minerva_math": (307,),
    "rho-math-7b-interpreter-v0.1/minerva_math": (25, 307, 399),
}
_BROKEN = {"(+5)(b+2)"}  # right answers that lost a letter
_DISPUTED = 52  # of HardVerify-Math: the answer called wrong is the right one
_FURTHER = (  # ways to write a formula that change nothing, besides the five of ``IDLE``
    *("\\left({}\\right)", "\\displaystyle {}", "{} \\cdot 1", "0+{}", "\\frac{{{}}}{{1}}", "[{}]"),
    *("({})^1", "{}-0", "{{{}}}", "+({})", "x={}", "({}) \\times 1", "2\\cdot({})/2"),
)


def public(folder: Path, say: Callable[[str], object]) -> dict[str, list[Row]]:
    """The sets of the clones in ``folder``; ``say`` is told what is not there."""
    found: dict[str, list[Row]] = {}
    for make in (_hard, _gsm8k_responses, _qwen_responses, _rho_responses, _problems):
        try:
            found |= make(folder, say)
        except OSError as error:
            say(f"left out: {error}")
    return found


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def _hard(folder: Path, say: Callable[[str], object]) -> dict[str, list[Row]]:
    path = folder / "TinyV" / "benchmarks" / "HardVerify-Math.json"
    rows = []
    for item in json.loads(path.read_text(encoding="utf-8")):
        for field, right in (("fn_output", True), ("tn_output", item["id"] == _DISPUTED)):
            answer = f"\\boxed{{{item[field]}}}"
            rows.append(Row(item["ground_truth"], answer, right, item["question"]))
    return {"HardVerify-Math, 1 label corrected": rows}


def _gsm8k_responses(folder: Path, say: Callable[[str], object]) -> dict[str, list[Row]]:
    path = folder / "grade-school-math/grade_school_math/data/example_model_solutions.jsonl"
    rows = []
    for item in _lines(path):
        gold = item["ground_truth"].rpartition("A:")[2].strip()
        for told in filter(lambda value: isinstance(value, dict), item.values()):
            rows.append(Row(gold, told["solution"], told["is_correct"], item["question"]))
    return {"GSM8K by GPT-3": rows}


def _qwen_responses(folder: Path, say: Callable[[str], object]) -> dict[str, list[Row]]:
    path = folder / "Qwen2.5-Math/evaluation/data/eval_rm_maj_example/math_cot_100.jsonl"
    return _labelled("qwen", "MATH by Qwen2.5-Math", _lines(path))


def _rho_responses(folder: Path, say: Callable[[str], object]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    with zipfile.ZipFile(folder / "rho" / "rho-1" / "outputs.zip") as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".jsonl"):
                key = "/".join(name.split("/")[1:3])
                items = [json.loads(line) for line in archive.read(name).splitlines()]
                found |= _labelled(key, key, items)
    return found


def _labelled(key: str, title: str, items: Sequence[Any]) -> dict[str, list[Row]]:
    """Responses with the labels of who published them, but for those that are wrong by reading."""
    told = [
        (item["gt"], response, bool(right), item["question"])
        for item in items
        for response, right in zip(item["code"], item["score"], strict=True)
    ]
    right, wrong = RIGHT_AFTER_ALL.get(key, ()), WRONG_AFTER_ALL.get(key, ())
    rows = [
        Row(gold, text, (label or at in right) and at not in wrong, question)
        for at, (gold, text, label, question) in enumerate(told)
        if gold not in _BROKEN
    ]
    return {f"{title}, {len(right) + len(wrong)} labels corrected": rows}


# -- problems: what is asked of a change of form


def _problems(folder: Path, say: Callable[[str], object]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for name, rows in _asked(folder, say):
        kinds: dict[str, int] = {}
        for gold, _ in rows:
            if why := unreadable(gold):
                kinds[why] = kinds.get(why, 0) + 1
        said = "; ".join(f"{count} {why}" for why, count in sorted(kinds.items())[:12])
        say(f"{name}: {sum(kinds.values())} of {len(rows)} right answers cannot be read: {said}")
        found[f"{name}, right answers in a box"] = [
            Row(gold, f"\\boxed{{{gold}}}", True, question) for gold, question in rows
        ]
        found[f"{name}, in other LaTeX"] = [
            Row(gold, f"\\boxed{{{rewritten(gold)}}}", True, question) for gold, question in rows
        ]
        for form, write in FINISHED.items():
            found[f"{name}, {form}"] = [
                Row(gold, f"\\boxed{{{other}}}", True, question)
                for gold, question in rows
                if (other := write(gold)) != gold
            ]
        for kind, ways in (("copies", IDLE), ("further copies", _FURTHER)):
            found[f"{name}, {kind} of {len(rows)} problems"] = [
                Row(gold, f"\\boxed{{{way.format(copy)}}}", False, question)
                for gold, question in rows
                for copy in copied(gold, question)
                for way in ways
            ]
    return found


def _asked(
    folder: Path, say: Callable[[str], object]
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each set's right answers and questions."""
    data = folder / "Qwen2.5-Math" / "evaluation" / "data"
    for name, path, gold, question in (
        ("MATH", folder / "ToRA/src/data/math/test.jsonl", "solution", "problem"),
        ("College Math", data / "college_math/test.jsonl", "answer", "question"),
        ("OlympiadBench", data / "olympiadbench/test.jsonl", "final_answer", "question"),
    ):
        if not path.is_file():
            say(f"left out: {name}: no {path}")
            continue
        rows = [(item[gold], item[question]) for item in _lines(path)]
        yield name, [(_gold(told, gold), asked) for told, asked in rows]


def _gold(told: Any, field: str) -> str:
    if isinstance(told, list):
        return ", ".join(told).strip("$")
    boxes = outermost(told, nth_last_box(told)) if field == "solution" else []
    return boxes[-1][2] or "" if boxes else str(told)
