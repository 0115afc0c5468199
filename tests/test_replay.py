"""mint-envs replay: what a run recorded is what is computed again, and a difference is found."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toys
from click.testing import CliRunner, Result

import mint_envs
from mint_envs import Reward
from mint_envs.cli import main
from trainers.__main__ import main as train


class OneDigit(toys.GuessNumber):
    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(10))


mint_envs.register("test/Guess-v0", OneDigit)


class Sometimes(toys.Adder):
    """Measures responses that begin with an even digit only; ``down`` measures none."""

    def __init__(self, down: bool = False) -> None:
        self._down = down

    def score(self, problem: toys.Sum, response: str) -> Reward:
        if self._down or response[:1] in "13579":
            return Reward(None, metadata={"error": "down"})
        return super().score(problem, response)


mint_envs.register("test/Sometimes-v0", Sometimes)


def replayed(*arguments: Any) -> Result:
    return CliRunner().invoke(main, ["replay", *map(str, arguments)])


def run(folder: Path, env: str, *options: str) -> Path:
    argv = [env, "--backend", "bandit", "--steps", "3", "--batch", "4", "--run-dir", str(folder)]
    assert train([*argv, *options]) == 0
    return folder / "rollouts.jsonl"


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("env", "options"),
    [
        ("mint/Math-v0", ["--digits", "1", "--eval-every", "2", "--eval-problems", "2"]),
        ("test/Guess-v0", ["--max-tokens", "2"]),
        ("mint/Mix-v0", ["--envs", '{"mint/Math-v0": 1, "mint/Chat-v0": {"level": "easy"}}']),
        ("mint/ToolUse-v0", []),
    ],
)
def test_every_reward_of_a_run_is_computed_again(
    tmp_path: Path, env: str, options: list[str]
) -> None:
    path = run(tmp_path / "run", env, *options)
    rows = rows_of(path)
    assert {"env", "version", "env_settings", "seed", "problem_id", "turns"} <= set(rows[0])
    assert rows[0]["env"] == env
    for given in (path, path.parent):
        done = replayed(given)
        assert done.output == f"{len(rows)} episodes: {len(rows)} rewards the same, 0 differ\n"
        assert done.exit_code == 0


def test_it_covers_several_turns_and_cut_ones(tmp_path: Path) -> None:
    rows = rows_of(run(tmp_path / "run", "test/Guess-v0", "--max-tokens", "3", "--batch", "30"))
    assert any(len(row["turns"]) > 1 for row in rows)
    assert any(row["truncated"] and row["scored"] for row in rows)
    assert any(row["reward"] > 0 for row in rows)


def test_what_differs_is_named_and_the_exit_code_says_so(tmp_path: Path) -> None:
    path = run(tmp_path / "run", "mint/Math-v0", "--digits", "1")
    rows = rows_of(path)
    rows[2]["reward"], rows[5]["reward"] = 0.25, 1.0 - rows[5]["reward"]
    done = replayed(write(path, rows))
    assert done.exit_code == 1
    assert (
        f"line 3: step 1, mint/Math-v0 seed {rows[2]['seed']} earned 0.25, and now" in done.output
    )
    assert "line 6: " in done.output
    assert f"{len(rows) - 2} rewards the same, 2 differ" in done.output
    told = [json.loads(line) for line in replayed(path, "--json").output.splitlines()]
    assert [(row["line"], row["status"]) for row in told] == [(3, "differs"), (6, "differs")]


def test_another_problem_is_not_taken_for_the_same(tmp_path: Path) -> None:
    path = run(tmp_path / "run", "mint/Math-v0", "--digits", "1")
    rows = rows_of(path)
    rows[0]["env_settings"] = {"digits": 3}
    rows[1]["seed"] = -1
    rows[2]["env"] = "mint/Nothing-v0"
    rows[3]["turns"] = [1]
    done = replayed(write(path, rows))
    assert done.exit_code == 1
    assert "0 differ, 4 cannot be rebuilt" in done.output
    for words in ("another version", "seed=-1 must be a whole number", "Nothing", "no responses"):
        assert words in done.output


def test_settings_given_are_for_rows_that_name_no_environment(tmp_path: Path) -> None:
    path = run(tmp_path / "run", "mint/Math-v0")
    own = rows_of(path)
    assert own[0]["env_settings"] == {"split": "train"}
    nameless = [{k: v for k, v in row.items() if not k.startswith("env")} for row in own]
    done = replayed(write(tmp_path / "both.jsonl", own + nameless), "--env", "mint/Math-v0",
                    "--set", "digits=3")  # fmt: skip
    assert f"{len(own)} rewards the same" in done.output
    assert f"{len(own)} cannot be rebuilt" in done.output


def test_unmeasured_rows_are_counted_apart(tmp_path: Path) -> None:
    path = run(tmp_path / "run", "test/Sometimes-v0", "--batch", "10")
    rows = rows_of(path)
    blind = sum(not row["scored"] for row in rows)
    assert 0 < blind < len(rows)
    done = replayed(path)
    assert done.exit_code == 0
    assert f"0 differ, {blind} were not measured then" in done.output
    down = [{**row, "env_settings": {"down": True}} for row in rows]
    done = replayed(write(path, down))
    assert (done.exit_code, "no reward of them could be compared" in done.output) == (1, True)
    assert f"{len(rows) - blind} cannot be measured now" in done.output


def test_a_cut_last_line_and_a_cut_archive(tmp_path: Path) -> None:
    path = run(tmp_path / "run", "mint/Math-v0")
    whole = path.read_bytes()
    count = len(whole.splitlines())
    path.write_bytes(whole[:-20])
    done = replayed(path)
    assert done.exit_code == 0
    assert done.output.startswith(f"{count - 1} episodes")
    assert "the last line was cut off" in done.output
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(whole))
    assert replayed(packed).output.startswith(f"{count} episodes: {count} rewards the same")
    packed.write_bytes(gzip.compress(whole)[:-300])
    done = replayed(packed)
    assert done.exit_code == 0
    assert "the last line was cut off" in done.output


def test_other_broken_files_are_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\nnot json\n{"a": 1}\n')
    done = replayed(path)
    assert done.exit_code == 2
    assert "line 2" in done.output
    path.write_text('{"a": 1}\n[]\n{"a": 1}\n')
    assert "line 2 of" in replayed(path).output
    assert "does not exist" in replayed(tmp_path / "none.jsonl").output
    path.with_suffix(".gz").write_bytes(b"not an archive")
    assert replayed(path.with_suffix(".gz")).exit_code == 2


def test_rows_of_older_runs_take_the_environment_from_the_run_or_the_command(
    tmp_path: Path,
) -> None:
    path = run(tmp_path / "run", "mint/Math-v0", "--digits", "1", "--eval-every", "3")
    rows = rows_of(path)
    old = [{k: v for k, v in row.items() if not k.startswith(("env", "version"))} for row in rows]
    assert replayed(write(path, old)).output.startswith(f"{len(old)} episodes: {len(old)} rewards")
    alone = write(tmp_path / "alone.jsonl", old)
    done = replayed(alone)
    assert done.exit_code == 1
    assert "give --env ID" in done.output
    done = replayed(alone, "--env", "mint/Math-v0", "--set", "digits=1", "--set", "split=train")
    assert done.exit_code == 0, done.output


def test_another_version_is_said(tmp_path: Path) -> None:
    path = run(tmp_path / "run", "mint/Math-v0")
    rows = [{**row, "version": "0.0.1"} for row in rows_of(path)]
    assert "Recorded by version 0.0.1; this is" in replayed(write(path, rows)).output


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("env", 5), ("env", ["a"]), ("env", ":"), ("env", "../../etc/hosts:x"), ("env", "\ud800"),
        ("env_settings", [1]), ("env_settings", {"digits": "a"}),
        ("env_settings", {"tokenizer": 5}),
        ("wrappers", 5), ("wrappers", [5]), ("wrappers", [{"name": "os:system", "settings": {}}]),
        ("wrappers", [{"name": "mint_envs.wrappers:TaskWrapper", "settings": {}}]),
        ("wrappers", [{"name": "mint_envs.wrappers:LengthPenalty", "settings": {"z": 1}}]),
        ("seed", -1), ("seed", "\ud800"), ("seed", True), ("index", -1), ("index", "x"),
        ("index", [1]), ("turns", {"a": 1}), ("turns", [None]), ("problem_id", "\ud800"),
    ],
)  # fmt: skip
def test_a_row_that_was_edited_cannot_be_rebuilt(tmp_path: Path, name: str, value: Any) -> None:
    rows = rows_of(run(tmp_path / "run", "mint/Math-v0", "--digits", "1"))[:2]
    rows[0] = {**rows[0], name: value}
    done = replayed(write(tmp_path / "rows.jsonl", rows))
    assert done.exit_code == 1
    assert "2 episodes: 1 rewards the same, 0 differ, 1 cannot be rebuilt" in done.output


def test_a_row_cannot_name_what_is_called(tmp_path: Path) -> None:
    rows = rows_of(run(tmp_path / "run", "mint/Math-v0", "--digits", "1"))[:1]
    mark = tmp_path / "mark"
    rows[0]["env_settings"] = {"task": "os:system", "command": f"touch {mark}"}
    assert "'task' is no setting" in replayed(write(tmp_path / "rows.jsonl", rows)).output
    mixed = {"envs": [{"id": "mint/Math-v0", **rows[0]["env_settings"]}]}
    rows[0] |= {"env": "mint/Mix-v0", "env_settings": mixed}
    assert "cannot be rebuilt" in replayed(write(tmp_path / "rows.jsonl", rows)).output
    assert not mark.exists()
