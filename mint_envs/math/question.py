"""Grading with the question: what is asked for where the right answer is a change of form.

A formula of the question (a span, a side of an equation, a part of either) that equals the right
answer in another form says that a change of form is asked for. Then an equal answer is paid unless

1. it is that formula, however it is written (``answer.canon``);
2. where the formula is further from done than the right answer, the answer has not come as far
   (``answer.form``): operations, letters, calls, brackets, like terms, roots, an unsolved equation;
   factors, where the question says "factor";
3. it is more wasteful than both (``+1-1``, ``2/2``).

Of a single number only a unit and a style (decimal, fraction, mixed) can be asked for, and a style
only where the question says so. What is written as the right answer is, is right wherever else it
stands; choices and words have no form. Without such a formula equality stands.

The formulas of a question are read once, within limits that are static.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

from .answer import canon, form
from .answer.canon import Form
from .answer.compare import Comparer
from .answer.limits import MAX_ANSWER, Unreadable
from .answer.names import is_name, replaced, variables
from .answer.normal import clean
from .answer.parse import as_written, parse
from .answer.tree import Apply, Group, Node, Num, Relation, Sym, Text
from .answer.words import special
from .letters import said_of
from .prose.hinted import has_one

_LONGEST = 3_000  # characters of a question that are looked at: its end, where it asks
_FORMULAS = 80  # texts of one question that are parsed
_CHARACTERS = 1_200  # of those together
_PARTS = 100  # forms of one question
_COPY = "the question's formula"

_FORMULA = re.compile(
    r"\\\[(.{1,300}?)\\\]|\$\$(.{1,300}?)\$\$|(?<!\\)\$(.{1,300}?)(?<!\\)\$|\\\((.{1,300}?)\\\)",
    re.DOTALL,
)
_BREAKS = re.compile(
    r"\\\\|\\q?quad|\\text\s*\{[^{}]*\}|\\(?:begin|end)\{(?:align|gather|equation|split)\w*\*?\}"
)
_NUMBER = re.compile(
    r"(?<![\w\\.{}^_$])-?\d[\d,]*(?:\.\d+)?(?:\s*/\s*\d+)?(?:\s*\\?%)?(?![\w{}^])", re.ASCII
)
_NAME = r"(?:sqrt|sin|cos|tan|log|ln|pi)(?![A-Za-z])|(?<![A-Za-z'])[A-Za-z](?![A-Za-z'])"
_PLAIN = re.compile(
    rf"(?:{_NAME}|\d+(?:\.\d+)?|[-+*/^=<>()!]|\s(?=[-+*/^=<>()\d]|{_NAME}))+", re.ASCII
)
_OPERATES = re.compile(r"[\w)]\s*[-+*/^=<>]")
_ENDS = re.compile(r"(?:\\[,;:! ]|[.,;:\s])+$|^[:,;\s]+")
_SQUEEZED = re.compile(r"\s|\\left(?![a-z])|\\right(?![a-z])|\\[,!;:]|\$|[.,]$|(?<=\\)[dt](?=frac)")
_CONVERTS = (
    *("decimal", "fraction", "mixed", "percent", "scientific", "notation", "convert"),
    *("express", "write"),
)

_EXPANDS = re.compile(r"expand|distribut|multipl|product|square|single|factor", re.IGNORECASE)
_OPTION = re.compile(r"\\text(?:bf)?\{\(")
_RATIO = re.compile(
    r"\\[dtc]?frac\s*\{?\s*(\d{1,99})\s*\}?\s*\{?\s*(\d{1,99})"
    r"|(?<![\d.])(\d{1,99})\s*(?:/|\\div)\s*(\d{1,99})(?![\d.])",
    re.ASCII,
)
_DECIMAL = re.compile(r"\.\s*\\overline|\d\s*\.\s*\d|\.\d")
_MIXED = re.compile(r"\d\s*\\frac|\d\s+\d+/\d")

#: The text of a formula (``""`` for a part of one), its tree and its form.
_Formula = tuple[str, Node, Form]
_Shown = tuple[str, Form]


def short_of(gold: str, answer: str, question: str) -> str:
    """Return what an ``answer`` that equals ``gold`` lacks as an answer to ``question``, or ``""``.

    Raises:
        Nothing: what cannot be read lacks nothing.
    """
    if gold == answer or _squeezed(gold) == _squeezed(answer):
        return ""
    wanted = _read(gold)
    given = None if wanted is None else _read(answer, wanted[0] == "rel")
    if wanted is None or given is None:
        return ""
    if wanted != given and _is_told(wanted, given, question):
        return _COPY
    goal, given = canon.without_names(wanted, given)
    if given == goal:  # before the question is read, which costs most
        plain = goal[0] == "n" and not _asks(question)  # 26.0 is 26
        if plain or _style(answer) == _style(gold):
            return ""
    for text, span in _in_other_forms(gold, question):
        lack = _lack((gold, goal), (answer, given), (text, span), question)
        solves = goal[0] == "n" and span[0] == "rel"
        if lack and not (solves and form.is_notation(given, span)):
            told = lack.startswith(_COPY) and _tells(answer, goal, question)
            return "" if told else lack
    return ""


def _is_told(wanted: Form, given: Form, question: str) -> bool:
    """Whether a whole answer stands in the question, and is the right one only by its value.

    ``x + 2y`` for the plane ``x + 2y = z``, and 0 degrees for the 0 that they are converted to.
    """
    if wanted[0] == "n":
        measured = {part for part in canon.within(given) if part[0] in ("unit", "deg")}
        return (
            bool(measured)
            and _asks(question)
            and not measured.isdisjoint(_whole_formulas(question))
        )
    if given[0] in ("s", "rel") or not canon.letters(given) or not canon.alone(wanted):
        return False
    return given in _whole_formulas(question) and wanted not in _whole_formulas(question)


def _whole_formulas(question: str) -> set[Form]:
    """The formulas of a question, and their sides, without further parts."""
    return {shown for text, _, shown in formulas(question) if text}


def _asks(question: str) -> bool:
    """Whether a number is to be written otherwise."""
    return has_one(_CONVERTS, question.lower())


def _lack(gold: _Shown, answer: _Shown, shown: _Shown, question: str) -> str:
    """What an answer lacks beside one formula of the question."""
    (_, goal), (written, given), (text, span) = gold, answer, shown
    span = canon.without_names(span, goal)[0]
    if goal[0] == "ratio" and span[0] == "n":
        return ""  # a number of the question that happens to be its value
    if canon.bare(span)[0] == canon.bare(goal)[0] == "n":
        return _number_lack(gold, answer, (text, span), question)
    if given in (span, canon.without_names(span, given)[0]):
        return "" if given == goal and _style(text) != _style(written) else _COPY
    if canon.bare(given) == canon.bare(span) != canon.bare(goal):
        return _COPY  # pi radians for pi
    theirs, mine, best = (form.left(one, goal) for one in (span, given, goal))
    if form.is_scaled(given) and not form.is_scaled(span) and not _EXPANDS.search(question):
        mine["brackets"] -= 1  # 3(n - 6) is as good as 3n - 18, unless that is the question
    if "actor" not in question:
        for one in (theirs, mine, best):
            del one["unfactored"]
    lack = form.behind(mine, theirs, best)
    return f"{_COPY}, unfinished: {lack}" if lack else ""


def _number_lack(gold: _Shown, answer: _Shown, shown: _Shown, question: str) -> str:
    """Of a number a unit may be asked for, or how it is written."""
    (right, goal), (written, given), (text, span) = gold, answer, shown
    if canon.bare(span) != canon.bare(goal) and canon.bare(given) != canon.bare(goal):
        return "the unit"
    style = _style(written)[0]
    if text and _style(right)[0] != _style(text)[0] == style and _asks(question):
        return "the style of the number"
    return ""


@lru_cache(4096)
def _in_other_forms(gold: str, question: str) -> tuple[_Shown, ...]:
    """The formulas of the question that equal ``gold``, and are not of its form."""
    goal = _read(gold)
    if goal is None or _OPTION.search(gold):
        return ()  # choices and words have no form
    right, comparer = parse(clean(gold)), Comparer(said_of(question))
    several = isinstance(right, Group) and len(right.items) > 2  # two may be one with a sign
    found: dict[Form, str] = {}
    for text, node, shown in formulas(question):
        own = shown == goal and (not text or _style(text) == _style(gold))
        if own or shown in found or (several and isinstance(node, Num | Sym | Apply)):
            continue
        with suppress(Unreadable):
            if _is_met(comparer, right, node):
                found[shown] = text
    return tuple((text, shown) for shown, text in found.items())


def _is_met(comparer: Comparer, right: Node, node: Node) -> bool:
    """Whether a formula of the question equals the right answer, or is an equation that it solves.

    3 solves ``5x = 15``: what an equation in one letter asks for is a change of form too.
    """
    letter = _single_letter(node) if isinstance(right, Num) else None
    if letter is None or not isinstance(node, Relation):
        return comparer.same(right, node)
    return comparer.same(*(replaced(side, letter, right) for side in node.sides))


def _single_letter(node: Node) -> Sym | None:
    """The letter of an equation in one letter."""
    if not isinstance(node, Relation) or node.operators != ("=",):
        return None
    letters: set[str] = set().union(*map(variables, node.sides))
    return Sym(*letters) if len(letters) == 1 else None


# -- the formulas of a question


@lru_cache(256)
def formulas(question: str) -> tuple[_Formula, ...]:
    """Return the formulas of ``question`` and their parts, each form once."""
    found: dict[tuple[Form, bool], _Formula] = {}
    for text, node in _Spans().of(_end(question)):
        for number, part in enumerate(_parts(node)):
            with suppress(RecursionError):
                one = canon.canon(part)
                found.setdefault((one, number == 0), ("" if number else text, part, one))
            if len(found) >= _PARTS:
                return tuple(found.values())
    return tuple(found.values())


def _end(question: str) -> str:
    """The last characters of ``question``; a formula that is cut in two is left out."""
    head, tail = question[:-_LONGEST], question[-_LONGEST:]
    inside = (head.count("$") - head.count("\\$")) % 2
    return tail.partition("$")[2] if inside else tail


class _Spans:
    """Reads what may be a formula, each text once, while there is room."""

    def __init__(self) -> None:
        self._known: dict[str, Node | None] = {}
        self._room = _CHARACTERS

    def of(self, question: str) -> Iterator[tuple[str, Node]]:
        """Spans of mathematics and their lines, numbers, formulas in plain text."""
        for match in _FORMULA.finditer(question):
            text = next(filter(None, match.groups()))
            yield from self._pieces(text)
            lines = _BREAKS.split(text.replace("&", " "))
            for line in lines if len(lines) > 1 or "&" in text else ():
                yield from self._pieces(line)
        prose = _FORMULA.sub(" ; ", question)
        for match in (*_NUMBER.finditer(prose), *_PLAIN.finditer(prose)):
            if match.re is _NUMBER or _OPERATES.search(match.group()):
                yield from self._pieces(match.group().removeprefix("a "))

    def _pieces(self, text: str) -> Iterator[tuple[str, Node]]:
        """A formula and its sides; of what is none, the items too."""
        text = _ENDS.sub("", clean(text))
        node = self._read(text)
        if node is not None:
            yield text, node
        pieces = re.split("=" if node else "=|,|;", text)
        for piece in pieces if len(pieces) > 1 else ():
            piece = _ENDS.sub("", clean(piece))
            side = self._read(piece)
            if side is not None:
                yield piece, side

    def _read(self, text: str) -> Node | None:
        if text not in self._known:
            self._room -= len(text)
            self._known[text] = self._parsed(text)
        return self._known[text]

    def _parsed(self, text: str) -> Node | None:
        if self._room < 0 or len(self._known) >= _FORMULAS:
            return None
        with suppress(Unreadable, RecursionError):
            return _as_written(text)
        return None


def _parts(node: Node) -> Iterator[Node]:
    """``node``, and all within it that is no single number or letter."""
    yield node
    todo = [node]
    while todo:
        one = todo.pop()
        inside = one.sides if isinstance(one, Relation) else ()
        inside = one.items if isinstance(one, Group) else inside
        inside = one.args if isinstance(one, Apply) else inside
        kept = [part for part in inside if not isinstance(part, Num | Sym)]
        todo += kept
        yield from kept


# -- how an answer is written


@lru_cache(4096)
def _read(text: str, is_equation: bool = True) -> Form | None:
    """The form of an answer; of the steps of a chain the last counts.

    If no equation is wanted, ``2 + 3 = 5`` is a chain too.
    """
    if len(text) > MAX_ANSWER:
        return None
    try:
        node = _as_written(clean(text))
        return (
            None
            if isinstance(node, Text)
            else canon.canon(_last_step(node, 3 if is_equation else 2))
        )
    except (Unreadable, RecursionError):
        return None


def _as_written(text: str) -> Node:
    """The tree of a text, where ``parse`` would take ``4/6`` for the number."""
    return special(text) or as_written(text)


def _last_step(node: Node, least: int) -> Node:
    """The last side of a chain of ``least`` sides or more, with the name of what it is."""
    node = _before_rounding(node) if least == 2 else node
    if not isinstance(node, Relation) or set(node.operators) != {"="}:
        return node
    first, *_, last = node.sides
    if len(node.sides) < least or (len(node.sides) == 2 and (is_name(first) or is_name(last))):
        return node
    return Relation((first, last), ("=",)) if is_name(first) else last


def _tells(answer: str, goal: Form, question: str) -> bool:
    """Whether a chain that the question has not says the right answer: ``x = 3 = 6/2`` for 3."""
    with suppress(Unreadable, RecursionError):
        node = _as_written(clean(answer))
        if isinstance(node, Relation) and set(node.operators) == {"="}:
            sides = map(canon.canon, node.sides)
            return goal in sides and canon.canon(node) not in _whole_formulas(question)
    return False


def _before_rounding(node: Node) -> Node:
    """``\\sqrt2`` of ``\\sqrt2 \\approx 1.4``: what stands before the first sign of rounding."""
    if not isinstance(node, Relation) or "~" not in node.operators:
        return node
    kept = node.operators.index("~") + 1
    if kept == 1:
        return node if is_name(node.sides[0]) else node.sides[0]
    return Relation(node.sides[:kept], node.operators[: kept - 1])


def _squeezed(text: str) -> str:
    return _SQUEEZED.sub("", text)


@lru_cache(4096)
def _style(text: str) -> tuple[str, bool]:
    """How numbers and roots are written, which may be all that is asked for."""
    text = clean(text)
    root = "sqrt" in text
    if "%" in text:
        return "percent", root
    if _MIXED.search(text):
        return "mixed", root
    if _DECIMAL.search(text):
        return "decimal", root
    divisors = [math.gcd(*map(int, filter(None, m.groups()))) for m in _RATIO.finditer(text)]
    if not divisors:
        return "whole", root
    return "unreduced" if max(divisors) > 1 else "fraction", root
