"""Render a chat template as transformers does, without a tokenizer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from .errors import TokenizerError

Messages = Sequence[Mapping[str, Any]]

_GENERATION = r"(\{%[-+]?)\s*(?:end)?generation\s*([-+]?%\})"


def rendered_freely(
    source: str, names: Mapping[str, Any], messages: Messages, tools: Messages, prompt: bool
) -> str:
    """Render a template as transformers does, but let it change the lists that it is given.

    Kimi K2's appends to a list whenever calls are in the history; the sandbox of transformers
    refuses that. Every rendering has lists of its own here.

    Raises:
        TokenizerError: the template refuses the messages.
    """
    given = {"messages": list(messages), "tools": list(tools) or None}
    try:
        text = _compiled(source).render(**names, **given, add_generation_prompt=prompt)
    except Exception as error:  # a template is foreign code
        raise TokenizerError(f"{type(error).__name__}: {error}"[:200]) from error
    return str(text)


@lru_cache(maxsize=32)
def _compiled(source: str) -> Any:
    from jinja2.sandbox import SandboxedEnvironment

    # A tag of transformers' own, without effect here.
    source = re.sub(_GENERATION, r"\1 set unused = 0 \2", source)
    env = SandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    env.filters["tojson"] = _as_json
    env.globals["raise_exception"] = _refused
    env.globals["strftime_now"] = _strftime_now
    return env.from_string(source)


def _as_json(value: Any, ensure_ascii: bool = False, **more: Any) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, **more)


def _refused(message: str) -> str:
    raise TokenizerError(message)


def _strftime_now(format: str) -> str:
    from datetime import datetime

    return datetime.now().strftime(format)
