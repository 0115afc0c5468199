"""Many requests of one evaluation, and the memory that they take: ``python -m tests.soak_eval``.

The scripted address is a process of its own, so that what is measured is the evaluation alone:
the most that the process held at any time, interpreter and packages included.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MOST_MB = 300
_SERVER = """
import sys, time
sys.path[:] = {path!r}
from tests.model_server import answering, counted
with answering(lambda request, turn: counted("42 is what I get", 30, 6)) as server:
    server.bodies = type("Nothing", (list,), {{"append": lambda self, one: None}})()
    print(server.url, flush=True)
    sys.stdin.read()
"""


@contextmanager
def _served() -> Iterator[str]:
    command = [sys.executable, "-c", _SERVER.format(path=sys.path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()


def main(requests: int = 10_000) -> None:
    """Ask so many, print memory and speed, and end with 1 if it is more than 300 MB."""
    from mint_envs.evaluate import EvalPlan, evaluate
    from mint_envs.policies import OpenAIPolicy

    plan = EvalPlan(env="mint/Math-v0", problems=-(-requests // 4), samples=4, max_tokens=16,
                    settings={"split": "all"})  # fmt: skip
    began = time.monotonic()
    with _served() as url, tempfile.TemporaryDirectory() as folder:
        policy = OpenAIPolicy("scripted", url, concurrency=8)
        found = evaluate(plan, policy, "scripted", Path(folder) / "out.jsonl")
    seconds = time.monotonic() - began
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{len(found.outcomes):,} responses of {plan.problems:,} problems in {seconds:.0f} s, "
        f"{found.lost} lost: {most:.0f} MB at most, of {MOST_MB}"
    )
    sys.exit(most > MOST_MB or found.lost > 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
