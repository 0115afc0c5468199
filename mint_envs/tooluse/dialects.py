"""BFCL's rows in Java and JavaScript: arguments are source text, and are read before they count.

A call of such a row gives every argument as a string, the way it would stand in a program:
``"new ArrayList<>(Arrays.asList(1, 2))"``. What BFCL's converters make of a text is made of it
here, odd cases too; a text that is no value of its type stays a text, and may still be the name of
a variable that is wanted. Nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Convert = Callable[[str, str, str | None], Any]

#: Names of types in each language, and BFCL's for Python that are checked alike.
TYPES: dict[str, dict[str, str]] = {
    "java": {
        **dict.fromkeys(("byte", "short", "integer", "long"), "integer"),
        **dict.fromkeys(("float", "double"), "float"),
        **dict.fromkeys(("Array", "ArrayList", "Queue", "Stack"), "array"),
        **dict.fromkeys(("HashMap", "Hashtable"), "dict"),
        **dict.fromkeys(("String", "char", "any"), "string"),
        "boolean": "boolean",
    },
    "javascript": {
        **dict.fromkeys(("integer", "Bigint"), "integer"),
        **dict.fromkeys(("String", "any"), "string"),
        "float": "float",
        "Boolean": "boolean",
        "dict": "dict",
        "array": "array",
    },
}
#: Names that tell a language; ``String`` stands in both.
_JAVA = frozenset(("byte", "short", "long", "double", "char", "Array", "ArrayList", "HashMap"))
_JAVASCRIPT = frozenset(("Boolean", "Bigint", "array", "dict"))
_WHOLE = re.compile(r"-?\d+\n?")
_REAL = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\n?")


def language_of(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the language whose names of types these tools use; ``"python"`` if none is seen."""
    kinds: set[str] = set()
    for tool in tools:
        inner = tool.get("function", tool)
        known = (inner.get("parameters") or {}).get("properties") or {}
        kinds |= {str(one.get("type")) for one in known.values() if isinstance(one, Mapping)}
    if kinds & _JAVA:
        return "java"
    if "String" not in kinds and not kinds & {"Boolean", "Bigint"}:
        return "python"
    return "javascript" if kinds & _JAVASCRIPT else "java"


def told(tool: Mapping[str, Any], language: str) -> dict[str, Any]:
    """Return a tool as a model is told of it: every argument is a string that holds source text."""
    schema = dict(tool.get("parameters") or {})
    known = schema.get("properties") or {}
    schema["properties"] = {key: _told_parameter(one, language) for key, one in known.items()}
    note = f"{tool.get('description', '')} (The function is written in {_NAMES[language]}.)"
    return {**tool, "description": note.strip(), "parameters": schema}


_NAMES = {"java": "Java", "javascript": "JavaScript"}


def _told_parameter(schema: Mapping[str, Any], language: str) -> dict[str, Any]:
    items = schema.get("items")
    inner = f" of {items.get('type')}" if isinstance(items, Mapping) else ""
    note = f"{_NAMES[language]} source text of type {schema.get('type')}{inner}."
    kept = {key: value for key, value in schema.items() if key not in _STRUCTURE}
    return {**kept, "type": "string", "description": f"{schema.get('description', '')} {note}"}


_STRUCTURE = ("items", "properties", "required", "default", "enum")


def converted(
    value: Any, schema: Mapping[str, Any], language: str
) -> tuple[Any, Mapping[str, Any]] | None:
    """Return what a source text is, and its schema in BFCL's names for Python.

    None for what is no text: every argument must be one.
    """
    if not isinstance(value, str):
        return None
    kind, names = str(schema.get("type")), TYPES[language]
    items = schema.get("items")
    inner = str(items.get("type")) if isinstance(items, Mapping) else None
    plain: dict[str, Any] = {"type": names.get(kind, "string")}
    if inner is not None and kind in ("Array", "ArrayList", "array"):
        plain["items"] = {"type": names.get(inner, "string")}
    convert: Convert = _java if language == "java" else _javascript
    return convert(value, kind, inner), plain


