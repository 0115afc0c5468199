"""The verdict on an answer: equal, different or unknown.

Tiers from cheap to dear, each only for what the one before leaves open: the same *text*; the same
exact *number*; the same *tree* (parsed, compared by structure, scalars by value); and, where it is
asked for and ``mint-envs[math]`` is installed, *sympy*, in a process of its own. With the
*question*, an equal answer that only repeats it is different after all (see ``question``).
"""

from __future__ import annotations

import hashlib
import re
import warnings
from dataclasses import replace
from functools import lru_cache

from ..core import Reward
from ..errors import GraderFault, SettingError
from . import fallback
from .answer.compare import Comparer
from .answer.limits import MAX_ANSWER, Overworked, Unreadable
from .answer.normal import clean, plain_number
from .answer.parse import parse
from .answer.readings import has_letters, readings
from .answer.said import Said
from .answer.slashes import same_but_for_slashes
from .answer.tree import Group, Node
from .answer.units import canonical, is_forgiven
from .letters import said_of
from .prose.extract import find
from .prose.found import Found
from .prose.prose import is_sum
from .question import short_of

_MAX_CREDIT = 0.1
_AMBIGUOUS = re.compile(r"\d,[1-9]\d\d")  # a number with a comma, or a list
_GROUP_OF_ZEROS = re.compile(r"\d,0\d")  # no member of a list
_SOLUTION = 40  # characters from which a right answer may be a worked solution
_LOOSE = re.compile(r"(?<=[-+=(){}<>]) ++|(?<! ) ++(?=[-+=(){}<>])")
_DECIMAL = re.compile(r"-?\d+\.\d+", re.ASCII)
_WITH_COMMA = re.compile(  # "1,234" is a whole number, and "1,2" a list
    r"-?(?:\d+,(?!\d{3}(?!\d))\d{2,}|0,\d+)(?: \\?[$€£]| [A-Za-z]+)?(?!\S)(?=$| )", re.ASCII
)
_DISPLAYED = re.compile(r"\$\$|\\begin\{|\\\[")  # a last sentence is about it, and not the answer
_IN_DOLLARS = re.compile(r"\$[^$]*\$")
_INTEGER = re.compile(r"-?\d{1,15}", re.ASCII)


def grade(
    gold: str,
    response: str,
    question: str | None = None,
    *,
    strict: bool = False,
    format_credit: float = 0.0,
    set_credit: bool = False,
    worked_out: bool = False,
    sympy: bool = False,
) -> Reward:
    """Return 1 if the answer that ``response`` gives equals ``gold``, else 0.

    A rounded decimal is not the exact value, unless it has nine significant digits; a missing
    unit is forgiven, a wrong one is not; an equal form counts however it is written.

    Args:
        gold: the right answer, in LaTeX or plain text: ``"72"``, ``"\\\\frac{1}{2}"``, ``"(3,4]"``.
        response: any text; where the answer is looked for, ``mint_envs.math.prose.extract`` says.
        question: what was asked. Where a formula of it equals ``gold``, the problem asks for
            another form of it, and what is left as it stood is no answer. It may say, too, which
            letters are whole numbers, prime or positive.
        strict: take an answer only from a box, ``####``, ``<answer>``, a line "Answer: ..." or a
            sentence "The answer is ...".
        format_credit: score of a wrong answer that is well formed and in one of those places,
            0 to 0.1.
        set_credit: if ``gold`` lists several answers, score the share that is right (Jaccard).
        worked_out: ``47 + 25`` is no answer, even in a box: it must be worked out.
        sympy: ask sympy about sums, products and integrals that are left as they stand, if the
            extra is installed. Not for rewards: a policy may spend seconds of it at a time.

    Returns:
        ``Reward`` with ``metadata``, all text: ``verdict`` (``equal``, ``different``, or
        ``unknown``: it could not be decided, and scores 0), ``extracted``, ``found`` (where the
        answer was), ``tier`` (what decided) and ``reason`` (why it is not equal).

    Warns:
        GraderFault: the grader crashed, which is a fault of ours; the verdict is ``unknown``.

    Raises:
        SettingError: ``format_credit`` out of range, or ``gold``, ``response`` or
            ``question`` is no text.
    """
    for name, text in (("gold", gold), ("question", question or ""), ("response", response)):
        if not isinstance(text, str):
            text_of = "" if text is None else str(text)
            raise SettingError(f"{name}={text!r} must be text: pass {text_of!r}")
    if not 0.0 <= format_credit <= _MAX_CREDIT:
        raise SettingError(f"format_credit={format_credit!r} must be from 0 to {_MAX_CREDIT}")
    plain = response.strip()
    if not strict and _INTEGER.fullmatch(plain) and _INTEGER.fullmatch(gold):
        return _whole_number(gold, plain)  # sums: a microsecond each
    try:
        found = find(response, strict)
        if worked_out and is_sum(found.answer):
            found = replace(found, reason="not worked out")
        return _graded(gold, found, question or "", format_credit, set_credit, sympy)
    except Exception as error:  # a fault of ours must not stop a training run
        _tell(gold, response, error)
        return _reward(0.0, "unknown", "", "none", "none", f"internal: {error!r}")


