"""The generated problems: kinds of functions to write, from one line to a small algorithm.

Each kind has a reference solution and a wrong one; ``{k}`` is a number drawn from the seed. The
text of a reference is the only definition of what is right: expected values are its results.
"""

# ruff: noqa: E501  (a problem reads best with each of its texts on one line)

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .inputs import (
    Draw,
    a_grid,
    a_list,
    a_sentence,
    a_table,
    a_word,
    brackets,
    integers,
    intervals,
    list_and_int,
    two_lists,
    word_and_int,
    word_and_letter,
    word_list,
)  # fmt: skip

LEVELS = ("easy", "medium", "hard")


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """A family of problems.

    Args:
        level: ``"easy"`` (one plain line), ``"medium"`` or ``"hard"``.
        signature: ``"add(a, b)"``.
        task: what the function does, after "Write `add(a, b)` that".
        body: the reference, without the ``def`` line.
        wrong: a near miss.
        draw: draws one tuple of arguments.
        k: range of ``{k}``, inclusive.
        edges: arguments that are always among the tests; ``"{k}"`` stands for the number.
    """

    level: str
    signature: str
    task: str
    body: str
    wrong: str
    draw: Draw
    k: tuple[int, int] = (2, 12)
    edges: tuple[tuple[Any, ...], ...] = ()

    @property
    def name(self) -> str:
        return self.signature.partition("(")[0]


_one, _two, _three = integers(1), integers(2), integers(3)
_small = integers(1, 0, 12)

