"""Questions, rules and judges that the tests of judges share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from mint_envs.chat import ChatProblem, ChatTask, Question, ScriptedJudge

CHOICES = ("bad", "fair", "good")
ANY_TEXT = st.text(st.characters(exclude_categories=()))
PLAIN = ChatProblem("Name a river.", "Name a river.", ())


def question(answer: str = "The Nile.", **changes: Any) -> Question:
    data = (("request", "Name a river."), ("answer", answer))
    return dataclasses.replace(Question("Judge it.", "Be fair.", CHOICES, data), **changes)


def by_length(data: Mapping[str, str]) -> str:
    """The judge of most tests: the longer the better."""
    return CHOICES[min(len(data["answer"].split()) // 2, 2)]


def longer(data: Mapping[str, str]) -> str:
    first, second = len(data["first"]), len(data["second"])
    return "tie" if first == second else "first" if first > second else "second"


def judged(rule: Callable[[Mapping[str, str]], str | None], **settings: Any) -> ChatTask:
    return ChatTask(judge=ScriptedJudge(rule), judge_choices="bad, fair, good", **settings)


def pairwise(rule: Callable[[Mapping[str, str]], str | None], **settings: Any) -> ChatTask:
    return ChatTask(judge=ScriptedJudge(rule), judge_mode="pairwise", **settings)
