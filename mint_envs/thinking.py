"""What a response says aloud: ``spoken``, which leaves its thoughts out.

A thought is what stands between two marks that real models write, listed below. Graders call
``spoken`` first, and see nothing else; responses themselves are kept as they are.

What is quoted is no mark: a tag within a string or a code span of one line, or within a fenced
block, is part of what is said (a program that prints ``<think>``). A block ends at the first mark
of its own kind that is not in a string or a code span.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

#: Names of tags, ``<think>`` to ``</think>``, in any letter case and with any attributes.
TAGS = (
    "think",  # DeepSeek, Qwen, GLM, Hunyuan, MiniMax, Nemotron and most others
    "thinking",
    "thought",  # EXAONE Deep
    "reasoning",  # prompts that ask for <reasoning> and <answer>
    "seed:think",  # Seed-OSS
    "longcat_think",  # LongCat
    "mm:think",  # MiniMax M3
    "think:opensource",  # Hunyuan 3
)

#: Marks that are tokens of their own, written in one way only.
TOKENS = {
    "[THINK]": "[/THINK]",  # Magistral
    "◁think▷": "◁/think▷",  # Kimi-VL
    "<|begin_of_thought|>": "<|end_of_thought|>",  # OpenThinker
    "<|START_THINKING|>": "<|END_THINKING|>",  # Command A Reasoning
    "<|inner_prefix|>": "<|inner_suffix|>",  # Apertus
    "<|channel>thought": "<channel|>",  # Gemma 4
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",  # Kimi K3
}

#: Messages to oneself, and how they end: as any message does, so that alone it ends no thought.
CHANNELS = {
    "<|channel|>analysis<|message|>": (  # gpt-oss
        r"<\|end\|>(?:<\|start\|>assistant)?(?:<\|channel\|>final<\|message\|>)?|<\|return\|>"
    ),
    "<|think|>": r"<\|end\|>(?:<\|begin\|>assistant)?(?:<\|content\|>)?",  # Solar Open
    "to=self<|message|>": (  # Muse
        r"<\|eom\|>(?:<\|start\|>assistant)?(?: to=user<\|message\|>)?"
    ),
}

#: What ends a thought that the prompt began in words.
ALONE = ("[BEGIN FINAL RESPONSE]",)  # Apriel

_TELLING = 40  # characters of a mark that tell which it is; attributes come later
_NAMES = "|".join(map(re.escape, TAGS))
_QUOTED = (
    r"""\\[\\"'`]"""  # what is escaped opens nothing
    r'''|"(?:\\.|[^"\\\n])*"'''
    r"""|(?<!\w)'(?:\\.|[^'\\\n])*'(?!\w)"""  # and not the apostrophes of "it's"
    r"""|(?<!`)`(?!`)[^`\n]*`(?!`)"""
)
_FENCE = r"(?<![`~])(?:`{3,}+|~{3,}+)[ \t]*+[\w+#.-]*+[ \t\r]*+$"
_TAG = rf"<(?i:{_NAMES})(?:[ \t][^<>\n]*+)?(?<!/)>"
_OPENING = "|".join([_TAG, *map(re.escape, (*TOKENS, *CHANNELS))])
_CLOSING = "|".join([rf"</(?i:{_NAMES})[ \t]*+>", *map(re.escape, (*TOKENS.values(), *ALONE))])
#: One of these is in every mark, in some letter case.
_HINTS = ("think", "thought", "reasoning", "inner_", "channel", "to=self", "final response")
_FIRST = "<[◁"  # what marks begin with: most texts are done with at a glance
#: So many signs may begin no mark, and one more in so many characters, before hints are looked for.
_TRIES, _SPARSE = 1, 1_000
_WORDY = tuple(mark for mark in CHANNELS if mark[0] not in _FIRST)  # but for these, which hold "<|"
_REST = [mark[1:] for mark in (*TOKENS, *TOKENS.values(), *CHANNELS, *ALONE) if mark not in _WORDY]
#: How a mark goes on behind what it begins with: a text without any has no thoughts.
_MARK = re.compile(
    rf"[{_FIRST[0]}\{_FIRST[1:]}](?:/?(?i:{_NAMES})|{'|'.join(map(re.escape, _REST))})"
)


#: What begins neither a mark nor what is quoted.
_PLAIN = r"""[^\\"'`<\[◁"""
#: So many tokens are passed at once: a text may hold a megabyte of signs.
_AT_ONCE = 500


def _speech(wordy: bool) -> re.Pattern[str]:
    """Return what takes some of what begins no thought, and the fence or mark that follows.

    Where what it takes ends by itself, it took nothing else, and is to be asked again.
    """
    signs = f"[{re.escape(_FIRST)}{'t' if wordy else ''}]"
    passed = "|".join(
        [
            rf"{_PLAIN}~{'t' if wordy else ''}]++",
            _QUOTED,
            rf"(?!{_OPENING}|{_CLOSING}){signs}",
            rf"(?!{_FENCE})(?:``++|[`~])",
            r"""[\\"']""",
        ]
    )
    kinds = f"(?P<fence>{_FENCE})|(?P<opening>{_OPENING})|(?P<closing>{_CLOSING})"
    return re.compile(rf"(?:{passed}){{0,{_AT_ONCE}}}+(?:{kinds})?+", re.MULTILINE)


