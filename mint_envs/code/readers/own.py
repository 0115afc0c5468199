"""Our own form: ``tests`` in any of the three forms of ``grade``, limits and a checker beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...datasets import Row
from ...errors import SettingError
from ...sandbox import language_name
from ..checkers import read_checker
from ..limits import LIMIT_KEYS, read_limits
from ..plan import plan_of_tests
from ..problems import CodeProblem
from ..scripts import io_test
from .reader import Reader, parsed, solution_of, text_of

_OF_A_TEST = ("compare", "tolerance")


def _read_own(row: Row) -> CodeProblem:
    tests = parsed(row["tests"])
    plan = plan_of_tests(tests)
    given = {key: row[key] for key in _OF_A_TEST if row.get(key) is not None}
    if row.get("checker") is not None:
        given["checker"] = read_checker(row["checker"])
    if given and plan.kind != "main":
        raise SettingError(f"{', '.join(given)}: only for tests with 'stdin' and 'stdout'")
    if given:
        items = [tests] if isinstance(tests, Mapping) else tests
        plan = replace(plan, tests=tuple(io_test(t, i, **given) for i, t in enumerate(items)))
    language = language_name(str(row["language"])) if row.get("language") else ""
    plan = replace(plan, limits=read_limits(row), language=language)
    return CodeProblem(text_of(row), plan, solution_of(row), name=str(row.get("name") or ""))


READER = Reader("MinT", ("tests",), _read_own, (*LIMIT_KEYS, *_OF_A_TEST, "checker", "language"))
