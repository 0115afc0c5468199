"""Training on responses that are given: rows, losses, resumption, and RL after it."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers_for_tests import small_tokenizer

from mint_envs import ByteTokenizer
from mint_envs.datasets import placed_rows
from mint_envs.jsonl import whole_rows
from mint_envs.tokens import Codec
from trainers.__main__ import main
from trainers.config import SftConfig
from trainers.errors import TrainerError
from trainers.sft import GivenRow, given_rows, mean_loss, row_datum
from trainers.stored import read_state

pytestmark = pytest.mark.usefixtures("no_settings")
ARGV = ["--backend", "bandit", "--batch", "4", "--lr", "0.3", "--eval-every", "5"]


def written(rows: list[Any], name: str = "rows.jsonl") -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def doubles(many: int) -> str:
    """Rows with a response of two digits, whatever is asked: a table of contexts learns each."""
    return written([{"prompt": f"{i % 7}?", "response": f"{i % 7}{i % 7}"} for i in range(many)])


def metrics(folder: str, key: str, file: str = "metrics.jsonl") -> list[float]:
    return [row[key] for row in whole_rows(Path(folder) / file) if key in row]


# -- learning -------------------------------------------------------------------------------------


def test_the_loss_falls_from_that_of_all_arms_alike() -> None:
    assert main(["sft", doubles(28), *ARGV, "--epochs", "8", "--run-dir", "r"]) == 0
    losses = metrics("r", "loss")
    assert len(losses) == 56
    assert losses[0] == pytest.approx(math.log(11))
    assert losses[-1] < 0.1
    assert metrics("r", "tokens")[0] == 4 * 3  # two digits and the end of the turn


def test_what_is_held_out_is_never_trained_on_and_its_loss_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [{"prompt": f"{i}?", "response": "12"} for i in range(200)]
    file = written([*rows, *rows])
    trained, held = given_rows(SftConfig(data=file))
    assert 20 <= len(held) <= 60
    assert len(trained) + len(held) == 400
    assert not {row.key for row in trained} & {row.key for row in held}
    assert main(["sft", file, *ARGV, "--steps", "5", "--run-dir", "r"]) == 0
    assert [row["step"] for row in whole_rows(Path("r/eval.jsonl"))] == [0, 5]
    assert metrics("r", "eval/loss", "eval.jsonl")[0] == pytest.approx(math.log(11))
    assert f"Eval after step 5 (held out, {len(held)} rows): loss=" in capsys.readouterr().out


def test_a_file_of_its_own_is_held_out_whole() -> None:
    own = written([{"prompt": "3?", "response": "3"}], "held.jsonl")
    trained, held = given_rows(SftConfig(data=doubles(28), eval_data=own))
    assert [row.prompt for row in held] == ["3?"]
    assert len(trained) == 24
    assert "3?" not in {row.prompt for row in trained}


def test_few_prompts_are_not_divided_and_nothing_is_called_held_out() -> None:
    assert main(["sft", doubles(28), *ARGV, "--run-dir", "r"]) == 0
    assert not Path("r/eval.jsonl").exists()


def test_the_rows_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(file: str) -> Any:
        read.append(file)
        return placed_rows(file)

    monkeypatch.setattr("trainers.sft.placed_rows", counted)
    file = doubles(28)
    assert main(["sft", file, *ARGV, "--run-dir", "r"]) == 0
    assert read == [file]


def test_a_resumed_run_is_the_uninterrupted_one() -> None:
    file = doubles(28)
    assert main(["sft", file, *ARGV, "--steps", "9", "--run-dir", "whole"]) == 0
    assert main(["sft", file, *ARGV, "--steps", "4", "--run-dir", "part"]) == 0
    assert main(["--resume", "part", "--steps", "9"]) == 0
    assert metrics("part", "loss") == metrics("whole", "loss")
    one, two = (
        (Path(read_state(Path(f))["training"]) / "bandit.json").read_text()
        for f in ("whole", "part")
    )
    assert one == two


def test_more_epochs_go_on_where_the_last_one_ended() -> None:
    assert main(["sft", doubles(28), *ARGV, "--run-dir", "r"]) == 0
    assert main(["--resume", "r", "--epochs", "2"]) == 0
    assert [row["step"] for row in whole_rows(Path("r/metrics.jsonl"))] == list(range(1, 15))


def test_fewer_rows_than_a_batch_are_each_taken_once() -> None:
    assert main(["sft", doubles(3), *ARGV, "--epochs", "2", "--run-dir", "r"]) == 0
    assert metrics("r", "rows") == [3, 3]


def test_the_learning_rate_falls_over_the_steps_that_the_epochs_take() -> None:
    """By the last step nothing is left of it: what it learned is less than what the first did."""
    argv = ["sft", doubles(28), *ARGV, "--lr-schedule", "linear", "--epochs", "4"]
    assert main([*argv, "--run-dir", "falls"]) == 0
    assert main([*argv, "--lr-schedule", "constant", "--run-dir", "stays"]) == 0
    assert metrics("falls", "loss")[0] == metrics("stays", "loss")[0]
    assert metrics("falls", "loss")[-1] > metrics("stays", "loss")[-1]


def test_rl_begins_with_what_was_learned() -> None:
    rl = ["mint/Math-v0", "--digits", "1", "--backend", "bandit", "--steps", "1", "--batch", "16"]
    assert main([*rl, "--run-dir", "cold"]) == 0
    prompt = next(iter(whole_rows(Path("cold/rollouts.jsonl"))))["prompt"]
    after = re.split(r"\d \+ \d", prompt)[-1]
    shown = prompt[: prompt.rindex(after) - 5]  # the few shots too
    rows = [
        {"prompt": f"{shown}{a} + {b}{after}", "response": str(a + b)}
        for a in range(10)
        for b in range(10)
    ]
    argv = ["sft", written(rows), *ARGV, "--epochs", "20", "--run-dir", "warm"]
    assert main(argv) == 0
    assert main([*rl, "--init-from", "warm", "--run-dir", "after"]) == 0
    assert metrics("after", "accuracy")[0] > 0.5 > metrics("cold", "accuracy")[0]


# -- rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "end"),
    [
        ("chatml", "<|im_end|>"),
        ("chatml-base", "<|im_end|>"),
        ("llama3", "<|eot_id|>"),
        ("inst", " </s>"),
        ("plain", "<|endoftext|>"),
    ],
)
def test_the_loss_is_on_the_responses_alone_each_with_its_end(shape: str, end: str) -> None:
    codec = Codec(small_tokenizer(shape))
    row = GivenRow(
        "row 1",
        [{"role": "system", "content": "Be short."}, {"role": "user", "content": "One?"}],
        ["1", "2"],
        [[{"role": "user", "content": "Two?"}]],
    )
    datum = row_datum(row, codec, 10_000)
    text = codec.decode(list(datum.tokens))
    edges = np.flatnonzero(np.diff(datum.mask, prepend=0, append=0))
    said = [codec.decode(list(datum.tokens[a:b])) for a, b in edges.reshape(-1, 2)]
    assert said == [f"1{end}", f"2{end}"]
    assert text.index("Be short.") < text.index("One?") < text.index("Two?")
    first = codec.encode_prompt(row.prompt)
    assert list(datum.tokens[: len(first)]) == first
    between = text[text.index("1" + end) + 1 : text.index("Two?")]
    assert between.count(end.strip()) == 1  # closed once


def test_messages_and_a_prompt_of_messages_are_the_same_row() -> None:
    ask, answer = {"role": "user", "content": "One?"}, {"role": "assistant", "content": "1"}
    one, _ = given_rows(SftConfig(data=written([{"prompt": [ask], "response": "1"}])))
    two, _ = given_rows(SftConfig(data=written([{"messages": [ask, answer]}])))
    assert one == two


def test_the_mean_is_over_tokens_and_not_over_rows() -> None:
    codec = Codec(ByteTokenizer())
    datums = [row_datum(GivenRow("", "a", [text]), codec, 100) for text in ("1", "123")]
    logprobs = [-datum.mask for datum in datums]
    logprobs[1] = logprobs[1] * 4
    assert mean_loss(logprobs, datums) == pytest.approx((2 * 1 + 4 * 4) / 6)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": "1"}, "prompt: Field required"),
        ({"prompt": "1"}, "response: Field required"),
        ({"prompt": "1", "response": ""}, "response: String should have at least 1 character"),
        ({"prompt": 1, "response": "1"}, "prompt: Input should be a valid"),
        ({"prompt": "1", "response": None}, "response: Input should be a valid string"),
        ({"messages": []}, "messages: List should have at least 1 item"),
        ({"messages": [{"role": "user", "content": "1"}]}, "messages.0: the last must"),
        (
            {"messages": [{"role": "assistant", "content": "1"}]},
            "messages.0: the assistant",
        ),
        (
            {"messages": [{"role": "user", "content": "1"}, {"role": "assistant", "content": 2}]},
            "messages.1.content: Input should be a valid string (it is 2)",
        ),
        (
            {"prompt": [{"role": "bot", "content": "1"}], "response": "1"},
            "prompt.0.role: Input should be 'system', 'user' or 'assistant' (it is 'bot')",
        ),
        ({"prompt": "1", "response": "1", "system": "Be brief."}, "system is not read"),
        ({"prompt": "1", "response": "1", "label": False}, "label is not read"),
        (
            {
                "messages": [
                    {"role": "user", "content": "1"},
                    {"role": "assistant", "content": "1", "weight": 0},
                ]
            },
            "messages.1.weight is not read",
        ),
        (
            {
                "messages": [
                    {"role": "user", "content": "1"},
                    {"role": "assistant", "content": "1", "tool_calls": [{}]},
                ]
            },
            "messages.1.tool_calls is not read",
        ),
        (
            {
                "tools": [{"name": "f"}],
                "messages": [
                    {"role": "user", "content": "1"},
                    {"role": "assistant", "content": "1"},
                ],
            },
            "tools is not read",
        ),
        ({"prompt": "1", "response": "no digits"}, "the bandit does not know the token"),
    ],
)
def test_a_broken_row_is_refused_with_file_line_and_field(
    row: Any, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written([{"prompt": "1", "response": "1"}, row])
    assert main(["sft", file, *ARGV, "--run-dir", "r"]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    if "bandit" not in message:
        assert f"row 2 of '{file}'" in said
        assert not Path("r").exists()


def test_a_line_that_is_no_json_and_a_file_that_is_not_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("rows.jsonl").write_text('{"prompt": "1", "response": "1"}\n{"prompt"\n')
    assert main(["sft", "rows.jsonl", *ARGV]) == 2
    assert "line 2" in capsys.readouterr().err
    assert main(["sft", "no.jsonl", *ARGV]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_a_row_that_is_too_long_is_named() -> None:
    with pytest.raises(TrainerError, match=r"row 7 has 4 tokens, and the model has room for 3"):
        row_datum(GivenRow("row 7", "a", ["12"]), Codec(ByteTokenizer()), 3)


# -- the command ----------------------------------------------------------------------------------


def test_help_shows_examples_and_only_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["sft", "--help"])
    said = capsys.readouterr().out
    assert left.value.code == 0
    assert "mint-grpo sft rows.jsonl" in said
    assert "--epochs" in said
    assert "--max-turns" not in said


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["sft"], "the file of rows comes first: mint-grpo sft FILE"),
        (["sft", "--batch", "4"], "the file of rows comes first"),
        (["sft", "rows.jsonl", "--group", "4"], "there is no option --group"),
        (["sft", "rows.jsonl", "--lr", "-1"], "--lr: input should be greater than 0"),
        (["sft", "rows.jsonl", "--warmup", "5", "--steps", "4"], "warmup=5 must be less than"),
    ],
)
def test_a_mistake_in_its_options_is_one_line(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    doubles(7)
    assert main(argv) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_settings_come_from_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINT_RL_BATCH", "7")
    monkeypatch.setenv("MINT_RL_GROUP", "5")  # of RL alone
    assert main(["sft", doubles(28), "--backend", "bandit", "--run-dir", "r"]) == 0
    config = json.loads(Path("r/config.json").read_text())
    assert (config["batch"], config["env"]) == (7, "sft")
    assert "group" not in config


def test_a_warm_up_that_takes_longer_than_the_rows_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["sft", doubles(20), *ARGV, "--warmup", "100", "--run-dir", "run"]) == 2
    assert "warmup=100 must be less than the" in capsys.readouterr().err
