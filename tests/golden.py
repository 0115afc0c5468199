"""What every id promises, as digests: they stand in ``tests/data/golden``.

A *case* is an id with settings that change its problems, prompts or rewards; a *record* is one line
for one seed of a case:

    problem_id prompt tokens examples parts rewards

``prompt`` is a digest of what the task says (text or messages), ``tokens`` of what the byte
tokenizer makes of it, ``examples`` of the texts of the worked examples, ``parts`` of the components
of their rewards; the rewards themselves stand there as they are. Digests cannot be read, so that
``texts.json.gz`` keeps what the first seeds said in full: a difference is shown by it.

A *spread* is more seeds of an id, of both splits, for what few problems say: one line for ten of
them, with a digest of their ids and prompts.

Only public names are used here, so that a module that moves changes nothing.
"""

from __future__ import annotations

import difflib
import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

import mint_envs
from mint_envs import Reward
from mint_envs.tooluse import FORMATS

ROOT = Path(__file__).parents[1]
FOLDER = Path(__file__).parent / "data" / "golden"
TEXTS = FOLDER / "texts.json.gz"
SEEDS = 50
TEXT_SEEDS = 2  # so many seeds of a case are kept in full
SPREAD = range(SEEDS, SEEDS + 600, 10)
SPREAD_NAME = f"both splits, prompts of seeds {SPREAD.start} to {SPREAD.stop - 1}"
FIELDS = ("problem_id", "prompt", "tokens", "examples", "parts", "rewards")
AGAIN = "python -m tests.make_golden"

Settings = dict[str, Any]
Case = tuple[str, Settings]
#: What the first seeds of a case said in full: seed, then field, then text.
Texts = dict[str, dict[str, str]]

_MATH_ROWS = {"dataset": "tests/data/golden/rows/math.jsonl"}
_MIX = {"mint/Math-v0": 2, "mint/ToolUse-v0": {"weight": 1, "level": "easy"}, "mint/Chat-v0": 1}

#: Settings of each id. What a setting can be must occur here, or a test fails; its default does.
CASES: dict[str, list[Settings]] = {
    "mint/Math-v0": [
        {},
        *({"style": "chat", "digits": digits} for digits in (1, 2, 9)),
        *({"digits": digits} for digits in (1, 3, 9)),
        *({"operators": signs, "terms": 3} for signs in ("+", "-", "*", "+-*")),
        {"terms": 9},
        *({"shots": shots} for shots in (0, 2, 3)),
        *({"split": split} for split in ("test", "all")),
        {"strict": True},
        {"format_credit": 0.1},
        {"set_credit": True},
        _MATH_ROWS,
        *({**_MATH_ROWS, "split": split} for split in ("train", "test")),
        {**_MATH_ROWS, "style": "chat", "strict": True},
        {**_MATH_ROWS, "question_field": "other", "answer_field": "gold"},
    ],
    "mint/Code-v0": [
        {},
        *({"level": level} for level in ("easy", "medium", "hard")),
        *({"level": level, "partial_credit": True} for level in ("medium", "hard")),
        {"style": "chat"},
        *({"shots": shots} for shots in (0, 2, 3)),
        *({"split": split} for split in ("test", "all")),
        {"max_tests_per_problem": 3, "partial_credit": True},
        {"dataset": "tests/data/HumanEval.jsonl.gz"},
        {"dataset": "tests/data/mbpp_sample.jsonl", "style": "chat"},
        {"dataset": "tests/data/code_contests_small.jsonl"},
    ],
    "mint/ToolUse-v0": [
        {},
        *(
            {"toolkit": kit}
            for kit in (
                "calculator", "calendar", "database", "files", "keyvalue", "python", "retail"
            )
        ),
        {"level": "easy"},
        *({"split": split} for split in ("test", "all")),
        *({"max_calls": calls} for calls in (1, 3)),
        {"plain": True},
        {"distractors": True},
        {"partial_credit": False},
        *({"format": name} for name in FORMATS if name != "hermes"),  # what 'auto' is here
        *({"format": name, "level": "easy"} for name in FORMATS if name != "hermes"),
        {"dataset": "tests/data/golden/rows/tooluse.jsonl"},
        {"dataset": "tests/data/golden/rows/tooluse.jsonl", "format": "qwen3_coder"},
    ],
    "mint/Chat-v0": [
        {},
        {"level": "easy"},
        *({"most": most} for most in (1, 2)),
        *({"split": split} for split in ("test", "all")),
        {"kinds": "length_constraints:number_words, keywords:existence"},
        {"partial_credit": False},
        {"max_words": 100},
        {"reward": "quickstart-heuristic"},
        *({"instructions": kinds} for kinds in ("ifbench", "ifrlvr")),
        *({"instructions": kinds, "split": "test"} for kinds in ("ifbench", "ifrlvr")),
        {"verdict": "loose"},
        {"dataset": "tests/data/golden/rows/chat.jsonl", "official": True},
        {"dataset": "tests/data/golden/rows/chat.jsonl"},
    ],
    "mint/Mix-v0": [
        {},
        *({"split": split} for split in ("test", "all")),
        {"envs": _MIX},
        {"envs": [{"id": "mint/Math-v0", "weight": 1, "digits": 3, "style": "chat"}]},
    ],
}  # fmt: skip

