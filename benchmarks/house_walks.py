"""Walks: what one warm call passes through. See ``benchmarks.house``, which prints them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import io
import itertools
import json
import os
import runpy
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGES = ("mint_envs", "trainers")
_SCORE = "/v1/score"


@dataclass(frozen=True)
class Walk:
    """What one warm call passes through, or why it could not be taken."""

    name: str
    calls: int = 0
    files: int = 0
    switches: int = 0
    note: str = ""


Call = tuple[str, str]
Action = Callable[[], object]


def traced(action: Action) -> list[Call]:
    """Return the calls that ``action`` makes."""
    with tracing() as found:
        action()
    return found


@contextlib.contextmanager
def tracing() -> Iterator[list[Call]]:
    """Note (file, function) of every call of ours in this thread."""
    found: list[Call] = []
    places = _places()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(places):
            found.append((frame.f_code.co_filename, frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


@functools.cache
def _places() -> tuple[str, ...]:
    """Return the folders of our packages as they are imported: installed ones, or this tree's."""
    specs = [importlib.util.find_spec(package) for package in PACKAGES]
    return tuple(f"{Path(spec.origin).parent}{os.sep}" for spec in specs if spec and spec.origin)


def walk(name: str, action: Action, before: Action = lambda: None) -> Walk:
    """Trace the third call of ``action``; ``before`` is called before each, untraced."""
    for _ in range(2):
        before()
        action()
    before()
    return summed(name, traced(action))


def summed(name: str, calls: Sequence[Call], note: str = "") -> Walk:
    files = [file for file, _ in calls]
    switches = sum(a != b for a, b in itertools.pairwise(files))
    return Walk(name, len(calls), len(set(files)), switches, note)


def walks() -> list[dict[str, Any]]:
    """Take every walk; one whose names are gone, or that fails, says so and stops no other."""
    found = []
    for name, take in WALKS.items():
        try:
            found.append(take(name))
        except Exception as error:
            found.append(Walk(name, note=f"not taken: {type(error).__name__}: {error}"))
    return [asdict(one) for one in found]


def _step(name: str, id: str, text: str | None = None, **settings: Any) -> Walk:
    """One ``env.step``; ``text``: None for the first message of the first worked example."""
    import mint_envs

    env: Any = mint_envs.make(id, **settings)
    inner = env.unwrapped
    env.reset(seed=0)
    if text is None:
        example = next(iter(inner.task.examples(inner.problem)))
        text = example if isinstance(example, str) else example[0]
    act = [*inner.codec.encode_response(text), inner.codec.eos_token_id]
    return walk(name, lambda: env.step(act), lambda: env.reset(seed=0))


def _grade(name: str, gold: str, response: str) -> Walk:
    from mint_envs.math import grade

    return walk(name, lambda: grade(gold, response, sympy=False))


