"""What newcomers get wrong on the way from a function and a file to a trained model.

Each mistake is one line that has the value and says what to do; none is a traceback.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from scratch import scratch

import mint_envs
from mint_envs.cli import main
from mint_envs.errors import MintEnvsError
from trainers.__main__ import main as grpo

GOOD = '{"prompt": "2 + 3?", "answer": "5"}\n{"prompt": "1 + 3?", "answer": "4"}\n'
FILES: dict[str, str | bytes] = {
    "rewards.py": "def exact(response, answer):\n    return float(response.strip() == answer)\n",
    "truth.py": "def exact(response, truth):\n    return 1.0\n",
    "nothing.py": "def exact():\n    return 1.0\n",
    "text.py": "def exact(response, answer):\n    return 'yes'\n",
    "minus.py": "def exact(response, answer):\n    return -1.0 if response != answer else 1.0\n",
    "penalty.py": "def exact(response, answer):\n    return 0.0 if response == answer else -1.0\n",
    "verl.py": "def exact(data_source, solution_str, ground_truth):\n    return {'acc': 1.0}\n",
    "raises.py": "def exact(response, answer):\n    return float(response)\n",
    "exits.py": "import sys\n\ndef exact(response, answer):\n    sys.exit(3)\n",
    "one.jsonl": '{"prompt": "1 + 3?", "answer": "4"}\n',
    "excel.csv": "prompt,answer\n2 + 3?,5\n".encode("utf-16"),
    "semicolons.csv": "prompt;answer\n" + "".join(f"{i} + 3?;{i + 3}\n" for i in range(40)),
    "syntax.py": "def exact(response, answer)\n    return 1.0\n",
    "needs.py": "import no_such_package\n\ndef exact(response, answer):\n    return 1.0\n",
    "rows.jsonl": GOOD,
    "rows.txt": GOOD,
    "empty.jsonl": "",
    "bad.jsonl": GOOD + "{'prompt': 'x'}\n",
    "list.jsonl": '["2 + 3?", "5"]\n',
    "torn.jsonl": GOOD + '{"prompt": "2 + ',
    "latin.jsonl": GOOD.encode() + '{"prompt": "Größe?"}\n'.encode("latin-1"),
    "object.json": '{"prompt": "2 + 3?"}',
    "null.jsonl": GOOD + '{"prompt": "0 + 1?", "answer": null}\n',
    "noprompt.jsonl": '{"ask": "2 + 3?", "answer": "5"}\n',
    "twice.csv": "prompt,prompt\n2 + 3?,5\n",
    "cells.csv": "prompt,answer\n2 + 3?,5\n2, or 3?,4,1\n",
    "rates.jsonl": '{"problem_id": "a", "pass_rate": 1}\n{"problem_id": "a", "pass_rate": 0}\n',
    "notebook.ipynb": "{}",
}
POLICY = ["--model", "m", "--base-url", "http://127.0.0.1:9/v1"]
CHECK = ["check", "rewards.py:exact", "--set"]
EXACT = ["eval", "rewards.py:exact", *POLICY]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with good files and broken ones; what is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINT_API_KEY", "")
    (tmp_path / "folder").mkdir()
    with scratch(tmp_path, FILES):
        yield tmp_path


def rows(dataset: str, *more: str) -> list[str]:
    return [*EXACT, "--set", f"dataset={dataset}", *more]


MISTAKES: list[tuple[list[str], list[str]]] = [
    # the file of rows
    (rows("row.jsonl"), ["dataset='row.jsonl' does not exist", "looked from"]),
    (EXACT, ["give dataset=", "a prompt and an answer"]),
    (rows("rows.txt"), ["dataset='rows.txt' must end in one of .jsonl"]),
    (rows("empty.jsonl"), ["dataset='empty.jsonl' is empty", "at least one row"]),
    (rows("bad.jsonl"), ["line 3 of 'bad.jsonl' is not JSON"]),
    (rows("list.jsonl"), ["line 1 of 'list.jsonl' is a list, not an object"]),
    (rows("torn.jsonl"), ["line 3 of 'torn.jsonl' is not JSON"]),
    (rows("latin.jsonl"), ["line 3 of 'latin.jsonl'", "UTF-8"]),
    (rows("object.json"), ["dataset='object.json' must hold a list of objects"]),
    (rows("folder"), ["dataset='folder' is a folder without a file that ends in .jsonl"]),
    (rows("twice.csv"), ["'twice.csv' needs a first line with a name for each column"]),
    (rows("cells.csv"), ["line 3 of 'cells.csv' has not the 2 cells"]),
    # its fields
    ([*CHECK, "dataset=null.jsonl"], ["row 3 of 'null.jsonl'", "'answer' is null"]),
    ([*CHECK, "dataset=noprompt.jsonl"],
     ["row 1 of 'noprompt.jsonl' has no prompt", "ask", "prompt="]),
    (rows("rows.jsonl", "--set", "answer=gold"), ["'gold' is not there; it has prompt, answer"]),
    (rows("rows.jsonl", "--set", "prompt={q} Now!"), ["'q' is not there; it has prompt, answer"]),
    (rows("rows.jsonl", "--set", "split=dev"), ["split='dev'", "'train', 'test' or 'all'"]),
    (rows("rows.jsonl", "--set", "style=chatty"), ["style='chatty'", "'completion'"]),
    (rows("rows.jsonl", "--set", "datset=x"), ["no setting 'datset'", "Did you mean 'dataset'"]),
    # the function
    (["eval", "reward.py:exact", *POLICY], ["there is no file reward.py", "looked from"]),
    (["eval", "rewards.py:exat", *POLICY], ["no function 'exat'", "Did you mean 'exact'"]),
    (["eval", "rewards.py", *POLICY], ["rewards.py is a file", "rewards.py:"]),
    (["eval", "truth.py:exact", *POLICY, "--set", "dataset=rows.jsonl"], ["truth", "answer"]),
    (["eval", "nothing.py:exact", *POLICY, "--set", "dataset=rows.jsonl"], ["exact", "response"]),
    (["eval", "text.py:exact", *POLICY, "--set", "dataset=rows.jsonl"],
     ["gave 'yes', a str, not a number"]),
    (["eval", "minus.py:exact", *POLICY, "--set", "dataset=rows.jsonl"],
     ["from -1 to 1", "ranges=[[-1.0, 1.0]]"]),
    (["eval", "penalty.py:exact", *POLICY, "--set", "dataset=rows.jsonl"],
     ["from -1 to 0", "ranges=[[-1.0, highest]]"]),
    (["check", "verl.py:exact", "--set", "dataset=rows.jsonl"],
     ["gave {'acc': 1.0}", "without 'score'", "return {'score': number"]),
    (["check", "rewards.py:exact", "--dataset", "rows.jsonl"], ["--set dataset=FILE"]),
    (["bench", "rewards.py:exact", "--dataset", "rows.jsonl"], ["--data FILE"]),
    (["eval", "raises.py:exact", *POLICY, "--set", "dataset=rows.jsonl"],
     ["exact", "could not convert string to float"]),
    (["eval", "exits.py:exact", *POLICY, "--set", "dataset=rows.jsonl"],
     ["exact raised SystemExit", "return 0"]),
    (rows("excel.csv"), ["'excel.csv' is no UTF-8 text", "save it as UTF-8"]),
    (rows("semicolons.csv"), ["row", "of 'semicolons.csv' has no prompt", "prompt;answer"]),
    (rows("one.jsonl"), ["has 1 rows, too few for a split='test'", "split=all"]),
    (["eval", "mint/Math-v0", *POLICY, "--prices", "-1", "2"], ["--prices", "from 0 up"]),
    (["eval", "mint/Math-v0", *POLICY, "-o", "a.jsonl", "--json", "a.jsonl"],
     ["'a.jsonl' is named for two results"]),
    (["eval", "mint/Math-v0", "mint/Math-v0", *POLICY], ["mint/Math-v0 is named twice"]),
    (["eval", "syntax.py:exact", *POLICY, "--set", "dataset=rows.jsonl"], ["syntax.py", "line 1"]),
    (["eval", "needs.py:exact", *POLICY, "--set", "dataset=rows.jsonl"],
     ["no module no_such_package", "needs"]),
    # whose responses
    (["eval", "mint/Math-v0"], ["--model NAME --base-url URL", "--policy local"]),
    (["eval", "mint/Math-v0", "--model", "m"], ["--base-url"]),
    (["eval", "mint/Math-v0", "--policy", "locl"], ["no policy 'locl'", "Did you mean 'local'"]),
    (["eval", "mint/Math-v0", "--policy", "local:no/such-model"], ["no/such-model"]),
    (["eval", "mint/Math-v0", "--policy", "run:folder"], ["folder is not a run"]),
    (["eval", "mint/Math-v0", "--model", "m", "--base-url", "localhost:8000"], ["http://"]),
    (["eval", "mint/Maths-v0", *POLICY], ["there is no mint/Maths-v0", "mint/Math-v0"]),
    (["eval", "mint/Math-v0", *POLICY, "-k", "0"], ["-k", "1 or more"]),
    (["eval", "mint/Math-v0", *POLICY, "--set", "digits"], ["'digits' is not NAME=VALUE"]),
    # difficulty, files, audits
    (["eval", "mint/Math-v0", *POLICY, "--set", "pass_rates=rates.jsonl"],
     ["line 2 of pass_rates='rates.jsonl'", "line 1", "keep one"]),
    (["check", "mint/Math-v0", "--set", "min_pass_rate=0.5"], ["min_pass_rate", "pass_rates=FILE"]),
    (["audit", "row.jsonl"], ["dataset='row.jsonl' does not exist"]),
    (["audit", "rows.jsonl", "--set", "question=ask"], ["no setting 'question'", "question_field"]),
    (["audit", "rows.jsonl", "--write-clean", "no/clean.jsonl"], ["there is no folder", "no"]),
    (["new", "x", "--from", "rewards.py:exact"], ["--from needs --dataset"]),
    (["grpo", "rewards.py:exact", "--datset", "x"], ["--datset", "Did you mean --dataset"]),
    (["grpo", "rewards.py:exact", "--backend", "bandit"], ["give dataset="]),
    (["grpo", "--resume", "folder"], ["folder is not a run"]),
    (["grpo", "mint/Math-v0", "--pass-rates", "rates.jsonl", "--backend", "bandit"],
     ["line 2 of pass_rates='rates.jsonl'"]),
]  # fmt: skip


@pytest.mark.parametrize(("words", "told"), MISTAKES, ids=lambda one: " ".join(one)[:60])
def test_a_mistake_is_one_line(
    here: Path, words: list[str], told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    if words[0] == "grpo":
        code, said = grpo(words[1:]), capsys.readouterr().err
    else:
        done = CliRunner().invoke(main, words)
        code, said = done.exit_code, done.stderr
    assert code == 2, said
    assert "Traceback" not in said
    for part in told:
        assert part in said, said
    lines = [line for line in said.splitlines() if line.strip()]
    assert len(lines) == 1, said
    assert lines[0].startswith(("mint-envs: ", "mint-grpo: ")), said


@pytest.mark.parametrize(
    ("weights", "ranges", "told"),
    [
        ([1], None, r"weights=\[1\]: 2 functions want as many weights"),
        ([1, -1], None, "numbers from 0 up"),
        ([0, 0], None, "at least one must be above 0"),
        (None, [[0, 1]], "one for each of 2 functions"),
        (None, [[1, 0], [0, 1]], "lowest, highest"),
        (None, "0 to 1", "lowest, highest"),
    ],
)
def test_weights_and_ranges(here: Path, weights: Any, ranges: Any, told: str) -> None:
    names = ["rewards.py:exact", "rewards.py:exact"]
    with pytest.raises(MintEnvsError, match=told):
        mint_envs.from_reward_func(names, weights, "rows.jsonl", ranges=ranges)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_what_other_systems_write_is_no_mistake(here: Path, start: bytes, end: bytes) -> None:
    """A mark at the beginning (BOM) and Windows' line ends, in JSONL and CSV."""
    texts = {"a.jsonl": GOOD, "a.csv": "prompt,answer\n2 + 3?,5\n1 + 3?,4\n"}
    for name, text in texts.items():
        (here / name).write_bytes(start + text.encode().replace(b"\n", end))
        task = mint_envs.from_reward_func("rewards.py:exact", dataset=name)
        assert task.size == 2
        assert task.prompt(task.problem(0)) == [{"role": "user", "content": "2 + 3?"}]
        assert task.score(task.problem(1), "4").score == 1.0
