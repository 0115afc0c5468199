"""An environment of one's own: the commands, what they write, and the examples."""

from __future__ import annotations

import ast
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
import toys
from click.testing import CliRunner, Result

import mint_envs
from mint_envs.cli import main
from mint_envs.errors import SettingError
from mint_envs.loading import locate
from mint_envs.testing import check_env
from trainers.__main__ import main as train

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working folder; modules found in it are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MINT_")]:
        monkeypatch.delenv(name)
    path, modules, ids = list(sys.path), set(sys.modules), set(gym.registry)
    yield tmp_path
    for id in set(gym.registry) - ids:
        del gym.registry[id]
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def run(*arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, list(arguments), input=typed)


# -- new ------------------------------------------------------------------------------------------


def test_a_new_environment_and_the_next_steps_that_are_printed(here: Path) -> None:
    """As a user does it: each printed line is typed, in a shell."""
    steps = [
        line.strip()
        for line in shell("mint-envs new sort_them").partition("Next:\n")[2].splitlines()
    ]
    assert len((here / "sort_them.py").read_text().splitlines()) < 60
    assert [step.split()[0] for step in steps] == ["mint-envs", "mint-envs", "python", "mint-grpo"]
    for step in steps:
        shell(step + " --backend bandit --steps 2" * step.startswith("mint-grpo"))
    assert (next((here / "runs").iterdir()) / "rollouts.jsonl").is_file()


def shell(line: str) -> str:
    """Run a command line with the scripts of this Python first on the path."""
    scripts = {"mint-envs": "-m mint_envs", "mint-grpo": "-m trainers", "python": ""}
    word, _, rest = line.strip().partition(" ")
    command = f"'{sys.executable}' {scripts[word]} {rest}"
    # ``-P``: the working folder is not on the path, as it is not for an installed script.
    safe = {**os.environ, "PYTHONSAFEPATH": "1"} if word != "python" else dict(os.environ)
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=safe)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("math", "installed already"),
        ("numpy", "installed already"),
        ("class", "letters, digits"),
        ("1st", "letters, digits"),
        ("../up", "letters, digits"),
        ("a b", "letters, digits"),
        ("", "letters, digits"),
        ("/up", "letters, digits"),
        ("na\u00efve", "letters, digits"),
        ("True", "letters, digits"),
        ("none", "letters, digits"),
        ("word count", "letters, digits"),
        ("2words", "letters, digits"),
        ("a" * 300, "up to 100 letters"),
        ("conftest", "means something else"),
        ("Reward", "means something else"),
    ],
)
def test_a_name_that_makes_no_module(here: Path, name: str, words: str) -> None:
    done = run("new", name)
    assert done.exit_code == 2
    assert words in done.output
    assert list(here.iterdir()) == []


def test_what_exists_is_left_alone(here: Path) -> None:
    for path in ("word_count.py", "test_word_count.py"):
        Path(path).write_text("mine")
        done = run("new", "WordCount")
        assert done.exit_code == 2
        assert f"{path} exists already" in done.output
        assert [p.name for p in here.iterdir()] == [path]
        Path(path).unlink()


def test_names_and_folders(here: Path) -> None:
    done = run("new", "word-count.py", "--dir", "some/where")
    assert done.exit_code == 0
    assert "  cd some/where\n" in done.output
    text = Path("some/where/word_count.py").read_text()
    assert "class WordCount(" in text
    assert 'register("my/WordCount-v0", WordCount)' in text
    Path("file").write_text("")
    assert "cannot write in file" in run("new", "other", "--dir", "file/x").output


@pytest.mark.parametrize(
    ("name", "module", "cls"),
    [
        ("HTTPServer", "http_server", "HTTPServer"),
        ("GSM8KPlus", "gsm8k_plus", "GSM8KPlus"),
        ("XMLHttp2", "xml_http2", "XMLHttp2"),
        ("MyV2Env", "my_v2_env", "MyV2Env"),
        ("MATH500Hard", "math500_hard", "MATH500Hard"),
        ("Top5Words", "top5_words", "Top5Words"),
        ("gsm8k", "gsm8k", "Gsm8k"),
        ("CodeX", "code_x", "CodeX"),
        ("word--count_", "word_count", "WordCount"),
        ("http_server", "http_server", "HttpServer"),
    ],
)
def test_words_of_a_name(here: Path, name: str, module: str, cls: str) -> None:
    assert run("new", name).exit_code == 0
    assert f'register("my/{cls}-v0", {cls})' in Path(f"{module}.py").read_text()
    assert Path(f"test_{module}.py").exists()