# -- Java ---------------------------------------------------------------------------------------


def _java(text: str, kind: str, inner: str | None) -> Any:
    if kind in ("byte", "short", "integer"):
        return int(text) if _is_whole(text) else text
    if kind == "long":
        return int(text[:-1]) if text[-1:] in ("l", "L") and _is_whole(text[:-1]) else text
    if kind == "double":
        return float(text) if _REAL.fullmatch(text) else text
    if kind == "float":
        return float(text[:-1]) if text[-1:] in ("f", "F") and _REAL.fullmatch(text[:-1]) else text
    if kind == "boolean":
        return text == "true" if text in ("true", "false") else text
    reader = {"Array": _java_array, "ArrayList": _java_list, "HashMap": _java_map}.get(kind)
    return text if reader is None else reader(text, inner)


def _is_whole(text: str) -> bool:
    return len(text) <= 4000 and _WHOLE.fullmatch(text) is not None


_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{([^\n}]*)\}")
_AS_LIST = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\(([^\n]+?)\)\)")
_ADDED = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{\s*(.+?)\s*\}\}", re.DOTALL)
_ADD = re.compile(r"add\(([^\n]+?)\)")
_NEW_LIST = re.compile(r"new\s+ArrayList<\w*>\(\)")
_MAP = re.compile(r"new\s+HashMap<[^\n]*?>\s*\(\)\s*\{\s*\{?\s*(.*?)\s*\}?\s*\}", re.DOTALL)
_PUT = re.compile(r'put\("([^\n]*?)",\s*([^\n]*?)\)')
_NEW_MAP = re.compile(r"new\s+HashMap<[^\n]*?>\s*\(\)")


def _java_array(text: str, inner: str | None) -> Any:
    found = _ARRAY.search(text)
    if found is None:
        return text
    pieces = [piece.strip() for piece in found[1].split(",") if piece.strip()]
    return [_java_value(p) if inner is None else _java(p, inner, None) for p in pieces]


def _java_list(text: str, inner: str | None) -> Any:
    if found := _AS_LIST.search(text):
        return [_java_item(piece.strip(), inner) for piece in found[1].split(",")]
    if found := _ADDED.search(text):
        return [_java_item(piece.strip(), inner) for piece in _ADD.findall(found[1])]
    return [] if _NEW_LIST.search(text) else text


def _java_item(text: str, inner: str | None) -> Any:
    if inner in ("char", "String"):
        return text[1:-1]
    return _java_value(text) if inner is None else _java(text, inner, None)


def _java_map(text: str, inner: str | None) -> Any:
    if found := _MAP.search(text):
        return {key: _java_value(value.strip()) for key, value in _PUT.findall(found[1])}
    return {} if _NEW_MAP.search(text) else text


def _java_value(text: str) -> Any:
    """Return a value whose type is not told."""
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1]
    if text[-1:] in ("l", "L") and _is_whole(text[:-1]):
        return int(text[:-1])
    if text[-1:] in ("f", "F") and _REAL.fullmatch(text[:-1]):
        return float(text[:-1])
    return _number_or_text(text)


def _number_or_text(text: str) -> Any:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


# -- JavaScript ---------------------------------------------------------------------------------


def _javascript(text: str, kind: str, inner: str | None) -> Any:
    if kind == "String":
        return text[1:-1] if _is_quoted(text) else text
    if kind == "integer":
        return int(text) if _is_whole(text) else text
    if kind == "float":
        return float(text) if re.fullmatch(r"-?\d+(?:\.\d+)?", text) else text
    if kind == "Bigint":
        return int(text[:-1]) if text.endswith("n") and _is_whole(text[:-1]) else text
    if kind == "Boolean":
        return text == "true" if text in ("true", "false") else text
    reader = {"array": _js_array, "dict": _js_dict}.get(kind)
    return text if reader is None else reader(text.strip(), inner)


