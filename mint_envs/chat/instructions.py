"""Instructions whose being followed can be checked: IFEval's, IFBench's and IF-RLVR's kinds.

    grade_instructions("Tea is warm.", [("punctuation:no_comma", {})]).score   # 1.0

Kinds and arguments have the names of their sources; the checkers are our own. The verdict is the
"strict" one, of what the response says aloud, or the "loose" one. docs/chat.md lists the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core import Reward
from ..errors import SettingError, did_you_mean
from ..thinking import aloud
from .folding import seen
from .kinds import KINDS

Instruction = tuple[str, Mapping[str, Any]]

#: Kinds of IFEval, IFBench and IF-RLVR that are left out, and why: none.
LEFT_OUT: dict[str, str] = {}


def grade_instructions(
    response: str,
    instructions: Sequence[Instruction],
    prompt: str = "",
    *,
    loose: bool = False,
    official: bool = False,
) -> Reward:
    """Return the fraction of ``instructions`` that ``response`` follows.

    Args:
        response: any text; its thoughts (``mint_envs.thinking``) do not count. It is never
            evaluated, and the time is linear in its length.
        instructions: pairs (kind, arguments), e.g. ``("keywords:existence", {"keywords":
            ["tea"]})``. Arguments that are None count as not given.
        prompt: the request, for kinds that repeat it, without ``prompt_to_repeat``.
        loose: an instruction is followed if it is without the first line, the last line or both,
            or without its stars.
        official: the verdict of the official checkers, where ours is stricter: signs count as
            they are written, and what asks for nothing is followed by it.

    Returns:
        ``Reward`` with one part an instruction (1.0 or 0.0; a kind that comes again is named
        ``kind#2``) and ``metadata["followed"]``, a list of bools. A blank response follows none.

    Raises:
        SettingError: no instructions, an unknown kind, a missing or wrong argument.
    """
    said = aloud(response)
    said = said if said == response else said.strip()  # white space round thoughts is no answer's
    return grade_said(said, instructions, prompt, loose=loose, official=official)


def grade_said(
    said: str,
    instructions: Sequence[Instruction],
    prompt: str = "",
    *,
    loose: bool = False,
    official: bool = False,
    trained: bool = False,
) -> Reward:
    """Return ``grade_instructions`` of what was said, thoughts left out already.

    ``trained``: the prompt was drawn here, and a policy looks for what a checker lets pass.
    """
    which = "official" if official else "trained" if trained else "follows"
    fold = _as_it_is if official else seen
    checks = [
        _checker(kind, arguments, prompt, fold, which)
        for kind, arguments in _checked_pairs(instructions)
    ]
    texts = [fold(text) for text in (loose_variants(said) if loose else [said])]
    full = [text for text in texts if text.strip()]
    followed = [any(map(check, full)) for check in checks]
    names = part_names([kind for kind, _ in instructions])
    parts = dict(zip(names, map(float, followed), strict=True))
    return Reward(sum(followed) / len(followed), parts, {"followed": followed})


def loose_variants(text: str) -> list[str]:
    """Return the eight texts of the loose verdict: without first or last line, without stars."""
    lines = text.split("\n")
    whole = [text, *("\n".join(some).strip() for some in (lines[1:], lines[:-1], lines[1:-1]))]
    return list(dict.fromkeys([*whole, *(one.replace("*", "") for one in whole)]))


def _as_it_is(text: str) -> str:
    return text


def part_names(kinds: Sequence[str]) -> list[str]:
    """Return a name for each instruction, different ones for instructions of one kind."""
    names: list[str] = []
    for position, kind in enumerate(kinds):
        again = list(kinds[:position]).count(kind)
        names.append(f"{kind}#{again + 1}" if again else kind)
    return names


def check_instructions(instructions: Sequence[Instruction], prompt: str = "") -> None:
    """Raise SettingError if one of ``instructions`` could not be graded."""
    for kind, arguments in _checked_pairs(instructions):
        _checker(kind, arguments, prompt)


def _checked_pairs(instructions: Sequence[Instruction]) -> Sequence[Instruction]:
    if isinstance(instructions, str) or not instructions:
        raise SettingError(f"instructions={instructions!r}: give at least one (kind, arguments)")
    for item in instructions:
        if isinstance(item, str) or len(item) != 2 or not isinstance(item[1], Mapping | None):
            raise SettingError(f"instruction {item!r} must be a pair (kind, arguments)")
    return instructions


def _checker(
    kind: str,
    arguments: Mapping[str, Any] | None,
    prompt: str,
    fold: Callable[[str], str] = seen,
    which: str = "follows",
) -> Callable[[str], bool]:
    if kind in LEFT_OUT:
        raise SettingError(f"kind {kind!r} is left out: {LEFT_OUT[kind]}")
    if kind not in KINDS:
        raise SettingError(f"unknown kind {kind!r}. {did_you_mean(kind, KINDS)}")
    one = KINDS[kind]
    given = {key: value for key, value in (arguments or {}).items() if value is not None}
    if one.prompt:
        given.setdefault(one.prompt, prompt)
    for name in (*one.arguments, *given):
        if name not in given or name not in one.arguments:
            state = "needs" if name not in given else "has no"
            raise SettingError(f"{kind} {state} argument {name!r}; it takes {list(one.arguments)}")
        if problem := one.arguments[name](given[name]):
            raise SettingError(f"{kind}: {name}={given[name]!r} must be {problem}")
    folded = {name: _folded(value, fold) for name, value in given.items()}
    follows = getattr(one, which) or one.follows
    return lambda response: bool(follows(response, **folded))


def _folded(value: Any, fold: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return fold(value)
    return value if isinstance(value, int | float) else [fold(one) for one in value]