@pytest.mark.parametrize("link", ["word_count.py", "test_word_count.py"])
def test_a_link_that_leads_nowhere_is_left_alone(here: Path, link: str) -> None:
    Path(link).symlink_to("gone.py")
    done = run("new", "word_count")
    assert done.exit_code == 2
    assert f"{link} exists already" in done.output
    assert [p.name for p in here.iterdir()] == [link]
    assert Path(link).is_symlink()


# -- where ids are found --------------------------------------------------------------------------


def test_an_id_is_found_in_a_file_by_module_and_by_path(here: Path) -> None:
    run("new", "found_one")
    (here / "sub").mkdir()
    run("new", "found_two", "--dir", "sub")
    assert locate("found_one:my/FoundOne-v0") == "found_one:my/FoundOne-v0"
    assert locate("sub/found_two.py:my/FoundTwo-v0") == "found_two:my/FoundTwo-v0"
    assert locate("mint/Math-v0") == "mint/Math-v0"
    for id in ("found_one:my/FoundOne-v0", "sub/found_two.py:my/FoundTwo-v0"):
        assert mint_envs.make(id, count=2).reset(seed=0)[1]["prompt"]
    for id, words in [
        ("missing_one:my/X-v0", "no module missing_one in"),
        ("missing.py:my/X-v0", "no file missing.py"),
    ]:
        with pytest.raises(SettingError, match=words):
            mint_envs.make(id)


def test_a_file_whose_name_is_taken_is_not_taken_for_the_other(here: Path) -> None:
    Path("json.py").write_text("raise SystemExit")
    with pytest.raises(SettingError, match="taken by"):
        locate("json.py:my/X-v0")
    Path("needs.py").write_text("import no_such_thing_at_all")
    with pytest.raises(SettingError, match="no_such_thing_at_all, which needs needs"):
        locate("needs:my/X-v0")


