"""Which kind of problem a row is, and what an audit asks of a row of each kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..chat.rows import read_chat_row
from ..code.rows import reader_of
from ..core import Task
from ..datasets import Row, look_up, row_id
from ..errors import DatasetError, SettingError, did_you_mean, require
from ..math.rows import MathProblem, read_math_row
from ..problems import play
from ..records.fields import PROMPTS
from ..reports.report import short
from ..sandbox import Sandbox, shared
from ..tooluse.rows import UNREADABLE, fault_of_row, read_call_row
from ..tooluse.tasks import ToolUseTask
from . import audit_math
from .audit_code import CodeSettings, audit_row
from .audited import Audited

_WORDS = (
    "question", "q", "problem", "prompt", "content", "text", "description", "question_content",
)  # fmt: skip
#: Settings of the environment by which its rows are read, by kind.
SETTINGS: dict[str, tuple[str, ...]] = {
    "code": ("python",),
    "math": ("question_field", "answer_field"),
    "tooluse": (),
    "chat": (),
}
_TOOLS = ("tools", "functions", "function", "involved_classes", "toolkits")

#: Takes a row, its number and the question; returns what is wrong.
Check = Callable[[Row, int], Audited]


@dataclass(frozen=True)
class AuditedKind:
    """What is asked of a row, and what its problem asks (by which repeated ones are found)."""

    check: Check
    question: Callable[[Row], str]


def kind_of(row: Row) -> str:
    """Return ``"code"``, ``"chat"``, ``"tooluse"`` or, of any other row, ``"math"``."""
    if reader_of(row) is not None:
        return "code"
    if "instruction_id_list" in row:
        return "chat"
    return "tooluse" if any(row.get(name) is not None for name in _TOOLS) else "math"


def audited_kind(
    kind: str, source: str, code: CodeSettings, sandbox: str | Sandbox | None,
    settings: Mapping[str, Any],
) -> AuditedKind:  # fmt: skip
    """Return what is asked of rows of this kind.

    Raises:
        SettingError: the kind is unknown, or a setting is none by which its rows are read.
    """
    require(kind in SETTINGS, f"kind={kind!r}: {', '.join(map(repr, SETTINGS))} or 'auto'")
    for name in settings:
        known = SETTINGS[kind]
        require(
            name in known,
            f"an audit of {kind} has no setting {name!r}. {did_you_mean(name, known)}",
        )
    if kind == "code":
        code = replace(code, python=settings.get("python"))
        box = shared(sandbox, code.python)
        return AuditedKind(
            lambda row, number: audit_row(row, number, source, code, box), question_of
        )
    if kind == "math":
        return _math(source, settings)
    if kind == "chat":
        return AuditedKind(lambda row, number: _chat(row, number, source), question_of)
    task = ToolUseTask()
    return AuditedKind(lambda row, number: _tooluse(row, number, source, task), question_of)


def question_of(row: Row) -> str:
    """Return what a row asks, as it is compared with others."""
    value = look_up(row, [*_WORDS, *PROMPTS])
    return value if isinstance(value, str) else json.dumps(value, default=str)


def broken(row: Row, number: int, fault: Exception | str) -> Audited:
    """Return the audit of a row that cannot be read."""
    found = Audited(number, row_id(json.dumps(row, sort_keys=True, default=str)), "")
    found.add("broken row", str(fault))
    return found


def _math(source: str, settings: Mapping[str, Any]) -> AuditedKind:
    def read(row: Row, number: int = 1) -> MathProblem:
        return read_math_row(row, source, number, **settings)

    def check(row: Row, number: int) -> Audited:
        try:
            problem = read(row, number)
        except DatasetError as error:
            return broken(row, number, error)
        return audit_math.audit_problem(problem, row, number, row_id(problem.question))

    def question(row: Row) -> str:
        try:
            return read(row).question
        except DatasetError:
            return question_of(row)

    return AuditedKind(check, question)


def _chat(row: Row, number: int, source: str) -> Audited:
    """Whether the instructions can be read. No answer is known, so none is tried."""
    try:
        problem = read_chat_row(row, source, number)
    except (DatasetError, TypeError, AttributeError) as error:
        return broken(row, number, error)
    text = str(row.get("prompt"))
    found = Audited(number, row_id(text), short(text))
    if problem is None:
        found.add("passed over", f"one of its kinds is left out: {row['instruction_id_list']}")
    return found


def _tooluse(row: Row, number: int, source: str, task: Task[Any]) -> Audited:
    """Whether the row can be read, and the wanted calls are paid in full."""
    try:
        problem = read_call_row(row)
    except UNREADABLE as error:
        return broken(row, number, f"row {number} of dataset={source!r}: {fault_of_row(error)}")
    found = Audited(number, task.problem_id(problem), short(question_of(row)))
    try:
        examples = dict(task.examples(problem))
        best = next((turns for turns, worth in examples.items() if worth > 0), None)
        if best is None:
            found.add("no reference", "the calls that are wanted are not said")
            return found
        turns = (best,) if isinstance(best, str) else tuple(best)
        score = play(task, problem, turns).score
    except (SettingError, ValueError, TypeError, KeyError) as error:
        found.add("reference fails", fault_of_row(error))
        return found
    if score != 1.0:
        found.add("reference fails", f"the calls that are wanted earn {score}")
    return found
