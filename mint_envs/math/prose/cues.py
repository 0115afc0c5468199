"""Words that withdraw, deny or doubt an answer. They are heuristics: more will come."""

from __future__ import annotations

import re

from .hinted import has_one, hinted
from .phrases import MATH, NUMBER

CORRECTION = re.compile(
    r"\b(?:wait|oops|actually|mistake|sorry|recomput\w*|redo\w*|instead|hmm+|forgot|correct(?:ion|ing|ed)|"
    r"re-?check\w*|revis\w*|however|error|wrong|no,|scratch that|rather|missed|on second thought)\b"
    r"|更正|不对|错了|重新|等等|修正",
    re.IGNORECASE,
)
UNSURE = re.compile(
    r"\b(?:cannot|can't|can not|could not|unable to) (?:decide|tell|determine|choose)|\bnot sure\b|"
    r"\b(?:unsure|either|maybe|perhaps|possibly|alternatively|or else|depending on)\b|"
    r"\bor it (?:could|might|may)\b|"
    r"不确定|或者|可能是|也可能",
    re.IGNORECASE,
)
_DENIED = re.compile(  # "not", right before a box: what is in it is denied
    r"(?:\b(?:(?:wrong|incorrect|a mistake|false|tempting|tempted) to"
    r"(?: (?:say|write|answer|claim|conclude|think|use|put|box|give))?"
    r"|not|never|cannot|rather than|instead of|doubt"
    r"|(?:false|untrue|not true|incorrect) that)|n['’]t|不是|不为|不等于|并非)"
    r"(?:\s+(?:be|is|it|that|the|a|correct|right|final|answer|equals?|to|exactly|simply|just)){0,5}"
    r"[\s$*_:：(]*(?:\\[(\[])?\s*$",
    re.IGNORECASE,
)
_WRONG = r"(?:wrong|incorrect|false|invalid|impossible|a (?:mistake|trap|distractor))"
DENIED_AFTER = re.compile(  # right after a box or a value
    r"[\s$*_`)\]}\\]{0,6}(?:\?(?!\s*(?:yes|correct|indeed|right|exactly)\b)"
    r"|,?\s?(?:(?:is|was|would be|seems|looks)\s"
    rf"(?:also\s|simply\s|clearly\s)?(?:not\b(?!\s(?:on|in|part|among)\b)|{_WRONG}\b)|(?:isn|wasn)['’]t\b"
    rf"|(?:cannot|can['’]t|won['’]t) be\b|(?:does not|doesn['’]t) (?:work|fit)|fails\b"
    rf"|\({_WRONG}\)|which (?:is|was) {_WRONG}\b|-style\b|不是|是错|不对"
    r"|is (?:the|a|an) (?:format|example|placeholder|template)\b))",
    re.IGNORECASE,
)
_INSTRUCTION = re.compile(  # in quotes, or what the task is said to ask
    r"\b(?:put|place|write|enclose|format|print|return|wrap|express|within|inside)\b", re.IGNORECASE
)
_ASKED = re.compile(
    r"(?:\byour\b[^.\n]{0,40}\b(?:in|inside|within|as|like|using)"
    r"|\b(?:format|instructions?|prompt|template)"
    r"(?::? (?:says?|asks?|is|requires?|wants?|put|write|use))"
    r"\b[^.\n]{0,40}|\buse (?:the |this )?(?:format|form)\b[^.\n]{0,10}"
    r"|\b(?:such as|e\.g\.|(?:for )?example)[,:]?"
    r"|\b(?:students?|someone|somebody|people|they|others?|friends?|beginners?|many"
    r"|one(?= might| may| could| would)) (?:might |may |could |would )?(?:be tempted to )?"
    r"(?:wrote|writes?|says?|said|claim\w*|thinks?|thought|answer\w*|guess\w*|puts?)\b(?:(?!\b(?:is|are|was|were)\b)[^.\n=]){0,20}"
    r"|\b(?:asked|told|instructed|supposed|requested)\b[^.\n]{0,40}\b(?:write|put|say|print|use|return)"
    r"\b[^.\n]{0,20}(?=[\"“`']))"
    r"[\s$*_`':\"“(]*(?:\\[(\[])?\s*$",
    re.IGNORECASE,
)
#: Quick to look for: without one of these the patterns need not be tried.
_OF_DENIAL = (
    "not", "n't", "n’t", "never", "rather", "instead", "doubt", "false", "untrue", "wrong",
    "incorrect", "mistake", "tempt", "不",
)  # fmt: skip
_OF_ASKING = (
    "your", "format", "instruction", "prompt", "template", "such as", "e.g.", "example",
    "student", "some", "people", "they", "other", "friend", "use ", "beginner", "many", "one ",
    "asked", "told", "supposed",
)  # fmt: skip
_OF_CORRECTION = (  # one is in whatever the next four patterns begin with
    *("no", "wait", "hold on", "hm", "actually", "oops", "sorry", "correction", "second thought"),
    *("rather", "instead", "really", "in truth", "mistake", "wrong", "recheck", "mean", "make"),
    *("scratch", "ignore", "incorrect", "error", "不对", "更正", "等等", "修正"),
)
_AFTERTHOUGHT = 400  # characters after an answer in which it is corrected
_NEAR = 160  # characters beside a box that are looked at
_CANCELS = re.compile(  # by itself: what was said is withdrawn, whatever follows
    r"\b(?:scratch that|ignore (?:that|this)|(?:that|this|it)(?: is| was|['’]s) "
    r"(?:wrong|incorrect|a mistake|not (?:right|correct|the answer))|I (?:made|have made) (?:a|an) "
    r"(?:mistake|error))\b",
    re.IGNORECASE,
)
_TURNS = re.compile(  # and a new claim after it is the one that is meant
    r"\b(?:no(?=[,:])|wait|hold on|not right|hmm+|actually|oops|sorry|correction"
    r"|on second thought|rather|instead|really|in truth"
    r"|mistake|wrong|recheck\w*)\b|不对|更正|等等|修正",
    re.IGNORECASE,
)
_TURNS_TO = re.compile(
    r"\b(?:no|correction|sorry|i mean|i meant|actually|oops|rather|wait|make (?:that|it))\b[,:]?\s+"
    rf"(?:no,?\s+)?(?P<value>{MATH.pattern}|{NUMBER.pattern})(?=\s*(?:[.!]|$))",
    re.IGNORECASE | re.DOTALL,
)
_IT_IS = re.compile(
    r"\b(?:it|that|this|the (?:(?:right|correct|true|final|actual) )?(?:answer|value|result|one))"
    r"(?:\s(?:is|was|should be|must be|has to be|would be|equals|comes to)|['’]s)"
    r"(?:\s(?:really|actually|in fact|just|exactly|equal to))?[\s:*]*"
    rf"(?P<value>{MATH.pattern}|{NUMBER.pattern})",
    re.IGNORECASE | re.DOTALL,
)


