"""The command: where settings come from, and what a wrong one says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from mint_envs.registration import family_of
from trainers.__main__ import main
from trainers.command import parse
from trainers.config import TrainConfig
from trainers.errors import TrainerError

MATH = family_of("mint/Math-v0").presets


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings from the machine the tests run on, and a folder without a .env."""
    for name in list(os.environ):
        if name.startswith("MINT_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_documented_defaults() -> None:
    config = TrainConfig()
    wanted = {
        "steps": 10, "batch": 8, "group": 4, "max_tokens": 16, "lr": 2e-5, "temperature": 0.8,
        "kl_penalty_coef": 0.0, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0,
        "rank": 16, "train_mlp": True, "train_attn": True, "train_unembed": True,
        "loss_fn": "importance_sampling",
    }  # fmt: skip
    assert {name: getattr(config, name) for name in wanted} == wanted


def test_the_documents_defaults_of_math_on_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINT_API_KEY", "tml-x")
    command = parse(["mint/Math-v0"])
    assert command.config.backend == "mint"
    assert command.config.rolling_every == 1  # a service may be gone at any step
    assert command.api_key == "tml-x"
    for name, value in MATH["documents"].items():
        assert getattr(command.config, name) == value
    assert "tml-x" not in repr(command.config)


def test_the_documents_defaults_of_chat_on_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINT_API_KEY", "tml-x")
    config = parse(["mint/Chat-v0"]).config
    wanted = {"steps": 10, "batch": 8, "group": 4, "max_tokens": 128, "temperature": 1.0}
    assert {name: getattr(config, name) for name in wanted} == wanted
    assert config.env_settings == {}


def test_a_judge_is_a_setting_like_any_other() -> None:
    argv = ["mint/Chat-v0", "--judge", "http://localhost:9/v1", "--judge-model", "m",
            "--judge-mode", "pairwise", "--judge-timeout-s", "5", "--judge-concurrency", "3",
            "--judge-options", '{"seed": 1, "temperature": null}']  # fmt: skip
    settings = parse(argv).config.env_settings
    assert settings == {
        "level": "easy", "judge": "http://localhost:9/v1", "judge_model": "m",
        "judge_mode": "pairwise", "judge_timeout_s": 5.0, "judge_concurrency": 3,
        "judge_options": {"seed": 1, "temperature": None},
    }  # fmt: skip


def test_no_key_means_local_with_settings_that_learn() -> None:
    config = parse(["mint/Math-v0"]).config
    assert config.backend == "local"
    for name, value in MATH["local"].items():
        assert getattr(config, name) == value
    assert parse(["mint/Math-v0", "--preset", "documents"]).config.steps == 5


def test_a_presets_environment_settings_are_defaults_too() -> None:
    assert parse(["mint/Code-v0"]).config.env_settings == {"level": "easy"}
    config = parse(["mint/Code-v0", "--level", "hard", "--partial-credit"]).config
    assert config.env_settings == {"level": "hard", "partial_credit": True}


def test_command_line_beats_environment_beats_dotenv(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("MINT_RL_STEPS=11\nMINT_RL_BATCH=12\nMINT_RL_GROUP=13\n")
    monkeypatch.setenv("MINT_RL_BATCH", "22")
    monkeypatch.setenv("MINT_RL_GROUP", "23")
    config = parse(["mint/Math-v0", "--group", "33"]).config
    assert (config.steps, config.batch, config.group) == (11, 22, 33)


def test_every_variable_of_the_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "MINT_RL_STEPS": "3", "MINT_RL_BATCH": "5", "MINT_RL_GROUP": "6", "MINT_RL_LR": "0.125",
        "MINT_RL_MAX_TOKENS": "7", "MINT_RL_TEMPERATURE": "0.5", "MINT_BASE_MODEL": "some/model",
        "MINT_LORA_RANK": "9", "MINT_RL_BETAS": "0.8,0.9",
    }  # fmt: skip
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    config = parse(["mint/Math-v0"]).config
    assert (config.steps, config.batch, config.group, config.lr) == (3, 5, 6, 0.125)
    assert (config.max_tokens, config.temperature) == (7, 0.5)
    assert (config.base_model, config.rank, config.betas) == ("some/model", 9, (0.8, 0.9))


def test_environment_settings_pass_through() -> None:
    config = parse(["mint/Math-v0", "--digits", "1", "--operators", "+-", "--style", "chat"]).config
    assert config.env_settings == {"digits": 1, "operators": "+-", "style": "chat"}


def test_other_names_of_the_documents() -> None:
    argv = ["--learning-rate", "0.5", "--group-size", "6", "--batch-size", "7"]
    config = parse(["mint/Math-v0", *argv]).config
    assert (config.lr, config.group, config.batch) == (0.5, 6, 7)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["mint/Moth-v0"], ["mint/Math-v0"]),
        (["mint/Math-v0", "--group", "-1"], ["--group", "-1"]),
        (["mint/Math-v0", "--group", "1"], ["--group", "greater than or equal to 2"]),
        (["mint/Math-v0", "--steps", "many"], ["--steps", "many"]),
        (["mint/Math-v0", "--lr", "nan"], ["--lr"]),
        (["mint/Math-v0", "--betas", "0.9,1.5"], ["betas", "1.5"]),
        (["mint/Math-v0", "--loss-fn", "ppo", "--clip-low-threshold", "1.1"], ["1.1"]),
        (["mint/Math-v0", "--loss-fn", "pppo"], ["--loss-fn", "ppo"]),
        (["mint/Math-v0", "--digits", "0"], ["digits=0"]),
        (["mint/Math-v0", "--dataset", "nowhere.jsonl"], ["nowhere.jsonl", "does not exist"]),
        (["mint/Math-v0", "--dataset", "broken.jsonl"], ["line 2", "broken.jsonl"]),
        (["mint/Math-v0", "--dataset", "empty.jsonl"], ["empty.jsonl", "empty"]),
        (["mint/Math-v0", "--log-to", "abacus"], ["--log-to"]),
        (["--resume"], ["--resume"]),
        (["--resume", "nowhere"], ["nowhere", "not a run"]),
        (["--steps", "3"], ["comes first"]),
        (["mint/Math-v0", "--run-dir", "a-file/run"], ["a-file/run", "--run-dir"]),
        (["mint/Math-v0", "--backend", "mint"], ["MINT_API_KEY"]),
        (["mint/Math-v0", "--preset", "best"], ["--preset", "best"]),
        (["mint/Math-v0", "--env-settings", "{bad"], ["env_settings"]),
        (["mint/Math-v0", "--env-settings", '{"executor": "local"}'], ["no setting 'executor'"]),
        (["mint/Math-v0", "--run-dir", ""], ["--run-dir"]),
        (["mint/Math-v0", "--temperature", "1e-30"], ["--temperature", "0.01"]),
        (["mint/Math-v0", "--batch", "9" * 30], ["--batch", "less than"]),
        (["mint/Math-v0", "--batch", "9999", "--group", "9999"], ["9999", "episodes"]),
        (["mint/Math-v0", "--seed", "9" * 30], ["--seed", "less than"]),
        (
            [
                "mint/Math-v0",
                "--dataset",
                "one.jsonl",
                "--eval-every",
                "1",
                "--eval-settings",
                '{"split": "test"}',
            ],
            ["one.jsonl", "split"],
        ),
        (["mint/Math-v0", "--evals", '{"a b": {}}'], ["evals", "a b"]),
        (["mint/Math-v0", "--evals", '{"x": {"sample": 2}}'], ["sample"]),
        (["mint/Math-v0", "--eval-temperature", "0", "--eval-samples", "2"], ["all alike"]),
        (["mint/Math-v0", "--eval-every", "1", "--eval-env", "mint/Moth-v0"], ["mint/Moth-v0"]),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    argv: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("broken.jsonl").write_text('{"question": "1", "answer": "1"}\n{"question": \n')
    Path("empty.jsonl").write_text("")
    Path("one.jsonl").write_text('{"question": "1", "answer": "1"}\n')
    Path("a-file").write_text("")
    before = sorted(Path().rglob("*"))
    backend = [] if "--backend" in argv or "--resume" in argv else ["--backend", "bandit"]
    assert main([*argv, *backend]) == 2
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    for word in words:
        assert word in error
    assert sorted(Path().rglob("*")) == before  # nothing half-written


