"""Ten thousand verdicts, frozen: which text earns what, in ``tests/data/golden/verdicts.jsonl.gz``.

A verdict is (kind, reference, response, reward). The reference says which problem, in full or by
id, settings and number; ``JUDGES`` has the public function that each kind asks. Responses are the
labelled cases of the test data, worked examples, and both with something changed.

Verdicts are made with what is always installed (no sympy, no judge), so that they are the same
everywhere.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import mint_envs
from mint_envs import Reward
from mint_envs.chat import LEFT_OUT, grade_instructions
from mint_envs.math import grade
from mint_envs.tooluse import FORMATS, grade_calls, parse_calls

DATA = Path(__file__).parent / "data"
PATH = DATA / "golden" / "verdicts.jsonl.gz"
LEAST = 10_000


class Verdict(NamedTuple):
    """One line of the file. ``reward``: a score, or the calls that were read (kind ``parse``)."""

    kind: str
    reference: Any
    response: Any
    reward: Any


def name_of(row: Verdict) -> str:
    """Return what tells a verdict from all others: all but its reward."""
    return json.dumps(row[:3], sort_keys=True)


# -- the file -------------------------------------------------------------------------------------


@cache
def kept() -> tuple[Verdict, ...]:
    """Return the verdicts in the file, none if there is none."""
    if not PATH.is_file():
        return ()
    lines = gzip.decompress(PATH.read_bytes()).decode().splitlines()
    return tuple(Verdict(*json.loads(line)) for line in lines)


def write(rows: Iterable[Verdict]) -> None:
    """Write the file; the same verdicts give the same bytes on any day."""
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    PATH.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


# -- what is so now -------------------------------------------------------------------------------


def judged(rows: Sequence[Verdict]) -> list[Verdict]:
    """Return the same cases with the rewards that they have now."""
    found: list[Verdict] = []
    for kind, group in groupby(rows, key=lambda row: row.kind):
        some = list(group)
        rewards = JUDGES[kind](some)
        found += [row._replace(reward=new) for row, new in zip(some, rewards, strict=True)]
    return found


def _each(one: Callable[[Any, Any], Any]) -> Callable[[Sequence[Verdict]], list[Any]]:
    return lambda rows: [one(row.reference, row.response) for row in rows]


def _score(reward: Reward) -> float | None:
    return None if reward.score is None else round(reward.score, 9)


def _math(reference: Any, response: str) -> Any:
    return _score(grade(reference["gold"], response, sympy=False, **reference.get("settings", {})))


def _chat(reference: Any, response: str) -> Any:
    asked = [(kind, kwargs) for kind, kwargs in reference]
    return _score(grade_instructions(response, asked))


def _calls(reference: Any, response: Any) -> Any:
    settings = reference.get("settings", {})
    return _score(grade_calls(reference["wanted"], response, tools=reference["tools"], **settings))


def _parse(reference: str, response: str) -> Any:
    calls = parse_calls(response, reference, _tools())
    return [[c.name, c.arguments] if c.status == "ok" else c.error for c in calls]


def _tasks(rows: Sequence[Verdict]) -> list[Any]:
    """Play whole episodes; those of one turn in one batch for each task."""
    found: dict[int, Any] = {}
    numbered: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        numbered.setdefault(json.dumps(row.reference[:2]), []).append(number)
    for numbers in numbered.values():
        id, settings, _ = rows[numbers[0]].reference
        task = _task(id, json.dumps(settings))
        some = [(task.problem(rows[i].reference[2]), rows[i].response) for i in numbers]
        found.update(zip(numbers, map(_score, _scored(task, some)), strict=True))
    return [found[number] for number in range(len(rows))]


def _scored(task: Any, pairs: list[tuple[Any, Any]]) -> list[Reward]:
    if task.single_turn:
        return list(task.score_batch(pairs))
    return [_play(task, problem, response) for problem, response in pairs]


def _play(task: Any, problem: Any, response: Any) -> Reward:
    episode = task.start(problem)
    for text in [response] if isinstance(response, str) else response:
        answer = episode.respond(text)
        if isinstance(answer, Reward):
            return answer
    reward: Reward = episode.cut("")
    return reward


@cache
def _task(id: str, settings: str) -> Any:
    given = json.loads(settings)
    if "dataset" in given:
        given["dataset"] = str(DATA / given["dataset"])
    return mint_envs.make(id, **given).unwrapped.task  # type: ignore[attr-defined]


@cache
def _tools() -> Any:
    return json.loads((DATA / "toolcall_tools.json").read_text(encoding="utf-8"))


#: Kind of a verdict: what gives it.
JUDGES: dict[str, Callable[[Sequence[Verdict]], list[Any]]] = {
    "math": _each(_math),
    "chat": _each(_chat),
    "calls": _each(_calls),
    "parse": _each(_parse),
    "task": _tasks,
    "code": _tasks,
}


def differences(rows: Sequence[Verdict], most: int = 10) -> list[str]:
    """Return a line for each verdict that is not what it was."""
    changed = [(old, new) for old, new in zip(rows, judged(rows), strict=True) if old != new]
    told = [
        f"{old.kind} {json.dumps(old.reference)[:300]}\n    response {old.response!r:.400}\n"
        f"    was {old.reward}, is {new.reward}"
        for old, new in changed[:most]
    ]
    return told + ([f"... and {len(changed) - most} more"] if len(changed) > most else [])


# -- new cases ------------------------------------------------------------------------------------


def made() -> list[Verdict]:
    """Make all cases anew, and judge them. What is drawn is drawn from fixed seeds."""
    makers = (_math_cases, _chat_cases, _call_cases, _parse_cases, _task_cases, _code_cases)
    rows = [Verdict(*case, None) for maker in makers for case in maker(random.Random(0))]
    return judged(list({name_of(row): row for row in rows}.values()))


Case = tuple[str, Any, Any]


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def changed(rng: random.Random, text: str) -> str:
    """Return ``text`` with one small thing changed."""
    at = rng.randrange(len(text) + 1)
    digits = [match.start() for match in re.finditer(r"\d", text)]
    if digits and rng.random() < 0.5:
        at = rng.choice(digits)
        return text[:at] + rng.choice("0123456789") + text[at + 1 :]
    piece = rng.choice(("", "-", " ", ".", ",", "1", "}", "x", "\n", " or 7", "not "))
    return text[:at] + piece + text[at + rng.choice((0, 0, 1)) :]


_FRAMES = (
    "{}", "\\boxed{{{}}}", "so the answer is {}.", "#### {}", "<answer>{}</answer>", "${}$",
)  # fmt: skip


def _math_cases(rng: random.Random) -> Iterator[Case]:
    names = ("cases", "forms", "told", "fresh", "blind", "blind_second")
    rows = [row for name in names for row in _rows(f"math_{name}.jsonl")]
    settings = ({"strict": True}, {"format_credit": 0.1}, {"set_credit": True})
    for number, row in enumerate(rows):
        gold, response = row["gold"], row["response"]
        if len(response) > 1500:
            continue
        other = rng.choice(rows)["gold"]
        yield "math", {"gold": gold}, response
        yield "math", {"gold": gold}, _FRAMES[number % 6].format(gold)
        yield "math", {"gold": gold}, _FRAMES[number % 5].format(changed(rng, gold))
        if number % 4 == 1:
            yield "math", {"gold": other}, response
        if number % 4 == 0:
            yield "math", {"gold": gold, "settings": settings[number // 4 % 3]}, response


def _chat_cases(rng: random.Random) -> Iterator[Case]:
    rows = _rows("ifeval_verdicts.jsonl")
    for row in rows:
        pairs = zip(row["instruction_id_list"], row["kwargs"], strict=True)
        asked = [[kind, kwargs] for kind, kwargs in pairs if kind not in LEFT_OUT]
        if not asked:
            continue
        yield "chat", asked, row["response"]
        yield "chat", asked, changed(rng, row["response"])
        if len(asked) > 1:
            yield "chat", asked[:1], row["response"]
        yield "chat", asked, rng.choice(rows)["response"][:300]


def _call_cases(rng: random.Random) -> Iterator[Case]:
    for row in _rows("bfcl_verdicts.jsonl"):
        reference = {"wanted": row["wanted"], "tools": row["tools"]}
        yield "calls", reference, row["made"]
        yield "calls", {**reference, "settings": {"partial_credit": False}}, row["made"]
        made = row["made"]
        for other in ([], made[:1], made * 2, made[::-1], _bent(rng, made)):
            yield "calls", reference, other


def _bent(rng: random.Random, made: Any) -> Any:
    """Return calls with an argument gone, or with another value."""
    bent = json.loads(json.dumps(made))
    for call in bent:
        arguments = call.get("arguments") if isinstance(call, dict) else None
        if isinstance(arguments, dict) and arguments:
            name = rng.choice(sorted(arguments))
            if rng.random() < 0.5:
                del arguments[name]
            else:
                arguments[name] = rng.choice((0, -1, "other", True, None, [1]))
    return bent


def _parse_cases(rng: random.Random) -> Iterator[Case]:
    for row in _rows("toolcall_parse.jsonl"):
        if len(row["text"]) > 2000:
            continue
        yield "parse", row["format"], row["text"]
        for _ in range(3):
            yield "parse", row["format"], changed(rng, row["text"])
        yield "parse", rng.choice(sorted(FORMATS)), row["text"]


#: Tasks whose examples are among the verdicts: id, settings, how many seeds.
_TASKS: tuple[tuple[str, dict[str, Any], int], ...] = (
    ("mint/Math-v0", {"operators": "+-*", "terms": 3}, 80),
    ("mint/Math-v0", {"style": "chat", "strict": True}, 40),
    ("mint/Chat-v0", {}, 60),
    ("mint/Chat-v0", {"level": "easy"}, 40),
    ("mint/ToolUse-v0", {}, 160),
    ("mint/ToolUse-v0", {"level": "easy"}, 60),
    ("mint/ToolUse-v0", {"format": "qwen3_coder"}, 60),
    ("mint/Mix-v0", {}, 40),
)


def _task_cases(rng: random.Random) -> Iterator[Case]:
    for id, settings, seeds in _TASKS:
        task = _task(id, json.dumps(settings))
        for seed in range(seeds):
            first = None
            for example in task.examples(task.problem(seed)):
                response = list(example) if isinstance(example, tuple) else example
                first = response if first is None else first
                yield "task", [id, settings, seed], response
            for bent in _bent_responses(rng, first):
                yield "task", [id, settings, seed], bent


def _bent_responses(rng: random.Random, first: Any) -> Iterator[Any]:
    """Yield a worked example with a text changed, and with a message left out or doubled."""
    if isinstance(first, str):
        yield from (changed(rng, first), f"<think>{first}</think>", f"Well: {first}")
        return
    at = rng.randrange(len(first))
    yield [*first[:at], changed(rng, first[at]), *first[at + 1 :], first[-1]]
    yield [*first[:at], *first[at + 1 :], first[-1]]
    yield [*first[: at + 1], *first[at:]]


_SWAPS = (("<", "<="), (" + ", " - "), ("== ", "!= "), ("range(", "range(1, "), (" and ", " or "))


def _code_cases(rng: random.Random) -> Iterator[Case]:
    settings = {"dataset": "HumanEval.jsonl.gz", "style": "chat"}
    for number, right in _first_examples(settings, range(0, 164, 2)):
        swapped = [right.replace(*swap, 1) for swap in rng.sample(_SWAPS, 3) if swap[0] in right]
        yield from _ended(settings, number, [right, *swapped])
    for level in ("easy", "medium", "hard"):
        drawn = {"level": level, "partial_credit": True}
        task = _task("mint/Code-v0", json.dumps(drawn))
        for seed in range(14):
            yield from _ended(drawn, seed, list(task.examples(task.problem(seed))))


def _first_examples(settings: Any, numbers: Iterable[int]) -> Iterator[tuple[int, str]]:
    task = _task("mint/Code-v0", json.dumps(settings))
    for number in numbers:
        yield number, next(iter(task.examples(task.problem(number))))


def _ended(settings: Any, number: int, responses: list[str]) -> Iterator[Case]:
    """Yield programs that end by themselves: one that runs into a limit takes seconds."""
    task = _task("mint/Code-v0", json.dumps(settings))
    problem = task.problem(number)
    rewards = task.score_batch([(problem, response) for response in responses])
    for response, reward in zip(responses, rewards, strict=True):
        if not reward.metadata["limit"]:
            yield "code", ["mint/Code-v0", settings, number], response
