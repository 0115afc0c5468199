"""Small jobs that the zygote runs once, so that its children find the interpreter's caches filled.

A child that runs a function for the first time has it made ready by the interpreter, and copies the
pages that this writes to: for the two halves of a split check that took a third of their time.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import Any

from . import pipe, runner, serve, split, wire

_PROGRAM = (
    "import math\nclass A:\n    def f(self, x=1, *a, **k):\n"
    "        return [i for i in range(x)]\n"
    "def g(s):\n    return {c: s.count(c) for c in s}, f'{s!r}', sorted(s), len(s) ** 2\n"
)
_ROUNDS = 3


def warm_up() -> None:
    """Run a program and its calls, and both halves of a split check."""
    fd = os.open("/dev/null", os.O_RDWR)
    job = {"program": _PROGRAM, "calls": ["A().f(3)", "g('abc')", "1 / 0"], "stop_early": False}
    for _ in range(_ROUNDS):
        runner.run(json.dumps(job).encode(), "values", fd, -1)
    for _ in range(_ROUNDS):
        _warm_halves(fd)
    os.close(fd)
    sys.modules.pop("solution", None)


_COUNT = 12
_TESTS = {
    "setup": "import math\nclass Node:\n    pass\ndef near(a, b):\n    assert a == b\n",
    "stubs": ["f"], "roles": [], "first": 0, "names": [], "stop_early": True, "classes": ["Node"],
    "words": [], "compiled": [],
    "steps": [
        ["exec", f"for i in __ahead__(f, list(range({_COUNT})), "
                 "lambda items: [((i,), ([i],)) for i in items], None):\n"
                 "    near(f(i), [i]); __settle__()"],
        *[["exec", "assert f(1.5, [2, (3, 'a')]) == {1: [2]}; __settle__()"]] * _ROUNDS,
        ["eval", "f(1)"],
    ],
}  # fmt: skip


def _warm_halves(null: int) -> None:
    """Run first the tests, who find the answers there already, then the program."""
    stdout, taught = sys.stdout, wire.taught()
    here, there = socket.socketpair()
    try:
        with here, there:
            for reply in _replies():
                pipe.send(here.fileno(), reply)
            split.tests({**_TESTS, "raw": b""}, runner.Records(null), there.fileno())
            there.shutdown(socket.SHUT_WR)
            program = {"program": "def f(*a):\n    return [*a]\n"}
            serve.answer_calls(program, runner.Records(null), here.fileno())
    finally:
        sys.stdout = stdout
        wire.teach_again(taught)
        del sys.modules["pytest"]


def _replies() -> list[Any]:
    first = [[i] for i in range(8)]
    rest = [[i] for i in range(8, _COUNT)]
    value = ["value", ["d", [[1, ["l", [2]]]]], [], None, ""]
    return [["many", first, []], ["many", rest, []], *[value] * (_ROUNDS + 1)]
