"""The process behind sympy: its deadline, its death, and when it is asked at all."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mint_envs.math import fallback, grade

SUM = r"\boxed{\prod_{k=1}^{4} k}"
HAS_SYMPY = importlib.util.find_spec("latex2sympy2_extended") is not None


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """A place for a stand-in of the worker, found before the real one."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(fallback, "_MODULE", "stand_in")
    monkeypatch.setattr(fallback, "installed", lambda: True)
    monkeypatch.setattr(fallback, "_DEADLINE_S", 0.3)
    fallback.close()
    fallback._asked.cache_clear()
    yield monkeypatch
    fallback.close()
    fallback._unusable.clear()
    fallback._asked.cache_clear()


def stand_in(tmp_path: Path, answer: str) -> None:
    """A worker that says ``answer`` (a Python expression of ``line``) to every question."""
    (tmp_path / "stand_in.py").write_text(
        "import sys, time\nprint('ready', flush=True)\n"
        f"for line in sys.stdin:\n    print({answer}, flush=True)\n"
    )


def test_a_proof_is_paid(worker: object, tmp_path: Path) -> None:
    stand_in(tmp_path, "'equal'")
    reward = grade("10", SUM, sympy=True)
    assert (reward.score, reward.metadata["tier"]) == (1.0, "sympy")
    assert grade("10", SUM, sympy=False).metadata["verdict"] == "unknown"


def test_a_worker_that_hangs_is_killed_and_replaced(worker: object, tmp_path: Path) -> None:
    stand_in(tmp_path, "time.sleep(60) if '11' in line else 'equal'")
    assert grade("11", SUM, sympy=True).metadata["verdict"] == "unknown"
    assert grade("10", SUM, sympy=True).score == 1


def test_a_worker_that_dies_is_replaced(worker: object, tmp_path: Path) -> None:
    stand_in(tmp_path, "sys.exit(1) if '11' in line else 'equal'")
    assert grade("11", SUM, sympy=True).metadata["verdict"] == "unknown"
    assert grade("10", SUM, sympy=True).score == 1


def test_a_worker_that_cannot_start_is_not_started_again(worker: object, tmp_path: Path) -> None:
    (tmp_path / "stand_in.py").write_text("raise SystemExit(1)\n")
    assert grade("10", SUM, sympy=True).metadata["verdict"] == "unknown"
    child = fallback._worker.get()._child
    assert child is not None
    assert child.over
    assert fallback.equal("11", r"\prod_{k=1}^{4} k") is False
    assert fallback._worker.get()._child is child


FORK = """
import os
from mint_envs.math import fallback, grade
fallback._MODULE, fallback.installed = "stand_in", lambda: True
def asked(gold):
    score = grade(gold, r"\\boxed{\\prod_{k=1}^{4} k}", sympy=True).score
    return score, fallback._worker.get()._child.pid
score, parents = asked("10")
if not (child := os.fork()):
    own = asked("12")
    assert own[0] == score == 1 and own[1] != parents
else:
    assert os.waitpid(child, 0)[1] == 0
    assert asked("13") == (1, parents)
    print(parents)
"""


def test_a_forked_process_starts_a_worker_of_its_own(tmp_path: Path) -> None:
    """And leaves in the ordinary way, which closes its own and not its parent's."""
    stand_in(tmp_path, "'equal'")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", FORK], env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert not Path(f"/proc/{int(done.stdout)}").exists()


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_answer_that_was_not_waited_for_is_not_the_next_ones(
    worker: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_in(tmp_path, "[time.sleep(1), 'equal'][1] if '12' in line else 'open'")
    worker.setattr(fallback, "_DEADLINE_S", 20)
    assert grade("10", SUM, sympy=True).metadata["verdict"] == "unknown"
    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            grade("12", SUM, sympy=True)
    finally:
        signal.signal(signal.SIGALRM, previous)
    time.sleep(1)
    assert grade("11", SUM, sympy=True).metadata["verdict"] == "unknown"


@pytest.mark.parametrize(
    "answer",
    [
        r"\sum_{k=1}^{10^{12}} k!!",
        r"\sum_{k=1}^{99999999} k",
        r"\sum_{a=1}^{9} \sum_{b=1}^{9} ab",
        r"\int_0^1 x^{200} dx",
        r"\sum_{k=1}^{4} k \text{ cm}",
        "10^{-20}",
        "204_5",
        r"\sum_{k=1}^{4} k" + " " * 200 + "1",
        "__import__('os').system('true') \\sum",
    ],
)
def test_what_could_take_long_is_not_asked(worker: object, tmp_path: Path, answer: str) -> None:
    stand_in(tmp_path, "'equal'")
    assert fallback.equal("10", answer) is False


@pytest.mark.skipif(not HAS_SYMPY, reason="needs the extra mint-envs[math]")
@pytest.mark.parametrize(
    ("gold", "answer", "score"),
    [
        ("10", r"\sum_{k=1}^{4} k", 1),
        ("11", r"\sum_{k=1}^{4} k", 0),
        (r"\frac{1}{3}", r"\int_0^1 x^2 dx", 1),
        (r"\frac{n(n+1)}{2}", r"\sum_{k=1}^{n} k", 1),
        ("1", r"\lim_{x\to 0} \frac{\sin x}{x}", 1),
    ],
)
def test_sympy_works_out_sums_and_integrals(gold: str, answer: str, score: int) -> None:
    assert grade(gold, rf"\boxed{{{answer}}}", sympy=True).score == score
