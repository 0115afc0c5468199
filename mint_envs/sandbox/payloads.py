"""What the processes of a job are told: JSON, and behind it what they need not read themselves."""

from __future__ import annotations

import ast
import functools
import itertools
import json
import marshal
from typing import Any

from .port import Job

#: Characters of tests that are worth compiling beforehand.
_LARGE = 4000
#: So many calls are worth reading beforehand: to compile one takes longer than to make it.
_MANY = 10


def json_bytes(value: Any) -> bytes:
    return json.dumps(value).encode()


def program_payload(job: Job) -> bytes:
    """Return what the program's process is told; behind it calls, read, where there are many."""
    if job.kind != "values" or job.names or len(job.calls) < _MANY:
        return json_bytes(job.payload())
    return b"\0".join([json_bytes({**job.payload(), "calls": None}), _ready_calls(job.calls)])


@functools.lru_cache(maxsize=64)
def _ready_calls(texts: tuple[str, ...]) -> bytes:
    """Return calls for ``marshal``: what is called, and its literal arguments; or else the text."""
    return marshal.dumps([_ready_call(text) for text in texts], 2)


def _ready_call(text: str) -> str | tuple[str, bytes]:
    try:
        node = ast.parse(text, mode="eval").body
        if not isinstance(node, ast.Call) or node.keywords:
            return text
        arguments = tuple(map(ast.literal_eval, node.args))
        return ast.unparse(node.func), marshal.dumps(arguments, 2)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return text


def tests_payload(job: Job, same: bool) -> bytes:
    """Return what the tests' process is told; ``same``: by an interpreter that is this one."""
    told = (job.setup, job.stubs, job.roles, job.steps, job.first, job.names, job.stop_early,
            tuple(name for name, _ in job.classes))  # fmt: skip
    large = sum(len(text) for text in (job.setup, *(text for _, text in job.steps))) >= _LARGE
    return (_kept_payload if large else _payload_of_tests)(same, *told)


_TESTS = ("setup", "stubs", "roles", "steps", "first", "names", "stop_early", "classes")
#: Words by which the tests' process knows what to make ready.
_TELLING_WORDS = ("StopIteration", "seed(", "numpy")


def _payload_of_tests(same: bool, *values: Any) -> bytes:
    """Return a message, and behind it large tests, compiled, instead of their text."""
    told = dict(zip(_TESTS, values, strict=True))
    texts = [told["setup"], *(text for _, text in told["steps"])]
    kinds = ["exec", *(kind for kind, _ in told["steps"])]
    told["words"] = [word for word in _TELLING_WORDS if any(word in text for text in texts)]
    codes = [
        _compiled(text) if same and kind == "exec" and len(text) >= _LARGE else b""
        for kind, text in zip(kinds, texts, strict=True)
    ]
    ends = list(itertools.accumulate(map(len, codes)))
    told["compiled"] = [
        (i, end - len(code), end) for i, (code, end) in enumerate(zip(codes, ends, strict=True))
        if code
    ]  # fmt: skip
    setup, *steps = ("" if code else text for code, text in zip(codes, texts, strict=True))
    told |= {"setup": setup, "steps": list(zip(kinds[1:], steps, strict=True))}
    return b"\0".join([json_bytes(told), b"".join(codes)])


#: The same large tests are run on many programs.
_kept_payload = functools.lru_cache(maxsize=32)(_payload_of_tests)


def _compiled(text: str) -> bytes:
    """Return tests as the interpreter wants them: their literals take long to compile."""
    try:
        code = compile(text, "tests.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return b""
    return marshal.dumps(code)