#: Settings that change neither a problem nor a prompt nor what an example earns, and those of a
#: judge, whose verdicts are its own.
NO_CASES = {
    "drop", "language", "max_result", "max_tool_calls", "max_turns", "mcp", "mcp_timeout_s",
    "python", "rubric", "sandbox", "sandbox_timeout_s", "skip_refused", "weights",
}  # fmt: skip


def cases() -> Iterator[Case]:
    for id, many in CASES.items():
        for settings in many:
            yield id, settings


def name_of(settings: Settings) -> str:
    """Return how a case is called in the file and in messages: ``digits=3 style="chat"``."""
    return " ".join(f"{k}={json.dumps(v)}" for k, v in settings.items()) or "defaults"


def file_of(id: str) -> Path:
    return FOLDER / f"{id.rpartition('/')[2]}.json"


# -- what is so now -------------------------------------------------------------------------------


def records(id: str, settings: Settings) -> tuple[list[str], Texts]:
    """Return the record of every seed of a case, and what the first seeds say in full."""
    env: Any = mint_envs.make(id, **_placed(settings)).unwrapped
    started = [_started(env, seed) for seed in range(SEEDS)]
    played = _played(env.task, [(one["problem"], list(one["examples"])) for one in started])
    lines, texts = [], Texts()
    for seed, (one, rewards) in enumerate(zip(started, played, strict=True)):
        lines.append(_record(one, rewards))
        if seed < TEXT_SEEDS:
            texts[str(seed)] = _text(one, rewards)
    env.close()
    return lines, texts


def _placed(settings: Settings) -> Settings:
    """Return the settings with files where they are, wherever the tests run."""
    where = {k: str(ROOT / v) for k, v in settings.items() if k == "dataset"}
    return {**settings, **where}


def _started(env: Any, seed: int) -> dict[str, Any]:
    tokens, info = env.reset(seed=seed)
    return {
        "problem": env.problem,
        "problem_id": info["problem_id"],
        "prompt": _json(env.task.prompt(env.problem)),
        "tokens": tokens.astype("<i8").tobytes(),
        "examples": env.task.examples(env.problem),
    }


def _played(task: Any, wanted: list[tuple[Any, list[Any]]]) -> list[list[Reward]]:
    """Return the rewards of the examples of each problem; programs run in one batch."""
    if not task.single_turn:
        return [[_episode(task, problem, key) for key in keys] for problem, keys in wanted]
    pairs = [(problem, key) for problem, keys in wanted for key in keys]
    rewards = iter(task.score_batch(pairs) if pairs else [])
    return [[next(rewards) for _ in keys] for _, keys in wanted]


def _episode(task: Any, problem: Any, key: Any) -> Reward:
    episode = task.start(problem)
    for text in key if isinstance(key, tuple) else (key,):
        answer = episode.respond(text)
        if isinstance(answer, Reward):
            return answer
    return Reward(0.0, metadata={"error": "the example does not end its episode"})


def _record(one: Mapping[str, Any], rewards: list[Reward]) -> str:
    digests = [one["prompt"], one["tokens"], _json(list(one["examples"]))]
    parts = _json([{k: _round(v) for k, v in reward.parts.items()} for reward in rewards])
    scores = "/".join(_score(reward) for reward in rewards) or "-"
    words = [one["problem_id"], *map(digest, digests), digest(parts), scores]
    return " ".join(word.replace(" ", "_") for word in words)


