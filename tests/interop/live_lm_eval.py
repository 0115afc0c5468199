"""lm-evaluation-harness: its own ``simple_evaluate``: ``nox -s interop_lm_eval``."""

from __future__ import annotations

import math
from typing import Any

import lm_eval
import openai_server
import page
import pytest
from flaky import GUESS, SUM
from lm_eval.api.model import LM

from mint_envs.errors import SettingError
from mint_envs.interop.lm_eval import harness_task

pytestmark = pytest.mark.filterwarnings("default")  # theirs


class Scripted(LM):
    """Answers as a function of the prompt says."""

    def __init__(self, say: Any) -> None:
        super().__init__()
        self._say = say
        self.asked: list[Any] = []

    def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
        self.asked += [request.args for request in requests]
        return [self._say(request.args[0]) for request in requests]

    def loglikelihood(self, requests: Any) -> Any:
        raise AssertionError

    loglikelihood_rolling = loglikelihood


def run(task: Any, model: Any, **more: Any) -> Any:
    return lm_eval.simple_evaluate(model, tasks=[task], bootstrap_iters=0, **more)


def add(text: str) -> str:
    return str(sum(map(int, text.strip()[:-4].split("+"))))


def test_verdicts_are_the_environments() -> None:
    found = run(harness_task(SUM, count=5), Scripted(add))
    assert found["results"]["flaky-Sum-v0"]["reward,none"] == 1.0
    assert found["results"]["flaky-Sum-v0"]["measured,none"] == 1.0
    samples = found["samples"]["flaky-Sum-v0"]
    assert [sample["doc"]["task_index"] for sample in samples] == [0, 1, 2, 3, 4]
    wrong = run(harness_task(SUM, count=5), Scripted(lambda _: "nothing"))
    assert wrong["results"]["flaky-Sum-v0"]["reward,none"] == 0.0


def test_unmeasured_is_left_out_of_the_mean() -> None:
    first = harness_task(SUM, count=1).test_docs()[0]["prompt"][0]["content"]
    model = Scripted(lambda text: "down" if first in text else add(text))
    found = run(harness_task(SUM, count=4), model)
    assert found["results"]["flaky-Sum-v0"]["reward,none"] == 1.0
    assert found["results"]["flaky-Sum-v0"]["measured,none"] == 0.75
    assert sum(math.isnan(one["reward"]) for one in found["samples"]["flaky-Sum-v0"]) == 1


def test_a_text_is_continued_up_to_the_stop_strings_of_the_task() -> None:
    model = Scripted(lambda text: " 5")
    run(harness_task("mint/Math-v0", count=2, max_tokens=9), model)
    (text, options), *_ = model.asked
    assert text.endswith("\nA:")
    assert options["until"] == ["\n"]
    assert options["max_gen_toks"] == 9


def test_a_model_at_an_address_gets_messages() -> None:
    """Its own client of chat completions, on loopback."""
    seen = []

    def policy(messages: list[dict[str, Any]]) -> str:
        seen.append(messages)
        return add(messages[-1]["content"])

    with openai_server.serve(policy) as url:
        arguments = f"model=any,base_url={url}/chat/completions,num_concurrent=1,max_retries=1"
        found = run(
            harness_task(SUM, count=3), "local-chat-completions", model_args=arguments,
            apply_chat_template=True,
        )  # fmt: skip
    assert found["results"]["flaky-Sum-v0"]["reward,none"] == 1.0
    assert [len(messages) for messages in seen] == [1, 1, 1]


def test_several_turns_are_refused() -> None:
    with pytest.raises(SettingError, match=r"several.*inspect_ai"):
        harness_task(GUESS, count=1)


def test_the_example_of_the_page() -> None:
    (block,) = page.examples("lm-evaluation-harness")
    names: dict[str, Any] = {}
    exec(block.partition("found = ")[0], names)
    found = run(names["task"], Scripted(lambda text: "5"))
    assert len(found["samples"]["mint-Math-v0"]) == 64
