"""inspect_ai's own evaluation, with a scripted model: ``nox -s interop_inspect_ai``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import page
import pytest
from flaky import GUESS, SUM, answer
from inspect_ai import Task as InspectTask
from inspect_ai import eval as evaluate
from inspect_ai.model import ModelAPI, ModelOutput, get_model, modelapi

from mint_envs.errors import SettingError
from mint_envs.interop.inspect_ai import inspect_task

pytestmark = pytest.mark.filterwarnings("default")  # theirs


@modelapi(name="scripted")
class Scripted(ModelAPI):
    """Answers as ``say`` does. (Their own double fetches a tokenizer from the net.)"""

    def __init__(self, model_name: str, say: Any = None, **_: Any) -> None:
        super().__init__(model_name)
        self._say = say

    async def generate(self, input: Any, *_: Any, **__: Any) -> ModelOutput:
        said = self._say(input)
        if isinstance(said, ModelOutput):
            return said
        return ModelOutput.from_content("scripted/model", said)


def run(task: InspectTask, say: Any, folder: Path) -> Any:
    model = get_model("scripted/model", say=say, memoize=False)
    (log,) = evaluate(task, model=model, log_dir=str(folder), display="none", log_level="error")
    assert log.status == "success", log.error
    return log


def scores(log: Any) -> dict[int, Any]:
    return {int(sample.id): sample.scores["mint_verdict"] for sample in log.samples}


def add(messages: list[Any]) -> str:
    return str(sum(map(int, messages[-1].text[:-4].split("+"))))


def test_verdicts_are_the_environments(tmp_path: Path) -> None:
    found = scores(run(inspect_task(SUM, count=4), add, tmp_path))
    assert {index: one.value for index, one in found.items()} == dict.fromkeys(range(4), 1.0)
    assert found[1].answer == answer(SUM, 1)
    assert found[1].metadata["right"] == 1.0
    wrong = run(inspect_task(SUM, count=2, start=1), lambda _: "nothing", tmp_path)
    assert {index: one.value for index, one in scores(wrong).items()} == {1: 0.0, 2: 0.0}


def test_unmeasured_is_left_out_of_the_mean(tmp_path: Path) -> None:
    first = inspect_task(SUM, count=1).dataset[0].input[0].text
    log = run(
        inspect_task(SUM, count=4), lambda m: "down" if m[-1].text == first else add(m), tmp_path
    )
    found = scores(log)
    assert found[0].value != found[0].value  # NaN
    assert found[0].reason == "not measured"
    assert found[0].metadata["metadata"] == {"error": "sandbox is down"}
    (told,) = log.results.scores
    assert told.metrics["mean"].value == 1.0
    assert (told.scored_samples, told.unscored_samples) == (3, 1)


def test_several_turns_are_played(tmp_path: Path) -> None:
    def count_up(messages: list[Any]) -> str:
        assert messages[0].role == "system"
        return str(sum(message.role == "assistant" for message in messages))

    log = run(inspect_task(GUESS, count=6), count_up, tmp_path)
    for index, one in scores(log).items():
        number = int(answer(GUESS, index))
        assert one.value == pytest.approx((3 - number) / 3 if number < 3 else 0.0)
    lengths = {int(sample.id): len(sample.messages) for sample in log.samples}
    assert max(lengths.values()) == 2 + 5  # three responses, and two answers between them


def test_a_response_that_was_cut_ends_the_episode(tmp_path: Path) -> None:
    def cut(messages: list[Any]) -> ModelOutput:
        return ModelOutput.from_content("scripted/model", "5", stop_reason="max_tokens")

    found = scores(run(inspect_task(GUESS, count=2), cut, tmp_path))
    assert {one.value for one in found.values()} == {0.0}


def test_problems_without_end_need_a_count() -> None:
    with pytest.raises(SettingError, match="count"):
        inspect_task(SUM)


def test_the_example_of_the_page(tmp_path: Path) -> None:
    (block,) = page.examples("inspect_ai")
    names: dict[str, Any] = {}
    exec(block, names)
    log = run(names["sums"](), lambda messages: "5", tmp_path)
    assert log.results.total_samples == 64
