"""The arguments of the grader, as they come over the wire."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from ..forms import Flag, Form, Number, Text


class CodeItem(Form):
    """Arguments of ``mint_envs.code.grade``. Programs and test code run in the sandbox."""

    grader: ClassVar[str] = "mint_envs.code.grade:grade_without_clock"
    response: Text
    tests: Annotated[
        list[Any] | dict[str, Any],
        Field(
            description="[[expression, expected], ...], [{'stdin': ..., 'stdout': ...}, ...] or "
            "{'code': test code, 'entry_point': name}",
            examples=[[["add(1, 2)", 3]]],
        ),
    ]
    partial_credit: Flag = False
    sandbox_timeout_s: Annotated[Number, Field(ge=0.01)] = 5.0
    max_tests_per_problem: Annotated[int, Field(ge=0, le=1000, strict=True)] = 10
    language: Annotated[str, Field(max_length=20)] = "python"
