"""What an episode with tools costs, and a parsed call: ``python -m benchmarks.tooluse``.

Episodes run through ``gym.make`` on one core, with one call in every message but the last. Rows
are measured in turn, round after round, so that a busy moment hits them all; the table gives
medians, and ratios are medians of the ratios within a round.

The parsers read the same Hermes messages: transformers' ``parse_response`` with TRL's template
for Qwen3, SGLang's detector, and the search for tags with ``json.loads`` that many loops have.
A peer that is not installed is left out, and named.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import platform
import re
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium as gym

import mint_envs  # noqa: F401  (registers the ids)
from mint_envs.tooluse import ToolTable, parse_calls, write_calls

from .env import Case, measure, medians

ID = "mint/ToolUse-v0"
TURNS = (1, 4, 16)
PARAMETERS = {"type": "object", "properties": {"key": {"type": "string"}, "value": {}}}
TOOLS = [{"name": "set_value", "description": "Store a value.", "parameters": PARAMETERS}]

#: What a message is like, and the calls in it.
MESSAGES: dict[str, tuple[str, list[tuple[str, dict[str, Any]]]]] = {
    "one call": ("", [("set_value", {"key": "color", "value": "red-123"})]),
    "thoughts, four calls": (
        "<think>" + "I shall store four values, one after the other. " * 20 + "</think>\n",
        [("set_value", {"key": f"k{i}", "value": [i, {"x": "y"}]}) for i in range(4)],
    ),
    "one call of 8 KB": ("", [("set_value", {"key": "k", "value": 'a "quoted" line\n' * 450})]),
    "no call, 2 KB": ("It is done, and nothing else was to be done. " * 45, []),
}

Parser = Callable[[str], int]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tooluse", description=__doc__)
    parser.add_argument("--rounds", type=int, default=30, help="times that each row is measured")
    rounds = parser.parse_args(arguments).rounds
    print(f"{ID}, gymnasium {gym.__version__}, Python {platform.python_version()}\n")
    _episodes(rounds)
    print()
    _parsers(rounds)


# -- episodes -----------------------------------------------------------------------------------


def _episodes(rounds: int) -> None:
    times = measure({str(turns): _episode(turns) for turns in TURNS}, rounds)
    us = medians(times)
    print("one episode (reset and all steps), one core")
    print(f"{'turns':>6} {'episodes/s':>11} {'us an episode':>14} {'us a turn':>10}")
    for turns in TURNS:
        cost = us[str(turns)]
        print(f"{turns:>6} {1e6 / cost:>11.0f} {cost:>14.0f} {cost / turns:>10.0f}")
    first, middle, last = (us[str(turns)] for turns in TURNS)
    early, late = (middle - first) / (TURNS[1] - 1), (last - middle) / (TURNS[2] - TURNS[1])
    print(f"a turn more, from 4 to 16 turns over from 1 to 4: {late / early:.2f} (1 is flat)")


def _episode(turns: int) -> Case:
    """An episode of ``turns`` messages: calls, and an answer at the end."""
    env: Any = gym.make(ID, toolkit="keyvalue", max_turns=20, max_tool_calls=40)
    codec = env.unwrapped.codec
    call = write_calls([("set_value", {"key": "color", "value": "red-123"})])
    acts = [[*codec.encode_response(text), codec.eos_token_id] for text in (call, "Done.")]

    def run() -> None:
        env.reset(seed=1)
        for _ in range(turns - 1):
            env.step(acts[0])
        ended = env.step(acts[1])[2]
        assert ended

    return run


# -- parsers ------------------------------------------------------------------------------------


def _parsers(rounds: int) -> None:
    texts = {name: before + write_calls(calls) for name, (before, calls) in MESSAGES.items()}
    counts = {name: len(calls) for name, (_, calls) in MESSAGES.items()}
    parsers, missing = _installed()
    print(
        "messages parsed a second, one core; in brackets: how many times as long it takes as ours"
    )
    print(f"{'':<28}" + "".join(f"{name:>24}" for name in texts))
    cases: dict[str, Case] = {
        f"{who}/{name}": partial(parse, text)
        for name, text in texts.items()
        for who, parse in parsers.items()
    }
    times = measure(cases, rounds)
    ours = next(iter(parsers))
    for who, parse in parsers.items():
        cells = []
        for name, text in texts.items():
            speed = f"{1e6 / statistics.median(times[f'{who}/{name}']):.0f}"
            pairs = zip(times[f"{ours}/{name}"], times[f"{who}/{name}"], strict=True)
            ratio = f" ({statistics.median(b / a for a, b in pairs):.2f})"
            wrong = "" if parse(text) == counts[name] else " wrong"
            cells.append(speed + (ratio if who != ours else "") + wrong)
        print(f"{who:<28}" + "".join(f"{cell:>24}" for cell in cells))
    if missing:
        print(f"not installed: {', '.join(missing)}")


def _installed() -> tuple[dict[str, Parser], list[str]]:
    """Return the parsers that are here, ours first, and the names of those that are not."""
    table = ToolTable(TOOLS)
    found: dict[str, Parser] = {
        "mint_envs, with schemas": lambda text: len(parse_calls(text, "hermes", table)),
        "mint_envs, without": lambda text: len(parse_calls(text)),
        "tags and json.loads": _naive,
    }
    missing = []
    for name, make in (("trl", _trl), ("sglang", _sglang)):
        try:
            found[f"{name} {importlib.metadata.version(name)}"] = make()
        except (ImportError, importlib.metadata.PackageNotFoundError):
            missing.append(name)
    return found, missing


_TAGGED = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


def _naive(text: str) -> int:
    return len([json.loads(body) for body in _TAGGED.findall(text)])


def _trl() -> Parser:
    """TRL's template for Qwen3, read by transformers. It is given text, so nothing is decoded."""
    utils: Any = importlib.import_module("trl.chat_template_utils")
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel({"x": 0}, unk_token="x"))
    tokenizer: Any = PreTrainedTokenizerFast(tokenizer_object=inner)
    tokenizer.response_template = utils.qwen3_template
    prefix = "<|im_start|>assistant\n"

    def parse(text: str) -> int:
        return len(tokenizer.parse_response(text, prefix=prefix).get("tool_calls") or [])

    return parse


def _sglang() -> Parser:
    detectors: Any = importlib.import_module("sglang.srt.function_call.qwen25_detector")
    protocol: Any = importlib.import_module("sglang.srt.entrypoints.openai.protocol")
    tools = [protocol.Tool(type="function", function=protocol.Function(**tool)) for tool in TOOLS]
    detector = detectors.Qwen25Detector()
    return lambda text: len(detector.detect_and_parse(text, tools).calls)


if __name__ == "__main__":
    main()
