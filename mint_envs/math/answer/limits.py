"""What one verdict may cost. Every limit is static, so that a verdict never depends on the clock.

They are checked before any work is done: a response is cut to ``MAX_TEXT``, an answer longer than
``MAX_ANSWER`` is not read, the parser counts tokens and depth, and arithmetic counts bits. Each
verdict has ``MAX_WORK`` units of arithmetic (one unit is a few microseconds).
"""

from __future__ import annotations

MAX_TEXT = 400_000  # characters of a response that are looked at: its end
MAX_WINDOW = 20_000  # characters at the end in which phrases such as "the answer is" count
MAX_ANSWER = 2_000  # characters of one answer
MAX_TOKENS = 700
MAX_DEPTH = 120  # of rules within rules; a bracket takes four
MAX_DIGITS = 1_000  # of one number as written
MAX_ITEMS = 40  # of a set, tuple or list
MAX_BITS = 8_192  # of an exact number on the way
MAX_WORK = 2_500
MAX_SAMPLED = 5_000  # of the same, for letters that are whole numbers
MAX_PAIRS = 4_000  # of parts that are compared


class Unreadable(Exception):
    """An answer that cannot be parsed or computed within the limits. Never leaves this room."""


class Overworked(Unreadable):
    """The work of one verdict is used up: nothing more will be computed."""
