"""For libraries in which the model acts by native tool calls: tools as typed functions.

A task with tools of its own (``Task.tools``; mint/ToolUse-v0 and what is made of it) offers those,
with ``finish`` for the last message, which comes as "Answer: ...". Problems without tools are
answered by one tool, ``submit``, that takes the response as text. Either way a call becomes the
text that the environment reads, so limits and verdict are the environment's own.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Literal

from ..core import ChatStyle, Message, Task
from ..errors import require
from .shapes import TextEpisode

_NATIVE = ChatStyle(lists_tools=True, tool_role=True, calls_tools=True)
_PROBLEMS = 64  # so many are asked whether they have tools
_PLAIN: Mapping[str, Any] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "null": None,
}  # fmt: skip


@dataclass(frozen=True)
class Tools:
    """``functions``: methods for a class that has ``_respond(text) -> str``, by name.

    ``task`` speaks as a library does that lists and calls the tools itself.
    """

    functions: Mapping[str, Callable[..., str]]
    task: Task[Any]

    def start(self, index: int) -> TextEpisode:
        """Begin an episode on the problem of an index."""
        return TextEpisode(self.task, self.task.problem(index))

    def prompt(self, episode: TextEpisode) -> str:
        """Return the request. Tools are described by the library, not by the prompt.

        Of a chat that has gone on for a while it is told who said what.
        """
        messages = episode.messages
        if all(message["role"] != "assistant" for message in messages):
            return "\n\n".join(message["content"] for message in messages)
        return "\n\n".join(f"{m['role'].capitalize()}: {m['content']}" for m in messages)

    def read(self, messages: Sequence[Message]) -> str:
        """Return what the environment says."""
        return "\n".join(message["content"] for message in messages) or "The work is done."

    def put_in(self, kind: type, methods: Mapping[str, Any]) -> None:
        """Give a class of a library these methods.

        Raises:
            SettingError: it has one of that name, which the library itself calls.
        """
        for name, method in methods.items():
            require(
                not hasattr(kind, name),
                f"the tool {name!r} is the name of a method that the library calls: rename it",
            )
            setattr(kind, name, method)


def offered(task: Task[Any]) -> Tools:
    """Return the tools through which a model acts in episodes of ``task``.

    Raises:
        SettingError: a tool with a parameter that Python cannot name.
    """
    own = {tool["name"]: _forward(tool) for tool in task.tools()}
    functions = dict(sorted(own.items()))
    if own:
        functions.setdefault("finish", _Text.finish)
    if not own or _some_have_none(task):
        functions.setdefault("submit", _Text.submit)
    return Tools(functions, task.fitted(_NATIVE))


def _some_have_none(task: Task[Any]) -> bool:
    count = min(_PROBLEMS, task.size or _PROBLEMS)
    return not all(task.tools(task.problem(number)) for number in range(count))


class _Text:
    """Tools of our own; the class that they are put in has ``_respond``."""

    _respond: Callable[[str], str]

    def submit(self, response: str) -> str:
        """Send your answer or, where the task has several turns, your next message.

        Args:
            response: The whole text of it.

        Returns:
            What comes back.
        """
        return self._respond(response)

    def finish(self, answer: str = "") -> str:
        """End the work, once all that was asked for is done.

        Args:
            answer: The answer alone, if a question was asked.

        Returns:
            A confirmation.
        """
        return self._respond(f"Answer: {answer}")


def _forward(tool: Mapping[str, Any]) -> Callable[..., str]:
    """Return a method that sends a call of ``tool`` as text; it looks as the schema has it.

    It takes any arguments whatever: what is wrong with them, the environment says.
    """
    name = tool["name"]

    def call(self: Any, **arguments: Any) -> str:
        body = json.dumps({"name": name, "arguments": arguments})
        return str(self._respond(f"<tool_call>\n{body}\n</tool_call>"))

    shown = _parameters(name, tool.get("parameters") or {})
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    call.__name__ = call.__qualname__ = name
    call.__annotations__ = {**{p.name: p.annotation for p in shown}, "return": str}
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [own, *shown], return_annotation=str
    )
    call.__doc__ = _google(tool)
    return call


def _parameters(tool: str, schema: Mapping[str, Any]) -> list[inspect.Parameter]:
    required = schema.get("required", ())
    known = schema.get("properties", {})
    return [_keyword_parameter(tool, name, kind, name in required) for name, kind in known.items()]


def _keyword_parameter(tool: str, name: str, schema: Any, required: bool) -> inspect.Parameter:
    """Return one of a tool's parameters; one that may be left out, and has no default, is None."""
    kind = _type(schema)
    default = inspect.Parameter.empty if required else _default(schema)
    if default is None and kind is not Any:
        kind = kind | None
    try:
        return inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
        )
    except ValueError:
        require(False, f"parameter {name!r} of tool {tool!r} is no name that Python has; rename it")
        raise


def _default(schema: Any) -> Any:
    return schema.get("default") if isinstance(schema, Mapping) else None


def _type(schema: Any) -> Any:
    """Return the Python type that a JSON Schema asks for; Any where no type says it."""
    if not isinstance(schema, Mapping):
        return Any
    if isinstance(schema.get("enum"), Sequence) and schema["enum"]:
        return Literal[tuple(schema["enum"])]
    if isinstance(schema.get("anyOf"), Sequence):
        return _any_of([_type(one) for one in schema["anyOf"]])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _any_of([_type({**schema, "type": one}) for one in kind])
    return _container_type(schema) if kind in ("array", "object") else _PLAIN.get(str(kind), Any)


def _container_type(schema: Mapping[str, Any]) -> Any:
    if schema["type"] == "array":
        return list[_type(schema.get("items"))]  # type: ignore[misc]
    return dict[str, _type(schema.get("additionalProperties"))]  # type: ignore[misc]


def _any_of(kinds: Sequence[Any]) -> Any:
    kinds = sorted(kinds, key=lambda kind: kind is None)  # ``None | int`` is no type
    return Any if not kinds or Any in kinds or kinds[0] is None else reduce(or_, kinds)


def _google(tool: Mapping[str, Any]) -> str:
    """Return a docstring in Google's style, which libraries read parameters from."""
    known = (tool.get("parameters") or {}).get("properties", {})
    told = [f"    {name}: {_description(schema)}" for name, schema in known.items()]
    text = tool.get("description") or tool["name"]
    arguments = "\n".join(["\n\nArgs:", *told]) if told else ""
    return f"{text}{arguments}\n\nReturns:\n    The result, or what is wrong with the call."


def _description(schema: Any) -> str:
    told = schema.get("description") if isinstance(schema, Mapping) else None
    return " ".join(str(told or "a value").split())
