"""Wrappers: clean Gymnasium, what they change, and that rewards stay what rewards are."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import toys
from click.testing import CliRunner
from gymnasium.utils.env_checker import check_env as gymnasium_check_env
from hypothesis import given
from hypothesis import strategies as st
from tool_templates import knowing_tokenizer

import mint_envs
from mint_envs import Reward, Task, TokenEnv
from mint_envs.chat import ScriptedJudge
from mint_envs.cli import main
from mint_envs.compose.mix import MixProblem, MixTask
from mint_envs.errors import SettingError
from mint_envs.records.replay import LOST, replay
from mint_envs.testing import check_env, check_task
from mint_envs.tokens import Codec
from mint_envs.tooluse import ToolUseTask
from mint_envs.wrappers import (
    FewShot,
    FewShotTask,
    FormatCredit,
    FormatCreditTask,
    LengthPenalty,
    LengthPenaltyTask,
    RecordJSONL,
    SystemPrompt,
    SystemPromptTask,
    TextIO,
    TimeLimit,
    TimeLimitTask,
    task_of,
)

MATH, TOOLS = "mint/Math-v0", "mint/ToolUse-v0"


def wrapped(name: str, folder: Path) -> gym.Env[Any, Any]:
    math, tools = gym.make(MATH), gym.make(TOOLS)
    made: dict[str, Any] = {
        "text": lambda: TextIO(math),
        "text, several turns": lambda: TextIO(tools),
        "system": lambda: SystemPrompt(tools, "Be brief."),
        "few-shot": lambda: FewShot(math, 3),
        "length": lambda: LengthPenalty(math, 20, 200),
        "format": lambda: FormatCredit(math, r"\d"),
        "limit": lambda: TimeLimit(tools, 6),
        "record": lambda: RecordJSONL(math, str(folder / "rows.jsonl")),
        "all": lambda: TextIO(
            RecordJSONL(
                LengthPenalty(SystemPrompt(math, "Sums."), 20, 200), str(folder / "a" / "b")
            )
        ),
    }
    env: gym.Env[Any, Any] = made[name]()
    return env


NAMES = [
    "text", "text, several turns", "system", "few-shot", "length", "format", "limit", "record",
    "all",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_gymnasium_finds_nothing_wrong(name: str, tmp_path: Path) -> None:
    env = wrapped(name, tmp_path)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version.*")
        gymnasium_check_env(env, skip_render_check=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_wrapped_environment_can_be_made_from_its_spec(name: str, tmp_path: Path) -> None:
    env = wrapped(name, tmp_path)
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))  # type: ignore[union-attr]
    one, two = env.reset(seed=4), again.reset(seed=4)
    assert np.array_equal(one[0], two[0])
    assert one[1] == two[1]


@pytest.mark.parametrize("name", ["system", "few-shot", "length", "format", "limit"])
def test_the_kit_checks_the_changed_task(name: str, tmp_path: Path) -> None:
    check_env(wrapped(name, tmp_path), problems=2, max_examples=10, other_process=False)


def test_the_environment_that_is_wrapped_stays_as_it_was() -> None:
    env = gym.make(MATH)
    before = env.reset(seed=1)[1]["prompt"]
    changed = SystemPrompt(env, "Sums.")
    assert changed.reset(seed=1)[1]["prompt"] == f"Sums.\n\n{before}"
    assert env.reset(seed=1)[1]["prompt"] == before


def test_a_foreign_environment_is_refused() -> None:
    for wrap in (TextIO, lambda env: SystemPrompt(env, "x")):
        with pytest.raises(SettingError, match="not an environment of mint_envs"):
            wrap(gym.make("CartPole-v1"))
    with pytest.raises(SettingError, match="not a mint_envs"):
        TimeLimitTask("mint/Math-v0", 2)  # type: ignore[arg-type]


# -- text -----------------------------------------------------------------------------------------


def test_text_in_and_out() -> None:
    env = TextIO(gym.make(MATH))
    prompt, info = env.reset(seed=0)
    assert prompt == info["prompt"] == "Q: What is 4 + 5?\nA: 9\n\nQ: What is 85 + 63?\nA:"
    after, reward, terminated, _, info = env.step(" 148")
    assert (after, reward, terminated, info["response"]) == ("", 1.0, True, " 148")
    assert info["finish_reason"] == "stop"
    env.reset(seed=0)
    with pytest.raises(ValueError, match="no string"):
        env.step([1, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize("task", [toys.GuessNumber(), toys.GuessNumberChat()])
def test_text_is_append_only_and_says_what_the_tokens_say(task: Task[Any]) -> None:
    env, tokens = TextIO(TokenEnv(task)), TokenEnv(task)
    codec = tokens.codec
    text, ids = env.reset(seed=3)[0], tokens.reset(seed=3)[0].tolist()
    for guess in ("1", "2"):
        text += guess + env.step(guess)[0]
        act = [*codec.encode_response(guess), codec.eos_token_id]
        ids += [*act, *tokens.step(act)[0].tolist()]
    shown = codec.decode(ids)
    assert text == (shown if task.chat else shown.replace("<|im_end|>", ""))  # type: ignore[attr-defined]


def test_text_is_the_same_wherever_the_wrapper_stands() -> None:
    task = toys.GuessNumberChat()
    for env in (TextIO(TimeLimit(TokenEnv(task), 9)), TimeLimit(TextIO(TokenEnv(task)), 9)):
        env.reset(seed=3)
        assert env.step("1")[0].startswith("<|im_end|>\n")


@given(st.text())
def test_any_text_is_a_response(text: str) -> None:
    env = TextIO(TokenEnv(toys.Adder()))
    env.reset(seed=0)
    assert 0.0 <= env.step(text)[1] <= 1.0
    assert env.action_space.contains(text)


# -- prompts --------------------------------------------------------------------------------------


def test_a_system_prompt_goes_before_the_tasks_own() -> None:
    plain = toys.GuessNumberChat()
    problem = plain.sample(np.random.default_rng(0))
    first, *rest = SystemPromptTask(plain, "Win.").prompt(problem)
    assert first == {"role": "system", "content": "Win.\n\nA game."}
    assert rest == list(plain.prompt(problem))[1:]
    math = task_of(MATH, style="chat")
    assert [m["role"] for m in SystemPromptTask(math, "x").prompt(math.problem(1))] == [
        "system", "user",
    ]  # fmt: skip
    with pytest.raises(SettingError, match="empty"):
        SystemPromptTask(plain, " ")


@pytest.mark.parametrize("shape", ["hermes", "llama"])
def test_a_wrapped_task_speaks_as_the_model_does(shape: str) -> None:
    """A template that lists the tools lists them, whatever is wrapped round the task."""
    tools, style = ToolUseTask("keyvalue"), Codec(knowing_tokenizer(shape)).style
    problem = tools.problem(1)
    plain = list(tools.fitted(style).prompt(problem))
    assert plain[0]["tools"]
    assert TimeLimitTask(tools, 9).fitted(style).prompt(problem) == plain
    mixed = MixTask({TOOLS: {"toolkit": "keyvalue"}}).fitted(style)
    assert mixed.prompt(MixProblem(0, problem)) == plain
    first, *rest = SystemPromptTask(tools, "Be brief.").fitted(style).prompt(problem)
    assert first == {**plain[0], "content": f"Be brief.\n\n{plain[0]['content']}"}
    assert rest == plain[1:]


def test_a_system_prompt_leaves_the_tokens_of_a_call_as_they_are() -> None:
    codec = Codec(knowing_tokenizer("hermes"))
    tag = codec._specials["<tool_call>"]
    task = SystemPromptTask(ToolUseTask("keyvalue"), "Be brief.")  # we say how to call a tool
    ids = codec.encode_prompt(task.prompt(task.problem(1)))
    assert ids.count(tag) == 1


def test_worked_examples_are_right_and_never_the_question() -> None:
    task = FewShotTask(task_of(MATH, digits=1, shots=0), 3)
    for seed in range(60):
        problem = task.problem(seed)
        prompt = str(task.prompt(problem))
        *shots, asked = prompt.split("Q: ")[1:]
        assert len(shots) == 3
        assert asked not in [shot.partition(" ")[0] for shot in shots]
        for shot in shots:
            question, _, answer = shot.strip().partition("?\nA: ")
            one, two = question.removeprefix("What is ").split(" + ")
            assert int(one) + int(two) == int(answer)
            assert f"{question}?" != problem.question


def test_worked_examples_in_a_chat() -> None:
    task = FewShotTask(task_of("mint/Chat-v0"), 1)
    roles = [message["role"] for message in task.prompt(task.problem(0))]
    assert roles == ["user", "assistant", "user"]


class ThreeSums(toys.Adder):
    def sample(self, rng: np.random.Generator) -> toys.Sum:
        return 10, int(rng.integers(3))


def test_worked_examples_of_a_mixture_of_texts_and_chats() -> None:
    mix = task_of("mint/Mix-v0", envs={MATH: 1, "mint/Chat-v0": 1})
    task = FewShotTask(mix, 4)
    prompts = [task.prompt(task.sample(np.random.default_rng(seed))) for seed in range(12)]
    texts = [prompt for prompt in prompts if isinstance(prompt, str)]
    chats = [prompt for prompt in prompts if not isinstance(prompt, str)]
    assert texts
    assert chats
    roles = [[message["role"] for message in chat] for chat in chats]
    assert all(found == ["user", "assistant"] * 4 + ["user"] for found in roles)
    answers = [answer for _, _, answer in task._worked[:3]]
    assert all(answer.strip() in text for text in texts for answer in answers)


def test_few_shot_says_what_it_cannot_do() -> None:
    with pytest.raises(SettingError, match="several turns"):
        FewShotTask(toys.GuessNumber())
    with pytest.raises(SettingError, match="lower shots"):
        FewShotTask(ThreeSums(), 3)
    with pytest.raises(SettingError, match="shots=0"):
        FewShotTask(toys.Adder(), 0)


# -- rewards --------------------------------------------------------------------------------------


class Scores(toys.Adder):
    """Its reward is the number that the response begins with."""

    def score(self, problem: toys.Sum, response: str) -> Reward:
        number = response.split(" ")[0]
        return Reward(None if number == "None" else float(number), {"own": 0.5}, {"a": 1})


unit = st.floats(0, 1)


@given(unit, unit, st.integers(0, 400), st.integers(0, 50), st.integers(1, 300), unit)
def test_shaped_rewards_stay_in_range_and_rise_with_the_reward(
    low: float, high: float, words: int, free: int, more: int, weight: float
) -> None:
    low, high = sorted((low, high))
    tasks = [
        LengthPenaltyTask(Scores(), free, free + more, max(weight, 0.01)),
        FormatCreditTask(Scores(), "word word", 0.2),
        FormatCreditTask(LengthPenaltyTask(Scores(), free, free + more), "word"),
    ]
    for task in tasks:
        one, two = (task.score((1, 2), f"{n!r}" + " word" * words) for n in (low, high))
        assert 0.0 <= one.score <= two.score <= 1.0  # type: ignore[operator]
        unmeasured = task.score((1, 2), "None" + " word" * words)
        assert unmeasured == Reward(None, {"own": 0.5}, {"a": 1})


def test_a_length_penalty_rises_evenly() -> None:
    task = LengthPenaltyTask(Scores(), free=2, limit=6, weight=0.5)
    scores = [task.score((1, 2), "1.0" + " x" * extra).score for extra in range(8)]
    assert scores == [1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.5, 0.5]
    letters = LengthPenaltyTask(Scores(), free=3, limit=5, weight=1.0, unit="characters")
    assert [letters.score((1, 2), text).score for text in ("1.0", "1.00", "1.000")] == [1, 0.5, 0]
    assert task.score((1, 2), "0.5 x").parts == {"task": 0.5, "brevity": 1.0, "task.own": 0.5}


def test_format_credit() -> None:
    task = FormatCreditTask(Scores(), r"<a>.*</a>", 0.1)
    scores = [task.score((1, 2), text).score for text in ("1 <a>\n</a>", "1", "0 <a></a>", "0")]
    assert scores == [1.0, 0.9, 0.1, 0.0]


def test_all_turns_count_for_length() -> None:
    task = LengthPenaltyTask(toys.GuessNumber(), free=1, limit=3)
    number = task.sample(np.random.default_rng(0))
    episode = task.start(number)
    episode.respond(str((number + 1) % 100))
    reward = episode.respond(str(number))
    assert isinstance(reward, Reward)
    assert reward.score == pytest.approx(0.8 * 0.75)
    check_task(LengthPenaltyTask(toys.GuessNumber(), 5, 50), problems=2, max_examples=10)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LengthPenaltyTask(toys.Adder(), 5, 5),
        lambda: LengthPenaltyTask(toys.Adder(), 5, 9, 0.0),
        lambda: LengthPenaltyTask(toys.Adder(), 5, 9, 0.5, "tokens"),  # type: ignore[arg-type]
        lambda: FormatCreditTask(toys.Adder(), "a", 0.5),
        lambda: FormatCreditTask(toys.Adder(), "("),
        lambda: FormatCreditTask(toys.Adder(), ".*"),
        lambda: TimeLimitTask(toys.Adder(), 0),
    ],
)
def test_wrong_settings(make: Any) -> None:
    with pytest.raises(SettingError):
        make()


def test_a_shaped_task_can_be_registered_and_is_scored_in_batches() -> None:
    mint_envs.register("test/Short-v0", short)
    env = gym.make_vec("test/Short-v0", num_envs=3, digits=1)
    env.reset(seed=[1, 1, 1])
    right = env.unwrapped.envs[0].problem.answer  # type: ignore[attr-defined]
    acts = [list(f"{right}".encode()), list(f"{right} ".encode() * 1), list(b"no " * 40)]
    _, rewards, *_ = env.step([np.array([*act, 258]) for act in acts])
    assert rewards.tolist() == [1.0, 1.0, 0.0]
    check_env("test/Short-v0", problems=2, max_examples=10)


def short(digits: int = 2) -> Task[Any]:
    return LengthPenaltyTask(task_of(MATH, digits=digits), free=20, limit=100)


# -- episodes -------------------------------------------------------------------------------------


def test_a_limit_of_turns() -> None:
    env = TextIO(TimeLimit(TokenEnv(toys.GuessNumber()), 2))
    env.reset(seed=0)
    number = env.unwrapped.problem
    wrong = str((number + 1) % 100)
    assert not env.step(wrong)[2]
    _, reward, terminated, truncated, info = env.step(wrong)
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert info["scored"]
    assert info["metadata"] == {"error": "out of turns"}
    env.reset(seed=0)
    env.step(wrong)
    assert env.step(str(number))[1] == 0.8


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_recorded_episodes_can_be_replayed(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.jsonl"
    inner = LengthPenalty(gym.make(MATH, digits=1), 1, 5)
    env = TextIO(RecordJSONL(inner, str(path)))
    for seed in (3, None, None):
        env.reset(seed=seed)
        env.step(f"{env.unwrapped.problem.answer} = it")
    tools = TextIO(RecordJSONL(gym.make(TOOLS), str(path)))
    tools.reset(seed=1)
    while not tools.step("<tool_call>\n{}\n</tool_call>")[2]:
        pass
    rows = rows_of(path)
    assert [row["env"] for row in rows] == [MATH] * 3 + [TOOLS]
    assert [row["seed"] for row in rows][::3] == [3, 1]
    assert len({row["problem_id"] for row in rows}) == 4
    assert rows[0]["env_settings"] == {"digits": 1}
    assert len(rows[3]["turns"]) == 8
    done = CliRunner().invoke(main, ["replay", str(path)])
    assert done.output == "4 episodes: 4 rewards the same, 0 differ\n"
    assert done.exit_code == 0


def test_rows_of_a_data_set_are_recorded_by_index(tmp_path: Path) -> None:
    data, path = tmp_path / "data.jsonl", tmp_path / "rows.jsonl"
    data.write_text("".join(f'{{"question": "{n}+1?", "answer": "{n + 1}"}}\n' for n in range(9)))
    env = TextIO(RecordJSONL(gym.make(MATH, dataset=str(data)), str(path)))
    env.reset(seed=0, options={"index": 7})
    env.step("8")
    assert rows_of(path)[0]["index"] == 7
    assert (
        CliRunner().invoke(main, ["replay", str(path)]).output.startswith("1 episodes: 1 rewards")
    )


def test_a_setting_that_is_an_object_is_recorded_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    judge = ScriptedJudge(lambda data: "good")
    env = TextIO(RecordJSONL(gym.make("mint/Chat-v0", judge=judge), str(path)))
    env.reset(seed=0)
    env.step("The sea is wide.")
    row = json.loads(path.read_text())
    assert "ScriptedJudge" in row["env_settings"]["judge"]
    assert [verdict.status for verdict in replay([(1, row)])] == [LOST]