@pytest.mark.parametrize("form", ["{}:my/TrainMe-v0", "./{}.py:my/TrainMe-v0"])
def test_mint_grpo_trains_on_a_users_file(
    here: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run("new", "train_me")
    Path("train_me.py").write_text(
        Path("train_me.py").read_text().replace("choice(100, self.count", "choice(3, self.count")
    )
    argv = ["--count", "2", "--backend", "bandit", "--run-dir", "r", "--max-tokens", "4"]
    assert train([form.format("train_me"), *argv, "--steps", "2", "--eval-every", "1"]) == 0
    config = json.loads(Path("r/config.json").read_text())
    assert config["env"] == "train_me:my/TrainMe-v0"
    assert config["env_settings"] == {"count": 2}
    assert train(["--resume", "r", "--steps", "3"]) == 0
    assert "Step 3:" in capsys.readouterr().out
    assert "0 differ" in run("replay", "r").output
    assert train(["train_me:my/Other-v0"]) == 2
    assert "Other" in capsys.readouterr().err


# -- list, play, check ----------------------------------------------------------------------------


def test_the_list_names_every_id_and_setting(here: Path) -> None:
    text = run("list").output
    for id in ("mint/Math-v0", "mint/Code-v0", "mint/ToolUse-v0", "mint/Chat-v0", "mint/Mix-v0"):
        assert id in text
    assert len([line for line in text.splitlines() if line.startswith("mint/")]) == 5
    assert "largest number of digits" not in text  # a line each: the settings are asked for
    assert re.search(r"digits +int +2 ", run("list", "mint/Math-v0").output)
    rows = json.loads(run("list", "mint/Math-v0", "--json").output)
    digits = next(row for row in rows["mint/Math-v0"] if row["name"] == "digits")
    assert digits == {
        "name": "digits", "type": "int", "required": False, "default": 2,
        "help": "largest number of digits of a term, 1 to 9",
    }  # fmt: skip
    run("new", "listed")
    assert "numbers to sort" in run("list", "listed:my/Listed-v0").output
    done = run("list", "mint/Maths-v0")
    assert done.exit_code == 2
    assert "mint/Math-v0" in done.output


def test_a_default_that_is_no_json_value_is_listed_as_json() -> None:
    class Judged(toys.Adder):
        def __init__(self, judge: Any = Path) -> None: ...

    mint_envs.register("test/Judged-v0", Judged)
    done = run("list", "test/Judged-v0", "--json")
    gym.registry.pop("test/Judged-v0")
    (row,) = json.loads(done.output)["test/Judged-v0"]
    assert row["default"] == repr(Path)


@pytest.mark.parametrize(
    ("command", "setting"), [("play", "id=3"), ("check", "id=3"), ("check", "problems=3")]
)
def test_a_setting_that_has_the_name_of_an_argument_is_told(command: str, setting: str) -> None:
    done = run(command, "mint/Math-v0", "--set", setting)
    assert done.exit_code == 2
    assert done.output.startswith("mint-envs: ")
    assert setting.partition("=")[0] in done.output


def test_play_with_responses_given() -> None:
    done = run("play", "mint/Math-v0", "--seed", "0", "--response", "148")
    assert done.exit_code == 0
    assert "What is 85 + 63?" in done.output
    assert "--- reward 1\n" in done.output
    done = run("play", "mint/Math-v0", "-s", "digits=1", "--response", "99")
    assert "--- reward 0\n" in done.output
    done = run("play", "mint/Chat-v0", "--show-answer")
    assert "--- reward 1\nparts gate: 1.0\n" in done.output


def test_play_by_typing() -> None:
    assert "--- reward 1\n" in run("play", "mint/Math-v0", typed="148\n").output
    code = "def f():\n    return 1\n.\n"
    assert "--- reward" in run("play", "mint/Chat-v0", "--lines", typed=code).output
    done = run("play", "mint/Math-v0", typed="")
    assert done.exit_code == 1
    assert "the episode goes on" in done.output


def test_play_tells_a_response_that_is_too_long_from_a_fault_of_the_environment(here: Path) -> None:
    done = run("play", "mint/Math-v0", typed="1" * 1_100_000 + "\n")
    assert done.exit_code == 2
    assert "1100000 tokens, and an action has at most 1048576" in done.output
    run("new", "faulty")
    text = Path("faulty.py").read_text()
    scores = "    def score(self, problem, response):\n"
    assert scores in text
    broken = text.replace(scores, f"{scores}        raise ValueError('mine')\n")
    Path("faulty.py").write_text(broken)
    assert str(run("play", "faulty:my/Faulty-v0", "--response", "x").exception) == "mine"


def test_play_several_turns(here: Path) -> None:
    done = run("play", "mint/ToolUse-v0", "--seed", "1", "--show-answer")
    assert done.exit_code == 0
    assert "<tool_response>" in done.output
    assert "--- reward 1\n" in done.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["play", "mint/Math-v0", "-s", "digits"], "NAME=VALUE"),
        (["play", "mint/Math-v0", "-s", "digit=1"], "Did you mean 'digits'"),
        (["play", "mint/Math-v0", "-s", "digits=x"], "must be int"),
        (["check", "nowhere:my/X-v0"], "no module nowhere"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], words: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert words in done.output
    assert "Traceback" not in done.output


def test_an_unknown_id_is_one_line_too() -> None:
    done = run("play", "mint/Maths-v0")
    assert done.exit_code == 2
    assert "Math" in done.output