def _tell(gold: str, response: str, error: Exception) -> None:
    """Warn of a crash, by a digest that finds the response in the records of a run."""
    digest = hashlib.blake2b(response.encode(errors="replace"), digest_size=8).hexdigest()
    warnings.warn(
        f"grading crashed with {error!r} on response {digest} (blake2b of {len(response):,} "
        f"characters; gold={gold[:80]!r}): it scored 0 as unknown. Please report it",
        GraderFault,
        stacklevel=3,
    )


def _whole_number(gold: str, answer: str) -> Reward:
    """The verdict on a response that is nothing but an integer."""
    if int(gold) == int(answer):
        return _reward(1.0, "equal", answer, "whole", "number", "")
    return _reward(0.0, "different", answer, "whole", "number", "a different answer")


def _graded(
    gold: str, found: Found, question: str, format_credit: float, set_credit: bool, sympy: bool
) -> Reward:
    if found.reason or not found.answer:
        verdict = "unknown" if "too long" in found.reason else "different"
        return _reward(0.0, verdict, found.answer, found.where, "extract", found.reason or "empty")
    verdict, tier, reason = _verdict(gold, found, question, sympy)
    score = float(verdict == "equal")
    if not score and set_credit and not found.rivals and tier != "question":
        score = _shared(gold, found)
    if not score and format_credit and verdict == "different" and _well_formed(found):
        score = format_credit
    return _reward(score, verdict, found.answer, found.where, tier, reason)


def _verdict(gold: str, found: Found, question: str, sympy: bool) -> tuple[str, str, str]:
    verdict, tier, reason = judge(gold, found.answer, found.is_prose, sympy, question)
    if verdict != "equal":
        return verdict, tier, reason
    if any(judge(gold, rival, question=question)[0] != "equal" for rival in found.rivals):
        return "different", "extract", "two different answers"
    if question and tier != "text":  # the right answer's own text is right wherever it stands
        lack = short_of(answer_of_solution(gold), found.answer, question)
        if lack:
            return "different", "question", lack
    return verdict, tier, reason


def judge(
    gold: str, answer: str, prose: bool = False, sympy: bool = False, question: str = ""
) -> tuple[str, str, str]:
    """Return (verdict, tier, reason) for two answers; no search for them in a longer text.

    Without a question ``verdict`` is symmetric: ``judge(a, b)`` and ``judge(b, a)`` agree.
    """
    if answer.strip() == gold.strip() != "":
        return "equal", "text", ""  # also of a worked solution, of which only the end is read
    whole = _INTEGER.fullmatch(answer)
    if whole and _INTEGER.fullmatch(gold):
        same = int(answer) == int(gold)
        return ("equal", "number", "") if same else ("different", "number", "a different number")
    wanted, value, tree = _read(gold)
    given = answer if whole else clean(answer)
    if given and (given == wanted or _tight(given) == _tight(wanted)):
        return "equal", "text", ""
    told = _as_numbers(wanted, value, given)
    if told is not None:
        return ("equal", "number", "") if told else ("different", "number", "a different number")
    doubt = _doubt(tree, (wanted, given), prose, question)
    if doubt is None or ("," in given + wanted and _same_lists(wanted, given, question)):
        return "equal", "tree", ""
    if doubt and same_but_for_slashes(answer_of_solution(gold), answer):
        return "equal", "text", ""
    return _not_equal(doubt, wanted, given, sympy)


def _not_equal(doubt: str, wanted: str, given: str, sympy: bool) -> tuple[str, str, str]:
    if not doubt:
        return "different", "tree", "a different answer"
    if sympy and fallback.equal(wanted, given):
        return "equal", "sympy", ""
    return "unknown", "none", doubt


def _as_numbers(wanted: str, value: object, given: str) -> bool | None:
    """Whether two plain numbers are the same; None if they are no two numbers."""
    number = plain_number(given) if value is not None else None
    if number is not None:
        if value == number:
            return True
        if "." not in wanted and "." not in given:  # else one may be the other, rounded
            return False
    return True if "," in given + wanted and _same_decimal(given, wanted) else None


def _tight(text: str) -> str:
    """``text`` without spaces beside signs; one between digits, or after a comma, may mean much."""
    return _LOOSE.sub("", text) if " " in text and len(text) <= MAX_ANSWER else text


def _doubt(tree: Node | str, texts: tuple[str, str], prose: bool, question: str) -> str | None:
    """Return None if the answer equals ``tree``, ``""`` if it does not, or why that is unknown."""
    if isinstance(tree, str):
        return f"the right answer: {tree}"
    try:
        other = parse(texts[1], prose)
    except Unreadable as error:
        return str(error)
    lettered = has_letters(tree) or has_letters(other)
    said, turned = said_of(question if lettered else ""), texts[0] > texts[1]

    def same(a: Node, b: Node) -> str | None:
        return _either_way((b, a) if turned else (a, b), said, prose)

    doubt = same(tree, other)
    if doubt is None or any(same(*pair) is None for pair in readings(tree, other, texts, said)):
        return None
    return doubt


