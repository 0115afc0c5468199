"""Before and after a run: weights to begin with, and a folder to take away."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from peft import PeftModel  # noqa: E402
from tiny import model_folder  # noqa: E402
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402

import mint_envs  # noqa: E402
from mint_envs import Reward, Task  # noqa: E402
from mint_envs.jsonl import whole_rows  # noqa: E402
from trainers.__main__ import main  # noqa: E402
from trainers.backends import Datum, LoraParams  # noqa: E402
from trainers.backends.bandit import BanditBackend  # noqa: E402
from trainers.backends.local import LocalBackend  # noqa: E402
from trainers.stored import read_state  # noqa: E402

pytestmark = [pytest.mark.local, pytest.mark.usefixtures("no_settings")]


class Odd(Task[int]):
    """Rewards half of all texts, so that a random model has something to learn from."""

    def sample(self, rng: np.random.Generator) -> int:
        return int(rng.integers(9))

    def prompt(self, problem: int) -> str:
        return f"{problem}:"

    def score(self, problem: int, response: str) -> Reward:
        return Reward(float(sum(map(ord, response)) % 2))


mint_envs.register("test/Odd-v0", Odd)

BANDIT = [
    "test/Odd-v0", "--backend", "bandit", "--steps", "8", "--lr", "0.5", "--max-tokens", "2",
    "--temperature", "1",
]  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a tiny model, whose output layer shares its weight with the embeddings."""
    folder = tmp_path_factory.mktemp("trained")
    argv = [
        "test/Odd-v0", "--preset", "documents", "--backend", "local", "--dtype", "float32",
        "--base-model", model_folder(folder / "model"), "--threads", "1", "--device", "cpu",
        "--batch", "4", "--group", "6", "--lr", "0.05", "--steps", "3", "--max-tokens", "3",
        "--temperature", "2", "--eval-every", "3", "--eval-problems", "5",
    ]  # fmt: skip
    assert main([*argv, "--run-dir", str(folder / "run")]) == 0
    return folder


TOKENS = tuple(b"Q: 12+1?\nA: 13")
DATUM = Datum(TOKENS, np.array([0.0] * 3 + [1.0] * (len(TOKENS) - 3)), *[np.zeros(len(TOKENS))] * 2)


def logprobs(folder: Path, **where: Any) -> Any:
    backend = LocalBackend(
        str(folder / "model"), LoraParams(), device="cpu", dtype="float32", threads=1, **where
    )
    assert backend._optimizer is None or "resume_from" in where
    return backend.logprobs([DATUM])[0]


def plainly(model: Any) -> Any:
    """The log-probabilities by a plain pass of transformers."""
    with torch.no_grad():
        table = model(torch.tensor([TOKENS])).logits.float().log_softmax(-1)[0]
    picked = table[range(len(TOKENS) - 1), TOKENS[1:]].double().numpy()
    return np.concatenate([[0.0], picked]) * DATUM.mask


# -- before ---------------------------------------------------------------------------------------


def test_a_run_begins_with_the_weights_of_another_and_none_of_its_optimizer() -> None:
    assert main([*BANDIT, "--run-dir", "first"]) == 0
    assert main([*BANDIT, "--run-dir", "second", "--init-from", "first", "--seed", "1"]) == 0
    assert main([*BANDIT, "--run-dir", "cold", "--seed", "1"]) == 0
    first, second, cold = (
        whole_rows(Path(f"{name}/metrics.jsonl"))[0]["entropy"]
        for name in ("first", "second", "cold")
    )
    assert second < min(first, cold) - 0.01
    began = BanditBackend(init_from=read_state(Path("first"))["training"])
    assert began._table
    assert not began._moments
    # It goes on from its own checkpoint, not from the other run's.
    assert main(["--resume", "second", "--steps", "9"]) == 0


@pytest.mark.parametrize("form", ["run", "adapter"])
def test_an_adapter_is_begun_with(trained: Path, form: str, tmp_path: Path) -> None:
    where = Path(read_state(trained / "run")["training"])
    wanted = logprobs(trained, resume_from=where)
    if form == "adapter":
        where = tmp_path / "adapter"
        assert main(["export", str(trained / "run"), "--adapter", str(where)]) == 0
    assert logprobs(trained, init_from=where).tolist() == wanted.tolist()
    assert logprobs(trained).tolist() != wanted.tolist()


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("nowhere", "nowhere: it does not exist; the bandit backend begins with the folder"),
        ("tinker://a/weights/b", "the bandit backend begins with the folder"),
        (".", "cannot be read"),
    ],
)
def test_weights_that_are_not_there_are_one_line(
    where: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*BANDIT, "--init-from", where, "--run-dir", "run"]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.splitlines()) == 1


def test_a_folder_without_an_adapter_is_one_line(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["test/Odd-v0", "--backend", "local", "--device", "cpu", "--dtype", "float32"]
    argv += ["--base-model", str(trained / "model"), "--init-from", str(trained / "model")]
    assert main(argv) == 2
    assert "A whole model is given by --base-model" in capsys.readouterr().err


# -- after ----------------------------------------------------------------------------------------


def test_a_merged_model_says_what_the_run_s_model_says(trained: Path, tmp_path: Path) -> None:
    wanted = logprobs(trained, resume_from=read_state(trained / "run")["training"])
    assert main(["export", str(trained / "run"), "--merged", str(tmp_path / "out")]) == 0
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out", dtype=torch.float32)
    assert np.abs(plainly(model) - wanted).max() < 1e-4
    base = AutoModelForCausalLM.from_pretrained(trained / "model", dtype=torch.float32)
    assert np.abs(plainly(base) - wanted).max() > 1e-2  # the run has moved it
    assert AutoTokenizer.from_pretrained(tmp_path / "out").encode("12")
    card = (tmp_path / "out" / "README.md").read_text()
    for words in ("test/Odd-v0", f"mint-envs {mint_envs.__version__}", "3 steps", "After step 3"):
        assert words in card


def test_an_adapter_says_what_the_run_s_model_says(trained: Path, tmp_path: Path) -> None:
    wanted = logprobs(trained, resume_from=read_state(trained / "run")["training"])
    assert main(["export", str(trained / "run"), "--adapter", str(tmp_path / "out")]) == 0
    base = AutoModelForCausalLM.from_pretrained(trained / "model", dtype=torch.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of layers that share a weight, and of old names
        model = PeftModel.from_pretrained(base, tmp_path / "out")
    assert np.abs(plainly(model) - wanted).max() < 1e-4
    assert not (tmp_path / "out" / "optimizer.pt").exists()


def test_what_cannot_be_exported_is_one_line(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*BANDIT, "--run-dir", "bandit"]) == 0
    (tmp_path / "there").mkdir()
    (tmp_path / "new").mkdir()
    config = json.loads((trained / "run" / "config.json").read_text())
    (tmp_path / "new" / "config.json").write_text(json.dumps(config))
    capsys.readouterr()
    for run, target, words in (
        ("bandit", "out", "trained with --backend bandit"),
        (str(trained / "run"), "there", "is there already"),
        ("nowhere", "out", "is not a run"),
        ("new", "out", "has no checkpoint yet"),
    ):
        assert main(["export", run, "--merged", target]) == 2
        error = capsys.readouterr().err
        assert words in error
        assert len(error.splitlines()) == 1
    assert not (tmp_path / "out").exists()
