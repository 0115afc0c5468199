"""Played token by token at an address: contexts grow as in training; else by messages."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from model_server import answering, counted
from test_evaluate_served import failing
from tokenizers_for_tests import small_tokenizer
from tool_templates import knowing_tokenizer

import mint_envs
from mint_envs.cli import main
from mint_envs.core import Message, Reward, Task
from mint_envs.errors import SettingError
from mint_envs.evaluate import EvalPlan, Evaluation, evaluate
from mint_envs.evaluate.plan import choose
from mint_envs.evaluate.report import report_of
from mint_envs.jsonl import whole_rows
from mint_envs.policies import ModelText, OpenAIPolicy, Texts
from mint_envs.problems import ProblemRef, as_text
from mint_envs.token_policy import TokenPolicy, token_policy
from mint_envs.tokens import Codec

PLAN = EvalPlan(env="mint/ToolUse-v0", problems=4, samples=2, max_tokens=400,
                settings={"toolkit": "keyvalue"})  # fmt: skip
TOKENIZERS: dict[str, Any] = {
    "bytes": lambda: None,
    "chatml": lambda: small_tokenizer("chatml"),
    "llama3": lambda: small_tokenizer("llama3"),
    "hermes": lambda: knowing_tokenizer("hermes"),
}


class Model:
    """What answers ``/completions``: the worked example's next turn, in tokens of its own choice.

    ``tokens`` is the tokenizer there; ``told`` are fields of an answer that are others.
    """

    def __init__(self, codec: Codec, plan: EvalPlan = PLAN, told: Mapping[str, Any] = {}) -> None:
        self.codec, self.told = codec, told
        chosen = choose(plan)
        task = chosen.task.fitted(codec.style)
        self.ready: dict[tuple[int, ...], Sequence[str]] = {}
        for number, ref in enumerate(chosen.refs):
            problem = ref.of(task)
            example = next(iter(task.examples(problem)))
            turns = (example,) if isinstance(example, str) else example
            prompt = tuple(codec.encode_prompt(task.prompt(problem)))
            self.ready[prompt] = turns if number % 3 else ("I will not.",)

    def __call__(self, request: dict[str, Any], turn: int) -> tuple[int, Any]:
        prompt = request["prompt"]
        ids = self.codec.encode_prompt(prompt) if isinstance(prompt, str) else prompt
        said = self.answer(tuple(ids))[: request["max_tokens"]]
        ended = bool(said) and said[-1] in self.codec.stop_tokens
        choice = {
            "text": self.codec.decode(said), "token_ids": said, "prompt_token_ids": ids,
            "logprobs": {"token_logprobs": [-0.25] * len(said)},
            "finish_reason": "stop" if ended else "length",
        }  # fmt: skip
        return 200, {"choices": [{**choice, **self.told}]}

    def answer(self, prompt: tuple[int, ...]) -> list[int]:
        """Each character is encoded by itself: no tokenizer would write the text so."""
        known = [seen for seen in self.ready if prompt[: len(seen)] == seen]
        if not known:
            return self.codec.encode_response("What?")
        now, *later = self.ready[max(known, key=len)]
        said = [one for letter in now for one in self.codec.encode_response(letter)]
        said.append(min(self.codec.stop_tokens))
        if later:
            self.ready[(*prompt, *said)] = later
        return said


def played(url: str, tokenizer: Any, out: Path, plan: EvalPlan = PLAN) -> Evaluation:
    policy = token_policy("m", url, tokenizer, retries=4, backoff_s=0.001, concurrency=4)
    assert policy is not None
    return evaluate(plan, policy, "m", out)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_turns_with_tools_are_the_ids_of_training(tmp_path: Path, name: str) -> None:
    tokenizer = TOKENIZERS[name]()
    out = tmp_path / "out.jsonl"
    with answering(Model(Codec(tokenizer))) as server:
        found = played(server.url, tokenizer, out)
        prompts = [body["prompt"] for body in server.bodies[2:]]
        assert all(body["stop_token_ids"] for body in server.bodies)
    assert server.paths == {"/v1/completions"}
    assert found.by_tokens == found.exact == len(found.outcomes) == 8
    assert {one.score for one in found.outcomes} > {1.0}
    assert max(one.turns for one in found.outcomes) > 1
    seen = []
    for row in whole_rows(out):
        env: Any = mint_envs.make(row["env"], tokenizer=tokenizer, **row["env_settings"])
        if "index" in row:
            tokens, _ = env.reset(options={"index": row["index"]})
        else:
            tokens, _ = env.reset(seed=row["seed"])
        context = tokens.tolist()
        for ids in row["response_ids"]:
            seen.append(list(context))
            more, reward, over, cut, info = env.step(ids)
            context += [*ids, *more.tolist()]
        assert (reward, over or cut, info["scored"]) == (row["reward"], True, True)
        assert row["turns"][-1] == info["response"]
    assert sorted(seen) == sorted(prompts)


@pytest.mark.filterwarnings("default")
def test_faults_of_the_address_change_nothing(tmp_path: Path) -> None:
    codec = Codec(None)
    with answering(Model(codec)) as server:
        calm = played(server.url, None, tmp_path / "calm.jsonl")
    with answering(failing(Model(codec))) as server:
        found = played(server.url, None, tmp_path / "faulty.jsonl")
    assert found.lost == 0
    assert [(one.score, one.turns, one.tokens) for one in found.outcomes] == [
        (one.score, one.turns, one.tokens) for one in calm.outcomes
    ]


# -- addresses that cannot ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"token_ids": None}, "gives no token ids"),
        ({"token_ids": [1, True]}, "gives no token ids"),
        ({"token_ids": [1, 2, 3]}, "gives no token ids"),
        ({"logprobs": None}, "gives no token ids"),
        ({"logprobs": {"token_logprobs": [None]}}, "gives no token ids"),
        ({"logprobs": {"token_logprobs": [0.5]}}, "gives no token ids"),
        ({"prompt_token_ids": [5, 6]}, "does not take the ids as they are"),
        (404, "it answered 404"),
        (400, "it answered 400"),
    ],
)
def test_it_is_played_by_messages_where_it_cannot_be_by_tokens(
    told: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    model = Model(Codec(None), told=told if isinstance(told, dict) else {})
    answer = model if isinstance(told, dict) else lambda request, turn: (told, {})
    with answering(answer) as server, caplog.at_level(logging.WARNING):
        assert token_policy("m", server.url, None, retries=0) is None
    assert "played by messages" in caplog.text
    assert why in caplog.text


def test_another_tokenizer_than_the_models_is_refused() -> None:
    with (
        answering(Model(Codec(small_tokenizer("chatml")))) as server,
        pytest.raises(SettingError, match="is not the tokenizer of m"),
    ):
        token_policy("m", server.url, None)


def test_an_address_that_is_away_is_told() -> None:
    with pytest.raises(SettingError, match="cannot be asked: the connection failed"):
        token_policy("m", "http://127.0.0.1:9/v1", None, retries=0)


@pytest.mark.parametrize("able", [True, False])
def test_the_report_of_the_command_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, able: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    small_tokenizer("chatml").save_pretrained("tokenizer")
    plan = EvalPlan(env="mint/Math-v0", problems=2, samples=1, max_tokens=32)
    model = Model(Codec("tokenizer"), plan)

    def answer(request: dict[str, Any], turn: int) -> tuple[int, Any]:
        if "messages" in request:
            return counted("5", 9, 1)
        return model(request, turn) if able else (404, {})

    words = ["eval", "mint/Math-v0", "--model", "m", "-n", "2", "-k", "1", "--max-tokens", "32"]
    with answering(answer) as server:
        done = CliRunner().invoke(
            main, [*words, "--tokenizer", "tokenizer", "--base-url", server.url]
        )
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    assert ("played token by token: contexts are the ids" in text) is able
    assert ("played by messages (texts), not token by token" in text) is not able


def test_a_tokenizer_is_of_a_model_at_an_address() -> None:
    done = CliRunner().invoke(main, ["eval", "mint/Math-v0", "--policy", "local",
                                     "--tokenizer", "x"])  # fmt: skip
    assert done.exit_code != 0
    assert "--tokenizer is of --model" in done.output


# -- other policies -------------------------------------------------------------------------------


class Echo(Task[int]):
    """Two turns of text; a turn ends with a line."""

    stop = ("\n",)

    @property
    def single_turn(self) -> bool:
        return False

    @property
    def size(self) -> int:
        return 60

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(60))

    def problem(self, index: int) -> int:
        return index

    def prompt(self, problem: int) -> str:
        return f"say {problem}:"

    def start(self, problem: int) -> Any:
        return EchoEpisode(problem)


class EchoEpisode:
    def __init__(self, problem: int) -> None:
        self.problem, self.said = problem, 0

    def respond(self, response: str) -> str | Reward | list[Message]:
        self.said += 1
        return "again:" if self.said == 1 else Reward(float(response == f"{self.problem}\n"))

    def cut(self, response: str) -> Reward:
        return Reward(0.0)


mint_envs.register("tests/Echo-v0", Echo)


class Bytes:
    """A policy on this machine: says a number, a line, and more, in bytes."""

    codec = Codec(None)

    def __init__(self, ids: bool = True) -> None:
        self.asked: list[list[int]] = []
        self._ids = ids

    def sample(
        self, prompts: Sequence[Any], n: int, max_tokens: int, temperature: float, seed: int
    ) -> Texts:
        found: Texts = []
        for prompt in prompts:
            self.asked.append(self.codec.encode_prompt(prompt))
            number = as_text(prompt).split(":")[0].split()[1]
            text = f"{number}\nand more\n"
            ids = self.codec.encode_response(text)
            given = (ids, [-1.0] * len(ids)) if self._ids else (None, None)
            found.append([ModelText(text, False, 3, len(ids), *given)] * n)
        return found


def test_a_turn_ends_in_the_tokens_of_its_stop_string(tmp_path: Path) -> None:
    plan = EvalPlan(env="tests/Echo-v0", problems=3, samples=1, max_tokens=32)
    policy = Bytes()
    found = evaluate(plan, policy, "bytes", tmp_path / "out.jsonl")
    assert [one.score for one in found.outcomes] == [1.0] * 3
    decode = policy.codec.decode
    assert {decode(ids).split(":", 1)[1] for ids in policy.asked[3:]} == {
        f"{n}\nagain:" for n in (decode(ids).split()[1][:-1] for ids in policy.asked[:3])
    }
    (row, *_) = whole_rows(tmp_path / "out.jsonl")
    assert [decode(ids) for ids in row["response_ids"]] == row["turns"]
    assert list(map(len, row["response_logprobs"])) == list(map(len, row["response_ids"]))
    assert "token by token" in " ".join(report_of([found]).sections[0].notes)
    assert ProblemRef.from_row(row) is not None


def test_a_policy_with_a_codec_has_to_give_ids(tmp_path: Path) -> None:
    plan = EvalPlan(env="tests/Echo-v0", problems=1, samples=1, max_tokens=32)
    with pytest.raises(SettingError, match="ModelText with ids and logprobs"):
        evaluate(plan, Bytes(ids=False), "bytes", tmp_path / "out.jsonl")


def test_other_fields_of_requests_go_along() -> None:
    with answering(Model(Codec(None))) as server:
        policy = token_policy("m", server.url, None, options={"top_p": 0.5})
        assert isinstance(policy, TokenPolicy)
        assert isinstance(policy, OpenAIPolicy)
        policy.sample(["a"], 1, 4, 1.0, 0)
        assert server.bodies[-1]["top_p"] == 0.5
