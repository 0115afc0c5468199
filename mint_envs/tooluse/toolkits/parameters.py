"""The parameters of a tool as a JSON Schema, whichever library wrote them down.

{"name", "parameters": {a JSON Schema}}         OpenAI's inner object, and its form round it
{"name", "input_schema": {a JSON Schema}}       Anthropic's; MCP's has ``inputSchema``
{"name", "parameters": {"city": {"type": "str, optional", "description": ...}}}   xLAM, APIGen
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_SCHEMAS = ("parameters", "input_schema", "inputSchema")
_OPTIONAL = re.compile(r",\s*optional\s*$", re.IGNORECASE)
_TYPE = re.compile(r"([A-Za-z_.]+)\s*(?:\[(.*)\])?", re.DOTALL)
_NAMES = {
    **dict.fromkeys(("str", "string", "text"), "string"),
    **dict.fromkeys(("int", "integer", "long"), "integer"),
    **dict.fromkeys(("float", "number", "double"), "number"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("list", "array", "set", "tuple", "sequence", "iterable"), "array"),
    **dict.fromkeys(("dict", "object", "mapping"), "object"),
    **dict.fromkeys(("none", "null", "nonetype"), "null"),
}
_DEEPEST = 20


def as_function(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inner object of a tool, with ``parameters`` that are a JSON Schema."""
    inner = tool.get("function", tool)
    found = dict(inner) if isinstance(inner, Mapping) else {}
    name = next((name for name in _SCHEMAS if found.get(name)), None)
    schema = {} if name is None else found.pop(name)
    if isinstance(schema, Mapping) and schema and not is_schema(schema):
        schema = _schema_of_table(schema)
    return {**{k: v for k, v in found.items() if k not in _SCHEMAS}, "parameters": schema}


def is_schema(schema: Any) -> bool:
    """Whether these are a JSON Schema of an object, and no table of parameters by name."""
    return isinstance(schema, Mapping) and not (schema and all(map(_is_row, schema.values())))


def _is_row(part: Any) -> bool:
    """Whether this says the type of a parameter, or what it is for."""
    said = (part.get("type"), part.get("description")) if isinstance(part, Mapping) else ()
    return any(isinstance(text, str) for text in said)


def _schema_of_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """What has a default, or says that it is optional, may be left out."""
    made = {}
    for name, part in table.items():
        rest = {key: value for key, value in part.items() if key != "type"}
        made[name] = {**schema_of_type(_OPTIONAL.sub("", _type_of(part))), **rest}
    needed = [
        name
        for name, part in table.items()
        if not _OPTIONAL.search(_type_of(part)) and "default" not in part
    ]
    return {"type": "object", "properties": made, "required": needed}


def _type_of(part: Mapping[str, Any]) -> str:
    return str(part.get("type", "any"))


def schema_of_type(text: str, depth: int = 0) -> dict[str, Any]:
    """Return the JSON Schema of a Python type, ``List[int]`` say; of an unknown one ``{}``."""
    found = _TYPE.fullmatch(text.strip())
    if found is None or depth > _DEEPEST:
        return {}
    name, inside = found.group(1).rpartition(".")[2].lower(), found.group(2)
    parts = [schema_of_type(part, depth + 1) for part in _parts_of_type(inside or "")]
    if name in ("optional", "union"):
        parts += [{"type": "null"}] if name == "optional" else []
        return {"anyOf": parts} if parts and all(parts) else {}
    kind = _NAMES.get(name)
    if kind is None:
        return {}
    items = {"items": parts[0]} if kind == "array" and len(parts) == 1 and parts[0] else {}
    return {"type": kind, **items}


def _parts_of_type(text: str) -> Iterator[str]:
    """``int`` and ``List[str]`` of ``int, List[str]``."""
    start = depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "[") - (sign == "]")
        if sign == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    if text[start:].strip():
        yield text[start:]