@pytest.mark.parametrize("argv", [["mint/Math-v0", "--stepz", "3"], ["mint/Math-v0", "--steps"]])
def test_an_unknown_option_exits_with_2(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    assert "--step" in capsys.readouterr().err


def test_help_names_every_setting_and_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["mint/Math-v0", "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "mint-grpo mint/Math-v0 --steps 20" in text
    for name in TrainConfig.model_fields:
        if name != "env":
            assert f"--{name.replace('_', '-')}" in text
    assert "--digits" in text
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "examples:" in capsys.readouterr().out


def test_resume_takes_the_runs_settings_and_new_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    argv = ["mint/Math-v0", "--backend", "bandit", "--digits", "1", "--steps", "2"]
    assert main([*argv, "--run-dir", "r"]) == 0
    monkeypatch.setenv("MINT_RL_BATCH", "99")  # the environment of another day has no say
    assert parse(["mint/Math-v0", "--steps", "4", "--resume=r"]) == parse(
        ["--resume", "r", "--steps", "4"]
    )
    with pytest.raises(TrainerError, match="is a run of mint/Math-v0"):
        parse(["mint/Other-v0", "--resume", "r"])
    command = parse(["--resume", "r", "--steps", "4"])
    assert command.config.steps == 4
    assert command.config.batch == MATH["documents"]["batch"]
    assert command.config.env_settings == {"digits": 1}
    assert json.loads(Path("r/config.json").read_text())["steps"] == 2


def test_config_is_frozen_and_checked() -> None:
    with pytest.raises(ValidationError):
        TrainConfig(batchsize=3)  # type: ignore[call-arg]
    with pytest.raises(ValidationError):
        TrainConfig().steps = 3  # type: ignore[misc]
    with pytest.raises(ValidationError, match="divide again"):
        TrainConfig(advantage="dr_grpo", length_norm="token")
    with pytest.raises(ValidationError, match="at least one of"):
        TrainConfig(train_mlp=False, train_attn=False, train_unembed=False)


def test_as_a_module_in_a_process_of_its_own(tmp_path: Path) -> None:
    argv = ["mint/Math-v0", "--backend", "bandit", "--steps", "2", "--run-dir", str(tmp_path / "r")]
    done = subprocess.run(
        [sys.executable, "-m", "trainers", *argv], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "Step 2: accuracy=" in done.stdout


def test_a_missing_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [n for n in sys.modules if n.startswith("trainers.backends.local")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["mint/Math-v0"]) == 2
    assert "pip install 'mint-envs[local]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"),
    [("MINT_RL_STEPS", "many"), ("MINT_LORA_RANK", "0"), ("MINT_RL_ENV_SETTINGS", "{bad")],
)
@pytest.mark.parametrize("place", ["environment", ".env"])
def test_a_wrong_variable_is_named(
    name: str, value: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place == ".env":
        Path(".env").write_text(f"{name}='{value}'\n")
    else:
        monkeypatch.setenv(name, value)
    with pytest.raises(TrainerError, match=rf"^{name}.*{re.escape(value)}"):
        parse(["mint/Math-v0"])


def test_settings_of_the_environment_by_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINT_RL_ENV_SETTINGS", '{"digits": 1}')
    assert parse(["mint/Math-v0"]).config.env_settings == {"digits": 1}


def test_any_dotenv() -> None:
    Path(".env").write_bytes(
        b"\xef\xbb\xbfMINT_RL_STEPS=\"7\"\n??? garbage\nexport MINT_RL_BATCH='9'"
    )
    config = parse(["mint/Math-v0"]).config
    assert (config.steps, config.batch) == (7, 9)
    Path(".env").write_bytes(b"\xff\xfeM\x00")
    with pytest.raises(TrainerError, match=r"\.env cannot be read.*UTF-8"):
        parse(["mint/Math-v0"])
    Path(".env").unlink()
    Path(".env").mkdir()
    parse(["mint/Math-v0"])


def test_a_key_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINT_API_KEY", "tml-secret")
    assert "secret" not in repr(parse(["mint/Math-v0"]))


def test_a_password_in_the_address_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("httpx")
    monkeypatch.setenv("MINT_API_KEY", "tml-x")
    for address in ("http://me:secret@127.0.0.1:1", "me://me:secret@x"):
        monkeypatch.setenv("MINT_BASE_URL", address)
        assert main(["mint/Math-v0"]) == 2
        assert "secret" not in capsys.readouterr().err


def test_help_shows_the_defaults_of_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown() -> str:
        with pytest.raises(SystemExit):
            main(["mint/Math-v0", "--help"])
        return capsys.readouterr().out

    assert f"training steps (default: {MATH['local']['steps']})" in shown()
    monkeypatch.setenv("MINT_API_KEY", "tml-x")
    assert f"training steps (default: {MATH['documents']['steps']})" in shown()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--digit", "3"], "no option --digit. Did you mean --digits?"),
        (["--stepz=3"], "Did you mean --steps 3?"),
        (["--zzzzzz"], "no option --zzzzzz. mint-grpo ENV --help"),
        (["--steps"], "--steps: needs a value"),
    ],
)
def test_an_unknown_option_is_one_line_with_the_one_that_was_meant(
    words: list[str], told: str
) -> None:
    with pytest.raises(TrainerError) as caught:
        parse(["mint/Math-v0", *words])
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("typed", "wanted", "unwanted"),
    [
        (["mint/Ma"], {"mint/Math-v0"}, {"mint/Code-v0", "export"}),
        (["e"], {"export"}, {"mint/Math-v0"}),
        (["mint/Math-v0", "--di"], {"--digits"}, {"--seed"}),
        (["mint/Code-v0", "--di"], set(), {"--digits"}),
        (["no/Such-v0", "--lo"], {"--loss-fn"}, set()),
        (["mint/Math-v0", "--overlong", ""], {"mask", "shape", "score"}, {"mint/Math-v0"}),
        (["--resu"], {"--resume"}, set()),
    ],
)
def test_a_shell_completes_ids_options_and_choices(
    typed: list[str], wanted: set[str], unwanted: set[str],
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    words = ["mint-grpo", *typed]
    monkeypatch.setenv("COMP_WORDS", " ".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    monkeypatch.setenv("_MINT_GRPO_COMPLETE", "bash_complete")
    assert main([]) == 0
    offered = {line.partition(",")[2] for line in capsys.readouterr().out.splitlines()}
    assert wanted <= offered
    assert not unwanted & offered


@pytest.mark.parametrize(("shell", "code"), [("bash", 0), ("zsh", 0), ("fish", 0), ("tcsh", 1)])
def test_the_script_of_completion_for_each_shell(
    shell: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_MINT_GRPO_COMPLETE", f"{shell}_source")
    assert main([]) == code
    assert ("complete" in capsys.readouterr().out) == (code == 0)
