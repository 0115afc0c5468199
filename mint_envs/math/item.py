"""The arguments of the grader, as they come over the wire."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from ..forms import Flag, Form, Number, Text


class MathItem(Form):
    """Arguments of ``mint_envs.math.grade``."""

    grader: ClassVar[str] = "mint_envs.math.grade:grade"
    gold: Text
    response: Text
    question: Text | None = None
    strict: Flag = False
    format_credit: Annotated[Number, Field(ge=0, le=0.1)] = 0.0
    set_credit: Flag = False
