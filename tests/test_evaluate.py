"""Measuring a model: which problems, what is counted, and that a run goes on to the same result."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from evaluating import Parity, faulty, plan, run, wise
from model_server import answering, counted

import mint_envs
from mint_envs import Episode, Reward, Task
from mint_envs.bench.bench import bench
from mint_envs.bench.run import Options
from mint_envs.cli import main
from mint_envs.datasets import held_out
from mint_envs.errors import DatasetError, SettingError
from mint_envs.evaluate import compare, evaluate
from mint_envs.evaluate.plan import choose
from mint_envs.evaluate.report import report_of, to_json
from mint_envs.jsonl import whole_rows
from mint_envs.policies import ModelText, ScriptedPolicy
from mint_envs.problems import as_text
from mint_envs.records.replay import SAME, Lines, replay

WORDS = ("so", "many", "words")


class Guess(Task[int]):
    """Higher or lower, until it is found."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(1, 1000))

    def prompt(self, problem: int) -> list[Any]:
        return [{"role": "user", "content": "Guess a number from 1 to 999."}]

    def problem_id(self, problem: int) -> str:
        return f"guess-{problem}"

    def start(self, problem: int) -> Episode:
        return _Guessing(problem)


class _Guessing(Episode):
    def __init__(self, problem: int) -> None:
        self._problem = problem

    def respond(self, text: str) -> str | Reward:
        guess = int(text) if text.isdecimal() else 0
        if guess == self._problem:
            return Reward(1.0)
        return "higher" if guess < self._problem else "lower"


class Continued(Parity):
    """A prompt to be continued, whose responses end at a line."""

    stop = ("\n",)

    def score(self, problem: int, response: str) -> Reward:
        assert "\n" not in response[:-1]
        return super().score(problem, response)


mint_envs.register("tests/Guess-v0", Guess)
mint_envs.register("tests/Continued-v0", Continued)


# -- which problems -------------------------------------------------------------------------------


@pytest.mark.parametrize("env", ["mint/Math-v0", "tests/Parity-v0", "tests/Guess-v0"])
def test_no_problem_is_asked_twice_and_the_same_are_asked_again(env: str) -> None:
    chosen = choose(plan(env, problems=15))
    names = [chosen.task.problem_id(ref.of(chosen.task)) for ref in chosen.refs]
    assert len(set(names)) == len(names) == 15
    assert choose(plan(env, problems=15)).refs == chosen.refs
    assert choose(plan(env, problems=15, seed=1)).refs != chosen.refs


def test_held_out_problems_are_asked_where_there_are_some() -> None:
    assert choose(plan("mint/Math-v0")).held_out == "held out (split='test')"
    given = choose(plan("mint/Math-v0", settings={"split": "train"}))
    assert given.held_out == "not held out (split='train')"
    own = choose(plan("tests/Parity-v0"))
    assert own.held_out.startswith("held out (one problem in 10")
    assert all(held_out(own.task.problem_id(ref.of(own.task))) for ref in own.refs)
    few = choose(plan("tests/Parity-v0", settings={"size": 20}, problems=100))
    assert few.held_out.startswith("not held out")
    assert len(few.refs) == 20


@pytest.mark.parametrize(
    "wrong",
    [{"problems": 0}, {"samples": 0}, {"max_tokens": 0}, {"temperature": -1}, {"seed": -1},
     {"pass_mark": 0}, {"max_turns": 0}],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="must be"):
        plan(**wrong)
    with pytest.raises(SettingError, match="must be"):
        evaluate(plan(), ScriptedPolicy(wise), "x", Path("x"), max_tokens_total=0)


# -- what is counted ------------------------------------------------------------------------------


def test_rates_by_hand(tmp_path: Path) -> None:
    found = run(plan(problems=30), wise, tmp_path / "out.jsonl")
    numbers = [int(row["prompt"].split()[1]) for row in whole_rows(tmp_path / "out.jsonl")]
    half = sum(number % 10 == 3 for number in numbers) / len(numbers)
    assert 0 < half < 0.5
    at_1, at_2 = found.pass_at(1), found.pass_at(2)
    assert at_1 is not None
    assert at_2 is not None
    assert at_1.value == pytest.approx(1 - half / 2)
    assert at_2.value == 1.0
    assert at_1.low < at_1.value < at_1.high < 1
    assert found.mean_parts() == {"right": pytest.approx(1 - half / 2)}
    assert found.signal(2) == (pytest.approx(half), True)
    value, exact = found.signal(4) or (0, True)
    assert not exact
    assert half * (1 - 0.5**3) == pytest.approx(value, abs=half / 2)
    assert value >= half
    assert len(found.outcomes) == 2 * found.problems


