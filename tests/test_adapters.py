"""RLAdapter: both forms, to an environment and back, in a loop like run_grpo, and under the kit."""

from __future__ import annotations

import pickle
import random
from typing import Any

import document_adapters as adapters
import numpy as np
import pytest
import tiny
import toys

import mint_envs
from mint_envs import ByteTokenizer, Reward, RLAdapter, TokenEnv, from_adapter, to_adapter
from mint_envs.errors import (
    ContractError,
    IndexOutOfRange,
    RewardError,
    SettingError,
    TokenizerError,
)
from mint_envs.interop.mint import ModelInput
from mint_envs.testing import check_env
from trainers.backends import AdamParams, Datum, SampleRequest, SamplingParams
from trainers.backends.bandit import BanditBackend


def play(env: Any, text: str, seed: int = 0) -> tuple[float, dict[str, Any]]:
    env.reset(seed=seed)
    _, reward, _, _, info = env.step([*text.encode(), env.action_space.stop_token])
    return reward, info


def findings(env: TokenEnv) -> str:
    with pytest.raises(ContractError) as error:
        check_env(env, problems=3, max_examples=20)
    return str(error.value)


# -- to an environment ----------------------------------------------------------------------------


def test_the_prompt_is_the_adapters_token_for_token() -> None:
    class Sevens(adapters.SoundAddition):
        """Its tokens are not those of its text."""

        def make_prompt(self, sample: Any, tokenizer: Any) -> list[int]:
            return [tokenizer.eos_token_id, *tokenizer.encode(sample[0])]

    tokens, info = from_adapter(Sevens()).reset(seed=1)
    assert tokens[0] == ByteTokenizer.eos_token_id
    assert info["prompt"].startswith("<|im_end|>Q: What is")


def test_a_sound_adapter_keeps_the_contract() -> None:
    for adapter in (adapters.SoundAddition(), adapters.NumpyDrawn()):
        report = check_env(from_adapter(adapter), problems=3, max_examples=20)
        assert report.cases["question and answer"] > 0
        assert report.cases["responses that act"] == 2


def test_problems_come_from_the_seed_and_the_generators_stay_as_they_were() -> None:
    env = from_adapter(adapters.SoundAddition())
    random.seed(5)
    before = random.getstate()
    first = env.reset(seed=3)[1]["prompt"]
    assert random.getstate() == before
    assert env.reset(seed=4)[1]["prompt"] != first
    assert env.reset(seed=3)[1]["prompt"] == first


def test_a_data_set_that_is_always_the_same_has_a_size_and_indexes() -> None:
    class Fixed(adapters.SoundAddition):
        def build_dataset(self) -> list[tuple[str, int]]:
            return [(f"Q: What is {n} + 1?\nA:", n + 1) for n in range(7)]

    env = from_adapter(Fixed())
    assert env.task.size == 7
    assert env.reset(options={"index": 6})[1]["prompt"].endswith("6 + 1?\nA:")
    with pytest.raises(IndexOutOfRange):
        env.reset(options={"index": 7})


def test_the_form_on_tokens() -> None:
    env = from_adapter(adapters.Verification(), prompts=["What is 6 * 7?\n"])
    reward, info = play(env, "it is 42")
    assert reward == 1.0
    assert info["metadata"] == {"error": "", "read": "42"}
    assert play(env, "no")[1]["metadata"] == {"error": "no number", "read": ""}


@pytest.mark.parametrize("prompt", ["Say 42.", [83, 97, 121], [{"role": "user", "content": "42"}]])
def test_prompts_may_be_text_tokens_or_messages(prompt: Any) -> None:
    env = from_adapter(adapters.Verification(), prompts=[prompt])
    assert len(env.reset(seed=0)[0]) >= 3
    assert play(env, "42")[0] == 1.0


def test_the_tokenizer_and_the_model_of_an_adapter() -> None:
    adapter = adapters.Verification()
    assert isinstance(adapter.get_tokenizer(), ByteTokenizer)
    info = adapter.get_model_info()
    assert (info.family, info.vocab_size, info.eos_token_id) == ("ByteTokenizer", 259, 258)
    made = tiny.tokenizer()
    made.name_or_path = "Qwen/Qwen3-0.6B"
    assert adapters.Verification(made).get_model_info().family == "Qwen3"


