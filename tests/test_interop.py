"""The two shapes behind all adapters, and what needs no foreign library to be tested."""

from __future__ import annotations

import pickle
import pkgutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import toys
from gymnasium.wrappers import RecordEpisodeStatistics
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVectorStatistics
from hypothesis import given
from hypothesis import strategies as st

import mint_envs
from mint_envs import interop
from mint_envs.errors import SettingError, Unmeasured
from mint_envs.interop import gymnasium as plain
from mint_envs.interop import openenv, shapes, toolcalls, trl
from mint_envs.interop.shapes import TextTask, TokenEpisode
from mint_envs.problems import ProblemRef
from mint_envs.registration import BUILT_IN
from mint_envs.testing import check_env
from mint_envs.wrappers import TextIO

mint_envs.register("interop/Down-v0", toys.Down)
mint_envs.register("interop/Guess-v0", toys.GuessNumberChat)
mint_envs.register("interop/Rows-v0", toys.GoodRows)

FOREIGN = {
    "trl", "verifiers", "tinker_cookbook", "tinker", "skyrl_gym", "verl", "openrlhf", "openenv",
    "atroposlib", "nemo_gym", "openreward", "torch", "transformers", "fastapi", "pydantic",
    "datasets",
}  # fmt: skip


@pytest.mark.parametrize("name", [m.name for m in pkgutil.iter_modules(interop.__path__)])
def test_importing_an_adapter_imports_no_library(name: str) -> None:
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; import mint_envs.interop.{name} as adapter; "
        "hasattr(adapter, 'anything'); print(*{m.split('.')[0] for m in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & FOREIGN == set()


# -- text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("env", sorted(BUILT_IN))
def test_a_number_is_the_problem_that_the_environment_has_at_it(env: str) -> None:
    made = mint_envs.make(env)
    made.reset(options={"index": 5})
    problem = made.unwrapped.problem  # type: ignore[attr-defined]
    task = TextTask(env)
    assert task.task.prompt(task.task.problem(5)) == task.task.prompt(problem)
    assert task.rows(2, start=5)[0]["task_index"] == 5


def test_rows_of_a_data_set_and_of_a_generator() -> None:
    rows = TextTask("interop/Rows-v0").rows()
    assert [row["task_index"] for row in rows] == [0, 1, 2, 3, 4]
    assert len(TextTask("interop/Rows-v0").rows(start=3)) == 2
    with pytest.raises(SettingError, match="say how many"):
        TextTask("mint/Math-v0").rows()


def test_the_task_is_made_once_in_a_process() -> None:
    def make(_: int) -> int:
        return id(TextTask("mint/Math-v0", digits=3).task)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(make, range(32)))) == 1
    assert TextTask("mint/Math-v0", digits=2).task is not TextTask("mint/Math-v0", digits=3).task
    mint_envs.register("interop/Changing-v0", toys.Adder)
    before = TextTask("interop/Changing-v0").task
    mint_envs.register("interop/Changing-v0", toys.Down)
    assert type(TextTask("interop/Changing-v0").task) is not type(before)


def score_five(task: TextTask) -> Any:
    return task.score(5, task.task.examples(task.task.problem(5)).__iter__().__next__()).score


