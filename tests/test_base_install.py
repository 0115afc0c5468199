"""What ``pip install mint-envs`` alone can do: everything here runs without any extra."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
#: Modules of the extras, as they are imported.
EXTRAS = (
    "matplotlib", "torch", "transformers", "tokenizers", "peft", "gguf", "safetensors", "psutil",
    "platformdirs", "filelock", "mint", "tinker", "httpx", "tenacity", "rapidfuzz", "sacrebleu",
    "latex2sympy2_extended", "sympy", "pyarrow", "datasets", "huggingface_hub", "textual", "mcp",
    "tensorboard", "trackio", "wandb", "fastapi", "uvicorn", "starlette", "prometheus_client",
    "ray", "pytest",
)  # fmt: skip
#: Runs the program named first as on a machine where none of them is installed.
BARE = (
    f"import sys; sys.modules.update(dict.fromkeys({EXTRAS!r}))\n"
    "from importlib import import_module\n"
    "name = sys.argv.pop(1); sys.exit(import_module(name).main(sys.argv[1:]))"
)
PROGRAMS = {"mint-envs": "mint_envs.cli", "mint-grpo": "trainers.__main__"}


def bare(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    program, *arguments = line.split()
    return subprocess.run(
        [sys.executable, "-c", BARE, PROGRAMS[program], *arguments],
        cwd=folder, env={**os.environ, "MINT_API_KEY": "sk-none"}, input="1\n" * 9,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with responses, and a run of two steps."""
    folder = tmp_path_factory.mktemp("base")
    rows = [{"prompt": "1 + 1?", "seed": 0, "response": r, "answer": "2"} for r in "23"]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = bare(
        folder,
        "mint-grpo mint/Math-v0 --backend bandit --steps 2 --save-every 1 --eval-every 1 "
        "--eval-problems 2 --run-dir run",
    )
    (folder / "printed.txt").write_text(done.stdout + done.stderr)
    assert done.returncode == 0, done.stderr
    return folder


def test_a_run_goes_on_without_the_curve_and_says_so_once(folder: Path) -> None:
    said = (folder / "printed.txt").read_text()
    assert said.count("mint-envs[plot]") == 1
    assert "No curve.svg: pictures need: pip install 'mint-envs[plot]'" in said.splitlines()
    assert not (folder / "run/curve.svg").exists()
    assert "Saved: " in said


@pytest.mark.parametrize(
    "line",
    [
        "mint-envs list",
        "mint-envs check mint/Math-v0 --problems 2",
        "mint-envs score mint/Math-v0 rows.jsonl -o rewards.jsonl",
        "mint-envs audit rows.jsonl",
        "mint-envs play mint/Math-v0",
        "mint-envs show run --plain",
        "mint-envs new word_count",
        "mint-envs replay run",
        "mint-envs doctor",
    ],
)
def test_a_command_works_without_any_extra(folder: Path, line: str) -> None:
    done = bare(folder, line)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "mint-envs show run --html page.html",
        "mint-envs bench mint/Math-v0 --only fast --problems 2 --seconds 0.1 --html page.html",
    ],
)
def test_a_page_without_pictures_says_what_draws_them(folder: Path, line: str) -> None:
    done = bare(folder, line)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (folder / "page.html").read_text("utf-8")
    assert "pip install 'mint-envs[plot]'" in page
    assert "<svg" not in page


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        ("mint-grpo mint/Math-v0 --backend local", "local"),
        ("mint-grpo mint/Math-v0 --backend mint", "mint"),
        ("mint-envs serve --port 0", "serve"),
        ("mint-envs score mint/Math-v0 rows.parquet -o rewards.jsonl", "data"),
        ("mint-envs play mint/Math-v0 --set tokenizer=gpt2", "local"),
    ],
)
def test_what_needs_an_extra_names_it(folder: Path, line: str, extra: str) -> None:
    (folder / "rows.parquet").write_bytes(b"PAR1")
    done = bare(folder, line)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"'mint-envs[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_several_runs_in_one_picture_need_the_extra_too(tmp_path: Path) -> None:
    code = f"import sys; sys.modules['matplotlib'] = None; sys.argv = ['report', {str(tmp_path)!r}]"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nfrom mint_envs.reports.curves import main; main()"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert "pip install 'mint-envs[plot]'" in done.stderr


def test_matplotlib_is_an_extra_that_local_brings_along() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    drawn_by = {name for name, all_ in extras.items() if any("matplotlib" in one for one in all_)}
    assert drawn_by == {"plot", "local", "test"}
    assert not any("matplotlib" in one for one in PROJECT["project"]["dependencies"])
