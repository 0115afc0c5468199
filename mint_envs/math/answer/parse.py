"""Read an answer written in LaTeX or plain text into a tree.

    answer    = list END
    list      = [item] {SEPARATOR [item]}           "," ";" "and" "or" newline
    item      = words | relation [condition]        condition: "for all x", "where k is ..."
    relation  = ratio {REL ratio}                   = ~ != < <= > >= \\in
    ratio     = region {":" region}
    region    = amount {("\\cup" | "\\cap" | "\\setminus") amount}
    amount    = sum [unit]                          "15 \\text{ cm}^2", "5 km/h"
    sum       = product {("+" | "-" | "\\pm" | "\\mp") product}
    product   = sign {["*" | "/"] power}            juxtaposition multiplies; "3 1/2" is mixed
    sign      = ("-" | "+" | "\\pm") sign | power
    power     = atom {"^" argument | "!" | "%" | "^\\circ" | "_" base}
    atom      = number | name | currency power | command | function
              | "(" list ")" | "[" list "]" | "\\{" list "\\}" | "|" sum "|" | environment

Brackets round one thing group it; round several they make a tuple, an interval or a set. The
commands and functions are in ``commands``, the rules for units in ``amounts``. Recursive descent,
with limits on tokens and depth; whatever the grammar does not know raises Unreadable, and nothing
is ever evaluated as code.
"""

from __future__ import annotations

import re
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache

from . import matrices
from .amounts import CONDITIONS, REMAINDERS, Amounts, compounded, is_for_all, says_no_more
from .lexer import tokens
from .limits import MAX_ANSWER, MAX_ITEMS, Unreadable
from .names import variables
from .normal import plain_number
from .tree import Apply, Group, Matrix, Node, Num, Relation, Sym, negative
from .words import special, words

_RELATIONS = frozenset(("=", "~", "!=", "<", "<=", ">", ">="))
_SUFFIXES = frozenset(("^", "!", "%", "\\circ", "_"))
_REGIONS = {"\\cup": "union", "\\cap": "meet", "\\setminus": "minus"}
_NUMBER_SETS = tuple(map(Sym, ("reals", "integers", "naturals", "rationals", "complexes")))
_QUANTIFIERS = frozenset(("all", "any", "every"))
_MATRICES = frozenset(f"\\begin:{name}" for name in ("matrix", "pmatrix", "bmatrix"))
_NO_NAMES = frozenset("not no yes true false minus plus negative else otherwise".split())
_KEPT_TREE = 200  # characters of a text whose tree is kept
_ONE = Num(Fraction(1))
_STARTS = frozenset(
    r"( { | [ \sum \frac \binom \overline \overrightarrow \vec \hat pi infty \lfloor \lceil".split()
)


def parse(text: str, prose: bool = False) -> Node:
    """Return the tree of ``text``, which ``normal.clean`` has cleaned.

    Args:
        prose: the text comes from a sentence, where "15 m" is a length and not a product.

    Raises:
        Unreadable: it is no answer that the grammar knows, or beyond the limits.
    """
    value = plain_number(text)
    if value is not None:
        return Num(value, _places(text))
    if not text:
        raise Unreadable("empty")
    if len(text) > MAX_ANSWER:
        raise Unreadable("too long")
    known = special(text)
    if known is not None:
        return known
    return as_written(text, prose)


def as_written(text: str, prose: bool = False) -> Node:
    """Return the tree of ``text``, where ``parse`` would take ``4/6`` for the number.

    Raises:
        Unreadable: as ``parse``.
    """
    return _parsed_before(text, prose) if len(text) <= _KEPT_TREE else Parser(text, prose).answer()


@lru_cache(2048)
def _parsed_before(text: str, prose: bool) -> Node:
    """The tree of a short text, which the question and other responses ask for again."""
    return Parser(text, prose).answer()


def _places(text: str) -> int:
    return len(text.partition(".")[2]) if "." in text else -1


def _is_quotient(node: Node) -> bool:
    return isinstance(node, Apply) and node.name == "/"