def test_unmeasured_lost_and_cut_stand_apart(tmp_path: Path) -> None:
    def moody(prompt: Any, number: int) -> str | None:
        asked = int(as_text(prompt).split()[1])
        if asked % 3 == 0:
            return ModelText("unclear", cut=True, prompt_tokens=5, tokens=8)
        return None if asked % 3 == 1 and number else ModelText(wise(prompt, 1), False, 5, 1)

    out = tmp_path / "out.jsonl"
    found = run(plan(problems=20), moody, out)
    numbers = Counter(int(row["prompt"].split()[1]) % 3 for row in whole_rows(out))
    assert found.unmeasured == numbers[0] == found.cut > 0
    assert found.lost == numbers[1] > 0
    at_1 = found.pass_at(1)
    assert at_1 is not None
    assert at_1.value == 1.0
    assert at_1.problems == numbers[1] + numbers[2] // 2
    assert found.tokens == (5 * len(found.outcomes), 8 * numbers[0] + numbers[1] + numbers[2])
    told = str(to_json(found)) + "".join(report_of([found]).notes)
    assert f"{found.lost} responses could not be had" in told
    assert f"{found.unmeasured} rewards could not be measured" in told
    again = run(plan(problems=20), wise, out)  # what was lost is asked for, and nothing else
    assert again.lost == 0
    assert len(again.outcomes) == 2 * again.problems
    assert again.outcomes[: len(found.outcomes)] != again.outcomes