def _either_way(pair: tuple[Node, Node], said: Said, prose: bool) -> str | None:
    """Compare in one order whichever comes first: where work ends is not to depend on that."""
    try:
        doubt = _compared(*pair, said, prose)
        # A part that cannot be compared ends the search, or comes after one that differs.
        back = _compared(*pair[::-1], said, prose) if doubt else doubt
    except Overworked as error:
        return str(error)
    return doubt if back else back


def _compared(a: Node, b: Node, said: Said, prose: bool) -> str | None:
    try:
        comparer = Comparer(said, prose)
        return None if comparer.same(a, b) else comparer.doubt
    except Overworked:
        raise
    except Unreadable as error:
        return str(error)


def unreadable(gold: str) -> str:
    """Return why ``gold`` cannot be read, or ``""`` if it can."""
    tree = _read(gold)[2]
    return tree if isinstance(tree, str) else ""


def _reward(score: float, verdict: str, answer: str, where: str, tier: str, reason: str) -> Reward:
    return Reward(
        score,
        metadata={
            "verdict": verdict,
            "extracted": answer,
            "found": where,
            "tier": tier,
            "reason": reason,
        },
    )


@lru_cache(4096)
def _read(gold: str) -> tuple[str, object, Node | str]:
    """Return the cleaned text of ``gold``, its value if it is a plain number, and its tree."""
    gold = answer_of_solution(gold)
    if len(gold) > MAX_ANSWER:
        return gold, None, "too long"
    text = clean(gold)
    return text, plain_number(text), _tree(text)


def _tree(text: str) -> Node | str:
    """The tree of a cleaned text, or why it cannot be read."""
    try:
        return parse(text)
    except Unreadable as error:
        return str(error)


def answer_of_solution(gold: str) -> str:
    """Return the answer itself, if ``gold`` is a worked solution that ends with it."""
    if "\\boxed" in gold or "####" in gold:
        found = find(gold, strict=True)
        return found.answer or gold
    if len(gold) < _SOLUTION or " " not in gold.strip() or _DISPLAYED.search(gold):
        return gold
    if "$" in gold and not re.search("[A-Za-z]", _IN_DOLLARS.sub("", gold)):
        return gold  # formulas one below the other
    found = find(gold)
    told = found.where == "marker" or (found.where in ("sentence", "bold") and "\n" in gold.strip())
    return found.answer if told and found.answer and not found.reason else gold


def _same_decimal(first: str, second: str) -> bool:
    """``1000,99`` beside ``1000.99``: in many countries a comma stands before decimals."""
    for point, comma in ((first, second), (second, first)):
        if _DECIMAL.fullmatch(point) and _WITH_COMMA.match(comma):
            number, _, rest = comma.partition(" ")
            return number.replace(",", ".") == point and (not rest or is_forgiven(canonical(rest)))
    return False


def _same_lists(wanted: str, given: str, question: str) -> bool:
    """Whether two answers are the same lists: ``27,108`` is one wherever the other side is."""
    if _GROUP_OF_ZEROS.search(wanted) or _GROUP_OF_ZEROS.search(given):
        return False
    if not (_AMBIGUOUS.search(wanted) or _AMBIGUOUS.search(given)):
        return False
    if not (_is_list(wanted) or _is_list(given)):
        return False
    texts = _listed(wanted), _listed(given)
    return _doubt(_tree(texts[0]), texts, prose=False, question=question) is None


def _is_list(text: str) -> bool:
    tree = _tree(text)
    return isinstance(tree, Group) and tree.kind in ("set", "list") and len(tree.items) > 1


def _listed(text: str) -> str:
    """``text`` with each comma read as a separator."""
    return re.sub(r",(?=\d)", ", ", text)


def _well_formed(found: Found) -> bool:
    if found.rivals or found.where not in ("box", "hashes", "tag", "marker"):
        return False
    try:
        parse(clean(found.answer), found.is_prose)
    except Unreadable:
        return False
    return True


def _shared(gold: str, found: Found) -> float:
    """The Jaccard index of the right and the given answers, if several are right."""
    tree = _read(gold)[2]
    try:
        given = parse(clean(found.answer), found.is_prose)
    except Unreadable:
        return 0.0
    if not isinstance(tree, Group) or tree.kind not in ("set", "list"):
        return 0.0
    comparer = Comparer()
    right = comparer.members(tree)
    said = comparer.members(given if isinstance(given, Group) else Group("list", (given,)))
    shared = sum(any(comparer.same(a, b) for b in said) for a in right)
    return shared / (len(right) + len(said) - shared) if right else 0.0