_PLAIN_SPEECH, _WORDY_SPEECH = _speech(wordy=False), _speech(wordy=True)
_OPENED, _CLOSED = re.compile(_OPENING), re.compile(_CLOSING)
_NEXT_FENCE = re.compile(_FENCE, re.MULTILINE)

#: Taking thoughts out may join what was about them to new marks. No honest text does it twice.
_PASSES = 4


def spoken(text: str) -> str:
    """Return what ``text`` says aloud, without white space at both ends.

    Closed blocks of thought go. Where a block is closed that was not opened, the chat template
    opened it: all up to that mark goes. A block that is open at the end, in a response that was
    cut, goes too; what was said before it stays. Never raises, in time linear in the length;
    ``spoken(spoken(text)) == spoken(text)``.
    """
    return aloud(text).strip()


def aloud(text: str) -> str:
    """Return ``spoken(text)`` with its white space: the indentation of a program is part of it."""
    for _ in range(_PASSES):
        silent = thoughts(text)
        if not silent:
            return text
        text = without(text, silent, "")
    return ""


def first_closed(text: str) -> int:
    """Return where the first mark that closes a thought ends, quoted or not; 0 if there is none."""
    found = _CLOSED.search(text)
    return found.end() if found else 0


def opens_thought(text: str) -> bool:
    """Tell whether a text begins with a mark that opens a thought."""
    return _OPENED.match(text) is not None


def blanked(text: str) -> str:
    """Return ``text`` with thoughts as spaces, so that every other character keeps its place."""
    return without(text, thoughts(text), " ")


def thoughts(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of every thought in ``text``, marks included, in order."""
    found: list[tuple[int, int]] = []
    if "<" not in text and "[" not in text and "◁" not in text:
        return found
    at, last = 0, _last_mark(text)
    if last < 0:
        return found
    speech = _WORDY_SPEECH if any(mark in text for mark in _WORDY) else _PLAIN_SPEECH
    while at <= last and (match := speech.match(text, at)):
        at, kind = match.end(), match.lastgroup
        if kind == "fence":
            at = _end_of_fence(text, match["fence"], at)
        elif kind == "opening":
            at = _end_of_thought(text, match["opening"], at)
            found.append((match.start("opening"), at))
        elif kind == "closing":
            found = [(0, at)]
    return found


def _last_mark(text: str) -> int:
    """Return where the last begins that looks like a mark; -1 if there is none."""
    found, end, left = -1, len(text), _TRIES + len(text) // _SPARSE
    for sign in _FIRST:
        at = text.rfind(sign, 0, end)
        while at > found and not _MARK.match(text, at):
            left -= 1
            if not left and (end := _last_hint(text)) < 0:
                return -1
            at = text.rfind(sign, 0, min(at, end))
        found = max(found, at)
    return max(found, *map(text.rfind, _WORDY)) if "<|" in text else found


def _last_hint(text: str) -> int:
    """Return a place behind which no mark begins; -1 if there is none at all."""
    return max(map(text.lower().rfind, _HINTS))  # no text has fewer characters in lower case


def _end_of_fence(text: str, fence: str, at: int) -> int:
    """Return where a fenced block ends; where its fence does, if another begins or none follows."""
    after = _NEXT_FENCE.search(text, at)
    if after is None or after.group().strip().strip(fence[0]):
        return at
    return after.end()


def _end_of_thought(text: str, opening: str, at: int) -> int:
    """Return where the block ends that ``opening`` begins: the end of the text if it is open."""
    match = _closing_pattern(opening[:_TELLING]).match(text, at)
    return match.end() if match else len(text)


@lru_cache(64)
def _closing_pattern(opening: str) -> re.Pattern[str]:
    return _ends_of(opening if opening in (*TOKENS, *CHANNELS) else _tag_name(opening))


def _tag_name(tag: str) -> str:
    return tag.strip("<>").partition(" ")[0].partition("\t")[0].lower()


@cache
def _ends_of(kind: str) -> re.Pattern[str]:
    if kind in CHANNELS:
        end = CHANNELS[kind]
    else:
        end = re.escape(TOKENS[kind]) if kind in TOKENS else rf"</(?i:{kind})[ \t]*+>"
    # In one pattern, not token by token: an open thought may hold a megabyte of signs.
    inside = rf"{_PLAIN}]++|(?:(?!{end})[{re.escape(_FIRST)}])++|{_QUOTED}|``++|[\\\"'`]"
    return re.compile(rf"(?:{inside})*+(?:{end})", re.MULTILINE)


def without(text: str, spans: list[tuple[int, int]], filling: str) -> str:
    """Return a text without spans, each of their characters as ``filling``."""
    kept, at = [], 0
    for start, end in spans:
        kept.append(text[at:start])
        if filling:
            kept.append(filling * (end - start))
        at = end
    return "".join([*kept, text[at:]])
