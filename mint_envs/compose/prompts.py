"""Wrappers of prompts: a system prompt, and worked examples before the question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from ..core import Message, Prompt, Task
from ..errors import require
from ..problems import as_text
from .wrapper import TaskChange, TaskWrapper

#: Seeds of worked examples come from a stream of their own.
_STREAM = 0x73686F74


class SystemPromptTask(TaskWrapper):
    """A task with a system message before its prompt (before its own system message's text).

    A prompt that is text to be continued gets the text and an empty line in front.
    """

    def __init__(self, task: Task[Any], text: str) -> None:
        super().__init__(task)
        require(bool(text.strip()), "the text of a system prompt is empty")
        self._text = text

    def prompt(self, problem: Any) -> Prompt:
        prompt = self.task.prompt(problem)
        if isinstance(prompt, str):
            return f"{self._text}\n\n{prompt}"
        if not prompt or prompt[0]["role"] != "system":
            return [Message(role="system", content=self._text), *prompt]
        own, ours = prompt[0], f"{self._text}\n\n"
        first: Message = {**own, "content": ours + own["content"]}  # its tools stay
        if "trusted" in own:
            first["trusted"] = len(ours) + own["trusted"]
        return [first, *prompt[1:]]


class FewShotTask(TaskWrapper):
    """A task with worked examples before the question: other problems and their right answers.

    They are the first of ``examples()`` of problems from a stream of their own, the same for every
    question; one that asks the question itself is left out.

    Args:
        task: of single turns, with ``examples``.
        shots: worked examples, 1 to 100.

    Raises:
        SettingError: the task takes several turns, or has too few worked examples.
    """

    def __init__(self, task: Task[Any], shots: int = 2) -> None:
        super().__init__(task)
        require(1 <= shots <= 100, f"shots={shots} must be from 1 to 100")
        require(task.single_turn, f"{type(task).__name__} takes several turns: it has no few-shot")
        self._shots = shots
        self._worked = _worked(task, shots + 1)  # one more, in case one is the question

    def prompt(self, problem: Any) -> Prompt:
        prompt = self.task.prompt(problem)
        own = self.task.problem_id(problem)
        worked = [(asked, answer) for name, asked, answer in self._worked if name != own]
        worked = worked[: self._shots]
        if isinstance(prompt, str):
            return "".join(_continued(asked, answer) for asked, answer in worked) + prompt
        start = int(bool(prompt) and prompt[0]["role"] == "system")
        shots = [message for asked, answer in worked for message in _example_turns(asked, answer)]
        return [*prompt[:start], *shots, *prompt[start:]]


def _worked(task: Task[Any], count: int) -> list[tuple[str, Prompt, str]]:
    """Return (problem_id, prompt, right answer) of ``count`` different problems."""
    found: dict[str, tuple[str, Prompt, str]] = {}
    for seed in range(20 * count):
        problem = task.sample(np.random.default_rng([_STREAM, seed]))
        name, answer = task.problem_id(problem), _full_mark_example(task.examples(problem))
        if answer is not None:
            found.setdefault(name, (name, task.prompt(problem), answer))
        if len(found) == count:
            break
    require(
        len(found) == count,
        f"{type(task).__name__} has {len(found)} different problems with a right answer in "
        f"examples(), and {count} are needed: lower shots",
    )
    return list(found.values())


def _full_mark_example(examples: Mapping[Any, float]) -> str | None:
    full = [key for key, value in examples.items() if value == 1.0 and isinstance(key, str)]
    return full[0] if full else None


# A mixture has prompts of both forms, so a shot may be of the other one.


def _continued(asked: Prompt, answer: str) -> str:
    if not isinstance(asked, str):
        asked = as_text(asked) + "\n"
    space = "" if asked[-1:].isspace() or answer[:1].isspace() else " "
    return f"{asked}{space}{answer.strip()}\n\n"


def _example_turns(asked: Prompt, answer: str) -> list[Message]:
    return [*_without_system(asked), Message(role="assistant", content=answer)]


def _without_system(prompt: Prompt) -> list[Message]:
    if isinstance(prompt, str):
        return [Message(role="user", content=prompt)]
    return [message for message in prompt if message["role"] != "system"]


class SystemPrompt(TaskChange):
    """Put a system prompt before every prompt of an environment.

    Args:
        text: of the prompt.
    """

    def __init__(self, env: gym.Env[Any, Any], text: str) -> None:
        super().__init__(env, lambda task: SystemPromptTask(task, text), text=text)


class FewShot(TaskChange):
    """Put worked examples before every question of an environment.

    Args:
        shots: worked examples, 1 to 100.
    """

    def __init__(self, env: gym.Env[Any, Any], shots: int = 2) -> None:
        super().__init__(env, lambda task: FewShotTask(task, shots), shots=shots)
