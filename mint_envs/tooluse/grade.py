"""The verdict on calls: ``grade_calls``, the best match between calls wanted and calls made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ..core import Reward
from ..errors import SettingError, require
from .dialects import TYPES, converted, language_of
from .formats.calls import Call
from .match import best_match
from .values import allowed, same_json

#: What the name of the right tool, the names of its arguments, and their values are worth.
WEIGHTS = (0.2, 0.2, 0.6)
_PARTS = ("name", "arguments", "values")

Marks = tuple[float, float, float]


def grade_calls(
    wanted: Sequence[Mapping[str, Any]],
    made: Sequence[Mapping[str, Any] | Call],
    tools: Sequence[Mapping[str, Any]] | None = None,
    *,
    partial_credit: bool = True,
    weights: Sequence[float] = WEIGHTS,
    language: str | None = None,
) -> Reward:
    """Return how well the calls made are those that were wanted, in any order.

    Every wanted call is matched with at most one call made, so that the sum is the largest
    possible; that sum is divided by the larger of the two numbers of calls. A call too many thus
    costs as much as one too few, and so does a call that could not be parsed. A call of another
    tool is worth nothing, and neither is one without a single right value, if it has any. One more
    right call never lowers the reward: what is worth more without it is worth that much with it.
    1.0 means that everything is right and nothing is left over.

    Args:
        wanted: exact calls, ``{"name": ..., "arguments": {...}}``, or BFCL's ground truth,
            ``{tool: {parameter: [allowed values]}}``, judged by BFCL's rules. Empty: no tool
            fits, and only making no call is right.
        made: ``{"name": ..., "arguments": {...}}``, or what ``parse_calls`` returns. What has
            another shape counts as a call that matches nothing.
        tools: the tools on offer. With them BFCL's ground truth is judged by the types and the
            required parameters of the schema; without, by the types of the allowed values.
        partial_credit: False gives 1 for everything right, else 0.
        weights: what the tool's name, its argument names, and the values are worth.
        language: of BFCL's ground truth: ``"python"``, ``"java"`` or ``"javascript"``, whose
            arguments are source text, converted as BFCL does. None: as the types of ``tools`` say.

    Returns:
        ``Reward`` with ``parts`` ``name``, ``arguments`` and ``values``, of which the score is
        the weighted mean, and ``metadata`` ``wanted``, ``made`` and ``right``: numbers of calls.

    Raises:
        SettingError: ``wanted``, ``made``, ``tools`` or ``weights`` are not of this form.
    """
    total = math.fsum(check_weights(weights))
    schemas = _parameters_by_tool(tools)
    spoken = language_of(tools or ()) if language is None else language
    known = ("python", *TYPES)
    require(spoken in known, f"language={language!r} must be one of {', '.join(known)}")
    targets = [_target(call, schemas, spoken) for call in _checked_list(wanted, "wanted")]
    calls = [_name_and_arguments(call) for call in _checked_list(made, "made")]
    if not targets and not calls:
        return _calls_reward((1.0, 1.0, 1.0), 1.0, 0, 0, 0)
    marks = [[target.marks(name, arguments) for name, arguments in calls] for target in targets]
    parts, right = _best_parts(marks, len(calls), weights)
    full = min(parts) == 1.0
    score = _weigh(parts, weights) / total if partial_credit else float(full)
    return _calls_reward(parts, min(score, 1.0), len(targets), len(calls), right)


def _best_parts(
    marks: list[list[Marks]], count: int, weights: Sequence[float]
) -> tuple[list[float], int]:
    """Return the parts of the reward, and how many calls are right.

    A right call beside a wrong attempt at it costs what a call too many costs; where the attempt
    alone is worth more, both are worth that. A right call that is made twice is one too many. Right
    is here what the weights hold for right: with all weight on the name, every attempt is.
    """
    best, right = _parts_of(marks, range(count), weights)
    full = _weigh((1.0, 1.0, 1.0), weights)
    rights = [{c for c in range(count) if _weigh(row[c], weights) >= full} for row in marks]
    wrong = set(range(count)).difference(*rights)
    tried = [r for r, own in enumerate(rights) if own and any(marks[r][c][0] for c in wrong)]
    for size in range(1, len(tried[:_MOST_TRIED]) + 1) if count > len(marks) else ():
        for rows in combinations(tried[:_MOST_TRIED], size):
            out = {min(rights[row]) for row in rows}
            fewer, _ = _parts_of(marks, [c for c in range(count) if c not in out], weights)
            best = max(best, fewer, key=lambda some: _weigh(some, weights))
    return best, right


#: Wanted calls that were made right and wrong, too: so many are tried without the right ones.
_MOST_TRIED = 5


def _parts_of(
    marks: list[list[Marks]], columns: Sequence[int], weights: Sequence[float]
) -> tuple[list[float], int]:
    values = [[_weigh(row[column], weights) for column in columns] for row in marks]
    matched = [marks[row][columns[place]] for row, place in best_match(values)]
    most = max(len(marks), len(columns), 1)
    parts = [math.fsum(mark[i] for mark in matched) / most for i in range(3)]
    return parts, sum(min(mark) == 1.0 for mark in matched)


@dataclass(frozen=True, slots=True)
class _Target:
    """One wanted call."""

    name: str
    options: Mapping[str, Any]  # exact: the values themselves
    exact: bool
    schema: Mapping[str, Any] | None  # of the tool, if known
    language: str = "python"

    def marks(self, name: Any, arguments: Mapping[str, Any]) -> Marks:
        """Return what a call earns for name, argument names and values, each in [0, 1]."""
        if name != self.name:
            return 0.0, 0.0, 0.0
        needed = {key for key in self.options if self._is_needed(key)} | self._required()
        count = len(needed | arguments.keys())
        if not count:
            return 1.0, 1.0, 1.0
        known = [key for key in arguments if self._is_known(key)]
        right = sum(self._is_right(key, arguments[key]) for key in known)
        if not right:  # names alone are worth nothing: they stand in the prompt
            return 0.0, 0.0, 0.0
        return 1.0, len(known) / count, right / count

    def _is_needed(self, key: str) -> bool:
        return self.exact or "" not in self.options[key]

    def _required(self) -> set[str]:
        """BFCL wants what the schema requires even where its own truth lets it out."""
        if self.exact or self.schema is None:
            return set()
        return set(self.schema.get("required") or ())

    def _is_known(self, key: str) -> bool:
        if key not in self.options:
            return False
        return self.exact or self.schema is None or key in self._properties(self.schema)

    def _is_right(self, key: str, value: Any) -> bool:
        try:
            if self.exact:
                return same_json(self.options[key], value)
            schema = None if self.schema is None else self._properties(self.schema)[key]
            if self.language != "python" and schema is not None:
                found = converted(value, schema, self.language)
                return found is not None and allowed(found[0], self.options[key], found[1])
            return allowed(value, self.options[key], schema)
        except RecursionError:  # nested deeper than any that was wanted
            return False

    @staticmethod
    def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
        return schema.get("properties") or {}


def _target(call: Any, schemas: Mapping[str, Mapping[str, Any]], language: str) -> _Target:
    if isinstance(call, Mapping) and isinstance(call.get("name"), str):
        arguments = call.get("arguments") or {}
        if isinstance(arguments, Mapping):
            return _Target(call["name"], arguments, True, schemas.get(call["name"]))
    elif isinstance(call, Mapping) and len(call) == 1:
        ((name, options),) = call.items()
        if isinstance(options, Mapping) and all(isinstance(v, list) for v in options.values()):
            return _Target(str(name), options, False, schemas.get(name), language)
    raise SettingError(
        f"wanted: {str(call)[:80]!r} is no call. Give {{'name': ..., 'arguments': {{...}}}}, or "
        "BFCL's {tool: {parameter: [allowed values]}}."
    )


def _name_and_arguments(call: Any) -> tuple[Any, Mapping[str, Any]]:
    """Return name and arguments of a call made; (None, {}) for what is none."""
    if isinstance(call, Call):
        return (call.name, call.arguments or {}) if call.ok else (None, {})
    if not isinstance(call, Mapping):
        return None, {}
    arguments = call.get("arguments", {})
    return (call.get("name"), arguments) if isinstance(arguments, Mapping) else (None, {})


def _parameters_by_tool(tools: Sequence[Mapping[str, Any]] | None) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for tool in _checked_list(tools or [], "tools"):
        inner = tool.get("function", tool) if isinstance(tool, Mapping) else {}
        if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
            raise SettingError(f"tools: {str(tool)[:80]!r} is no tool: it has no name")
        found[inner["name"]] = inner.get("parameters") or {}
    return found


def _checked_list(items: Any, name: str) -> Sequence[Any]:
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Sequence):
        raise SettingError(f"{name} must be a list of calls or tools, not {type(items).__name__}")
    return items


def check_weights(weights: Sequence[float]) -> tuple[float, ...]:
    """Return three weights, checked.

    Raises:
        SettingError: they are not three numbers from 0 up, or all of them are 0.
    """
    if len(weights) != 3 or not all(0 <= w < math.inf for w in weights) or not sum(weights):
        raise SettingError(f"weights={weights!r}: three numbers from 0 up, not all of them 0")
    return tuple(map(float, weights))


def _weigh(marks: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(mark * weight for mark, weight in zip(marks, weights, strict=True))


def _calls_reward(
    parts: Sequence[float], score: float, wanted: int, made: int, right: int
) -> Reward:
    return Reward(
        score,
        parts=dict(zip(_PARTS, parts, strict=True)),
        metadata={"wanted": wanted, "made": made, "right": right},
    )
