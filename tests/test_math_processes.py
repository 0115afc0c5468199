"""The same verdict from every thread and process, and nothing touched on the way."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mint_envs.math import grade

CASES = Path(__file__).parent / "data" / "math_cases.jsonl"
PAIRS = [
    (r"\frac{\sqrt2}{2}", r"\boxed{2^{-1/2}}"),
    (r"\sin 2x", r"\boxed{2\sin x\cos x}"),
    ("5", r"\boxed{9^{9^{9}}}"),
    ("72", "72 or 73"),
    ("7", "So there are 7 left."),
]
Verdict = list[tuple[float | None, str]]


def verdicts() -> Verdict:
    return [
        (reward.score, json.dumps(dict(reward.metadata)))
        for reward in (grade(gold, response, sympy=False) for gold, response in PAIRS)
    ]


def test_threads() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert all(found == verdicts() for found in pool.map(lambda _: verdicts(), range(32)))


def test_asyncio() -> None:
    async def many() -> list[Verdict]:
        return await asyncio.gather(*(asyncio.to_thread(verdicts) for _ in range(8)))

    assert all(found == verdicts() for found in asyncio.run(many()))


FORK = """
import os, sys
sys.path.insert(0, sys.argv[1])
from test_math_processes import verdicts
expected = verdicts()
reading, writing = os.pipe()
if os.fork() == 0:
    os.write(writing, b"same" if verdicts() == expected else b"other")
    os._exit(0)
os.wait()
print(os.read(reading, 10).decode())
"""


def test_forked_process() -> None:
    """In a process of its own, since to fork one with threads is deprecated."""
    command = [sys.executable, "-c", FORK, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "same\n"


def test_spawned_process() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(verdicts) == verdicts()


AUDIT = """
import json, sys
from mint_envs.math import grade
rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
for row in rows[:2]:
    grade(row["gold"], row["response"], sympy=False)
seen, on = [], True
risky = ("open", "import", "exec", "compile", "os.", "socket.", "subprocess.", "shutil.", "ctypes.")
def hook(event, args):
    if on and event.startswith(risky):
        seen.append((event, str(args)[:100]))
sys.addaudithook(hook)
for row in rows:
    grade(row["gold"], row["response"], sympy=False)
found, canary = list(seen), open(sys.argv[1]).close()
on = False
print(json.dumps([found, len(seen) > len(found)]))
"""


def test_no_file_no_network_no_code() -> None:
    """An audit hook sees every open, import, socket, process, compile and exec: there is none."""
    done = subprocess.run(
        [sys.executable, "-c", AUDIT, str(CASES)], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [[], True]  # True: the hook does see the file opened last
