"""Problems chosen by how hard they are: in an environment, a mixture and a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import mint_envs
from mint_envs.cli import main
from mint_envs.datasets import held_out
from mint_envs.errors import DatasetError, SettingError
from mint_envs.evaluate import EvalPlan, evaluate
from mint_envs.jsonl import whole_rows
from mint_envs.pass_rates import read_pass_rates
from mint_envs.policies import ScriptedPolicy
from mint_envs.problems import as_text
from mint_envs.registration import task_of
from trainers.__main__ import main as grpo
from trainers.config import TrainConfig
from trainers.data import Data
from trainers.difficulty import Difficulty
from trainers.errors import TrainerError

ARGV = ["--backend", "bandit", "--batch", "4", "--group", "2", "--max-tokens", "1"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(name: str, rows: list[dict[str, Any]]) -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return name


def sums(many: int = 40) -> str:
    rows = [{"question": f"What is {n} + 1?", "answer": str(n + 1)} for n in range(many)]
    return written("sums.jsonl", rows)


def rates(data: str, known: int = 40) -> str:
    """A pass rate for each row: of row n it is (n % 5) / 4, so a fifth of each."""
    task = task_of("mint/Math-v0", dataset=data)
    names = [task.problem_id(task.problem(index)) for index in range(known)]
    rows = [
        {"problem_id": name, "pass_rate": n % 5 / 4, "samples": 4} for n, name in enumerate(names)
    ]
    return written("rates.jsonl", rows)


def numbers(task: Any) -> list[int]:
    return [int(task.problem(index).question.split()[2]) for index in range(task.size)]


# -- in an environment ----------------------------------------------------------------------------


def test_rows_are_filtered_and_put_in_order() -> None:
    data = sums()
    known = {"dataset": data, "pass_rates": rates(data)}
    kept = task_of("mint/Math-v0", **known, min_pass_rate=0.25, max_pass_rate=0.75)
    assert numbers(kept) == [n for n in range(40) if n % 5 in (1, 2, 3)]
    easiest = task_of("mint/Math-v0", **known, curriculum=True)
    assert numbers(easiest) == sorted(range(40), key=lambda n: -(n % 5))
    env = mint_envs.make("mint/Math-v0", **known, min_pass_rate=1.0)
    drawn = {env.reset(seed=seed)[1]["prompt"] for seed in range(60)}
    assert len(drawn) == 8


def test_rows_that_were_not_measured_are_left_out_and_counted() -> None:
    data = sums()
    with pytest.warns(UserWarning, match=r"30 of 40 rows are not in pass_rates='rates.jsonl'"):
        task = task_of("mint/Math-v0", dataset=data, pass_rates=rates(data, known=10))
    assert task.size == 10


def test_drawn_problems_are_made_again_from_their_seeds() -> None:
    plan = EvalPlan(env="mint/Math-v0", problems=30, samples=4, max_tokens=8, train=True)
    found = evaluate(plan, ScriptedPolicy(sometimes), "scripted", Path("out.jsonl"))
    file = written("rates.jsonl", found.measured_rates())
    task = task_of("mint/Math-v0", pass_rates=file, min_pass_rate=0.1, max_pass_rate=0.9)
    wanted = [name for name, one in read_pass_rates(file).items() if 0.1 <= one.rate <= 0.9]
    assert [task.problem_id(task.problem(i)) for i in range(task.size or 0)] == wanted
    assert 0 < len(wanted) < 30
    with pytest.raises(DatasetError, match=r"another split.*--train"):
        task_of("mint/Math-v0", split="test", pass_rates=file)


def sometimes(prompt: Any, number: int) -> str:
    """Right in none, one, two ... of four responses, as the first term says."""
    first, second = as_text(prompt).rpartition("What is ")[2].rstrip("?\nA:").split(" + ")
    return str(int(first) + int(second)) if number < int(first) % 5 else "no"


def test_a_mixture_has_members_that_are_filtered() -> None:
    data = sums()
    own = {"id": "mint/Math-v0", "dataset": data, "pass_rates": rates(data), "min_pass_rate": 1}
    mix = task_of("mint/Mix-v0", envs=[own, {"id": "mint/Math-v0", "digits": 1}])
    problems = [mix.problem(seed) for seed in range(60)]
    drawn = {one.problem.question for one in problems if one.member == 0}
    assert drawn <= {f"What is {n} + 1?" for n in range(4, 40, 5)}
    assert len(drawn) > 4


def test_what_is_trained_on_can_be_measured() -> None:
    from mint_envs.evaluate.plan import choose

    trained = choose(EvalPlan(env="mint/Math-v0", train=True))
    assert trained.held_out == "not held out (split='train')"
    data = sums(200)
    mint_envs.register("tests/Sums200-v0", f"{__name__}:no_split", dataset=data)
    own = choose(EvalPlan(env="tests/Sums200-v0", train=True))
    assert own.held_out.startswith("not held out (all but one problem in 10")
    assert not any(held_out(own.task.problem_id(ref.of(own.task))) for ref in own.refs)


def no_split(dataset: str) -> Any:
    return task_of("mint/Math-v0", dataset=dataset)


LINE = {"problem_id": "0", "pass_rate": 0.5}


@pytest.mark.parametrize(
    ("rows", "settings", "told"),
    [
        ([{"pass_rate": 0.5}], {}, "line 1 of pass_rates='r.jsonl' has no problem_id"),
        ([{"problem_id": "a", "pass_rate": 2}], {}, "line 1.*pass_rate=2 must be a number"),
        ([{"problem_id": "a", "pass_rate": None}], {}, "line 1.*pass_rate=None"),
        ([{**LINE, "samples": 0}], {}, "line 1.*samples=0 must be"),
        ([LINE, LINE], {}, "line 2.*is of the problem of line 1"),
        ([], {}, "is empty"),
        ([LINE], {}, "none of the 1 problems of pass_rates='r.jsonl' is here"),
        ([LINE], {"min_pass_rate": 2}, "min_pass_rate=2 must be a number from 0 to 1"),
        ([LINE], {"min_pass_rate": True}, "min_pass_rate=True must be"),
        ([LINE], {"min_pass_rate": 0.5, "max_pass_rate": 0.2}, "no problem is between them"),
        ([LINE], {"curriculum": "yes"}, "curriculum='yes' must be true or false"),
    ],
)
def test_a_broken_file_and_a_wrong_range_are_said(
    rows: list[dict[str, Any]], settings: dict[str, Any], told: str
) -> None:
    file = written("r.jsonl", rows)
    with pytest.raises((DatasetError, SettingError), match=told):
        task_of("mint/Math-v0", dataset=sums(), pass_rates=file, **settings)


def test_a_range_without_a_file_or_without_problems_is_said() -> None:
    with pytest.raises(SettingError, match="min_pass_rate: needs pass_rates=FILE"):
        task_of("mint/Math-v0", min_pass_rate=0.5)
    data = sums()
    file = rates(data, known=4)
    with (
        pytest.warns(UserWarning, match="36 of 40"),
        pytest.raises(DatasetError, match=r"from 0.9 to 1; they are from 0 to 0.75"),
    ):
        task_of("mint/Math-v0", dataset=data, pass_rates=file, min_pass_rate=0.9)
    with pytest.raises(DatasetError, match=r"'gone.jsonl' cannot be read"):
        task_of("mint/Math-v0", pass_rates="gone.jsonl")
    with pytest.raises(SettingError, match="Did you mean 'min_pass_rate'"):
        task_of("mint/Math-v0", min_pass_rates=0.5)


def test_the_command_writes_what_an_environment_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "mint_envs.commands.eval.policy_of", lambda *_, **__: ScriptedPolicy(sometimes)
    )
    data = sums()
    words = ["eval", "mint/Math-v0", "--policy", "local", "-n", "40", "--set", f"dataset={data}",
             "--train", "--write-pass-rates", "rates.jsonl"]  # fmt: skip
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    task = task_of("mint/Math-v0", dataset=data, split="train", pass_rates="rates.jsonl",
                   max_pass_rate=0)  # fmt: skip
    assert {n % 5 for n in numbers(task)} == {0}
    two = CliRunner().invoke(main, [*words, "--policy", "run:x"])
    assert "--write-pass-rates rates.jsonl takes one ID and one model" in two.output


# -- in a run -------------------------------------------------------------------------------------


def config(**changes: Any) -> TrainConfig:
    return TrainConfig(**{"env": "mint/Math-v0", "batch": 5, "group": 2, **changes})


def asked(data: Data, step: int) -> list[int]:
    task = data.pool.task
    assert task is not None
    return [int(ref.of(task).question.split()[2]) for ref in data.problems(step)]


def trained(data: Data) -> list[int]:
    """The numbers of the rows that are not kept for evaluation."""
    task = data.pool.task
    assert task is not None
    names = [task.problem_id(task.problem(index)) for index in range(task.size or 0)]
    return [number for number, name in enumerate(names) if not held_out(name)]


class Answers:
    """Episodes as a run has them, that earn what they are told to."""

    def __init__(self, data: Data) -> None:
        self.data = data

    def to(self, step: int, passes: Any) -> list[int]:
        from trainers.rollout import Episode

        groups, numbers = [], asked(self.data, step)
        for ref, number in zip(self.data.problems(step), numbers, strict=True):
            info = {"problem_id": self.data.pool.name_of(ref)}
            rewards = passes(number)
            groups.append([Episode(ref, reward=reward, infos=[info]) for reward in rewards])
        self.data.difficulty.note(groups)
        return numbers


def test_a_curriculum_begins_with_the_easiest_and_each_row_comes_once() -> None:
    file = sums(80)
    settings = {"dataset": file, "split": "all"}
    made = Data(config(env_settings=settings, pass_rates=rates(file, 80), curriculum=True), None)
    run = Answers(made)
    shares = [run.to(step, lambda n: [0.0, 1.0]) for step in range(1, 17)]
    many = len(trained(made))
    seen = [n for share in shares for n in share][:many]
    assert sorted(seen) == trained(made)
    ease = [n % 5 for n in seen]
    assert ease == sorted(ease, reverse=True)
    made.close()


def test_what_is_outside_the_range_rests_and_is_tried_again() -> None:
    """A problem that was too hard comes back when the others were asked four times more."""
    file = sums(80)
    settings = {"dataset": file, "split": "all"}
    made = Data(config(env_settings=settings, pass_rates=rates(file, 80), min_pass_rate=0.1,
                       max_pass_rate=0.9, batch=16), None)  # fmt: skip
    run = Answers(made)
    assert made.difficulty.counts() == {"too_easy": 16.0, "too_hard": 16.0, "alive": 48.0}
    alive = [n for n in trained(made) if n % 5 in (1, 2, 3)]
    made._config = made._config.model_copy(update={"batch": len(alive)})
    for step in range(1, 5):
        assert sorted(run.to(step, lambda n: [0.0, 1.0])) == alive
    later = {n for step in (5, 6) for n in run.to(step, lambda n: [0.0, 1.0])}
    assert later & {n for n in range(80) if n % 5 in (0, 4)}
    assert made.difficulty.counts()["alive"] > 48
    made.close()


def test_the_run_learns_what_became_easy() -> None:
    settings = {"dataset": sums(80), "split": "all"}
    made = Data(config(env_settings=settings, max_pass_rate=0.9), None)
    run, numbers = Answers(made), trained(made)
    made._config = made._config.model_copy(update={"batch": len(numbers)})
    assert sorted(run.to(1, lambda n: [1.0, float(n % 2 == 0)])) == numbers  # even ones are solved
    odd = [n for n in numbers if n % 2]
    assert made.difficulty.counts() == {
        "too_easy": len(numbers) - len(odd), "too_hard": 0.0, "alive": len(odd)
    }  # fmt: skip
    made._config = made._config.model_copy(update={"batch": len(odd)})
    for step in range(2, 6):
        assert sorted(run.to(step, lambda n: [1.0, 0.0])) == odd
    made.close()


def test_drawn_problems_are_those_of_the_file() -> None:
    plan = EvalPlan(env="mint/Math-v0", problems=30, samples=4, max_tokens=8, train=True)
    found = evaluate(plan, ScriptedPolicy(sometimes), "scripted", Path("out.jsonl"))
    file = written("rates.jsonl", found.measured_rates())
    made = Data(config(pass_rates=file, batch=6, curriculum=True, eval_every=1), None)
    names = {made.pool.name_of(ref) for step in range(1, 4) for ref in made.problems(step)}
    assert names <= set(read_pass_rates(file))
    first = [made.difficulty.rate(made.pool.name_of(ref)) for ref in made.problems(1)]
    assert first == sorted((one.rate for one in read_pass_rates(file).values()), reverse=True)[:6]
    made.close()
    held = evaluate(EvalPlan(env="mint/Math-v0", problems=10, samples=1, max_tokens=8),
                    ScriptedPolicy(sometimes), "scripted", Path("held.jsonl"))  # fmt: skip
    with pytest.raises(TrainerError, match=r"is trained on here.*--train"):
        Data(config(pass_rates=written("held_rates.jsonl", held.measured_rates())), None)


def test_a_resumed_run_chooses_as_one_that_was_never_stopped() -> None:
    data = sums(100)
    words = ["mint/Math-v0", "--dataset", data, "--split", "all", *ARGV, "--curriculum",
             "--min-pass-rate", "0.2", "--pass-rates", rates(data, 100)]  # fmt: skip
    assert grpo([*words, "--steps", "8", "--run-dir", "whole"]) == 0
    assert grpo([*words, "--steps", "3", "--run-dir", "part"]) == 0
    assert grpo(["--resume", "part", "--steps", "8"]) == 0
    one, two = (
        [
            (row["step"], row["problem_id"], row["reward"])
            for row in whole_rows(Path(f) / "rollouts.jsonl")
        ]
        for f in ("whole", "part")
    )
    assert one == two
    told = [{name: row[name] for name in row if name.startswith("problems/")}
            for row in whole_rows(Path("part/metrics.jsonl"))]  # fmt: skip
    assert told[0].keys() == {"problems/too_easy", "problems/too_hard", "problems/alive"}
    assert sum(told[-1].values()) == 100
    left = read_pass_rates("part/pass_rates.jsonl")
    assert len(left) == 100


def test_any_run_says_how_hard_its_problems_are() -> None:
    assert grpo(["mint/Math-v0", *ARGV, "--steps", "3", "--run-dir", "r"]) == 0
    for number, row in enumerate(whole_rows(Path("r/metrics.jsonl")), 1):
        assert sum(row[name] for name in row if name.startswith("problems/")) <= 4 * number
    assert read_pass_rates("r/pass_rates.jsonl")


@pytest.mark.parametrize(
    ("low", "high", "sides"),
    [
        (None, None, ["too_hard", "alive", "alive", "too_easy"]),
        (0.25, 1.0, ["too_hard", "too_hard", "alive", "alive"]),
        (0.0, 0.4, ["alive", "alive", "too_easy", "too_easy"]),
    ],
)
def test_sides(low: float | None, high: float | None, sides: list[str]) -> None:
    made = Difficulty(config(min_pass_rate=low, max_pass_rate=high))
    assert [made.side(rate) for rate in (0.0, 0.2, 0.5, 1.0)] == sides


def test_a_wrong_range_of_a_run_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["mint/Math-v0", *ARGV, "--min-pass-rate", "0.9", "--max-pass-rate", "0.1"]
    assert grpo(words) == 2
    assert "no problem is between them" in capsys.readouterr().err
    assert grpo(["mint/Math-v0", *ARGV, "--pass-rates", "gone.jsonl", "--run-dir", "r"]) == 2
    assert "gone.jsonl" in capsys.readouterr().err
