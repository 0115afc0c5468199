"""What every reader of a published set is, and what several of them need."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...datasets import Row, look_up
from ...errors import SettingError
from ..cases import IoTest, Plan, ValueTest
from ..checkers import Checker
from ..limits import NO_LIMITS, RowLimits
from ..problems import CodeProblem
from ..values import Either, ListOrTuple, text_form

TEXTS = ("question", "q", "prompt", "content", "text", "description", "question_content", "problem")
SOLUTIONS = ("canonical_solution", "reference", "solution", "code", "answer", "completion",
             "gold_standard_solution")  # fmt: skip

#: What the graders of several sets import before a program, which relies on it.
IMPORTS = """\
import sys, os, re, io, math, cmath, time, string, random, bisect, heapq, copy, json, operator
import itertools, functools, collections, datetime, decimal, fractions, statistics
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from collections import Counter, OrderedDict, deque, defaultdict, ChainMap, namedtuple
from itertools import (accumulate, chain, combinations, combinations_with_replacement, compress,
                       count, cycle, dropwhile, groupby, islice, pairwise, permutations, product,
                       repeat, starmap, takewhile, tee, zip_longest)
from functools import cache, cached_property, cmp_to_key, lru_cache, partial, reduce
from heapq import heapify, heappop, heappush, heappushpop, heapreplace, merge, nlargest, nsmallest
from bisect import bisect, bisect_left, bisect_right, insort, insort_left, insort_right
from math import (acos, asin, atan, atan2, ceil, comb, cos, exp, fabs, factorial, floor, gcd, inf,
                  isqrt, lcm, log, log2, log10, perm, pi, sin, sqrt, tan)
from copy import copy, deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from operator import itemgetter
from typing import (Any, Callable, DefaultDict, Deque, Dict, FrozenSet, Generator, Generic,
                    Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple,
                    Type, TypeVar, Union)
"""


@dataclass(frozen=True, slots=True)
class Reader:
    """How the rows of one form become problems.

    Args:
        name: of the set, or of the sets that share the form.
        columns: that a row must have.
        read: makes a problem of a row; raises SettingError, ValueError, TypeError, KeyError or
            AttributeError where the row is not as it should be.
        understands: columns that change the verdict, and that it reads.
        when: what else a row must be.
    """

    name: str
    columns: tuple[str, ...]
    read: Callable[[Row], CodeProblem]
    understands: tuple[str, ...] = ()
    when: Callable[[Row], bool] = lambda row: True

    def fits(self, row: Row) -> bool:
        return all(row.get(key) is not None for key in self.columns) and self.when(row)


def parsed(value: Any) -> Any:
    """Return a field that may be JSON in a string."""
    return json.loads(value) if isinstance(value, str) else value


def text_of(row: Row, names: Sequence[str] = TEXTS) -> str:
    """Return the first of the fields that a row has.

    Raises:
        SettingError: it has none.
    """
    value = look_up(row, names)
    if value is None:
        raise SettingError(f"none of the fields {', '.join(names)}")
    return str(value).strip()


def solution_of(row: Row) -> str:
    """Return the row's own solution, or ``""``."""
    found = (row.get(name) for name in SOLUTIONS)
    return next((text for text in found if isinstance(text, str) and text.strip()), "")


def first_solution(value: Any) -> str:
    """Return the first of several solutions, which may be JSON in a string; ``""`` if none."""
    texts = parsed(value) if isinstance(value, str) and value.strip().startswith("[") else value
    texts = [texts] if isinstance(texts, str) else texts or []
    return next((unfenced(text) for text in texts if isinstance(text, str) and text.strip()), "")


def unfenced(text: str) -> str:
    """Take the fence off a program that is written as Markdown."""
    lines = text.strip().splitlines()
    fenced = len(lines) > 1 and lines[0].startswith("```") and lines[-1].strip() == "```"
    return "\n".join(lines[1:-1]) if fenced else text


def script_plan(
    pairs: Iterable[tuple[Any, Any]],
    compare: str,
    *,
    limits: RowLimits = NO_LIMITS,
    imports: bool = False,
    language: str = "",
    checker: Checker | None = None,
) -> Plan:
    """Return the plan of pairs of standard input and output; each may be a list of lines.

    ``imports``: the set's grader imports much before a program.

    Raises:
        SettingError: there are none.
    """
    tests = tuple(
        IoTest(joined(one), joined(other), compare, checker=checker) for one, other in pairs
    )
    if not tests:
        raise SettingError("there is no test")
    return Plan("main", tests, IMPORTS if imports else "", limits=limits, language=language)


def joined(text: Any) -> str:
    """Return text that may be a list of lines."""
    if isinstance(text, list):
        return "\n".join(map(str, text))
    if not isinstance(text, str):
        raise SettingError(f"input and output must be text, not {type(text).__name__}")
    return text


def call_plan(name: str, pairs: Iterable[tuple[Any, Any]], imports: bool = True) -> Plan:
    """Return the plan of calls of a function, or of a method of the class Solution.

    A pair is the arguments and the wanted value (see ``sequences`` and ``unwrapped``).

    Raises:
        SettingError: there are none, or the name is no name.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise SettingError(f"{name!r} is no name of a function")
    callee = f"(Solution().{name} if 'Solution' in globals() else {name})"
    tests = []
    for arguments, wanted in pairs:
        if not isinstance(arguments, list | tuple):
            raise SettingError(f"the arguments of {name} must be a list")
        text = f"{callee}({', '.join(map(literal_text, arguments))})"
        tests.append(ValueTest(text, wanted))
    if not tests:
        raise SettingError("there is no test")
    return Plan("values", tuple(tests), IMPORTS if imports else "", limits=room_for(tests))


def literal_text(value: Any) -> str:
    """Return an argument of plain data as Python's text."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    if isinstance(value, list):
        return f"[{', '.join(map(literal_text, value))}]"
    if isinstance(value, Mapping):
        pairs = (f"{literal_text(key)}: {literal_text(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    return repr(value)


def sequences(value: Any, depth: int = 1) -> Any:
    """Return a wanted value whose lists may be tuples, down to ``depth``: JSON has no tuples."""
    if isinstance(value, list) and depth:
        return ListOrTuple(sequences(item, depth - 1) for item in value)
    return value


def unwrapped(value: Any) -> Any:
    """Return a wanted value that may be in a list of one, as APPS and what came of it have it."""
    if isinstance(value, list) and len(value) == 1:
        return Either((sequences(value, 2), sequences(whole_keys(value[0]), 2)))
    return sequences(whole_keys(value), 2)


def whole_keys(value: Any) -> Any:
    """Return a mapping with the whole numbers as keys that JSON wrote as text."""
    try:
        return {int(key): item for key, item in value.items()}
    except (AttributeError, TypeError, ValueError):
        return value


def room_for(tests: Sequence[ValueTest]) -> RowLimits:
    """Return limits that leave room for values as large as those that are wanted."""
    size = sum(len(text_form(test.expected)) for test in tests)
    return RowLimits(output_mb=4 * size / (1 << 20)) if size > (1 << 18) else NO_LIMITS


def with_limits(problem: CodeProblem, limits: RowLimits) -> CodeProblem:
    """Return a problem with limits of its row."""
    return replace(problem, plan=replace(problem.plan, limits=limits))
