"""Eurus-2-RL-Data, and verl's rows of code: ``reward_model.ground_truth`` holds the tests."""

from __future__ import annotations

from typing import Any

from ...datasets import Row
from ...errors import SettingError
from ..problems import CodeProblem
from .apps import cases_plan
from .reader import Reader, parsed


def _read_eurus(row: Row) -> CodeProblem:
    if row.get("ability") not in (None, "", "code", "coding"):
        raise SettingError(f"ability={row['ability']!r}: no problem of code")
    truth = parsed(parsed(row["reward_model"])["ground_truth"])
    if not isinstance(truth, dict):
        raise SettingError("reward_model.ground_truth: no inputs and outputs")
    return CodeProblem(_asked(row.get("prompt") or ""), cases_plan(truth, "prime"))


def _asked(prompt: Any) -> str:
    """Return what a user asks in a list of messages, without what the system is told."""
    if isinstance(prompt, str):
        return prompt.strip()
    texts = [message["content"] for message in prompt if message.get("role") != "system"]
    return "\n\n".join(texts).strip()


READER = Reader("Eurus, verl", ("reward_model", "data_source"), _read_eurus)
