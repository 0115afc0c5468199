"""Sentences that a policy says whatever it is asked: found in saved responses and in training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mint_envs.bench.bench import bench
from mint_envs.bench.run import Options
from mint_envs.chat import ChatTask
from mint_envs.responses.repeats import repeated_sentences
from trainers.config import TrainConfig
from trainers.metrics import step_metrics
from trainers.rollout import Episode

pytestmark = pytest.mark.quick

SAID = "The kettle told the doctor so."


def test_a_sentence_said_to_several_prompts_is_found() -> None:
    found = repeated_sentences([
        (1, f"Tea is warm and good. {SAID}"), (1, "Tea is warm and good. Yes."),
        (2, f"{SAID.upper()}\nRain falls on the roof."), (3, "Yes. Yes. No."),
    ])  # fmt: skip
    assert (found.share, found.sentence, found.prompts) == (0.5, SAID.lower(), 2)


def test_nothing_said_is_nothing_repeated() -> None:
    assert repeated_sentences([]).share == repeated_sentences([(1, ""), (2, "")]).share == 0.0


@pytest.mark.parametrize("fixed", [True, False])
def test_bench_finds_it_in_saved_responses(fixed: bool, tmp_path: Path) -> None:
    task, path = ChatTask(level="easy"), tmp_path / "responses.jsonl"
    problems = [task.problem(index) for index in range(8)]
    rows = [
        {"index": index, "response": problem.answer + f" {SAID}" * fixed}
        for index, problem in enumerate(problems)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = Options(responses=str(path), only=("learning",), problems=8)
    report = bench("mint/Chat-v0", options, {"level": "easy"})
    assert ("repeated-sentences" in {one.check for one in report.findings}) == fixed
    assert (report.numbers["repeated_sentences"] == 1.0) == fixed


def episode(*tokens: int) -> Episode:
    return Episode(0, [7, *tokens], [(1, 1 + len(tokens))], [-1.0] * len(tokens), scored=False)


def test_the_trainer_counts_runs_of_tokens_that_groups_share() -> None:
    run = tuple(range(10))
    groups = [[episode(99, *run), episode(*range(50, 70))], [episode(*run, 98), episode(1, 2)]]
    assert step_metrics(TrainConfig(), groups, [], 0, {})["repeated_sentences"] == 0.5
    alone = [[episode(*run), episode(*run)], [episode(*range(20, 40))]]
    assert step_metrics(TrainConfig(), alone, [], 0, {})["repeated_sentences"] == 0.0