def test_an_episode_of_several_turns_is_played_and_replayed(tmp_path: Path) -> None:
    def halving(prompt: Any, number: int) -> str:
        low, high = 1, 999
        for guess, answer in zip(prompt[1::2], prompt[2::2], strict=True):
            if answer["content"] == "higher":
                low = int(guess["content"]) + 1
            else:
                high = int(guess["content"]) - 1
        return str((low + high + number) // 2)

    out = tmp_path / "out.jsonl"
    found = run(plan("tests/Guess-v0"), halving, out)
    assert found.mean_reward().value == 1.0  # type: ignore[union-attr]
    rows = whole_rows(out)
    assert max(len(row["turns"]) for row in rows) > 3
    assert all(len(row["observations"]) == len(row["turns"]) - 1 for row in rows)
    assert {one.status for one in replay(Lines(out).rows())} == {SAME}
    never = run(plan("tests/Guess-v0", max_turns=3), lambda *_: "no", tmp_path / "never.jsonl")
    assert never.mean_reward().value == 0.0  # type: ignore[union-attr]
    assert {one.turns for one in never.outcomes} == {3}


WRITTEN = {
    "The number is {}. That is the answer.": "the only number of a text",
    "It is **{}**, I think, of 3": "bold",
    '{{"answer": {}, "of": 3}}': "JSON",
    "{}": None,  # paid
    "So:\n```\n{}\n``` of 3": "a fenced block",
    "3 of\n{}": "the last line",
    "<think>{}</think>no": None,  # nothing is said aloud
    "no": None,
}


def strict_sum(response: str, answer: str) -> float:
    return float(response.strip() == answer)


def test_forms_of_right_answers_that_were_refused(tmp_path: Path) -> None:
    """What the forms are, by hand, for a reward that takes the bare answer only."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"prompt": f"{n} + 30?", "answer": str(n + 30)}) + "\n"
                            for n in range(8)))  # fmt: skip
    task = mint_envs.from_reward_func(strict_sum, dataset=str(rows))
    mint_envs.register("tests/StrictSum-v0", task)
    forms = list(WRITTEN)

    def say(prompt: Any, number: int) -> str:
        first = int(as_text(prompt).split(" + ")[0].split()[-1])
        return forms[number].format(first + 30 if "no" not in forms[number][:2] else "")

    asked = plan("tests/StrictSum-v0", samples=len(forms), settings={"split": "all"})
    found = run(asked, say, tmp_path / "out.jsonl")
    by_form = {forms[one.sample]: one.refused for one in found.outcomes}
    assert by_form == WRITTEN
    assert found.refused == dict.fromkeys([form for form in WRITTEN.values() if form], 8)
    told = str([table.rows for section in report_of([found]).sections for table in section.tables])
    assert "the only number of a text" in told
    assert to_json(found)["refused"] == found.refused


def test_what_the_grader_found_is_not_looked_for_again(tmp_path: Path) -> None:
    def two(prompt: Any, number: int) -> str:  # the grader takes the last box: a wrong answer
        return f"\\boxed{{{number}}} or rather 7\n\\boxed{{1}}"

    asked = plan("mint/Math-v0", settings={"digits": 1, "style": "chat"}, problems=5)
    found = run(asked, two, tmp_path / "out.jsonl")
    assert found.refused == {}
    strict = plan("mint/Math-v0", settings={"style": "chat", "strict": True}, problems=5)
    problems = [ref.of(choose(strict).task) for ref in choose(strict).refs]
    right = {problem.question: problem.answer for problem in problems}

    def bare(prompt: Any, number: int) -> str:
        return f"I get {right[as_text(prompt).splitlines()[0].rpartition(': ')[2]]}"

    found = run(strict, bare, tmp_path / "strict.jsonl")
    assert found.refused == {"the only number of a text": 10}


def test_a_response_ends_at_the_stop_strings_of_the_task(tmp_path: Path) -> None:
    def chatty(prompt: Any, number: int) -> str:
        return ModelText(wise(prompt, 1) + "\nIs 4 odd or even?", cut=True)

    found = run(plan("tests/Continued-v0"), chatty, tmp_path / "out.jsonl")
    assert found.mean_reward().value == 1.0  # type: ignore[union-attr]
    assert found.cut == 0


def test_other_commands_read_the_responses(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    asked = plan("mint/Math-v0", problems=6, settings={"operators": "+"})
    found = run(asked, lambda prompt, number: str(number), out)
    assert {one.status for one in replay(Lines(out).rows())} == {SAME}
    options = Options(responses=str(out), only=("learning",), group=2)
    held = bench("mint/Math-v0", options, {"split": "test", "operators": "+"})
    assert held.numbers["signal"] == pytest.approx(found.signal(2)[0])  # type: ignore[index]
    with pytest.raises(DatasetError, match=r"was [0-9a-f]{16} there.*--set split=test"):
        bench("mint/Math-v0", options, {"operators": "+"})  # the same seeds are others there
    shown = CliRunner().invoke(main, ["show", str(out), "--plain"])
    assert shown.exit_code == 0, shown.output


def test_two_models_side_by_side(tmp_path: Path) -> None:
    asked = plan(problems=20)
    good = evaluate(asked, ScriptedPolicy(wise), "good", tmp_path / "a.jsonl")
    bad = evaluate(asked, ScriptedPolicy(lambda *_: "odd"), "bad", tmp_path / "b.jsonl")
    apart = compare(good, bad)
    assert apart is not None
    assert apart.value == pytest.approx(good.pass_at(1).value - bad.pass_at(1).value)  # type: ignore[union-attr]
    assert 0 < apart.low < apart.value < apart.high
    same = compare(good, good)
    assert same is not None
    assert same.low < 0 == same.value < same.high
    text = "\n".join(str(table.rows) for section in report_of([good, bad]).sections
                     for table in section.tables)  # fmt: skip
    assert f"+{apart.value:.1%}" in text


# -- the command ----------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-seen-nowhere")

    def two(request: dict[str, Any], turn: int) -> tuple[int, Any]:
        return counted("odd", 5, 1) if request["model"] == "b" else faulty(request, 9)

    with answering(two) as server:
        words = ["eval", "tests/Parity-v0", "--model", "a", "--model", "b", "-n", "6", "-k", "2",
                 "--base-url", server.url, "--prices", "1", "2", "--json", "e.json",
                 "--html", "e.html"]  # fmt: skip
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
        many = len(server.bodies)
        assert CliRunner().invoke(main, words).exit_code == 0
        assert len(server.bodies) == many == 24  # all was there
        assert CliRunner().invoke(main, [*words, "--fresh"]).exit_code == 0
        assert len(server.bodies) == 2 * many
        assert server.keys == {"Bearer sk-seen-nowhere"}
    for told in ("pass@1", "pass@2", "Where they part", "groups of 4", "cost", "held out"):
        assert told in done.output, told
    results = json.loads(Path("e.json").read_text())
    assert [one["policy"] for one in results] == ["a", "b"]
    assert [len(one["pass_rates"]) for one in results] == [6, 6]
    assert "pass@1" in Path("e.html").read_text()
    assert "sk-seen" not in "".join(path.read_text() for path in tmp_path.rglob("*.*"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["mint/Math-v0"], "--policy local"),
        (["mint/Math-v0", "--model", "m"], "--base-url"),
        (["mint/Maths-v0", "--policy", "tests"], "there is no policy 'tests'"),
        (["mint/Math-v0", "--model", "m", "--base-url", "localhost"], "http://"),
        (["mint/Math-v0", "--model", "m", "--base-url", "http://[::1]:9/v1", "-n", "0"], "-n"),
        (["mint/Maths-v0", "--model", "m", "--base-url", "http://[::1]:9/v1"], "mint/Math"),
        (["mint/Math-v0", "mint/Chat-v0", "--model", "m", "--base-url", "http://[::1]:9/v1",
          "-o", "x.jsonl"], "leave it out for several"),
        (["mint/Math-v0", "--model", "m", "--base-url", "http://[::1]:9/v1", "--json",
          "no/such/folder.json"], "there is no folder"),
        (["mint/Math-v0", "--model", "m", "--base-url", "http://[::1]:9/v1", "--set",
          "digit=1"], "Did you mean 'digits'"),
        ([], "missing argument"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["eval", *words])
    assert done.exit_code == 2
    assert told in done.output
    assert "Traceback" not in done.output
