"""Tools: typed Python functions with a docstring, and toolkits, which hold the state they act on.

    class Counter(Toolkit):
        name = "counter"

        def initial(self, rng):
            return {"count": int(rng.integers(10))}

        @tool
        def add(self, amount: Annotated[int, "what to add"] = 1) -> int:
            \"\"\"Add to the counter and return it.\"\"\"
            self.state["count"] += amount
            return self.state["count"]

    kit = Counter()
    kit.reset(np.random.default_rng(0))
    kit.run("add", {"amount": 2})  # ToolResult(text="10", ok=True)

The JSON Schema of a tool comes from its signature. The whole state is one dictionary of plain
values, drawn from a seed: it can be copied, compared and put back.
"""

from __future__ import annotations

import inspect
import json
import threading
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextvars import copy_context
from functools import cache
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from ...errors import SettingError, require
from .schemas import ToolTable
from .state import copied

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}

Function = TypeVar("Function", bound=Callable[..., Any])


class ToolError(Exception):
    """Raised by a tool for what the model did wrong; its text goes back to the model."""


class ToolUnavailable(Exception):
    """Raised by a tool when what it stands on is missing or broken: a sandbox, a server.

    That is nobody's wrong call: an episode in which it happens is left unmeasured.
    """


class ToolResult(NamedTuple):
    """What a call gives back: ``text`` for the model, and whether the tool did its work.

    ``failure`` says what broke that is not the model's fault; it is ``""`` when nothing did.
    """

    text: str
    ok: bool
    failure: str = ""


