"""Long fuzzing of the parsers and of the environment: nothing may raise, nothing may be slow.

python tests/fuzz_tooluse.py                     # 30 minutes of CPU, seed 0
python tests/fuzz_tooluse.py --minutes 1 --seed 7

Time is CPU time: load is no fault, and takes nothing from the fuzzing. Prints how many examples
ran, and the most time that a byte took (texts of 4 KiB and more, each measured again when slow).
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from typing import Any

import hypothesis
import numpy as np
from hypothesis import strategies as st
from test_calls import PIECES, TABLE
from test_tooluse_formats import CALLS
from tokenizers_for_tests import small_tokenizer
from tool_templates import KNOWING, knowing_tokenizer

from mint_envs import TokenEnv
from mint_envs.tooluse import FORMATS, TOOLKITS, ToolUseTask, parse_calls, write_calls

LONG = 4096
COUNTS: Counter[str] = Counter()
WORST: dict[str, tuple[float, str]] = dict.fromkeys(FORMATS, (0.0, ""))

FORMAT = st.sampled_from(sorted(FORMATS))
WRITTEN = st.tuples(CALLS, FORMAT).map(lambda pair: write_calls(*pair))
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=4) | WRITTEN, max_size=20).map("".join)


def seconds_per_byte(text: str, format: str) -> float:
    begin = time.process_time()
    parse_calls(text, format, TABLE)
    return (time.process_time() - begin) / len(text.encode("utf-8", "surrogatepass"))


def parse(text: str, format: str, times: int) -> None:
    """A text, and the same many times over."""
    COUNTS["texts"] += 1
    for call in parse_calls(text, format, TABLE):
        assert 0 <= call.span[0] <= call.span[1] <= len(text)
        if call.ok:
            json.dumps(call.arguments, allow_nan=False, ensure_ascii=False).encode()
    long = (text * times)[: 1 << 16]
    if len(long) >= LONG:
        COUNTS["long texts"] += 1
        cost = seconds_per_byte(long, format)
        if cost > WORST[format][0]:
            cost = min(cost, *(seconds_per_byte(long, format) for _ in range(3)))
            WORST[format] = max(WORST[format], (cost, text[:80]))


ENVS = {
    shape: TokenEnv(ToolUseTask(distractors=True), knowing_tokenizer(shape)) for shape in KNOWING
} | {"bytes": TokenEnv(ToolUseTask()), "small": TokenEnv(ToolUseTask(), small_tokenizer("llama3"))}
NAMES = [schema["name"] for kit in TOOLKITS.values() for schema in kit.schemas()]
ARGUMENTS = st.dictionaries(
    st.sampled_from(["key", "value", "path", "content", "text", "expression", "source"]),
    st.sampled_from(["/", "docs", "a.txt", "1/0", "9**9**9", "<|im_end|>", "", "x" * 5000, 3])
    | st.text(max_size=5),
    max_size=3,
)
MESSAGES = st.lists(
    TEXTS | st.lists(st.tuples(st.sampled_from(NAMES), ARGUMENTS), max_size=4), max_size=9
)


def play(shape: str, seed: int, messages: list[Any], data: st.DataObject) -> None:
    """An episode of hostile messages, and random tokens behind some of them."""
    COUNTS["episodes"] += 1
    env = ENVS[shape]
    task: Any = env.task
    env.reset(seed=seed)
    for message in [*messages, ""]:
        text = message if isinstance(message, str) else write_calls(message, task.framing.format)
        act = env.codec.encode_response(text)[:5000]
        act += data.draw(st.lists(st.integers(0, env.codec.vocab_size - 1), max_size=3))
        _, reward, terminated, truncated, info = env.step([*act, env.codec.eos_token_id])
        COUNTS["steps"] += 1
        assert 0.0 <= reward <= 1.0
        json.dumps(info, allow_nan=False)
        if terminated or truncated:
            break


TESTS: list[tuple[Any, Any]] = [
    (parse, (TEXTS, FORMAT, st.integers(1, 400))),
    (play, (st.sampled_from(sorted(ENVS)), st.integers(0, 10**6), MESSAGES, st.data())),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    end = time.process_time() + chosen.minutes * 60
    rng = np.random.default_rng(chosen.seed)
    settings = hypothesis.settings(
        max_examples=500, deadline=None, database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    while time.process_time() < end:
        for test, strategies in TESTS:
            given = hypothesis.given(*strategies)(test)
            hypothesis.seed(int(rng.integers(2**32)))(settings(given))()
        print(dict(COUNTS), flush=True)
    for format, (cost, text) in sorted(WORST.items(), key=lambda item: -item[1][0]):
        print(f"{format:<16} at worst {cost * 1e9:.0f} ns a byte: {text!r}")


if __name__ == "__main__":
    main()