def _row(name: str) -> Walk:
    import mint_envs

    row = {"question": "What is 36 times 2?", "answer": "36 * 2 = 72.\n#### 72"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text(json.dumps(row) + "\n", encoding="utf-8")
        task = type(mint_envs.make("mint/Math-v0").unwrapped.task)  # type: ignore[attr-defined]
        return walk(name, lambda: task(dataset=str(path)).problem(0))


def _command(package: str, *words: str) -> list[Call]:
    """Trace a command of ours, as ``python -m`` runs it, in this process."""
    argv = sys.argv
    sys.argv = [package, *words]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return traced(functools.partial(_run_main, package))
    finally:
        sys.argv = argv


def _run_main(package: str) -> None:
    """Run ``python -m package``; that it ends with an exit status is as it should be."""
    with contextlib.suppress(SystemExit), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # it may have been imported before
        runpy.run_module(package, run_name="__main__", alter_sys=False)


def _training_step(name: str) -> Walk:
    """Two steps less one: what starts and ends a run falls away."""
    with tempfile.TemporaryDirectory() as folder:
        runs = [_training(f"{folder}/{number}", steps) for number, steps in enumerate((1, 1, 2))]
    once, twice = Counter(runs[1]), Counter(runs[2])
    step = twice - once
    if not step:
        return Walk(name, note=f"not taken: `mint-grpo --backend bandit` made {len(runs[2])} calls")
    files = {file for file, _ in step}
    switches = summed("", runs[2]).switches - summed("", runs[1]).switches
    return Walk(name, sum(step.values()), len(files), switches, "two steps less one")


def _training(folder: str, steps: int) -> list[Call]:
    words = ["mint/Math-v0", "--backend", "bandit", "--batch", "4", "--group", "4"]
    words += ["--max-tokens", "3", "--eval-every", "0", "--run-dir", folder]
    return _command("trainers", *words, "--steps", str(steps))


def _bench(name: str) -> Walk:
    words = ["bench", "mint/Math-v0", "--only", "right", "--problems", "4"]
    _command("mint_envs", *words)
    calls = _command("mint_envs", *words)
    return summed(name, calls, f"mint-envs {' '.join(words)}")


def _post(name: str) -> Walk:
    """One item to ``score``, with no socket: the application is called as a server calls it."""
    from mint_envs.executors import Local
    from mint_envs.serve import Settings, make_app

    app: Any = make_app(Settings(offers=("mint/Math-v0",)), Local())  # in this thread: traced too
    body = json.dumps({"env": "mint/Math-v0", "items": [{"seed": 0, "response": "148"}]})

    async def requests() -> tuple[list[Call], dict[str, Any], int]:
        _, schema = await _ask(app, "GET", "/openapi.json")
        for _ in range(2):
            await _ask(app, "POST", _SCORE, body)
        with tracing() as found:
            status, _ = await _ask(app, "POST", _SCORE, body)
        return found, json.loads(schema), status

    calls, schema, status = asyncio.run(requests())
    if status != 200:
        return Walk(name, note=f"not taken: status {status}")
    operation = schema["paths"][_SCORE]["post"]["operationId"]  # begins with the function's name
    last = [function.rpartition(".")[2] for _, function in calls]
    at = next((i for i, one in enumerate(last) if operation.startswith(f"{one}_v1")), None)
    return summed(name, calls, f"{at} calls before the route")


async def _ask(app: Any, method: str, path: str, body: str = "") -> tuple[int, bytes]:
    """Call an application as a server does; return the status and the body of its answer."""
    parts = [{"type": "http.request", "body": body.encode(), "more_body": False}]
    answer: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return parts.pop() if parts else await asyncio.Future()

    async def send(message: dict[str, Any]) -> None:
        answer.append(message)

    headers = {"host": "127.0.0.1", "content-type": "application/json"}
    headers["content-length"] = str(len(body))
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"",
        "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
    }  # fmt: skip
    await app(scope, receive, send)
    return answer[0]["status"], b"".join(one.get("body", b"") for one in answer)


Take = Callable[[str], Walk]
WALKS: dict[str, Take] = {
    "env.step on a sum": lambda name: _step(name, "mint/Math-v0", "148"),
    "grade a box": lambda name: _grade(name, "72", r"It is \boxed{72}."),
    "grade a sentence": lambda name: _grade(name, "72", "So the answer is 72."),
    "grade an interval against an inequality": lambda name: _grade(
        name, r"(-\infty, -2] \cup [3, \infty)", r"\boxed{x \le -2 \text{ or } x \ge 3}"
    ),
    "env.step, code (parent side)": lambda name: _step(name, "mint/Code-v0", level="easy"),
    "env.step, one tool call": lambda name: _step(name, "mint/ToolUse-v0", toolkit="keyvalue"),
    "env.step, chat": lambda name: _step(name, "mint/Chat-v0", level="easy"),
    "a JSONL row to a problem": _row,
    "one training step, 4 x 4, bandit": _training_step,
    "POST of one item to score": _post,
    "bench (parent side)": _bench,
}
