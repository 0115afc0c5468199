"""Several turns and tools against a scripted address that fails, and the tokens that it gives."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from model_server import answering, counted, said

from mint_envs.cli import main
from mint_envs.evaluate import EvalPlan, Evaluation, evaluate
from mint_envs.evaluate.plan import choose
from mint_envs.evaluate.report import report_of
from mint_envs.jsonl import whole_rows
from mint_envs.policies import OpenAIPolicy
from mint_envs.records.replay import SAME, Lines, replay


def plan(**changes: Any) -> EvalPlan:
    return EvalPlan(**{"env": "mint/ToolUse-v0", "problems": 6, "samples": 2, "max_tokens": 64,
                       "settings": {"toolkit": "keyvalue"}, **changes})  # fmt: skip


def skilled(asked: EvalPlan) -> Any:
    """An answer to each request: the worked example's next turn, or none of every third problem."""
    chosen = choose(asked)
    turns: dict[str, tuple[str, ...]] = {}
    for number, ref in enumerate(chosen.refs):
        problem = ref.of(chosen.task)
        example = next(iter(chosen.task.examples(problem)))
        turns[chosen.task.prompt(problem)[-1]["content"]] = (  # type: ignore[index]
            example if number % 3 else ("I will not.",)
        )

    def answer(request: dict[str, Any], turn: int) -> tuple[int, Any]:
        messages = request["messages"]
        past = sum(message["role"] == "assistant" for message in messages)
        asked = [m["content"] for m in messages if m["content"] in turns]
        ready = turns[asked[-1]]
        return counted(ready[min(past, len(ready) - 1)], 10, 5)

    return answer


def failing(answer: Any) -> Any:
    """The same answers, after the faults that the request says."""

    def faulty(request: dict[str, Any], turn: int) -> tuple[int, Any]:
        number = int(hashlib.blake2b(str(request["seed"]).encode()).hexdigest(), 16)
        if turn < number % 3:
            return [(500, {}), (429, {}), (0, {"broken": "stream"}), (200, [])][number % 4]
        found: tuple[int, Any] = answer(request, turn)
        return found

    return faulty


def ask(asked: EvalPlan, url: str, out: Path, **settings: Any) -> Evaluation:
    policy = OpenAIPolicy("a/model", url, retries=4, backoff_s=0.001, concurrency=4, **settings)
    return evaluate(asked, policy, "m", out)


def told(found: Evaluation) -> list[tuple[Any, ...]]:
    return [(one.problem, one.sample, one.score, one.turns, one.tokens) for one in found.outcomes]


@pytest.mark.filterwarnings("default")
def test_tools_are_played_over_several_turns_whatever_fails(tmp_path: Path) -> None:
    asked = plan()
    answer = skilled(asked)
    with answering(answer) as server:
        calm = ask(asked, server.url, tmp_path / "calm.jsonl")
    with answering(failing(answer)) as server:
        found = ask(asked, server.url, tmp_path / "faulty.jsonl")
        assert len(server.bodies) > sum(one.turns for one in calm.outcomes)
    assert told(found) == told(calm)
    assert found.lost == 0
    scores = Counter(one.score for one in found.outcomes)
    assert scores[1.0] == 8
    assert max(one.turns for one in found.outcomes) > 1
    assert {one.status for one in replay(Lines(tmp_path / "faulty.jsonl").rows())} == {SAME}


IDS = {"token_ids": [72, 105, 2], "logprobs": {"content": [{"logprob": -0.5}] * 3}}


def spoken(found: dict[str, Any]) -> Any:
    def answer(request: dict[str, Any], turn: int) -> tuple[int, Any]:
        status, body = said("Hi")
        if request.get("return_token_ids"):
            body["choices"][0] |= found
        return status, body

    return answer


@pytest.mark.parametrize(
    ("given", "exact"),
    [
        (IDS, True),
        ({**IDS, "token_ids": None}, False),
        ({**IDS, "token_ids": [72, "105", 2]}, False),
        ({**IDS, "token_ids": [72]}, False),
        ({**IDS, "logprobs": None}, False),
        ({**IDS, "logprobs": {"content": [None] * 3}}, False),
    ],
)
def test_tokens_are_kept_as_they_were_sampled(
    tmp_path: Path, given: dict[str, Any], exact: bool
) -> None:
    asked = EvalPlan(env="mint/Math-v0", problems=2, samples=2, max_tokens=8)
    options = {"logprobs": True, "return_token_ids": True}
    with answering(spoken(given)) as server:
        found = ask(asked, server.url, tmp_path / "out.jsonl", options=options)
    assert found.exact == (4 if exact else 0)
    notes = "".join(report_of([found]).sections[0].notes)
    assert ("of all responses are in the file" in notes) is exact
    assert ("not token by token" in notes) is not exact
    rows = whole_rows(tmp_path / "out.jsonl")
    assert all(row.get("response_ids") == ([[72, 105, 2]] if exact else None) for row in rows)
    if exact:
        assert rows[0]["response_logprobs"] == [[-0.5] * 3]
        again = ask(asked, "http://127.0.0.1:9", tmp_path / "out.jsonl")  # all is there
        assert again.exact == 4


def test_fields_of_requests_are_given_to_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["eval", "mint/Math-v0", "--model", "m", "-n", "2", "-k", "1", "--option",
             "return_token_ids=true", "--option", "logprobs=true"]  # fmt: skip
    with answering(spoken(IDS)) as server:
        done = CliRunner().invoke(main, [*words, "--base-url", server.url])
        assert done.exit_code == 0, done.output
        assert all(body["logprobs"] is True for body in server.bodies)
    assert "of all responses are in the file" in " ".join(done.output.split())
    wrong = CliRunner().invoke(
        main, ["eval", "mint/Math-v0", "--model", "m", "--base-url", "http://[::1]:9/v1",
               "--option", "n=3"],
    )  # fmt: skip
    assert wrong.exit_code == 2
    assert "options may not set 'n'" in wrong.output
