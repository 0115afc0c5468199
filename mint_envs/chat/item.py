"""The arguments of the grader, as they come over the wire."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from ..forms import Flag, Form, Text, small


class ChatItem(Form):
    """Arguments of ``mint_envs.chat.grade_instructions``; kinds in the names of their sources."""

    grader: ClassVar[str] = "mint_envs.chat.instructions:grade_instructions"
    response: Text
    instructions: Annotated[
        list[tuple[str, dict[str, Any]]],
        Field(max_length=64, examples=[[["punctuation:no_comma", {}]]]),
        AfterValidator(small),
    ]
    prompt: Text = ""
    loose: Flag = False
    official: Flag = False