def test_a_new_environment_is_written_whole_or_not_at_all(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []

    def full(handle: int) -> None:
        flushed.append(handle)
        if len(flushed) == 2:  # the environment is written, its test is not
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = run("new", "sums")
    assert done.exit_code == 2
    assert "No space left on device. Name another --dir" in done.output
    assert not list(here.iterdir())


def test_play_without_an_input() -> None:
    command = [sys.executable, "-m", "mint_envs", "play", "mint/Math-v0"]
    done = subprocess.run(["sh", "-c", '"$@" <&-', "sh", *command], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "--- the episode goes on; it had no more responses\n"


def test_check_says_what_is_wrong(here: Path) -> None:
    run("new", "faulty")
    text = Path("faulty.py").read_text()
    Path("faulty.py").write_text(text.replace("sorted(problem)]", "problem]"))
    done = run("check", "faulty:my/Faulty-v0", "--quick")
    assert done.exit_code == 1
    assert "The right answer must earn the full mark" in done.output
    assert run("check", "mint/Math-v0", "--quick", "--problems", "1").exit_code == 0


@pytest.mark.parametrize("name", ["new", "list", "play", "check", "replay"])
def test_help_has_an_example(name: str) -> None:
    done = run(name, "--help")
    assert done.exit_code == 0
    assert f"mint-envs {name} " in done.output.partition("Example")[2]


# -- the examples ---------------------------------------------------------------------------------

IDS = {
    "verification": "example/Clock-v0",
    "metric": "example/Dates-v0",
    "external": "example/Json-v0",
    "multi_step": "example/Walk-v0",
}


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


def test_every_example_is_tested_and_short() -> None:
    environments = [path for path in EXAMPLES.glob("*.py") if path.stem != "warm_start"]
    assert {path.stem for path in environments} == set(IDS)
    for path in environments:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 60, path
        assert f"{path.stem}:{IDS[path.stem]}" in (ast.get_docstring(ast.parse(text)) or "")


@pytest.mark.parametrize("name", IDS)
def test_an_example_keeps_the_contract(examples: None, name: str) -> None:
    if name == "metric":
        pytest.importorskip("sacrebleu")
        pytest.importorskip("rapidfuzz")
    check_env(f"{name}:{IDS[name]}", problems=2, max_examples=20)


@pytest.mark.parametrize("metric", ["edit", "chrf", "bleu"])
def test_metrics_rise_with_likeness(examples: None, metric: str) -> None:
    pytest.importorskip("sacrebleu")
    pytest.importorskip("rapidfuzz")
    task = mint_envs.make("metric:example/Dates-v0", metric=metric).unwrapped.task  # type: ignore[attr-defined]
    problem = task.problem(3)
    right = next(iter(task.examples(problem)))
    weekday = right.replace(right.split(",")[0], "Someday")
    scores = [task.score(problem, text).score for text in (right, weekday, "zzz", "")]
    assert scores[0] == 1.0
    assert scores[0] > scores[1] > scores[2] >= scores[3] == 0.0


class Scorer(http.server.BaseHTTPRequestHandler):
    """A service that scores; the response says how it behaves."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        text = json.loads(body)["response"]
        if "slow" in text:
            time.sleep(1.0)
        answer = b"not json" if "odd" in text else json.dumps({"score": 0.75}).encode()
        self.send_response(500 if "broken" in text else 200)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments: Any) -> None:
        pass


def test_an_external_system_that_fails_is_unmeasured_and_not_wrong(examples: None) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scorer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/score"
    try:
        make = mint_envs.make
        task: Any = make("external:example/Json-v0", url=url, timeout_s=0.5).unwrapped.task  # type: ignore[attr-defined]
        problem = task.problem(0)
        scores = [task.score(problem, "{" + word).score for word in ("", "slow", "broken", "odd")]
        assert scores == [0.75, None, None, None]
        assert task.score(problem, "no object").score == 0.0
    finally:
        server.shutdown()
        server.server_close()
    assert task.score(problem, "{").metadata == {"reason": "URLError"}
    here: Any = make("external:example/Json-v0", timeout_s=1e-6).unwrapped.task  # type: ignore[attr-defined]
    assert here.score(problem, '{"id": 1}').score is None


def test_the_walk_pays_for_the_way_that_was_gone(examples: None) -> None:
    env: Any = mint_envs.make("multi_step:example/Walk-v0").unwrapped
    episode = env.task.start((2, 0))
    assert episode.respond("East") == "You are at (1, 0)."
    assert episode.respond("stop").score == 0.5
    assert env.task.start((2, 0)).respond("west") == "You are at (-1, 0)."
    assert env.task.start((2, 0)).respond("").score == 0.0
