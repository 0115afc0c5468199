"""``mint-envs score``: in order, resumable, exact about what could not be measured."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import toys
from click.testing import CliRunner

import mint_envs
from mint_envs.cli import main
from mint_envs.commands.options import settings_option
from mint_envs.errors import DatasetError, SettingError
from mint_envs.jsonl import Appended
from mint_envs.math.tasks import MathTask
from mint_envs.records import scoring
from mint_envs.records.scoring import score_file
from mint_envs.tooluse.tasks import ToolUseTask

TASK = MathTask()


def rows_of(count: int) -> list[dict[str, Any]]:
    """Return rows with the right answer to every second problem."""
    found = []
    for index in range(count):
        answer = int(TASK.problem(index).answer)
        found.append({"index": index, "response": str(answer + index % 2)})
    return found


def written(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_order_and_rewards(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    tally = score_file(TASK, written(tmp_path / "in.jsonl", rows_of(20)), str(out))
    assert (tally.rows, tally.earlier, tally.unmeasured, tally.mean) == (20, 0, 0, 0.5)
    assert [(row["line"], row["reward"]) for row in read(out)] == [
        (index + 1, float(index % 2 == 0)) for index in range(20)
    ]


@pytest.mark.parametrize("cut", [1, 40, 10_000])
def test_a_run_goes_on_where_it_was_killed(
    cut: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "BATCH", 3)
    source = written(tmp_path / "in.jsonl", rows_of(10))
    whole, torn = tmp_path / "whole.jsonl", tmp_path / "torn.jsonl"
    score_file(TASK, source, str(whole))
    data = whole.read_bytes()
    for end in range(0, len(data), max(1, len(data) // 7)):
        torn.write_bytes(data[: max(0, end - cut)])
        score_file(TASK, source, str(torn))
        assert torn.read_bytes() == data


def test_a_finished_file_is_left_alone(tmp_path: Path) -> None:
    source, out = written(tmp_path / "in.jsonl", rows_of(3)), tmp_path / "out.jsonl"
    score_file(TASK, source, str(out))
    tally = score_file(TASK, source, str(out))
    assert (tally.rows, tally.earlier) == (0, 3)
    assert tally.mean == pytest.approx(2 / 3)  # of all rows: a floor holds for the whole file


def test_two_runs_do_not_write_one_output(tmp_path: Path) -> None:
    source, out = written(tmp_path / "in.jsonl", rows_of(3)), tmp_path / "out.jsonl"
    with Appended(out), pytest.raises(DatasetError, match="another process is writing"):
        score_file(TASK, source, str(out))
    assert score_file(TASK, source, str(out)).rows == 3


def test_results_of_other_work_are_not_gone_on_with(tmp_path: Path) -> None:
    """Neither another input, a shorter one, nor other problems behind the same numbers."""
    rows, out = rows_of(6), str(tmp_path / "out.jsonl")
    score_file(TASK, written(tmp_path / "in.jsonl", rows[:4]), out)
    for other in (rows[:3], [*rows[:3], rows[5]]):
        with pytest.raises(DatasetError, match="another input, environment or --set"):
            score_file(TASK, written(tmp_path / "other.jsonl", other), out)
    longer = MathTask(digits=5)
    with pytest.raises(DatasetError, match="another input, environment or --set"):
        score_file(longer, written(tmp_path / "in.jsonl", rows), out)
    assert score_file(TASK, written(tmp_path / "in.jsonl", rows), out).earlier == 4


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    source = written(tmp_path / "in.jsonl", rows_of(3))
    with pytest.raises(DatasetError, match="cannot write"):
        score_file(TASK, source, str(tmp_path / "none" / "out.jsonl"))
    with (
        Appended(Path("/dev/full")) as file,
        pytest.raises(DatasetError, match=r"No space left.*goes on after them"),
    ):
        file.write([{"line": 1}])


def test_gzip_and_parquet_give_the_same(tmp_path: Path) -> None:
    rows = rows_of(6)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "in.parquet")
    written(tmp_path / "in.jsonl", rows)
    outs = []
    for name in ("in.jsonl", "in.jsonl.gz", "in.parquet"):
        out = tmp_path / f"{name}.out"
        score_file(TASK, str(tmp_path / name), str(out))
        outs.append(out.read_text())
    assert outs[0] == outs[1] == outs[2]


def test_unmeasured_is_marked_and_not_zero(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    source = written(tmp_path / "in.jsonl", [{"index": 0, "response": "1"}])
    tally = score_file(toys.Down(), source, str(out))
    (row,) = read(out)
    assert row["reward"] is None
    assert row["scored"] is False
    assert (tally.unmeasured, tally.mean) == (1, None)


def test_a_file_of_which_nothing_is_measured_fails(tmp_path: Path) -> None:
    """A sandbox that is down, or a judge that is away, is no success."""
    mint_envs.register("tests/DownWholly-v0", toys.Down)
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    written(source, [{"index": 0, "response": "1"}] * 3)
    done = CliRunner().invoke(main, ["score", "tests/DownWholly-v0", str(source), "-o", str(out)])
    assert (done.exit_code, "not one response could be measured" in done.output) == (1, True)
    source.write_text('{"nothing": 1}\n')
    done = CliRunner().invoke(main, ["score", "mint/Math-v0", str(source), "-o", str(out)])
    assert done.exit_code == 2


def test_several_responses_and_several_turns(tmp_path: Path) -> None:
    answer = TASK.problem(3).answer
    row = {"index": 3, "id": "a", "responses": [answer, "no"]}
    score_file(TASK, written(tmp_path / "in.jsonl", [row]), str(tmp_path / "out.jsonl"))
    (line,) = read(tmp_path / "out.jsonl")
    assert (line["id"], line["reward"], line["scored"]) == ("a", [1.0, 0.0], [True, True])
    task = ToolUseTask()
    turns = next(iter(task.examples(task.problem(1))))
    source = written(tmp_path / "turns.jsonl", [{"index": 1, "response": list(turns)}])
    score_file(task, source, str(tmp_path / "turns.out"))
    assert read(tmp_path / "turns.out")[0]["reward"] == 1.0


def test_a_problem_by_any_of_its_names(tmp_path: Path) -> None:
    problem = TASK.sample(np.random.default_rng(5))
    names: list[dict[str, Any]] = [
        {"index": 5},
        {"seed": 5},
        {"problem_id": TASK.problem_id(problem)},
        {"prompt": TASK.prompt(problem)},
    ]
    rows = [{**name, "response": problem.answer} for name in names]
    score_file(TASK, written(tmp_path / "in.jsonl", rows), str(tmp_path / "out.jsonl"))
    assert [row["reward"] for row in read(tmp_path / "out.jsonl")] == [1.0] * 4


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"response": "1"}, "line 3.*names no problem.*It has response"),
        ({"index": 0}, "line 3.*no response.*It has index"),
        ({"index": "0", "response": "1"}, "line 3.*index='0' must be a whole number"),
        ({"index": 0, "response": 7}, "line 3.*'response' is a int"),
        ({"prompt": "What?", "response": "1"}, "line 3.*no problem of 10,000 has this prompt"),
    ],
)
def test_broken_rows_are_named_by_line_and_field(
    row: dict[str, Any], says: str, tmp_path: Path
) -> None:
    good = json.dumps({"index": 0, "response": "1"})
    path = tmp_path / "in.jsonl"
    path.write_text(f"{good}\n\n{json.dumps(row)}\n", encoding="utf-8")
    with pytest.raises(DatasetError, match=says):
        score_file(TASK, str(path), str(tmp_path / "out.jsonl"))


def test_what_is_no_input_or_output(tmp_path: Path) -> None:
    source = written(tmp_path / "in.jsonl", rows_of(1))
    with pytest.raises(SettingError, match="does not exist"):
        score_file(TASK, str(tmp_path / "none.jsonl"), str(tmp_path / "out.jsonl"))
    with pytest.raises(SettingError, match="is the input"):
        score_file(TASK, source, source)
    other = tmp_path / "other.jsonl"
    other.write_text("{}\n", encoding="utf-8")
    with pytest.raises(DatasetError, match="none of `mint-envs score`"):
        score_file(TASK, source, str(other))


def test_the_command(tmp_path: Path) -> None:
    source, out = written(tmp_path / "in.jsonl", rows_of(4)), str(tmp_path / "out.jsonl")
    done = CliRunner().invoke(main, ["score", "mint/Math-v0", source, "-o", out])
    assert done.exit_code == 0, done.output
    assert "4 rows scored, mean reward 0.500" in done.output
    floor = ["score", "mint/Math-v0", source, "-o", f"{out}2", "--min-mean", "0.6"]
    assert CliRunner().invoke(main, floor).exit_code == 1
    wrong = CliRunner().invoke(main, ["score", "mint/Maths-v0", source, "-o", out])
    assert wrong.exit_code == 2
    wrong = CliRunner().invoke(
        main, ["score", "mint/Math-v0", source, "-o", out, "--set", "digits"]
    )
    assert wrong.exit_code == 2
    assert "NAME=VALUE" in wrong.output


@pytest.mark.parametrize(("to", "code", "says"), [("/dev/full", 2, "No space left"), ("&-", 0, "")])
def test_output_that_is_full_or_closed(to: str, code: int, says: str, tmp_path: Path) -> None:
    """One line, and no file of ours gets the number of a stream that was closed."""
    source = written(tmp_path / "in.jsonl", rows_of(4))
    command = f"{sys.executable} -m mint_envs score mint/Math-v0 {source} -o {tmp_path}/out.jsonl"
    done = subprocess.run(
        ["sh", "-c", f"{command} >{to}"], stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert len(read(tmp_path / "out.jsonl")) == 4


def test_settings_of_a_command_are_json_or_text() -> None:
    @click.command()
    @settings_option
    def seen(settings: dict[str, Any]) -> None:
        click.echo(json.dumps(settings))

    given = ["--set", "a-b=True", "-s", "c=[1]", "-s", "d=x", "-s", f"e={'[' * 100_000}"]
    found = json.loads(CliRunner().invoke(seen, given).output)
    assert found == {"a_b": True, "c": [1], "d": "x", "e": "[" * 100_000}


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_file_without_a_row_is_a_mistake(tmp_path: Path, text: str) -> None:
    (tmp_path / "in.jsonl").write_text(text)
    for words in (
        ["score", "mint/Math-v0", str(tmp_path / "in.jsonl"), "-o", str(tmp_path / "out.jsonl")],
        ["replay", str(tmp_path / "in.jsonl"), "--env", "mint/Math-v0"],
    ):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 2, done.output
        assert "must hold at least one row" in done.output or "no whole row" in done.output
