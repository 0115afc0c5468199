"""The tools that are on offer, and whether a call fits one of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ...errors import SettingError
from ..formats.literals import read_literal
from ..formats.strict import MAX_DEPTH, CallFault, deeper_than, read_whole
from .checking import SchemaFault, Uncheckable, checker, errors, fits
from .parameters import as_function
from .surely import Surely, surely, takes_no_text

_PYTHON_WORDS = {"True": True, "False": False, "None": None}

#: BFCL's names of types, and JSON Schema's.
_TYPES = {"dict": "object", "float": "number", "tuple": "array"}

#: The kind of fault by the schema keyword that a call breaks, the most telling first.
_KINDS = {
    "required": "missing_argument",
    "additionalProperties": "unknown_argument",
    "type": "wrong_type",
    "enum": "not_in_enum",
}


class ToolTable:
    """Tools by name, with their schemas compiled. Reuse one when parsing many texts.

    Args:
        tools: OpenAI's form (``{"type": "function", "function": {...}}``), or the inner objects
            with ``name`` and ``parameters``, a JSON Schema; BFCL's type names, and what
            ``parameters.as_function`` takes, are understood.

    Raises:
        SettingError: a tool without a name, a name that stands twice, or a broken schema.
    """

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        self._schemas: dict[str, dict[str, Any]] = {}
        for tool in tools:
            name, schema = _name_and_schema(tool)
            if name in self._schemas:
                raise SettingError(f"tools: the name {name!r} stands twice")
            self._schemas[name] = schema
        self._validators = {name: _validator(name, s) for name, s in self._schemas.items()}
        self._surely = {name: surely(one.schema) for name, one in self._validators.items()}
        self._parts = {name: _known_parts(one.schema) for name, one in self._validators.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the schemas; compiled validators cannot be."""
        tools = [{"name": name, "parameters": one} for name, one in self._schemas.items()]
        return ToolTable, (tools,)

    @classmethod
    def of(cls, tools: Sequence[Mapping[str, Any]] | ToolTable | None) -> ToolTable | None:
        """Return the table of ``tools``; equal lists share one."""
        if tools is None or isinstance(tools, ToolTable):
            return tools
        try:
            return _parsed_table(json.dumps(list(tools)))
        except (TypeError, ValueError, RecursionError) as error:
            if isinstance(error, SettingError):
                raise
            raise SettingError(
                f"tools must be a list of JSON objects with name and parameters: {error}"
            ) from error

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._schemas)

    def schema(self, name: str) -> Mapping[str, Any]:
        """Return the JSON Schema of the parameters of ``name``; empty for an unknown tool."""
        return self._schemas.get(name, {})

    def check(self, name: str, arguments: dict[str, Any]) -> CallFault | None:
        """Return why the call does not fit, or None. Nothing is coerced."""
        if name not in self._validators:
            return CallFault("unknown_tool", f"there is no tool {name[:80]!r}")
        if (fine := self._surely[name]) is not None and fine(arguments):
            return None
        try:
            found = errors(self._validators[name], arguments)
        except Uncheckable as error:
            return CallFault("invalid_value", str(error))
        if not found:
            return None
        order = list(_KINDS)
        worst = min(found, key=lambda e: order.index(e.validator) if e.validator in order else 9)
        return CallFault(_KINDS.get(worst.validator, "invalid_value"), _schema_error_text(worst))

    def coerce(self, name: str, texts: dict[str, Any], python: bool = False) -> dict[str, Any]:
        """Return arguments written as plain text, as what the schema of ``name`` asks for.

        Text stays text where the schema takes it; else it is read as JSON, if it is JSON, or
        ``python`` and it is a literal of Python's. What is no text stays what it is.
        """
        parts = self._parts.get(name, {})
        return {
            key: self._coerced(name, key, text, python)
            if key in parts and isinstance(text, str)
            else text
            for key, text in texts.items()
        }

    def _coerced(self, name: str, key: str, text: str, python: bool) -> Any:
        schema, fine = self._parts[name][key]
        if fine is not None and fine(text):
            return text
        if not takes_no_text(schema) and fits(self._validators[name].evolve(schema=schema), text):
            return text
        return _value_of(text, python)


def plain_tools(tools: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Return tools as ``{"name", "description", "parameters"}``; of one name, the first.

    Raises:
        SettingError: a tool without a name, or a broken schema.
    """
    found: dict[str, dict[str, Any]] = {}
    for tool in tools:
        name, schema = _name_and_schema(tool)
        told = str(tool.get("function", tool).get("description", ""))
        found.setdefault(name, {"name": name, "description": told, "parameters": schema})
    return tuple(found.values())


@lru_cache(maxsize=64)
def _parsed_table(tools: str) -> ToolTable:
    return ToolTable(json.loads(tools))


def _known_parts(schema: Mapping[str, Any]) -> dict[str, tuple[Any, Surely | None]]:
    """Return the schema of each parameter, and what says that a value surely fits it."""
    known = schema.get("properties", {})
    return {key: (part, surely(part)) for key, part in known.items()}


def _value_of(text: str, python: bool) -> Any:
    word = text.strip()
    if word in _PYTHON_WORDS:  # chat templates write these where they print Python values
        return _PYTHON_WORDS[word]
    found = read_whole(word)
    if found.fault is None:
        return found.value
    return read_literal(word, text) if python else text


def _schema_error_text(error: Any) -> str:
    where = ".".join(map(str, error.absolute_path))
    message = error.message if len(error.message) <= 200 else error.message[:197] + "..."
    return f"{where}: {message}" if where else str(message)


def _name_and_schema(tool: Any) -> tuple[str, dict[str, Any]]:
    inner = as_function(tool) if isinstance(tool, Mapping) else {}
    if not isinstance(inner.get("name"), str):
        raise SettingError(
            f"tools: {str(tool)[:80]!r} is no tool. Give "
            '{"name": ..., "parameters": {a JSON Schema}}, or OpenAI\'s form round it.'
        )
    schema = inner["parameters"] or {}
    if not isinstance(schema, Mapping):
        raise SettingError(f"tools: the parameters of {inner['name']!r} are no JSON Schema")
    if deeper_than(schema, MAX_DEPTH):
        raise SettingError(f"tools: the schema of {inner['name']!r} is nested too deep")
    return inner["name"], {"type": "object", **normal(schema)}


def normal(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with BFCL's names of types turned into JSON Schema's."""
    found = dict(schema)
    kind = found.get("type")
    if kind == "any":
        del found["type"]
    elif isinstance(kind, str):
        found["type"] = _TYPES.get(kind, kind)
    if isinstance(found.get("properties"), Mapping):
        found["properties"] = {
            key: normal(value) if isinstance(value, Mapping) else value
            for key, value in found["properties"].items()
        }
    if isinstance(found.get("items"), Mapping):
        found["items"] = normal(found["items"])
    return found


def _validator(name: str, schema: dict[str, Any]) -> Any:
    try:
        return checker(schema)
    except SchemaFault as error:
        raise SettingError(f"tools: the schema of {name!r} is broken: {error}") from error
