"""Every family of requests: solved from the messages alone, and by nothing less."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tooluse_policy import POLICY, solve, written

from mint_envs import Reward
from mint_envs.tooluse import ToolUseTask
from mint_envs.tooluse.families import FAMILIES, MOST_CALLS, FamilyEntry, drawable
from mint_envs.tooluse.tasks import ToolUseProblem
from mint_envs.tooluse.toolkits import IN_PROCESS, TOOLKITS

pytestmark = pytest.mark.quick

ALL = [(name, entry) for name, entries in FAMILIES.items() for entry in entries]
IDS = [f"{name}-{entry.family.__name__}" for name, entry in ALL]
every_family = pytest.mark.parametrize(("toolkit", "entry"), ALL, ids=IDS)


@functools.cache
def problems(toolkit: str, entry: FamilyEntry) -> list[ToolUseProblem]:
    """Return eight problems of a family."""
    found: list[ToolUseProblem] = []
    for workspace in range(1000, 1200):
        state = TOOLKITS[toolkit]().initial(np.random.default_rng(workspace))
        request = entry.family(np.random.default_rng(workspace), state)
        if request is not None:
            found.append(ToolUseProblem((toolkit,), workspace, request))
        if len(found) == 8:
            break
    return found


def play(problem: ToolUseProblem, *texts: str, **settings: Any) -> Reward:
    """Play the texts, then empty ones; return the reward at the end."""
    episode = ToolUseTask(**settings).start(problem)
    for text in (*texts, "", ""):
        answer = episode.respond(text)
        if isinstance(answer, Reward):
            return answer
    raise AssertionError("the episode does not end")


def gold(problem: ToolUseProblem) -> list[str]:
    asked = [] if problem.request.reply is None else ["Question: What exactly?"]
    return [*asked, *(written(*turn) for turn in problem.request.turns)]


def final(problem: ToolUseProblem) -> str:
    answer = problem.request.answer
    return "Done." if answer is None else f"Answer: {answer}"


@every_family
def test_a_family_is_solved_from_the_messages_alone(toolkit: str, entry: FamilyEntry) -> None:
    some = problems(toolkit, entry)
    assert len(some) == 8
    for problem in some:
        reward, pattern = solve(ToolUseTask(), problem)
        assert reward.score == 1.0, (pattern, problem.request.text)


@every_family
def test_the_worked_examples_hold_and_need_the_calls_they_claim(
    toolkit: str, entry: FamilyEntry
) -> None:
    for problem in problems(toolkit, entry):
        steps = [step for turn in problem.request.turns for step in turn]
        assert len(steps) == entry.calls
        for texts, score in ToolUseTask().examples(problem).items():
            turns = texts if isinstance(texts, tuple) else (texts,)
            assert play(problem, *turns).score == score
        assert (problem.request.reply is not None) == (entry.kind == "ask")
        assert problem.request.no_tool == (entry.kind == "no_tool")


@every_family
def test_binary_credit_agrees_on_what_is_right(toolkit: str, entry: FamilyEntry) -> None:
    for problem in problems(toolkit, entry)[:3]:
        done = play(problem, *gold(problem), final(problem), partial_credit=False)
        assert done.score == 1.0
        undone = play(problem, final(problem).replace("Answer: ", "Answer: x"))
        assert undone.score == 0.0


def test_every_policy_is_of_use() -> None:
    seen = {
        solve(ToolUseTask(), problem)[1]
        for toolkit, entry in ALL
        for problem in problems(toolkit, entry)[:1]
    }
    assert seen == set(POLICY)


@every_family
def test_leaving_out_the_last_call_is_not_enough(toolkit: str, entry: FamilyEntry) -> None:
    """What changes the state is needed to the last call; an answer is one that calls give."""
    for problem in problems(toolkit, entry):
        if problem.request.answer is None:
            *turns, last = problem.request.turns
            short = [written(*turn) for turn in turns] + [written(*last[:-1])] * bool(last[:-1])
            asked = [] if problem.request.reply is None else ["Question: What?"]
            assert play(problem, *asked, *short, "Done.").score < 1.0


def test_the_obvious_call_of_a_recovery_fails_and_says_how_to_go_on() -> None:
    for toolkit, entry in ALL:
        if entry.kind == "recover":
            failed = [
                play(problem, *gold(problem), final(problem)).metadata["failed_calls"]
                for problem in problems(toolkit, entry)
            ]
            assert max(failed) == 1, entry.family.__name__


# -- drawing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("toolkit", [*sorted(TOOLKITS), "all"])
def test_there_is_something_to_draw_for_every_number_of_calls(toolkit: str) -> None:
    about = IN_PROCESS if toolkit == "all" else (toolkit,)
    for most in range(1, MOST_CALLS + 1):
        task = ToolUseTask(toolkit=toolkit, max_calls=most)
        assert drawable(about, most, plain=True)
        for seed in range(10):
            problem = task.sample(np.random.default_rng(seed))
            assert sum(map(len, problem.request.turns)) <= most


def test_six_calls_are_drawn_and_depend_on_one_another() -> None:
    long = [name for name, entry in ALL if entry.calls == 6]
    assert {"calendar", "database", "files", "keyvalue", "retail"} <= set(long)
    assert max(entry.calls for _, entry in ALL) == MOST_CALLS


def test_plain_requests_lack_nothing_and_need_a_tool() -> None:
    task = ToolUseTask(plain=True)
    for seed in range(100):
        request = task.sample(np.random.default_rng(seed)).request
        assert request.reply is None
        assert not request.no_tool
        assert request.turns


def test_all_stands_for_what_needs_no_sandbox() -> None:
    for distractors in (False, True):
        task = ToolUseTask(distractors=distractors)
        kits = {kit for s in range(150) for kit in task.sample(np.random.default_rng(s)).toolkits}
        assert kits == set(IN_PROCESS)


def test_one_more_toolkit_draws_no_seed_of_another_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked() -> list[Any]:
        kits = ("all", *sorted(set(TOOLKITS) - {"more"}))
        tasks = [ToolUseTask(toolkit=kit, distractors=d) for kit in kits for d in (False, True)]
        return [task.prompt(task.problem(seed)) for task in tasks for seed in range(20)]

    before = asked()
    kit = type("More", (TOOLKITS["keyvalue"],), {"name": "more"})
    monkeypatch.setitem(TOOLKITS, "more", kit)
    monkeypatch.setitem(FAMILIES, "more", FAMILIES["keyvalue"])
    assert asked() == before


# -- something is missing, or no tool fits --------------------------------------------------------


def of_kind(kind: str) -> list[ToolUseProblem]:
    return [p for toolkit, entry in ALL if entry.kind == kind for p in problems(toolkit, entry)]


def test_what_is_missing_cannot_be_guessed_from_the_request() -> None:
    for problem in of_kind("ask"):
        said = re.findall(r"[\w:-]{3,}", problem.request.reply or "")
        assert not [word for word in said if any(c.isdigit() for c in word)
                    and word in problem.request.text]  # fmt: skip
        assert play(problem, "Done.").score == 0.0


def test_asking_once_is_right_and_asking_again_is_needless() -> None:
    for problem in of_kind("ask"):
        again = play(problem, "Question: What?", *gold(problem), "Done.")
        assert (again.score, again.parts["restraint"]) == (0.5, 0.5)
        late = play(problem, "Question: Are you sure?\nI wait.", *gold(problem)[1:], "Done.")
        assert late.score == 0.0, "only the last line asks; this message ended the work"


def test_asking_where_nothing_is_missing_halves_the_reward() -> None:
    for problem in of_kind("plain")[::5]:
        reward = play(problem, "Question: Really?", *gold(problem), final(problem))
        assert reward.score == 0.5
        binary = play(problem, "Question: Really?", *gold(problem), partial_credit=False)
        assert binary.score == 0.0


def test_questions_end_with_the_turns() -> None:
    problem = of_kind("plain")[0]
    episode = ToolUseTask(max_turns=3).start(problem)
    replies = [episode.respond("Question: And now?") for _ in range(3)]
    assert [isinstance(reply, Reward) for reply in replies] == [False, False, True]
    assert replies[0] == [{"role": "user", "content": "I have told you all I know."}]


READ: dict[str, tuple[str, dict[str, Any]]] = {
    "calculator": ("calculate", {"expression": "1"}),
    "calendar": ("current_time", {}),
    "database": ("list_tables", {}),
    "files": ("list_directory", {}),
    "keyvalue": ("list_keys", {}),
    "python": ("run_python", {"code": "print(1)"}),
    "retail": ("find_products", {"text": ""}),
}


@pytest.mark.parametrize(
    "call",
    [
        lambda p: written(READ[p.toolkits[0]]),
        lambda p: written(("no_such_tool", {})),
        lambda p: "<tool_call>{broken</tool_call>",
    ],
    ids=["a tool", "an unknown tool", "a broken call"],
)
def test_where_no_tool_fits_any_call_is_wrong(call: Callable[[Any], str]) -> None:
    for problem in of_kind("no_tool"):
        assert play(problem, final(problem)).score == 1.0
        reward = play(problem, call(problem), final(problem))
        assert (reward.score, reward.parts["restraint"]) == (0.0, 0.0)


def test_the_same_workspace_gives_the_same_requests_in_any_order() -> None:
    """A family draws from its generator alone, and leaves the state that it is given alone."""
    for toolkit, entry in ALL:
        state = TOOLKITS[toolkit]().initial(np.random.default_rng(5))
        before = json.dumps(state)
        one = entry.family(np.random.default_rng(7), state)
        assert json.dumps(state) == before
        assert entry.family(np.random.default_rng(7), state) == one
