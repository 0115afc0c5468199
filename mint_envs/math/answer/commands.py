"""What stands alone in an answer: numbers, names, brackets, commands, functions, matrices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, permutations

from .cursor import Cursor
from .lexer import FUNCTIONS, SEVERAL
from .limits import MAX_ITEMS, Unreadable
from .normal import number, scientific
from .tree import (
    INFINITY,
    Apply,
    Based,
    Group,
    Interval,
    Matrix,
    Node,
    Num,
    Quantity,
    Relation,
    Sym,
    negative,
)
from .words import counted

_CURRENCIES = {"\\$": "dollar", "€": "euro", "£": "sterling", "¥": "yuan", "₹": "rupee"}
_CLOSING = {"(": (")", "]"), "[": ("]", ")"), "\\{": ("\\}",), "\\langle": ("\\rangle",)}
_SETS = {
    "\\R": "reals",
    "\\Z": "integers",
    "\\N": "naturals",
    "\\Q": "rationals",
    "\\C": "complexes",
}
_ALIASES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
_INVERSES = {"sin": "arcsin", "cos": "arccos", "tan": "arctan"}
_PAIRS = {"\\lfloor": ("\\rfloor", "floor"), "\\lceil": ("\\rceil", "ceil")}


class Atoms(Cursor, ABC):
    """The rules of the grammar's ``atom``."""

    @abstractmethod
    def listing(self) -> list[Node]: ...

    @abstractmethod
    def sum(self) -> Node: ...

    @abstractmethod
    def series(self) -> Node: ...

    @abstractmethod
    def power(self) -> Node: ...

    def atom(self) -> Node:
        self.deeper()
        node = self.one()
        self.depth -= 1
        return node

    def one(self) -> Node:
        kind, text = self.kind, self.text
        if kind == "n":
            return self.number()
        if kind == "v":
            return self.name()
        if kind == "m":
            return self.mark(text)
        raise Unreadable(f"{text or 'end'!r} is no value")

    def mark(self, text: str) -> Node:
        if text in _CLOSING:
            return self.bracket()
        if self.is_function():
            return self.function()
        rule = _RULES.get(text)
        if rule is not None:
            return rule(self)
        if text in _SETS:
            return Sym(_SETS[self.next()])
        if text in _CURRENCIES:
            return Quantity(self.after().power(), _CURRENCIES[text])
        raise Unreadable(f"{text!r} is not known")

    def after(self) -> Atoms:
        self.here += 1
        return self

    # --- numbers and names

    def number(self) -> Num:
        text = self.next()
        if "e" in text or "E" in text:
            return Num(scientific(text))
        value = number(text)
        if value is None:
            raise Unreadable("too many digits")
        if self.text == "\\overline" or (self.text == "." and self.ahead(1) == "\\overline"):
            return self.repeating(text, value)
        return Num(value, len(text.partition(".")[2]) if "." in text else -1)

    def repeating(self, text: str, value: Fraction) -> Num:
        """``0.\\overline{3}``, ``0.1\\overline{6}``, ``0.\\dot{3}``."""
        if self.text != "." and "." not in text:
            raise Unreadable("a bar that repeats no decimals")
        places = len(text.partition(".")[2])
        self.here += 2 if self.text == "." else 1
        braced = self.text == "{"
        self.here += braced
        digits = self.next()
        if braced:
            self.expect("}")
        digits += self.last_dotted()
        if not digits.isdecimal():
            raise Unreadable("a bar over no digits")
        return Num(value + Fraction(int(digits), (10 ** len(digits) - 1) * 10**places))

    def last_dotted(self) -> str:
        """The rest of a period that is marked by dots on its ends: ``0.\\dot{1}4285\\dot{7}``."""
        between = self.text if self.kind == "n" else ""
        if (self.ahead(1) if between else self.text) != "\\overline":
            return ""
        self.here += bool(between) + 1
        return between + (self.braced() if self.text == "{" else self.next())

    def name(self) -> Node:
        name = self.next()
        while self.text == "'":
            name += self.next()
        if self.text == "_":
            self.here += 1
            name += "_" + (self.braced() if self.text == "{" else self.next())
        while self.text == "'":
            name += self.next()
        return Sym(name)

    def braced(self) -> str:
        self.expect("{")
        inside = self.collect(lambda kind, text: kind == "m" and text in ("{", "}"))
        self.expect("}")
        return inside.replace(" ", "")

    def based(self, node: Num) -> Node:
        """``204_5``, ``204_{five}``: digits of a base, from the mark ``_``."""
        self.here += 1
        base = self.base_of(self.braced() if self.text == "{" else self.next())
        if base is None or node.value.denominator != 1 or node.value < 0:
            raise Unreadable("a subscript that is no base")
        return Based(str(node.value), base)

    @staticmethod
    def base_of(text: str) -> int | None:
        text = text.strip("()")
        base = int(text) if text.isdecimal() and len(text) < 3 else counted(text.lower())
        return base if base is not None and 2 <= base <= 36 else None

    def label(self) -> Node:
        """``\\angle ABC``, ``\\overline{AB}``: the name of a thing."""
        label = self.next()
        braced = self.text == "{"
        self.here += braced
        start = self.here
        while self.kind == "v":
            self.here += 1
        if self.here == start:
            raise Unreadable(f"{label} of nothing")
        name = "".join(self.texts[start : self.here])
        if braced:
            self.expect("}")
        return Sym(f"{label} {name}")

    # --- brackets

    def bracket(self) -> Node:
        left = self.next()
        outside = self.in_set, self.bars
        self.in_set, self.bars = left == "\\{", 0
        items = self.listing()
        self.in_set, self.bars = outside
        if left == "(" and self.text == "," and not items:
            raise Unreadable("empty brackets")
        right = self.expect(*_CLOSING[left])
        if left == "\\{":
            builder = len(items) == 1 and isinstance(items[0], Group) and items[0].kind == "builder"
            return items[0] if builder else Group("set", tuple(items))
        return _bracketed(left, right, items)

    def braces(self) -> Node:
        """``{...}`` groups; ``{a \\over b}`` and ``{n \\choose k}`` are written inside one."""
        self.here += 1
        if self.text == "}":
            raise Unreadable("empty braces")
        outside, self.bars = self.bars, 0
        node = self.sum()
        if self.text in ("\\over", "\\choose"):
            name = "/" if self.next() == "\\over" else "binom"
            node = Apply(name, (node, self.sum()))
        if self.text == ",":  # plain text writes a set in bare braces
            node = Group("set", (node, *self.listing()))
        self.expect("}")
        self.bars = outside
        return node

    def absolute(self) -> Node:
        self.here += 1
        self.bars += 1
        node = self.sum()
        self.expect("|")
        self.bars -= 1
        return Apply("abs", (node,))

    def rounded(self) -> Node:
        right, name = _PAIRS[self.next()]
        node = self.sum()
        self.expect(right)
        return Apply(name, (node,))

    # --- commands

    def argument(self) -> Node:
        """``{sum}``, one digit, or one atom, as LaTeX takes the argument of a command."""
        if self.kind == "n" and len(self.text) > 1 and self.text.isdecimal():
            digit, self.texts[self.here] = self.text[0], self.text[1:]
            return Num(Fraction(int(digit)))
        if self.text == "-":
            self.deeper()
            node = Apply("neg", (self.after().argument(),))
            self.depth -= 1
            return node
        return self.atom()

    def fraction(self) -> Node:
        self.here += 1
        above = self.argument()
        return Apply("/", (above, self.argument()))

    def binomial(self) -> Node:
        self.here += 1
        above = self.argument()
        return Apply("binom", (above, self.argument()))

    def root(self) -> Node:
        self.here += 1
        degree: Node = Num(Fraction(2))
        if self.text == "[":
            self.here += 1
            degree = self.sum()
            self.expect("]")
        whole = self.kind == "n"
        node = self.atom() if whole and len(self.text) > 1 and self.bare_root() else self.argument()
        return Apply("root", (node, degree))

    def bare_root(self) -> bool:
        """``√12`` in plain text means the root of 12; ``\\sqrt12`` in LaTeX that of 1, times 2."""
        return self.texts[self.here - 1] == "sqrt"

    def is_function(self) -> bool:
        return self.kind == "m" and self.text in FUNCTIONS

    def function(self) -> Node:
        name = self.next()
        name = _ALIASES.get(name, name)
        if name in SEVERAL:
            return Apply(name, self.operands())
        if name == "sqrt":
            self.here -= 1
            return self.root()
        exponent, base = None, None
        while self.text in ("^", "_"):
            if self.next() == "^":
                exponent = self.argument()
            else:
                base = self.argument()
        node = _applied(name, self.operand(), base)
        if exponent == Apply("neg", (Num(Fraction(1)),)) or exponent == Num(Fraction(-1)):
            return Apply(_INVERSES.get(name, "?"), node.args)
        return node if exponent is None else Apply("^", (node, exponent))

    def operands(self) -> tuple[Node, ...]:
        """``(2, 3)`` or ``\\{2, 3\\}`` after ``\\max`` and the like."""
        node = self.atom()
        if not isinstance(node, Group) or node.kind not in ("tuple", "set") or not node.items:
            raise Unreadable("a function of several values without them")
        return node.items

    def operand(self) -> Node:
        """What a function without brackets takes: ``\\sin 2x``, ``\\cos\\frac{\\pi}{3}``."""
        self.deeper()
        if self.text in ("(", "[", "{", "|"):
            node = self.atom()
        else:
            factors = [self.power()]
            while (self.kind == "v" or self.text == "pi") and self.text:
                factors.append(self.power())
            node = factors[0] if len(factors) == 1 else Apply("*", tuple(factors))
            if self.text == "/" and self.ahead(1).isdigit():
                self.here += 1
                node = Apply("/", (node, self.power()))
        self.depth -= 1
        return node

    # --- environments

    def environment(self) -> Node:
        name = self.next().partition(":")[2]
        if name not in ("matrix", "pmatrix", "bmatrix", "vmatrix", "smallmatrix", "array", "cases"):
            raise Unreadable(f"the environment {name!r}")
        rows = self.rows(name)
        if name == "cases" and all(len(row) == 1 for row in rows):
            return Group("list", sum(rows, ()))
        if name == "cases":
            return Group("cases", tuple(Group("tuple", row) for row in rows))
        if len({len(row) for row in rows}) != 1:
            raise Unreadable("a matrix with rows of different lengths")
        return _determinant(rows) if name == "vmatrix" else Matrix(rows)

    def rows(self, name: str) -> tuple[tuple[Node, ...], ...]:
        rows: list[tuple[Node, ...]] = []
        row: list[Node] = []
        while self.text != f"\\end:{name}":
            if self.text == "\\\\":
                self.here += 1
                rows, row = [*rows, tuple(row)], []
            elif self.text in ("&", ",", "\\hline"):
                self.here += 1
            else:
                row.append(self.cell())
            if len(rows) * max(len(row), 1) > MAX_ITEMS or not self.kind:
                raise Unreadable("a matrix that is too large or has no end")
        self.here += 1
        return tuple(row for row in (*rows, tuple(row)) if row)

    def cell(self) -> Node:
        if self.kind == "w" and self.text.lower() in ("otherwise", "else"):
            self.here += 1
            return Sym("otherwise")
        if self.kind == "w" and self.text.lower() in ("if", "for", "when"):
            self.here += 1
        return self.relation()

    @abstractmethod
    def relation(self) -> Node: ...