def test_with_a_tokenizer_of_hugging_face() -> None:
    """Its apply_chat_template gives ids, as the documents have it, whatever the version."""
    made = tiny.tokenizer()
    env = from_adapter(adapters.Preference(), tokenizer=made)
    tokens, info = env.reset(seed=0)
    assert info["prompt"].startswith("<|im_start|>user\nTell me about ")
    assert info["prompt"].endswith("<|im_start|>assistant\n")
    assert tokens.tolist() == made.encode(info["prompt"], add_special_tokens=False)
    assert env.task.adapter.get_tokenizer() is made  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("given", "reward", "scored"),
    [
        (1, 1.0, True),
        (True, 1.0, True),
        (np.float32(0.5), 0.5, True),
        (None, 0.0, False),
        (Reward(0.25, {"a": 1.0}), 0.25, True),
        (Reward(None), 0.0, False),
    ],
)
def test_rewards_of_all_kinds(given: Any, reward: float, scored: bool) -> None:
    class Gives(adapters.SoundAddition):
        def compute_reward(self, response: str, sample: Any) -> Any:
            return given

    got, info = play(from_adapter(Gives()), "x")
    assert (got, info["scored"]) == (reward, scored)


def test_another_range_is_scaled_and_outside_of_it_is_a_mistake() -> None:
    class Signed(adapters.SoundAddition):
        def compute_reward(self, response: str, sample: Any) -> float:
            return float(response)

    env = from_adapter(Signed(), reward_range=(-1, 1))
    assert [play(env, text)[0] for text in ("-1", "0", "0.5", "1")] == [0.0, 0.5, 0.75, 1.0]
    for text in ("1.5", "nan", "-inf"):
        with pytest.raises(RewardError, match="reward_range"):
            play(env, text)
    for wrong in ((1, 1), (0, float("inf")), (float("-inf"), 1), (float("nan"), 1)):
        with pytest.raises(SettingError, match="lowest, highest"):
            from_adapter(Signed(), reward_range=wrong)


@pytest.mark.parametrize("kind", [str, str.encode])
def test_a_reward_that_is_text_is_a_mistake(kind: Any) -> None:
    """Who returns the response, and not its reward, would pay for whatever says 1."""

    class Returns(adapters.SoundAddition):
        def compute_reward(self, response: str, sample: Any) -> Any:
            return kind(response)

    with pytest.raises(RewardError, match=r"gives the reward b?'1', no number in"):
        play(from_adapter(Returns()), "1")


