"""The conformance kit catches every fault that is put into a task or an environment."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from typing import Any

import faulty_envs
import faulty_tasks
import gymnasium as gym
import numpy as np
import pytest
import toys

from mint_envs import Reward, TokenEnv
from mint_envs.errors import ContractError, SettingError
from mint_envs.responses.solvers import solve
from mint_envs.responses.texts import nonsense, smallest_faults
from mint_envs.testing import HARMLESS, check_env, check_task

GOOD = [toys.Adder, toys.GoodRows, toys.GuessNumber, toys.GuessNumberChat]

#: Each fault of a task, and the rules that find it; no other rule may complain of it.
TASKS: dict[type, set[str]] = {
    faulty_tasks.GlobalRandom: {"global random state", "problem"},
    faulty_tasks.GlobalNumpy: {"global random state", "problem"},
    faulty_tasks.SeedsGlobals: {"global random state"},
    faulty_tasks.ReadsGlobals: {"problem"},
    faulty_tasks.ClockProblem: {"problem"},
    faulty_tasks.HashProblem: {"another process"},
    faulty_tasks.SetOrderProblem: {"another process"},
    faulty_tasks.ProcessProblem: {"another process"},
    faulty_tasks.SampleRaises: {"problem"},
    faulty_tasks.QuestionApart: {"question and answer"},
    faulty_tasks.BadPrompt: {"prompt"},
    faulty_tasks.StopIsText: {"prompt"},
    toys.NoIndexError: {"index"},
    faulty_tasks.RewardTwo: {"range"},
    faulty_tasks.RewardTwoForced: {"range"},
    faulty_tasks.RewardNaN: {"range"},
    faulty_tasks.RewardIsText: {"reward"},
    faulty_tasks.RaisesOnText: {"any text"},
    faulty_tasks.RaisesOnDigits: {"any text"},
    faulty_tasks.RaisesOnDepth: {"any text"},
    faulty_tasks.RaisesOnSurrogate: {"any text"},
    faulty_tasks.RaisesRarely: {"any text"},
    faulty_tasks.Exits: {"any text"},
    faulty_tasks.NarrowParser: {"narrow parser"},
    faulty_tasks.RandomCredit: {"determinism"},
    toys.RandomAlways: {"determinism"},
    toys.Down: {"unmeasured"},
    faulty_tasks.NotMonotone: {"monotone partial credit"},
    faulty_tasks.AlwaysZero: {"examples"},
    faulty_tasks.AlwaysOne: {"examples", "gameable"},
    faulty_tasks.EmptyEarns: {"examples"},
    faulty_tasks.PromptEarns: {"gameable"},
    faulty_tasks.PaysForWords: {"gameable"},
    faulty_tasks.OneAnswerForAll: {"question and answer"},
    faulty_tasks.ExecutesFences: {"responses that act"},
    faulty_tasks.Evaluates: {"responses that act"},
    faulty_tasks.RunsPrograms: {"responses that act"},
    faulty_tasks.Shell: {"responses that act"},
    faulty_tasks.SharedMetadata: {"shared metadata"},
    faulty_tasks.ClockInMetadata: {"determinism"},
    faulty_tasks.MetadataType: {"metadata type"},
    faulty_tasks.MetadataNaN: {"metadata"},
    faulty_tasks.MetadataArray: {"metadata"},
    faulty_tasks.Counter: {"determinism", "examples"},
    faulty_tasks.MainThreadOnly: {"determinism"},
    faulty_tasks.HashReward: {"determinism"},
    faulty_tasks.BatchReversed: {"determinism"},
    faulty_tasks.BatchShort: {"determinism"},
    faulty_tasks.GlobalRandomInScore: {"global random state"},
    faulty_tasks.NoExamples: {"examples"},
    faulty_tasks.ExamplesLast: {"examples"},
    faulty_tasks.ExamplesWrong: {"examples"},
    faulty_tasks.Unpicklable: {"pickling"},
    faulty_tasks.NeverEnds: {"reward"},
    faulty_tasks.CutReturnsText: {"any text"},
    faulty_tasks.SecondTurnRaises: {"any text"},
    faulty_tasks.CountsAcrossEpisodes: {"determinism", "examples"},
}

GYMNASIUM = "Gymnasium's check_env"

#: The same for environments.
ENVS: dict[type, set[str]] = {
    faulty_envs.WrongTruncated: {"flags", GYMNASIUM},
    faulty_envs.BothFlags: {"flags"},
    faulty_envs.NumpyFlags: {"flags"},
    faulty_envs.StepsOn: {"step after the end"},
    faulty_envs.SharedInfo: {"shared info", GYMNASIUM},
    faulty_envs.InfoKeyLate: {"info"},
    faulty_envs.InfoNone: {"info"},
    faulty_envs.ClockInInfo: {"determinism", GYMNASIUM},
    faulty_envs.DoubleReward: {"range"},
    faulty_envs.InfiniteReward: {"reward", "any tokens", "range", GYMNASIUM},
    faulty_envs.WrapsActions: {"out-of-space action"},
    faulty_envs.IgnoresSeed: {"seed"},
    faulty_envs.SeedsByClock: {"seed", "determinism", "group", GYMNASIUM},
    faulty_envs.IgnoresIndex: {"index"},
    faulty_envs.TouchesGlobals: {"global random state"},
    faulty_envs.WholeContext: {"append-only"},
    faulty_envs.ListObservation: {"observation"},
    faulty_envs.ReusesBuffer: {GYMNASIUM},
}


def findings_of(call: Any) -> dict[str, str]:
    """Return what the kit finds, by rule; each finding is one line of the message."""
    with pytest.raises(ContractError) as caught:
        call()
    assert len(str(caught.value).splitlines()) == 1 + len(caught.value.findings)
    return {finding.check: str(finding) for finding in caught.value.findings}


@pytest.mark.parametrize("task", GOOD)
def test_a_good_task_passes(task: Any) -> None:
    report = check_task(task(), problems=4, max_examples=60)
    assert report.cases["reward"] > 40
    assert report.cases["another process"] == 4
    assert "keeps the contract" in str(report)


@pytest.mark.parametrize("task", GOOD)
def test_a_good_environment_passes(task: Any) -> None:
    report = check_env(TokenEnv(task()), problems=3, max_examples=60)
    assert report.cases["any tokens"] >= 60
    assert report.cases["another process"] == 3


def test_an_environment_is_not_shown_while_it_is_tested(capsys: pytest.CaptureFixture[str]) -> None:
    check_env("mint/Math-v0", problems=1, max_examples=1, other_process=False)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_a_fault_of_a_task_is_found(task: Any) -> None:
    rules = TASKS[task]
    # A process costs half a second.
    elsewhere = rules <= {"another process", "determinism", "responses that act"}
    found = findings_of(
        lambda: check_task(task(), problems=4, max_examples=150, other_process=elsewhere)
    )
    assert set(found) == rules, found


@pytest.mark.parametrize("env", ENVS, ids=lambda env: env.__name__)
def test_a_fault_of_an_environment_is_found(env: Any) -> None:
    task = toys.GuessNumber() if env is faulty_envs.WholeContext else toys.Adder()
    check = lambda: check_env(env(task), problems=3, max_examples=40, other_process=False)  # noqa: E731
    found = findings_of(check)
    assert set(found) == ENVS[env], found


def test_an_exception_on_tokens_is_found() -> None:
    found = findings_of(
        lambda: check_env(faulty_envs.RaisesOnTokens(toys.Adder()), max_examples=40)
    )
    assert "the tokens [258] lead to ValueError" in found["any tokens"]  # shrunk to one token


def test_findings_show_the_input_and_what_to_do() -> None:
    found = findings_of(lambda: check_task(faulty_tasks.NarrowParser(), problems=1))
    line = found["narrow parser"]
    assert re.search(r"with a space before, the response ' \d+' earns 0.0 instead of 1.0", line)
    assert "Strip the response" in line


def test_findings_show_where_long_texts_differ() -> None:
    found = findings_of(lambda: check_task(faulty_tasks.LongClockPrompt(), problems=1))
    line = found["problem"]
    assert re.search(r"\.\.\.x+ \d+ y+\.\.\., and then \.\.\.x+ \d+ y+\. All", line), line
    assert len(line) < 600


def test_all_findings_are_listed_at_once() -> None:
    class Both(faulty_tasks.EmptyEarns, faulty_tasks.StopIsText):
        pass

    found = findings_of(lambda: check_task(Both(), problems=2, other_process=False))
    assert {"prompt", "examples"} <= set(found)


def test_a_rare_fault_is_searched_for_and_shrunk() -> None:
    found = findings_of(lambda: check_task(faulty_tasks.RaisesRarely(), max_examples=300))
    assert "'0#'" in found["any text"]


def test_the_search_shrinks_each_kind_of_fault() -> None:
    from hypothesis import strategies as st

    def faults_of(number: int) -> set[str]:
        return {name for name, least in {"big": 100, "huge": 1000}.items() if number >= least}

    assert smallest_faults(st.integers(0, 10_000), faults_of, 200) == [100, 1000]


def test_solve_finds_a_question_that_is_not_its_answers() -> None:
    """The published demonstration's fault, found on the first problem."""

    def solve(prompt: str) -> str:
        return f"{sum(map(int, re.findall(r'[0-9]+', prompt))):02d}"

    found = findings_of(
        lambda: check_task(faulty_tasks.LargeQuestionApart(), problems=3, solve=solve)
    )
    assert "solved from the prompt" in found["question and answer"]
    report = check_task(toys.Adder(), problems=3, solve=solve)
    assert "solved from the prompt" not in report.skipped