def _determinant(rows: tuple[tuple[Node, ...], ...]) -> Node:
    """The determinant of two or three rows, as that of a sum of products: not yet worked out."""
    if len(rows) not in (2, 3) or len(rows[0]) != len(rows):
        return Apply("det", (Matrix(rows),))
    terms = []
    for order in permutations(range(len(rows))):
        product = Apply("*", tuple(row[at] for row, at in zip(rows, order, strict=True)))
        turns = sum(a > b for a, b in combinations(order, 2))
        terms.append(negative(product) if turns % 2 else product)
    return Apply("det", (Apply("+", tuple(terms)),))


def _is_equation(node: Node) -> bool:
    return isinstance(node, Relation) and set(node.operators) == {"="}


def _bracketed(left: str, right: str, items: list[Node]) -> Node:
    """Items in round or square brackets: a group, a tuple or an interval."""
    if not items:
        raise Unreadable("empty brackets")
    matching = (left, right) in (("(", ")"), ("[", "]"), ("\\langle", "\\rangle"))
    if len(items) == 1:
        if not matching:
            raise Unreadable("one value in brackets that do not match")
        return items[0]
    if len(items) > 1 and left == "[" and all(map(_is_equation, items)):
        return Group("list", tuple(items))  # [x = 1, y = 2]
    endless = any(item in (INFINITY, negative(INFINITY)) for item in items)
    if len(items) == 2 and left != "\\langle" and (endless or (left, right) != ("(", ")")):
        return Interval(items[0], items[1], left == "(", right == ")")
    if not matching:
        raise Unreadable("brackets that do not match")
    return Group("tuple", tuple(items))