def _is_quoted(text: str) -> bool:
    return any(text.startswith(quote) and text.endswith(quote) for quote in "\"'")


_ROWS = re.compile(r"(?:\[|new\s+Array\()\s*\[.*?\]\s*(?:,\s*\[.*?\]\s*)*+[\])]")
_ROW = re.compile(r"\[(.*?)\]")
_FLAT = re.compile(r"\[([^\n]*?)\]|new\s+Array\(([^\n]*?)\)")
_DICT = re.compile(r"\{([^\n]*?)\}")
_KEY_VALUE = re.compile(r"([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)")


def _js_array(text: str, inner: str | None) -> Any:
    if len(text) > _LONGEST:
        return text
    if rows := _ROWS.match(text):
        found = [row.strip().removeprefix("[") for row in _ROW.findall(rows[0])]
        return [[_js_value(item.strip()) for item in row.split(",")] for row in found]
    flat = _FLAT.match(text)
    if flat is None:
        return text
    inside = (flat[1] if flat[1] is not None else flat[2]).strip()
    pieces = [piece.strip() for piece in inside.split(",")] if inside else []
    return [_js_value(p) if inner is None else _javascript(p, inner, None) for p in pieces]


def _js_dict(text: str, inner: str | None = None) -> Any:
    if text == "{}":
        return {}
    found = _DICT.match(text)
    if found is None or len(text) > _LONGEST:
        return text
    return {
        key.strip().strip("'\""): _js_member(value.strip())
        for key, value in _KEY_VALUE.findall(found[1])
    }


def _js_member(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        return _js_array(text, None)
    if text.startswith("{") and text.endswith("}"):
        return _js_dict(text)
    return _js_value(text.strip("'\""))


#: The patterns of BFCL's take time with the square of the text.
_LONGEST = 4000


def _js_value(text: str) -> Any:
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    return text[1:-1] if _is_quoted(text) else _number_or_text(text)


# -- writing ------------------------------------------------------------------------------------


def source_of(value: Any, schema: Mapping[str, Any], language: str) -> str:
    """Return the source text of a value, as an argument of its schema is given."""
    kind = str(schema.get("type"))
    items = schema.get("items")
    inner = items if isinstance(items, Mapping) else {}
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return _list_source(value, kind, inner, language)
    if isinstance(value, Mapping):
        return _map_source(value, language)
    return f"{value}{_SUFFIX.get(kind, '')}"


_SUFFIX = {"long": "L", "float": "f", "Bigint": "n"}


def _list_source(value: list[Any], kind: str, inner: Mapping[str, Any], language: str) -> str:
    bare = kind == "Array" and inner.get("type") == "String"
    texts = [_member_source(v, inner, language, quoted=not bare) for v in value]
    listed = ", ".join(texts)
    if language == "javascript":
        return f"[{listed}]"
    if kind == "Array":
        return f"new Object[]{{{listed}}}"
    return f"new ArrayList<>(Arrays.asList({listed}))" if texts else "new ArrayList<>()"


def _member_source(
    value: Any, schema: Mapping[str, Any], language: str, quoted: bool = True
) -> str:
    if isinstance(value, str) and quoted:
        return f'"{value}"'
    if isinstance(value, list) and language == "javascript":
        return f"[{', '.join(_member_source(v, {}, language) for v in value)}]"
    return source_of(value, schema, language).removesuffix("f" if language != "java" else "")


def _map_source(value: Mapping[str, Any], language: str) -> str:
    pairs = [(key, _member_source(v, {}, language)) for key, v in value.items()]
    if language == "javascript":
        return "{" + ", ".join(f"{key}: {text}" for key, text in pairs) + "}"
    puts = " ".join(f'put("{key}", {text});' for key, text in pairs)
    return f"new HashMap<>() {{{{ {puts} }}}}"
