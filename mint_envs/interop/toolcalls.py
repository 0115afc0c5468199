"""For libraries in which the model acts by native tool calls: tools as typed functions.

An environment with tools of its own (mint/ToolUse-v0) offers those, with ``finish`` for the last
message. Any other offers one tool, ``submit``, that takes the response as text. Either way a call
becomes the text that the environment reads, so limits and verdict are the environment's own.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from ..core import Message, Task
from ..tooluse.tasks import ToolUseTask
from ..tooluse.toolkits import TOOLKITS
from .shapes import TextEpisode


@dataclass(frozen=True)
class Tools:
    """``functions``: methods for a class that has ``_respond(text) -> str``, by name."""

    functions: Mapping[str, Callable[..., str]]
    native: bool

    def prompt(self, episode: TextEpisode) -> str:
        """Return the request. Native tools are described by the library, not by the prompt."""
        kept = [m for m in episode.messages if not self.native or m["role"] != "system"]
        return "\n\n".join(message["content"] for message in kept)

    def read(self, messages: Sequence[Message]) -> str:
        """Return what the environment says, without the marks of its own text protocol."""
        text = "\n".join(message["content"] for message in messages) or "The work is done."
        if self.native:
            text = text.removeprefix("<tool_response>\n").removesuffix("\n</tool_response>")
        return text


def methods(task: Task[Any]) -> Tools:
    """Return the tools through which a model acts in episodes of ``task``."""
    if not isinstance(task, ToolUseTask):
        return Tools({"submit": _Text.submit}, False)
    kits = [TOOLKITS[name] for name in task.toolkits]
    named = {schema["name"]: kit for kit in kits for schema in kit.schemas()}
    calls = {name: _forward(getattr(kit, name)) for name, kit in sorted(named.items())}
    return Tools({**calls, "finish": _Text.finish}, True)


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


def _forward(tool: Callable[..., Any]) -> Callable[..., str]:
    """Return a method that sends a call of ``tool`` as text; it looks as ``tool`` does.

    It takes any arguments whatever: what is wrong with them, the environment says.
    """

    def call(self: Any, **arguments: Any) -> str:
        body = json.dumps({"name": tool.__name__, "arguments": arguments})
        return str(self._respond(f"<tool_call>\n{body}\n</tool_call>"))

    hints = get_type_hints(tool, include_extras=True)
    kinds = {name: _unannotated(hint) for name, hint in hints.items()}
    signature = inspect.signature(tool)
    shown = [p.replace(annotation=kinds.get(p.name, Any)) for p in signature.parameters.values()]
    call.__name__ = call.__qualname__ = tool.__name__
    call.__annotations__ = {**kinds, "return": str}
    call.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=shown, return_annotation=str
    )
    call.__doc__ = _google(tool, hints)
    return call


def _google(tool: Callable[..., Any], hints: Mapping[str, Any]) -> str:
    """Return a docstring in Google's style, which libraries read parameters from."""
    named = [name for name in inspect.signature(tool).parameters if name != "self"]
    told = [f"    {name}: {_note(hints[name])}" for name in named]
    text = inspect.getdoc(tool) or tool.__name__
    arguments = "\n".join(["\n\nArgs:", *told]) if told else ""
    return f"{text}{arguments}\n\nReturns:\n    The result, or what is wrong with the call."


def _unannotated(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _note(hint: Any) -> str:
    return str(get_args(hint)[1]) if get_origin(hint) is Annotated else "a value"