KINDS = (
    # -- easy: one line that the question almost spells out ---------------------------------------
    ProblemKind("easy", "add(a, b)", "returns a + b", "return a + b", "return a - b", _two),
    ProblemKind("easy", "subtract(a, b)", "returns a - b", "return a - b", "return b - a", _two),
    ProblemKind("easy", "multiply(a, b)", "returns a * b", "return a * b", "return a + b", _two),
    ProblemKind("easy", "double(x)", "returns x * 2", "return x * 2", "return x + 2", _one),
    ProblemKind("easy", "times{k}(x)", "returns x * {k}", "return x * {k}", "return x + {k}", _one),
    ProblemKind("easy", "plus{k}(x)", "returns x + {k}", "return x + {k}", "return x * {k}", _one),
    ProblemKind("easy", "minus{k}(x)", "returns x - {k}", "return x - {k}", "return {k} - x", _one),
    ProblemKind("easy", "square(x)", "returns x squared", "return x * x", "return x * 2", _one),
    ProblemKind("easy", "cube(x)", "returns x to the power of 3", "return x ** 3", "return x * 3", _one),
    ProblemKind("easy", "negate(x)", "returns minus x", "return -x", "return x", _one),
    ProblemKind("easy", "is_even(n)", "returns True if n is even", "return n % 2 == 0",
         "return n % 2 == 1", _one, edges=((0,), (1,))),
    ProblemKind("easy", "is_odd(n)", "returns True if n is odd", "return n % 2 == 1",
         "return n % 2 == 0", _one, edges=((0,), (1,))),
    ProblemKind("easy", "is_positive(n)", "returns True if n is greater than 0", "return n > 0",
         "return n >= 0", _one, edges=((0,), (1,), (-1,))),
    ProblemKind("easy", "above{k}(x)", "returns True if x is greater than {k}", "return x > {k}",
         "return x >= {k}", _one, edges=(("{k}",),)),
    ProblemKind("easy", "absolute(x)", "returns the absolute value of x", "return abs(x)", "return x", _one,
         edges=((-3,),)),
    ProblemKind("easy", "larger(a, b)", "returns the larger of a and b", "return max(a, b)",
         "return min(a, b)", _two, edges=((1, 2),)),
    ProblemKind("easy", "smaller(a, b)", "returns the smaller of a and b", "return min(a, b)",
         "return max(a, b)", _two, edges=((1, 2),)),
    ProblemKind("easy", "length(s)", "returns the length of s", "return len(s)", "return len(s) + 1",
         a_word, edges=(("",),)),
    ProblemKind("easy", "upper(s)", "returns s in upper case", "return s.upper()", "return s.lower()",
         a_word),
    ProblemKind("easy", "reverse(s)", "returns the string s reversed", "return s[::-1]", "return s",
         a_word, edges=(("ab",),)),
    ProblemKind("easy", "first(items)", "returns the first item of the list", "return items[0]",
         "return items[-1]", a_list(2), edges=(([1, 2],),)),
    ProblemKind("easy", "last(items)", "returns the last item of the list", "return items[-1]",
         "return items[0]", a_list(2), edges=(([1, 2],),)),
    ProblemKind("easy", "total(numbers)", "returns the sum of the list", "return sum(numbers)",
         "return len(numbers)", a_list(), edges=(([],), ([5, 5],))),
    # -- medium: one idea ------------------------------------------------------------------------
    ProblemKind("medium", "clamp(x, low, high)", "returns x limited to the range from low to high",
         "return max(low, min(x, high))", "return min(low, max(x, high))",
         lambda rng: (int(rng.integers(-50, 50)), -10, 10), edges=((99, 0, 5), (-9, 0, 5), (3, 0, 5))),
    ProblemKind("medium", "count_multiples(numbers)", "returns how many numbers of the list are divisible by {k}",
         "return sum(1 for n in numbers if n % {k} == 0)", "return sum(1 for n in numbers if n == {k})",
         a_list(), edges=(([0, 0],), ([60, 55440, 7],))),
    ProblemKind("medium", "sum_digits(n)", "returns the sum of the decimal digits of the non-negative integer n",
         "return sum(int(c) for c in str(n))", "return len(str(n))", integers(1, 0, 99999)),
    ProblemKind("medium", "factorial(n)", "returns n! for n >= 0",
         "result = 1\nfor i in range(2, n + 1):\n    result *= i\nreturn result",
         "result = 1\nfor i in range(2, n):\n    result *= i\nreturn result", _small, edges=((0,), (5,))),
    ProblemKind("medium", "fibonacci(n)", "returns the n-th Fibonacci number, where fibonacci(0) is 0 and fibonacci(1) is 1",
         "a, b = 0, 1\nfor _ in range(n):\n    a, b = b, a + b\nreturn a",
         "a, b = 1, 1\nfor _ in range(n):\n    a, b = b, a + b\nreturn a", integers(1, 0, 40), edges=((0,), (1,), (10,))),
    ProblemKind("medium", "is_palindrome(s)", "returns True if the string s reads the same backwards",
         "return s == s[::-1]", "return s[:1] == s[-1:]", a_word, edges=(("",), ("abca",), ("noon",))),
    ProblemKind("medium", "count_vowels(s)", "returns the number of vowels (a, e, i, o, u) in s",
         "return sum(1 for c in s if c in 'aeiou')", "return len(set(s) & set('aeiou'))",
         a_sentence, edges=(("banana",), ("xyz",))),
    ProblemKind("medium", "count_letter(s, c)", "returns how often the letter c occurs in s",
         "return s.count(c)", "return 1 if c in s else 0", word_and_letter, edges=(("banana", "a"),)),
    ProblemKind("medium", "repeat(s, n)", "returns the string s repeated n times, joined by '-'",
         "return '-'.join([s] * n)", "return s * n", word_and_int, edges=(("ab", 0), ("ab", 3))),
    ProblemKind("medium", "evens(numbers)", "returns the list of the even numbers, in order",
         "return [n for n in numbers if n % 2 == 0]", "return [n for n in numbers if n % 2]",
         a_list(), edges=(([1, 2, 3, 4],),)),
    ProblemKind("medium", "scale_all(numbers)", "returns the list with every number multiplied by {k}",
         "return [n * {k} for n in numbers]", "return numbers * {k}", a_list(), edges=(([1, 2],),)),
    ProblemKind("medium", "unique(items)", "returns the items in order without repeats",
         "return list(dict.fromkeys(items))", "return list(items)", a_list(0, 0, 5), edges=(([1, 1, 2],),)),
    ProblemKind("medium", "second_largest(numbers)", "returns the second largest of the distinct numbers; there are at least two",
         "return sorted(set(numbers))[-2]", "return sorted(numbers)[-2]",
         lambda rng: ([1, 2, *a_list(1)(rng)[0]],), edges=(([3, 3, 1],),)),
    ProblemKind("medium", "word_count(text)", "returns the number of words in the text",
         "return len(text.split())", "return text.count(' ')", a_sentence, edges=(("",), ("a  b",))),
    ProblemKind("medium", "longest(words)", "returns the longest of the words; of several, the first",
         "return max(words, key=len)", "return min(words, key=len)", word_list, edges=((["a", "bb", "cc"],),)),
    ProblemKind("medium", "capitalize_words(text)", "returns the text with the first letter of every word in upper case",
         "return ' '.join(w[:1].upper() + w[1:] for w in text.split(' '))", "return text.upper()", a_sentence),
    ProblemKind("medium", "gcd(a, b)", "returns the greatest common divisor of two positive integers",
         "while b:\n    a, b = b, a % b\nreturn a", "return min(a, b)", integers(2, 1, 99), edges=((12, 18),)),
    ProblemKind("medium", "is_prime(n)", "returns True if n is a prime number",
         "return n > 1 and all(n % i for i in range(2, int(n ** 0.5) + 1))",
         "return n % 2 == 1", integers(1, 0, 200), edges=((1,), (2,), (9,), (97,))),
    ProblemKind("medium", "power_mod(x)", "returns x to the power of {k}, modulo 1000",
         "return pow(x, {k}, 1000)", "return x * {k} % 1000", integers(1, 2, 99), k=(3, 9)),
    ProblemKind("medium", "dot(a, b)", "returns the sum of the products of the pairs of two lists, as long as the shorter one",
         "return sum(x * y for x, y in zip(a, b))", "return sum(a) * sum(b)", two_lists,
         edges=(([1, 2], [3, 4]),)),
    ProblemKind("medium", "swap_keys(table)", "returns a dict that maps the values of the dict to their keys; if several keys share one, to the last",
         "return {v: k for k, v in table.items()}", "return table", a_table),
    ProblemKind("medium", "rotate(items, n)", "returns the list rotated to the left by n places",
         "n %= len(items)\nreturn items[n:] + items[:n]", "return items[-n:] + items[:-n]",
         list_and_int(0, 7), edges=(([1, 2, 3], 1),)),
    ProblemKind("medium", "chunks(items, n)", "returns the list cut into lists of n items; the last may be shorter",
         "return [items[i:i + n] for i in range(0, len(items), n)]",
         "return [items[:n], items[n:]]", list_and_int(1, 3), edges=(([1, 2, 3, 4, 5], 2),)),
    # -- hard: a small algorithm -------------------------------------------------------------------
    ProblemKind("hard", "run_length(s)", "returns the run-length code of s as a list of (character, count) tuples",
         "found = []\nfor c in s:\n    if found and found[-1][0] == c:\n        found[-1] = (c, found[-1][1] + 1)\n    else:\n        found.append((c, 1))\nreturn found",
         "return [(c, s.count(c)) for c in dict.fromkeys(s)]", a_word, edges=(("",), ("aabaa",))),
    ProblemKind("hard", "transpose(grid)", "returns the transposed list of lists",
         "return [list(row) for row in zip(*grid)]", "return grid[::-1]", a_grid, edges=(([[1, 2], [3, 4]],),)),
    ProblemKind("hard", "balanced(s)", "returns True if the brackets ( ) [ ] in s are balanced",
         "open_ones = []\nfor c in s:\n    if c in '([':\n        open_ones.append(c)\n    elif not open_ones or open_ones.pop() + c not in ('()', '[]'):\n        return False\nreturn not open_ones",
         "return s.count('(') == s.count(')') and s.count('[') == s.count(']')", brackets,
         edges=(("([)]",), (")(",), ("([])",))),
    ProblemKind("hard", "binary(n)", "returns the binary digits of the non-negative integer n as a string",
         "return bin(n)[2:]", "return bin(n)", integers(1, 0, 999), edges=((0,),)),
    ProblemKind("hard", "caesar(s)", "shifts every lower-case letter of s by {k} places in the alphabet, from z on to a",
         "return ''.join(chr((ord(c) - 97 + {k}) % 26 + 97) if 'a' <= c <= 'z' else c for c in s)",
         "return ''.join(chr(ord(c) + {k}) for c in s)", a_sentence, edges=(("xyz",),)),
    ProblemKind("hard", "merge_sorted(a, b)", "returns one sorted list of all the numbers of two lists",
         "return sorted(a + b)", "return a + b", two_lists, edges=(([3], [1]),)),
    ProblemKind("hard", "prime_factors(n)", "returns the prime factors of n >= 2 in order, with repeats",
         "found, p = [], 2\nwhile n > 1:\n    while n % p == 0:\n        found.append(p)\n        n //= p\n    p += 1\nreturn found",
         "return [p for p in range(2, n + 1) if n % p == 0]", integers(1, 2, 500), edges=((12,),)),
    ProblemKind("hard", "collatz(n)", "returns the number of steps that the Collatz rule (halve an even n, else 3n + 1) takes from n to 1",
         "steps = 0\nwhile n != 1:\n    n = n // 2 if n % 2 == 0 else 3 * n + 1\n    steps += 1\nreturn steps",
         "return n // 2", integers(1, 1, 300), edges=((1,), (6,))),
    ProblemKind("hard", "max_subarray(numbers)", "returns the largest sum of a non-empty run of neighbouring numbers",
         "best = here = numbers[0]\nfor n in numbers[1:]:\n    here = max(n, here + n)\n    best = max(best, here)\nreturn best",
         "return max(numbers)", a_list(1), edges=(([-2, 1, 3, -1],), ([-5],))),
    ProblemKind("hard", "flatten(grid)", "returns the numbers of a list of lists in one list, sorted from large to small",
         "return sorted((n for row in grid for n in row), reverse=True)",
         "return [n for row in grid for n in row]", a_grid, edges=(([[1], [2]],),)),
    ProblemKind("hard", "anagrams(words)", "returns the number of groups of words that are anagrams of each other (a word alone is a group)",
         "return len({''.join(sorted(w)) for w in words})", "return len(words)", word_list,
         edges=((["ab", "ba", "c"],),)),
    ProblemKind("hard", "roman(n)", "returns the integer n (1 to 3999) as a Roman numeral",
         "text = ''\nfor value, sign in ((1000, 'M'), (900, 'CM'), (500, 'D'), (400, 'CD'), (100, 'C'), (90, 'XC'), (50, 'L'), (40, 'XL'), (10, 'X'), (9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I')):\n    while n >= value:\n        text += sign\n        n -= value\nreturn text",
         "return 'I' * n", integers(1, 1, 3999), edges=((4,), (1994,))),
    ProblemKind("hard", "merge_intervals(intervals)", "merges the [start, end] intervals that overlap or touch and returns them sorted",
         "found = []\nfor start, end in sorted(intervals):\n    if found and start <= found[-1][1]:\n        found[-1][1] = max(found[-1][1], end)\n    else:\n        found.append([start, end])\nreturn found",
         "return sorted(intervals)", intervals, edges=(([[1, 3], [2, 5], [9, 10]],),)),
    ProblemKind("hard", "edit_distance(a, b)", "returns the Levenshtein distance of two strings",
         "row = list(range(len(b) + 1))\nfor i, x in enumerate(a, 1):\n    before, row[0] = row[0], i\n    for j, y in enumerate(b, 1):\n        before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))\nreturn row[-1]",
         "return abs(len(a) - len(b))", lambda rng: (a_word(rng)[0], a_word(rng)[0]), edges=(("abc", "abd"), ("", "abc"))),
)  # fmt: skip
