"""The arguments of the grader, as they come over the wire."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from ..forms import Flag, Form, small


class ToolUseItem(Form):
    """Arguments of ``mint_envs.tooluse.grade_calls``."""

    grader: ClassVar[str] = "mint_envs.tooluse.grade:grade_calls"
    wanted: Annotated[
        list[dict[str, Any]], Field(fail_fast=True, max_length=64), AfterValidator(small)
    ]
    made: Annotated[list[Any], Field(max_length=64), AfterValidator(small)]
    tools: Annotated[list[dict[str, Any]], Field(fail_fast=True, max_length=256)] | None = None
    partial_credit: Flag = True