class Mute(RLAdapter):
    def build_dataset(self) -> list[str]:
        return ["What?"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: from_adapter(adapters.Verification()), "prompts="),
        (lambda: from_adapter(adapters.Verification(), prompts=[]), "one or more"),
        (lambda: play(from_adapter(Mute()), "x"), "compute_reward"),
        (lambda: from_adapter(Mute(), prompts=[7]).reset(seed=0), "token ids, text or"),
    ],
)
def test_an_adapter_that_lacks_something_is_told_what(make: Any, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        make()


def test_an_adapter_can_be_registered() -> None:
    mint_envs.register("test/Sums-v0", adapters.SoundAddition)
    env = mint_envs.make("test/Sums-v0", tokenizer=tiny.tokenizer())
    assert "What is" in env.reset(seed=0)[1]["prompt"]
    check_env("test/Sums-v0", problems=2, max_examples=10)
    assert pickle.loads(pickle.dumps(env.unwrapped.task)).size is None  # type: ignore[attr-defined]


class Foreign:
    """An adapter whose base class is another's."""

    def build_dataset(self) -> list[int]:
        return [3, 4]

    def make_prompt(self, sample: int, tokenizer: Any) -> list[int]:
        return list(tokenizer.encode(f"{sample} + 1 ="))

    def compute_reward(self, response: str, sample: int) -> float:
        return float(response.strip() == str(sample + 1))

    def examples(self, sample: int) -> dict[str, float]:
        return {str(sample + 1): 1.0}


class ForeignCall:
    """Decodes by a tokenizer of its own, which knows other ids than ours."""

    tokenizer = tiny.tokenizer()

    def get_tokenizer(self) -> Any:
        return self.tokenizer

    def __call__(self, prompt: Any, response: Any) -> Any:
        return Reward(float(self.tokenizer.decode(response.to_ints()) == "7"))


def test_an_adapter_of_another_base_class() -> None:
    check_env(from_adapter(Foreign()), problems=2, max_examples=10)
    mint_envs.register("test/Foreign-v0", Foreign)
    assert mint_envs.make("test/Foreign-v0").unwrapped.task.size == 2  # type: ignore[attr-defined]
    assert play(from_adapter(ForeignCall(), prompts=["3 + 4 ="]), "7")[0] == 1.0
    with pytest.raises(SettingError, match="ForeignCall has no build_dataset"):
        from_adapter(ForeignCall())
    for wrong in (None, "mint/Math-v0", Foreign):
        with pytest.raises(SettingError, match="is no adapter"):
            from_adapter(wrong)


def test_names_that_adapters_use_for_their_own_are_free() -> None:
    class Named(adapters.SoundAddition):
        examples = ["What is 1 + 1?"]  # type: ignore[assignment]

        def __init__(self) -> None:
            self.name, self.task, self.codec, self.adapter = "sums", "add", None, 1

    assert "What is" in from_adapter(Named()).reset(seed=0)[1]["prompt"]


# -- what the kit says of the documents' three -----------------------------------------------------


def test_the_kit_sees_that_question_and_answer_are_drawn_apart() -> None:
    text = findings(from_adapter(adapters.Addition()))
    assert "question and answer: " in text
    assert "Make question and answer from the same numbers" in text


def test_the_kit_sees_it_without_arithmetic_too() -> None:
    """The same question with two answers: no knowledge of the questions is needed."""

    class Apart(RLAdapter):
        def build_dataset(self) -> list[tuple[str, str]]:
            letters = "abcdefghijklmnopqrst"
            return [
                (f"Spell {random.choice(letters)} backwards", random.choice(letters))
                for _ in range(5)
            ]

        def make_prompt(self, sample: Any, tokenizer: Any) -> Any:
            return tokenizer.encode(sample[0])

        def compute_reward(self, response: str, sample: Any) -> float:
            return float(response.strip() == sample[1])

    assert "earns the full mark in the first only" in findings(from_adapter(Apart()))


def test_the_kit_sees_that_a_heuristic_can_be_gamed() -> None:
    text = findings(from_adapter(adapters.Preference()))
    assert "gameable: a response of 40 made-up words earns the full mark" in text
    text = findings(from_adapter(adapters.ToolMention(), prompts=["a", "b", "c"]))
    assert "gameable: a response of made-up words with every mark" in text


def test_the_kit_sees_that_generated_code_runs_in_the_process_of_the_verdict() -> None:
    text = findings(from_adapter(adapters.FunctionWriting()))
    assert "responses that act" in text
    assert "runs in the process of the verdict" in text
    assert "writes a file outside of any sandbox" in text
    assert "an object equal to everything earns the full mark" in text


def test_the_kit_sees_a_right_answer_that_is_right_for_every_question() -> None:
    text = findings(
        from_adapter(adapters.Verification(), prompts=["6 * 7 =", "9 + 4 =", "1 + 1 ="])
    )
    assert "gameable: the response '42' earns the full mark" in text


# -- to an adapter --------------------------------------------------------------------------------


def run_grpo(
    adapter: Any, backend: BanditBackend, steps: int, batch: int, group: int
) -> list[float]:
    """A loop of the shape of rl_core's; return the mean reward of each step."""
    tokenizer, means = backend.tokenizer, []
    for step in range(1, steps + 1):
        datums, rewards = [], []
        for sample in adapter.build_dataset()[:batch]:
            prompt = adapter.make_prompt(sample, tokenizer)
            request = SampleRequest(tuple(prompt), group)
            params = SamplingParams(2, 1.0, seed=len(means) * 1000 + len(rewards))
            sequences = backend.sample([request], params)[0]
            scores = [adapter.compute_reward(tokenizer.decode(s.tokens), sample) for s in sequences]
            rewards += scores
            mean = sum(scores) / len(scores)
            for sequence, score in zip(sequences, scores, strict=True):
                zeros, ones = np.zeros(len(prompt)), np.ones(len(sequence.tokens))
                datums.append(
                    Datum(
                        (*prompt, *sequence.tokens),
                        np.r_[zeros, ones],
                        np.r_[zeros, sequence.logprobs],
                        np.r_[zeros, ones * (score - mean)],
                    )
                )
        backend.update(datums, "importance_sampling", {}, AdamParams(0.3))
        adapter.evaluate(step, rewards, len(datums))
        means.append(sum(rewards) / len(rewards))
    return means


class Parity(toys.Adder):
    """Say 1 for odd, 0 for even, of one digit."""

    def sample(self, rng: np.random.Generator) -> tuple[int, int]:
        return int(rng.integers(10)), 0

    def prompt(self, problem: tuple[int, int]) -> str:
        return f"{problem[0]}:"

    def score(self, problem: tuple[int, int], response: str) -> Reward:
        return Reward(float(response.strip() == str(problem[0] % 2)))


def test_a_loop_over_adapters_learns_on_ours(capsys: pytest.CaptureFixture[str]) -> None:
    adapter = to_adapter(TokenEnv(Parity()), size=20)
    means = run_grpo(adapter, BanditBackend("01"), steps=15, batch=10, group=8)
    assert sum(means[-3:]) > sum(means[:3]) + 1.0
    assert "Step 15: accuracy=" in capsys.readouterr().out


def test_ours_as_an_adapter_pays_what_the_environment_pays() -> None:
    adapter = to_adapter("mint/Math-v0", digits=1, size=3, seed=5)
    tokenizer = ByteTokenizer()
    samples = adapter.build_dataset()
    assert len(samples) == 3
    assert samples != adapter.build_dataset()  # it goes on
    for seed, sample in zip((5, 6, 7), samples, strict=True):
        env = mint_envs.make("mint/Math-v0", digits=1)
        tokens, _ = env.reset(seed=seed)
        assert adapter.make_prompt(sample, tokenizer) == tokens.tolist()
        assert adapter.compute_reward(f"{sample.answer}<|im_end|>", sample) == 1.0
        assert adapter.compute_reward("", sample) == 0.0
        reward = adapter(ModelInput(tokens), ModelInput(tokenizer.encode(f" {sample.answer}")))
        assert reward.score == 1.0


def test_there_and_back() -> None:
    env = from_adapter(to_adapter("mint/Math-v0", digits=1, size=8))
    check_env(env, problems=2, max_examples=10)


def test_what_a_loop_over_adapters_cannot_have() -> None:
    with pytest.raises(SettingError, match="several turns"):
        to_adapter(TokenEnv(toys.GuessNumber()))
    with pytest.raises(SettingError, match="not an environment of mint_envs"):
        to_adapter(object())
    with pytest.raises(SettingError, match="for an id"):
        to_adapter(TokenEnv(toys.Adder()), digits=1)
    adapter = to_adapter(TokenEnv(toys.Down()))
    sample = adapter.build_dataset()[0]
    with pytest.raises(RewardError, match="could not be measured"):
        adapter.compute_reward("1", sample)
    assert to_adapter(TokenEnv(toys.Down()), unmeasured=0.5).compute_reward("1", sample) == 0.5
    with pytest.raises(SettingError, match="not made by make_prompt"):
        adapter(ModelInput([1]), ModelInput([2]))


class _Foreign:
    """A reward of another library."""

    def __init__(self, score: Any, metadata: Any) -> None:
        self.score, self.metadata = score, metadata


@pytest.mark.parametrize("prompt", [[1.5], [-4], [10**9], [True], [{"role": "user"}], ["a"]])
def test_a_prompt_of_no_tokens_is_a_mistake(prompt: Any) -> None:
    class Odd(adapters.SoundAddition):
        def make_prompt(self, sample: Any, tokenizer: Any) -> Any:
            return prompt

    with pytest.raises(TokenizerError, match="make_prompt"):
        from_adapter(Odd()).reset(seed=0)


def test_no_data_set_is_a_mistake() -> None:
    class Nothing(adapters.SoundAddition):
        def build_dataset(self) -> Any:
            return None

    with pytest.raises(SettingError, match="no samples"):
        from_adapter(Nothing())


def test_rewards_of_another_library() -> None:
    class Elsewhere(adapters.SoundAddition):
        given: Any = None

        def compute_reward(self, response: str, sample: Any) -> Any:
            return self.given

    adapter = Elsewhere()
    env = from_adapter(adapter)
    adapter.given = _Foreign(None, {"why": "down"})
    assert play(env, "1")[1]["scored"] is False
    adapter.given = _Foreign(1, None)
    assert play(env, "1")[0] == 1.0
    adapter.given = _Foreign(1, [1, 2])
    with pytest.raises(RewardError, match="metadata"):
        play(env, "1")


def test_an_adapter_that_exits_is_a_finding() -> None:
    class Exits(adapters.SoundAddition):
        def compute_reward(self, response: str, sample: Any) -> float:
            raise SystemExit(3)

    assert "SystemExit" in findings(from_adapter(Exits()))
