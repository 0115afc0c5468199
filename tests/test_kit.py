"""The conformance kit catches every fault that is put into a task or an environment."""

from __future__ import annotations

import random
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import toys

import mint_envs
from mint_envs.errors import ContractError, SettingError
from mint_envs.testing import check_env, check_task

GOOD = [toys.Adder, toys.GoodRows, toys.GuessNumber, toys.GuessNumberChat]

#: The fault, and the rules that must find it; no other rule may.
TASKS: list[tuple[type, set[str]]] = [
    (toys.GlobalRandom, {"global random state", "problem"}),
]
ENVS: list[tuple[type, set[str]]] = []


@pytest.mark.parametrize("task", GOOD)
def test_a_good_task_passes(task: Any) -> None:
    report = check_task(task(), problems=4, max_examples=60)
    assert report.cases["reward"] > 40
    assert report.cases["another process"] == 4


def findings_of(call: Any) -> dict[str, str]:
    with pytest.raises(ContractError) as caught:
        call()
    assert len(str(caught.value).splitlines()) == 1 + len(caught.value.findings)
    return {finding.check: str(finding) for finding in caught.value.findings}


@pytest.mark.parametrize(("task", "rules"), TASKS, ids=lambda v: getattr(v, "__name__", ""))
def test_a_fault_of_a_task_is_found(task: Any, rules: set[str]) -> None:
    found = findings_of(lambda: check_task(task(), problems=4, max_examples=60))
    assert set(found) == rules, found