def test_harmless_rewritings_are_a_choice() -> None:
    check_task(faulty_tasks.NarrowParser(), problems=2, harmless={}, max_examples=20)
    assert "a trailing newline" in HARMLESS


def test_the_kit_leaves_global_random_state_alone() -> None:
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002 - the state that is compared
    before = random.getstate(), np.random.get_state()[1].tobytes()  # noqa: NPY002
    check_env("mint/Math-v0", problems=2, max_examples=20, other_process=False)
    assert before == (random.getstate(), np.random.get_state()[1].tobytes())  # noqa: NPY002


def test_the_kit_gives_the_same_verdict_twice() -> None:
    runs = [
        findings_of(lambda: check_task(faulty_tasks.RaisesRarely(), max_examples=300))
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


def test_an_environment_of_another_library() -> None:
    report = check_env("CartPole-v1", problems=2)
    assert report.cases[GYMNASIUM] == 1
    assert "the contract of tokens and info" in report.skipped


class _Stranger(gym.Env[Any, Any]):
    """Another library's environment, with faults."""

    observation_space = gym.spaces.Discrete(10)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return int(self.np_random.integers(10)), {}

    def step(self, action: Any) -> Any:
        return 0, random.random(), True, False, {}


def test_a_fault_of_another_librarys_environment() -> None:
    found = findings_of(lambda: check_env(_Stranger()))
    assert {"global random state", "determinism"} <= set(found)


def test_settings_go_with_an_id() -> None:
    assert check_env("mint/Math-v0", digits=1, max_examples=10, other_process=False)
    with pytest.raises(SettingError, match=r"\['digits'\] are for an id"):
        check_env(TokenEnv(toys.Adder()), digits=1)


def test_a_nondeterministic_task_is_not_asked_for_determinism() -> None:
    report = check_task(toys.Judged(), problems=2, max_examples=10)
    assert report.cases["another process"] == 2  # the problems still are a function of the seed
    assert "determinism" in report.skipped


def test_a_task_of_a_script_is_checked_in_another_process_too() -> None:
    script = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "import toys\n"
        "from mint_envs.testing import check_task\n"
        "class Mine(toys.Adder): pass\n"
        "class Salted(Mine):\n"
        "    def sample(self, rng): return int(rng.integers(10, 100)), hash('salted') % 10**9\n"
        "print(check_task(Mine(), problems=2, max_examples=10))\n"
        "check_task(Salted(), problems=2, max_examples=10)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "another process (2)" in done.stdout, done.stderr
    assert "Salted breaks the contract in 1 way" in done.stderr
    assert "another process: seed 0 gives" in done.stderr


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Q: What is 4 + 5?\nA: 9\n\nQ: What is 12 + 7?\nA:", 19),
        ("What is 3 * 4 - 5 * 2?", 2),
        ("Compute 10 - 2 - 3 =", 5),
        ("12 + 7 =", 19),
        ([{"role": "user", "content": "Calculate 2 \u00d7 -3."}], -6),
        ("How many digits are in 12 + 7?", None),
        ("What is 12 + 7, times two?", None),
        ("What is 12?", None),
        ("", None),
        ([], None),
    ],
)
def test_plain_sums_are_solved_and_nothing_else(prompt: Any, answer: int | None) -> None:
    text = prompt if isinstance(prompt, str) else "".join(one["content"] for one in prompt)
    assert solve(text) == (None if answer is None else str(answer))


