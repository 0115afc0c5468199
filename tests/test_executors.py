"""Scoring in other processes: the same rewards, in order, whatever happens to the processes."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from odd_tasks import Chance, Count, Odd, kill

import mint_envs
from mint_envs import Reward, Task
from mint_envs.env import step_many
from mint_envs.errors import SettingError
from mint_envs.executors import Local, Lost, Turn, executor_of, play_turns, score_batch
from mint_envs.executors.port import piece_size
from mint_envs.executors.processes import Processes

PAIRS = [(i % 10, str(i % 7)) for i in range(70)]


@pytest.fixture(scope="module")
def pool() -> Iterator[Processes]:
    pool = Processes(2)
    yield pool
    pool.close()


def pairs_of(id: str, seeds: range) -> tuple[Task[Any], list[tuple[Any, str]]]:
    task = mint_envs.make(id).unwrapped.task  # type: ignore[attr-defined]
    problems = [task.sample(np.random.default_rng(seed)) for seed in seeds]
    return task, [(problem, text) for problem in problems for text in task.examples(problem)]


@pytest.mark.parametrize("id", ["mint/Math-v0", "mint/Code-v0", "mint/Chat-v0"])
def test_the_same_rewards_as_here(pool: Processes, id: str) -> None:
    task, pairs = pairs_of(id, range(6))
    assert score_batch(task, pairs, pool) == task.score_batch(pairs) == score_batch(task, pairs)


def test_order_is_kept(pool: Processes) -> None:
    wanted = [float(text == str(problem)) for problem, text in PAIRS]
    assert [reward.score for reward in score_batch(Odd(), PAIRS, pool)] == wanted
    assert score_batch(Odd(), [], pool) == []


def test_work_is_spread(pool: Processes, tmp_path: Path) -> None:
    found = score_batch(Odd(), [(0, f"meet {tmp_path}")] * 40, pool)
    assert {reward.metadata["pid"] for reward in found} == set(pool.pids)
    assert os.getpid() not in pool.pids


def test_killed_workers_lose_nothing(pool: Processes) -> None:
    stop = threading.Event()

    def killing() -> None:
        for number in range(5):
            kill(pool, number)
            if stop.wait(0.3):
                return

    before = pool.replaced
    killer = threading.Thread(target=killing)
    killer.start()
    try:
        rewards = score_batch(Odd(), [(0, "sleep 0.03")] * 100, pool)
    finally:
        stop.set()
        killer.join()
    assert [reward.score for reward in rewards] == [0.0] * 100
    assert pool.replaced > before


def test_the_process_that_starts_workers_is_killed_with_them() -> None:
    """As by a kernel that is out of memory: both are started again."""
    pool = Processes(2)
    try:
        for _ in range(3):
            assert [one.score for one in score_batch(Odd(), [(1, "1")] * 4, pool)] == [1.0] * 4
            status = Path(f"/proc/{pool.pids[0]}/stat").read_text()
            server = int(status.rpartition(")")[2].split()[1])  # its parent
            assert server != os.getpid()
            os.kill(server, signal.SIGKILL)
            kill(pool, 0)
            kill(pool, 1)
        assert [one.score for one in score_batch(Odd(), [(1, "1")] * 4, pool)] == [1.0] * 4
    finally:
        pool.close()


def test_what_kills_each_worker_is_unmeasured_and_takes_no_other_with_it(pool: Processes) -> None:
    rewards = score_batch(Odd(), [(3, "3"), (3, "die"), (3, "3")], pool)
    assert [reward.score for reward in rewards] == [1.0, None, 1.0]


def test_an_error_of_the_task_is_raised(pool: Processes) -> None:
    with pytest.raises(RuntimeError, match="a fault of the task") as caught:
        score_batch(Odd(), [(0, "raise")], pool)
    assert "odd_tasks" in "".join(caught.value.__notes__)  # where it came from


def test_a_task_that_cannot_be_sent(pool: Processes) -> None:
    task = Odd()
    task.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(SettingError, match="names and numbers as settings"):
        score_batch(task, [(0, "x")], pool)


@pytest.mark.parametrize(
    ("deadline_s", "text", "score"), [(60, "no", 0.0), (0.5, "sleep 60", None)]
)
def test_a_late_worker(deadline_s: float, text: str, score: float | None) -> None:
    pool = Processes(1, deadline_s)
    try:
        assert score_batch(Odd(), [(0, text)], pool)[0].score == score
    finally:
        pool.close()


def test_closing_ends_processes_and_waiting_work() -> None:
    pool = Processes(1)
    futures = [pool.submit(_sleep, None, 30) for _ in range(3)]
    while not pool.pids:
        time.sleep(0.01)
    pid = pool.pids[0]
    began = time.monotonic()
    pool.close()
    pool.close()
    for future in futures:
        with pytest.raises((Lost, CancelledError)):
            future.result(30)
    assert time.monotonic() - began < 25
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(SettingError, match="closed"):
        pool.submit(_sleep, None, 0)


def test_work_that_comes_while_it_closes_is_answered() -> None:
    pool = Processes(1)
    pack = pool._tasks.get

    def closing(task: Any) -> Any:
        pool.close()  # as another thread may, between the look and the work
        for thread in pool._threads:
            thread.join(30)
        return pack(task)

    pool._tasks.get = closing  # type: ignore[method-assign]
    with pytest.raises(Lost, match="closed"):
        pool.submit(_sleep, None, 0).result(30)


def test_closing_ends_the_threads_of_work_that_waited() -> None:
    pool = Processes(3)
    futures = [pool.submit(_sleep, None, 60) for _ in range(30)]
    while len(pool.pids) < 3:
        time.sleep(0.01)
    pool.close()
    for thread in pool._threads:
        thread.join(30)
        assert not thread.is_alive()
    for future in futures:
        assert isinstance(future.exception(30), Lost)


def script(tmp_path: Path, text: str) -> str:
    """Run a script of a user's own; return what it printed."""
    (tmp_path / "own.py").write_text(text)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, str(tmp_path / "own.py")],
        capture_output=True, text=True, timeout=240, env=env,
    )  # fmt: skip
    return done.stdout


