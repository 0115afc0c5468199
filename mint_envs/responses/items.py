"""A problem as the benchmark sees it from outside: plain values only."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from ..code.plan import Plan, make_plan
from ..core import Task
from ..errors import SettingError
from ..problems import ProblemRef, Turns, as_text, examples_of
from .framing import framed

_ANSWER = 12  # words of an answer that can be written in a form
_SHORT = 5  # words of an answer; a longer one is a text
_MOST = 0.8  # of the problems have a short answer, or what looks like one is not
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\(")


@dataclass(frozen=True)
class Item:
    """One problem.

    Args:
        index: its position in the child process.
        ref: which problem of its task it is; of an endless one, by its index.
        id: its stable name.
        prompt: its text.
        examples: (turns, value) pairs, the one with the full mark first.
        kind: ``"answer"`` (a short one), ``"program"``, ``"text"`` or ``"turns"``.
        tests: the tests of a program as Python text, or "".
        names: functions that the problem may be about.
        given: the right answer as its row has it, where only that is known and no response.
    """

    index: int
    ref: ProblemRef
    id: str
    prompt: str
    examples: tuple[tuple[Turns, float], ...]
    kind: str
    tests: str = ""
    names: tuple[str, ...] = ()
    endless: bool = False
    given: str | None = None

    @property
    def refs(self) -> tuple[ProblemRef, ...]:
        """All names under which somebody may mean this problem.

        Of an endless task, the problem of an index is that of the seed.
        """
        names = ProblemRef(problem_id=self.id), ProblemRef(prompt=self.prompt)
        seed = [ProblemRef(seed=self.ref.index)] if self.endless else []
        return (*names, self.ref, *seed)

    @cached_property
    def gold(self) -> str | None:
        """The response with the full mark, of a single turn; None if none is known."""
        for turns, value in self.examples:
            if value == 1.0 and len(turns) == 1:
                return turns[0].strip()
        return None

    @cached_property
    def answer(self) -> str | None:
        """The right answer, without what stands round it; None if there is none of a few words."""
        text = self.given if self.given is not None else self.gold
        if text is None or self.kind in ("program", "turns"):
            return None
        found = framed(text.strip())[1].strip()
        return found if found and "\n" not in found and len(found.split()) <= _ANSWER else None

    def plan(self) -> Plan | None:
        """Return the tests made ready, or None if there are none that can be read."""
        try:
            return make_plan(ast.literal_eval(self.tests)) if self.tests else None
        except (SettingError, ValueError, SyntaxError):
            return None

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "ref": self.ref.to_row()}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Item:
        examples = tuple((tuple(turns), value) for turns, value in row["examples"])
        read = {"ref": ProblemRef(**row["ref"]), "names": tuple(row["names"])}
        return cls(**{**row, **read, "examples": examples})


def describe_item(task: Task[Any], problem: Any, index: int, ref: ProblemRef) -> Item:
    """Return what can be seen of a problem, which ``ref`` names."""
    prompt = as_text(task.prompt(problem))
    examples = tuple(examples_of(task, problem).items())
    tests = _tests_of(getattr(problem, "sample", problem))  # an adapter knows its sample alone
    if not examples and tests:
        examples = tuple(((text,), 1.0) for text in _lookup_program(tests))
    given = getattr(task, "answer_given", lambda problem: None)(problem)
    item = Item(index, ref, task.problem_id(problem), prompt, examples, "text", tests, given=given)
    endless = task.size is None
    return replace(
        item, kind=_item_kind(task, problem, item), names=_functions_called(item), endless=endless
    )


def _item_kind(task: Task[Any], problem: Any, item: Item) -> str:
    if not task.single_turn:
        return "turns"
    if item.plan() is not None or isinstance(getattr(problem, "plan", None), Plan):
        return "program"
    gold = item.gold
    return "answer" if gold and len(gold.split()) <= _SHORT and "\n" not in gold else "text"


def settled(items: Sequence[Item]) -> list[Item]:
    """Return the items; where only some have a short answer, all of them are texts."""
    short = sum(item.kind == "answer" for item in items)
    if short >= _MOST * len(items):
        return list(items)
    return [replace(i, kind="text") if i.kind == "answer" else i for i in items]


def _tests_of(problem: Any) -> str:
    """Return the tests in a row or sample as text that ``literal_eval`` reads, or ""."""
    value: Any = problem
    for name in ("tests", "test_list", "test"):
        if isinstance(problem, Mapping) and name in problem:
            value = problem[name]
            if name == "test" and isinstance(value, str) and problem.get("entry_point"):
                entry = problem["entry_point"]
                value = {"code": value, "entry_point": entry, "prompt": problem.get("prompt", "")}
            if name == "test_list":
                value = {"code": list(value)}
            break
    else:
        return ""
    if isinstance(value, Sequence) and value and isinstance(value[0], list):
        value = [tuple(pair) for pair in value]  # JSON has no tuples
    try:
        return repr(ast.literal_eval(repr(value)))
    except (ValueError, SyntaxError):
        return ""


def _lookup_program(tests: str) -> list[str]:
    """Return a program that knows the tests by heart, if they are calls with plain values.

    It earns the full mark wherever the tests are run at all: what else does, is not known.
    """
    found: dict[str, list[tuple[Any, Any]]] = {}
    try:
        for test in make_plan(ast.literal_eval(tests)).tests:
            call = ast.parse(test.text, mode="eval").body
            if (
                not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name))
                or call.keywords
            ):
                return []
            arguments = ast.literal_eval(ast.Tuple(call.args, ast.Load()))
            found.setdefault(call.func.id, []).append((arguments, test.expected))
    except (SettingError, ValueError, SyntaxError, AttributeError):
        return []
    lines = [
        f"def {name}(*given):\n    return next(v for a, v in {rows!r} if a == given)\n"
        for name, rows in found.items()
    ]
    return [f"```python\n{''.join(lines)}```"] if lines else []


def _functions_called(item: Item) -> tuple[str, ...]:
    """Return the functions that the tests call, else those that the end of the prompt names."""
    plan = item.plan()
    texts = [test.text for test in plan.tests if hasattr(test, "text")] if plan else []
    found = [name for text in texts for name in _CALLED.findall(text)[:1]]
    if not found:
        found = _CALLED.findall(item.prompt[-2000:])[-1:]
    return tuple(dict.fromkeys(found))