def test_an_id_is_looked_for_as_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the working folder and by the name of a file, as commands do."""
    text = 'import mint_envs, toys\nmint_envs.register("own/Sum-v0", toys.Adder)\n'
    (tmp_path / "own_sum.py").write_text(text)
    monkeypatch.setattr(sys, "path", [*sys.path])
    task = TextTask(f"{tmp_path}/own_sum.py:own/Sum-v0").task
    assert isinstance(task, toys.Adder)
    with pytest.raises(SettingError, match="there is no module nowhere"):
        TextTask("nowhere:own/Sum-v0")


def test_a_text_task_works_in_another_process_and_in_threads() -> None:
    task = TextTask("mint/Math-v0", digits=1)
    assert pickle.loads(pickle.dumps(task)).task is task.task
    with ProcessPoolExecutor(1) as pool:
        assert pool.submit(score_five, task).result() == 1.0
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(score_five, [task] * 64)) == {1.0}


def test_mistakes_are_told() -> None:
    with pytest.raises(SettingError, match="no setting 'digit'"):
        TextTask("mint/Math-v0", digit=3)
    with pytest.raises(SettingError, match="CartPole"):
        TextTask("CartPole-v1")
    with pytest.raises(SettingError, match="has its settings already"):
        TextTask(toys.Adder(), digits=1)
    with pytest.raises(gym.error.Error):
        TextTask("mint/Nothing-v0")
    with pytest.raises(SettingError, match="several"):
        trl.reward_func("mint/ToolUse-v0")


def test_an_episode_of_several_turns() -> None:
    episode = TextTask("interop/Guess-v0").start(1)
    number = toys.GuessNumberChat().problem(1)
    assert [m["role"] for m in episode.messages] == ["system", "user"]
    other = (number + 1) % 100
    said = episode.respond(str(other))
    assert said == [{"role": "user", "content": "higher\n" if other < number else "lower\n"}]
    assert not episode.done
    assert episode.respond(str(number)) == []
    assert episode.finish().score == pytest.approx(0.8)
    with pytest.raises(SettingError, match="over"):
        episode.respond("1")
    assert TextTask("interop/Guess-v0").start(1).finish().score == 0.0


@given(st.text())
def test_no_text_raises(text: str) -> None:
    for env in ("mint/Math-v0", "mint/Chat-v0"):
        assert TextTask(env).score(1, text).measured
    TextTask("interop/Guess-v0").start(1).respond(text)


def test_what_a_completion_says() -> None:
    assert shapes.completion_text("7") == "7"
    assert shapes.completion_text([{"content": "a"}, {"role": "assistant", "content": "b"}]) == "b"
    assert (
        shapes.completion_text([{"content": [{"type": "text", "text": "c"}, {"text": "d"}]}])
        == "cd"
    )
    assert shapes.completion_text([{"role": "assistant", "content": None}]) == ""
    assert shapes.completion_text([]) == ""


def test_unmeasured() -> None:
    reward = TextTask("interop/Down-v0").score(1, "1")
    with pytest.raises(Unmeasured, match="sandbox is down"):
        shapes.measured(reward)
    assert shapes.details(reward) == {"measured": 0.0}
    assert pickle.loads(pickle.dumps(Unmeasured("x"))).args == ("x",)


# -- tokens ---------------------------------------------------------------------------------------


def test_a_token_episode_is_the_environment_and_its_mask() -> None:
    env = mint_envs.make("interop/Guess-v0")
    prompt, _ = env.reset(options={"index": 1})
    acts = [[*b"12", 258], [*b"13", 258]]
    wanted = [*prompt]
    mask = [0] * len(prompt)
    for act in acts:
        observation, *_ = env.step(act)
        wanted += [*act, *observation]
        mask += [1] * len(act) + [0] * len(observation)
    episode = TokenEpisode(TextTask("interop/Guess-v0"))
    assert episode.begin(1) == list(prompt)
    for act in acts:
        episode.step(act)
    assert (episode.tokens, episode.mask, episode.turns) == (wanted, mask, 2)
    assert episode.score is None
    assert all(type(i) is int for i in episode.tokens)


def test_a_response_as_text_is_whole() -> None:
    episode = TokenEpisode(TextTask("interop/Guess-v0"))
    episode.begin(1)
    number = toys.GuessNumberChat().problem(1)
    said = episode.respond(str((number + 1) % 100))
    assert said.endswith("<|im_start|>assistant\n")
    assert said.startswith("\n<|im_start|>user\n")
    assert episode.respond(f"{number}<|im_end|>") == ""
    assert episode.score == pytest.approx(0.8)
    assert episode.reward.score == episode.score


# -- tools ----------------------------------------------------------------------------------------


def test_tools_are_the_environments_own() -> None:
    tools = toolcalls.offered(mint_envs.make("mint/ToolUse-v0", toolkit="keyvalue").unwrapped.task)  # type: ignore[attr-defined]
    assert set(tools.functions) == {
        "get_value", "set_value", "delete_key", "list_keys", "finish",
    }  # fmt: skip
    every = toolcalls.offered(
        mint_envs.make("mint/ToolUse-v0", toolkit="keyvalue", distractors=True).unwrapped.task  # type: ignore[attr-defined]
    )
    assert {"calculate", "read_file"} < set(every.functions)


def test_a_wrong_call_comes_back_as_text() -> None:
    made = trl.environment_factory("mint/ToolUse-v0", toolkit="keyvalue")()
    made.reset(task_index=1)
    assert "Error" in made.set_value(nonsense=1)
    assert "Error" in made.get_value(key=7)
    made.finish("nothing")
    assert made.finish("again") == "The work is over."
    assert made.get_reward() == 0.0


def test_trl_tools_are_all_that_is_public() -> None:
    made = trl.environment_factory("mint/Code-v0", style="chat")()
    assert {n for n in dir(made) if not n.startswith("_")} == {"reset", "get_reward", "submit"}
    assert made.get_reward() is None  # before the first episode there is nothing to measure


def test_trl_reward_function() -> None:
    function = trl.reward_func("interop/Guess-v0".replace("Guess", "Down"))
    assert function.__name__ == "interop/Down-v0"
    logged: dict[str, float] = {}
    scores = function(
        prompts=["?"], completions=["1"], completion_ids=[[1]], task_index=[3],
        trainer_state=None, log_extra=None, log_metric=logged.__setitem__,
    )  # fmt: skip
    assert scores == [None]
    assert logged == {"mint/measured": 0.0}


@pytest.mark.parametrize("other", [{"digits": 2}, {"digits": 1, "style": "chat"}, {}])
def test_rows_of_other_settings_are_refused(other: dict[str, Any]) -> None:
    """Else right answers would earn 0, or the answer to another problem 1, and nobody would see."""
    rows = trl.rows("mint/Math-v0", 3, digits=1)
    columns = {key: [row[key] for row in rows] for key in ("task_index", "fingerprint")}
    completions = ["1", "2", "3"]
    assert trl.reward_func("mint/Math-v0", digits=1)(completions=completions, **columns)
    with pytest.raises(SettingError, match=r"task_index=. was made with other settings"):
        trl.reward_func("mint/Math-v0", **other)(completions=completions, **columns)


def test_completions_without_a_row_of_their_own() -> None:
    function = trl.reward_func("mint/Math-v0")
    with pytest.raises(SettingError, match="2 completions and 1 task_index"):
        function(completions=["1", "2"], task_index=[1])


def test_rows_of_before_call_the_index_task_seed() -> None:
    """They keep their meaning: it was the row of a data set already."""
    function = trl.reward_func("interop/Rows-v0")
    task = TextTask("interop/Rows-v0").task
    right = [next(iter(task.examples(task.problem(index)))) for index in (1, 3)]
    assert function(completions=right, task_seed=[1, 3]) == [1.0, 1.0]
    assert function(completions=right, task_seed=[1, None], task_index=[None, 3]) == [1.0, 1.0]
    with pytest.raises(SettingError, match="a task_index and another task_seed"):
        function(completions=right, task_seed=[1, 3], task_index=[1, 2])
    with pytest.raises(SettingError, match="no column task_index: make it of trl"):
        function(completions=right)
    with pytest.raises(SettingError, match="a row has no task_index"):
        function(completions=right, task_index=[1, None])
    made = trl.environment_factory("interop/Rows-v0")()
    made.reset(task_seed=3)
    made.submit(right[1])
    assert made.get_reward() == 1.0


class Session(openenv._Environment):
    """OpenEnv's session without OpenEnv."""

    _new_state = staticmethod(lambda **fields: SimpleNamespace(**fields))  # type: ignore[assignment]
    _new_observation = _new_state


