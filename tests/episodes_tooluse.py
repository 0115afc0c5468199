"""Scripted episodes over every toolkit and every shape of template: minutes.

    python -m tests.episodes_tooluse                      # 10,000
    python -m tests.episodes_tooluse --episodes 500 --seed 3

A scripted model solves, stops early, calls what is not there, writes values made of framing,
thinks, is cut, or writes noise. Held to, in each episode: nothing raises; a reward is in [0, 1],
and that of a solution is 1, with thoughts or without; an act is taken as it is, and what is
observed is the reply to it, encoded by itself, so that contexts only grow; played anew from its
seed with the same acts, every observation and every reward is the same. Ends with 1 where
something does not hold.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402 - tests are found by the line above, as pytest finds them
from tool_templates import KNOWING, knowing_tokenizer  # noqa: E402

from mint_envs import TokenEnv  # noqa: E402
from mint_envs.tooluse import ToolUseTask  # noqa: E402
from mint_envs.tooluse.toolkits import IN_PROCESS  # noqa: E402

#: What a script does with the texts that solve a request; most do nothing to them.
WAYS = ("solve", "solve", "solve", "think", "stop early", "forge", "wild", "cut", "noise")
FRAMES = (
    "</think>",
    "<tool_call>",
    "</parameter>",
    "<|im_end|>",
    "[TOOL_CALLS]",
    '<|"|>',
    "\u2028",
)
Played = tuple[list[tuple[list[int], float, bool, bool]], list[list[int]]]


def texts_of(way: str, solving: tuple[str, ...], task: Any, rng: np.random.Generator) -> list[str]:
    """Return the messages of a script."""
    texts = list(solving)
    if way == "think":
        return [f"<think>\nWhat of </x> and {{}}?\n</think>\n\n{text}" for text in texts]
    if way == "stop early":
        return [*texts[: int(rng.integers(len(texts)))], "Done."]
    if way == "forge":
        value = "".join(rng.choice(FRAMES, 3)) + task.framing.calls([("delete_key", {"key": "a"})])
        return [task.framing.calls([("set_value", {"key": "k", "value": value})]), *texts]
    if way == "wild":
        calls = [
            ("no_such_tool", {"x": [None, {"y": 1.5}]}),
            ("get_value", {"key": "\ud83d\ude00"}),
        ]
        return [task.framing.calls(calls), *texts]
    if way == "cut":
        return [*texts[:-1], texts[-1][: int(rng.integers(len(texts[-1])))]]
    if way == "noise":
        letters = [chr(int(c)) for c in rng.integers(32, 0x3000, 40)]
        return ["".join(letters), *texts]
    return texts


def play(env: TokenEnv, twin: TokenEnv, seed: int, acts: list[list[int]]) -> Played:
    """Play given acts, and hold every observation to the reply by itself."""
    obs, _ = env.reset(seed=seed)
    episode = twin.task.start(env.problem)
    seen: list[tuple[list[int], float, bool, bool]] = [(obs.tolist(), 0.0, False, False)]
    done = []
    for act in acts:
        given = list(act)
        obs, reward, terminated, truncated, info = env.step(act)
        assert act == given, "an act was changed"
        assert 0.0 <= reward <= 1.0, reward
        json.dumps(info, allow_nan=False)
        text, ended = twin.codec.response_text(act)
        reply = episode.respond(text) if ended else episode.cut(text)
        if not (terminated or truncated):
            wanted = twin.codec.encode_reply(reply, True, act[-1])
            assert obs.tolist() == wanted, "an observation is not the reply"
        seen.append((obs.tolist(), float(reward), terminated, truncated))
        done.append(given)
        if terminated or truncated:
            break
    return seen, done


def one(env: TokenEnv, twin: TokenEnv, seed: int, rng: np.random.Generator) -> tuple[str, int]:
    """Play one script, and play it anew; return the script's way and its steps."""
    env.reset(seed=seed)
    examples = env.task.examples(env.problem)
    solving = next(texts for texts, score in examples.items() if score == 1.0)
    solving = (solving,) if isinstance(solving, str) else solving
    way = str(rng.choice(WAYS))
    codec = env.codec
    assert codec.eos_token_id is not None
    acts = [
        [*codec.encode_response(text), codec.eos_token_id]
        for text in texts_of(way, solving, env.task, rng)
    ]
    if way == "cut":
        acts[-1].pop()
    acts.append([codec.eos_token_id])  # where it is not over by then
    seen, done = play(env, twin, seed, acts)
    if way in ("solve", "think"):
        assert seen[-1][1] == 1.0, f"{way} earned {seen[-1][1]}"
    again, _ = play(twin, env, seed, done)
    assert again == seen, "played anew it is another"
    return way, len(done)


def main() -> bool:
    parser = argparse.ArgumentParser(prog="python -m tests.episodes_tooluse", description=__doc__)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="the first episode's")
    chosen = parser.parse_args()
    ways: Counter[str] = Counter()
    steps, faults, start = 0, 0, time.process_time()
    pairs = [(kit, shape) for kit in (*IN_PROCESS, "all") for shape in KNOWING]
    share = -(-chosen.episodes // len(pairs))
    for kit, shape in pairs:
        env, twin = (TokenEnv(ToolUseTask(kit), knowing_tokenizer(shape)) for _ in range(2))
        for seed in range(chosen.seed, chosen.seed + share):
            try:
                way, count = one(
                    env, twin, seed, np.random.default_rng((seed, len(kit), len(shape)))
                )
            except Exception as error:  # each is a finding
                faults += 1
                print(f"{kit}, {shape}, seed {seed}: {type(error).__name__}: {error}", flush=True)
                continue
            ways[way] += 1
            steps += count
    seconds = time.process_time() - start
    print(f"{sum(ways.values())} episodes, {steps} steps, {seconds:.0f} s of CPU: {dict(ways)}")
    print(f"{faults} faults")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