def test_made_up_words_differ_and_are_the_same_every_time() -> None:
    for text, words in ((nonsense(40), 40), (nonsense(120), 120)):
        found = text.replace(".", "").lower().split()
        assert len(found) == len(set(found)) == words
    assert nonsense(40).count(".") == 4


class _Answers(toys.Adder):
    """Paid for one of so many answers."""

    def __init__(self, answers: int = 2, questions: int = 1000) -> None:
        self._answers, self._questions = answers, questions

    def sample(self, rng: np.random.Generator) -> toys.Sum:
        return int(rng.integers(self._questions)), int(rng.integers(self._questions))

    def prompt(self, problem: toys.Sum) -> str:
        return f"{problem}: which kind is it?"

    def score(self, problem: toys.Sum, response: str) -> Reward:
        return Reward(float(response.strip() == self._right(problem)))

    def examples(self, problem: toys.Sum) -> dict[str, float]:
        return {self._right(problem): 1.0, "": 0.0}

    def _right(self, problem: toys.Sum) -> str:
        return f"kind {sum(problem) % self._answers}"


@pytest.mark.parametrize(("answers", "told"), [(1, "1.00"), (2, "0.5"), (5, "")])
def test_what_one_answer_for_all_earns_is_told(answers: int, told: str) -> None:
    report = check_task(_Answers(answers), problems=2, max_examples=5, other_process=False)
    assert bool(report.notes) == bool(told)
    assert not told or f"to every question earns {told}" in str(report)


def test_what_one_answer_earns_is_not_told_of_a_few_questions() -> None:
    task = _Answers(1, questions=2)
    assert not check_task(task, problems=2, max_examples=5, other_process=False).notes


@pytest.mark.parametrize("error", [ZeroDivisionError, SystemExit])
def test_a_problem_that_cannot_be_drawn_is_found_among_the_later_ones_too(error: Any) -> None:
    class Rarely(toys.Adder):
        def examples(self, problem: toys.Sum) -> dict[str, float]:
            if problem[0] % 25 == 0:
                raise error
            return super().examples(problem)

    found = findings_of(lambda: check_task(Rarely(), problems=1, other_process=False))
    assert error.__name__ in found["problem"]