def test_openenv_says_which_problem_was_begun() -> None:
    """A seed draws a row of a data set, as ``reset(seed=)`` does everywhere; an index names it."""
    task = TextTask("interop/Rows-v0")
    session = Session(task)
    for ref in (ProblemRef(index=3), ProblemRef(seed=10**6)):
        (message,) = session.reset(**ref.to_row()).messages
        assert message["content"] == task.task.prompt(ref.of(task.task))
        ((name, number),) = ref.to_row().items()
        assert getattr(session.state, f"task_{name}") == number
    session.reset()
    assert session.state.task_seed >= 0


# -- Gymnasium ------------------------------------------------------------------------------------


def test_text_in_place_of_tokens() -> None:
    env = TextIO(gym.make("mint/Math-v0", digits=1))
    prompt, info = env.reset(seed=3)
    assert prompt == info["prompt"]
    assert prompt in env.observation_space
    answer = str(env.unwrapped.task.examples(env.unwrapped.problem)).split("'")[1]  # type: ignore[attr-defined]
    nothing, reward, terminated, truncated, info = env.step(answer)
    assert (nothing, reward, terminated, truncated) == ("", 1.0, True, False)
    env.reset(seed=3)
    assert env.step(env.action_space.sample())[1] == 0.0
    with pytest.raises(SettingError, match="CartPole"):
        TextIO(gym.make("CartPole-v1"))


def test_text_of_several_turns_and_gymnasiums_checker() -> None:
    env = TextIO(gym.make("interop/Guess-v0"))
    env.reset(seed=1)
    said, reward, terminated, *_ = env.step("1")
    assert "higher" in said or "lower" in said
    assert not terminated
    assert reward == 0.0
    check_env("interop/Guess-v0")


def test_unmeasured_as_nan() -> None:
    env = plain.UnmeasuredAsNaN(gym.make("interop/Down-v0"))
    env.reset(seed=1)
    _, reward, *_, info = env.step(list(b"12"))
    assert np.isnan(reward)
    assert not info["scored"]


def test_gymnasiums_statistics() -> None:
    env = RecordEpisodeStatistics(gym.make("mint/Math-v0", digits=1))
    for seed in range(3):
        env.reset(seed=seed)
        *_, info = env.step([*b"0", 258])
        assert info["episode"]["l"] == 1
    assert len(env.return_queue) == 3
    many = RecordVectorStatistics(gym.make_vec("mint/Math-v0", num_envs=3, digits=1))
    many.reset(seed=[5, 5, 5])
    *_, infos = many.step([[*b"0", 258]] * 3)
    assert list(infos["episode"]["l"]) == [1, 1, 1]


def test_a_class_that_is_not_there_is_no_import() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        openenv.nothing  # noqa: B018


@pytest.mark.parametrize("section", ["Gymnasium", "Another library"])
def test_the_example_of_the_documentation(section: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[1] / "docs" / "interop.md").read_text(encoding="utf-8")
    body = page.split(f"\n## {section}\n")[1].split("\n## ")[0]
    for block in body.split("```python\n")[1:]:
        exec(block.split("```")[0], {})
    assert "1.0" in capsys.readouterr().out  # what an example shows is a success
