"""Whether a value surely fits a plain JSON Schema: most calls do, and that can be seen at a glance.

What is not plain here is for ``checking``, which also says what is wrong. A yes costs a few
microseconds; the validators of jsonschema take ten times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Surely = Callable[[Any], bool]

#: Keywords that forbid nothing.
_QUIET = frozenset(("title", "description", "default", "examples", "deprecated", "readOnly"))
_KNOWN = _QUIET | {"type", "properties", "required", "additionalProperties", "items", "enum"}
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "null": (type(None),), "array": (list,), "object": (dict,),
}  # fmt: skip


def surely(schema: Any) -> Surely | None:
    """Return what says of a value that it surely fits; None where the schema is not plain."""
    if not isinstance(schema, Mapping) or not schema.keys() <= _KNOWN:
        return None
    if not schema.keys() - _QUIET:
        return _anything
    kinds = schema.get("type")
    if not isinstance(kinds, str) or kinds not in _TYPES:
        return None
    others = schema.keys() - _QUIET - {"type"}
    if kinds == "object":
        return _object_fits(schema) if not others & {"items", "enum"} else None
    if kinds == "array":
        return _array_fits(schema) if others <= {"items"} else None
    return _scalar_fits(_TYPES[kinds], schema.get("enum")) if others <= {"enum"} else None


def takes_no_text(schema: Any) -> bool:
    """Tell whether a text surely fits a schema not, by its type alone."""
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    return isinstance(kind, str) and kind in _TYPES and kind != "string"


def _anything(value: Any) -> bool:
    return True


def _scalar_fits(kinds: tuple[type, ...], enum: Any) -> Surely | None:
    if enum is None:
        return lambda value: type(value) in kinds
    if kinds != (str,) or not isinstance(enum, list) or not all(isinstance(e, str) for e in enum):
        return None  # 1 equals True
    allowed = frozenset(enum)
    return lambda value: type(value) is str and value in allowed


def _array_fits(schema: Mapping[str, Any]) -> Surely | None:
    item = surely(schema.get("items", {}))
    if item is None:
        return None
    return lambda value: type(value) is list and all(map(item, value))


def _object_fits(schema: Mapping[str, Any]) -> Surely | None:
    known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    needed = schema.get("required", [])
    if not isinstance(known, Mapping) or not isinstance(needed, list) or not isinstance(more, bool):
        return None
    parts = {key: surely(part) for key, part in known.items()}
    if not all(parts.values()):
        return None
    unknown = _anything if more else _nothing

    def fits(value: Any) -> bool:
        if type(value) is not dict or any(key not in value for key in needed):
            return False
        return all((parts.get(key) or unknown)(item) for key, item in value.items())

    return fits


def _nothing(value: Any) -> bool:
    return False
