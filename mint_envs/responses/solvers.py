"""Sums, solved from the prompt alone, to see whether the right answer is what is paid."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction

_EXPRESSION = re.compile(r"[\d(][\d\s+\-*/x\u00d7\u00f7().,]*[\d)]")
_OPERATOR = re.compile(r"\d\s*[+\-*/x\u00d7\u00f7]")
_OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_LONGEST = 200


def solve(prompt: str) -> str | None:
    """Return the answer to a prompt that ends with a sum to be worked out, else None.

    Only a last question that holds exactly one expression with an operator is taken; a prompt in
    words is left to a solver of the user's.
    """
    found = expression(prompt)
    if found is None:
        return None
    value = evaluate(found)
    if value is None:
        return None
    return str(value.numerator) if value.denominator == 1 else None


def expression(prompt: str) -> str | None:
    """Return the one sum that the last question of a prompt asks for.

    A sum before the last number is not it: it is a worked example, with its answer.
    """
    for line in reversed(prompt.splitlines()):
        sums = [m.group() for m in _EXPRESSION.finditer(line) if _OPERATOR.search(m.group())]
        if not sums:
            if re.search(r"\d", line):
                return None
            continue
        rest = line[line.index(sums[0]) + len(sums[0]) :]
        said = _ASKING_HAN.sub(" ", line.lower().replace(sums[0].lower(), " "))
        words = re.findall(r"[^\W\d_]+", said)
        cut = re.search(r"[-+(]\s*$", line[: line.index(sums[0])]) or "(" in rest
        alone = len(sums) == 1 and not cut and not re.search(r"\d", rest)
        return sums[0] if alone and set(words) <= _ASKING else None
    return None


#: Words that ask for the value of a sum and add nothing to it.
_ASKING = frozenset(
    re.findall(
        r"\w+",
        "q question what is whats s the value of sum result compute calculate evaluate work out "
        "find how much answer a please solve equal equals does",
    )
)


_ASKING_HAN = re.compile("请|计算|求|一下|的值|的?结果|等于|是|多少|几|答案?|问题?")


def evaluate(text: str) -> Fraction | None:
    """Return the value of a sum of plain numbers; None if it is no such thing."""
    text = text.replace("\u00d7", "*").replace("x", "*").replace("\u00f7", "/").replace(",", "")
    if len(text) > _LONGEST:
        return None
    try:
        return _sum_value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, KeyError, ArithmeticError, RecursionError):
        return None


def _sum_value(node: ast.expr) -> Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return Fraction(str(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_sum_value(node.operand)
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_sum_value(node.left), _sum_value(node.right))
    raise ValueError