def _is_region(node: Node) -> bool:
    return isinstance(node, Group) and node.kind in ("set", "builder", "minus")


def _is_numeric_power(node: Node) -> bool:
    """``2^a``, which another may follow: ``2^a 3^b``."""
    return isinstance(node, Apply) and node.name == "^" and isinstance(node.args[0], Num)


def _is_fixed(node: Node) -> bool:
    """``2^3``, which a number may follow: ``2^3 3``."""
    return isinstance(node, Apply) and all(isinstance(arg, Num) for arg in node.args)


def _joined(name: str, parts: list[Node]) -> Node:
    """A sum or product; flat, so that a long one is no deep tree."""
    return parts[0] if len(parts) == 1 else Apply(name, tuple(parts))


def _mixed(node: Node, fraction: Fraction) -> Node | None:
    """``3 1/2`` as a number; None if a fraction after ``node`` multiplies it."""
    if not isinstance(node, Num) or node.value.denominator != 1 or node.places >= 0:
        return None
    if not node.value or not 0 < fraction < 1:
        return None
    return Num(node.value + (fraction if node.value > 0 else -fraction))


def _ends_item(kind: str, text: str) -> bool:
    return kind == "m" and text in (",", ";", ")", "\\}", "\\\\")


class Parser(Amounts):
    """One pass over the tokens of one answer."""

    def __init__(self, text: str, prose: bool = False) -> None:
        super().__init__(tokens(text, prose))

    def answer(self) -> Node:
        items = self.listing()
        if self.here < len(self.texts):
            raise Unreadable(f"{self.text!r} where nothing was expected")
        if len(items) > 1:  # "k\\pi, k \\in \\Z" says what k is
            items = [item for item in items if item not in _NUMBER_SETS] or items
        if not items:
            raise Unreadable("empty")
        if len(items) == 1 and isinstance(items[0], Group) and says_no_more(items[0]):
            return items[0].items[0]  # "3k, where k is an integer"; two cases keep what they are
        if len(items) > 1:
            items = [one.items[0] if is_for_all(one) else one for one in items]  # type: ignore[union-attr]
        if len(items) == 2:
            items = compounded(items[0], items[1]) or items
        return items[0] if len(items) == 1 else Group("list", tuple(items))

    def listing(self) -> list[Node]:
        """Items up to the bracket or end that closes them; empty ones are skipped."""
        self.deeper()
        items: list[Node] = []
        while True:
            while self.text in (",", ";", "\\\\", "&"):
                self.here += 1
            if self.kind == "" or self.text in (")", "]", "\\}", "}", "\\rangle", "\\end"):
                break
            if items and self.kind == "w" and self.text.lower() in CONDITIONS:
                items[-1] = Group("given", (items[-1], words(self.collect(_ends_item))))
            else:
                items.append(self.item())
            if len(items) > MAX_ITEMS:
                raise Unreadable("too many items")
            if self.kind and self.text not in (",", ";", "\\\\", ")", "]", "\\}", "}", "\\rangle"):
                raise Unreadable(f"{self.text!r} after an item")
        self.depth -= 1
        return items

    def item(self) -> Node:
        start = self.here
        if self.text in ("\\forall", "\\exists"):
            return Group(self.next().lstrip("\\"), (self.relation(),))
        if self.text.lower() in _QUANTIFIERS and len(self.ahead(1)) == 1:
            self.here += 1  # "all x >= 3"
        elif self.kind == "w":
            return self.named() or self.words()
        node = self.relation()
        if self.kind != "w":
            return node
        if self.text.lower() in CONDITIONS:
            return Group("given", (node, words(self.collect(_ends_item))))
        self.here = start
        return self.words()

    def named(self) -> Node | None:
        """``Paolo: 18``, ``\\text{Area} = 12``: a word that says what the value is of."""
        start, name = self.here, self.text
        if self.ahead(1) not in (":", "=") or not name.isalpha() or name.lower() in _NO_NAMES:
            return None
        self.here += 2
        if self.kind in ("n", "m") or (self.kind == "v" and self.text not in "ABCDE"):
            with suppress(Unreadable):
                value = self.region()
                if not self.kind or _ends_item(self.kind, self.text):
                    return Relation((Sym(name.lower()), value), ("=",))
        self.here = start
        return None

    def words(self) -> Node:
        """A name or phrase: everything up to a separator."""
        said = self.collect(_ends_item)
        if choice := re.fullmatch(r"\(?([A-Za-z])\)?", said):
            return Sym(choice.group(1))
        if said.strip().lower() in ("all real numbers", "all reals", "real numbers", "reals"):
            return Sym("reals")
        return words(said)

    def relation(self) -> Node:
        sides, operators = [self.ratio()], []
        while self.text in _RELATIONS and self.kind == "m":
            operators.append(self.next())
            sides.append(self.words() if self.kind == "w" else self.ratio())
        node = Relation(tuple(sides), tuple(operators)) if operators else sides[0]
        if self.text in ("\\pmod", "\\bmod"):
            remainder = self.next() == "\\bmod" and not operators and variables(node)
            parts = (node, self.argument())
            return Apply("mod", parts) if remainder else Group("mod", parts)
        if operators:
            return node
        if self.text == "\\in":
            self.here += 1
            return self.relation()
        if self.text in ("\\mid", "|") and self.in_set:
            return self.builder(sides[0])
        return sides[0]

    def builder(self, variable: Node) -> Node:
        self.here += 1
        return Group("builder", (variable, *self.listing()))

    def ratio(self) -> Node:
        parts = [self.region()]
        while self.text == ":" and not self.in_set:
            self.here += 1
            parts.append(self.region())
        if self.text == ":":
            return self.builder(parts[0])
        return parts[0] if len(parts) == 1 else Group("ratio", tuple(parts))

    def region(self) -> Node:
        node = self.united() if self.text == "\\bigcup" else self.amount()
        while self.text in _REGIONS:
            kind = _REGIONS[self.next()]
            other = self.amount()
            same = isinstance(node, Group) and node.kind == kind and kind != "minus"
            node = Group(kind, (*(node.items if same else (node,)), other))  # type: ignore[union-attr]
        return node

    def united(self) -> Node:
        """``\\bigcup_{k=0}^{\\infty} (k, k+1)``: its letter, bounds and regions."""
        letter, low, high = self.bounds()
        return Group("bigcup", (letter, low, high, self.amount()))

    def sum(self) -> Node:
        before = self.depth
        self.deeper()
        terms = [self.product()]
        while self.kind == "m" and self.text in ("+", "-", "\\pm", "\\mp"):
            sign = self.next()
            other = self.product()
            if sign == "-" and _is_region(terms[-1]) and isinstance(other, Group):
                terms[-1] = Group("minus", (terms[-1], other))  # {x | x < 3} - {1}
            elif sign in ("\\pm", "\\mp"):
                self.deeper()  # each holds all that is before it
                terms = [Apply(sign.lstrip("\\"), (_joined("+", terms), other))]
            else:
                terms.append(other if sign == "+" else negative(other))
        self.depth = before
        added = (
            matrices.matrix_sum(terms) if isinstance(terms[0], Matrix) and len(terms) > 1 else None
        )
        return _joined("+", terms) if added is None else added

    def product(self) -> Node:
        factors = [self.sign()]
        while True:
            if self.kind == "m" and self.text in ("*", "/"):
                sign = self.next()
                factor = self.sign()
                if sign == "/" and len(factors) == 1 and not _is_quotient(factors[0]):
                    factors = [Apply("/", (factors[0], factor))]
                else:
                    factors.append(factor if sign == "*" else Apply("/", (_ONE, factor)))
            elif self.starts_factor():
                factors[-1:] = self.juxtaposed(factors[-1])
            elif self.text in _MATRICES:
                factors.append(self.atom())
            elif len(factors) > 1 and any(isinstance(factor, Matrix) for factor in factors):
                return matrices.matrix_product(factors)
            else:
                return _joined("*", factors)

    def starts_factor(self) -> bool:
        """Whether the next token begins a factor that is multiplied without a sign."""
        if self.kind == "m":
            if self.text == "|":
                return not self.bars and not self.after_set_variable()
            return self.text in _STARTS or self.is_function() or self.text in ("\\sqrt",)
        if self.text in REMAINDERS and self.ahead(1).isdigit():
            return False
        return self.kind in ("n", "v")

    def after_set_variable(self) -> bool:
        """Whether a bar here means "such that": ``\\{x | x > 1\\}``."""
        return self.in_set and self.here > 1 and self.texts[self.here - 2] == "\\{"

    def juxtaposed(self, node: Node) -> list[Node]:
        """``2x``, ``3(x+1)``: two factors; a mixed number, ``3 1/2`` or ``3\\frac12``: one."""
        number_first, before = self.kind == "n", self.texts[self.here - 1]
        if number_first and not isinstance(node, Num):
            raised = _is_numeric_power(node) and (self.ahead(1) == "^" or _is_fixed(node))
            if before not in (")", "!", "|") and not raised:
                raise Unreadable("a number after a factor")
            return [node, self.power()]
        fraction = self.common_fraction()
        mixed = None if fraction is None else _mixed(node, fraction)
        if mixed is not None:
            return [Apply("%", (mixed,)) if self.skip("%") else mixed]
        if number_first:
            if before == ")":
                return [node, self.power()]
            raise Unreadable("two numbers side by side")
        if fraction is not None:
            return [node, Num(fraction)]
        factor = self.power()
        if node == Sym("C") and isinstance(factor, Group) and len(factor.items) == 2:
            return [Apply("binom", factor.items)]
        return [node, factor]

    def common_fraction(self) -> Fraction | None:
        """The fraction of integers that begins here, not raised to a power; else None."""
        start = self.here
        if self.kind == "n" and self.ahead(1) == "/" and self.ahead(2).isdigit():
            above, below = self.texts[start], self.texts[start + 2]
            after = start + 3
        elif self.text == "\\frac":
            self.here += 1
            top, bottom = self.argument(), self.argument()
            after, self.here = self.here, start
            if not (isinstance(top, Num) and isinstance(bottom, Num)) or not bottom.value:
                return None
            above, below = str(top.value), str(bottom.value)
        else:
            return None
        if not (above.isdigit() and below.isdigit()) or not int(below):
            return None
        if after < len(self.texts) and self.texts[after] in ("^", "!"):
            return None
        self.here = after
        return Fraction(int(above), int(below))

    def sign(self) -> Node:
        if self.kind == "m" and self.text in ("-", "+", "\\pm", "\\mp"):
            self.deeper()
            sign = self.next()
            node = self.sign()
            self.depth -= 1
            if sign in ("\\pm", "\\mp"):
                return Apply(sign.lstrip("\\"), (Num(Fraction(0)), node))
            return negative(node) if sign == "-" else node
        return self.power()

    def power(self) -> Node:
        depth = self.depth
        self.deeper()
        node = self.atom()
        while self.kind == "m" and self.text in _SUFFIXES:
            self.deeper()
            if self.text == "^":
                self.here += 1
                node = self.exponent(node)
            elif self.text == "!":
                node = self.factorial(node)
            elif self.text in ("%", "\\circ"):
                node = Apply("%" if self.next() == "%" else "deg", (node,))
            elif isinstance(node, Num):
                node = self.based(node)
            else:
                break
        self.depth = depth
        return node

    def exponent(self, node: Node) -> Node:
        if self.text == "\\circ":
            self.here += 1
            return Apply("deg", (node,))
        if self.text == "{" and self.ahead(1) == "\\circ" and self.ahead(2) == "}":
            self.here += 3
            return Apply("deg", (node,))
        if self.kind == "n":  # "2^10" is written for 2^{10}, whatever LaTeX would make of it
            return Apply("^", (node, self.number()))
        return Apply("^", (node, self.argument()))

    def factorial(self, node: Node) -> Node:
        count = 0
        while self.text == "!":
            self.here += 1
            count += 1
        if count > 2:
            raise Unreadable("factorial of a factorial")
        return Apply("!" * count, (node,))