def test_a_script_without_the_guard_is_told_of_it(tmp_path: Path) -> None:
    text = """
from odd_tasks import Odd
from mint_envs.errors import SettingError
from mint_envs.executors import score_batch
try:
    print(score_batch(Odd(), [(1, "1")], "processes:1"))
except SettingError as error:
    print(error)
"""
    assert 'if __name__ == "__main__"' in script(tmp_path, text)


def test_a_copy_by_fork_is_told_what_it_cannot_do(tmp_path: Path) -> None:
    text = """
import os
from odd_tasks import Odd
from mint_envs.errors import SettingError
from mint_envs.executors import executor_of, score_batch

def main():
    score_batch(Odd(), [(1, "1")], "processes:1")
    pool = executor_of("processes:1")
    child = os.fork()
    if child:
        print(os.waitpid(child, 0)[1], score_batch(Odd(), [(1, "1")], pool)[0].score, pool.replaced)
        return
    for executor in (pool, "processes:1"):
        try:
            score_batch(Odd(), [(1, "1")], executor)
        except SettingError as error:
            print(error, flush=True)
    pool.close()  # the workers are not this process's to end
    os._exit(0)

if __name__ == "__main__":
    main()
"""
    by_object, by_name, last = script(tmp_path, text).splitlines()
    assert "was forked" in by_object
    assert "'local'" in by_name
    assert last == "0 1.0 0"


def test_a_task_that_no_worker_can_import(pool: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    here_only = types.ModuleType("here_only")
    here_only.Odd = type("Odd", (Odd,), {"__module__": "here_only"})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "here_only", here_only)
    with pytest.raises(SettingError, match=r"No module named .here_only.*a file beside"):
        score_batch(here_only.Odd(), [(0, "x")], pool)


def _sleep(_: None, seconds: float) -> None:
    time.sleep(seconds)


# -- episodes -------------------------------------------------------------------------------------


def test_vector_environments_step_as_here(pool: Processes) -> None:
    for id in ("mint/ToolUse-v0", "mint/Math-v0"):
        here = gym.make_vec(id, num_envs=4)
        there = gym.make_vec(id, num_envs=4, executor=pool)
        for envs in (here, there):
            envs.reset(seed=3)
        alive = True
        texts = iter(["<tool_call>\n{}\n</tool_call>", "Answer: 1"])
        while alive:
            act = [*next(texts).encode(), here.envs[0].codec.eos_token_id]  # type: ignore[attr-defined]
            one, other = here.step([act] * 4), there.step([act] * 4)
            for left, right in zip(one[0], other[0], strict=True):
                assert np.array_equal(left, right)
            assert [x.tolist() for x in one[1:4]] == [x.tolist() for x in other[1:4]]
            assert one[4]["metadata"].tolist() == other[4]["metadata"].tolist()
            alive = not one[2].any()


def test_turns_of_one_vector_environment_go_out_together() -> None:
    """Its task is fitted to the tokenizer, and still is one task: one batch, not one each."""
    asked: list[list[Any]] = []

    class Watched(OneOfOurOwn):
        def submit(self, function: Any, task: Any, item: Any) -> Future[Any]:
            asked.append([task, len(item)])
            return super().submit(function, task, item)

    envs = gym.make_vec("mint/ToolUse-v0", num_envs=48, executor=Watched())
    envs.reset(seed=0)
    envs.step([[49, 258]] * 48)
    assert sum(count for _, count in asked) == 48
    assert max(count for _, count in asked) > 1
    assert len({id(task) for task, _ in asked}) == 1


