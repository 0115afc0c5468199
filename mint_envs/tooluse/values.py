"""Is an argument right? Two rules: exact values, and the option lists of BFCL's ground truth.

BFCL (the Berkeley function-calling leaderboard) gives a list of allowed values for each
parameter; ``""`` among them means that the parameter may be left out. Its rules are kept to the
letter, odd ones too, so that a full mark here is a full mark there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

#: What does not count when strings are compared.
_IGNORED = re.compile(r"[ ,./\-_*^]")

_PYTHON_TYPES: dict[str, type] = {
    "string": str, "integer": int, "float": float, "number": float, "boolean": bool,
    "array": list, "tuple": list, "dict": dict, "object": dict, "any": str,
}  # fmt: skip


def same_json(wanted: Any, made: Any) -> bool:
    """Tell whether two JSON values are equal. 1 equals 1.0, but True is not 1."""
    if isinstance(wanted, dict) and isinstance(made, dict):
        return wanted.keys() == made.keys() and all(same_json(wanted[k], made[k]) for k in wanted)
    if isinstance(wanted, list | tuple) and isinstance(made, list | tuple):
        return len(wanted) == len(made) and all(map(same_json, wanted, made))
    if isinstance(wanted, bool) or isinstance(made, bool):
        return wanted is made
    return bool(wanted == made)


def allowed(value: Any, options: Sequence[Any], schema: Mapping[str, Any] | None) -> bool:
    """Tell whether BFCL takes ``value`` for a parameter with these options and this schema."""
    kind, inner = _types(schema, options)
    if kind is float and type(value) is int:
        value = _to_float(value)
    given = _first_type(options)
    if not _type_fits(value, options, kind, inner):
        return False
    if given is not None and given is not kind:  # the truth is of another type than the schema
        return value in options
    if kind is dict:
        return any(_dict_fits(value, option) for option in options if option != "")
    if kind is list and inner is dict:
        return any(_dicts_fit(value, option) for option in options)
    if kind is str:
        return _normalised(value) in map(_normalised, options)
    if kind is list:
        lists: list[Any] = [o for o in options if o == "" or isinstance(o, list)]
        return list(map(_normalised, value)) in [list(map(_normalised, option)) for option in lists]
    return value in options


def _to_float(value: int) -> float | int:
    try:
        return float(value)
    except OverflowError:  # beyond floats; equal to no option
        return value


def _types(
    schema: Mapping[str, Any] | None, options: Sequence[Any]
) -> tuple[type | None, type | None]:
    """Return the type that a parameter has, and that of its items where they are checked."""
    if not isinstance(schema, Mapping):  # no tools, or "true": the truth tells the type
        return _first_type(options), None
    kind = _PYTHON_TYPES.get(str(schema.get("type")))
    items = schema.get("items")
    if kind is not list or not isinstance(items, Mapping):
        return kind or _first_type(options), None
    return kind, _PYTHON_TYPES.get(str(items.get("type")))


def _first_type(options: Any) -> type | None:
    """Return the type of the first option that is not ``""``; None if there is none."""
    return next((type(option) for option in options if option != ""), None)


def _type_fits(value: Any, options: Sequence[Any], kind: type | None, inner: type | None) -> bool:
    """Tell whether the type is right: the schema's, or else that of the truth."""
    if type(value) is not kind:
        given = _first_type(options)
        return given is not None and type(value) is given
    if inner is None:
        return True
    items: Any = value
    return any(
        all(_type_fits(item, option, inner, None) for item in items)
        for option in options
        if isinstance(option, list)
    )


def _normalised(value: Any) -> Any:
    """Return a string without what does not count; anything else as it is."""
    if not isinstance(value, str):
        return value
    return _IGNORED.sub("", value).lower().replace("'", '"')


def _dict_fits(value: Any, option: Any) -> bool:
    """Each value of ``option`` is a list of options again."""
    if not isinstance(option, Mapping) or not isinstance(value, Mapping):
        return False
    # A few truths have a text there; to BFCL its letters are the options.
    lists: dict[str, list[Any]] = {
        k: list(v) if isinstance(v, list | str) else [v] for k, v in option.items()
    }
    for key, item in value.items():
        if key not in lists or _normalised(item) not in list(map(_normalised, lists[key])):
            return False
    return all(key in value or "" in lists[key] for key in lists)


def _dicts_fit(value: Any, option: Any) -> bool:
    return (
        isinstance(option, list)
        and len(value) == len(option)
        and all(_dict_fits(item, one) for item, one in zip(value, option, strict=True))
    )
