"""mint/Chat-v0 with a judge: the kit, the settings, the rows."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from judging import by_length, judged, longer, pairwise

import mint_envs
from mint_envs.chat import ChatTask, Judge, ScriptedJudge
from mint_envs.errors import ContractError, DatasetError, SettingError
from mint_envs.testing import check_env, check_task

# -- as a task ----------------------------------------------------------------------------------


def on_topic(data: Mapping[str, str]) -> str:
    return "excellent" if len(data["answer"]) > 20 else "poor"


def solved(prompt: Any) -> str:
    """Return an answer of the task's own to a prompt."""
    text = prompt[0]["content"] if not isinstance(prompt, str) else prompt
    drawn = (ChatTask(level="easy").sample(np.random.default_rng(seed)) for seed in range(100))
    return next(problem.answer for problem in drawn if problem.prompt == text)


def test_the_kit_passes_with_a_judge() -> None:
    task = ChatTask(judge=ScriptedJudge(on_topic), level="easy")
    report = check_task(task, problems=3, max_examples=30, solve=solved)
    assert "determinism" not in str(report.skipped)


def test_the_kit_passes_in_pairs() -> None:
    """Rewards hang on the group then, and the task says so."""
    judge = ScriptedJudge(longer)
    check_env(
        "mint/Chat-v0", problems=2, max_examples=20, level="easy", other_process=False,
        judge=judge, judge_mode="pairwise", solve=lambda p: solved(p) + " It is so.",
    )  # fmt: skip


def test_who_is_deterministic() -> None:
    here = {"judge_cache": "off"}
    assert not ChatTask().nondeterministic
    assert not judged(by_length).nondeterministic
    assert pairwise(longer).nondeterministic
    assert ChatTask(judge="http://localhost:9/v1", judge_model="m", **here).nondeterministic
    assert not ChatTask.nondeterministic


class Counting(mint_envs.Task[str]):
    """With ``live`` its rewards carry a number of their own, and it says so."""

    def __init__(self, live: bool = False, honest: bool = True) -> None:
        self.nondeterministic = live and honest
        self.live, self.count = live, 0

    def sample(self, rng: np.random.Generator) -> str:
        return str(rng.integers(1000))

    def prompt(self, problem: str) -> str:
        return f"Say {problem}: "

    def score(self, problem: str, response: str) -> mint_envs.Reward:
        self.count += self.live
        return mint_envs.Reward(float(response.strip() == problem), metadata={"n": self.count})

    def examples(self, problem: str) -> dict[str, float]:
        return {problem: 1.0, "": 0.0}


def test_settings_decide_whether_an_environment_is_nondeterministic() -> None:
    mint_envs.register("tests/Counting-v0", Counting)
    try:
        for live in (True, False):
            env = gym.make("tests/Counting-v0", live=live)
            assert env.spec is not None
            assert env.spec.nondeterministic == live
            check_env("tests/Counting-v0", live=live, problems=2, max_examples=20,
                      other_process=False)  # fmt: skip
        assert not gym.spec("tests/Counting-v0").nondeterministic
        with pytest.raises(ContractError, match="determinism"):
            check_env("tests/Counting-v0", live=True, honest=False, problems=2, max_examples=20,
                      other_process=False)  # fmt: skip
    finally:
        gym.registry.pop("tests/Counting-v0")


def test_a_task_with_a_judge_can_be_pickled() -> None:
    task = ChatTask(judge="http://localhost:9/v1", judge_model="m", judge_cache="off")
    again = pickle.loads(pickle.dumps(task))
    assert again.sample(np.random.default_rng(0)) == task.sample(np.random.default_rng(0))
    scripted = ChatTask(judge=ScriptedJudge(on_topic))
    problem = scripted.sample(np.random.default_rng(0))
    assert pickle.loads(pickle.dumps(scripted)).score(problem, problem.answer).score == 1.0


