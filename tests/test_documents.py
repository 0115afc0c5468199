"""``RLConfig`` and ``run_grpo``: what the documents' scripts say is done, on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import document_adapters as adapters
import document_scripts
import pytest

import mint_envs
import trainers
from mint_envs import Reward
from mint_envs.jsonl import whole_rows
from mint_envs.registration import family_of
from trainers import RLAdapter, RLConfig, run_grpo
from trainers.__main__ import main
from trainers.config import LOCAL_OTHER, SERVICE, TrainConfig
from trainers.errors import TrainerError

SIZES: dict[str, Any] = {"steps": 2, "batch": 3, "group": 4, "max_tokens": 3}


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("MINT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MINT_RL_BACKEND", "bandit")
    monkeypatch.chdir(tmp_path)


def test_what_is_public() -> None:
    assert trainers.__all__ == ["RLAdapter", "RLConfig", "run_grpo"]
    assert RLAdapter is mint_envs.RLAdapter
    with pytest.raises(AttributeError, match="run_ppo"):
        _ = trainers.run_ppo  # type: ignore[attr-defined]


def test_defaults_and_variables_of_the_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    assert RLConfig.from_env() == RLConfig(None, 16, 5, 8, 4, 1e-4, 16, 1.0)
    values = {
        "MINT_BASE_MODEL": "a/b", "MINT_LORA_RANK": "2", "MINT_RL_STEPS": "3", "MINT_RL_BATCH": "4",
        "MINT_RL_GROUP": "5", "MINT_RL_LR": "6e-5", "MINT_RL_MAX_TOKENS": "7",
    }  # fmt: skip
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    Path(".env").write_text("MINT_RL_TEMPERATURE=0.5\nMINT_RL_STEPS=99\n")
    assert RLConfig.from_env() == RLConfig("a/b", 2, 3, 4, 5, 6e-5, 7, 0.5)
    monkeypatch.setenv("MINT_RL_GROUP", "many")
    with pytest.raises(TrainerError, match="MINT_RL_GROUP='many' is no int"):
        RLConfig.from_env()


def test_a_setting_that_is_none_is_refused() -> None:
    cfg = RLConfig()
    with pytest.raises(AttributeError):
        cfg.learning_rate = 1e-5  # type: ignore[attr-defined]
    cfg.group = 1
    with pytest.raises(TrainerError, match="--group"):
        run_grpo(document_scripts.Sums(), cfg)
    with pytest.raises(TrainerError, match="stepz"):
        run_grpo(document_scripts.Sums(), RLConfig(), stepz=3)


def test_every_setting_reaches_the_run() -> None:
    cfg = RLConfig("some/model", 3, 2, 3, 4, 0.25, 3, 0.5)
    saved = run_grpo(document_scripts.Sums(), cfg, run_dir="r", kl_penalty_coef=0.1)
    assert saved == str(Path("r/checkpoints/step-000002"))
    stored = json.loads(Path("r/config.json").read_text())
    wanted = {
        "base_model": "some/model", "rank": 3, "steps": 2, "batch": 3, "group": 4, "lr": 0.25,
        "max_tokens": 3, "temperature": 0.5, "kl_penalty_coef": 0.1, "length_norm": "none",
        "betas": [0.9, 0.999], "advantage": "mean",
    }  # fmt: skip
    assert {name: stored[name] for name in wanted} == wanted
    assert len(whole_rows(Path("r/rollouts.jsonl"))) == 2 * 3 * 4


def test_the_script_runs_on_this_machine(tmp_path: Path) -> None:
    """With a model, in a process of its own; the line of a step is the adapter's, and once."""
    tiny = pytest.importorskip("tiny")
    pytest.importorskip("torch")
    model = tiny.model_folder(tmp_path / "model")
    env = {**os.environ, "MINT_BASE_MODEL": model, "MINT_RL_BACKEND": "", "MINT_RL_RUN_DIR": "r"}
    done = subprocess.run(
        [sys.executable, "-W", "error", document_scripts.__file__],
        env=env, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("Step")]
    assert [line.partition(" datums=")[0].split(":")[0] for line in lines] == ["Step 1", "Step 2"]
    assert done.stdout.splitlines()[-1] == "Saved: r/checkpoints/step-000002"


class Bare:
    """No subclass of ours: what it lacks is as in the documents."""

    def build_dataset(self) -> list[int]:
        return list(range(60))

    def make_prompt(self, sample: int, tokenizer: Any) -> list[int]:
        ids: list[int] = tokenizer.encode(f"{sample}?")
        return ids

    def compute_reward(self, response: str, sample: int) -> float:
        return float(response.startswith(str(sample)[-1]))


