"""``Reward`` and ``Task`` on their own."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import pickle
from typing import Any

import numpy as np
import pytest
import toys
from hypothesis import given
from hypothesis import strategies as st

from mint_envs import Episode, Reward, Task
from mint_envs.core import ChatStyle, TokenPrompt
from mint_envs.errors import MintEnvsError, RewardError, did_you_mean

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("score", [0, 1, 0.5, True, np.float32(0.25), None])
def test_scores_in_range(score: Any) -> None:
    reward = Reward(score)
    assert reward.score is None if score is None else type(reward.score) is float
    assert reward.measured == (score is not None)
    assert pickle.loads(pickle.dumps(reward)) == reward


@pytest.mark.parametrize(
    "score", [2.0, -0.1, float("nan"), float("inf"), "1", b"1", [1], {}, 10**400, 1j]
)
def test_scores_out_of_range_are_named(score: Any) -> None:
    with pytest.raises(RewardError, match=r"^score=.* is not a number in \[0, 1\]"):
        Reward(score)
    with pytest.raises(RewardError, match=r"^tests="):
        Reward(0.5, parts={"tests": score})


def test_a_reward_keeps_copies() -> None:
    parts, metadata = {"a": 1}, {"b": 2}
    reward = Reward(1.0, parts, metadata)
    parts["a"], metadata["b"] = 0, 0
    assert (reward.parts, reward.metadata) == ({"a": 1.0}, {"b": 2})
    assert str(Reward(-0.0).score) == "0.0"


def test_a_problem_is_a_function_of_its_index() -> None:
    task = toys.Adder()
    assert task.problem(3) == task.sample(np.random.default_rng(3))
    assert task.problem_id((1, 2)) == task.problem_id((1, 2)) != task.problem_id((2, 1))
    assert task.size is None


def test_single_turn_is_what_start_does() -> None:
    assert toys.Adder().single_turn
    assert not toys.GuessNumber().single_turn
    episode = toys.Adder().start((10, 10))
    assert episode.respond("20") == episode.cut("20") == toys.Adder().score((10, 10), "20")


def test_a_task_without_a_verdict_says_so() -> None:
    class Empty(Task[int]):
        def sample(self, rng: Any) -> int:
            return 0

        def prompt(self, problem: int) -> str:
            return ""

    with pytest.raises(NotImplementedError, match=r"Empty defines neither score\(\) nor start\(\)"):
        Empty().score(0, "")


@given(st.floats() | st.integers(-2, 2) | st.fractions() | st.decimals(allow_nan=None))
def test_a_reward_is_a_float_in_the_unit_interval_or_an_error(score: Any) -> None:
    try:
        inside = bool(0 <= score <= 1)
    except ArithmeticError:  # a signalling NaN
        inside = False
    if inside:
        reward = Reward(score, {"a": score})
        assert reward.score == reward.parts["a"] == float(score)
        assert str(reward.score) == str(abs(float(score)))
    else:
        for arguments in ((score,), (0.5, {"a": score})):
            with pytest.raises(RewardError, match=r"\[0, 1\]\. Scale it .* score=None for"):
                Reward(*arguments)


def test_results_cannot_be_changed() -> None:
    for found, name in ((Reward(1.0), "score"), (ChatStyle(), "template")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(found, name, 0)
        assert not hasattr(found, "__dict__")
        assert copy.copy(found) == found
    assert (Reward(0.5).parts, Reward(0.5).metadata) == ({}, {})
    assert Reward(None, {"a": 1}).parts == {"a": 1.0}
    assert ChatStyle() == ChatStyle("", False, False)
    assert hash(ChatStyle("x", True)) == hash(ChatStyle("x", True))


def test_a_prompt_with_tokens_of_its_own_is_text() -> None:
    prompt = TokenPrompt("Q:", lambda tokenizer: [tokenizer, 1])
    assert prompt == "Q:"
    assert type(prompt) is TokenPrompt
    assert prompt.tokens_for(7) == [7, 1]
    assert not hasattr(prompt, "__dict__")
    assert TokenPrompt.__annotations__["tokens_for"]


def test_what_must_be_defined() -> None:
    assert Task.__abstractmethods__ == {"sample", "prompt"}
    assert Episode.__abstractmethods__ == {"respond"}


class Sums(Task[int]):
    """The least of a task."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(10**9))

    def prompt(self, problem: int) -> Any:
        return [{"role": "user", "content": "\ud800", "b": 1, "a": np.int64(problem)}]

    def score(self, problem: int, response: str) -> Reward:
        return Reward(float(response == str(problem)))


def test_what_a_task_has_by_default() -> None:
    task = Sums()
    assert (task.stop, task.nondeterministic, task.size, task.single_turn) == (
        (),
        False,
        None,
        True,
    )
    assert task.fitted(ChatStyle("x", True, True)) is task
    assert task.examples(1) == {}
    scores = [r.score for r in task.score_batch([(1, "1"), (1, "2"), (2, "2")])]
    assert scores == [1.0, 0.0, 1.0]
    assert task.score_batch([]) == []
    assert task.start(5).respond("5") == Reward(1.0)


def test_the_name_of_a_problem_stays() -> None:
    """A digest of the prompt as JSON, keys in order; golden, since records of runs hold it."""
    text = json.dumps([{"a": "7", "b": 1, "content": "\ud800", "role": "user"}])
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    assert Sums().problem_id(7) == digest == "77c84a81484dff65"
    assert toys.Adder().problem_id((1, 2)) == "179d6cd5e8bf64a6"


def test_a_turn_of_many_that_was_cut_earns_nothing() -> None:
    class Talk(Episode):
        def respond(self, text: str) -> Reward:
            raise AssertionError("nothing of it is run")

    assert Talk().cut("x") == Reward(0.0, metadata={"error": "response was cut off"})


def test_suggestions() -> None:
    assert (
        did_you_mean("digit", ["digits", "terms"]) == "Did you mean 'digits'? Valid: digits, terms."
    )
    assert did_you_mean("x", []) == "Valid: (none)."
    assert issubclass(RewardError, MintEnvsError)