def _applied(name: str, node: Node, base: Node | None) -> Apply:
    if name in ("log", "lg", "ln"):
        if name == "log" and base is None:
            return Apply("log", (node,))  # to base 10, unless nothing gives a base
        if name == "lg" and base is None:
            base = Num(Fraction(10))
        top = Apply("ln", (node,))
        return top if base is None or base == Sym("e") else Apply("/", (top, Apply("ln", (base,))))
    if base is not None:
        raise Unreadable(f"a subscript of {name}")
    if name == "cis":
        return Apply("+", (Apply("cos", (node,)), Apply("*", (Sym("i"), Apply("sin", (node,))))))
    return Apply("^", (Sym("e"), node)) if name == "exp" else Apply(name, (node,))


_RULES: dict[str, Callable[[Atoms], Node]] = {
    "{": Atoms.braces,
    "|": Atoms.absolute,
    "\\frac": Atoms.fraction,
    "\\binom": Atoms.binomial,
    "\\sqrt": Atoms.root,
    "\\sum": lambda atoms: atoms.series(),
    "\\lfloor": Atoms.rounded,
    "\\lceil": Atoms.rounded,
    "pi": lambda atoms: Sym(atoms.next()),
    "infty": lambda atoms: Sym(atoms.next() and "inf"),
    "\\angle": Atoms.label,
    "\\triangle": Atoms.label,
    "\\det": Atoms.label,
    "\\overline": Atoms.label,
    "\\overrightarrow": Atoms.label,
    "\\vec": lambda atoms: atoms.after().argument(),
    "\\hat": lambda atoms: atoms.after().argument(),
    "\\emptyset": lambda atoms: Group("set", ()) if atoms.next() else Sym(""),
    "\\ldots": lambda atoms: Sym(atoms.next()),
    **{
        f"\\begin:{name}": Atoms.environment
        for name in ("matrix", "pmatrix", "bmatrix", "vmatrix", "smallmatrix", "array", "cases")
    },
}