def test_any_adapter_runs_and_so_does_an_environment_of_ours(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_grpo(Bare(), RLConfig(**SIZES), run_dir="a")
    assert "Step 2: accuracy=" in capsys.readouterr().out
    run_grpo(mint_envs.to_adapter("mint/Math-v0", digits=1), RLConfig(**SIZES), run_dir="b")
    groups: dict[Any, set[str]] = {}
    for row in whole_rows(Path("b/rollouts.jsonl")):
        groups.setdefault((row["step"], row["seed"]), set()).add(row["prompt"])
    assert len(groups) == 6
    assert all(len(prompts) == 1 for prompts in groups.values())


@pytest.mark.parametrize(
    "adapter", [adapters.SoundAddition, adapters.Preference, adapters.FunctionWriting]
)
def test_the_documents_adapters_run(adapter: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_grpo(adapter(), RLConfig(**SIZES), run_dir="r")
    out = capsys.readouterr().out
    assert out.count("Step 2: ") == 1
    assert ("avg_reward=" in out) == (adapter is adapters.Preference)


class Signed(RLAdapter):
    """The second form, on tokens, with rewards from -1 to 1; it hears what it gave."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[int, list[float], int]] = []

    def build_dataset(self) -> list[str]:
        return [f"Say {number}." for number in range(60)]

    def __call__(self, prompt: Any, response: Any) -> Reward | Any:
        text = self.get_tokenizer().decode(response.to_ints())
        return types_reward(1.0 if "1" in text else -1.0)

    def evaluate(self, step: int, rewards: list[float], num_datums: int) -> None:
        self.told.append((step, rewards, num_datums))


def types_reward(score: float) -> Any:
    class Other:
        metadata: dict[str, Any] = {}

    made = Other()
    made.score = score  # type: ignore[attr-defined]
    return made


def test_rewards_of_another_range_and_resume() -> None:
    adapter = Signed()
    run_grpo(adapter, RLConfig(**SIZES), reward_range=(-1.0, 1.0), run_dir="r")
    assert [step for step, _, _ in adapter.told] == [1, 2]
    assert {reward for _, rewards, _ in adapter.told for reward in rewards} == {-1.0, 1.0}
    assert adapter.get_tokenizer().vocab_size == 259  # the model's
    longer = RLConfig(**{**SIZES, "steps": 4})
    run_grpo(adapter, longer, reward_range=(-1.0, 1.0), resume="r")
    assert [step for step, _, _ in adapter.told] == [1, 2, 3, 4]
    steps = [row["step"] for row in whole_rows(Path("r/metrics.jsonl"))]
    assert steps == [1, 2, 3, 4]
    with pytest.raises(TrainerError, match="reward_range"):
        run_grpo(Signed(), RLConfig(**SIZES), run_dir="s")


# -- presets --------------------------------------------------------------------------------------


def test_what_a_preset_changes_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mint/Chat-v0", "--preset", "local", "--steps", "1", "--batch", "2"]) == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if "By preset" in one]
    assert "max_tokens=32 (documents: 128)" in line
    assert "lr=0.0005 (documents: 2e-05)" in line
    assert "steps" not in line  # that one was given
    assert main(["mint/Chat-v0", "--preset", "documents", "--steps", "1", "--batch", "2"]) == 0
    assert "By preset" not in capsys.readouterr().out


def test_the_page_has_the_presets_as_they_are() -> None:
    page = (Path(__file__).parents[1] / "docs" / "training.md").read_text(encoding="utf-8")
    presets = {id: family_of(id).presets for id in ("mint/Math-v0", "mint/Code-v0",
               "mint/ToolUse-v0", "mint/Chat-v0")}  # fmt: skip
    rows = [("any", {"documents": {}, "local": LOCAL_OTHER}), *presets.items()]
    for id, named in rows:
        for name in ("documents", "local"):
            words = ", ".join(f"{key} {_shown(value)}" for key, value in named[name].items())
            assert f"| {id} | {name} | {words or 'none'} |" in page
    words = ", ".join(f"{key} {_shown(value)}" for key, value in SERVICE.items())
    assert f"| any | on a service, beside the documents' | {words} |" in page


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={item}" for key, item in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)


# -- where metrics go -----------------------------------------------------------------------------


def test_wandb_has_project_and_name_and_goes_on_by_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    made: list[dict[str, Any]] = []
    fake = types.ModuleType("wandb")
    fake.init = lambda **values: made.append(values)  # type: ignore[attr-defined]
    fake.log = lambda metrics, step: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", fake)
    argv = ["mint/Math-v0", "--steps", "1", "--batch", "2", "--log-to", "wandb"]
    assert main([*argv, "--run-dir", "r"]) == 0
    assert main(["--resume", "r", "--steps", "2"]) == 0
    assert main([*argv, "--run-dir", "s", "--log-project", "p", "--log-name", "n"]) == 0
    first, again, other = made
    assert (first["project"], first["name"], first["resume"]) == ("mint-envs", "r", "allow")
    assert again["id"] == first["id"] != other["id"]
    assert (other["project"], other["name"]) == ("p", "n")
    assert TrainConfig(**first["config"]).batch == 2


def test_keep_says_how_many_checkpoints_stay() -> None:
    argv = ["mint/Math-v0", "--steps", "4", "--batch", "2", "--save-every", "1", "--keep", "3"]
    assert main([*argv, "--run-dir", "r"]) == 0
    assert len(list(Path("r/checkpoints").glob("step-*"))) == 3