def _text(one: Mapping[str, Any], rewards: list[Reward]) -> dict[str, str]:
    rows = zip(one["examples"], rewards, strict=True)
    graded = [[_score(reward), key] for key, reward in rows]
    return {"prompt": _lines(one["prompt"]), "examples": "\n".join(map(_json, graded))}


def _lines(prompt: str) -> str:
    """Return the JSON of a prompt as lines that can be compared."""
    said = json.loads(prompt)
    if isinstance(said, str):
        return said
    return "\n".join(f"{one['role']}: {one['content']}" for one in said)


def _score(reward: Reward) -> str:
    return "None" if reward.score is None else f"{_round(reward.score):g}"


def _round(value: float) -> float:
    """Leave out the last bits, which may hang on the machine's way to add."""
    return round(value, 9)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def digest(value: str | bytes, length: int = 5) -> str:
    data = value.encode() if isinstance(value, str) else value
    return hashlib.blake2b(data, digest_size=16).hexdigest()[:length]


def spread(id: str) -> list[str]:
    """Return a line for every ten seeds of an id: the first of them, and a digest."""
    task: Any = mint_envs.make(id).unwrapped.task  # type: ignore[attr-defined]
    if "split" in signature(type(task)).parameters:
        task = mint_envs.make(id, split="all").unwrapped.task  # type: ignore[attr-defined]

    def said(seed: int) -> list[Any]:
        problem = task.problem(seed)
        return [task.problem_id(problem), task.prompt(problem)]

    tens = ([said(seed) for seed in range(first, first + 10)] for first in SPREAD)
    return [f"{first} {digest(_json(ten))}" for first, ten in zip(SPREAD, tens, strict=True)]


# -- the files ------------------------------------------------------------------------------------


@cache
def kept(id: str) -> dict[str, list[str]]:
    """Return the records in the file of an id, by name of the case."""
    path = file_of(id)
    found: dict[str, list[str]] = (
        json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    )
    return found


@cache
def kept_texts() -> dict[str, dict[str, Texts]]:
    if not TEXTS.is_file():
        return {}
    found: dict[str, dict[str, Texts]] = json.loads(gzip.decompress(TEXTS.read_bytes()))
    return found


def packed(data: bytes) -> bytes:
    """Return gzip's bytes, the same on every day: no time stands in the header."""
    return gzip.compress(data, compresslevel=9, mtime=0)


# -- differences ----------------------------------------------------------------------------------


def differences(id: str, settings: Settings, most: int = 5) -> list[str]:
    """Return what is other than in the files, a line each; empty if nothing is."""
    name = name_of(settings)
    lines, texts = records(id, settings)
    before = kept(id).get(name)
    if before is None:
        return [f"{id} {name}: no golden records yet; run {AGAIN}"]
    changed = [
        (seed, _changed(old, new))
        for seed, (old, new) in enumerate(zip(before, lines, strict=True))
        if old != new
    ]
    told = [f"{id} {name} seed {seed}: {what}" for seed, what in changed[:most]]
    if len(changed) > most:
        told.append(f"... and {len(changed) - most} more of {SEEDS} seeds")
    return told + (_shown(kept_texts().get(id, {}).get(name, {}), texts) if changed else [])


def spread_differences(id: str) -> list[str]:
    """Return the tens of seeds whose problems or prompts are other than in the file."""
    pairs = zip(kept(id).get(SPREAD_NAME, []), spread(id), strict=True)
    return [f"{id} seeds {old.split()[0]} and nine more: other prompts" for old, new in pairs
            if old != new]  # fmt: skip


def _changed(old: str, new: str) -> str:
    fields = zip(FIELDS, old.split(" "), new.split(" "), strict=True)
    return ", ".join(f"{field} was {a}, is {b}" for field, a, b in fields if a != b)


def _shown(old: Texts, new: Texts) -> list[str]:
    """Show the first text that is kept and has changed, line against line."""
    for seed, fields in new.items():
        for field, text in fields.items():
            was = old.get(seed, {}).get(field, "")
            if was != text:
                names = (f"{field} of seed {seed}, golden", f"{field} of seed {seed}, now")
                pair = was.splitlines(), text.splitlines()
                return [line[:400] for line in difflib.unified_diff(*pair, *names, "", "", 1, "")]
    return [f"(the texts of seeds below {TEXT_SEEDS} are kept in full; none of them changed)"]