def tool(function: Function) -> Function:
    """Mark a method of a ``Toolkit`` as a tool.

    Args:
        function: with types, and a docstring that says what the model is told.

    Raises:
        SettingError: it has no docstring, or a parameter has no type that JSON can say.
    """
    function.__tool_schema__ = schema_of(function)  # type: ignore[attr-defined]
    return function


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return ``{"name", "description", "parameters"}`` of a typed function with a docstring.

    The description is the first paragraph of the docstring. Types: ``str``, ``int``, ``float``,
    ``bool``, ``list[T]``, ``dict[str, T]``, ``Literal``, ``T | None``. ``Annotated[T, "text"]``
    describes a parameter. One with a default may be left out. ``self`` does not count.

    Raises:
        SettingError: no docstring, a parameter without a type, or one that JSON cannot say.
    """
    name = getattr(function, "__name__", str(function))
    text = inspect.getdoc(function)
    if not text:
        raise SettingError(f"tool {name!r} has no docstring: say in one what it does")
    hints = get_type_hints(function, include_extras=True)
    properties, required = {}, []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        properties[parameter.name] = _parameter_schema(name, parameter, hints)
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    description = " ".join(text.partition("\n\n")[0].split())
    return {"name": name, "description": description, "parameters": schema}


def _parameter_schema(
    tool_name: str, parameter: inspect.Parameter, hints: Mapping[str, Any]
) -> dict[str, Any]:
    where = f"parameter {parameter.name!r} of tool {tool_name!r}"
    if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
        raise SettingError(f"{where}: write it as a plain parameter with a name")
    if parameter.name not in hints:
        raise SettingError(f"{where} has no type")
    schema = _type_schema(hints[parameter.name], where)
    if parameter.default is not parameter.empty:
        schema["default"] = parameter.default
    return schema


def _type_schema(kind: Any, where: str) -> dict[str, Any]:
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return {**_type_schema(arguments[0], where), "description": str(arguments[1])}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_type_schema(argument, where) for argument in arguments]}
    if origin is list:
        return {"type": "array", "items": _type_schema(arguments[0], where)}
    if origin is dict and arguments[0] is str:
        return {"type": "object", "additionalProperties": _type_schema(arguments[1], where)}
    raise SettingError(
        f"{where} has the type {kind!r}. Use str, int, float, bool, list[T], dict[str, T], "
        "Literal or T | None"
    )


class Toolkit(ABC):
    """Tools that share one state. Subclass it: ``initial`` and methods marked with ``@tool``.

    A tool that refuses raises ``ToolError`` before it changes anything. Tools use no clock, no
    network and no randomness of their own, so that the same calls give the same results.
    """

    #: Names the toolkit, in settings and in problems.
    name: ClassVar[str]

    #: The longest result, in characters; what is beyond is cut off, and said to be.
    max_output: ClassVar[int] = 4000

    #: Seconds that a call may take. One that is late is given up and leaves the episode unmeasured:
    #: a clock must not decide a reward. None: the tools bound their work in steps, and run in the
    #: caller's thread (else each call has a thread of its own: what one thread made, such as a
    #: connection of sqlite3, another may not use).
    call_s: ClassVar[float | None] = 10.0

    #: True if no call changes a state: what is wanted is then worked out without making any.
    stateless: ClassVar[bool] = False

    _late: Future[Any] | None = None  # a call that was given up, and may still change the state

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        require(
            cls.call_s is None or 0 < cls.call_s <= threading.TIMEOUT_MAX,
            f"{cls.__name__}.call_s={cls.call_s} must be above 0, seconds; None: no limit",
        )

    def __init__(self) -> None:
        #: Everything that the tools may change: a dictionary of plain values (JSON).
        self.state: dict[str, Any] = {}

    @abstractmethod
    def initial(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return the state that an episode begins with; all randomness comes from ``rng``."""

    def reset(self, rng: np.random.Generator) -> None:
        """Begin anew, with a state drawn from ``rng``."""
        if self._late is not None and self._late.done():
            self._late = None
        self.state = self.initial(rng)

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of the state."""
        found: dict[str, Any] = copied(self.state)
        return found

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Put back a state that ``snapshot`` returned."""
        self.state = copied(dict(snapshot))

    @classmethod
    def schemas(cls) -> list[dict[str, Any]]:
        """Return name, description and parameters of every tool, by name."""
        return list(_schemas_of(cls))

    def offered(self) -> list[dict[str, Any]]:
        """Return the schemas of the tools of this object: of most toolkits, those of its class."""
        return self.schemas()

    def table(self) -> ToolTable:
        """Return the tools with their schemas compiled."""
        return _own_table(type(self))

    def run(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run one call. Whatever is wrong with it comes back as text; nothing raises."""
        table = self.table()
        given = _whole_numbers(dict(arguments), table.schema(name))
        if fault := table.check(name, given):
            return ToolResult(self._short(f"Error: {fault.message}"), False)
        try:
            return ToolResult(self._short(_return_text(self._do_in_time(name, given))), True)
        except ToolUnavailable as error:
            return ToolResult(self._short(f"Error: {error}"), False, str(error))
        except ToolError as error:
            return ToolResult(self._short(f"Error: {error}"), False)
        except (Exception, SystemExit) as error:  # a tool's own fault must not end the episode
            return ToolResult(self._short(f"Error: {type(error).__name__}: {error}"), False)

    def _do_in_time(self, name: str, arguments: dict[str, Any]) -> Any:
        if self.call_s is None:
            return self.do(name, arguments)
        work = self._late or _in_thread(self.do, name, arguments)
        if self._late or not wait([work], self.call_s).done:
            self._late = work
            raise ToolUnavailable(f"a call has not ended within {self.call_s:g} s")
        return work.result()

    def do(self, name: str, arguments: dict[str, Any]) -> Any:
        """Do what a call that fits its schema asks for; return a plain value, or raise."""
        return getattr(self, name)(**arguments)

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of what the toolkit holds outside of its state. Closing twice is harmless."""

    def _short(self, text: str) -> str:
        if len(text) <= self.max_output:
            return text
        left = len(text) - self.max_output
        return f"{text[: self.max_output]}\n... ({left} more characters)"


def _in_thread(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Call a function in a thread of its own, which ends with the process at the latest."""
    found: Future[Any] = Future()

    def work() -> None:
        try:
            found.set_result(function(*arguments))
        except BaseException as error:
            found.set_exception(error)

    try:
        threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
    except RuntimeError as error:  # too many threads on this machine: not the model's fault
        raise ToolUnavailable(f"no call can be made: {error}") from error
    return found


@cache
def _schemas_of(kind: type[Toolkit]) -> tuple[dict[str, Any], ...]:
    marked = [getattr(value, "__tool_schema__", None) for _, value in inspect.getmembers(kind)]
    return tuple(schema for schema in marked if schema is not None)


@cache
def _own_table(kind: type[Toolkit]) -> ToolTable:
    return ToolTable(kind.schemas())


def _whole_numbers(arguments: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return 2.0 as 2 where an integer is wanted, since both are the same number in JSON."""
    for name, kind in schema.get("properties", {}).items():
        value = arguments.get(name)
        whole = isinstance(kind, Mapping) and kind.get("type") == "integer"
        if whole and isinstance(value, float) and value.is_integer():
            arguments[name] = int(value)
    return arguments


def _return_text(result: Any) -> str:
    if isinstance(result, str):
        return result
    return "done" if result is None else json.dumps(result, ensure_ascii=False)
