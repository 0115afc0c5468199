"""JSON Schema in bounded time: schemas come from data sets and servers, values from models.

A regular expression can take for ever on a short text, and so can branches that refer to each
other. So ``pattern``, ``patternProperties`` (with ``additionalProperties`` beside it) and
``unevaluatedProperties`` and ``unevaluatedItems`` are not looked at, the keywords of one check are
counted, and nothing is fetched for a ``$ref``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

#: Keywords that one check may take: a wanted call takes some dozens.
MAX_KEYWORDS = 50_000

_UNCHECKED = ("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems")

Keyword = Callable[[Any, Any, Any, Any], Any]


class SchemaFault(Exception):
    """A schema cannot be used."""


class Uncheckable(Exception):
    """A value cannot be checked within the limits."""


class _Budget(threading.local):
    left = 0


_budget = _Budget()


def checker(schema: dict[str, Any]) -> Any:
    """Return a validator for ``schema``; give it to ``errors`` and ``fits``.

    Raises:
        SchemaFault: the schema is broken, or refers to what it does not hold.
    """
    from jsonschema import Draft202012Validator  # here: the import of mint_envs stays light
    from jsonschema.exceptions import SchemaError
    from referencing import Registry

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise SchemaFault(error.message) from error
    except (RecursionError, OverflowError) as error:  # a pattern that cannot be compiled
        raise SchemaFault("a part of it is too large") from error
    schema = _without_dialects(schema)
    if missing := next((ref for ref in _references(schema) if not _resolves(schema, ref)), None):
        raise SchemaFault(f"it refers to {missing!r}, which it does not hold")
    empty: Any = Registry()
    return _bounded()(schema, registry=empty)


def errors(validator: Any, value: Any) -> list[Any]:
    """Return what is wrong with a value.

    Raises:
        Uncheckable: it takes too long, or a number is too large to be compared.
    """
    from referencing.exceptions import Unresolvable

    _budget.left = MAX_KEYWORDS
    try:
        return list(validator.iter_errors(value))
    except (OverflowError, RecursionError) as error:  # a float bound and an integer beyond floats
        raise Uncheckable("an argument is too large to be checked") from error
    except Unresolvable as error:
        raise Uncheckable("the schema of this tool refers to what is not there") from error


def fits(validator: Any, value: Any) -> bool:
    """Tell whether a value is surely right."""
    try:
        return not errors(validator, value)
    except Uncheckable:
        return False


@cache
def _bounded() -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    keywords: dict[str, Keyword] = dict(Draft202012Validator.VALIDATORS)
    keywords |= {"uniqueItems": _unique, **dict.fromkeys(_UNCHECKED, _accept)}
    keywords["additionalProperties"] = _additional(keywords["additionalProperties"])
    return extend(Draft202012Validator, {name: _counted(one) for name, one in keywords.items()})


def _counted(keyword: Keyword) -> Keyword:
    def check(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
        _budget.left -= 1
        if _budget.left < 0:
            raise Uncheckable("it would take too long to check the arguments")
        yield from keyword(validator, wanted, value, schema) or ()

    return check


def _accept(validator: Any, wanted: Any, value: Any, schema: Any) -> None:
    return None


def _additional(keyword: Keyword) -> Keyword:
    def check(validator: Any, wanted: Any, value: Any, schema: Any) -> Any:
        known = "patternProperties" not in schema
        return keyword(validator, wanted, value, schema) if known else None

    return check


def _unique(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if wanted and isinstance(value, list) and len(set(map(_hashable, value))) < len(value):
        yield ValidationError("an item stands twice")


def _hashable(value: Any) -> Any:
    """Return what is equal for equal JSON values alone: 1 equals 1.0, but true is not 1."""
    if isinstance(value, dict):
        return frozenset((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return (value, "bool") if isinstance(value, bool) else value


def _without_dialects(schema: Any) -> Any:
    """Leave out ``$schema``: jsonschema would go on with the rules of that dialect, unbounded."""
    if isinstance(schema, list):
        return [_without_dialects(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_dialects(item)
        for key, item in schema.items()
        if key != "$schema" or not isinstance(item, str)
    }


def _references(schema: Any) -> Iterator[str]:
    """Yield every reference; none where parts have an id, which changes what they say."""
    layer, found = [schema], list[str]()
    while layer:
        one = layer.pop()
        if isinstance(one, dict):
            if isinstance(one.get("$id"), str):
                return
            found += [one[key] for key in ("$ref", "$dynamicRef") if isinstance(one.get(key), str)]
            layer += one.values()
        elif isinstance(one, list):
            layer += one
    yield from found


def _resolves(schema: dict[str, Any], reference: str) -> bool:
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    registry: Any = Registry()
    try:
        registry.resolver_with_root(DRAFT202012.create_resource(schema)).lookup(reference)
    except (Unresolvable, ValueError, TypeError):
        return False
    return True
