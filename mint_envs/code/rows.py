"""Rows of data sets as problems: HumanEval, MBPP, APPS, CodeContests, LiveCodeBench, MinT's own.

A row is recognised by its fields. Every error names the row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ..datasets import Row, field, load_rows
from ..errors import DatasetError, SettingError
from .plan import make_plan, pair_plan
from .problems import CodeProblem

_TEXT = ("question", "q", "prompt", "content", "text", "description", "question_content", "problem")
_SOLUTION = ("canonical_solution", "reference", "solution", "code", "answer")


def load_code_problems(dataset: str, split: str | None = None) -> list[CodeProblem]:
    """Return the problems of a JSONL or Parquet file or a Hugging Face data set.

    Raises:
        DatasetError: it is missing or broken, a row is of no known form, or its tests are refused
            (the verdict would be the program's own).
    """
    return [read_code_row(row, dataset, i) for i, row in enumerate(load_rows(dataset, split), 1)]


def read_code_row(row: Row, source: str = "rows", number: int = 1) -> CodeProblem:
    """Return the problem of one row.

    Raises:
        DatasetError: as ``load_code_problems``.
    """
    for keys, reader in READERS:
        if all(row.get(key) is not None for key in keys):
            try:
                return reader(row, source, number)
            except (SettingError, ValueError, TypeError, KeyError, AttributeError) as error:
                raise DatasetError(f"row {number} of dataset={source!r}: {error}") from error
    known = "; ".join(" + ".join(keys) for keys, _ in READERS)
    raise DatasetError(
        f"row {number} of dataset={source!r} has the fields {', '.join(map(str, row))}, which is "
        f"no known form. Known by their fields: {known}."
    )


def _json_field(value: Any) -> Any:
    """Return a field that may be JSON in a string."""
    return json.loads(value) if isinstance(value, str) else value


def _row_solution(row: Row) -> str:
    for name in _SOLUTION:
        if isinstance(row.get(name), str) and row[name].strip():
            return str(row[name])
    return ""


def _human_eval(row: Row, source: str, number: int) -> CodeProblem:
    prompt, entry = row["prompt"], row["entry_point"]
    plan = make_plan({"code": row["test"], "entry_point": entry, "prompt": prompt})
    body = row.get("canonical_solution") or ""
    question = f"Complete the function `{entry}`.\n\n{prompt.strip()}"
    return CodeProblem(
        question, plan, prompt + body if body else "", (f"{prompt}    raise ValueError\n",), entry
    )


def _mbpp(row: Row, source: str, number: int) -> CodeProblem:
    labels = _json_field(row.get("labels") or {})
    more = row.get("challenge_test_list") or labels.get("challenge_test_list") or []
    setup = row.get("test_setup_code") or labels.get("test_setup_code") or ""
    setup = "\n".join([setup, *(row.get("test_imports") or [])])
    asserts = [*row["test_list"], *more]
    plan = make_plan({"code": asserts, "setup": setup})
    text = str(field(row, ("text", "prompt", "content"), source, number)).strip()
    return CodeProblem(f"{text}\n\nFor example: {asserts[0].strip()}", plan, _row_solution(row))


def _apps(row: Row, source: str, number: int) -> CodeProblem:
    cases = _json_field(row["input_output"])
    inputs, outputs, name = cases["inputs"], cases["outputs"], cases.get("fn_name")
    text = str(field(row, _TEXT, source, number))
    solutions = _json_field(row.get("solutions") or "[]")
    reference = solutions[0] if solutions else ""
    if name is None:
        return _io_problem(text, list(zip(inputs, outputs, strict=True)), reference)
    call = f"(Solution().{name} if 'Solution' in globals() else {name})"
    pairs = [
        (f"{call}({', '.join(map(repr, arguments))})", _unwrapped(wanted))
        for arguments, wanted in zip(inputs, outputs, strict=True)
    ]
    return CodeProblem(text, pair_plan(pairs, name), reference, name=name)


def _unwrapped(wanted: Any) -> Any:
    """APPS writes the result of a call as a list of one."""
    return wanted[0] if isinstance(wanted, list) and len(wanted) == 1 else wanted


def _io_problem(text: str, pairs: list[tuple[Any, Any]], reference: str) -> CodeProblem:
    tests = [
        {"stdin": _joined_lines(stdin), "stdout": _joined_lines(stdout)} for stdin, stdout in pairs
    ]
    return CodeProblem(text.strip(), make_plan(tests), reference)


def _joined_lines(text: Any) -> str:
    return "\n".join(map(str, text)) if isinstance(text, list) else str(text)


def _fusion(row: Row, source: str, number: int) -> CodeProblem:
    tests = [(t["input"]["stdin"], t["output"]["stdout"]) for t in _json_field(row["test"])]
    return _io_problem(str(field(row, _TEXT, source, number)), tests, _row_solution(row))


def _code_contests(row: Row, source: str, number: int) -> CodeProblem:
    pairs: list[tuple[Any, Any]] = []
    for key in ("public_tests", "private_tests", "generated_tests"):
        tests = row.get(key) or {}
        pairs += zip(tests.get("input") or [], tests.get("output") or [], strict=True)
    return _io_problem(row["description"], pairs, _python_solution(row.get("solutions") or {}))


def _python_solution(solutions: Mapping[str, Any]) -> str:
    languages, texts = solutions.get("language") or [], solutions.get("solution") or []
    python3 = 3
    found = (t for kind, t in zip(languages, texts, strict=True) if kind in (python3, "PYTHON3"))
    return next(found, "")


def _live_code_bench(row: Row, source: str, number: int) -> CodeProblem:
    """Only the public tests: the private ones are pickled, which can run code when it is read."""
    tests = _json_field(row["public_test_cases"])
    if any(test.get("testtype", "stdin") != "stdin" for test in tests):
        raise SettingError("only LiveCodeBench problems with stdin tests can be read")
    pairs = [(test["input"], test["output"]) for test in tests]
    return _io_problem(row["question_content"], pairs, _row_solution(row))


def _own_form(row: Row, source: str, number: int) -> CodeProblem:
    plan = make_plan(_json_field(row["tests"]))
    text = str(field(row, _TEXT, source, number)).strip()
    return CodeProblem(text, plan, _row_solution(row), name=str(row.get("name") or ""))


READERS: list[tuple[tuple[str, ...], Callable[[Row, str, int], CodeProblem]]] = [
    (("tests",), _own_form),
    (("prompt", "entry_point", "test"), _human_eval),
    (("test_list",), _mbpp),
    (("input_output",), _apps),
    (("description", "public_tests"), _code_contests),
    (("public_test_cases",), _live_code_bench),
    (("content", "test"), _fusion),
]