def is_denied(text: str, start: int, end: int) -> bool:
    """Whether what stands from ``start`` to ``end`` is denied, or only part of an instruction."""
    before, after = text[max(0, start - _NEAR) : start], text[end : end + _NEAR]
    if is_denied_after(after):
        return True
    line = before.rpartition("\n")[2]
    lower = before.lower()
    if has_one(_OF_DENIAL, lower) and _DENIED.search(before[-80:]):
        return True
    if has_one(_OF_ASKING, lower) and _ASKED.search(line):
        return True
    return _in_instruction(line, after.partition("\n")[0])


def is_denied_after(after: str) -> bool:
    """Whether ``after`` begins with "is wrong", "? No." or the like."""
    return bool(DENIED_AFTER.match(after))


def _in_instruction(before: str, after: str) -> bool:
    """Whether a quotation that is open at the end of ``before`` says how to write an answer."""
    if not has_one("\"“`'", before):
        return False
    for opening, closing in ('""', "“”", "``", "''"):
        _, opened, said = before.rpartition(opening)
        odd = before.count(opening) % 2 if opening == closing else closing not in said
        if opened and odd and closing in after and _INSTRUCTION.search(said):
            return True
    return False


def corrected(after: str) -> str | None:
    """What ``after`` corrects an answer to; ``""`` if it only withdraws it, None if it does not."""
    after = after[:_AFTERTHOUGHT]
    if not after.strip("$.} )]\\\n") or not has_one(_OF_CORRECTION, after.lower()):
        return None
    turn = _TURNS.search(after)
    claim = _IT_IS.search(after, turn.end()) if turn else None
    claim = claim or _TURNS_TO.search(after)
    if claim and not is_denied_after(after[claim.end() :]):
        return claim["value"].strip(" $*")
    return "" if _CANCELS.search(after) else None


# --- sentences that mention a number and claim nothing