def test_the_protocol_is_small_and_checked() -> None:
    assert isinstance(ScriptedJudge(by_length), Judge)
    names = {name for name in dir(Judge) if not name.startswith("_")}
    assert names == {"name", "ask"}


def test_rows_need_a_prompt_only(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"prompt": "Name a river."}, {"prompt": "Name a hill.", "answer": "The Brocken."}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = judged(by_length, dataset=str(path))
    assert task.size == 2
    assert task.score(task.problem(0), "The Nile").score == 0.5
    assert task.problem(1).answer == "The Brocken."
    path.write_text('{"question": "Name a river."}\n')
    with pytest.raises(DatasetError, match="prompt"):
        judged(by_length, dataset=str(path))


URL = "http://localhost:9/v1"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"judge": URL}, "judge_model"),
        ({"judge": "localhost:9", "judge_model": "m"}, "http://localhost:8000/v1"),
        ({"judge": "ftp://localhost/v1", "judge_model": "m"}, "http://localhost:8000/v1"),
        ({"judge": "http://[/v1", "judge_model": "m"}, "http://localhost:8000/v1"),
        ({"judge": "http://:9/v1", "judge_model": "m"}, "http://localhost:8000/v1"),
        ({"judge": 7}, "a URL, or a Judge"),
        ({"judge_model": "m"}, "is for a judge"),
        ({"rubric": "Be fair."}, "is for a judge"),
        ({"judge": URL, "judge_model": "m", "rubric": " "}, "rubric is blank"),
        ({"judge": URL, "judge_model": "m", "judge_mode": "best"}, "judge_mode='best'"),
        ({"judge": URL, "judge_model": "m", "judge_choices": "good"}, "two or more"),
        ({"judge": URL, "judge_model": "m", "judge_choices": "good,,bad"}, "two or more"),
        ({"judge": URL, "judge_model": "m", "judge_choices": "good,good"}, "two or more"),
        ({"judge": URL, "judge_model": "m", "judge_concurrency": 0}, "judge_concurrency=0"),
        ({"judge": URL, "judge_model": "m", "judge_retries": -1}, "judge_retries=-1"),
        ({"judge": URL, "judge_model": "m", "judge_timeout_s": 0.0}, "judge_timeout_s=0.0"),
        ({"judge": URL, "judge_model": "m", "judge_options": {"n": 2}}, "may not set 'n'"),
        ({"judge": URL, "judge_model": "m", "judge_options": {"a": {1}}}, "no JSON object"),
        ({"judge": ScriptedJudge(by_length), "reward": "quickstart-heuristic"}, "two rewards"),
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        mint_envs.make("mint/Chat-v0", **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"judge": "http://me:sk-secret@localhost/v1"},
        {"judge": "http://sk-secret@localhost/v1"},
        {"judge": "http://localhost/v1?api-key=sk-secret"},
        {"judge": URL, "judge_key_env": "sk-secret"},
        {"judge": URL, "judge_options": {"api_key": "sk-secret"}},
        {"judge": URL, "judge_options": {"extra": [{"X-Api-Key": "sk-secret"}]}},
        {"judge": URL, "judge_options": {"headers": {"Authorization": "Bearer sk-secret"}}},
        {"judge": URL, "judge_options": {"access_token": "sk-secret"}},
        {"judge": URL, "judge_options": {"user": "Bearer sk-secret-of-the-environment"}},
    ],
)
def test_a_key_in_the_wrong_place_is_refused_and_not_repeated(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINT_JUDGE_API_KEY", "sk-secret-of-the-environment")
    with pytest.raises(SettingError) as caught:
        mint_envs.make("mint/Chat-v0", judge_model="m", **settings)
    assert "secret" not in str(caught.value)


def test_options_that_are_no_keys_are_taken() -> None:
    options = {"max_tokens": 9, "top_logprobs": 2, "prompt_cache_key": "a", "stop_token_ids": [1]}
    mint_envs.make("mint/Chat-v0", judge=URL, judge_model="m", judge_options=options)
