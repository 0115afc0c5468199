"""One reference to a problem, and one way to play it."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import toys

import mint_envs
from mint_envs import Episode, Reward, Task
from mint_envs.core import Message
from mint_envs.errors import IndexOutOfRange, SettingError
from mint_envs.problems import (
    Finder,
    NoVerdict,
    OtherLength,
    ProblemRef,
    as_text,
    examples_of,
    play,
    play_all,
    play_whole,
    row_at,
    turns_of,
)

# -- which problem --------------------------------------------------------------------------------


def test_seed_and_index_name_what_the_environment_has_under_them() -> None:
    for id in ("mint/Math-v0", "mint/Chat-v0"):
        env = mint_envs.make(id)
        core: Any = env.unwrapped
        for ref in (ProblemRef(seed=5), ProblemRef(index=5)):
            env.reset(seed=ref.seed, options={} if ref.index is None else {"index": ref.index})
            assert core.task.problem_id(ref.of(core.task)) == core.task.problem_id(core.problem)


class Rows(toys.Adder):
    """A data set as most are: a seed draws a row."""

    rows = tuple((n, n) for n in range(5))

    @property
    def size(self) -> int:
        return len(self.rows)

    def sample(self, rng: np.random.Generator) -> tuple[int, int]:
        return self.problem(int(rng.integers(len(self.rows))))

    def problem(self, index: int) -> tuple[int, int]:
        found: tuple[int, int] = row_at(self.rows, index)
        return found


def test_a_seed_draws_a_row_and_an_index_names_it() -> None:
    task = Rows()
    assert task.size == 5
    assert ProblemRef(seed=99).of(task) in [ProblemRef(index=i).of(task) for i in range(5)]
    with pytest.raises(IndexOutOfRange):
        ProblemRef(index=99).of(task)


@pytest.mark.parametrize("kind", ["seed", "index"])
@pytest.mark.parametrize("value", [-1, "0", 1.0, True, np.int64(-1)])
def test_a_number_is_a_whole_one_from_0_up(kind: str, value: Any) -> None:
    with pytest.raises(SettingError, match=f"{kind}=.* must be a whole number from 0 up"):
        ProblemRef(**{kind: value})


def test_a_problem_has_one_name() -> None:
    with pytest.raises(SettingError, match=r"one name of index, seed.*got \[\]"):
        ProblemRef()
    with pytest.raises(SettingError, match=r"got \['index', 'seed'\]"):
        ProblemRef(seed=1, index=1)


def test_a_reference_is_a_plain_value() -> None:
    refs = [ProblemRef(seed=3), ProblemRef(index=np.int64(3)), ProblemRef(problem_id="a")]
    assert len({*refs, ProblemRef(seed=3)}) == 3
    for ref in refs:
        assert pickle.loads(pickle.dumps(ref)) == ref
        assert ProblemRef.from_row(json.loads(json.dumps(ref.to_row()))) == ref
    assert str(refs[0]) == "seed=3"


def test_what_a_row_says_of_its_problem() -> None:
    chat = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    assert ProblemRef.from_row({"seed": 1, "index": 2, "prompt": "x"}) == ProblemRef(index=2)
    assert ProblemRef.from_row({"seed": 1, "index": None}) == ProblemRef(seed=1)
    assert ProblemRef.from_row({"problem_id": 7}) == ProblemRef(problem_id="7")
    assert ProblemRef.from_row({"prompt": chat}) == ProblemRef(prompt="a\nb")
    assert ProblemRef.from_row({"response": "1"}) is None
    assert ProblemRef.from_row({"prompt": "x"}, ["index", "seed"]) is None
    with pytest.raises(SettingError, match="seed='1'"):
        ProblemRef.from_row({"seed": "1"})


def test_a_problem_is_found_by_its_id_and_its_prompt() -> None:
    task = toys.GoodRows()
    finder = Finder(task)
    for index in range(5):
        problem = task.problem(index)
        names = ProblemRef(problem_id=task.problem_id(problem)), ProblemRef(index=index)
        for ref in (*names, ProblemRef(prompt=as_text(task.prompt(problem)))):
            assert finder.find(ref) == ref.of(task) == problem
    with pytest.raises(SettingError, match="no problem of 5 has this prompt"):
        ProblemRef(prompt="?").of(task)


def test_a_row_that_is_not_there() -> None:
    assert row_at("ab", 1) == "b"
    with pytest.raises(IndexOutOfRange, match="index=2: the data set has 2 problems"):
        row_at("ab", 2)


# -- how it is played -----------------------------------------------------------------------------


class Two(Task[int]):
    """Two turns; the reward says how often the last one was cut."""

    def sample(self, rng: np.random.Generator) -> int:
        return 0

    def prompt(self, problem: int) -> str:
        return "?"

    def start(self, problem: int) -> Episode:
        return TwoTurns()

    def examples(self, problem: int) -> dict[Any, float]:
        return {("a", "b"): 1.0, "a": 0.5}


class TwoTurns(Episode):
    def __init__(self) -> None:
        self.said: list[str] = []

    def respond(self, text: str) -> str | Sequence[Message] | Reward:
        self.said.append(text)
        return Reward(1.0, metadata={"said": self.said}) if len(self.said) == 2 else "more"

    def cut(self, text: str) -> Reward:
        return Reward(0.25)


class Endless(Two):
    def start(self, problem: int) -> Episode:
        return EndlessEpisode()


class EndlessEpisode(Episode):
    answer: Any = "more"

    def respond(self, text: str) -> Any:
        return self.answer


def test_an_episode_is_played_to_its_end() -> None:
    assert play(Two(), 0, ("a",)).metadata["said"] == ["a", ""]
    assert play(Two(), 0, ("a", "b", "c")).metadata["said"] == ["a", "b"]
    with pytest.raises(NoVerdict, match="1000 empty ones do not end the episode"):
        play(Endless(), 0, ("a",))


def test_an_episode_that_was_these_turns_and_no_other() -> None:
    assert play_whole(Two(), 0, ("a", "b")).score == 1.0
    assert play_whole(Two(), 0, ("a", "b"), cut=True).score == 0.25
    with pytest.raises(OtherLength, match="not over after 1 responses"):
        play_whole(Two(), 0, ("a",))
    with pytest.raises(OtherLength, match="over after 2 of 3 responses"):
        play_whole(Two(), 0, ("a", "b", "c"))


@pytest.mark.parametrize("way", [play, play_whole])
def test_what_is_no_verdict(way: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EndlessEpisode, "answer", {"score": 1.0})
    with pytest.raises(NoVerdict, match=r"gets \{'score': 1\.0\}, a dict"):
        way(Endless(), 0, ("a",))


def test_single_turns_are_scored_in_one_batch() -> None:
    task = toys.Adder()
    batches: list[int] = []

    class Counted(toys.Adder):
        def score_batch(self, pairs: Any) -> list[Reward]:
            batches.append(len(pairs))
            return super().score_batch(pairs)

    games = [(task.problem(i), ("what was asked", str(sum(task.problem(i))))) for i in range(3)]
    assert [reward.score for reward in play_all(Counted(), games)] == [1.0, 1.0, 1.0]
    assert batches == [3]
    assert play(task, *games[0]).score == 1.0  # of a single turn, too, the last response counts
    assert [one.metadata["said"] for one in play_all(Two(), [(0, ("a", "b"))])] == [["a", "b"]]


def test_worked_examples_by_their_turns() -> None:
    assert examples_of(Two(), 0) == {("a", "b"): 1.0, ("a",): 0.5}
    assert turns_of(["a", "b"]) == ("a", "b")
