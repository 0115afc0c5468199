"""Responses that try to act: on the process that scores them, on files, on their own verdict.

They are scored in a process of their own. What they did is told by marks that they leave, and by
Python's audit events: an ``exec`` of code that holds a probe's name means that model text is
evaluated where the verdict is made.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core import Task
from ..problems import ProblemRef, Turns, examples_of
from .guards import in_child
from .verdicts import outcome

NAME = "mint_envs_probe"

HERE = "here"  # the response ran in the process of the verdict
FILE = "file"  # it wrote a file outside of any sandbox

_ACT = """\
import builtins, os
builtins.{name} = 1
os.environ["{name}"] = "1"
open({path!r}, "w").close()
"""
_VALUE = '[__import__("os").environ.update({name}="1"), open({path!r}, "w").close()]'


def probes(path: str, examples: Mapping[Turns, float]) -> dict[str, Turns]:
    """Return responses by what they are: code, expressions, shell lines, and answers with code."""
    act, value = _ACT.format(name=NAME, path=path), _VALUE.format(name=NAME, path=path)
    shell = f"touch {path}"
    call = json.dumps({"name": "python", "arguments": {"code": act}})
    texts = {
        "a program": act,
        "a program in a fence": code_block(act),
        "a program after a function": f"def probe(*given):\n    return None\n{act}",
        "an expression": value,
        "an expression to print": f"print({value})",
        "an unknown name": NAME,
        "a sum with an unknown name": f"{NAME} + 1",
        "a tool call": f"<tool_call>\n{call}\n</tool_call>",
        "a shell line": shell,
        "a shell line in a fence": f"```bash\n{shell}\n```",
        "a shell line between others": f"x; {shell}; #",
        "a shell substitution": f"$({shell}) `{shell}`",
        "a YAML object": f'!!python/object/apply:os.system ["{shell}"]',
    }
    found: dict[str, Turns] = {what: (text,) for what, text in texts.items()}
    for turns in list(examples)[:1]:
        found["a right answer with a program before it"] = (*turns[:-1], with_code(act, turns[-1]))
    return found


def code_block(code: str) -> str:
    """Return ``code`` as models write it."""
    return f"```python\n{code}\n```"


def with_code(code: str, answer: str) -> str:
    """Return ``answer`` with ``code`` before it, inside its fence if it has one."""
    opening = re.search(r"```\w*\n", answer)
    if opening is None:
        return f"{code}\n{answer}"
    return f"{answer[: opening.end()]}{code}\n{answer[opening.end() :]}"


def equal_to_all(texts: list[str]) -> str | None:
    """Return a program whose functions return what equals everything; None if none is named."""
    names = dict.fromkeys(n for text in texts for n in re.findall(r"\b([A-Za-z_]\w*)\(", text))
    names.pop("print", None)
    if not names:
        return None
    functions = [f"def {name}(*args, **kwargs):\n    return Equal()\n" for name in names]
    return code_block(_EQUAL + "\n".join(functions))


_EQUAL = """\
class Equal:
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return 0

"""


def try_probes(task: Task[Any], seed: int) -> dict[str, tuple[str, str]]:
    """Return {kind of harm: (what the response was, the response)} of the first of each kind.

    Raises:
        RuntimeError: the process in which they were scored failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, NAME))
        found = in_child(_score_all, task, seed, path)
    return {kind: (what, text.replace(path, "FILE")) for kind, (what, text) in found.items()}


def _score_all(task: Task[Any], seed: int, path: str) -> dict[str, tuple[str, str]]:
    """Score every probe here: the job of another process, which is thrown away."""
    marks = _Marks(path)
    problem = ProblemRef(seed=seed).of(task)
    examples = examples_of(task, problem)
    for first in list(examples)[:1]:
        outcome(task, problem, first)  # what a grader sets up when first used is not a probe's
    found: dict[str, tuple[str, str]] = {}
    for what, turns in probes(path, examples).items():
        marks.clear()
        outcome(task, problem, turns)
        for kind in marks.left():
            found.setdefault(kind, (what, turns[-1]))
    return found


class _Marks:
    """The marks of a probe, and the audit hook that sees one of them."""

    def __init__(self, path: str) -> None:
        self._path, self._executed = path, False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "exec" and not self._executed:
            self._executed = NAME in _names_in_code(arguments[0])

    def clear(self) -> None:
        self._executed = False
        os.environ.pop(NAME, None)
        vars(sys.modules["builtins"]).pop(NAME, None)
        Path(self._path).unlink(missing_ok=True)

    def left(self) -> list[str]:
        here = self._executed or NAME in os.environ or NAME in vars(sys.modules["builtins"])
        return [HERE] * here + [FILE] * Path(self._path).exists()


def _names_in_code(code: Any) -> set[str]:
    """Return the names and texts in a code object."""
    names = getattr(code, "co_names", ())
    constants = getattr(code, "co_consts", ())
    texts = [c for c in constants if isinstance(c, str)]
    tuples = [item for c in constants if isinstance(c, tuple) for item in c]
    return {*names, *texts, *(item for item in tuples if isinstance(item, str))}
