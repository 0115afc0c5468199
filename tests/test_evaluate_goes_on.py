"""Measuring a model within limits, against faults and kills: the result is the undisturbed one."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluating import faulty, outcomes_of, plan, run, wise
from model_server import answering

from mint_envs.errors import DatasetError
from mint_envs.evaluate import evaluate
from mint_envs.jsonl import whole_rows
from mint_envs.policies import ModelText, OpenAIPolicy, Policy, ScriptedPolicy


def test_a_limit_of_tokens_is_kept_to_and_raised(tmp_path: Path) -> None:
    asked, out = plan(problems=10, samples=1, max_tokens=8), tmp_path / "out.jsonl"
    speaks = lambda prompt, number: ModelText(wise(prompt, 1), False, 20, 2)  # noqa: E731

    class Many(ScriptedPolicy):
        concurrency = 4

    found = evaluate(asked, Many(speaks), "many", out, max_tokens_total=120)
    assert found.stopped
    prompt, own = found.tokens
    assert 0 < (prompt or 0) + (own or 0) <= 120
    assert len(found.outcomes) < 10
    whole = evaluate(asked, Many(speaks), "many", out, max_tokens_total=1000)
    assert not whole.stopped
    assert len(whole.outcomes) == 10
    silent = run(asked, wise, tmp_path / "silent.jsonl", max_tokens_total=30)
    assert silent.stopped  # it counts no tokens, and might have said more
    assert not silent.outcomes


def test_a_file_of_another_evaluation_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run(plan(), wise, out)
    with pytest.raises(DatasetError, match="another evaluation"):
        run(plan(seed=1), wise, out)
    with pytest.raises(DatasetError, match="another evaluation"):
        evaluate(plan(), ScriptedPolicy(wise), "another", out)
    out.write_text('{{"plan": "{}"}}\n'.format(plan().digest("scripted")))
    with pytest.raises(DatasetError, match="none of `mint-envs eval`"):
        run(plan(), wise, out)


@pytest.mark.parametrize("lines", [1, 5, 16, 23])
def test_a_batch_that_was_written_in_part_goes_on_alike(tmp_path: Path, lines: int) -> None:
    class Batched:
        """Draws by the place in a batch, as a model on this machine does."""

        def sample(self, prompts: Sequence[Any], n: int, max_tokens: int, temperature: float,
                   seed: int) -> list[list[str | None]]:  # fmt: skip
            rng = np.random.default_rng(seed)
            return [[str(rng.choice(["odd", "even"])) for _ in range(n)] for _ in prompts]

    out, policy = tmp_path / "out.jsonl", Batched()
    whole = evaluate(plan(), policy, "batched", out)
    text = out.read_text().splitlines(keepends=True)
    out.write_text("".join(text[:lines]) + text[lines][:40])  # killed while it wrote
    assert outcomes_of(evaluate(plan(), policy, "batched", out)) == outcomes_of(whole)
    assert len(whole_rows(out)) == len(text)


def asks(url: str) -> Policy:
    return OpenAIPolicy("a/model", url, retries=4, backoff_s=0.001, concurrency=4)


@pytest.mark.filterwarnings("default")
def test_faults_of_an_address_change_nothing(tmp_path: Path) -> None:
    calm = lambda request, turn: faulty(request, 9)  # noqa: E731
    with answering(calm) as server:
        wanted = evaluate(plan(), asks(server.url), "m", tmp_path / "calm.jsonl")
    with answering(faulty) as server:
        found = evaluate(plan(), asks(server.url), "m", tmp_path / "faulty.jsonl")
        assert len(server.bodies) > 24
    assert outcomes_of(found) == outcomes_of(wanted)
    assert found.lost == 0
    scores = {row["response"]: row["reward"] for row in whole_rows(tmp_path / "calm.jsonl")}
    assert scores["I cannot help with that."] == scores[""] == 0.0  # answers, though of no worth


KILLED = """
import sys
from pathlib import Path
from evaluating import evaluate, plan
from test_evaluate_goes_on import asks
evaluate(plan(problems=18), asks(sys.argv[1]), "m", Path(sys.argv[2]))
"""


def test_a_run_that_is_killed_goes_on_to_the_same_result(tmp_path: Path) -> None:
    """The address answers so many requests and then no more, until the run has been killed."""
    answers = threading.Semaphore(0)

    def slow(request: dict[str, Any], turn: int) -> tuple[int, Any]:
        answers.acquire()
        return faulty(request, 9)

    asked, out = plan(problems=18), tmp_path / "killed.jsonl"
    with answering(lambda request, turn: faulty(request, 9)) as server:
        wanted = evaluate(asked, asks(server.url), "m", tmp_path / "whole.jsonl")
    with answering(slow) as server:
        written = 0
        for more in (3, 14):
            answers.release(more)
            child = subprocess.Popen(
                [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{KILLED}",
                 server.url, str(out)],
            )  # fmt: skip
            written += more
            until(lambda: out.is_file() and out.read_bytes().count(b"\n") >= written)  # noqa: B023
            child.kill()
            assert child.wait() == -signal.SIGKILL
            answers.release(4)  # what it was waiting for, and nobody reads
        answers.release(1000)
        found = evaluate(asked, asks(server.url), "m", out)
        assert len(server.bodies) <= len(wanted.outcomes) + 2 * 4  # nothing that was written again
    assert outcomes_of(found) == outcomes_of(wanted)


def until(true: Callable[[], bool]) -> None:
    patience = time.monotonic() + 60
    while not true():
        assert time.monotonic() < patience
        time.sleep(0.01)