GIVES_UP = hinted(
    r"\b(?:give up|(?:don['’]t|do not) know|no idea|(?:cannot|can['’]t|could not|unable to) "
    r"(?:solve|determine|find|answer|tell|decide)|not sure|ran out of|out of time"
    r"|(?:is|was) (?:only )?a guess|my (?:confidence|guess)|failed)\b"
    r"|不知道|无法确定",
    "give up, know, no idea, cannot, can't, can’t, could not, unable, not sure, ran out, "
    "out of time, guess, confidence, failed, 不知道, 无法确定",
)
RESTATES = hinted(  # what is asked or given; an earlier sentence may have the answer
    r"(?<!since the )(?<!as the )(?<!because the )"
    r"\b(?:problem|question|prompt|task|exercise|statement) "
    r"(?:says?|states?|said|tells?|mentions?|gives?|(?:asks?|wants?|requires?|is asking)\b"
    r"(?!.*(?:which is|=)))\b"
    r"|\b(?:we are|we['’]re) (?:given|told)\b"
    r"|^(?:let (?!us\b|me\b)|suppose|assume|consider|denote)\b"
    r"(?!.*(?:[,:]|\b(?:then|so|thus|hence)\b))"
    r"|\b(?:expression|equation)\b.* already (?:fully )?"
    r"(?:simplified|in (?:its |the )?(?:simplest|lowest|reduced))"
    r"|\banswer (?:has|have|contains|consists|needs|lies|depends)\b"
    r"|\bappears? in\b|^given\s?:|^first(?:ly)?,|\bwe (?:start|begin) with\b"
    r"|\bwe (?:split|divide|break|separate|consider|distinguish|proceed)\b[^.]*"
    r"\b\d+ (?:cases|steps|parts)\b"
    r"|\bthere are \d+ (?:unknowns|variables)\b"
    r"|\bI(?: will|['’]ll| shall) (?:now |later |also )?(?:use|need|return|come back)\b"
    r"|\bI (?:only |just )?have (?:only |just )?\d+ (?:more )?"
    r"(?:minutes?|seconds?|tokens?|words?|tries|attempts?)\b"
    r"|\bin my (?:solution|work|answer)\b|\bI (?:used|tried|wrote|have written)\b"
    r"|^(?:\w+\s){1,3}(?:started|began|starts|begins)(?: out)? with\b(?!.*(?:=|\bso\b))"
    r"|题目(?:说|给|中)|^设",
    "problem, question, prompt, task, exercise, statement, given, told, let , suppose, assume, "
    "consider, denote, already, answer , appear, first, start, beg, split, divide, break, "
    "separate, distinguish, proceed, unknowns, variables, use, need, return, come back, minute, "
    "second, token, word, tries, attempt, in my, tried, wrote, written, 题目, 设",
)
PLANS = hinted(  # and has not come to it yet
    r"\b(?:allows? us to|helps? us(?: to)?|(?:we|I) (?:still |now |then |first |next )?"
    r"(?:need|have|must|want|plan|try|am going|are going)(?: to)?|let us|let['’]s|"
    r"(?:next|now|then),? (?:we|I)|the next step is to) "
    r"(?:now |then |first )?(?:find|compute|calculate|determine|solve|evaluate|simplify|check"
    r"|expand|factor|get|obtain|reach)\b"
    r"(?![^.]*(?:=|\b(?:is|are|so|which|get|gives?)\b))",
    "find, compute, calculate, determine, solve, evaluate, simplify, check, expand, factor, get, "
    "obtain, reach",
)
_SUPPOSED = hinted(
    r"\b(?:if|assum\w+|suppos\w+|whether|imagine|pretend|guess\w*|doubt|false|untrue)\s+"
    r"(?:that\s+)?(?:the |my |your )?(?:final |correct |right )?$",
    "if, assum, suppos, whether, imagine, pretend, guess, doubt, false, untrue",
)
NUMBERED = hinted(  # "at step 5": the number of a thing that is not counted
    r"\b(?:steps?|cases?|parts?|equations?|eqs?\.|figures?|problems?|questions?|sections?|theorems?"
    r"|lemmas?|methods?|examples?|exercises?|chapters?|hints?|attempts?|solutions?)"
    r"\s(?:no\.\s|number\s|#)?\(?\d{1,3}\b\)?(?!\s*[-+*/=])"
    r"|\b\d{1,3}\s?\\?%\s(?:sure|certain|confident|positive)\b",
    "step, case, part, equation, eq, figure, problem, question, section, theorem, lemma, method, "
    "example, exercise, chapter, hint, attempt, solution, %",
)


def is_supposed(before: str) -> bool:
    """Whether what follows ``before`` is only supposed: "if the answer is 5"."""
    return bool(_SUPPOSED.search(before[-60:]))
