"""Exact in tokens: a context is what was observed and what was done, and nothing else."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers_for_tests import small_tokenizer
from tool_templates import KNOWING, knowing_tokenizer

from mint_envs import TokenEnv
from mint_envs.core import Reward
from mint_envs.problems import ProblemRef
from mint_envs.tooluse import ToolUseTask
from trainers.backends import Sample, SampleRequest, SamplingParams
from trainers.pool import EnvPool
from trainers.rollout import collect

ROOT = Path(__file__).parents[1]


def random_act(rng: np.random.Generator, env: TokenEnv, task: Any) -> list[int]:
    """Random tokens, sometimes with a call among them, and mostly with an end."""
    size, stop = env.codec._known, env.codec.eos_token_id
    before = int(rng.integers(1, 12)) if rng.random() < 0.5 else 0  # some formats begin with a call
    act: list[int] = rng.integers(0, size, before).tolist()
    if rng.random() < 0.6:
        value = bytes(rng.integers(32, 127, 6).tolist()).decode()
        calls = [("set_value", {"key": "k", "value": value}), ("get_value", {"key": "k"})]
        act += env.codec.encode_response(task.framing.calls(calls))
    act += rng.integers(0, size, int(rng.integers(0, 6))).tolist()
    return [*act, stop] if rng.random() < 0.9 else act  # type: ignore[list-item]


def play_exactly(env: TokenEnv, twin: TokenEnv, episodes: int, first: int = 0) -> int:
    """Play random episodes; what is observed may depend on the texts of the acts alone."""
    rng = np.random.default_rng(first)
    special = set(env.codec._specials.values())
    turns = 0
    for seed in range(first, first + episodes):
        obs, info = env.reset(seed=seed)
        assert env.codec.decode(obs.tolist()) == info["prompt"]
        episode = twin.task.start(env.problem)
        while env.running:
            act = random_act(rng, env, env.task)
            before = list(act)
            obs, _, terminated, truncated, info = env.step(act)
            assert act == before
            text, ended = twin.codec.response_text(act)
            reply = episode.respond(text) if ended else episode.cut(text)
            assert isinstance(reply, Reward) == (terminated or truncated)
            if isinstance(reply, Reward):
                assert obs.size == 0
                continue
            turns += 1
            assert obs.tolist() == twin.codec.encode_reply(reply, True, act[-1])
            bare = [{**message, "content": "x"} for message in reply]
            framing = twin.codec.encode_reply(bare, True, act[-1])
            assert count(obs, special) == count(framing, special)
    return turns


def count(ids: Any, among: set[int]) -> int:
    return sum(int(i) in among for i in ids)


@pytest.mark.parametrize("shape", ["chatml", "llama3", "hermes", "llama", "glm"])
def test_an_observation_is_the_reply_and_no_more(shape: str) -> None:
    tokenizer = knowing_tokenizer(shape) if shape in KNOWING else small_tokenizer(shape)
    env, twin = (TokenEnv(ToolUseTask("keyvalue"), tokenizer) for _ in range(2))
    assert play_exactly(env, twin, 120) > 20


class RandomModel:
    """A backend that draws random tokens, some of which make a call."""

    name = model = "random"
    max_context = 1 << 62

    def __init__(self, tokenizer: Any, seed: int) -> None:
        self.tokenizer = tokenizer
        self._env = TokenEnv(ToolUseTask("keyvalue"), tokenizer)
        self._rng = np.random.default_rng(seed)
        self.drawn: list[tuple[int, ...]] = []

    def sample(self, requests: Any, params: SamplingParams) -> list[list[Sample]]:
        return [[self._one() for _ in range(request.n)] for request in requests]

    def _one(self) -> Sample:
        act = tuple(random_act(self._rng, self._env, self._env.task)) or (0,)
        self.drawn.append(act)
        return Sample(act, (-1.0,) * len(act))


def test_the_mask_is_one_on_acts_alone() -> None:
    """What is trained on is the context, token for token, and the mask marks what was sampled."""
    tokenizer = small_tokenizer("chatml")
    model: Any = RandomModel(tokenizer, 0)
    pool = EnvPool("mint/ToolUse-v0", 64, tokenizer, {"toolkit": "keyvalue"})
    params = SamplingParams(64, 1.0, pool.stop, pool.stop_tokens)
    twin = TokenEnv(ToolUseTask("keyvalue"), tokenizer)
    turns = 0
    for group in collect(pool, model, [ProblemRef(seed=seed) for seed in range(16)], 4, params):
        for episode in group:
            datum = episode.datum(1.0)
            obs, _ = twin.reset(seed=episode.ref.seed)
            context, mask = obs.tolist(), [0.0] * len(obs)
            for start, end in episode.acts:
                act = episode.tokens[start:end]
                assert tuple(act) in model.drawn
                obs, *_ = twin.step(act)
                context += [*act, *obs.tolist()]
                mask += [1.0] * len(act) + [0.0] * len(obs)
                turns += 1
            assert list(datum.tokens) == context
            assert datum.mask.tolist() == mask
    assert turns > 80
    assert isinstance(SampleRequest((1,), 1).n, int)


# -- the same elsewhere -------------------------------------------------------------------------

_PLAY = """
import hashlib, json, sys
import mint_envs
rng_act = lambda i: ["", "Answer: 3", '<tool_call>{"name": "list_keys"}</tool_call>'][i % 3]
digest = hashlib.sha256()
for settings in ({}, {"distractors": True}, {"level": "easy"}, {"format": "glm45"}):
    env = mint_envs.make("mint/ToolUse-v0", **settings)
    codec = env.unwrapped.codec
    for seed in range(40):
        obs, info = env.reset(seed=seed)
        task = env.unwrapped.task
        texts = next(iter(task.examples(env.unwrapped.problem)))
        texts = texts if seed % 2 else [rng_act(seed + k) for k in range(12)]
        digest.update(json.dumps([obs.tolist(), info], sort_keys=True).encode())
        for text in texts:
            obs, *rest = env.step([*codec.encode_response(text), codec.eos_token_id])
            digest.update(json.dumps([obs.tolist(), *rest], sort_keys=True).encode())
            if rest[1] or rest[2]:
                break
print(digest.hexdigest())
"""


def test_another_process_sees_the_same() -> None:
    """Observations, rewards and infos, byte for byte, whatever the hash seed is."""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{_PLAY}"],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_episodes_leave_nothing_behind() -> None:
    """A bounded form of tests/soak_tooluse.py, which plays thousands."""
    env = TokenEnv(ToolUseTask(distractors=True))
    act = env.codec.encode_response(
        '<tool_call>{"name": "set_value", "arguments": {"key": "k", "value": "v"}}</tool_call>'
    )
    stop = env.codec.eos_token_id

    def play(first: int, number: int) -> None:
        for seed in range(first, first + number):
            env.reset(seed=seed)
            while env.running:
                env.step([*act, stop])

    play(0, 30)  # what is cached is cached now
    tracemalloc.start()
    try:
        held = []
        for first in range(30, 180, 30):
            play(first, 30)
            gc.collect()  # what waits for it, such as a JSON decoder, is left behind by none
            held.append(tracemalloc.get_traced_memory()[0])
        # What is left behind grows every time; other threads of the process come and go.
        assert min(after - before for before, after in pairwise(held)) < 15_000
    finally:
        tracemalloc.stop()
    assert json.dumps(env.reset(seed=1)[1])
