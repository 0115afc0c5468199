"""Programs in Python, run by the code sandbox."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Protocol

import numpy as np

from .tools import ToolError, Toolkit, ToolUnavailable, tool

_MAX_CODE = 20_000
_LIMITS = {"cpu_s": 2.0, "memory": 1 << 29, "output": 1 << 16}


class ProgramOutcome(Protocol):
    """What a sandbox says of a program: the part of its ``Outcome`` that is used here."""

    @property
    def stdout(self) -> bytes: ...
    @property
    def limit(self) -> str: ...
    @property
    def failure(self) -> str: ...
    def error(self, index: int) -> tuple[str, str]: ...


class Python(Toolkit):
    """It has no state: every program begins anew, in a process that sees nothing of this machine.

    The same program gives the same result, unless it asks for the time: chance is seeded and
    hashes are fixed. Where no sandbox works, calls leave the episode unmeasured.

    Args:
        runner: runs a program and returns its outcome; default: the shared code sandbox.
    """

    name = "python"
    call_s = None  # the sandbox has limits of its own
    stateless = True

    def __init__(self, runner: Callable[[str], ProgramOutcome] | None = None) -> None:
        super().__init__()
        self._runner = runner or _in_sandbox

    def initial(self, rng: np.random.Generator) -> dict[str, Any]:
        return {}

    @tool
    def run_python(self, code: Annotated[str, "a program; only what it prints is returned"]) -> str:
        """Run a Python program and return what it prints. No files, no network, 2 seconds."""
        if len(code) > _MAX_CODE:
            raise ToolError(f"the program is longer than {_MAX_CODE} characters")
        outcome = self._runner(code)
        if outcome.failure:
            raise ToolUnavailable(f"the sandbox failed: {outcome.failure}")
        printed = outcome.stdout.decode("utf-8", "replace")
        if outcome.limit:
            raise ToolError(f"stopped at the limit of {outcome.limit}\n{printed}".rstrip())
        kind, text = outcome.error(-1)
        if kind:
            raise ToolError(f"{text}\n{printed}".rstrip())
        return printed.rstrip("\n") or "(nothing was printed)"


def _in_sandbox(code: str) -> ProgramOutcome:
    """Run a program in the shared sandbox: the one place where a family uses another's room."""
    from ...sandbox import Limits, SandboxUnavailable, shared

    code.encode()  # a lone surrogate is the model's fault, so it must not look like the sandbox's
    try:
        return shared(None).run(code, stdin="", limits=Limits(**_LIMITS))  # type: ignore[arg-type]
    except SandboxUnavailable as error:
        raise ToolUnavailable(str(error)) from error
