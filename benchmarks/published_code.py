"""Published rewards that run programs, and those of MinT's documents.

A program is run by the library's own harness, behind our walls in place of the server that the
library would ask: what decides is theirs, and no program gets at this machine.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mint_envs.code import grade
from mint_envs.sandbox import Job, Limits, Sandbox

_BESIDE = "import os, sys; sys.path.insert(0, os.getcwd())\n"  # as that server runs a script
_LONGEST_S = 20.0  # of CPU time, at most

#: Functions that are asked for, with their tests.
PROGRAMS: tuple[tuple[str, str, tuple[tuple[str, Any], ...]], ...] = (
    ("Write `add(a, b)`, the sum of two numbers.", "add",
     (("2, 3", 5), ("-1, 1", 0), ("7, 7", 14))),
    ("Write `last(items)`, the last item of a list.", "last",
     (("[1, 2]", 2), ("[5]", 5), ("[3, 9, 4]", 4))),
    ("Write `double(x)`, twice a number.", "double", (("2", 4), ("0", 0), ("-3", -6))),
    ("Write `larger(a, b)`, the larger of two numbers.", "larger",
     (("1, 2", 2), ("4, 3", 4), ("-1, -5", -1))),
)  # fmt: skip
RIGHT = {
    "add": "def add(a, b):\n    return a + b\n",
    "last": "def last(items):\n    return items[-1]\n",
    "double": "def double(x):\n    return 2 * x\n",
    "larger": "def larger(a, b):\n    return a if a > b else b\n",
}
_ASKS = "Answer with one block of Python, ```python."


def program_rows() -> list[dict[str, Any]]:
    """Return problems that ask for a program, each with its tests and a right one."""
    return [
        {
            "prompt": f"{asked}\n{_ASKS}",
            "tests": [[f"{name}({given})", wanted] for given, wanted in tests],
            "name": name,
            "right": f"```python\n{RIGHT[name]}```",
        }
        for asked, name, tests in PROGRAMS
    ]


@functools.cache
def _sandbox() -> Sandbox:
    import numpy as np  # which the harness imports

    (prefix,) = Path(np.__file__).parents[4:5]  # PREFIX/lib/python3.x/site-packages/numpy
    return Sandbox(workers=1, python=str(prefix))


class _Client:
    """In place of the library's client of a SandboxFusion server."""

    async def run(
        self, code: str, files: Mapping[str, str], timeout: float
    ) -> tuple[bool, dict[str, Any]]:
        """Return whether the script ended well, as that server does: by its exit code."""
        limits = Limits(cpu_s=min(timeout, _LONGEST_S))
        job = Job(f"{_BESIDE}{code}", "main", files=tuple(files.items()), limits=limits)
        (outcome,) = _sandbox().run_jobs([job])
        if outcome.failure:
            raise RuntimeError(outcome.failure)
        return outcome.exit_code == 0 and not outcome.limit, {}


def tinker_code() -> Callable[[str, dict[str, Any]], Any]:
    """Return tinker-cookbook's grader of programs: its harness, its exit code."""
    grading = importlib.import_module("tinker_cookbook.recipes.code_rl.code_grading")
    grading._sandboxfusion_client = _Client()

    async def reward(response: str, row: dict[str, Any]) -> float:
        program = grading.extract_code_from_model(response)
        if program is None:
            return 0.0
        passed, _ = await grading.sandbox_check_correctness(_as_cases(row), program)
        return float(passed)

    return reward


def _as_cases(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return tests in LiveCodeBench's form: an argument a line."""
    begin = len(f"{row['name']}(")
    return [
        {
            "input": "\n".join(map(json.dumps, json.loads(f"[{call[begin:-1]}]"))),
            "output": json.dumps(wanted),
            "testtype": "functional",
            "metadata": {"func_name": row["name"]},
        }
        for call, wanted in row["tests"]
    ]


def ours_code() -> Callable[[str, Any], Any]:
    """Return our grader of programs."""

    def reward(response: str, tests: Any) -> Any:
        return grade(response, [tuple(test) for test in tests])

    return reward


def of_mint(name: str) -> Any:
    """Return one of the three rewards of MinT's documents, as the tests have them anew."""
    path = Path(__file__).parents[1] / "tests" / "reward_functions.py"
    spec = importlib.util.spec_from_file_location("rewards_of_mint", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["rewards_of_mint"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)