def test_an_episode_goes_on_after_its_worker_was_killed(pool: Processes) -> None:
    task, said = Count(), ["1", "2", "3"]
    for past in range(3):
        turn = Turn(3, "an-episode", tuple(said[:past]), said[past])
        (answer,) = play_turns(task, [turn], pool)
        kill(pool, past)
    assert isinstance(answer, Reward)
    assert answer.score == 1.0


def test_a_new_episode_is_not_taken_for_an_old_one(pool: Processes) -> None:
    """Each reset is an episode of its own, in workers that keep episodes under way."""
    envs = gym.make_vec("tests/Count-v0", num_envs=2, executor=pool)
    for _ in range(3):
        envs.reset(seed=[5, 5])
        problem = envs.envs[0].problem  # type: ignore[attr-defined]
        for number in range(1, problem + 1):
            act = [*str(number).encode(), envs.envs[0].codec.eos_token_id]  # type: ignore[attr-defined]
            rewards = envs.step([act, act])[1]
        assert rewards.tolist() == [1.0, 1.0]


def test_a_copy_of_an_environment_goes_on_by_itself(pool: Processes) -> None:
    """As a search over turns does it: one episode that goes on in two ways, under one name."""
    env = mint_envs.TokenEnv(Count())
    env.reset(seed=3)
    most = env.problem
    act = lambda text: [*text.encode(), env.codec.eos_token_id]  # noqa: E731
    step_many([env], [act("1")], pool)
    twin = copy.deepcopy(env)
    for number in range(2, most + 1):
        (wrong,) = step_many([env], [act("wrong")], pool)
        (right,) = step_many([twin], [act(str(number))], pool)
    assert wrong[1] == pytest.approx(1 / most)
    assert right[1] == 1.0


def test_chance_is_not_played_again() -> None:
    turns = [Turn(3, "unknown here", ("1",), "2")]
    (answer,) = play_turns(Chance(), turns, OneOfOurOwn())
    assert isinstance(answer, Reward)
    assert answer.score is None


def test_episodes_with_chance_in_them_go_on_where_they_began(pool: Processes) -> None:
    """The worker that has the next turn is seldom the one that had the last."""
    envs = gym.make_vec("tests/Chance-v0", num_envs=8, executor=pool)
    _, infos = envs.reset(seed=[5] * 8)
    problem = envs.envs[0].problem  # type: ignore[attr-defined]
    for number in range(1, problem + 1):
        _, rewards, *_, infos = envs.step([[*str(number).encode(), 258]] * 8)
    assert infos["scored"].all()
    assert rewards.tolist() == [1.0] * 8


class OneOfOurOwn:
    """An executor of one's own: the Protocol is all that is asked for."""

    slots = 3

    def submit(self, function: Any, task: Any, item: Any) -> Future[Any]:
        return Local().submit(function, task, item)

    def close(self) -> None:
        pass


@pytest.mark.parametrize("id", [id for id in mint_envs.env_ids() if id.startswith("mint/")])
def test_an_environment_goes_on_in_a_pickle(id: str) -> None:
    env = mint_envs.make(id)
    env.reset(seed=1)
    twin = pickle.loads(pickle.dumps(env))
    codec = env.unwrapped.codec  # type: ignore[attr-defined]
    for text in (b"<tool_call>\n{}\n</tool_call>", b"Answer: 1"):
        one, other = (e.step([*text, codec.eos_token_id]) for e in (env, twin))
        assert one[0].tolist() == other[0].tolist()
        assert one[1:] == other[1:]
        if one[2]:
            return


# -- names ----------------------------------------------------------------------------------------


def test_names() -> None:
    assert isinstance(executor_of(None), Local)
    assert executor_of("local") is executor_of("local")
    for name in ("lokal", "processes:x", "local:3"):
        with pytest.raises(SettingError, match="Valid: local, processes, ray"):
            executor_of(name)
    with pytest.raises(SettingError, match="executor=3 is no Executor"):
        executor_of(3)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="workers=-1"):
        Processes(-1)


def test_pieces() -> None:
    assert [piece_size(n, 4) for n in (1, 16, 17, 160, 10_000)] == [1, 1, 2, 10, 32]


mint_envs.register("tests/Count-v0", Count)
mint_envs.register("tests/Chance-v0", Chance)


def test_a_worker_is_ended_once_whoever_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own thread and ``close`` come at a time; closed twice, a pipe is somebody else's."""
    pool = Processes(1)
    try:
        pool.submit(_pid, None, None).result()
        (worker,) = pool._workers.values()
        closed: list[int] = []
        close = worker._lifeline.close

        def slow_close() -> None:
            closed.append(worker._lifeline.fileno())
            time.sleep(0.05)
            close()

        monkeypatch.setattr(worker._lifeline, "close", slow_close)
        threads = [threading.Thread(target=worker.stop) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(closed) == 1
    finally:
        pool.close()


def _pid(task: None, item: None) -> int:
    return os.getpid()
