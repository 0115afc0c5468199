"""The parts of requests: text of a model, bounded; and forms that refuse what they do not know.

Needs pydantic; the server and the items of the graders are made of them.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetPydanticSchema, model_validator
from pydantic_core import PydanticCustomError, core_schema

FIELDS = 32  # most of one object
_LONGEST = 1 << 18  # characters of a text: no response is longer, and work grows with it
_LARGEST = 1 << 14  # characters of JSON of the arguments of one item of some graders


def _checked_string(value: Any) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError("string_type", "Input should be a valid string")
    if len(value) > _LONGEST:
        raise PydanticCustomError(
            "too_long", f"text of {len(value)} characters: {_LONGEST} at most"
        )
    return value


def small(value: Any) -> Any:
    """Refuse arguments so large that a grader could be kept busy with them."""
    if (size := len(json.dumps(value))) > _LARGEST:
        raise PydanticCustomError("too_large", f"{size} characters of JSON: {_LARGEST} at most")
    return value


def few(value: Any) -> Any:
    """Refuse an object of very many fields at once: each would become an error of its own."""
    if isinstance(value, dict) and len(value) > FIELDS:
        raise PydanticCustomError("too_long", f"an object of {len(value)} fields: {FIELDS} at most")
    return value


#: Text of a response, lone surrogates too: pydantic's own ``str`` refuses those.
Text = Annotated[
    str,
    GetPydanticSchema(
        get_pydantic_core_schema=lambda *_: core_schema.no_info_plain_validator_function(
            _checked_string
        ),
        get_pydantic_json_schema=lambda *_: {"type": "string", "maxLength": _LONGEST},
    ),
]
Flag = Annotated[bool, Field(strict=True)]
Number = Annotated[float, Field(allow_inf_nan=False, strict=True)]


class Form(BaseModel):
    """A request; unknown fields are refused, so that no misspelt one is passed over."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, value: Any) -> Any:
        return few(value)
